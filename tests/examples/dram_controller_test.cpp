// SPDX-License-Identifier: Apache-2.0
#include "dram_controller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>

#include "model/record/op_log.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/monitored.hpp"
#include "tests/support/requester.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

using dram::Config;
using dram::DramController;
using dram::Scheduler;
using testing::HasSubstr;

// Times that tell their parts apart: a hit takes 7 + 2 + 11 = 20 ns, a miss 3 more, a conflict
// 5 + 3 more. Four banks of four rows of four accesses.
Config small() {
  Config config;
  config.banks = config.rows = 4;
  config.row_bytes = 256;
  config.access_bytes = 64;
  config.t_rcd_ns = 3;
  config.t_rp_ns = 5;
  config.t_cl_ns = 7;
  config.t_burst_ns = 2;
  config.t_phy_ns = 11;
  return config;
}

// row:bank:column.
std::uint64_t at(std::uint64_t bank, std::uint64_t row, std::uint64_t column) {
  return ((row * 4 + bank) * 4 + column) * 64;
}

constexpr std::uint64_t kNs = 1000;

Access read_at(std::uint64_t ns, std::uint64_t address, std::uint32_t bytes = 64) {
  Access access;
  access.at_ps = ns * kNs;
  access.addr = address;
  access.bytes = bytes;
  return access;
}

// An initiator at the controller, behind the monitor.
struct Bench {
  explicit Bench(const Config& config) : memory("memory", config) {
    requester.memory.bind(monitor.upstream);
    monitor.downstream.bind(memory.socket);
  }
  // When each access was done, in ns.
  std::vector<std::uint64_t> run(std::initializer_list<Access> accesses) {
    requester.accesses = accesses;
    sc_core::sc_start();
    EXPECT_EQ(requester.freed, accesses.size());
    std::vector<std::uint64_t> done;
    for (const Access& access : requester.accesses) {
      EXPECT_EQ(access.done_ps % kNs, 0U);
      done.push_back(access.done_ps / kNs);
    }
    return done;
  }

  DramController memory;
  BaseProtocolMonitor monitor{"monitor", BaseProtocolMonitor::Checks::with_port_rules,
                              BaseProtocolMonitor::OnViolation::report};
  Requester requester{"requester"};
};

using Times = std::vector<std::uint64_t>;

TEST(DramController, AnAccessAloneIsAMissAHitOrAConflict) {
  Bench bench(small());
  const Times done = bench.run({read_at(0, at(0, 0, 0)), read_at(100, at(0, 0, 1)),
                                read_at(200, at(0, 1, 0)), read_at(300, at(1, 1, 0))});
  EXPECT_EQ(done, (Times{23, 120, 228, 323}));
  EXPECT_EQ(bench.memory.statistics().hits, 1U);
  EXPECT_EQ(bench.memory.statistics().misses, 2U);
  EXPECT_EQ(bench.memory.statistics().conflicts, 1U);
  EXPECT_EQ(bench.memory.statistics().hit_rate(), 0.25);
}

// Hits follow each other at the rate of the data bus, whatever their latency.
TEST(DramController, HitsStream) {
  Bench bench(small());
  EXPECT_EQ(bench.run({read_at(0, at(0, 0, 0)), read_at(0, at(0, 0, 1)), read_at(0, at(0, 0, 2)),
                       read_at(0, at(0, 0, 3))}),
            (Times{23, 25, 27, 29}));
}

// Both activate at 0 and have their column access at 3; the data of one then wait for the bus.
TEST(DramController, BanksOpenTheirRowsSideBySide) {
  Bench bench(small());
  EXPECT_EQ(bench.run({read_at(0, at(0, 0, 0)), read_at(0, at(1, 0, 0))}), (Times{23, 25}));
}

