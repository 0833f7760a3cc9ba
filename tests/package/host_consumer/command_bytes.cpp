// SPDX-License-Identifier: Apache-2.0
// Compiles a kernel without SystemC: a bare composite of one gemm is 46 bytes (contract 3).
#include <iostream>

#include "kernels/catalogue.hpp"
#include "tl/tl.hpp"
#include "tlm_if/command/program.hpp"

namespace tl = kernbench::tl;

int main() {
  kernbench::command::ProgramRecorder recorder;
  tl::Context tl(tl::Target{}, recorder);
  const auto a = tl.empty({8, 128}, tl::f16);
  tl.composite(tl::gemm(a, tl.ref(0, {128, 64}, tl::f16, "b")));

  const auto commands = recorder.program().commands();
  std::cout << kernbench::kernels::catalogue().size() << " kernels; a bare gemm takes "
            << logical_bytes(commands.front()) << " bytes, expected 46\n";
  return commands.size() == 1 && logical_bytes(commands.front()) == 46 ? 0 : 1;
}
