// SPDX-License-Identifier: Apache-2.0
#include "model/memory_port.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <list>
#include <ostream>
#include <random>
#include <set>

#include "model/embedded_hbm.hpp"
#include "model/pe.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/monitored.hpp"
#include "tests/support/scripted_memory.hpp"
#include "tlm_if/base_protocol_monitor.hpp"

namespace kernbench {
namespace {

using command::Address;
using command::DType;
using command::Index;
using command::kTcmBase;
using command::Shape;
using command::Space;
using command::TensorHandle;
using test::Answer;
using test::Behaviour;
using test::ScriptedMemory;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kMemoryBytes = 1u << 18;
constexpr std::uint64_t kNs = 1000;

// No two neighbours alike, no period that fits a burst.
Bytes pattern() {
  Bytes bytes(kMemoryBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>((i * 2654435761u) >> 13);
  }
  return bytes;
}

Bytes contents(ScriptedMemory& memory) {
  Bytes bytes(kMemoryBytes);
  memory.storage().read(0, bytes.data(), bytes.size());
  return bytes;
}

// --- A whole PE ---

arch::PeConfig small_bursts() {
  arch::PeConfig config;
  config.hbm_bytes = kMemoryBytes;
  config.dma.read_channels = 4;
  config.dma.write_channels = 3;
  config.dma.burst_bytes = 256;
  config.dma.max_outstanding_bytes = 1024;
  return config;
}

// A PE and a memory, with the monitor in between.
struct PeOnScriptedMemory {
  PeOnScriptedMemory(const arch::PeConfig& config, ScriptedMemory::Script script)
      : memory("memory", {0, kMemoryBytes}, std::move(script)), pe("pe0", config, 0) {
    pe.memory.bind(monitor.upstream);
    monitor.downstream.bind(memory.socket);
    pe.set_data_mode(true);
    const Bytes bytes = pattern();
    memory.storage().write(0, bytes.data(), bytes.size());
  }

