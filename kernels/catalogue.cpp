// SPDX-License-Identifier: Apache-2.0
#include "kernels/catalogue.hpp"

#include "kernels/dispatch.hpp"
#include "kernels/gemm.hpp"
#include "kernels/gqa_decode.hpp"

namespace kernbench::kernels {

std::vector<Kernel> catalogue() { return {gqa_decode(), gemm(), dispatch()}; }

}  // namespace kernbench::kernels
