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
    case arch::StageKind::recv:
      return &spec.out;
    case arch::StageKind::send:
      return &spec.operands[0];
    default:
      return nullptr;
  }
}

std::string_view shown_op(const arch::StageSpec& spec) {
  if (spec.op_index >= 0) return command::to_string(spec.op);
  switch (spec.kind) {
    case arch::StageKind::send:
    case arch::StageKind::recv:
      return arch::to_string(spec.kind);
    case arch::StageKind::dma_read:
      return "load";
    default:
      return "store";
  }
}

}  // namespace

void PeContext::check_begin(StageTransaction& stage) {
  stage.hazard_ticket = hazards->begin(
      {stage.command, stage.tile, stage.key.tile_stage, stage.position}, stage.spec, stage.start);
}

void PeContext::end_row(std::uint64_t ticket, record::StageRecord& row) const {
  row.end = row.done = time.now();
  row.pe = index;
  if (row.end == row.start) {
    recorder->drop(ticket);
  } else {
    recorder->end(ticket, row);
  }
}

void PeContext::end_row(const StageTransaction& stage, arch::Engine engine, std::uint32_t channel) {
  progress();
  if (recorder == nullptr) return;
  const arch::StageSpec& spec = stage.spec;
  record::StageRecord row;
  row.start = stage.start;
  row.end = stage.end;
  row.done = stage.done;
  row.pe = index;
  row.engine = engine;
  row.channel = channel;
  row.stage = spec.kind;
  row.regions = stage.regions;
  row.bytes = spec.bytes;
  row.elements = spec.elements;
  if (recorder->ordered()) {  // statistics need no more
    row.op = shown_op(spec);
    row.cmd = static_cast<std::int64_t>(stage.command);
    row.op_index = spec.op_index;
    row.tile = spec.tile;
    if (const arch::Slice* operand = shown_operand(spec)) {
      row.operand = command::to_string(operand->name);
      // A tile or chunk for HBM has no address before its DMA_WRITE.
      const bool dma =
          spec.kind == arch::StageKind::dma_read || spec.kind == arch::StageKind::dma_write;
      row.has_addr = dma || operand->addr >= command::kTcmBase;
      row.addr = row.has_addr ? operand->addr : 0;
    }
  }
  recorder->end(stage.ticket, row);
}

}  // namespace kernbench
