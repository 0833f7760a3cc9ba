// SPDX-License-Identifier: Apache-2.0
#include "kernels/catalogue.hpp"

#include "kernels/collectives.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/gemm.hpp"
#include "kernels/gqa_decode.hpp"
#include "kernels/gqa_prefill.hpp"
#include "kernels/layernorm.hpp"
#include "kernels/linear_gelu_norm.hpp"
#include "kernels/llama.hpp"
#include "kernels/mlp.hpp"
#include "kernels/rmsnorm.hpp"
#include "kernels/rmsnorm_linear.hpp"
#include "kernels/softmax.hpp"
#include "kernels/state_merge.hpp"

namespace kernbench::kernels {

std::vector<Kernel> catalogue() {
  return {gqa_decode(), gqa_prefill(), gemm(),           state_merge(),      softmax(),
          rmsnorm(),    layernorm(),   rmsnorm_linear(), linear_gelu_norm(), mlp(),
          dispatch(),   all_reduce(),  all_gather(),     llama_layer(),      llama_decode_step()};
}

}  // namespace kernbench::kernels
