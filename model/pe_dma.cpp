// SPDX-License-Identifier: Apache-2.0
#include "model/pe_dma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/arch/slice_bytes.hpp"

namespace kernbench {
namespace {

bool is_write(const StageTransaction& stage) {
  return stage.spec.kind == arch::StageKind::dma_write;
}
/// The slice in HBM, whose layout determines the bursts.
const arch::Slice& hbm_side(const StageTransaction& stage) {
  return is_write(stage) ? stage.spec.out : stage.spec.operands[0];
}
/// True for the write of a tile that STORE has packed into the transaction; it has no source in
/// TCM.
bool already_packed(const StageTransaction& stage) { return stage.spec.operands.empty(); }

}  // namespace

PeDma::PeDma(const sc_core::sc_module_name& name, PeContext& pe)
    : sc_module(name),
      Settling(pe.hub, SettlePhase::grant, pe.index,
               static_cast<std::uint32_t>(ComponentOrder::dma)),
      port("port", pe, *this),
      pe_(pe) {
  KERNBENCH_HAS_PROCESS(PeDma);
  SC_METHOD(finish_setup);
  sensitive << setups_.due_event();
  dont_initialize();
  stage_in.bind(*this);
  for (std::uint32_t i = 0; i < pe.config.dma.read_channels; ++i) {
    directions_[0].channels.emplace_back(arch::Engine::dma_rd, i);
  }
  for (std::uint32_t i = 0; i < pe.config.dma.write_channels; ++i) {
    directions_[1].channels.emplace_back(arch::Engine::dma_wr, i);
  }
}

tlm::tlm_sync_enum PeDma::nb_transport_fw(StageTransaction& stage, tlm::tlm_phase&,
                                          sc_core::sc_time&) {
  stage.refused = !addresses_are_sound(stage);
  stage.arrival = pe_.time.now();
  directions_[is_write(stage) ? 1 : 0].queue.push(stage);
  touch();
  return tlm::TLM_ACCEPTED;
}

// R3.4: an address on the wrong side is reported, never wrapped. Ranges in HBM are checked before
// sending, because some memories crash on an address out of range.
bool PeDma::addresses_are_sound(const StageTransaction& stage) const {
  const arch::StageSpec& spec = stage.spec;
  bool sound = true;
  const auto check = [&](const arch::Slice& slice, const command::ByteRange& memory,
                         const char* memory_name) {
    const command::ByteRange range = slice.range();
    if (memory.contains(range)) return;
    sound = false;
    SC_REPORT_ERROR(
        "/kernbench/pe_dma/address",
        fmt::format("{}: command {} ({}): operand {} at [{:#x}, {:#x}) lies outside {} [{:#x}, "
                    "{:#x}); check its address and the memory size in the topology",
                    name(), stage.command, arch::to_string(spec.kind),
                    command::to_string(slice.name), range.begin, range.end, memory_name,
                    memory.begin, memory.end)
            .c_str());
  };
  check(hbm_side(stage), {0, pe_.config.hbm_bytes}, "HBM");
  if (!is_write(stage)) check(spec.out, pe_.tcm.range(), "TCM");
  if (is_write(stage) && !already_packed(stage)) check(spec.operands[0], pe_.tcm.range(), "TCM");
  return sound;
}

void PeDma::settle() {
  for (Direction& direction : directions_) {
    for (Channel& channel : direction.channels) {
      if (direction.queue.empty()) break;
      if (channel.stage == nullptr) grant(channel, direction.queue.pop());
    }
  }
}

void PeDma::grant(Channel& channel, StageTransaction& stage) {
  channel.stage = &stage;
  channel.cursor = arch::BurstCursor(hbm_side(stage), pe_.config.dma.burst_bytes);
  channel.signals.begin(stage, hbm_side(stage));
  stage.start = pe_.time.now();
  stage.open_bursts = 0;
  pe_.begin(stage);
  if (stage.compute) {
    if (!is_write(stage)) {
      stage.bytes.resize(stage.spec.bytes);
      if (stage.refused) std::fill(stage.bytes.begin(), stage.bytes.end(), pe_.tcm.unwritten());
    } else if (!stage.refused && !already_packed(stage)) {
      arch::gather(pe_.tcm, stage.spec.operands[0], stage.spec.out,
                   stage.bytes);  // sampled at start (R8.1)
    }
  }
  send_backward(stage_in, stage, tlm::END_REQ);
  arch::Picoseconds setup = pe_.timing.dma_setup() + pe_.extra_delay();
  if (stage.refused) setup = std::max<arch::Picoseconds>(setup, 1);  // a stage takes time
  if (setup == 0) {
    request_burst(channel);
    return;
  }
  setups_.push(pe_.time.to_sc_time(setup), &channel);
}

void PeDma::finish_setup() {
  in_turn([this] { setups_.run_due([this](Channel* channel) { begin_bursts(*channel); }); });
}

void PeDma::begin_bursts(Channel& channel) {
  StageTransaction& stage = *channel.stage;
  if (stage.refused) {
    release(channel);
    finish(stage, channel);
  } else {
    request_burst(channel);
  }
}

void PeDma::release(Channel& channel) {
  channel.stage->end = pe_.time.now();
  channel.stage = nullptr;
  channel.signals.end();
  touch();
}

void PeDma::request_burst(Channel& channel) {
  const arch::Burst burst = channel.cursor.peek();
  // Credits are taken before the request, so responses are never held back.
  if (channel.outstanding + burst.bytes > pe_.config.dma.max_outstanding_bytes) {
    channel.waits_for_credit = true;
    return;
  }
  channel.waits_for_credit = false;
  channel.outstanding += burst.bytes;
  channel.cursor.advance(burst.bytes);
  StageTransaction& stage = *channel.stage;
  ++stage.open_bursts;
  const bool write = is_write(stage);
  const std::uint8_t* data = write && stage.compute ? stage.bytes.data() + burst.offset : nullptr;
  port.request(write, channel.index, burst, stage, &channel, data);
}

void PeDma::accepted(BurstPayload& burst) {
  Channel& channel = *static_cast<Channel*>(burst.client_data);
  if (!channel.cursor.done()) {
    request_burst(channel);
    return;
  }
  release(channel);
}

void PeDma::completed(BurstPayload& burst) {
  Channel& channel = *static_cast<Channel*>(burst.client_data);
  StageTransaction& stage = *burst.stage;
  channel.outstanding -= burst.burst.bytes;
  if (!is_write(stage) && stage.compute) {
    std::memcpy(stage.bytes.data() + burst.burst.offset, burst.buffer.data(), burst.burst.bytes);
  }
  --stage.open_bursts;
  // The channel may already serve the next stage; it belongs to this stage only while it holds it.
  if (channel.stage != &stage && stage.open_bursts == 0) finish(stage, channel);
  if (channel.waits_for_credit) request_burst(channel);
}

void PeDma::finish(StageTransaction& stage, const Channel& channel) {
  stage.done = pe_.time.now();
  if (!is_write(stage) && stage.compute && pe_.tcm.range().contains(stage.spec.out.range())) {
    arch::scatter(pe_.tcm, stage.spec.out, stage.spec.operands[0], stage.bytes);
  }
  pe_.record(stage, channel.engine, channel.index);
  send_backward(stage_in, stage, tlm::BEGIN_RESP);
}

bool PeDma::serving() const {
  return std::any_of(directions_.begin(), directions_.end(), [](const Direction& direction) {
    return std::any_of(direction.channels.begin(), direction.channels.end(),
                       [](const Channel& channel) {
                         return channel.stage != nullptr || channel.outstanding != 0;
                       });
  });
}

void PeDma::trace(sc_core::sc_trace_file* file) const {
  for (const Direction& direction : directions_) {
    for (const Channel& channel : direction.channels) {
      channel.signals.trace(
          file, fmt::format("{}_{}", name(),
                            record::engine_name(channel.engine, channel.index).substr(4)));
    }
  }
}

}  // namespace kernbench
