// SPDX-License-Identifier: Apache-2.0
// The C header of the record format against the code that encodes and decodes.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/command/pv_composite.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tlm_if/command/encoding.hpp"
#include "tlm_if/command/op_table.hpp"
#include "tlm_if/command/program_format.h"

extern "C" {
// In a source of C99.
unsigned host_format_program(unsigned char* at);
}

namespace kernbench::command {
namespace {

// One by one, in both directions.
TEST(HostFormatHeader, HasTheOpcodesOfTheOpTable) {
  const std::string header = kernbench::test::read_file(std::string(KERNBENCH_SOURCE_DIR) +
                                                        "/tlm_if/command/program_format.h");
  std::map<std::string, unsigned long> in_header, in_table;
  const std::regex define(R"(#define KB_OP_(\w+) (0x[0-9a-f]+)u\b)");
  for (std::sregex_iterator match(header.begin(), header.end(), define), end; match != end;
       ++match) {
    std::string name = (*match)[1];
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    in_header[name] = std::stoul((*match)[2], nullptr, 16);
  }
  for (const OpInfo& info : kOpTable) {
    in_table[std::string(info.name)] = static_cast<unsigned long>(info.kind);
  }
  EXPECT_EQ(in_header, in_table);
}

// A program that C writes field by field: what the encoder makes of the same command, byte by byte,
// and so what the decoder gives back.
TEST(HostFormatHeader, ADriverInCWritesACommand) {
  std::vector<std::uint8_t> bytes(1000);
  bytes.resize(host_format_program(bytes.data()));
  const TensorHandle p = make_handle(1, kTcmBase, Shape{8, 64}, DType::f16, Space::tcm, "P");
  const TensorHandle v = make_handle(2, 4096, Shape{64, 128}, DType::f16, Space::hbm, "V");
  const TensorHandle o =
      make_handle(3, kTcmBase + 1024, Shape{8, 128}, DType::f32, Space::tcm, "O");
  const Program expected{{Command(test::pv_composite(p, v, o))}};
  EXPECT_EQ(bytes, encode(expected));
  EXPECT_EQ(decode(bytes, "the program in C"), expected);
}

// The scalar of a send: peer in the low 24 bits, channel in the high 8.
TEST(HostFormatHeader, PeerAndChannelShareAScalar) {
  const TensorHandle src = make_handle(1, kTcmBase, Shape{1, 8}, DType::f16, Space::tcm, "x");
  const std::vector<std::uint8_t> bytes = encode({{Command(IpcqSendCmd{src, {0x12345, 0xab}})}});
  constexpr std::uint32_t kScalar = KB_PEER(0x12345u, 0xabu);
  const std::size_t at = KB_SET_HANDLE_BYTES + KB_RECORD_BODY + 1 + KB_REFERENCE_BYTES;
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(bytes[at + i], static_cast<std::uint8_t>(kScalar >> 8 * i));
  }
}

}  // namespace
}  // namespace kernbench::command
