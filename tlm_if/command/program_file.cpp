// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/command/program_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "tlm_if/command/error.hpp"
#include "tlm_if/command/file_bytes.hpp"
#include "tlm_if/command/little_endian.hpp"
#include "tlm_if/command/text.hpp"

namespace kernbench::command {
namespace {

// The first byte is not text, and a transfer that changes line ends changes the other bytes.
constexpr std::array<std::uint8_t, 8> kMagic{0x8b, 'K', 'B', 'P', '\r', '\n', 0x1a, '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 64;
// Offsets of fields of the header.
constexpr std::size_t kVersionOffset = kMagic.size();
constexpr std::size_t kFileSizeOffset = 16;
constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kMaxTitleBytes = 4096;
constexpr std::size_t kMaxFileAxes = 8;
// Fixed sizes of counted items, so that an allocation is never larger than the file allows.
constexpr std::size_t kTensorBytes = 32;
constexpr std::size_t kPartBytes = 40;
constexpr std::size_t kRowsBytes = 16;
constexpr std::size_t kStreamBytes = 16;

std::uint32_t crc32(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint32_t kPolynomial = 0xedb88320;  // IEEE 802.3, reflected
  static const auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? kPolynomial : 0);
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t crc = 0xffffffff;
  for (std::size_t i = 0; i < size; ++i) crc = crc >> 8 ^ kTable[(crc ^ data[i]) & 0xff];
  return ~crc;
}

using Tensor = ProgramFile::Tensor;
using Part = Tensor::Part;

bool inside(Index begin, Index count, Index size) {
  return begin >= 0 && count >= 1 && count <= size && begin <= size - count;
}

/// What is wrong with a tensor by itself; empty if nothing is.
std::string problem_of(const Tensor& tensor) {
  const TextProblem name = problem_of_text(tensor.name, kMaxTextBytes);
  if (!name.what.empty()) return name.what;
  try {
    make_handle(0, 0, tensor.shape, tensor.dtype, Space::hbm);
  } catch (const InputError& error) {
    return error.what();
  }
  Index rest = tensor.shape.elements();
  for (const Index axis : tensor.file_shape) {
    if (axis < 1 || rest % axis != 0) {
      rest = 0;
      break;
    }
    rest /= axis;
  }
  if (tensor.file_shape.size() > kMaxFileAxes) {
    return fmt::format("it has {} axes in a file of tensors; at most {} are allowed",
                       tensor.file_shape.size(), kMaxFileAxes);
  }
  if (rest != 1) {
    return fmt::format("its shape in a file of tensors has not the {} entries of {}",
                       tensor.shape.elements(), to_string(tensor.shape));
  }
  return {};
}

/// The shape of a part: its blocks of rows, one above the other.
Shape shape_of(const Tensor& tensor, const Part& part) {
  Index rows = 0;
  for (const Tensor::Rows& block : part.rows) rows += block.count;
  return tensor.shape.rank() == 1 ? Shape::vector(part.cols) : Shape::matrix(rows, part.cols);
}

std::vector<Tensor::Rows> sorted(std::vector<Tensor::Rows> rows) {
  std::sort(rows.begin(), rows.end(),
            [](const Tensor::Rows& x, const Tensor::Rows& y) { return x.begin < y.begin; });
  return rows;
}

/// What is wrong with a part of a sound tensor, apart from its handle; empty if nothing is.
/// `least`: the lowest program to which it may belong.
std::string problem_of(const Tensor& tensor, const Part& part, std::size_t least,
                       std::size_t streams) {
  if (part.program < least || part.program >= streams) {
    return fmt::format(
        "a part is of program {}; parts are in the order of programs, here of one in "
        "[{}, {})",
        part.program, least, streams);
  }
  if (!inside(part.first_col, part.cols, tensor.shape.cols())) {
    return fmt::format("the part of program {} has {} columns from {}; there are {}", part.program,
                       part.cols, part.first_col, tensor.shape.cols());
  }
  if (part.rows.empty()) {
    return fmt::format("the part of program {} has no rows; leave it away", part.program);
  }
  for (const Tensor::Rows& block : part.rows) {
    if (!inside(block.begin, block.count, tensor.shape.rows())) {
      return fmt::format("the part of program {} has {} rows from {}; there are {}", part.program,
                         block.count, block.begin, tensor.shape.rows());
    }
  }
  const std::vector<Tensor::Rows> rows = sorted(part.rows);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].begin < rows[i - 1].begin + rows[i - 1].count) {
      return fmt::format("the part of program {} has row {} twice", part.program, rows[i].begin);
    }
  }
  return {};
}

