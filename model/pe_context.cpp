// SPDX-License-Identifier: Apache-2.0
#include "model/pe_context.hpp"

namespace kernbench {
namespace {

// The memory operand that a row shows: an accumulator op's `other`, a DMA's HBM side, else `out`.
const arch::Slice* shown_operand(const arch::StageSpec& spec) {
  switch (spec.kind) {
    case arch::StageKind::dma_read:
      return &spec.operands[0];
    case arch::StageKind::math:
      if (spec.on_accumulator()) return spec.operands.empty() ? nullptr : &spec.operands[0];
      return spec.has_out ? &spec.out : nullptr;
    case arch::StageKind::store:
    case arch::StageKind::dma_write:
      return &spec.out;
    default:
      return nullptr;
  }
}

std::string_view shown_op(const arch::StageSpec& spec) {
  if (spec.op_index >= 0) return command::to_string(spec.op);
  return spec.kind == arch::StageKind::dma_read ? "load" : "store";
}

}  // namespace

record::StageRecord stage_record(const PeContext& pe, const StageTransaction& stage,
                                 arch::Engine engine) {
  const arch::StageSpec& spec = stage.spec;
  record::StageRecord record;
  record.start = stage.start;
  record.end = stage.end;
  record.done = stage.done;
  record.pe = pe.index;
  record.engine = engine;
  record.stage = spec.kind;
  record.op = shown_op(spec);
  record.cmd = static_cast<std::int64_t>(stage.command);
  record.op_index = spec.op_index;
  record.tile = spec.tile;
  record.bytes = spec.bytes;
  record.elements = spec.elements;
  if (const arch::Slice* operand = shown_operand(spec)) {
    record.operand = command::to_string(operand->name);
    // An output tile for HBM has no TCM address of its own while PE_TCM stores it.
    record.has_addr = spec.kind != arch::StageKind::store || operand->addr >= command::kTcmBase;
    record.addr = record.has_addr ? operand->addr : 0;
  }
  return record;
}

}  // namespace kernbench
