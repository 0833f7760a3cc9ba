// SPDX-License-Identifier: Apache-2.0
// PE_IPCQ: messages between PEs over links of one latency L. A slot takes S at the sender and R at
// the receiver; unless said S = R = 10 ns, L = 100 ns, and every dispatch takes 10 ns (unit_pe).

#include "model/pe_ipcq.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "model/embedded_hbm.hpp"
#include "model/fabric.hpp"
#include "model/record/codes.hpp"
#include "tests/model/raw_commands.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/ipcq_bench.hpp"
#include "tests/support/monitored.hpp"
#include "tests/support/network_way.hpp"
#include "tests/support/sc_trace_reader.hpp"
#include "tests/support/slice_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

using command::CommandSink;
using command::IpcqRecvCmd;
using command::IpcqSendCmd;
using command::PeCpuOverheadCmd;
using command::Shape;
using command::TensorHandle;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr command::Index kSlotEntries = 32;  // of f16, with slots of 64 bytes

arch::TopologyConfig small_slots(std::uint32_t depth = 16) {
  arch::TopologyConfig topology = unit_pe();
  topology.pe.ipcq.slot_bytes = 64;
  topology.pe.ipcq.depth = depth;
  return topology;
}

TensorHandle slots(command::Address offset, command::Index count) {
  return tcm(offset, Shape::vector(count * kSlotEntries));
}
void send(CommandSink& sink, const TensorHandle& src, std::uint32_t peer,
          std::uint32_t channel = 0) {
  sink.issue(IpcqSendCmd{src, {peer, channel}});
}
void recv(CommandSink& sink, const TensorHandle& dst, std::uint32_t peer,
          std::uint32_t channel = 0) {
  sink.issue(IpcqRecvCmd{dst, {peer, channel}});
}

std::vector<OpLogRow> rows_of(const IpcqResult& result, std::uint32_t pe, std::int64_t cmd,
                              const std::string& stage) {
  return select(result.rows, [&](const OpLogRow& row) {
    return row.pe == pe && row.cmd == cmd && row.stage == stage;
  });
}
std::vector<Span> spans(const IpcqResult& result, std::uint32_t pe, std::int64_t cmd,
                        const std::string& stage) {
  std::vector<Span> found;
  for (const OpLogRow& row : rows_of(result, pe, cmd, stage)) {
    found.emplace_back(row.start, row.end);
  }
  return found;
}

// ---- timing -------------------------------------------------------------------------------------