/// The first entry of an output that is in none of its parts, which are sound; empty if there is
/// none. Between two neighbouring columns at which parts begin or end, all columns are covered
/// equally.
std::string gap_of(const Tensor& tensor) {
  if (!tensor.is_output) return {};
  std::set<Index> edges{0};
  for (const Part& part : tensor.parts) edges.insert({part.first_col, part.first_col + part.cols});
  for (const Index col : edges) {
    if (col == tensor.shape.cols()) continue;
    std::vector<Tensor::Rows> rows;
    for (const Part& part : tensor.parts) {
      if (col < part.first_col || col >= part.first_col + part.cols) continue;
      rows.insert(rows.end(), part.rows.begin(), part.rows.end());
    }
    Index next = 0;
    for (const Tensor::Rows& block : sorted(std::move(rows))) {
      if (block.begin > next) break;
      next = std::max(next, block.begin + block.count);
    }
    if (next < tensor.shape.rows()) {
      return fmt::format("row {} of column {} is an output and in no part", next, col);
    }
  }
  return {};
}

TensorHandle handle_of(const Tensor& tensor, const Part& part, Address addr) {
  return make_handle(0, addr, shape_of(tensor, part), tensor.dtype, Space::hbm, tensor.name);
}

std::string beyond(const TensorHandle& handle, std::uint64_t hbm_bytes) {
  return fmt::format("{} at {:#x} ends beyond the {} bytes of HBM that the program needs",
                     handle.describe(), handle.addr, hbm_bytes);
}

/// What is wrong with the size of the handle table; empty if nothing is.
std::string problem_of_table(std::uint32_t entries) {
  if (entries >= 1 && entries <= kMaxHandleTableEntries) return {};
  return fmt::format("the handle table has {} entries; it has 1 to {}", entries,
                     kMaxHandleTableEntries);
}

[[noreturn]] void refuse_at(std::string_view name, std::size_t offset, const std::string& what) {
  throw InputError(fmt::format("{}: offset {}: {}", name, offset, what));
}

/// Checks magic, version and size of a file of `size` bytes. `start` has its first kHeaderBytes, or
/// all bytes. So a file that is not a program file is not read completely.
void check_start(std::string_view name, const std::vector<std::uint8_t>& start, std::size_t size) {
  const std::size_t magic = std::min(size, kMagic.size());
  if (size == 0 || !std::equal(kMagic.begin(), kMagic.begin() + magic, start.begin())) {
    refuse_at(name, 0, "this is not a program file; `tlc` writes one");
  }
  if (size < kHeaderBytes + kCrcBytes) {
    refuse_at(
        name, size,
        fmt::format("the file has {} bytes and is cut short; its header and check sum take {}",
                    size, kHeaderBytes + kCrcBytes));
  }
  LittleEndianReader in(start.data(), kHeaderBytes);
  in.text(kMagic.size());
  const auto version = in.get<std::uint32_t>();
  if (version != kVersion) {
    refuse_at(name, kVersionOffset,
              fmt::format("the version is {}; this program reads {}; compile the kernel anew",
                          version, kVersion));
  }
  const std::size_t reserved_offset = in.offset();
  const auto reserved = in.get<std::uint32_t>();
  if (reserved != 0) {
    refuse_at(name, reserved_offset,
              fmt::format("a reserved word is {:#x}; it must be 0", reserved));
  }
  const auto stated = in.get<std::uint64_t>();
  if (stated != size) {
    refuse_at(name, kFileSizeOffset,
              fmt::format("the file says that it has {} bytes and has {}; it {}", stated, size,
                          size < stated ? "is cut short" : "has something appended"));
  }
}

/// Parses a file's bytes. Every refusal names the offset.
class FileReader {
 public:
  FileReader(const std::vector<std::uint8_t>& bytes, std::string_view name)
      : name_(name), bytes_(bytes), in_(bytes.data(), 0) {}

