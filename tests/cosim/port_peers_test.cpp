// SPDX-License-Identifier: Apache-2.0
// The HBM port of a PE and what it may be bound to (docs/field_cases.md, 10, 12, 13, 17, 18):
// memories that hold a request back, fail, answer late, early, out of order or not at all, that are
// called by b_transport, or that another PE is bound to as well.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <list>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "model/embedded_hbm.hpp"
#include "model/machine.hpp"
#include "model/pe.hpp"
#include "tests/model/raw_commands.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/ipcq_bench.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/monitored.hpp"
#include "tests/support/scripted_memory.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::test {
namespace {

using command::Address;
using command::CommandSink;
using command::DType;
using command::Index;
using command::kTcmBase;
using command::Shape;
using command::Space;
using command::TensorHandle;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

using Bytes = std::vector<std::uint8_t>;
using Ps = std::uint64_t;

constexpr Ps kNs = 1000;
constexpr Ps kLoad = 41'313;   // dispatch of a load or store: 40 + 21 / 16 cycles (R6.1)
constexpr Ps kSetup = 16'000;  // of a channel
constexpr std::uint64_t kHbmBytes = 1u << 16;

TensorHandle in_hbm(Address addr, Index entries) {
  return command::make_handle(1, addr, Shape::vector(entries), DType::f16, Space::hbm);
}
TensorHandle in_tcm(Address offset, Index entries) {
  return command::make_handle(2, kTcmBase + offset, Shape::vector(entries), DType::f16, Space::tcm);
}

Bytes pattern(std::uint64_t size, std::uint8_t salt = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(((i * 2654435761u) >> 13) + salt);
  }
  return bytes;
}

arch::PeConfig config_of(arch::DmaPort port, std::uint32_t burst_bytes = 64) {
  arch::PeConfig config;
  config.hbm_bytes = kHbmBytes;
  config.dma.port = port;
  config.dma.burst_bytes = burst_bytes;
  return config;
}

/// A PE in data mode on a memory with a script. What nobody has written of TCM reads as 0xff.
struct Bench {
  Bench(const arch::PeConfig& config, ScriptedMemory::Script script)
      : memory("memory", {0, config.memory_offset + kHbmBytes}, std::move(script)),
        pe("pe0", config, 0) {
    pe.memory.bind(monitor.upstream);
    monitor.downstream.bind(memory.socket);
    pe.set_data_mode(true);
    pe.set_test_hooks({{}, 0xff});
    const Bytes bytes = pattern(kHbmBytes);
    memory.storage().write(config.memory_offset, bytes.data(), bytes.size());
  }

  void run(const KernelBody& kernel) {
    pe.set_kernel(kernel);
    sc_core::sc_start();
    EXPECT_TRUE(pe.idle());
    EXPECT_EQ(pe.dma.port.live_payloads(), 0u);
  }
  Bytes tcm_bytes(Address offset, std::uint64_t size) const {
    Bytes bytes(size);
    pe.tcm_storage().read(kTcmBase + offset, bytes.data(), size);
    return bytes;
  }
  Bytes hbm_bytes(Address addr, std::uint64_t size) {
    Bytes bytes(size);
    memory.storage().read(pe.config().memory_offset + addr, bytes.data(), size);
    return bytes;
  }

  BaseProtocolMonitor monitor{"monitor"};
  ScriptedMemory memory;
  Pe pe;
};

/// From now on errors are collected and the run goes on, as where a user has made them warnings.
const std::vector<std::string>& collect_reports() {
  static std::vector<std::string> reports;
  sc_core::sc_report_handler::set_handler(
      [](const sc_core::sc_report& report, const sc_core::sc_actions&) {
        if (report.get_severity() != sc_core::SC_ERROR) return;
        reports.push_back(fmt::format("{}: {}", report.get_msg_type(), report.get_msg()));
      });
  return reports;
}

Bytes part(const Bytes& bytes, std::size_t begin, std::size_t size) {
  const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(begin);
  return {from, from + static_cast<std::ptrdiff_t>(size)};
}

// ---- lt: timing ---------------------------------------------------------------------------------

// 4098 bytes from address 2 in bursts of at most 256: 2, 4, .. 128, fifteen of 256, 4. Each takes
// its service at 128 GB/s, rounded (R6.8), and the latency of 100 ns, one after the other.
TEST(LtPort, ALoadTakesTheSumOfItsBursts) {
  const arch::PeConfig config = config_of(arch::DmaPort::lt, 256);
  EmbeddedHbm memory("hbm", arch::HbmConfig(), 1, false);
  Pe pe("pe0", config, 0);
  const auto monitor = bind_monitored(pe.memory, memory.port(0));
  Ps done = 0;
  pe.set_kernel([&](CommandSink& sink) {
    sink.issue(command::DmaReadCmd{in_hbm(2, 2049), in_tcm(0, 2049)});
    sink.wait({in_tcm(0, 2049).range()});
    done = TimeBase().now();
  });
  sc_core::sc_start();
  const Ps service = 16 + 31 + 63 + 125 + 250 + 500 + 1000 + 15 * 2000 + 31;
  EXPECT_EQ(done, kLoad + kSetup + service + 23 * 100 * kNs);
  const PortTotals& totals = pe.dma.port.totals().read;
  EXPECT_EQ(totals.bursts, 23u);
  EXPECT_EQ(totals.bytes, 4098u);
  EXPECT_EQ(totals.bus_bytes, 4 * 32 + 32 + 64 + 128 + 15 * 256 + 32u);
  EXPECT_EQ(totals.max_outstanding_bytes, 256u);
  EXPECT_EQ(totals.accept_wait_ps, service + 23 * 100 * kNs);
}

