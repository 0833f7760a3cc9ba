// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "tlm_if/command/error.hpp"

namespace kernbench::runtime {
namespace {

using testing::HasSubstr;

class Safetensors : public testing::Test {
 protected:
  Safetensors() : path_(testing::TempDir() + "kernbench_" + test_name() + ".safetensors") {}
  ~Safetensors() override { std::filesystem::remove(path_); }

  static std::string test_name() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  void write_bytes(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  std::string read_bytes() const {
    std::stringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }
  /// A file with this header and `data_bytes` zero bytes of data.
  void write_file(const std::string& header, std::size_t data_bytes) const {
    std::string bytes(8, '\0');
    for (int i = 0; i < 8; ++i) {
      bytes[static_cast<std::size_t>(i)] = static_cast<char>(header.size() >> (8 * i));
    }
    write_bytes(bytes + header + std::string(data_bytes, '\0'));
  }
  std::string error_of_read() const {
    try {
      read_safetensors(path_);
    } catch (const InputError& e) {
      return e.what();
    }
    return "no error";
  }

  std::string path_;
};

TEST_F(Safetensors, WritesTheFormatByteForByte) {
  // Names in order, header padded with spaces to a multiple of 8, data little-endian.
  write_safetensors(
      path_, {{"w", {FileDType::f32, {}, {-2}}}, {"a", {FileDType::f16, {1, 2}, {1, -0.5}}}});
  const std::string header = R"({"a":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},)"
                             R"("w":{"dtype":"F32","shape":[],"data_offsets":[4,8]}})"
                             "    ";
  ASSERT_EQ(header.size(), 112U);
  const std::string length("\x70\0\0\0\0\0\0\0", 8);
  const std::string data("\x00\x3c\x00\xb8\x00\x00\x00\xc0", 8);
  EXPECT_EQ(read_bytes(), length + header + data);
}

TEST_F(Safetensors, EveryDTypeComesBackExactly) {
  const double inf = std::numeric_limits<double>::infinity();
  const FileTensors tensors{{"f16", {FileDType::f16, {2, 2}, {1.5, -65504, 0x1p-24, -inf}}},
                            {"bf16", {FileDType::bf16, {3}, {256, -1.5, 0x1p-133}}},
                            {"f32", {FileDType::f32, {1, 2}, {0x1.fffffep127, -0x1p-149}}},
                            {"f64", {FileDType::f64, {2}, {0.1, 1e300}}},
                            {"empty", {FileDType::f64, {0, 4}, {}}}};
  write_safetensors(path_, tensors);
  const FileTensors back = read_safetensors(path_);
  ASSERT_EQ(back.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const FileTensor& found = back.at(name);
    EXPECT_EQ(found.dtype, tensor.dtype) << name;
    EXPECT_EQ(found.shape, tensor.shape) << name;
    EXPECT_EQ(found.values, tensor.values) << name;
  }
}

TEST_F(Safetensors, EqualTensorsGiveEqualBytes) {
  const FileTensors tensors{{"x", {FileDType::f64, {1}, {0.1}}}};
  write_safetensors(path_, tensors);
  const std::string first = read_bytes();
  write_safetensors(path_, read_safetensors(path_));
  EXPECT_EQ(read_bytes(), first);
}

TEST_F(Safetensors, TakesMetadataPaddingAndAnyOrderOfData) {
  write_file(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
      R"("b":{"data_offsets":[0,4],"dtype":"F16","shape":[2,1]}}   )",
      8);
  const FileTensors tensors = read_safetensors(path_);
  EXPECT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors.at("b").shape, (std::vector<std::int64_t>{2, 1}));
}

struct BadHeader {
  const char* header;
  std::size_t data_bytes;
  const char* message;
};

TEST_F(Safetensors, RefusesWhatBreaksTheFormat) {
  const BadHeader cases[] = {
      {"", 0, "the header does not start with '{'"},
      {" {}", 0, "the header does not start with '{'"},
      {"{\"a\":", 0, "the header is not valid JSON at its byte 6"},
      {"{}", 3, "3 bytes of data follow the last tensor; the file must end there"},
      {R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]},)"
       R"("a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})",
       2, "'a' appears twice in the header"},
      {R"({"a":{"dtype":"F16","dtype":"F32","shape":[1],"data_offsets":[0,2]}})", 2,
       "'dtype' appears twice in the header"},
      {R"({"a\nb":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})", 2,
       R"(the name "a\nb" in the header has a control character)"},
      {R"({"__metadata__":{"x":1}})", 0, "__metadata__ must be an object of strings"},
      {R"({"a":[1]})", 0, "tensor 'a': its entry is not an object"},
      {R"({"a":{"shape":[1],"data_offsets":[0,2]}})", 2, "tensor 'a': has no dtype"},
      {R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2],"x":1}})", 2,
       "tensor 'a': unknown key 'x'; keys are dtype, shape, data_offsets"},
      {R"({"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}})", 4,
       "tensor 'a': dtype \"I32\" is not one of F16, BF16, F32, F64"},
      {R"({"a":{"dtype":"F16","shape":[-1],"data_offsets":[0,2]}})", 2,
       "tensor 'a': shape [-1] must be a list of integers of at least 0"},
      {R"({"a":{"dtype":"F16","shape":[1.0],"data_offsets":[0,2]}})", 2,
       "tensor 'a': shape [1.0] must be a list of integers"},
      {R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2,4]}})", 2,
       "tensor 'a': data_offsets [0,2,4] must be [begin, end] within the 2 bytes of data"},
      {R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[2,0]}})", 2,
       "tensor 'a': data_offsets [2,0] must be [begin, end] within the 2 bytes of data"},
      {R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", 2,
       "tensor 'a': data_offsets [0,4] must be [begin, end] within the 2 bytes of data"},
      {R"({"a":{"dtype":"F16","shape":[3],"data_offsets":[0,4]}})", 4,
       "tensor 'a': data_offsets [0,4] hold 4 bytes; shape [3] of F16 takes 6"},
      {R"({"a":{"dtype":"F16","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
       "tensor 'a': data_offsets [0,0] hold 0 bytes; shape [4294967296,4294967296] of F16 takes "
       "more than 64 bits can count"},
      {R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"F16","shape":[2],"data_offsets":[2,6]}})",
       6, "tensor 'b': data_offsets [2, 6] overlap tensor 'a', which ends at 4"},
      {R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"F16","shape":[1],"data_offsets":[4,6]}})",
       6, "tensor 'b': data_offsets [4, 6] leave a gap from byte 2; tensors must be contiguous"},
  };
  for (const BadHeader& c : cases) {
    write_file(c.header, c.data_bytes);
    const std::string message = error_of_read();
    EXPECT_THAT(message, HasSubstr(c.message)) << c.header;
    EXPECT_THAT(message, HasSubstr(path_)) << c.header;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST_F(Safetensors, RefusesWhatIsNoSuchFile) {
  EXPECT_EQ(error_of_read(), path_ + ": no such file; give the path of one that exists");
  write_bytes("PK\x03\x04");
  EXPECT_THAT(error_of_read(), HasSubstr("has 4 bytes; a safetensors file starts with an 8-byte"));
  write_bytes("\x93NUMPY and no header length");
  EXPECT_THAT(error_of_read(), HasSubstr("is out of range [2, "));
  EXPECT_THROW(read_safetensors(testing::TempDir()), InputError);
}

TEST_F(Safetensors, RefusesAHeaderThatIsCutOff) {
  write_bytes(std::string("\x40\0\0\0\0\0\0\0{}", 10));
  EXPECT_THAT(error_of_read(), HasSubstr("header length 64 is out of range [2, 2]"));
}

}  // namespace
}  // namespace kernbench::runtime
