// SPDX-License-Identifier: Apache-2.0
#include "model/arch/limits.hpp"

namespace kernbench::arch {

command::Limits limits_of(const PeConfig& config, std::optional<std::uint32_t> pe) {
  command::Limits limits;
  limits.hbm_bytes = config.hbm_bytes;
  limits.scratch = {command::kTcmBase, command::kTcmBase + config.tcm.scratch_bytes};
  limits.tile_m = config.gemm.tile_m;
  limits.tile_k = config.gemm.tile_k;
  limits.tile_n = config.gemm.tile_n;
  limits.tile_buffer_bytes = config.tile_buffer_bytes();
  limits.math_head_from_hbm = config.scheduler.math_head_from_hbm;
  limits.pes = config.pes;
  limits.pe = pe;
  limits.ipcq_channels = config.ipcq.channels;
  return limits;
}

}  // namespace kernbench::arch