// Blocking calls share the server as requests of phases do: of two PEs that load 4096 bytes (32 of
// service) at one instant, the second has its 32 after those of the first.
TEST(LtPort, PesShareTheBandwidthOfTheMemory) {
  const arch::PeConfig config = config_of(arch::DmaPort::lt, 4096);
  EmbeddedHbm memory("hbm", arch::HbmConfig(), 2, false);
  Pe second("pe1", config, 1), first("pe0", config, 0);
  const auto monitor_1 = bind_monitored(second.memory, memory.port(1), "monitor_1");
  const auto monitor_0 = bind_monitored(first.memory, memory.port(0), "monitor_0");
  for (Pe* pe : {&second, &first}) {
    pe->set_kernel([](CommandSink& sink) {
      sink.issue(command::DmaReadCmd{in_hbm(0, 2048), in_tcm(0, 2048)});
    });
  }
  sc_core::sc_start();
  EXPECT_EQ(first.cpu.last_done_ps(), kLoad + kSetup + (32 + 100) * kNs);
  EXPECT_EQ(second.cpu.last_done_ps(), kLoad + kSetup + (64 + 100) * kNs);
  EXPECT_EQ(memory.totals().read_bytes, 8192u);
  EXPECT_EQ(memory.totals().busy_ps, 64 * kNs);
}

