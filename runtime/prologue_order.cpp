// SPDX-License-Identifier: Apache-2.0
#include "runtime/prologue_order.hpp"

#include <algorithm>

namespace kernbench::runtime {

void PrologueOrder::record(const record::StageRecord& record) {
  // Rows come by start time. MATH outside the tile loop belongs to the prologue if no b has been
  // read yet, or if its op comes before the gemm.
  if (record.stage == arch::StageKind::math && record.tile.m < 0) {
    Composite& composite = composites_[record.cmd];
    if (composite.reads_b && record.op_index > composite.gemm_index) return;
    composite.has_prologue = true;
    composite.prologue_end = std::max(composite.prologue_end, record.end);
  } else if (record.stage == arch::StageKind::dma_read && record.operand == "b") {
    Composite& composite = composites_[record.cmd];
    if (composite.reads_b) return;
    composite.reads_b = true;
    composite.gemm_index = record.op_index;
    composite.first_read = record.start;
  }
}

std::uint64_t PrologueOrder::composites() const {
  return static_cast<std::uint64_t>(
      std::count_if(composites_.begin(), composites_.end(),
                    [](const auto& entry) { return applies(entry.second); }));
}

std::uint64_t PrologueOrder::violations() const {
  return static_cast<std::uint64_t>(
      std::count_if(composites_.begin(), composites_.end(), [](const auto& entry) {
        return applies(entry.second) && entry.second.first_read < entry.second.prologue_end;
      }));
}

}  // namespace kernbench::runtime
