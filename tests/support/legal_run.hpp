// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/kernel_bench.hpp"

namespace kernbench::test {

/// A way to run a kernel with numbers. All legal ways give the same results.
struct LegalRun {
  std::string name;
  BenchOptions options;
};

LegalRun plain();
/// NaN in every byte of TCM and HBM that is no input.
LegalRun poisoned();
/// Every fourth dispatch, DMA setup, and stage of PE_TCM, PE_GEMM and PE_MATH up to 500 ns longer,
/// by chance.
LegalRun delayed(std::uint64_t seed);
/// The modules created in another order: the op log too must be the same.
LegalRun shuffled(std::uint64_t seed);
/// Every DMA is done at once.
LegalRun early_memory();
/// Any DMA may be done up to 5 us late, and after later ones; bytes move with the response.
LegalRun late_memory(std::uint64_t seed);

/// Runs `launch` on these inputs and returns its op log and its results as one text, so that
/// in_child() can hand it over. Checks what run_kernel() checks.
std::string run_as_text(const arch::TopologyConfig& topology, const runtime::Launch& launch,
                        const kernels::HostTensors& inputs, const LegalRun& how);
std::string op_log_in(const std::string& run);
std::string results_in(const std::string& run);
/// Outputs and observed values as results_in() has them: a line a tensor, every bit of each entry.
std::string text_of(const kernels::HostTensors& tensors);

}  // namespace kernbench::test