  BaseProtocolMonitor monitor{"monitor"};
  ScriptedMemory memory;
  Pe pe;
};

struct Transfer {
  TensorHandle source, tcm, destination;
};

TensorHandle handle(Address addr, const Shape& shape, Space space) {
  return command::make_handle(1, addr, shape, DType::f16, space);
}

// HBM -> TCM -> HBM, aligned and not: sources from 0, destinations from the middle of the memory.
std::vector<Transfer> transfers() {
  std::vector<Transfer> all;
  Address source = 0, tcm = kTcmBase, destination = kMemoryBytes / 2;
  const auto next = [](Address& addr, std::uint64_t bytes) {
    const Address here = addr;
    addr = command::align_up(addr + bytes + 8, 4096);
    return here;
  };
  for (const Index n : {1, 15, 17, 24, 2049}) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(n) * 2;
    for (const Address odd : {0u, 1u}) {
      const Shape shape = Shape::vector(n);
      all.push_back({handle(next(source, bytes) + odd, shape, Space::hbm),
                     handle(next(tcm, bytes), shape, Space::tcm),
                     handle(next(destination, bytes) + 1 - odd, shape, Space::hbm)});
    }
  }
  // Columns of a wider matrix, on both sides: rows of 66 bytes, a gap after each.
  all.push_back({view_cols(handle(next(source, 910) + 1, {7, 65}, Space::hbm), 5, 33, 2),
                 handle(next(tcm, 462), {7, 33}, Space::tcm),
                 view_cols(handle(next(destination, 560) + 2, {7, 40}, Space::hbm), 3, 33, 2)});
  // A transposed source.
  all.push_back({view_transposed(handle(next(source, 90), {5, 9}, Space::hbm), 2),
                 handle(next(tcm, 90), {9, 5}, Space::tcm),
                 handle(next(destination, 90), {9, 5}, Space::hbm)});
  return all;
}

Address element(const TensorHandle& t, Index row, Index col) {
  return t.addr + static_cast<Address>(row * t.row_stride + col * t.col_stride) * 2;
}

// What must have happened to the bytes: entry by entry.
void copy_entries(const Bytes& from, Address from_base, const TensorHandle& source, Bytes& to,
                  Address to_base, const TensorHandle& destination) {
  for (Index r = 0; r < source.shape.rows(); ++r) {
    for (Index c = 0; c < source.shape.cols(); ++c) {
      for (Address byte = 0; byte < 2; ++byte) {
        to[element(destination, r, c) - to_base + byte] =
            from[element(source, r, c) - from_base + byte];
      }
    }
  }
}

struct Case {
  std::string name;
  ScriptedMemory::Script script;
  std::uint64_t setup_cycles = 16;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  // Latencies differ from one transaction to the next, so that responses overtake each other.
  for (int i = 0; i < test::kAnswers; ++i) {
    const auto answer = static_cast<Answer>(i);
    const std::string name(test::to_string(answer));
    all.push_back({name, [answer](std::uint64_t index, const auto&) {
                     Behaviour behaviour;
                     behaviour.answer = answer;
                     behaviour.accept_ps = 2 * kNs;
                     behaviour.response_ps = index * 7919 % 13 * 10 * kNs;
                     behaviour.serve_late = index % 2 == 0;
                     behaviour.hold_ps = index % 3 * 50 * kNs;
                     return behaviour;
                   }});
    all.push_back({name + "_annotated", [answer](auto index, const auto&) {
                     Behaviour behaviour;
                     behaviour.answer = answer;
                     behaviour.accept_annotated_ps = index * 31 % 7 * kNs;
                     behaviour.response_ps = index * 7919 % 13 * 10 * kNs;
                     behaviour.response_annotated_ps = index * 17 % 5 * 20 * kNs;
                     behaviour.rewrite_address = true;
                     return behaviour;
                   }});
  }
  for (const std::uint64_t withheld : {std::uint64_t{0}, kNs, 10'000 * kNs}) {
    all.push_back({fmt::format("end_req_after_{}_ns", withheld / kNs), [=](auto, const auto&) {
                     Behaviour behaviour;
                     behaviour.accept_ps = withheld;
                     return behaviour;
                   }});
  }
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    all.push_back({fmt::format("random_{}", seed), test::random_script(seed, 200 * kNs), 0});
  }
  return all;
}

class PeMovesEveryByte : public testing::TestWithParam<Case> {};

TEST_P(PeMovesEveryByte, ReadsAndWrites) {
  const std::vector<Transfer> work = transfers();
  arch::PeConfig config = small_bursts();
  config.dma.setup_cycles = GetParam().setup_cycles;
  PeOnScriptedMemory bench(config, GetParam().script);
  bench.pe.set_kernel([&](command::CommandSink& sink) {
    for (const Transfer& t : work) sink.issue(command::DmaReadCmd{t.source, t.tcm});
    for (const Transfer& t : work) sink.issue(command::DmaWriteCmd{t.tcm, t.destination});
  });
  sc_core::sc_start();

  EXPECT_TRUE(bench.pe.idle());
  EXPECT_THAT(bench.monitor.violations(), IsEmpty());
  EXPECT_EQ(bench.monitor.outstanding(), 0u);
  EXPECT_EQ(bench.pe.dma.port.live_payloads(), 0u);
  EXPECT_EQ(bench.memory.reused_while_held(), 0u);

  Bytes expected = pattern();
  Bytes expected_tcm(config.tcm.bytes);
  for (const Transfer& t : work) {
    copy_entries(expected, 0, t.source, expected_tcm, kTcmBase, t.tcm);
    copy_entries(expected, 0, t.source, expected, 0, t.destination);
  }
  EXPECT_EQ(contents(bench.memory), expected);
  Bytes tcm(config.tcm.bytes);
  bench.pe.tcm_storage().read(kTcmBase, tcm.data(), tcm.size());
  EXPECT_EQ(tcm, expected_tcm);
}
INSTANTIATE_TEST_SUITE_P(Memories, PeMovesEveryByte, testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.name; });