  ProgramFile read() {
    check_frame();
    ProgramFile file;
    in_.text(kFileSizeOffset + sizeof(std::uint64_t));
    file.hbm_bytes = in_.get<std::uint64_t>();
    file.scratch_bytes = in_.get<std::uint64_t>();
    const auto tiles = field<std::uint64_t>();
    const auto entries = field<std::uint32_t>();
    const auto tensors = in_.get<std::uint32_t>();
    const auto streams = field<std::uint32_t>();
    const auto title = in_.get<std::uint32_t>();
    if (tiles.value == 0) refuse(tiles.offset, "the number of tiles is 0; it must be at least 1");
    const std::string table = problem_of_table(entries.value);
    if (!table.empty()) refuse(entries.offset, table);
    if (streams.value == 0) {
      refuse(streams.offset, "there is no command stream; at least one is needed");
    }
    file.tiles = tiles.value;
    file.table_entries = table_entries_ = entries.value;
    file.title = text("the title", title, kMaxTitleBytes);
    need_counted(tensors, kTensorBytes, "tensors");
    std::set<std::string, std::less<>> names;
    for (std::uint32_t i = 0; i < tensors; ++i) {
      const std::size_t begin = in_.offset();
      const Tensor& read = file.tensors.emplace_back(tensor(streams.value, file.hbm_bytes));
      if (!names.insert(read.name).second) {
        refuse(begin, fmt::format("two tensors are named {}", read.name));
      }
    }
    need_counted(streams.value, kStreamBytes, "streams");
    std::set<std::uint32_t> pes;
    for (std::uint32_t i = 0; i < streams.value; ++i) {
      const std::size_t begin = in_.offset();
      const std::uint32_t pe = file.streams.emplace_back(stream(i)).pe;
      if (!pes.insert(pe).second) refuse(begin, fmt::format("two programs run on PE {}", pe));
    }
    if (in_.rest() != 0) {
      refuse(in_.offset(), fmt::format("{} bytes follow the last stream", in_.rest()));
    }
    return file;
  }

 private:
  /// A value and its offset, for messages.
  template <class T>
  struct Field {
    T value;
    std::size_t offset;
  };
  template <class T>
  Field<T> field() {
    const std::size_t offset = in_.offset();
    return {in_.get<T>(), offset};
  }
  template <class T>
  void require_zero(Field<T> reserved) const {
    if (reserved.value != 0) {
      refuse(reserved.offset,
             fmt::format("a reserved word is {:#x}; it must be 0", reserved.value));
    }
  }

  [[noreturn]] void refuse(std::size_t offset, const std::string& what) const {
    refuse_at(name_, offset, what);
  }

  /// Checks magic, version, size and checksum; leaves `in_` at the beginning, without the checksum.
  void check_frame() {
    const std::size_t size = bytes_.size();
    check_start(name_, bytes_, size);
    LittleEndianReader end(bytes_.data() + size - kCrcBytes, kCrcBytes);
    const auto crc = end.get<std::uint32_t>();
    const std::uint32_t computed = crc32(bytes_.data(), size - kCrcBytes);
    if (crc != computed) {
      refuse(size - kCrcBytes, fmt::format("the check sum is {:#010x} and that of the bytes is "
                                           "{:#010x}; the file was changed",
                                           crc, computed));
    }
    in_ = LittleEndianReader(bytes_.data(), size - kCrcBytes);
  }

  void need(std::size_t bytes, std::string_view what) const {
    if (!in_.has(bytes)) {
      refuse(in_.offset(),
             fmt::format("{} takes {} bytes and {} are left", what, bytes, in_.rest()));
    }
  }
  void need_counted(std::uint64_t count, std::size_t bytes_each, std::string_view what) const {
    if (count > in_.rest() / bytes_each) {
      refuse(in_.offset(), fmt::format("{} {} take at least {} bytes each and {} bytes are left",
                                       count, what, bytes_each, in_.rest()));
    }
  }
  Index index() { return static_cast<Index>(in_.get<std::uint64_t>()); }

  std::string text(std::string_view what, std::size_t size, std::size_t most) {
    need(size, what);
    const std::size_t begin = in_.offset();
    const std::string_view text = in_.text(size);
    const TextProblem problem = problem_of_text(text, most);
    if (!problem.what.empty()) {
      refuse(begin + problem.offset, fmt::format("{}: {}", what, problem.what));
    }
    return std::string(text);
  }

