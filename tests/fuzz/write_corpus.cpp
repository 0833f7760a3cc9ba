// SPDX-License-Identifier: Apache-2.0
// write_corpus FOLDER: what the fuzzer starts from, made from the kernels of the catalogue.
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/fuzz/decode_fuzzer.hpp"
#include "tests/support/catalogue_programs.hpp"

namespace {

bool write(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return file.good();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_corpus FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = argv[1];
  bool good = write(folder + "/file", kernbench::test::sample_file());
  int number = 0;
  for (const auto& stream : kernbench::test::sample_streams()) {
    good = good && write(folder + "/stream_" + std::to_string(number++), stream);
  }
  for (const auto& stream :
       kernbench::test::sample_programs(kernbench::test::kFuzzedTableEntries)) {
    good = good && write(folder + "/program_" + std::to_string(number++), stream);
  }
  if (!good) std::fprintf(stderr, "write_corpus: cannot write to %s\n", folder.c_str());
  return good ? 0 : 2;
}