// 41.313 ns dispatch (40 + 21 bytes / 16 = 41.3125), 16 setup, 3 to END_REQ, 5 to the call of
// BEGIN_RESP, 100 annotated to it: 165.313 in all, the annotated delay once.
TEST(MemoryPort, AnnotatedDelayShiftsTheCommandByExactlyThat) {
  PeOnScriptedMemory bench(small_bursts(), [](auto, const auto&) {
    Behaviour behaviour;
    behaviour.accept_ps = 3 * kNs;
    behaviour.response_ps = 5 * kNs;
    behaviour.response_annotated_ps = 100 * kNs;
    return behaviour;
  });
  std::uint64_t done_ps = 0;
  bench.pe.set_kernel([&](command::CommandSink& sink) {
    const TensorHandle tcm = handle(kTcmBase, Shape::vector(32), Space::tcm);
    sink.issue(command::DmaReadCmd{handle(0, Shape::vector(32), Space::hbm), tcm});
    sink.wait({tcm.range()});
    done_ps = TimeBase().now();
  });
  sc_core::sc_start();
  EXPECT_EQ(done_ps, 165'313u);
}

// R6.7: 1024 bytes from issue to response are four bursts of 256, although the memory takes each at
// once and answers late.
TEST(MemoryPort, OutstandingBytesAreLimited) {
  PeOnScriptedMemory bench(small_bursts(), [](auto, const auto&) {
    Behaviour behaviour;
    behaviour.response_ps = 1000 * kNs;
    return behaviour;
  });
  bench.pe.set_kernel([&](command::CommandSink& sink) {
    const Shape shape = Shape::vector(2048);
    sink.issue(
        command::DmaReadCmd{handle(0, shape, Space::hbm), handle(kTcmBase, shape, Space::tcm)});
  });
  sc_core::sc_start();
  EXPECT_TRUE(bench.pe.idle());
  EXPECT_EQ(bench.memory.transactions(), 16u);
  EXPECT_EQ(bench.memory.most_outstanding(), 4u);
}

// R3.6: a command with data_op false takes its time and moves no data, its DMA_WRITE included.
TEST(MemoryPort, WriteWithoutDataLeavesTheMemoryAsItIs) {
  arch::PeConfig config = small_bursts();
  config.memory_offset = 0x8000;
  PeOnScriptedMemory bench(config, [](auto, const auto&) { return Behaviour(); });
  bench.pe.set_kernel([&](command::CommandSink& sink) {
    command::OpSpec gemm;
    gemm.kind = command::OpKind::gemm;
    gemm.operands = {{command::OperandName::a, handle(kTcmBase, {8, 16}, Space::tcm)},
                     {command::OperandName::b, handle(kTcmBase + 4096, {16, 16}, Space::tcm)}};
    gemm.extras = {command::Extra::u32(command::ExtraName::m, 8),
                   command::Extra::u32(command::ExtraName::k, 16),
                   command::Extra::u32(command::ExtraName::n, 16)};
    gemm.has_out = true;
    gemm.out = handle(0x1000, {8, 16}, Space::hbm);
    sink.issue(command::CompositeCmd{{0}, {gemm}, {}, false});
  });
  sc_core::sc_start();
  EXPECT_TRUE(bench.pe.idle());
  EXPECT_EQ(bench.memory.transactions(), 1u);  // 256 bytes
  EXPECT_EQ(contents(bench.memory), pattern());
}

class ErrorResponse : public testing::TestWithParam<int> {
 protected:
  // The memory refuses the burst at 0x1040. The errors reported, of which the first ends the run:
  // an exception through libsystemc and its coroutines is nothing that ASan can follow.
  static const std::vector<std::string>& reports_of(const KernelBody& kernel) {
    static std::vector<std::string> reports;
    sc_core::sc_report_handler::set_handler(
        [](const sc_core::sc_report& report, const sc_core::sc_actions&) {
          if (report.get_severity() != sc_core::SC_ERROR) return;
          reports.push_back(fmt::format("{}: {}", report.get_msg_type(), report.get_msg()));
          sc_core::sc_stop();
        });
    arch::PeConfig config = small_bursts();
    config.dma.burst_bytes = 64;
    PeOnScriptedMemory bench(config, [](auto, const tlm::tlm_generic_payload& payload) {
      Behaviour behaviour;
      behaviour.answer = static_cast<Answer>(GetParam());
      if (payload.get_address() == 0x1040) behaviour.status = tlm::TLM_ADDRESS_ERROR_RESPONSE;
      return behaviour;
    });
    bench.pe.set_kernel(kernel);
    sc_core::sc_start();
    return reports;
  }
  static auto report(const char* transfer, const char* command, const char* operand) {
    return AllOf(HasSubstr("/kernbench/memory_port/response: pe0.dma"),
                 HasSubstr("TLM_ADDRESS_ERROR_RESPONSE"), HasSubstr(transfer), HasSubstr(command),
                 HasSubstr(operand));
  }
  const Shape shape = Shape::vector(64);
  const TensorHandle tcm = handle(kTcmBase, shape, Space::tcm);
};

// Of command 1, the second of two bursts.
TEST_P(ErrorResponse, OfARead) {
  const auto& reports = reports_of([&](command::CommandSink& sink) {
    sink.issue(command::DmaReadCmd{handle(0, shape, Space::hbm), tcm});
    sink.issue(command::DmaReadCmd{handle(0x1000, shape, Space::hbm),
                                   handle(kTcmBase + 4096, shape, Space::tcm)});
  });
  EXPECT_THAT(reports,
              ElementsAre(report("read of 64 bytes at 0x1040", "command 1", "operand src")));
}

TEST_P(ErrorResponse, OfAWrite) {
  const auto& reports = reports_of([&](command::CommandSink& sink) {
    sink.issue(command::DmaWriteCmd{tcm, handle(0x1000, shape, Space::hbm)});
  });
  EXPECT_THAT(reports,
              ElementsAre(report("write of 64 bytes at 0x1040", "command 0", "operand out")));
}
INSTANTIATE_TEST_SUITE_P(Answers, ErrorResponse, testing::Range(0, test::kAnswers),
                         [](const auto& instance) {
                           return std::string(test::to_string(static_cast<Answer>(instance.param)));
                         });

// --- The port alone ---

// Drives a MemoryPort as DMA channels do: one burst of a channel at the port until it is accepted.
// A burst that conflicts with an outstanding one waits, as admission would have it. `shadow` is
// what the memory's bytes are once every burst has been served.
class PortDriver : public sc_core::sc_module, private MemoryPort::Client {
 public:
  struct Move {
    bool write;
    Address addr;
    std::uint32_t bytes;
    Bytes data = {};  // of a write; of a read: what must come
    std::uint64_t accepted_ps = 0;
    std::uint64_t completed_ps = 0;
    std::uint32_t channel = 0;
    bool accepted = false;
    bool completed = false;
  };

  PortDriver(const sc_core::sc_module_name& name, std::uint32_t channels,
             ScriptedMemory::Script script)
      : sc_module(name),
        context_(config(), 0),
        port("port", context_, *this),
        memory("memory", {0, kMemoryBytes}, std::move(script)),
        queues_(channels) {
    KERNBENCH_HAS_PROCESS(PortDriver);
    SC_METHOD(issue_all);
    port.memory.bind(monitor.upstream);
    monitor.downstream.bind(memory.socket);
    memory.storage().write(0, shadow.data(), shadow.size());
    arch::Slice hbm;
    hbm.name = command::OperandName::src;
    read_.spec.kind = arch::StageKind::dma_read;
    read_.spec.operands.push_back(hbm);
    write_.spec.kind = arch::StageKind::dma_write;
    write_.spec.out = hbm;
  }

  /// One burst, as it is.
  Move& add(std::uint32_t channel, bool write, Address addr, std::uint32_t bytes) {
    moves_.push_back({write, addr, bytes});
    moves_.back().channel = channel;
    queues_[channel].push_back(&moves_.back());
    return moves_.back();
  }
  /// A piece of any size, cut by hand into naturally aligned powers of two.
  void add_piece(std::uint32_t channel, bool write, Address addr, std::uint32_t bytes) {
    while (bytes > 0) {
      std::uint32_t size = 256;
      while (size > bytes || addr % size != 0) size /= 2;
      add(channel, write, addr, size);
      addr += size;
      bytes -= size;
    }
  }

  /// Everything must have moved, the memory let go of every payload, and no rule been broken.
  void expect_drained() {
    EXPECT_THAT(monitor.violations(), IsEmpty());
    EXPECT_EQ(monitor.outstanding(), 0u);
    EXPECT_EQ(port.live_payloads(), 0u);
    EXPECT_EQ(memory.reused_while_held(), 0u);
    EXPECT_EQ(memory.transactions(), moves_.size());
    for (const Move& move : moves_) EXPECT_TRUE(move.completed);
    EXPECT_EQ(contents(memory), shadow);
  }

 private:
  static arch::PeConfig config() {
    arch::PeConfig config;
    config.dma.burst_bytes = 256;
    return config;
  }

  PeContext context_;

 public:
  Bytes shadow = pattern();
  BaseProtocolMonitor monitor{"monitor"};
  MemoryPort port;
  ScriptedMemory memory;

 private:
  void issue_all() {
    for (std::uint32_t channel = 0; channel < queues_.size(); ++channel) issue(channel);
  }

  void issue(std::uint32_t channel) {
    auto& queue = queues_[channel];
    if (queue.empty()) return;
    Move& move = *queue.front();
    for (const Move* other : open_) {
      if (other->channel == channel && !other->accepted) return;
      const bool overlap =
          move.addr < other->addr + other->bytes && other->addr < move.addr + move.bytes;
      if (overlap && (move.write || other->write)) return;
    }
    queue.pop_front();
    const auto bytes = shadow.begin() + static_cast<std::ptrdiff_t>(move.addr);
    if (move.write) {
      for (std::uint32_t i = 0; i < move.bytes; ++i) {
        move.data.push_back(static_cast<std::uint8_t>(serial_ * 37 + i));
      }
      ++serial_;
      std::copy(move.data.begin(), move.data.end(), bytes);
    } else {
      move.data.assign(bytes, bytes + move.bytes);
    }
    open_.push_back(&move);
    port.request(move.write, channel, {move.addr, move.bytes, 0}, move.write ? write_ : read_,
                 &move, move.write ? move.data.data() : nullptr);
  }

  void accepted(BurstPayload& burst) override {
    Move& move = *static_cast<Move*>(burst.client_data);
    EXPECT_FALSE(move.accepted);
    move.accepted = true;
    move.accepted_ps = context_.time.now();
    issue(move.channel);
  }

  void completed(BurstPayload& burst) override {
    Move& move = *static_cast<Move*>(burst.client_data);
    EXPECT_TRUE(move.accepted);
    EXPECT_FALSE(move.completed);
    move.completed = true;
    move.completed_ps = context_.time.now();
    if (!move.write) {
      EXPECT_EQ(Bytes(burst.buffer.begin(), burst.buffer.begin() + move.bytes), move.data)
          << "read of " << move.bytes << " bytes at " << move.addr;
    }
    open_.remove(&move);
    issue_all();
  }

  std::vector<std::deque<Move*>> queues_;
  std::deque<Move> moves_;
  std::list<Move*> open_;
  StageTransaction read_;
  StageTransaction write_;
  std::uint64_t serial_ = 0;
};

class PortMovesEveryByte : public testing::TestWithParam<Case> {};

// Sizes that no 2-byte dtype has are the port's alone.
TEST_P(PortMovesEveryByte, OddSizes) {
  PortDriver driver("driver", 3, GetParam().script);
  Address addr = 0;
  for (const std::uint32_t bytes : {1u, 31u, 33u, 48u, 4098u}) {
    for (const Address odd : {0u, 1u}) {
      driver.add_piece(0, false, addr + odd, bytes);
      driver.add_piece(1, true, addr + 8192 + odd, bytes);
      driver.add_piece(2, false, addr + 8192, bytes + 2);  // before or after the write of it
      driver.add_piece(0, true, addr + odd, bytes);
      driver.add_piece(1, false, addr, bytes + 2);
      addr += 16384;
    }
  }
  sc_core::sc_start();
  driver.expect_drained();
}
INSTANTIATE_TEST_SUITE_P(Memories, PortMovesEveryByte, testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.name; });