  Tensor tensor(std::uint32_t streams, std::uint64_t hbm_bytes) {
    const std::size_t begin = in_.offset();
    need(kTensorBytes, "a tensor");
    Tensor tensor;
    const auto direction = field<std::uint8_t>();
    const auto dtype = field<std::uint8_t>();
    const auto rank = field<std::uint8_t>();
    const auto axes = in_.get<std::uint8_t>();
    const auto name = in_.get<std::uint32_t>();
    const auto parts = in_.get<std::uint32_t>();
    const auto reserved = field<std::uint32_t>();
    const std::size_t shape_offset = in_.offset();
    const Index rows = index();
    const Index cols = index();
    if (direction.value > 1) {
      refuse(direction.offset,
             fmt::format("direction {} is unknown; 0 is input, 1 output", direction.value));
    }
    if (dtype.value >= kDTypes.size()) {
      refuse(dtype.offset,
             fmt::format("dtype {} is unknown; 0 is f16, 1 bf16, 2 f32", dtype.value));
    }
    if (rank.value != 1 && rank.value != 2) {
      refuse(rank.offset, fmt::format("rank is {}; it must be 1 or 2", rank.value));
    }
    require_zero(reserved);
    if (rank.value == 1 && rows != 1) {
      refuse(shape_offset, fmt::format("rows is {}; a tensor of rank 1 has 1", rows));
    }
    tensor.is_output = direction.value == 1;
    tensor.dtype = static_cast<DType>(dtype.value);
    try {
      const Shape shape = rank.value == 1 ? Shape::vector(cols) : Shape::matrix(rows, cols);
      tensor.shape = make_handle(0, 0, shape, tensor.dtype, Space::hbm).shape;
    } catch (const InputError& error) {
      refuse(shape_offset, error.what());
    }
    tensor.name = text("the name of a tensor", name, kMaxTextBytes);
    need(axes * sizeof(std::uint64_t), "the shape of a tensor");
    for (std::uint8_t i = 0; i < axes; ++i) tensor.file_shape.push_back(index());
    const std::string problem = problem_of(tensor);
    if (!problem.empty()) refuse(begin, fmt::format("tensor {}: {}", tensor.name, problem));
    need_counted(parts, kPartBytes, "parts");
    std::size_t least = 0;
    for (std::uint32_t i = 0; i < parts; ++i) {
      tensor.parts.push_back(part(tensor, least, streams, hbm_bytes));
      least = tensor.parts.back().program + std::size_t{1};
    }
    const std::string gap = gap_of(tensor);
    if (!gap.empty()) refuse(begin, fmt::format("tensor {}: {}", tensor.name, gap));
    return tensor;
  }

  Part part(const Tensor& tensor, std::size_t least, std::uint32_t streams,
            std::uint64_t hbm_bytes) {
    const std::size_t begin = in_.offset();
    const auto refuse_part = [&](const std::string& what) {
      refuse(begin, fmt::format("tensor {}: {}", tensor.name, what));
    };
    need(kPartBytes, "a part of a tensor");
    Part part;
    part.program = in_.get<std::uint32_t>();
    const auto blocks = in_.get<std::uint32_t>();
    const auto addr = in_.get<std::uint64_t>();
    part.first_col = index();
    part.cols = index();
    require_zero(field<std::uint64_t>());
    need_counted(blocks, kRowsBytes, "blocks of rows");
    for (std::uint32_t i = 0; i < blocks; ++i) {
      const Index first = index();
      part.rows.push_back({first, index()});
    }
    const std::string problem = problem_of(tensor, part, least, streams);
    if (!problem.empty()) refuse_part(problem);
    try {
      part.handle = handle_of(tensor, part, addr);
    } catch (const InputError& error) {
      refuse_part(error.what());
    }
    if (part.handle.range().end > hbm_bytes) refuse_part(beyond(part.handle, hbm_bytes));
    return part;
  }

  ProgramFile::Stream stream(std::uint32_t number) {
    need(kStreamBytes, "a stream");
    ProgramFile::Stream stream;
    stream.pe = in_.get<std::uint32_t>();
    require_zero(field<std::uint32_t>());
    const auto size = field<std::uint64_t>();
    if (size.value > in_.rest()) {
      refuse(size.offset, fmt::format("the commands of program {} take {} bytes and {} are left",
                                      number, size.value, in_.rest()));
    }
    const std::size_t offset = in_.offset();
    in_.text(size.value);
    stream.offset = offset;
    stream.size = size.value;
    stream.program = decode(bytes_.data() + offset, stream.size, table_entries_,
                            [&](std::size_t at, const std::string& what) {
                              refuse(offset + at, fmt::format("program {}: {}", number, what));
                            });
    return stream;
  }

  std::string_view name_;
  const std::vector<std::uint8_t>& bytes_;
  LittleEndianReader in_;
  std::uint32_t table_entries_ = 0;
};

[[noreturn]] void refuse_to_write(std::string_view what, const std::string& problem) {
  throw InputError(fmt::format("a program file cannot hold {}: {}", what, problem));
}

