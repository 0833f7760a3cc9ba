// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "model/arch/numerics.hpp"
#include "model/record/output_file.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/file_bytes.hpp"
#include "tlm_if/command/little_endian.hpp"

namespace kernbench::runtime {
namespace {

using nlohmann::json;

struct FileDTypeInfo {
  FileDType dtype;
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<FileDTypeInfo, 4> kFileDTypes{{
    {FileDType::f16, "F16", 2},
    {FileDType::bf16, "BF16", 2},
    {FileDType::f32, "F32", 4},
    {FileDType::f64, "F64", 8},
}};
constexpr std::string_view kFileDTypeNames = "F16, BF16, F32, F64";

// The limits of the reference implementation, which refuses a longer header.
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::string_view kMetadata = "__metadata__";

const FileDTypeInfo& info(FileDType dtype) { return kFileDTypes[static_cast<std::size_t>(dtype)]; }

std::uint64_t load_u64(const std::uint8_t* bytes) {
  return command::LittleEndianReader(bytes, sizeof(std::uint64_t)).get<std::uint64_t>();
}

void save_u64(std::uint64_t value, std::uint8_t* bytes) {
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

double decode(FileDType dtype, const std::uint8_t* bytes) {
  switch (dtype) {
    case FileDType::f16:
      return static_cast<double>(arch::decode(command::DType::f16, bytes));
    case FileDType::bf16:
      return static_cast<double>(arch::decode(command::DType::bf16, bytes));
    case FileDType::f32:
      return static_cast<double>(arch::decode(command::DType::f32, bytes));
    case FileDType::f64:
      break;
  }
  const std::uint64_t bits = load_u64(bytes);
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void encode(FileDType dtype, double value, std::uint8_t* bytes) {
  switch (dtype) {
    case FileDType::f16:
      return arch::encode(command::DType::f16, static_cast<float>(value), bytes);
    case FileDType::bf16:
      return arch::encode(command::DType::bf16, static_cast<float>(value), bytes);
    case FileDType::f32:
      return arch::encode(command::DType::f32, static_cast<float>(value), bytes);
    case FileDType::f64:
      break;
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  save_u64(bits, bytes);
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  FileTensors read() {
    const std::vector<std::uint8_t> bytes = command::file_bytes(path_);
    if (bytes.size() < kLengthBytes) {
      throw error(fmt::format(
          "has {} bytes; a safetensors file starts with an 8-byte header length", bytes.size()));
    }
    const std::uint64_t header_bytes = load_u64(bytes.data());
    const std::uint64_t available = bytes.size() - kLengthBytes;
    if (header_bytes > std::min(available, kMaxHeaderBytes)) {
      throw error(
          fmt::format("header length {} is out of range [2, {}]; is this a safetensors file?",
                      header_bytes, std::min(available, kMaxHeaderBytes)));
    }
    const auto* text = reinterpret_cast<const char*>(bytes.data() + kLengthBytes);
    const json header = parse_header({text, static_cast<std::size_t>(header_bytes)});
    data_ = bytes.data() + kLengthBytes + header_bytes;
    data_bytes_ = available - header_bytes;

    FileTensors tensors;
    for (const auto& [name, entry] : header.items()) {
      if (name == kMetadata) {
        check_metadata(entry);
      } else {
        tensors.emplace(name, tensor(name, entry));
      }
    }
    check_cover();
    return tensors;
  }

 private:
  struct Extent {
    std::uint64_t begin, end;
    std::string name;
    bool operator<(const Extent& other) const {
      return std::tie(begin, end, name) < std::tie(other.begin, other.end, other.name);
    }
  };

  InputError error(const std::string& what) const { return InputError(path_ + ": " + what); }
  InputError tensor_error(const std::string& name, const std::string& what) const {
    return error(fmt::format("tensor '{}': {}", name, what));
  }

  /// JSON silently keeps the last of two equal keys, so keys are checked while parsing.
  json parse_header(std::string_view text) const {
    if (text.empty() || text.front() != '{') throw error("the header does not start with '{'");
    std::vector<std::set<std::string>> open_objects;
    const auto watch = [&](int, json::parse_event_t event, json& value) {
      if (event == json::parse_event_t::object_start) {
        open_objects.emplace_back();
      } else if (event == json::parse_event_t::object_end) {
        open_objects.pop_back();
      } else if (event == json::parse_event_t::key) {
        const auto& key = value.get_ref<const std::string&>();
        const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
        if (std::any_of(key.begin(), key.end(), is_control)) {
          throw error(
              fmt::format("the name {} in the header has a control character", json(key).dump()));
        }
        if (!open_objects.back().insert(key).second) {
          throw error(fmt::format("'{}' appears twice in the header", key));
        }
      }
      return true;
    };
    try {
      return json::parse(text, watch);
    } catch (const json::parse_error& e) {
      throw error(fmt::format("the header is not valid JSON at its byte {}", e.byte));
    }
  }

  void check_metadata(const json& entry) const {
    const bool valid =
        entry.is_object() &&
        std::all_of(entry.begin(), entry.end(), [](const json& v) { return v.is_string(); });
    if (!valid) throw error("__metadata__ must be an object of strings");
  }

  FileTensor tensor(const std::string& name, const json& entry) {
    if (!entry.is_object()) throw tensor_error(name, "its entry is not an object");
    for (const auto& item : entry.items()) {
      if (item.key() != "dtype" && item.key() != "shape" && item.key() != "data_offsets") {
        throw tensor_error(
            name, fmt::format("unknown key '{}'; keys are dtype, shape, data_offsets", item.key()));
      }
    }
    FileTensor result;
    const json& dtype = member(name, entry, "dtype");
    const auto known =
        std::find_if(kFileDTypes.begin(), kFileDTypes.end(),
                     [&](const FileDTypeInfo& i) { return dtype.is_string() && dtype == i.name; });
    if (known == kFileDTypes.end()) {
      throw tensor_error(name,
                         fmt::format("dtype {} is not one of {}", dtype.dump(), kFileDTypeNames));
    }
    result.dtype = known->dtype;

    const json& shape = member(name, entry, "shape");
    std::uint64_t bytes = known->bytes;
    bool fits = true;
    for (const std::uint64_t dim : integers(name, shape, "shape")) {
      fits = fits && dim <= std::numeric_limits<std::int64_t>::max() &&
             !__builtin_mul_overflow(bytes, dim, &bytes);
      result.shape.push_back(static_cast<std::int64_t>(dim));
    }
    const json& offsets = member(name, entry, "data_offsets");
    const std::vector<std::uint64_t> range = integers(name, offsets, "data_offsets");
    if (range.size() != 2 || range[0] > range[1] || range[1] > data_bytes_) {
      throw tensor_error(
          name, fmt::format("data_offsets {} must be [begin, end] within the {} bytes of data",
                            offsets.dump(), data_bytes_));
    }
    if (!fits || range[1] - range[0] != bytes) {
      throw tensor_error(name,
                         fmt::format("data_offsets {} hold {} bytes; shape {} of {} takes {}",
                                     offsets.dump(), range[1] - range[0], shape.dump(), known->name,
                                     fits ? std::to_string(bytes) : "more than 64 bits can count"));
    }
    extents_.push_back({range[0], range[1], name});

    result.values.reserve(static_cast<std::size_t>(bytes / known->bytes));
    for (std::uint64_t at = range[0]; at < range[1]; at += known->bytes) {
      result.values.push_back(decode(known->dtype, data_ + at));
    }
    return result;
  }

  const json& member(const std::string& name, const json& entry, const char* key) const {
    const auto found = entry.find(key);
    if (found == entry.end()) throw tensor_error(name, fmt::format("has no {}", key));
    return *found;
  }

  std::vector<std::uint64_t> integers(const std::string& name, const json& value,
                                      const char* key) const {
    const bool valid =
        value.is_array() && std::all_of(value.begin(), value.end(),
                                        [](const json& v) { return v.is_number_unsigned(); });
    if (!valid) {
      throw tensor_error(
          name, fmt::format("{} {} must be a list of integers of at least 0", key, value.dump()));
    }
    return value.get<std::vector<std::uint64_t>>();
  }

  void check_cover() {
    std::sort(extents_.begin(), extents_.end());
    std::uint64_t covered = 0;
    const Extent* last = nullptr;
    for (const Extent& extent : extents_) {
      if (extent.begin < covered) {
        throw tensor_error(extent.name, fmt::format("data_offsets [{}, {}] overlap tensor '{}', "
                                                    "which ends at {}",
                                                    extent.begin, extent.end, last->name, covered));
      }
      if (extent.begin > covered) {
        throw tensor_error(extent.name,
                           fmt::format("data_offsets [{}, {}] leave a gap from byte {}; tensors "
                                       "must be contiguous",
                                       extent.begin, extent.end, covered));
      }
      covered = extent.end;
      last = &extent;
    }
    if (covered != data_bytes_) {
      throw error(fmt::format("{} bytes of data follow the last tensor; the file must end there",
                              data_bytes_ - covered));
    }
  }

  const std::string& path_;
  const std::uint8_t* data_ = nullptr;
  std::uint64_t data_bytes_ = 0;
  std::vector<Extent> extents_;
};

}  // namespace

std::string_view to_string(FileDType dtype) { return info(dtype).name; }

FileDType file_dtype(command::DType dtype) {
  switch (dtype) {
    case command::DType::f16:
      return FileDType::f16;
    case command::DType::bf16:
      return FileDType::bf16;
    case command::DType::f32:
      break;
  }
  return FileDType::f32;
}

FileTensors read_safetensors(const std::string& path) { return Reader(path).read(); }

void write_safetensors(const std::string& path, const FileTensors& tensors) {
  record::OutputFile file(path);
  write_safetensors(file, tensors);
}

void write_safetensors(record::OutputFile& file, const FileTensors& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::uint64_t begin = end;
    end += tensor.values.size() * info(tensor.dtype).bytes;
    header[name] = {{"dtype", to_string(tensor.dtype)},
                    {"shape", tensor.shape},
                    {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data starts at a multiple of 8

  std::array<std::uint8_t, kLengthBytes> bytes{};
  const auto write = [&](std::size_t count) {
    file.write({reinterpret_cast<const char*>(bytes.data()), count});
  };
  save_u64(text.size(), bytes.data());
  write(kLengthBytes);
  file.write(text);
  for (const auto& entry : tensors) {
    const FileTensor& tensor = entry.second;
    const std::size_t size = info(tensor.dtype).bytes;
    for (const double value : tensor.values) {
      encode(tensor.dtype, value, bytes.data());
      write(size);
    }
  }
  file.commit();
}

}  // namespace kernbench::runtime