// At the defaults of contract 9: dispatch of 17 bytes 40 + 17 / 16 = 41.0625 ns, rounded half up
// (R6.1); send 10; way 100; receive 10. The receive was issued at the same time and waits.
TEST(PeIpcq, PointToPoint) {
  const TensorHandle x = tcm(512, Shape::vector(32));
  const TensorHandle y = tcm(1024, Shape::vector(32));
  const IpcqResult result = run_pes(single_pe(), {[&](CommandSink& sink) { send(sink, x, 1, 2); },
                                                  [&](CommandSink& sink) {
                                                    recv(sink, y, 0, 2);
                                                    sink.wait({y.range()});
                                                  }});
  ASSERT_TRUE(result.idle);
  EXPECT_EQ(spans(result, 0, 0, "dispatch"), (std::vector<Span>{{0, 41'063}}));
  EXPECT_EQ(rows_of(result, 0, 0, "dispatch")[0].bytes, 17U);
  EXPECT_EQ(rows_of(result, 1, 0, "dispatch")[0].bytes, 17U);
  EXPECT_EQ(spans(result, 1, 0, "wait"), (std::vector<Span>{{41'063, 161'063}}));

  ASSERT_EQ(rows_of(result, 0, 0, "send").size(), 1U);
  const OpLogRow sent = rows_of(result, 0, 0, "send")[0];
  EXPECT_EQ(sent.start, 41'063U);
  EXPECT_EQ(sent.end, 51'063U);
  EXPECT_EQ(sent.done, 51'063U);
  EXPECT_EQ(sent.engine, "ipcq");
  EXPECT_EQ(sent.op, "send");
  EXPECT_EQ(sent.op_index, -1);
  EXPECT_EQ(sent.tile_m, 0);
  EXPECT_EQ(sent.tile_n, 1);
  EXPECT_EQ(sent.tile_k, 2);
  EXPECT_EQ(sent.operand, "src");
  EXPECT_EQ(sent.addr, command::kTcmBase + 512);
  EXPECT_EQ(sent.bytes, 64U);
  EXPECT_EQ(sent.elements, 0U);

  ASSERT_EQ(rows_of(result, 1, 0, "recv").size(), 1U);
  const OpLogRow received = rows_of(result, 1, 0, "recv")[0];
  EXPECT_EQ(received.start, 151'063U);
  EXPECT_EQ(received.end, 161'063U);
  EXPECT_EQ(received.done, 161'063U);
  EXPECT_EQ(received.engine, "ipcq");
  EXPECT_EQ(received.op, "recv");
  EXPECT_EQ(received.tile_m, 0);
  EXPECT_EQ(received.tile_n, 0);
  EXPECT_EQ(received.tile_k, 2);
  EXPECT_EQ(received.operand, "out");
  EXPECT_EQ(received.addr, command::kTcmBase + 1024);
  EXPECT_EQ(received.bytes, 64U);
}

// The same over the NoC of a cube: its links instead of the constant way.
TEST(PeIpcq, PointToPointOverAMesh) {
  arch::TopologyConfig topology = single_pe();
  topology.pes_per_cube = 2;
  const arch::Network network =
      arch::Network::mesh(topology.noc, topology.pe.clock_ghz, topology.pes(), 0);
  Fabric noc("noc", network, 0, [](const Packet& packet) { return packet.index; });
  EmbeddedHbm hbm("hbm", topology.hbm, 2, false);
  Pe sender("pe0", topology.pe_config(), 0), receiver("pe1", topology.pe_config(), 1);
  std::vector<std::unique_ptr<BaseProtocolMonitor>> monitors;
  for (Pe* pe : {&sender, &receiver}) {
    monitors.push_back(
        bind_monitored(pe->memory, hbm.port(pe->index()), "monitor" + std::to_string(pe->index())));
    pe->ipcq_out.bind(noc.in(pe->index()));
    noc.out(pe->index()).bind(pe->ipcq_in);
  }
  const TensorHandle x = tcm(0, Shape::vector(1000));
  sender.set_kernel([&](CommandSink& sink) { send(sink, x, 1); });
  receiver.set_kernel([&](CommandSink& sink) { recv(sink, x, 0); });
  sc_core::sc_start();
  EXPECT_TRUE(receiver.idle());
  EXPECT_EQ(receiver.cpu.last_done_ps(), 41'063 + 10'000 + unloaded(network, 0, 1, 2000) + 10'000);
}

// 2.5 slots, R = 30: slots leave every 10 ns from 10 on, the first comes at 120, and from there
// the receiver is the bottleneck.
TEST(PeIpcq, SlotsOfAMessage) {
  arch::TopologyConfig topology = small_slots();
  topology.pe.ipcq.recv_cycles = 30;
  const TensorHandle x = tcm(0, Shape::vector(80));
  const IpcqResult result = run_pes(topology, {[&](CommandSink& sink) { send(sink, x, 1); },
                                               [&](CommandSink& sink) { recv(sink, x, 0); }});
  EXPECT_TRUE(result.idle);
  EXPECT_THAT(spans(result, 0, 0, "send"), ElementsAre(ns(10, 20), ns(20, 30), ns(30, 40)));
  EXPECT_THAT(spans(result, 1, 0, "recv"), ElementsAre(ns(120, 150), ns(150, 180), ns(180, 210)));
  for (const auto& rows : {rows_of(result, 0, 0, "send"), rows_of(result, 1, 0, "recv")}) {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(rows[i].tile_m, static_cast<std::int64_t>(i));
      EXPECT_EQ(rows[i].addr, command::kTcmBase + 64 * i);
      EXPECT_EQ(rows[i].bytes, i < 2 ? 64U : 32U);
    }
  }
}

// Depth D, n slots, S = R: slot i >= D starts when the credit of slot i - D is back, one loop of
// S + L + R + L = 220 after that one started. A credit loop shorter than D slots leaves no gap.
TEST(PeIpcq, CreditsBoundWhatIsUnderWay) {
  constexpr int kSlots = 5;
  for (const std::uint32_t depth : {1U, 2U, 16U}) {
    const std::string told = in_child([&] {
      const TensorHandle x = slots(0, kSlots);
      const IpcqResult result =
          run_pes(small_slots(depth), {[&](CommandSink& sink) { send(sink, x, 1); },
                                       [&](CommandSink& sink) { recv(sink, x, 0); }});
      std::vector<Span> sent, received;
      for (std::uint64_t i = 0; i < kSlots; ++i) {
        const std::uint64_t start = 10 + i / depth * 220 + i % depth * 10;
        sent.push_back(ns(start, start + 10));
        received.push_back(ns(start + 110, start + 120));
      }
      EXPECT_EQ(spans(result, 0, 0, "send"), sent);
      EXPECT_EQ(spans(result, 1, 0, "recv"), received);
      return result.idle ? "idle" : "not idle";
    });
    EXPECT_EQ(told, "idle") << "depth " << depth;
  }
}

// The receiver is busy until 1000 and issues its receive until 1010: two slots have come, the third
// starts when the first one's credit is back, at 1010 + R + L.
TEST(PeIpcq, CreditsOfALateReceive) {
  const TensorHandle x = slots(0, 3);
  const IpcqResult result = run_pes(small_slots(2), {[&](CommandSink& sink) { send(sink, x, 1); },
                                                     [&](CommandSink& sink) {
                                                       sink.issue(PeCpuOverheadCmd{1000});
                                                       recv(sink, x, 0);
                                                     }});
  EXPECT_THAT(spans(result, 0, 0, "send"), ElementsAre(ns(10, 20), ns(20, 30), ns(1120, 1130)));
  EXPECT_THAT(spans(result, 1, 1, "recv"),
              ElementsAre(ns(1010, 1020), ns(1020, 1030), ns(1230, 1240)));
}

// One slot of depth: the second slot of message 0 waits for a credit until 230, and message 1 of
// the same channel behind it until 450; message 2, of another channel, waits for neither.
TEST(PeIpcq, AChannelIsFifo) {
  const TensorHandle a = slots(0, 2), b = slots(256, 1), c = slots(512, 1);
  const IpcqResult result = run_pes(small_slots(1), {[&](CommandSink& sink) {
                                                       send(sink, a, 1, 0);
                                                       send(sink, b, 1, 0);
                                                       send(sink, c, 1, 1);
                                                     },
                                                     [&](CommandSink& sink) {
                                                       recv(sink, a, 0, 0);
                                                       recv(sink, b, 0, 0);
                                                       recv(sink, c, 0, 1);
                                                     }});
  EXPECT_TRUE(result.idle);
  EXPECT_THAT(spans(result, 0, 0, "send"), ElementsAre(ns(10, 20), ns(230, 240)));
  EXPECT_THAT(spans(result, 0, 1, "send"), ElementsAre(ns(450, 460)));
  EXPECT_THAT(spans(result, 0, 2, "send"), ElementsAre(ns(30, 40)));
  EXPECT_THAT(spans(result, 1, 0, "recv"), ElementsAre(ns(120, 130), ns(340, 350)));
  EXPECT_THAT(spans(result, 1, 1, "recv"), ElementsAre(ns(560, 570)));
  EXPECT_THAT(spans(result, 1, 2, "recv"), ElementsAre(ns(140, 150)));
}

// S = 30, R = 50: the second message is in the queue when the first ends, and follows at once, at
// either end.
TEST(PeIpcq, MessagesFollowEachOtherWithoutAGap) {
  arch::TopologyConfig topology = small_slots();
  topology.pe.ipcq.send_cycles = 30;
  topology.pe.ipcq.recv_cycles = 50;
  const IpcqResult result = run_pes(topology, {[&](CommandSink& sink) {
                                                 send(sink, slots(0, 1), 1);
                                                 send(sink, slots(64, 1), 1);
                                               },
                                               [&](CommandSink& sink) {
                                                 recv(sink, slots(0, 1), 0);
                                                 recv(sink, slots(64, 1), 0);
                                               }});
  EXPECT_TRUE(result.idle);
  EXPECT_THAT(spans(result, 0, 0, "send"), ElementsAre(ns(10, 40)));
  EXPECT_THAT(spans(result, 0, 1, "send"), ElementsAre(ns(40, 70)));
  EXPECT_THAT(spans(result, 1, 0, "recv"), ElementsAre(ns(140, 190)));
  EXPECT_THAT(spans(result, 1, 1, "recv"), ElementsAre(ns(190, 240)));
}

// At 120 the slot that receive 0 waits for comes, and the dispatch of send 2 ends: the lower number
// is served first, whichever happens first in the simulation.
TEST(PeIpcq, ArrivalsOfOneInstantByCommand) {
  for (const bool reversed : {false, true}) {
    const std::string told = in_child([&] {
      IpcqOptions options;
      options.reversed = reversed;
      const IpcqResult result = run_pes(small_slots(),
                                        {[&](CommandSink& sink) {
                                           recv(sink, slots(0, 1), 1);
                                           sink.issue(PeCpuOverheadCmd{100});
                                           send(sink, slots(64, 1), 1);
                                         },
                                         [&](CommandSink& sink) {
                                           send(sink, slots(0, 1), 0);
                                           recv(sink, slots(64, 1), 0);
                                         }},
                                        options);
      EXPECT_THAT(spans(result, 0, 0, "recv"), ElementsAre(ns(120, 130)));
      EXPECT_THAT(spans(result, 0, 2, "send"), ElementsAre(ns(130, 140)));
      return result.op_log;
    });
    EXPECT_FALSE(told.empty());
  }
}

// TestHooks: 5 ps on top of every dispatch and every slot.
TEST(PeIpcq, ExtraDelayAppliesToSlots) {
  IpcqOptions options;
  options.extra_delay = [](std::uint32_t) { return [] { return std::uint64_t{5}; }; };
  const TensorHandle x = slots(0, 1);
  const IpcqResult result = run_pes(
      small_slots(),
      {[&](CommandSink& sink) { send(sink, x, 1); }, [&](CommandSink& sink) { recv(sink, x, 0); }},
      options);
  EXPECT_EQ(spans(result, 0, 0, "send"), (std::vector<Span>{{10'005, 20'010}}));
  EXPECT_EQ(spans(result, 1, 0, "recv"), (std::vector<Span>{{120'010, 130'015}}));
}

// ---- independence -------------------------------------------------------------------------------

// PE 1 waits from 10 to 1140 in command 0. Receives from another channel (1) and another PE (2),
// and a send (3) behind it run as if it was not there.
TEST(PeIpcq, ABlockedReceiveHoldsUpNothingElse) {
  const IpcqResult result =
      run_pes(small_slots(), {[&](CommandSink& sink) {
                                send(sink, slots(0, 1), 1, 1);
                                sink.issue(PeCpuOverheadCmd{1000});
                                send(sink, slots(0, 1), 1, 0);
                                recv(sink, slots(64, 1), 1, 0);
                              },
                              [&](CommandSink& sink) {
                                recv(sink, slots(0, 1), 0, 0);
                                recv(sink, slots(64, 1), 0, 1);
                                recv(sink, slots(128, 1), 2, 0);
                                send(sink, slots(192, 1), 0, 0);
                              },
                              [&](CommandSink& sink) { send(sink, slots(0, 1), 1, 0); }});
  EXPECT_TRUE(result.idle);
  EXPECT_THAT(spans(result, 1, 1, "recv"), ElementsAre(ns(120, 130)));
  EXPECT_THAT(spans(result, 1, 2, "recv"), ElementsAre(ns(130, 140)));  // came at 120 as well
  EXPECT_THAT(spans(result, 1, 3, "send"), ElementsAre(ns(40, 50)));
  EXPECT_THAT(spans(result, 0, 2, "send"), ElementsAre(ns(1020, 1030)));
  EXPECT_THAT(spans(result, 0, 3, "recv"), ElementsAre(ns(1030, 1040)));  // came at 150
  EXPECT_THAT(spans(result, 1, 0, "recv"), ElementsAre(ns(1130, 1140)));
}

// R6.11, R7.1: of two MATH commands the one that reads the destination waits, until 130.
TEST(PeIpcq, OnlyOverlappingCommandsWaitForTheDestination) {
  const TensorHandle x = slots(0, 1), other = slots(64, 1), copied = slots(128, 1);
  const IpcqResult result = run_pes(small_slots(), {[&](CommandSink& sink) { send(sink, x, 1); },
                                                    [&](CommandSink& sink) {
                                                      recv(sink, x, 0);
                                                      sink.issue(command::MathCmd{fill(other)});
                                                      sink.issue(command::MathCmd{copy(x, copied)});
                                                    }});
  EXPECT_THAT(spans(result, 1, 1, "math"), ElementsAre(ns(20, 21)));
  EXPECT_THAT(spans(result, 1, 2, "wait"), ElementsAre(ns(20, 130)));
  EXPECT_THAT(spans(result, 1, 2, "math"), ElementsAre(ns(140, 141)));
}

// R6.12: a send of what a receive of the same engine brings waits in the queue, not in the kernel.
TEST(PeIpcq, ForwardingWaitsForTheReceive) {
  const TensorHandle x = slots(0, 1);
  const IpcqResult result = run_pes(small_slots(), {[&](CommandSink& sink) { send(sink, x, 1); },
                                                    [&](CommandSink& sink) {
                                                      recv(sink, x, 0);
                                                      send(sink, x, 2);
                                                    },
                                                    [&](CommandSink& sink) { recv(sink, x, 1); }});
  EXPECT_TRUE(rows_of(result, 1, 1, "wait").empty());
  EXPECT_THAT(spans(result, 1, 1, "admit_stall"), ElementsAre(ns(20, 130)));
  EXPECT_THAT(spans(result, 1, 1, "send"), ElementsAre(ns(130, 140)));
  EXPECT_THAT(spans(result, 2, 0, "recv"), ElementsAre(ns(240, 250)));
}

// ---- data ---------------------------------------------------------------------------------------

/// Entry i of what PE 0 loads from its HBM.
double entry(command::Index i) { return static_cast<double>(i) - 700; }  // exact in f16

/// Fills the destination with -1, receives into it and observes `shown`.
void receive_into(CommandSink& sink, const TensorHandle& whole, const TensorHandle& dst,
                  const std::string& name) {
  sink.issue(command::MathCmd{fill(whole, -1)});
  sink.issue(IpcqRecvCmd{dst, {0, 0}});
  sink.observe(name, whole);
  sink.wait({dst.range()});
}

// Strided slices at either end, a transposed view, odd sizes, another dtype: entry (r, c) becomes
// entry (r, c), and nothing between the rows changes.
TEST(PeIpcqData, BytesArriveAsTheyWere) {
  constexpr command::Index kRows = 45, kCols = 32;
  const TensorHandle source = tcm(0, {kRows, kCols});
  const TensorHandle columns = command::view_cols(command::view_rows(source, 3, 5, 90), 9, 7, 91);
  const TensorHandle row37 = tcm(0, Shape::vector(37));
  IpcqOptions options;
  options.data = true;
  options.load = [&](std::uint32_t pe, arch::Storage& memory) {
    if (pe != 0) return;
    arch::Values values;
    for (command::Index i = 0; i < kRows * kCols; ++i) {
      values.push_back(static_cast<float>(entry(i)));
    }
    arch::write_slice(memory, slice_of(hbm(0, {kRows, kCols})), values);
  };
  const TensorHandle dense = tcm(0, {5, 7});
  const TensorHandle wide = tcm(4096, {5, 12});
  const TensorHandle turned = tcm(8192, {7, 5});
  const TensorHandle odd_out = tcm(12288, Shape::vector(40));
  const IpcqResult result =
      run_pes(small_slots(),
              {[&](CommandSink& sink) {
                 sink.issue(command::DmaReadCmd{hbm(0, {kRows, kCols}), source});
                 send(sink, columns, 1);              // to dense rows
                 send(sink, columns, 1);              // to other strides
                 send(sink, transposed(columns), 1);  // row by row of the view
                 send(sink, row37, 1);
               },
               [&](CommandSink& sink) {
                 receive_into(sink, dense, dense, "dense");
                 receive_into(sink, wide, command::view_cols(wide, 2, 7, 93), "wide");
                 receive_into(sink, turned, turned, "turned");
                 receive_into(sink, odd_out, command::view_cols(odd_out, 0, 37, 94), "odd");
               }},
              options);
  ASSERT_TRUE(result.idle);
  const auto at = [&](command::Index row, command::Index col) {
    return static_cast<float>(entry((3 + row) * kCols + 9 + col));
  };
  std::vector<float> dense_values, wide_values, turned_values, odd_values;
  for (command::Index r = 0; r < 5; ++r) {
    for (command::Index c = 0; c < 7; ++c) dense_values.push_back(at(r, c));
    for (command::Index c = 0; c < 12; ++c) {
      wide_values.push_back(c >= 2 && c < 9 ? at(r, c - 2) : -1);
    }
  }
  for (command::Index c = 0; c < 7; ++c) {
    for (command::Index r = 0; r < 5; ++r) turned_values.push_back(at(r, c));
  }
  for (command::Index i = 0; i < 40; ++i) {
    odd_values.push_back(i < 37 ? static_cast<float>(entry(i)) : -1);
  }
  const auto& seen = result.observed[1];
  EXPECT_EQ(seen.at("dense"), dense_values);
  EXPECT_EQ(seen.at("wide"), wide_values);
  EXPECT_EQ(seen.at("turned"), turned_values);
  EXPECT_EQ(seen.at("odd"), odd_values);
  // 70 bytes: a slot of 64, which ends with entry 31 = (4, 3), and one of 6 from entry 32 = (4, 4).
  const std::vector<OpLogRow> rows = rows_of(result, 0, 1, "send");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].bytes, 6U);
  EXPECT_EQ(rows[1].addr, columns.addr + 2 * (4 * kCols + 4));
}

// R8.1: sampled when the first slot starts, complete with the last. The policy that knows no byte
// ranges (R7.3) lets composites at both: the one at the sender comes too late to change the message
// (10 .. 60), the one at the receiver reads before it is there. The checkers tell of both.
TEST(PeIpcqData, SampledAtTheStartVisibleAtTheEndAndRacesAreFound) {
  arch::TopologyConfig topology = small_slots();
  topology.pe.scheduler.rw_match = arch::RwMatch::handle_id;
  IpcqOptions options;
  options.data = true;
  options.expects_hazards = true;
  const TensorHandle x = slots(0, 5), early = slots(1024, 5), late = slots(2048, 5);
  const IpcqResult result =
      run_pes(topology,
              {[&](CommandSink& sink) {
                 sink.issue(command::MathCmd{fill(x, 1)});
                 sink.wait({x.range()});
                 send(sink, x, 1);
                 sink.issue(composite({fill(x, 2)}));
               },
               [&](CommandSink& sink) {
                 sink.issue(command::MathCmd{fill(x, 3)});
                 recv(sink, x, 0);
                 sink.issue(PeCpuOverheadCmd{140});  // the slots of 133 .. 183 are coming
                 sink.issue(composite({copy(x, early)}));
                 sink.observe("early", early);
                 sink.wait({x.range()});
                 sink.issue(command::MathCmd{copy(x, late)});
                 sink.observe("late", late);
               }},
              options);
  ASSERT_TRUE(result.idle);
  const std::vector<Span> sent = spans(result, 0, 1, "send");
  const std::vector<Span> written = spans(result, 0, 2, "math");
  EXPECT_LT(sent.front().first, written.front().first);
  EXPECT_LT(written.front().second, sent.back().second);
  EXPECT_EQ(result.observed[1].at("early"), std::vector<float>(160, 3));
  EXPECT_EQ(result.observed[1].at("late"), std::vector<float>(160, 1));

  ASSERT_EQ(result.hazards[0].races.size(), 1U);
  EXPECT_EQ(result.hazards[0].races[0].earlier.label, "send");
  EXPECT_EQ(result.hazards[0].races[0].earlier.operand, "src tcm#1");
  EXPECT_FALSE(result.hazards[0].races[0].earlier.write);
  EXPECT_EQ(result.hazards[0].races[0].shared_bytes, 320U);
  ASSERT_EQ(result.hazards[1].races.size(), 1U);
  EXPECT_EQ(result.hazards[1].races[0].earlier.label, "recv");
  EXPECT_EQ(result.hazards[1].races[0].earlier.operand, "out tcm#1");
  EXPECT_TRUE(result.hazards[1].races[0].earlier.write);
  EXPECT_EQ(result.hazards[1].races[0].later.label, "composite");
}

// ---- results depend on nothing that they must not -----------------------------------------------

constexpr std::uint32_t kPes = 4;
constexpr std::uint32_t kChannels = 2;

/// Every PE sends each other one a message of its own size on each channel, forwards what it gets
/// from its neighbour, and all at the same times.
std::vector<KernelBody> all_to_all() {
  std::vector<KernelBody> kernels;
  for (std::uint32_t me = 0; me < kPes; ++me) {
    kernels.emplace_back([me](CommandSink& sink) {
      const auto size = [](std::uint32_t from, std::uint32_t to, std::uint32_t channel) {
        return static_cast<command::Index>(1 + (from * 31 + to * 17 + channel * 50) % 140);
      };
      const auto place = [](std::uint32_t peer, std::uint32_t channel) {
        return std::uint64_t{peer * kChannels + channel} * 512;
      };
      for (std::uint32_t peer = 0; peer < kPes; ++peer) {
        for (std::uint32_t channel = 0; peer != me && channel < kChannels; ++channel) {
          const TensorHandle x = tcm(place(peer, channel), Shape::vector(size(me, peer, channel)));
          sink.issue(
              command::MathCmd{fill(x, static_cast<float>(1 + me * 100 + peer * 10 + channel))});
          send(sink, x, peer, channel);
        }
      }
      const TensorHandle ring = tcm(30'000, Shape::vector(100));
      for (std::uint32_t peer = 0; peer < kPes; ++peer) {
        for (std::uint32_t channel = 0; peer != me && channel < kChannels; ++channel) {
          const TensorHandle y =
              tcm(8192 + place(peer, channel), Shape::vector(size(peer, me, channel)));
          recv(sink, y, peer, channel);
          sink.observe("from" + std::to_string(peer * kChannels + channel), y);
        }
      }
      const TensorHandle next = tcm(31'000, Shape::vector(100));
      sink.issue(command::MathCmd{fill(ring, static_cast<float>(me))});
      send(sink, ring, (me + 1) % kPes);
      recv(sink, next, (me + kPes - 1) % kPes);
      send(sink, next, (me + 1) % kPes, 1);
      recv(sink, ring, (me + kPes - 1) % kPes, 1);
      sink.observe("ring", ring);
    });
  }
  return kernels;
}

std::string text_of(const IpcqResult& result) {
  std::string text;
  for (const auto& of_pe : result.observed) {
    for (const auto& [name, values] : of_pe) {
      text += name + ":";
      for (const float value : values) text += " " + std::to_string(value);
      text += "\n";
    }
  }
  return text;
}

std::string run_all_to_all(std::uint32_t depth, const IpcqOptions& options, bool op_log) {
  return in_child([&] {
    const IpcqResult result = run_pes(small_slots(depth), all_to_all(), options);
    EXPECT_TRUE(result.idle) << result.waiting.front();
    EXPECT_EQ(result.report, "");
    return op_log ? result.op_log : text_of(result);
  });
}

TEST(PeIpcqOrder, DataDoesNotDependOnTimes) {
  IpcqOptions options;
  options.data = true;
  const std::string expected = run_all_to_all(16, options, false);
  EXPECT_THAT(expected, HasSubstr("ring: 2.000000"));  // of PE 0: twice round, from PE 2
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    options.latency_ps = seed * 37'000;
    options.extra_delay = [seed](std::uint32_t pe) {
      return [random = std::mt19937(seed * 100 + pe)]() mutable {
        const std::uint64_t draw = random();
        return draw % 3 == 0 ? draw % 400'000 : 0;
      };
    };
    EXPECT_EQ(run_all_to_all(1 + seed % 3, options, false), expected) << "seed " << seed;
  }
}

TEST(PeIpcqOrder, OpLogDependsNeitherOnCreationNorOnDeliveryOrderNorOnData) {
  for (const std::uint32_t depth : {1U, 2U, 16U}) {
    for (const std::uint64_t latency_ps : {0U, 10'000U, 100'000U}) {
      IpcqOptions options;
      options.latency_ps = latency_ps;
      const std::string expected = run_all_to_all(depth, options, true);
      ASSERT_GT(std::count(expected.begin(), expected.end(), '\n'), 200);
      options.reversed = true;
      EXPECT_EQ(run_all_to_all(depth, options, true), expected) << "depth " << depth;
      options.data = true;
      EXPECT_EQ(run_all_to_all(depth, options, true), expected) << "depth " << depth;
    }
  }
}

// ---- reports ------------------------------------------------------------------------------------

std::string report_of(const KernelBody& kernel, const KernelBody& peer = {},
                      bool connected = true) {
  return in_child([&] {
    IpcqOptions options;
    options.connected = connected;
    options.expects_report = true;
    return run_pes(small_slots(), {kernel, peer}, options).report;
  });
}

TEST(PeIpcqReports, MessageAndReceiveOfOtherSizes) {
  EXPECT_THAT(report_of([](CommandSink& sink) { send(sink, slots(0, 1), 1, 3); },
                        [](CommandSink& sink) { recv(sink, slots(0, 2), 0, 3); }),
              HasSubstr("/kernbench/pe_ipcq/size: pe1.ipcq: command 0 (recv) of PE 1 from PE 0 on "
                        "channel 3: the message has 64 bytes and the destination 128"));
}

TEST(PeIpcqReports, PeersAndChannelsOutOfRange) {
  EXPECT_THAT(report_of([](CommandSink& sink) { send(sink, slots(0, 1), 2); }),
              HasSubstr("/kernbench/pe_ipcq/peer: pe0.ipcq: command 0 (send): PE 2 cannot be the "
                        "peer of PE 0; name another one in [0, 1]"));
  EXPECT_THAT(report_of([](CommandSink& sink) { recv(sink, slots(0, 1), 0); }),
              HasSubstr("/kernbench/pe_ipcq/peer: pe0.ipcq: command 0 (recv): PE 0 cannot be"));
  EXPECT_THAT(report_of([](CommandSink& sink) { recv(sink, slots(0, 1), 1, 4); }),
              HasSubstr("/kernbench/pe_ipcq/peer: pe0.ipcq: command 0 (recv): channel 4 does not "
                        "exist; name one in [0, 3]"));
}

TEST(PeIpcqReports, NoNetwork) {
  EXPECT_THAT(report_of([](CommandSink& sink) { send(sink, slots(0, 1), 1); }, {}, false),
              HasSubstr("/kernbench/pe_ipcq/unconnected: pe0.ipcq: command 0 (send): no network"));
}

// A network that swaps the two slots of a message.
TEST(PeIpcqReports, ANetworkThatDoesNotKeepTheOrder) {
  struct Swap : sc_core::sc_module,
                ForwardInterface<PacketProtocol>,
                BackwardInterface<PacketProtocol> {
    explicit Swap(const sc_core::sc_module_name& name) : sc_module(name) {
      in.bind(static_cast<ForwardInterface<PacketProtocol>&>(*this));
      out.bind(static_cast<BackwardInterface<PacketProtocol>&>(*this));
    }
    tlm::tlm_sync_enum nb_transport_fw(Packet& packet, tlm::tlm_phase&,
                                       sc_core::sc_time&) override {
      if (first == nullptr) {
        first = &packet;
      } else {
        send_forward(out, packet, tlm::BEGIN_REQ);
      }
      return tlm::TLM_ACCEPTED;
    }
    tlm::tlm_sync_enum nb_transport_bw(Packet&, tlm::tlm_phase&, sc_core::sc_time&) override {
      return tlm::TLM_ACCEPTED;
    }
    OptionalTargetSocket<PacketProtocol> in{"in"};
    OptionalInitiatorSocket<PacketProtocol> out{"out"};
    Packet* first = nullptr;
  };
  arch::TopologyConfig topology = small_slots();
  topology.pes_per_cube = 2;
  EmbeddedHbm hbm("hbm", topology.hbm, 2, false);
  Swap swap("swap");
  Pe sender("pe0", topology.pe_config(), 0), receiver("pe1", topology.pe_config(), 1);
  const auto sender_monitor = bind_monitored(sender.memory, hbm.port(0), "monitor0");
  const auto receiver_monitor = bind_monitored(receiver.memory, hbm.port(1), "monitor1");
  sender.ipcq_out.bind(swap.in);
  swap.out.bind(receiver.ipcq_in);
  receiver.ipcq_out.bind(sender.ipcq_in);
  sender.set_kernel([](CommandSink& sink) { send(sink, slots(0, 2), 1); });
  receiver.set_kernel([](CommandSink& sink) { recv(sink, slots(0, 2), 0); });
  EXPECT_THAT(first_report([] { sc_core::sc_start(); }),
              HasSubstr("/kernbench/pe_ipcq/order: pe1.ipcq: command 0 (recv) of PE 1 from PE 0 on "
                        "channel 0: slot 1 of the message has come where slot 0 is next"));
}

// R3.4: both ends lie in TCM.
TEST(PeIpcqReports, TensorsOutsideTcm) {
  EXPECT_THAT(report_of([](CommandSink& sink) {
                send(sink, hbm(0, {8, 8}), 1);
              }),
              HasSubstr("/kernbench/pe_scheduler/operand: pe0.scheduler: command 0 (send): operand "
                        "src at [0x0, 0x80) lies outside TCM"));
  EXPECT_THAT(report_of([](CommandSink& sink) {
                recv(sink, hbm(4096, {8, 8}), 1);
              }),
              HasSubstr("/kernbench/pe_scheduler/operand: pe0.scheduler: command 0 (recv): operand "
                        "out at [0x1000, 0x1080) lies outside TCM"));
  EXPECT_THAT(report_of([](CommandSink& sink) {
                send(sink, tcm(1048576 - 64, {8, 8}), 1);
              }),
              HasSubstr("/kernbench/pe_scheduler/operand: pe0.scheduler: command 0 (send): operand "
                        "src at "));
}

// ---- who waits for what -------------------------------------------------------------------------

KernelBody receive_then_send(std::uint32_t peer) {
  // Not on the stack of a kernel that never goes on, which no leak checker sees.
  const std::vector<command::ByteRange> received{slots(0, 1).range()};
  return [peer, received](CommandSink& sink) {
    recv(sink, slots(0, 1), peer);
    sink.wait(received);
    send(sink, slots(64, 1), peer);
  };
}

TEST(PeIpcqWaits, CrossedReceivesAreACycle) {
  IpcqOptions options;
  options.simulate = [](const std::vector<Pe*>& pes) {
    sc_core::sc_start();
    for (const Pe* pe : pes) EXPECT_TRUE(pe->stuck());
  };
  const IpcqResult result =
      run_pes(small_slots(), {receive_then_send(1), receive_then_send(0)}, options);
  EXPECT_FALSE(result.idle);
  EXPECT_EQ(result.cycle,
            "pe0 command 0 (recv) -> pe1 kernel -> pe1 command 0 (recv) -> pe0 kernel -> "
            "pe0 command 0");
  EXPECT_THAT(result.waiting,
              ElementsAre("pe0: kernel waits for command 0 (recv)",
                          "pe0: kernel has not sent to pe1 on channel 0",
                          "pe0: command 0 (recv) waits for a message from pe1 on channel 0",
                          "pe1: kernel waits for command 0 (recv)",
                          "pe1: kernel has not sent to pe0 on channel 0",
                          "pe1: command 0 (recv) waits for a message from pe0 on channel 0"));
}

// Two PEs send each other more than the queues hold before they receive, and wait for their sends
// (the fill writes what the send reads).
TEST(PeIpcqWaits, FullQueuesAreACycle) {
  const auto body = [](std::uint32_t peer) {
    return [peer](CommandSink& sink) {
      send(sink, slots(0, 3), peer);
      sink.issue(command::MathCmd{fill(slots(0, 3))});
      recv(sink, slots(256, 3), peer);
    };
  };
  const IpcqResult result = run_pes(small_slots(2), {body(1), body(0)});
  EXPECT_FALSE(result.idle);
  EXPECT_EQ(result.cycle,
            "pe0 command 0 (send) -> pe1 kernel -> pe1 command 0 (send) -> pe0 kernel -> "
            "pe0 command 0");
  EXPECT_EQ(result.waiting[1], "pe0: kernel has not received from pe1 on channel 0");
  EXPECT_EQ(result.waiting[2], "pe0: command 0 (send) waits for a free slot at pe1 on channel 0");
}

// The message has been issued, but in the queue behind a command that waits for the peer.
TEST(PeIpcqWaits, AQueuedSendIsPartOfTheCycle) {
  const auto body = [](std::uint32_t peer) {
    return [peer](CommandSink& sink) {
      recv(sink, slots(0, 1), peer);
      send(sink, slots(0, 1), peer);   // reads what has not come
      send(sink, slots(64, 1), peer);  // behind it
    };
  };
  arch::TopologyConfig topology = small_slots();
  topology.pe.cpu.cmd_queue_depth = 1;
  const IpcqResult result = run_pes(topology, {body(1), body(0)});
  EXPECT_EQ(result.cycle,
            "pe0 command 0 (recv) -> pe1 command 1 (send) -> pe1 command 0 (recv) -> pe0 command 1 "
            "(send) -> pe0 command 0");
  EXPECT_THAT(
      std::vector<std::string>(result.waiting.begin(), result.waiting.begin() + 5),
      ElementsAre("pe0: kernel waits for a place in the queue behind command 1 (send)",
                  "pe0: command 0 (recv) waits for a message from pe1 on channel 0",
                  "pe0: command 1 (send) is queued and waits for command 0 (recv)",
                  "pe0: command 1 (send) has not sent to pe1 on channel 0",
                  "pe0: command 2 (send) has no place in the queue behind command 1 (send)"));
}

TEST(PeIpcqWaits, NobodySends) {
  const IpcqResult result = run_pes(small_slots(), {[](CommandSink& sink) {
                                                      recv(sink, slots(0, 1), 1, 2);
                                                      recv(sink, slots(64, 1), 1, 2);
                                                    },
                                                    {}});
  EXPECT_FALSE(result.idle);
  EXPECT_EQ(result.cycle, "");
  EXPECT_THAT(result.waiting,
              ElementsAre("pe0: command 0 (recv) waits for a message from pe1 on channel 2",
                          "pe0: command 1 (recv) comes after command 0 (recv)",
                          "pe1: kernel has returned: nobody will send to pe0 on channel 2"));
}

// PE 0 dispatches until 10 and sends until 20; the slot comes at 120. The receive of PE 1 ends at
// 130 and only waits before 120.
TEST(PeIpcqWaits, StuckIsWhatOnlyAPacketCanWake) {
  IpcqOptions options;
  options.simulate = [](const std::vector<Pe*>& pes) {
    auto at = [now = std::uint64_t{0}, &pes](std::uint64_t ns) mutable {
      sc_core::sc_start(sc_core::sc_time(static_cast<double>(ns - now), sc_core::SC_NS));
      now = ns;
      return std::pair(pes[0]->stuck(), pes[1]->stuck());
    };
    EXPECT_EQ(at(5), std::pair(false, false));   // dispatching
    EXPECT_EQ(at(15), std::pair(false, true));   // PE 0 serves its slot
    EXPECT_EQ(at(100), std::pair(false, true));  // PE 0 is idle
    EXPECT_TRUE(pes[0]->idle());
    EXPECT_EQ(at(125), std::pair(false, false));  // PE 1 serves the slot
    EXPECT_EQ(at(200), std::pair(false, false));
    EXPECT_TRUE(pes[1]->idle());
  };
  const IpcqResult result = run_pes(small_slots(),
                                    {[](CommandSink& sink) { send(sink, slots(0, 1), 1); },
                                     [](CommandSink& sink) { recv(sink, slots(0, 1), 0); }},
                                    options);
  EXPECT_TRUE(result.waiting.empty());
}

// ---- what is sent and received ------------------------------------------------------------------

// PE 0 dispatches until 10, 20, 30 and sends the slots of its messages of 3, 1 and 2 slots back to
// back: until 40, 50, 70. What it has sent counts when a slot has left; what PE 1 has received,
// L = 100 later, when one has been taken: at 130, 140, 150 and 160.
TEST(PeIpcqCounts, SlotsAsTheyAreServed) {
  IpcqOptions options;
  using Counts = std::vector<std::uint64_t>;  // messages and slots, sent, then received
  options.simulate = [](const std::vector<Pe*>& pes) {
    auto at = [now = std::uint64_t{0}, &pes](std::uint64_t ns) mutable {
      sc_core::sc_start(sc_core::sc_time(static_cast<double>(ns - now), sc_core::SC_NS));
      now = ns;
      Counts counts;
      for (const PeIpcq::Sent& sent : pes[0]->ipcq.sent()) {
        EXPECT_EQ(sent.to.peer, 1U);
        EXPECT_EQ(sent.to.channel, 2U);
        counts = {sent.count.messages, sent.count.slots};
      }
      const IpcqCount received = pes[1]->ipcq.received({0, 2});
      counts.insert(counts.end(), {received.messages, received.slots});
      return counts;
    };
    EXPECT_EQ(at(15), (Counts{0, 0}));  // not sent at all
    EXPECT_EQ(at(25), (Counts{0, 1, 0, 0}));
    EXPECT_EQ(at(45), (Counts{1, 3, 0, 0}));
    EXPECT_EQ(at(75), (Counts{3, 6, 0, 0}));
    EXPECT_EQ(at(135), (Counts{3, 6, 0, 1}));
    EXPECT_EQ(at(165), (Counts{3, 6, 2, 4}));
    EXPECT_EQ(at(400), (Counts{3, 6, 2, 4}));  // the third is not received
    EXPECT_TRUE(pes[0]->idle() && pes[1]->idle());
    EXPECT_TRUE(pes[1]->ipcq.sent().empty());
    EXPECT_EQ(pes[0]->ipcq.received({1, 2}).slots, 0U);
    EXPECT_EQ(pes[1]->ipcq.received({0, 1}).slots, 0U);  // another channel
  };
  run_pes(small_slots(),
          {[](CommandSink& sink) {
             send(sink, slots(0, 3), 1, 2);
             send(sink, slots(0, 1), 1, 2);
             send(sink, slots(0, 2), 1, 2);
           },
           [](CommandSink& sink) {
             recv(sink, slots(0, 3), 0, 2);
             recv(sink, slots(1024, 1), 0, 2);
           }},
          options);
}

// ---- Pe::trace ----------------------------------------------------------------------------------

TEST(PeIpcqTrace, ShowsTheLastSlot) {
  TemporaryFolder folder;
  sc_core::sc_trace_file* file = sc_core::sc_create_vcd_trace_file((folder / "own").c_str());
  IpcqOptions options;
  options.elaborated = [&](const std::vector<Pe*>& pes) { pes[0]->trace(file); };
  run_pes(small_slots(),
          {[](CommandSink& sink) {
             sink.issue(PeCpuOverheadCmd{1});
             send(sink, slots(0, 3), 1, 2);
           },
           [](CommandSink& sink) { recv(sink, slots(0, 3), 0, 2); }},
          options);
  sc_core::sc_close_vcd_trace_file(file);
  const auto values = last_values(read_file(folder / "own.vcd"));
  const auto last = [&](const std::string& name) { return values.at("pe0.ipcq." + name); };
  EXPECT_EQ(last("cmd"), 1U);
  EXPECT_EQ(last("op"), record::op_code(record::CommandCode::send));
  EXPECT_EQ(last("slot"), 2U);
  EXPECT_EQ(last("peer"), 1U);
  EXPECT_EQ(last("channel"), 2U);
  EXPECT_EQ(last("bytes"), 64U);
  EXPECT_EQ(last("seq"), 3U);
}

}  // namespace
}  // namespace kernbench::test
