// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/decode_fuzzer.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/decode_check.hpp"
#include "tests/support/sealed_file.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/program_file.hpp"

namespace {

using kernbench::InputError;
using kernbench::test::Bytes;

constexpr std::size_t kLeastFileBytes = 68;  // header and check sum

[[noreturn]] void broken(const std::string& what) {
  std::fprintf(stderr, "decode_fuzzer: %s\n", what.c_str());
  std::abort();
}

bool is_file(const std::uint8_t* data, std::size_t size) {
  return size >= kLeastFileBytes && std::memcmp(data, "\x8bKBP", 4) == 0;
}

/// A file that is accepted is written as it was read.
void read_file(const Bytes& bytes) {
  using namespace kernbench::command;  // NOLINT(google-build-using-namespace)
  ProgramFile file;
  try {
    file = parse_program_file(bytes, "file");
  } catch (const InputError& error) {
    if (std::strncmp(error.what(), "file: offset ", 13) != 0) broken(error.what());
    return;
  }
  try {
    const Bytes written = to_bytes(file);
    const ProgramFile again = parse_program_file(written, "again");
    if (to_bytes(again) != written) broken("a file has two binary forms");
    if (again.streams.size() != file.streams.size()) broken("a stream was lost");
    for (std::size_t i = 0; i < file.streams.size(); ++i) {
      if (!(again.streams[i].program == file.streams[i].program)) broken("a program has changed");
    }
  } catch (const InputError& error) {
    // A composite with two gemms has a record, and no way to come about.
    if (std::strstr(error.what(), "gemm") == nullptr) broken(error.what());
  }
}

kernbench::command::Limits small_pe() {
  kernbench::command::Limits limits;
  limits.hbm_bytes = 1 << 24;
  limits.scratch = {kernbench::command::kTcmBase, kernbench::command::kTcmBase + 65536};
  limits.tile_m = limits.tile_k = limits.tile_n = 16;
  limits.tile_buffer_bytes = 1024;
  limits.math_head_from_hbm = true;
  limits.pes = 8;
  limits.ipcq_channels = 4;
  return limits;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(  // NOLINT(readability-identifier-naming): given
    const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(data, data + size);
  if (is_file(data, size)) {
    // A wrong check sum would end every attempt to look further.
    read_file(kernbench::test::sealed(bytes));
    return 0;
  }
  kernbench::command::Decoder decoder(kernbench::test::kFuzzedTableEntries);
  kernbench::test::DecodeTally tally;
  const std::string problem = kernbench::test::decode_all(bytes, decoder, small_pe(), true, tally);
  if (!problem.empty()) broken(problem);
  return 0;
}