// Two rows of a bank in turn. The first: column at 3, data 10 to 12; the next column at 5.
// FR-FCFS takes the third, a hit, first: data 12 to 14; then the conflict, from 7 on: column at 15,
// data 22 to 24.
TEST(DramController, FrFcfsTakesHitsFirst) {
  Bench bench(small());
  EXPECT_EQ(bench.run({read_at(0, at(0, 0, 0)), read_at(0, at(0, 1, 0)), read_at(0, at(0, 0, 1))}),
            (Times{23, 35, 25}));
  EXPECT_EQ(bench.memory.statistics().hits, 1U);
}

// In order: the second's column at 5 + 8, data 20 to 22; the third's from 15 on, at 23, data 30 to
// 32.
TEST(DramController, InOrderPaysForEachRow) {
  Config config = small();
  config.scheduler = Scheduler::in_order;
  Bench bench(config);
  EXPECT_EQ(bench.run({read_at(0, at(0, 0, 0)), read_at(0, at(0, 1, 0)), read_at(0, at(0, 0, 1))}),
            (Times{23, 33, 43}));
  EXPECT_EQ(bench.memory.statistics().conflicts, 2U);
}

// In order in a bank, not among banks: the conflict of bank 0, column at 5 + 8, is overtaken by the
// miss of bank 1, column at 3.
TEST(DramController, BanksOvertakeEachOther) {
  Config config = small();
  config.scheduler = Scheduler::in_order;
  Bench bench(config);
  EXPECT_EQ(bench.run({read_at(0, at(0, 0, 0)), read_at(0, at(0, 1, 0)), read_at(0, at(1, 0, 0))}),
            (Times{23, 33, 25}));
}

// A request leaves the queue when the next column access may follow: at 5, 7, ..
TEST(DramController, AFullQueueHoldsEndReqBack) {
  Config config = small();
  config.queue_depth = 1;
  Bench bench(config);
  EXPECT_EQ(bench.run({read_at(0, at(0, 0, 0)), read_at(0, at(0, 0, 1)), read_at(0, at(0, 0, 2))}),
            (Times{23, 25, 27}));
  EXPECT_EQ(bench.requester.accesses[0].accepted_ps, 0U);
  EXPECT_EQ(bench.requester.accesses[1].accepted_ps, 5 * kNs);
  EXPECT_EQ(bench.requester.accesses[2].accepted_ps, 7 * kNs);
  EXPECT_EQ(bench.memory.statistics().end_req_wait, sc_core::sc_time(5 + 2, sc_core::SC_NS));
}

// Every 100 ns for 20: what begins within waits for its end, and finds every row closed.
TEST(DramController, RefreshesCloseRows) {
  Config config = small();
  config.t_refi_ns = 100;
  config.t_rfc_ns = 20;
  Bench bench(config);
  EXPECT_EQ(bench.run({read_at(50, at(0, 0, 0)), read_at(105, at(0, 0, 1)),
                       read_at(150, at(0, 0, 2)), read_at(230, at(0, 0, 3))}),
            (Times{73, 120 + 23, 170, 230 + 23}));
  EXPECT_EQ(bench.memory.statistics().misses, 3U);
}

TEST(DramController, ReadsWhatWasWritten) {
  Bench bench(small());
  Access write = read_at(0, at(2, 3, 1), 4);
  write.write = true;
  write.data = {1, 2, 3, 4};
  bench.run({write, read_at(50, at(2, 3, 1), 8)});
  EXPECT_EQ(bench.requester.accesses[1].data, (std::vector<std::uint8_t>{1, 2, 3, 4, 0, 0, 0, 0}));
  EXPECT_EQ(bench.memory.statistics().bytes, 12U);
}