class RandomTraffic : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomTraffic, FourThousandBursts) {
  constexpr std::uint32_t kChannels = 6;
  PortDriver driver("driver", kChannels, test::random_script(GetParam(), 100 * kNs));
  std::mt19937_64 random(GetParam());
  for (int i = 0; i < 4000; ++i) {
    const auto bytes = static_cast<std::uint32_t>(1u << random() % 9);
    // Half the memory's bytes are hot, so that bursts meet the data of earlier ones.
    const std::uint64_t span = random() % 2 == 0 ? kMemoryBytes : 4096;
    driver.add(static_cast<std::uint32_t>(random() % kChannels), random() % 2 == 0,
               random() % (span / bytes) * bytes, bytes);
  }
  sc_core::sc_start();
  driver.expect_drained();
  EXPECT_GT(driver.memory.overtakings(), 1000u);
  EXPECT_GT(driver.memory.most_outstanding(), 8u);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraffic, testing::Range(std::uint64_t{1}, std::uint64_t{6}));

// Every attribute, each time: the memory rewrites the address, leaves the DMI hint and a status
// behind, and the payload was of another command and size before.
TEST(MemoryPort, SetsEveryAttributeOfARecycledPayload) {
  struct Burst {
    bool write;
    Address addr;
    std::uint32_t bytes;
  };
  const std::vector<Burst> bursts = {{true, 0x1000, 64}, {false, 0x2010, 16}, {false, 0x1000, 32},
                                     {true, 0x3000, 1},  {false, 0x3000, 64}, {true, 0x2000, 128}};
  std::set<const tlm::tlm_generic_payload*> payloads;
  PortDriver driver("driver", 1, [&](auto index, const tlm::tlm_generic_payload& payload) {
    const Burst& burst = bursts.at(index);
    payloads.insert(&payload);
    EXPECT_EQ(payload.get_command(), burst.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    EXPECT_EQ(payload.get_address(), burst.addr);
    EXPECT_NE(payload.get_data_ptr(), nullptr);
    EXPECT_EQ(payload.get_data_length(), burst.bytes);
    EXPECT_EQ(payload.get_streaming_width(), burst.bytes);
    EXPECT_EQ(payload.get_byte_enable_ptr(), nullptr);
    EXPECT_EQ(payload.get_byte_enable_length(), 0u);
    EXPECT_FALSE(payload.is_dmi_allowed());
    EXPECT_EQ(payload.get_response_status(), tlm::TLM_INCOMPLETE_RESPONSE);
    EXPECT_TRUE(payload.has_mm());
    EXPECT_EQ(payload.get_ref_count(), 1);
    Behaviour behaviour;
    behaviour.answer = Answer::completed;
    behaviour.rewrite_address = true;
    return behaviour;
  });
  for (const Burst& burst : bursts) driver.add(0, burst.write, burst.addr, burst.bytes);
  sc_core::sc_start();
  driver.expect_drained();
  EXPECT_LT(payloads.size(), bursts.size());  // some served twice
}

struct Timing {
  Answer answer;
  std::uint64_t accepted_ns, completed_ns;
  friend std::ostream& operator<<(std::ostream& out, const Timing& timing) {
    return out << test::to_string(timing.answer);
  }
};
class AnnotatedDelay : public testing::TestWithParam<Timing> {};

// END_REQ 3 ns after BEGIN_REQ where it is a later call, with 100 ns annotated; BEGIN_RESP called
// 5 ns after that takes effect, or after 3 + 5 ns without END_REQ, or at once, with 70 ns
// annotated. The next BEGIN_REQ comes when the acceptance takes effect, not earlier and not later.
TEST_P(AnnotatedDelay, CountsOnce) {
  std::vector<std::uint64_t> requests_ps;
  PortDriver driver("driver", 2, [&](auto, const auto&) {
    requests_ps.push_back(TimeBase().now());
    Behaviour behaviour;
    behaviour.answer = GetParam().answer;
    behaviour.accept_ps = 3 * kNs;
    behaviour.accept_annotated_ps = 100 * kNs;
    behaviour.response_ps = 5 * kNs;
    behaviour.response_annotated_ps = 70 * kNs;
    return behaviour;
  });
  const PortDriver::Move& first = driver.add(0, false, 0x1000, 64);
  const PortDriver::Move& second = driver.add(1, false, 0x2000, 64);
  sc_core::sc_start();
  driver.expect_drained();
  EXPECT_EQ(first.accepted_ps, GetParam().accepted_ns * kNs);
  EXPECT_EQ(first.completed_ps, GetParam().completed_ns * kNs);
  EXPECT_THAT(requests_ps, ElementsAre(0u, GetParam().accepted_ns * kNs));
  EXPECT_EQ(second.accepted_ps, 2 * GetParam().accepted_ns * kNs);
}
INSTANTIATE_TEST_SUITE_P(
    Answers, AnnotatedDelay,
    testing::Values(Timing{Answer::accepted, 103, 178}, Timing{Answer::nested_end_req, 100, 175},
                    Timing{Answer::updated_end_req, 100, 175}, Timing{Answer::no_end_req, 78, 78},
                    Timing{Answer::nested_begin_resp, 70, 70},
                    Timing{Answer::updated_begin_resp, 70, 70}, Timing{Answer::completed, 70, 70}),
    [](const auto& instance) { return std::string(test::to_string(instance.param.answer)); });

// DRAMSys keeps a payload after END_RESP: its buffer must not serve another burst meanwhile.
TEST(MemoryPort, PayloadIsLiveWhileTheMemoryHoldsIt) {
  PortDriver driver("driver", 1, [](auto, const auto&) {
    Behaviour behaviour;
    behaviour.hold_ps = 50 * kNs;
    return behaviour;
  });
  const PortDriver::Move& first = driver.add(0, false, 0, 64);
  const PortDriver::Move& second = driver.add(0, false, 64, 64);
  sc_core::sc_start(49, sc_core::SC_NS);
  EXPECT_TRUE(first.completed && second.completed);
  EXPECT_EQ(driver.port.live_payloads(), 2u);
  sc_core::sc_start();
  driver.expect_drained();
}

/// Accepts, never answers, and lets go of what it holds when it is destroyed.
class HoldingMemory : public sc_core::sc_module, private tlm::tlm_fw_transport_if<> {
 public:
  tlm::tlm_target_socket<32> socket{"socket"};

  HoldingMemory(const sc_core::sc_module_name& name, std::size_t& let_go)
      : sc_module(name), let_go_(let_go) {
    socket.bind(*this);
  }
  ~HoldingMemory() override {
    for (tlm::tlm_generic_payload* payload : held_) {
      EXPECT_EQ(payload->get_data_length(), 64u);
      EXPECT_EQ(payload->get_data_ptr()[63], 0);  // as it came: no answer
      payload->release();
      ++let_go_;
    }
  }

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time&) override {
    payload.acquire();
    held_.push_back(&payload);
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time&) override {
    payload.acquire();
    held_.push_back(&payload);
    sc_core::wait(never_);
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  unsigned int transport_dbg(tlm::tlm_generic_payload&) override { return 0; }

  std::size_t& let_go_;
  std::vector<tlm::tlm_generic_payload*> held_;
  sc_core::sc_event never_;
};

// A run that a watchdog ends, with bursts at a memory that outlives the PE, as it does where it is
// declared first: the payloads are there for as long as somebody holds them. The address sanitizer
// sees to the rest: that none is touched when it is gone, and that none is left over. A channel has
// 1024 / 64 bursts outstanding, with b_transport one.
class EndWithBurstsOutstanding : public testing::TestWithParam<arch::DmaPort> {};
TEST_P(EndWithBurstsOutstanding, PayloadsOutliveThePeWhileTheMemoryHoldsThem) {
  std::size_t let_go = 0;
  const std::size_t held = GetParam() == arch::DmaPort::at ? 16 : 1;
  {
    HoldingMemory memory("memory", let_go);
    arch::PeConfig config = small_bursts();
    config.dma.port = GetParam();
    config.dma.burst_bytes = 64;
    config.watchdog_ns = 1000;
    Pe pe("pe0", config);
    const auto monitor = test::bind_monitored(pe.memory, memory.socket);
    pe.set_kernel([](command::CommandSink& sink) {
      const Shape shape = Shape::vector(1024);
      sink.issue(
          command::DmaReadCmd{handle(0, shape, Space::hbm), handle(kTcmBase, shape, Space::tcm)});
    });
    EXPECT_THROW(sc_core::sc_start(), sc_core::sc_report);
    EXPECT_EQ(pe.dma.port.live_payloads(), held);
  }
  EXPECT_EQ(let_go, held);
}
INSTANTIATE_TEST_SUITE_P(Ports, EndWithBurstsOutstanding,
                         testing::Values(arch::DmaPort::at, arch::DmaPort::lt),
                         [](const auto& instance) {
                           return std::string(instance.param == arch::DmaPort::at ? "at" : "lt");
                         });

// R6.7: by arrival; of one instant reads before writes, lower channel first. All arrive at 0 while
// the port is free, the second burst of channel 2 when its first has been accepted, at 10 ns.
TEST(MemoryPort, GrantsByArrivalThenReadsThenChannel) {
  std::vector<Address> order;
  PortDriver driver("driver", 4, [&](auto, const tlm::tlm_generic_payload& payload) {
    order.push_back(payload.get_address());
    Behaviour behaviour;
    behaviour.accept_ps = 10 * kNs;
    return behaviour;
  });
  driver.add(0, true, 0x0000, 64);
  driver.add(1, true, 0x1000, 64);
  driver.add(2, false, 0x2000, 64);
  driver.add(2, false, 0x2040, 64);
  driver.add(3, false, 0x3000, 64);
  sc_core::sc_start();
  driver.expect_drained();
  EXPECT_THAT(order, ElementsAre(0x2000u, 0x3000u, 0x0000u, 0x1000u, 0x2040u));
}

// Two PEs that each load one burst at the same time. `finish` hears of each that has its bytes.
void load_at_once(const std::vector<std::uint32_t>& creation_order,
                  const std::function<tlm::tlm_target_socket<32>&(Pe& pe)>& memory_of,
                  const std::function<void(std::uint32_t pe)>& finish) {
  const TensorHandle source = handle(0, Shape::vector(64), Space::hbm);
  const TensorHandle target = handle(kTcmBase, Shape::vector(64), Space::tcm);
  std::list<Pe> pes;
  std::list<std::unique_ptr<BaseProtocolMonitor>> monitors;
  for (const std::uint32_t index : creation_order) {
    Pe& pe = pes.emplace_back(("pe" + std::to_string(index)).c_str(), small_bursts(), index);
    monitors.push_back(
        test::bind_monitored(pe.memory, memory_of(pe), "monitor" + std::to_string(index)));
    pe.set_kernel([&, index](command::CommandSink& sink) {
      sink.issue(command::DmaReadCmd{source, target});
      sink.wait({target.range()});
      finish(index);
    });
  }
  sc_core::sc_start();
  for (const Pe& pe : pes) EXPECT_TRUE(pe.idle());
}

// Contract 6, "Same time": memory ports settle in PE order, whichever PE was created first.
TEST(MemoryPort, PortsOfOneInstantSendInPeOrder) {
  for (const std::uint32_t first : {0u, 1u}) {
    const std::string requests = test::in_child([&] {
      std::string order;
      std::list<ScriptedMemory> memories;
      load_at_once(
          {first, 1 - first},
          [&](Pe& pe) -> tlm::tlm_target_socket<32>& {
            const std::string number = std::to_string(pe.index());
            ScriptedMemory& memory = memories.emplace_back(("memory" + number).c_str(),
                                                           command::ByteRange{0, kMemoryBytes},
                                                           [&order, number](auto, const auto&) {
                                                             order += number;
                                                             Behaviour behaviour;
                                                             behaviour.accept_ps = kNs;
                                                             return behaviour;
                                                           });
            return memory.socket;
          },
          [](std::uint32_t) {});
      return order;
    });
    EXPECT_EQ(requests, "01") << "PE " << first << " was created first";
  }
}

// The embedded memory serves requests of one instant in the order of its ports, whichever PE is at
// them: the one at port 0 has its 128 bytes a service of 128 bytes earlier.
TEST(MemoryPort, EmbeddedMemoryServesAnInstantInPortOrder) {
  for (const bool crossed : {false, true}) {
    const std::string loaded = test::in_child([&] {
      std::string order;
      EmbeddedHbm hbm("hbm", arch::HbmConfig(), 2, false);
      load_at_once(
          {0, 1},
          [&](Pe& pe) -> tlm::tlm_target_socket<32>& {
            return hbm.port(crossed ? 1 - pe.index() : pe.index());
          },
          [&](std::uint32_t pe) { order += std::to_string(pe); });
      return order;
    });
    EXPECT_EQ(loaded, crossed ? "10" : "01");
  }
}

}  // namespace
}  // namespace kernbench