void write(LittleEndianWriter& out, const Tensor& tensor, const ProgramFile& file) {
  const auto put = [&](Index value) { out.put(static_cast<std::uint64_t>(value)); };
  const auto refuse = [&](const std::string& problem) {
    if (!problem.empty()) refuse_to_write(fmt::format("tensor {}", tensor.name), problem);
  };
  refuse(problem_of(tensor));
  out.put<std::uint8_t>(tensor.is_output ? 1 : 0);
  out.put(static_cast<std::uint8_t>(tensor.dtype));
  out.put(static_cast<std::uint8_t>(tensor.shape.rank()));
  out.put(static_cast<std::uint8_t>(tensor.file_shape.size()));
  out.put(static_cast<std::uint32_t>(tensor.name.size()));
  out.put(static_cast<std::uint32_t>(tensor.parts.size()));
  out.put<std::uint32_t>(0);
  put(tensor.shape.rows());
  put(tensor.shape.cols());
  out.text(tensor.name);
  for (const Index axis : tensor.file_shape) put(axis);
  std::size_t least = 0;
  for (const Part& part : tensor.parts) {
    refuse(problem_of(tensor, part, least, file.streams.size()));
    least = part.program + std::size_t{1};
    if (!part.handle.same_view(handle_of(tensor, part, part.handle.addr))) {
      refuse(
          fmt::format("the part of program {} lies as {}; it must be its rows and columns, dense "
                      "in HBM",
                      part.program, part.handle.describe()));
    }
    if (part.handle.range().end > file.hbm_bytes) refuse(beyond(part.handle, file.hbm_bytes));
    out.put(part.program);
    out.put(static_cast<std::uint32_t>(part.rows.size()));
    out.put(part.handle.addr);
    put(part.first_col);
    put(part.cols);
    out.put<std::uint64_t>(0);
    for (const Tensor::Rows& block : part.rows) {
      put(block.begin);
      put(block.count);
    }
  }
  refuse(gap_of(tensor));
}

}  // namespace

std::vector<std::uint8_t> to_bytes(const ProgramFile& file) {
  const TextProblem title = problem_of_text(file.title, kMaxTitleBytes);
  if (!title.what.empty()) refuse_to_write("its title", title.what);
  if (file.tiles == 0) refuse_to_write("0 tiles", "give at least 1");
  if (file.streams.empty()) refuse_to_write("no program", "give at least one");
  const std::string table = problem_of_table(file.table_entries);
  if (!table.empty()) refuse_to_write("its records", table);
  std::vector<std::uint8_t> bytes(kMagic.begin(), kMagic.end());
  LittleEndianWriter out(bytes);
  out.put(kVersion);
  out.put<std::uint32_t>(0);
  out.put<std::uint64_t>(0);  // the size, which is filled in later
  out.put(file.hbm_bytes);
  out.put(file.scratch_bytes);
  out.put(file.tiles);
  out.put(file.table_entries);
  out.put(static_cast<std::uint32_t>(file.tensors.size()));
  out.put(static_cast<std::uint32_t>(file.streams.size()));
  out.put(static_cast<std::uint32_t>(file.title.size()));
  out.text(file.title);
  std::set<std::string_view> names;
  for (const Tensor& tensor : file.tensors) {
    if (!names.insert(tensor.name).second) {
      refuse_to_write(fmt::format("tensor {}", tensor.name), "there are two of that name");
    }
    write(out, tensor, file);
  }
  std::set<std::uint32_t> pes;
  for (const ProgramFile::Stream& stream : file.streams) {
    if (!pes.insert(stream.pe).second) {
      refuse_to_write(fmt::format("two programs for PE {}", stream.pe), "give each its own");
    }
    const std::vector<std::uint8_t> records = encode(stream.program, file.table_entries);
    out.put(stream.pe);
    out.put<std::uint32_t>(0);
    out.put(static_cast<std::uint64_t>(records.size()));
    bytes.insert(bytes.end(), records.begin(), records.end());
  }
  out.set(kFileSizeOffset, std::uint64_t{bytes.size() + kCrcBytes});
  out.put(crc32(bytes.data(), bytes.size()));
  return bytes;
}

ProgramFile parse_program_file(const std::vector<std::uint8_t>& bytes, std::string_view name) {
  return FileReader(bytes, name).read();
}

std::vector<std::uint8_t> program_file_bytes(const std::string& path) {
  const FileStart start = file_start(path, kHeaderBytes);
  check_start(path, start.bytes, start.size);
  return file_bytes(path);
}

ProgramFile read_program_file(const std::string& path) {
  return parse_program_file(program_file_bytes(path), path);
}

}  // namespace kernbench::command