TEST(DramController, RefusesWhatIsNoAccess) {
  Bench bench(small());
  const std::uint64_t end = small().bytes();
  bench.run({read_at(0, 0, 128), read_at(0, end, 64), read_at(0, end - 64, 64)});
  EXPECT_EQ(bench.requester.accesses[0].status, tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(bench.requester.accesses[1].status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bench.requester.accesses[2].status, tlm::TLM_OK_RESPONSE);
}

// 64 accesses: the digits of their number to base 4 are the fields.
TEST(DramController, TheMappingSaysWhichBitsAreWhat) {
  Config config = small();
  const std::uint64_t address = (1 * 16 + 2 * 4 + 3) * 64 + 17;
  const auto place = [&](const char* mapping) {
    config.mapping = mapping;
    const dram::Place p = DramController(sc_core::sc_gen_unique_name("d"), config).place(address);
    return std::vector<std::uint64_t>{p.row, p.bank, p.column};
  };
  EXPECT_EQ(place("row:bank:column"), (Times{1, 2, 3}));
  EXPECT_EQ(place("row:column:bank"), (Times{1, 3, 2}));
  EXPECT_EQ(place("bank:row:column"), (Times{2, 1, 3}));
  EXPECT_EQ(place("bank:column:row"), (Times{3, 1, 2}));
  EXPECT_EQ(place("column:row:bank"), (Times{2, 3, 1}));
  EXPECT_EQ(place("column:bank:row"), (Times{3, 2, 1}));
}

TEST(DramController, RefusesConfigurationsInOneLine) {
  const auto refusal = [](void (*change)(Config&)) -> std::string {
    Config config = small();
    change(config);
    try {
      const DramController memory("memory", config);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(refusal([](Config& c) { c.mapping = "row:bank"; }),
            "dram::Config: mapping 'row:bank' is not an order of row, bank and column; give one as "
            "row:bank:column");
  EXPECT_EQ(refusal([](Config& c) { c.access_bytes = 48; }),
            "dram::Config: access_bytes 48 is not a power of two");
  EXPECT_EQ(refusal([](Config& c) { c.row_bytes = 96; }),
            "dram::Config: row_bytes 96 is not a multiple of access_bytes 64");
  EXPECT_THAT(refusal([](Config& c) { c.queue_depth = 0; }), HasSubstr("1 or more"));
  EXPECT_THAT(refusal([](Config& c) { c.t_burst_ns = 0; }), HasSubstr("above 0"));
  EXPECT_THAT(refusal([](Config& c) { c.t_rp_ns = -1; }), HasSubstr("negative"));
  EXPECT_THAT(refusal([](Config& c) { c.t_refi_ns = 20; }), HasSubstr("below t_refi_ns"));
  EXPECT_EQ(refusal([](Config&) {}), "none");
}

// --- under a PE
// -----------------------------------------------------------------------------------

arch::TopologyConfig pe_on_dram() {
  arch::TopologyConfig topology = single_pe();
  topology.pe.dma.burst_bytes = Config().access_bytes;
  topology.hbm.bytes = Config().bytes();
  return topology;
}

struct PeOnDram {
  PeOnDram(const Config& config, std::uint32_t index)
      : memory(("memory" + std::to_string(index)).c_str(), config),
        pe(("pe" + std::to_string(index)).c_str(), pe_on_dram().pe, index),
        monitor(bind_monitored(pe.memory, memory.socket, "monitor" + std::to_string(index))) {}
  DramController memory;
  Pe pe;
  std::unique_ptr<BaseProtocolMonitor> monitor;
};

// 2048 bytes are the eight accesses of a row: a miss and seven hits, of which the bus lets one end
// every 2 ns. Dispatch of 21 bytes (R3.8) 41.3125 rounds to 41.313, setup 16, the miss
// 14 + 14 + 2 + 60.
TEST(PeOnDram, LoadsARowInTheClosedForm) {
  PeOnDram side(Config(), 0);
  side.pe.set_kernel([](command::CommandSink& sink) {
    tl::Context tl(runtime::make_target(pe_on_dram()), sink);
    tl.load(tl.ref(0, {8, 128}, tl::f16));
  });
  sc_core::sc_start();
  EXPECT_EQ(side.pe.cpu.last_done_ps(), 41313 + (16 + 90 + 7 * 2) * kNs);
  EXPECT_EQ(side.memory.statistics().misses, 1U);
  EXPECT_EQ(side.memory.statistics().hits, 7U);
}

// Of accesses one after the other, as an open-row table counts them. `mapping` as in Config.
std::uint64_t hits_in_order(const std::string& mapping,
                            const std::vector<std::uint64_t>& addresses) {
  const std::map<std::string, std::uint64_t> sizes{{"row", 512}, {"bank", 16}, {"column", 8}};
  std::map<std::uint64_t, std::uint64_t> open;  // row by bank
  std::uint64_t hits = 0;
  for (const std::uint64_t address : addresses) {
    std::map<std::string, std::uint64_t> place;
    std::uint64_t below = sizes.at("row") * sizes.at("bank") * sizes.at("column");
    for (const std::string_view field : split(mapping, ':')) {
      const std::uint64_t size = sizes.at(std::string(field));
      below /= size;
      place[std::string(field)] = address / 256 / below % size;
    }
    const auto known = open.find(place["bank"]);
    if (known != open.end() && known->second == place["row"]) ++hits;
    open[place["bank"]] = place["row"];
  }
  return hits;
}

// The row hits of a decode are those of its accesses, as the op log has them, one after the other;
// an FR-FCFS controller may have more of them.
TEST(PeOnDram, RowHitsFollowFromTheAddressMapping) {
  const std::vector<std::string> mappings{"row:bank:column", "row:column:bank", "bank:row:column",
                                          "bank:column:row", "column:row:bank", "column:bank:row"};
  const runtime::Launch decode = launch(pe_on_dram(), "gqa_decode", {{"s_kv", "1024"}});
  TemporaryFolder folder;
  record::Recorder recorder;
  record::OpLog op_log(folder / "op_log.csv");
  recorder.add_sink(op_log);
  std::vector<std::unique_ptr<PeOnDram>> sides;
  for (const Scheduler scheduler : {Scheduler::in_order, Scheduler::fr_fcfs}) {
    for (const std::string& mapping : mappings) {
      Config config;
      config.mapping = mapping;
      config.scheduler = scheduler;
      sides.push_back(std::make_unique<PeOnDram>(config, static_cast<std::uint32_t>(sides.size())));
      sides.back()->pe.set_recorder(&recorder);
      sides.back()->pe.set_kernel([&](command::CommandSink& sink) { decode.issue(sink); });
    }
  }
  sc_core::sc_start();
  recorder.finish(TimeBase().now());
  const auto rows = read_op_log(folder / "op_log.csv");

  for (std::size_t i = 0; i < mappings.size(); ++i) {
    std::vector<std::uint64_t> addresses;  // tiles of K and V, q and out are contiguous
    for (const OpLogRow& row : rows) {
      if (row.pe != i || (row.stage != "dma_read" && row.stage != "dma_write")) continue;
      for (std::uint64_t done = 0; done < row.bytes; done += 256) {
        addresses.push_back(*row.addr + done);
      }
    }
    // q and out 2048 bytes each, K and V 1024 * 128 * 2
    ASSERT_EQ(addresses.size(), (2 * 2048 + 2 * 262144) / 256U) << mappings[i];
    const std::uint64_t hits = hits_in_order(mappings[i], addresses);
    EXPECT_EQ(sides[i]->memory.statistics().hits, hits) << mappings[i];
    EXPECT_GE(sides[i + mappings.size()]->memory.statistics().hits, hits) << mappings[i];
    EXPECT_TRUE(sides[i]->pe.idle());
    EXPECT_EQ(sides[i]->monitor->outstanding(), 0U);
  }
  // By hand: a row holds eight consecutive accesses, of which the first opens it.
  EXPECT_EQ(sides[0]->memory.statistics().hits, 2064U / 8 * 7);
  // The lowest bits choose the row: no two consecutive accesses share one.
  EXPECT_EQ(sides[5]->memory.statistics().hits, 0U);
}

}  // namespace
}  // namespace kernbench::test