// What a run shows does not tell whether the memory waits, annotates, or does both: threads that
// wake in the memory and in the port end in one order. Nor does it tell in which order the modules
// of the PE were created.
TEST(LtPort, AWaitIsAsGoodAsAnAnnotation) {
  arch::TopologyConfig topology = single_pe();
  topology.pe.dma.port = arch::DmaPort::lt;
  topology.pe.dma.read_channels = 2;
  topology.pe.dma.setup_cycles = 0;
  // The gemm's reads and writes meet at many instants: each burst takes 10 ns.
  const auto op_log = [&](Ps waited, Ps annotated, std::vector<int> order) {
    return in_child([&] {
      BenchOptions options;
      options.creation_order = std::move(order);
      options.memory = [=](auto, const auto&) {
        Behaviour behaviour;
        behaviour.response_ps = waited;
        behaviour.response_annotated_ps = annotated;
        return behaviour;
      };
      return run_catalogue(topology, "gemm",
                           {{"m", "32"},
                            {"k", "256"},
                            {"n", "512"},
                            {"a", "hbm"},
                            {"b", "hbm"},
                            {"out", "hbm"}},
                           options)
          .op_log;
    });
  };
  const std::string waits = op_log(10 * kNs, 0, {});
  EXPECT_GT(waits.size(), 10'000u);
  EXPECT_EQ(op_log(0, 10 * kNs, {}), waits);
  EXPECT_EQ(op_log(4 * kNs, 6 * kNs, {}), waits);
  EXPECT_EQ(op_log(10 * kNs, 0, {7, 6, 5, 4, 3, 2, 1, 0}), waits);
}

// Contract 6, "Same time": calls of one instant begin in the order of PEs, whichever was created
// first.
TEST(LtPort, CallsOfAnInstantBeginInPeOrder) {
  for (const std::uint32_t first : {0u, 1u}) {
    const std::string calls = in_child([&] {
      std::string order;
      ScriptedMemory::Script script = [&](auto, const tlm::tlm_generic_payload& payload) {
        order +=
            fmt::format("{}{} ", payload.is_write() ? "w" : "r", payload.get_address() / kHbmBytes);
        Behaviour behaviour;
        behaviour.response_ps = kNs;
        return behaviour;
      };
      std::list<ScriptedMemory> memories;
      std::list<Pe> pes;
      std::list<std::unique_ptr<BaseProtocolMonitor>> monitors;
      for (const std::uint32_t index : {first, 1 - first}) {
        arch::PeConfig config = config_of(arch::DmaPort::lt);
        config.memory_offset = index * kHbmBytes;
        const std::string number = std::to_string(index);
        ScriptedMemory& memory = memories.emplace_back(
            ("memory" + number).c_str(), command::ByteRange{0, 2 * kHbmBytes}, script);
        Pe& pe = pes.emplace_back(("pe" + number).c_str(), config, index);
        monitors.push_back(bind_monitored(pe.memory, memory.socket, "monitor" + number));
        pe.set_kernel([](CommandSink& sink) {
          const TensorHandle a = hbm(0, {1, 128}), b = hbm(0x1000, {128, 1});
          sink.issue(composite({gemm(a, b, hbm(0x2000, {1, 1}))}));
        });
      }
      sc_core::sc_start();
      return order;
    });
    // Of both at the same instants: 256 bytes of a and of b in bursts of 64, then the output.
    std::string expected;
    for (int i = 0; i < 8; ++i) expected += "r0 r1 ";
    EXPECT_EQ(calls, expected + "w0 w1 ") << "PE " << first << " was created first";
  }
}

// ---- 18: annotated delays -----------------------------------------------------------------------

struct Shift {
  std::string name;
  arch::DmaPort port;
  Answer answer;
  bool waits;  // rather than annotates
  friend std::ostream& operator<<(std::ostream& out, const Shift& s) { return out << s.name; }
};
class AnnotatedDelayShifts : public testing::TestWithParam<Shift> {};

// The delay of the answer is paid once: in the call of b_transport, or annotated to it, to the
// BEGIN_RESP by which BEGIN_REQ returns, to a BEGIN_RESP by call, or to early completion.
TEST_P(AnnotatedDelayShifts, ByExactlyItselfOnce) {
  const auto done = [&](Ps delay) {
    return std::stoull(in_child([&] {
      Bench bench(config_of(GetParam().port), [&](auto, const auto&) {
        Behaviour behaviour;
        behaviour.answer = GetParam().answer;
        (GetParam().waits ? behaviour.response_ps : behaviour.response_annotated_ps) = delay;
        return behaviour;
      });
      Ps at = 0;
      bench.run([&](CommandSink& sink) {
        sink.issue(command::DmaReadCmd{in_hbm(0, 32), in_tcm(0, 32)});
        sink.wait({in_tcm(0, 32).range()});
        at = TimeBase().now();
      });
      EXPECT_THAT(bench.monitor.violations(), IsEmpty());
      EXPECT_EQ(bench.tcm_bytes(0, 64), part(pattern(kHbmBytes), 0, 64));
      return std::to_string(at);
    }));
  };
  EXPECT_EQ(done(0), kLoad + kSetup);
  EXPECT_EQ(done(100 * kNs), kLoad + kSetup + 100 * kNs);
}
INSTANTIATE_TEST_SUITE_P(
    Answers, AnnotatedDelayShifts,
    testing::Values(
        Shift{"b_transport_waits", arch::DmaPort::lt, Answer::accepted, true},
        Shift{"b_transport_annotates", arch::DmaPort::lt, Answer::accepted, false},
        Shift{"begin_resp_by_return", arch::DmaPort::at, Answer::updated_begin_resp, false},
        Shift{"begin_resp_by_call", arch::DmaPort::at, Answer::accepted, false},
        Shift{"begin_resp_in_the_call", arch::DmaPort::at, Answer::nested_begin_resp, false},
        Shift{"completion", arch::DmaPort::at, Answer::completed, false}),
    [](const auto& instance) { return instance.param.name; });

// The second call is later and its delay smaller: it is done first. At the two BEGIN_REQ of a
// channel each, 41.313 apart: at the first one's BEGIN_RESP, called 8 ns later, 100 ns are
// annotated, at the second's completion 10.
TEST(AnnotatedDelay, TheEarlierTimeIsDoneFirst) {
  for (const arch::DmaPort port : {arch::DmaPort::at, arch::DmaPort::lt}) {
    const std::string done = in_child([&] {
      arch::TopologyConfig topology = single_pe();
      topology.pe.dma.port = port;
      topology.pe.dma.read_channels = 2;
      BenchOptions options;
      options.memory = [](std::uint64_t index, const auto&) {
        Behaviour behaviour;
        behaviour.accept_ps = index == 0 ? 3 * kNs : 0;
        behaviour.response_ps = index == 0 ? 5 * kNs : 0;
        behaviour.response_annotated_ps = index == 0 ? 100 * kNs : 10 * kNs;
        behaviour.answer = index == 0 ? Answer::accepted : Answer::completed;
        return behaviour;
      };
      const BenchResult result = run_kernel(
          topology,
          [](CommandSink& sink) {
            sink.issue(command::DmaReadCmd{in_hbm(0, 32), in_tcm(0, 32)});
            sink.issue(command::DmaReadCmd{in_hbm(64, 32), in_tcm(64, 32)});
          },
          options);
      std::string times;
      for (const OpLogRow& row : result.rows) {
        if (row.stage == "dma_read") times += fmt::format("{} ", row.done);
      }
      return times;
    });
    EXPECT_EQ(done,
              fmt::format("{} {} ", kLoad + kSetup + 108 * kNs, 2 * kLoad + kSetup + 10 * kNs));
  }
}

// ---- 10: requests that are held back ------------------------------------------------------------

// 64 tiles in and out through one place in TCM, so that each move waits for the one before: the run
// takes longer by what is withheld, to the ps, and the statistics say so. A queue of one command.
TEST(WithheldAcceptance, ShiftsEveryTileAndNothingElse) {
  const std::vector<std::function<Ps(std::uint64_t)>> held = {
      [](std::uint64_t) { return Ps{0}; }, [](std::uint64_t) { return kNs; },
      [](std::uint64_t) { return 10'000 * kNs; },
      [](std::uint64_t index) { return index * 7919 % 977 * 13; }};
  for (std::size_t i = 0; i < held.size(); ++i) {
    for (const Answer answer : {Answer::accepted, Answer::no_end_req}) {
      in_child([&] {
        arch::PeConfig config = config_of(arch::DmaPort::at);
        config.cpu.cmd_queue_depth = 1;
        Bench bench(config, [&](std::uint64_t index, const auto&) {
          Behaviour behaviour;
          behaviour.answer = answer;
          behaviour.accept_ps = held[i](index);
          return behaviour;
        });
        bench.run([](CommandSink& sink) {
          for (Address tile = 0; tile < 64; ++tile) {
            sink.issue(command::DmaReadCmd{in_hbm(tile * 64, 32), in_tcm(0, 32)});
            sink.issue(command::DmaWriteCmd{in_tcm(0, 32), in_hbm(kHbmBytes / 2 + tile * 64, 32)});
          }
        });
        Ps withheld = 0;
        for (std::uint64_t n = 0; n < 128; ++n) withheld += held[i](n);
        EXPECT_EQ(TimeBase().now(), 128 * (kLoad + kSetup) + withheld);
        const MemoryPortTotals& totals = bench.pe.dma.port.totals();
        EXPECT_EQ(totals.read.accept_wait_ps + totals.write.accept_wait_ps, withheld);
        EXPECT_THAT(bench.monitor.violations(), IsEmpty());
        EXPECT_EQ(bench.hbm_bytes(kHbmBytes / 2, 64 * 64), part(pattern(kHbmBytes), 0, 64 * 64));
        return std::string();
      });
    }
  }
}

// A store that finds the load's request at the socket waits for its own acceptance only from its
// BEGIN_REQ on, which is when the load's is accepted.
TEST(WithheldAcceptance, CountsFromTheBeginOfTheRequest) {
  Bench bench(config_of(arch::DmaPort::at), [](auto, const auto&) {
    Behaviour behaviour;
    behaviour.accept_ps = 100'000 * kNs;
    return behaviour;
  });
  bench.run([](CommandSink& sink) {
    sink.issue(command::DmaReadCmd{in_hbm(0, 32), in_tcm(0, 32)});
    sink.issue(command::DmaWriteCmd{in_tcm(64, 32), in_hbm(0x1000, 32)});
  });
  EXPECT_EQ(TimeBase().now(), kLoad + kSetup + 200'000 * kNs);
  EXPECT_EQ(bench.pe.dma.port.totals().read.accept_wait_ps, 100'000 * kNs);
  EXPECT_EQ(bench.pe.dma.port.totals().write.accept_wait_ps, 100'000 * kNs);
}

// ---- 12: response status ------------------------------------------------------------------------

struct Status {
  arch::DmaPort port;
  tlm::tlm_response_status status;
  friend std::ostream& operator<<(std::ostream& out, const Status& s) {
    return out << (s.port == arch::DmaPort::at ? "at_" : "lt_") << (s.status < 0 ? "minus_" : "")
               << std::abs(static_cast<int>(s.status));
  }
};
class FailedBurst : public testing::TestWithParam<Status> {};

// Each burst is sent as INCOMPLETE; anything but OK, an untouched status included, is an error that
// names all there is. Where the user lets the run go on, it does, and the bytes that have not come
// are not what lay there before: the third of four bursts of each load fails, then that of a store.
TEST_P(FailedBurst, IsReportedAndItsBytesAreNotTaken) {
  const auto& reports = collect_reports();
  const bool ok = GetParam().status == tlm::TLM_OK_RESPONSE;
  arch::PeConfig config = config_of(GetParam().port);
  config.memory_offset = 0x10'0000;
  Bench bench(config, [&](auto index, const tlm::tlm_generic_payload& payload) {
    EXPECT_EQ(payload.get_response_status(), tlm::TLM_INCOMPLETE_RESPONSE);
    Behaviour behaviour;
    behaviour.answer = static_cast<Answer>(index % kAnswers);
    if (payload.get_address() % 256 == 128) behaviour.status = GetParam().status;
    return behaviour;
  });
  bench.run([](CommandSink& sink) {
    sink.issue(command::DmaReadCmd{in_hbm(0x100, 128), in_tcm(0, 128)});
    sink.issue(command::DmaReadCmd{in_hbm(0x1000, 128), in_tcm(0, 128)});
    sink.issue(command::DmaWriteCmd{in_tcm(0, 128), in_hbm(0x8000, 128)});
  });
  const Bytes before = pattern(kHbmBytes);
  Bytes loaded = part(before, 0x1000, 256);
  if (!ok) std::fill_n(loaded.begin() + 128, 64, std::uint8_t{0xff});
  EXPECT_EQ(bench.tcm_bytes(0, 256), loaded);
  Bytes stored = loaded;
  if (!ok) std::copy_n(before.begin() + 0x8080, 64, stored.begin() + 128);
  EXPECT_EQ(bench.hbm_bytes(0x8000, 256), stored);
  if (ok) {
    EXPECT_THAT(reports, IsEmpty());
    return;
  }
  tlm::tlm_generic_payload named;
  named.set_response_status(GetParam().status);
  const auto report = [&](const std::string& text) {
    return AllOf(HasSubstr("/kernbench/memory_port/response: pe0.dma.port: the memory answered " +
                           named.get_response_string() + " to a " + text),
                 HasSubstr("; check "));
  };
  EXPECT_THAT(
      reports,
      ElementsAre(report("read of 64 bytes at 0x180 (0x100180 at the socket) (dma_rd, command 0, "
                         "operand src)"),
                  report("read of 64 bytes at 0x1080 (0x101080 at the socket) (dma_rd, command 1, "
                         "operand src)"),
                  report("write of 64 bytes at 0x8080 (0x108080 at the socket) (dma_wr, command 2, "
                         "operand out)")));
}
INSTANTIATE_TEST_SUITE_P(
    Statuses, FailedBurst,
    testing::Values(Status{arch::DmaPort::at, tlm::TLM_OK_RESPONSE},
                    Status{arch::DmaPort::at, tlm::TLM_INCOMPLETE_RESPONSE},
                    Status{arch::DmaPort::at, tlm::TLM_GENERIC_ERROR_RESPONSE},
                    Status{arch::DmaPort::at, tlm::TLM_ADDRESS_ERROR_RESPONSE},
                    Status{arch::DmaPort::at, tlm::TLM_BURST_ERROR_RESPONSE},
                    Status{arch::DmaPort::lt, tlm::TLM_OK_RESPONSE},
                    Status{arch::DmaPort::lt, tlm::TLM_INCOMPLETE_RESPONSE},
                    Status{arch::DmaPort::lt, tlm::TLM_ADDRESS_ERROR_RESPONSE}),
    [](const auto& instance) { return testing::PrintToString(instance.param); });

// ---- 13: the end of the memory ------------------------------------------------------------------

// Up to the last byte, byte by byte, and what the bus carries. 4098 bytes before the end at
// 0x10000: a burst of 2 and one of 4096. From 0xeffd, odd: 1, 2, then 0xf000: 4096 bytes less one,
// 2048 .. 1.
TEST(EndOfTheMemory, IsReachedToTheLastByte) {
  struct Load {
    Address addr;
    Index entries;
    std::uint64_t bursts, bus_bytes;
  };
  const std::vector<Load> loads = {{kHbmBytes - 2, 1, 1, 32},
                                   {kHbmBytes - 48, 24, 2, 16 + 16 + 32},
                                   {kHbmBytes - 4098, 2049, 2, 32 + 4096},
                                   {kHbmBytes - 4099, 2049, 14, 2 * 32 + 4032 + 6 * 32}};
  for (const arch::DmaPort port : {arch::DmaPort::at, arch::DmaPort::lt}) {
    for (const Load& load : loads) {
      in_child([&] {
        Bench bench(config_of(port, 4096), [](auto, const auto&) { return Behaviour(); });
        bench.run([&](CommandSink& sink) {
          sink.issue(command::DmaReadCmd{in_hbm(load.addr, load.entries), in_tcm(8, load.entries)});
        });
        const auto bytes = static_cast<std::uint64_t>(load.entries) * 2;
        Bytes expected(bytes + 16, 0xff);
        std::copy_n(pattern(kHbmBytes).begin() + static_cast<std::ptrdiff_t>(load.addr), bytes,
                    expected.begin() + 8);
        EXPECT_EQ(bench.tcm_bytes(0, bytes + 16), expected);
        const PortTotals& totals = bench.pe.dma.port.totals().read;
        EXPECT_EQ(totals.bytes, bytes);
        EXPECT_EQ(totals.bursts, load.bursts);
        EXPECT_EQ(totals.bus_bytes, load.bus_bytes);
        EXPECT_THAT(bench.monitor.violations(), IsEmpty());
        return std::string();
      });
    }
  }
}

// One byte further nothing is sent, in either direction and from either side. Where the user lets
// the run go on the command ends, and what it should have loaded is not what lay there before.
TEST(EndOfTheMemory, BeyondItNothingIsSent) {
  const auto& reports = collect_reports();
  arch::PeConfig config = config_of(arch::DmaPort::at);
  Bench bench(config, [](auto, const auto&) { return Behaviour(); });
  bench.run([&](CommandSink& sink) {
    sink.issue(command::DmaReadCmd{in_hbm(0, 24), in_tcm(0, 24)});
    sink.issue(command::DmaReadCmd{in_hbm(kHbmBytes - 47, 24), in_tcm(0, 24)});
    sink.issue(command::DmaWriteCmd{in_tcm(0, 24), in_hbm(kHbmBytes - 47, 24)});
    sink.issue(command::DmaReadCmd{in_hbm(0x100, 24), in_tcm(config.tcm.bytes - 47, 24)});
    sink.issue(command::DmaWriteCmd{in_tcm(config.tcm.bytes - 47, 24), in_hbm(0x200, 24)});
    sink.issue(command::DmaReadCmd{in_hbm(0x100, 24), in_tcm(0x1000, 24)});
  });
  EXPECT_THAT(
      reports,
      ElementsAre(
          HasSubstr("/kernbench/pe_dma/address: pe0.dma: command 1 (dma_read): operand src at "
                    "[0xffd1, 0x10001) lies outside HBM [0x0, 0x10000); check"),
          HasSubstr("command 2 (dma_write): operand out at [0xffd1, 0x10001) lies outside HBM"),
          HasSubstr("command 3 (dma_read): operand out at [0x100000fffd1, 0x10000100001) lies "
                    "outside TCM [0x10000000000, 0x10000100000)"),
          HasSubstr("command 4 (dma_write): operand src at [0x100000fffd1, 0x10000100001) lies "
                    "outside TCM")));
  EXPECT_EQ(bench.memory.transactions(), 4u);  // 32 + 16 bytes of the first and the last
  EXPECT_EQ(bench.tcm_bytes(0, 48), Bytes(48, 0xff));
  EXPECT_EQ(bench.tcm_bytes(0x1000, 48), part(pattern(kHbmBytes), 0x100, 48));
  EXPECT_EQ(bench.hbm_bytes(0, kHbmBytes), pattern(kHbmBytes));
}

// ---- several PEs on one memory ------------------------------------------------------------------

// Each PE's addresses begin at 0, its bytes in the shared memory at its offset.
TEST(MemoryOffset, TellsPesOfOneMemoryApart) {
  for (const arch::DmaPort port : {arch::DmaPort::at, arch::DmaPort::lt}) {
    in_child([&] {
      arch::HbmConfig shared;
      shared.bytes = 4 * kHbmBytes;
      EmbeddedHbm memory("hbm", shared, 2, true);
      const Bytes before = pattern(shared.bytes);
      memory.storage().write(0, before.data(), before.size());
      Bytes expected = before;
      std::list<Pe> pes;
      std::list<std::unique_ptr<BaseProtocolMonitor>> monitors;
      for (const std::uint32_t index : {0u, 1u}) {
        arch::PeConfig config = config_of(port);
        config.memory_offset = (1 + 2 * index) * kHbmBytes;
        const std::string number = std::to_string(index);
        Pe& pe = pes.emplace_back(("pe" + number).c_str(), config, index);
        monitors.push_back(bind_monitored(pe.memory, memory.port(index), "monitor" + number));
        pe.set_data_mode(true);
        pe.set_kernel([](CommandSink& sink) {
          sink.issue(command::DmaReadCmd{in_hbm(0, 500), in_tcm(0, 500)});
          sink.issue(command::DmaWriteCmd{in_tcm(0, 500), in_hbm(kHbmBytes - 1000, 500)});
        });
        const auto own = static_cast<std::ptrdiff_t>(config.memory_offset);
        std::copy_n(before.begin() + own, 1000,
                    expected.begin() + own + static_cast<std::ptrdiff_t>(kHbmBytes) - 1000);
      }
      sc_core::sc_start();
      Bytes after(shared.bytes);
      memory.storage().read(0, after.data(), after.size());
      EXPECT_TRUE(after == expected);
      return std::string();
    });
  }
}

TEST(MemoryOffset, IsAMultipleOfABurstWithin64Bits) {
  const auto refusal = [](std::uint64_t offset) {
    return in_child([&]() -> std::string {
      arch::PeConfig config = config_of(arch::DmaPort::at);
      config.memory_offset = offset;
      try {
        Pe pe("pe0", config, 0);
      } catch (const InputError& error) {
        return error.what();
      }
      return "taken";
    });
  };
  EXPECT_EQ(refusal(0xffff'ffff'ffff'0000 - 0x40), "taken");
  EXPECT_THAT(refusal(0x1020),
              HasSubstr("pe0: memory_offset 0x1020 is not a multiple of dma.burst_bytes, 64"));
  EXPECT_THAT(
      refusal(0xffff'ffff'ffff'0040),
      HasSubstr("memory_offset 0xffffffffffff0040 and hbm_bytes 0x10000 lie beyond 64 bits"));
}

// ---- a memory that takes no time ----------------------------------------------------------------

// 120,000 bursts of a stage at the instant at which its setup ends: more than the rounds after
// which an instant is taken for a livelock.
TEST(Livelock, AMemoryThatTakesNoTimeIsNone) {
  for (const arch::DmaPort port : {arch::DmaPort::at, arch::DmaPort::lt}) {
    EXPECT_EQ(in_child([&] {
                arch::PeConfig config = config_of(port, 1);
                config.hbm_bytes = 120'000;
                ScriptedMemory memory("memory", {0, config.hbm_bytes},
                                      [](auto, const auto&) { return Behaviour(); });
                Pe pe("pe0", config, 0);
                const auto monitor = bind_monitored(pe.memory, memory.socket);
                pe.set_kernel([](CommandSink& sink) {
                  sink.issue(command::DmaReadCmd{in_hbm(0, 60'000), in_tcm(0, 60'000)});
                });
                const std::string report = first_report([] { sc_core::sc_start(); });
                return fmt::format("{} {} {}", memory.transactions(), TimeBase().now(), report);
              }),
              fmt::format("120000 {} ", kLoad + kSetup));
  }
}

// ---- a configuration made by hand ---------------------------------------------------------------

// No topology file has been checked: what it would refuse, a PE refuses.
TEST(PeConfigByHand, ThatCannotWorkIsRefused) {
  const auto refusal = [](const std::function<void(arch::PeConfig&)>& change) {
    return in_child([&]() -> std::string {
      arch::PeConfig config;
      change(config);
      try {
        Pe pe("pe0", config, 0);
      } catch (const InputError& error) {
        return error.what();
      }
      return "taken";
    });
  };
  EXPECT_EQ(refusal([](arch::PeConfig&) {}), "taken");
  for (const std::uint32_t burst : {0u, 96u}) {
    EXPECT_EQ(refusal([&](arch::PeConfig& config) { config.dma.burst_bytes = burst; }),
              fmt::format("pe0: pe.dma.burst_bytes: '{}' is {}; allowed: a power of two in "
                          "[1, 1048576] (bytes)",
                          burst, burst == 0 ? "out of range" : "not a power of two"));
  }
  EXPECT_THAT(refusal([](arch::PeConfig& config) { config.math.lanes = 0; }),
              HasSubstr("pe0: pe.math.lanes: '0' is out of range; allowed: a whole number in"));
  EXPECT_EQ(
      refusal([](arch::PeConfig& config) { config.clock_ghz = 0; }),
      "pe0: pe.clock_ghz: '0' is out of range; allowed: a decimal number in [0.001, 100] with "
      "at most 6 decimals (GHz)");
  EXPECT_THAT(refusal([](arch::PeConfig& config) { config.gemm.tile_k = -1; }),
              HasSubstr("pe0: pe.gemm.tile_k: '-1' is out of range"));
  EXPECT_EQ(
      refusal([](arch::PeConfig& config) { config.dma.max_outstanding_bytes = 2048; }),
      "pe0: pe.dma.burst_bytes 4096 is larger than pe.dma.max_outstanding_bytes 2048, so that "
      "no burst could be sent; lower the first or raise the second");
  // R3.4: 3 * 4 * (8 * 128 + 128 * 128) * 2 bytes of buffers beside 131072 of scratch.
  EXPECT_EQ(refusal([](arch::PeConfig& config) { config.tcm.bytes = 548'864; }), "taken");
  EXPECT_THAT(refusal([](arch::PeConfig& config) { config.tcm.bytes = 548'863; }),
              HasSubstr("pe0: pe.tcm.scratch_bytes 131072 plus 417792 bytes of tile buffers are "
                        "548864 bytes, more than pe.tcm.bytes 548863; "));
}

// The same of a memory, of a stack, and of a whole machine. A share of a bandwidth may be less than
// the least of the key, and no decimal: 0.001 / 3 GB/s.
TEST(HbmConfigByHand, ThatCannotWorkIsRefused) {
  const auto told = [](const std::function<void()>& make) {
    return in_child([&]() -> std::string {
      try {
        make();
      } catch (const InputError& error) {
        return error.what();
      }
      return "taken";
    });
  };
  arch::TopologyConfig topology = single_pe();
  topology.hbm.gbps = arch::Rational::parse("0.001");
  topology.pes_per_cube = 3;
  EXPECT_EQ(told([&] { EmbeddedHbm("hbm", topology.pe_slice(), 1, false); }), "taken");
  arch::HbmConfig hbm;
  hbm.gbps = 0;
  EXPECT_EQ(told([&] { EmbeddedHbm("hbm", hbm, 1, false); }),
            "hbm: hbm.gbps: '0' is out of range; allowed: a decimal number in [0.001, 100000] with "
            "at most 6 decimals (GB/s)");
  hbm = arch::HbmConfig();
  hbm.efficiency = {11, 10};
  EXPECT_THAT(told([&] { EmbeddedHbm("hbm", hbm, 1, false); }),
              HasSubstr("hbm: hbm.efficiency: '1.1' is out of range"));
  hbm = arch::HbmConfig();
  hbm.bytes = 0;
  EXPECT_THAT(told([&] { EmbeddedHbm("hbm", hbm, 1, false); }),
              HasSubstr("hbm: hbm.bytes: '0' is out of range"));
  EXPECT_THAT(told([] {
                arch::TopologyConfig stack = single_pe();
                stack.hbm.channels = 0;
                Fabric noc("noc", arch::Network::mesh(stack.noc, stack.pe.clock_ghz, 1, 1),
                           arch::NetworkOrder::noc(0), [](const Packet&) { return 0; });
                InterleavedHbm("stack", stack, 0, noc, false);
              }),
              HasSubstr("stack: hbm.channels: '0' is out of range"));
  EXPECT_THAT(told([] {
                arch::TopologyConfig machine = single_pe();
                machine.d2d.gbps = 0;
                Machine(machine, {});
              }),
              HasSubstr("machine: d2d.gbps: '0' is out of range"));
  // Keys that do not fit each other.
  topology = single_pe();
  topology.hbm.map = arch::HbmMap::interleaved;
  topology.hbm.interleave_bytes = 2048;
  const std::string conflict = ": hbm.interleave_bytes 2048 is less than pe.dma.burst_bytes 4096";
  EXPECT_THAT(told([&] { Machine(topology, {}); }), HasSubstr("machine" + conflict));
  EXPECT_THAT(told([&] {
                Fabric noc("noc", arch::Network::mesh(topology.noc, topology.pe.clock_ghz, 1, 8),
                           arch::NetworkOrder::noc(0), [](const Packet&) { return 0; });
                InterleavedHbm("stack", topology, 0, noc, false);
              }),
              HasSubstr("stack" + conflict));
}

// ---- watchdog -----------------------------------------------------------------------------------

arch::PeConfig watched(const char* limit_ns) {
  arch::PeConfig config = config_of(arch::DmaPort::at);
  config.watchdog_ns = arch::Rational::parse(limit_ns);
  return config;
}

// The last that goes on is the end of the channel's setup, at whose beginning the stage began: that
// is when the silence starts; it is noticed 1 ps after 1 us.
TEST(Watchdog, AMemoryThatNeverAnswersEndsTheRun) {
  Bench bench(watched("1000"), [](auto, const auto&) {
    Behaviour behaviour;
    behaviour.silent = true;
    return behaviour;
  });
  // A kernel that waited would never leave what is on its stack.
  bench.pe.set_kernel([](CommandSink& sink) {
    sink.issue(command::DmaReadCmd{in_hbm(0x400, 32), in_tcm(0, 32)});
  });
  const std::string report = first_report([] { sc_core::sc_start(); });
  EXPECT_EQ(TimeBase().now(), kLoad + 1000 * kNs + 1);
  EXPECT_THAT(report,
              AllOf(HasSubstr("/kernbench/pe/watchdog: pe0: nothing has gone on for 1000.001 ns "
                              "while commands are outstanding; check"),
                    HasSubstr("\n  pe0: command 0 (load) is in flight: its stage has not finished"),
                    HasSubstr("waits for the memory: a read of 64 bytes at 0x400 has been sent and "
                              "not accepted")));
}

// 16 bursts, each answered after 900 ns, one outstanding; a gemm of 10 us; a kernel that waits 10
// us for its host: within the limit of 1 us each, since something goes on or nothing is
// outstanding. The run is the same as without a watchdog, and ends at the same time: no event is
// left behind.
TEST(Watchdog, ChangesNothingWhereSomethingGoesOn) {
  const auto shown = [](const char* limit_ns) {
    return in_child([&] {
      arch::TopologyConfig topology = single_pe();
      topology.pe = watched(limit_ns);
      topology.pe.dma.max_outstanding_bytes = 64;
      topology.pe.gemm.fill_cycles = 10'000;
      BenchOptions options;
      options.memory = [](auto, const auto&) {
        Behaviour behaviour;
        behaviour.response_ps = 900 * kNs;
        return behaviour;
      };
      const BenchResult result = run_kernel(
          topology,
          [](CommandSink& sink) {
            sink.issue(command::DmaReadCmd{in_hbm(0, 512), in_tcm(0, 512)});
            sink.wait({in_tcm(0, 512).range()});
            sc_core::wait(10, sc_core::SC_US);
            sink.issue(composite({gemm(tcm(0, {8, 8}), tcm(128, {8, 8}), tcm(2048, {8, 8}))}));
          },
          options);
      EXPECT_TRUE(result.idle);
      return fmt::format("{} {}", result.end_ps, result.op_log);
    });
  };
  EXPECT_EQ(shown("1000"), shown("0"));
  // Without work there is nothing to wait for.
  EXPECT_EQ(in_child([] {
              Bench bench(watched("1000"), [](auto, const auto&) { return Behaviour(); });
              bench.run([](CommandSink&) {});
              return std::to_string(TimeBase().now());
            }),
            "0");
}

/// PE 0 posts a receive and dispatches work of 5 us; PE 1 sends after `sender_cycles`, 1 ns each.
IpcqResult run_beside_work(const char* limit_ns, std::uint64_t sender_cycles) {
  arch::TopologyConfig topology = single_pe();
  topology.pe.watchdog_ns = arch::Rational::parse(limit_ns);
  IpcqOptions options;
  options.expects_report = true;
  return run_pes(topology,
                 {[](CommandSink& sink) {
                    sink.issue(command::IpcqRecvCmd{in_tcm(0, 32), {1, 0}});
                    sink.issue(command::PeCpuOverheadCmd{5000});
                  },
                  [=](CommandSink& sink) {
                    sink.issue(command::PeCpuOverheadCmd{sender_cycles});
                    sink.issue(command::IpcqSendCmd{in_tcm(0, 32), {0, 0}});
                  }},
                 options);
}

// The work is progress of PE 0 until it ends, at 5041 ns (a dispatch of 17 bytes before it). The
// message is there at sender_cycles + 41 + 10 + 100: within 1 us from there, or after it. That PE 1
// is busy all the time does not count.
TEST(Watchdog, PeCpuAtWorkIsProgressAndABusyPeerIsNone) {
  const auto shown = [](const char* limit_ns) {
    return in_child([&] {
      const IpcqResult result = run_beside_work(limit_ns, 5800);
      EXPECT_TRUE(result.idle);
      return result.report + result.op_log;
    });
  };
  EXPECT_THAT(shown("0"), Not(IsEmpty()));
  EXPECT_EQ(shown("1000"), shown("0"));
  const IpcqResult result = run_beside_work("1000", 6000);
  EXPECT_EQ(TimeBase().now(), 5041'063 + 1000 * kNs + 1);
  EXPECT_THAT(result.report, HasSubstr("/kernbench/pe/watchdog: pe0: nothing has gone on for"));
}

// Four bursts of one load, accepted one after the other in 900 ns each and answered 2.8 us later:
// first acceptances alone, then answers alone, are what goes on within the limit of 1 us.
TEST(Watchdog, AcceptancesAndAnswersAreProgress) {
  const auto& reports = collect_reports();
  Bench bench(watched("1000"), [](auto, const auto&) {
    Behaviour behaviour;
    behaviour.accept_ps = 900 * kNs;
    behaviour.response_ps = 2800 * kNs;
    return behaviour;
  });
  bench.run([](CommandSink& sink) {
    sink.issue(command::DmaReadCmd{in_hbm(0, 128), in_tcm(0, 128)});
  });
  EXPECT_THAT(reports, IsEmpty());
}

// Where the user lets the run go on, it says so once, and the run ends.
TEST(Watchdog, ReportsOnce) {
  const auto& reports = collect_reports();
  Bench bench(watched("0.5"), [](auto, const auto&) {
    Behaviour behaviour;
    behaviour.response_ps = 100 * kNs;
    return behaviour;
  });
  bench.run([](CommandSink& sink) {
    sink.issue(command::DmaReadCmd{in_hbm(0, 32), in_tcm(0, 32)});
  });
  EXPECT_THAT(reports, SizeIs(1));
  EXPECT_EQ(TimeBase().now(), kLoad + kSetup + 100 * kNs);
}

}  // namespace
}  // namespace kernbench::test
