// SPDX-License-Identifier: Apache-2.0
#include "model/arch/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tests/support/network_way.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::arch {
namespace {

using test::path;
using test::unloaded;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Picoseconds kNs = 1000;

std::vector<std::string> way(const Network& network, std::uint32_t from, std::uint32_t to) {
  std::vector<std::string> names;
  for (const std::uint32_t link : path(network, from, to)) {
    names.push_back(network.links()[link].name);
  }
  return names;
}

NocConfig noc(std::uint32_t cols, std::uint32_t rows) {
  NocConfig config;
  config.cols = cols;
  config.rows = rows;
  return config;
}

TEST(CubeEndpoints, AreNumberedWithoutGaps) {
  const CubeEndpoints shared{8, 6};
  std::set<std::uint32_t> numbers;
  for (std::uint32_t pe = 0; pe < 8; ++pe) {
    numbers.insert(shared.ipcq(pe));
    numbers.insert(shared.memory(pe));
  }
  for (std::uint32_t channel = 0; channel < 6; ++channel) numbers.insert(shared.channel(channel));
  numbers.insert(shared.d2d());
  EXPECT_EQ(shared.count(), 8 + 8 + 6 + 1);
  EXPECT_EQ(numbers.size(), shared.count());
  EXPECT_EQ(*numbers.rbegin(), shared.count() - 1);
  EXPECT_EQ(shared.ipcq(3), 3);
  EXPECT_EQ(shared.memory(3), 11);
  EXPECT_EQ(shared.channel(3), 19);
  EXPECT_EQ(shared.d2d(), 22);

  const CubeEndpoints local{8, 0};
  EXPECT_EQ(local.d2d(), 8);
  EXPECT_EQ(local.count(), 9);
}

// Router i at column i % 4 of row i / 4: |dx| + |dy| links between two routers, one into the mesh
// and one out of it.
TEST(Mesh, EveryPairIsAsFarAsItsManhattanDistance) {
  const Network network = Network::mesh(noc(4, 2), Rational(1), 8, 8);
  const CubeEndpoints ends{8, 8};
  const auto distance = [](int a, int b) {
    return std::abs(a % 4 - b % 4) + std::abs(a / 4 - b / 4);
  };
  for (std::uint32_t i = 0; i < 8; ++i) {
    for (std::uint32_t j = 0; j < 8; ++j) {
      const auto hops =
          static_cast<std::size_t>(distance(static_cast<int>(i), static_cast<int>(j)));
      // With 8 channels on 8 routers, channel j is at router j.
      const auto check = [&](std::uint32_t from, std::uint32_t to) {
        EXPECT_EQ(path(network, from, to).size(), 2 + hops) << from << " to " << to;
        EXPECT_EQ(network.latency(from, to), (2 * 5 + hops * 8) * kNs) << from << " to " << to;
      };
      if (i != j) check(ends.ipcq(i), ends.ipcq(j));
      check(ends.memory(i), ends.channel(j));
      check(ends.channel(j), ends.memory(i));
      if (i == 0) {
        check(ends.d2d(), ends.ipcq(j));
        check(ends.ipcq(j), ends.d2d());
      }
    }
  }
}

TEST(Mesh, GoesAlongTheRowFirst) {
  const Network network = Network::mesh(noc(4, 2), Rational(1), 8, 8);
  const CubeEndpoints ends{8, 8};
  EXPECT_THAT(way(network, ends.ipcq(0), ends.ipcq(7)),
              ElementsAre("ipcq0_n0", "n0_n1", "n1_n2", "n2_n3", "n3_n7", "n7_ipcq7"));
  EXPECT_THAT(way(network, ends.ipcq(7), ends.ipcq(0)),
              ElementsAre("ipcq7_n7", "n7_n6", "n6_n5", "n5_n4", "n4_n0", "n0_ipcq0"));
  EXPECT_THAT(way(network, ends.memory(6), ends.channel(1)),
              ElementsAre("memory6_n6", "n6_n5", "n5_n1", "n1_channel1"));
  EXPECT_THAT(way(network, ends.channel(1), ends.memory(6)),
              ElementsAre("channel1_n1", "n1_n2", "n2_n6", "n6_memory6"));
  EXPECT_THAT(way(network, ends.d2d(), ends.ipcq(5)),
              ElementsAre("d2d_n0", "n0_n1", "n1_n5", "n5_ipcq5"));
  EXPECT_THAT(way(network, ends.ipcq(2), ends.memory(2)), ElementsAre("ipcq2_n2", "n2_memory2"));
  EXPECT_THAT(way(network, ends.ipcq(2), ends.ipcq(2)), IsEmpty());
}

// A link each way: 25 endpoints; 2 * (3 * 2 + 4 * 1) between the routers of a 4 x 2 mesh.
TEST(Mesh, HasALinkEachWayUnderANameOfItsOwn) {
  const Network network = Network::mesh(noc(4, 2), Rational(1), 8, 8);
  EXPECT_EQ(network.endpoints(), 25);
  EXPECT_EQ(network.links().size(), 2 * 25 + 20);
  std::set<std::string> names;
  for (const NetworkLink& link : network.links()) names.insert(link.name);
  EXPECT_EQ(names.size(), network.links().size());
}

// Channel c at router c * routers / channels: with 3 on 8 routers 0, 2 (16 / 6 = 2.67) and 5.
TEST(Mesh, SpreadsAnyNumberOfChannelsOverTheRouters) {
  const auto routers = [](std::uint32_t channels) {
    const Network network = Network::mesh(noc(4, 2), Rational(1), 8, channels);
    const CubeEndpoints ends{8, channels};
    std::vector<std::string> names;
    for (std::uint32_t c = 0; c < channels; ++c) {
      names.push_back(way(network, ends.ipcq(0), ends.channel(c)).back());
    }
    return names;
  };
  EXPECT_THAT(routers(3), ElementsAre("n0_channel0", "n2_channel1", "n5_channel2"));
  EXPECT_THAT(routers(1), ElementsAre("n0_channel0"));
  const std::vector<std::string> sixteen = routers(16);
  EXPECT_EQ(sixteen[0], "n0_channel0");
  EXPECT_EQ(sixteen[1], "n0_channel1");
  EXPECT_EQ(sixteen[15], "n7_channel15");
}

TEST(Mesh, MayHaveMoreRoutersThanPesButNotFewer) {
  const Network wide = Network::mesh(noc(5, 1), Rational(1), 3, 0);
  EXPECT_THAT(way(wide, 2, 3), ElementsAre("ipcq2_n2", "n2_n1", "n1_n0", "n0_d2d"));
  const Network single = Network::mesh(noc(1, 1), Rational(1), 1, 2);
  EXPECT_THAT(way(single, 1, 3), ElementsAre("memory0_n0", "n0_channel1"));
  try {
    Network::mesh(noc(4, 1), Rational(1), 5, 0);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cols = 4 by rows = 1 has 4 routers for 5 PEs"));
  }
}

// From PE 0 to PE 7: 2 * 5 + 4 * 8 = 42 cycles for the head, and ceil(8192 / 64) = 128, or
// ceil(8193 / 64) = 129, until the tail has followed.
TEST(Mesh, UnloadedTimeAtOneGigahertz) {
  const Network network = Network::mesh(noc(4, 2), Rational(1), 8, 0);
  EXPECT_EQ(unloaded(network, 0, 7, 8192), 170 * kNs);
  EXPECT_EQ(unloaded(network, 0, 7, 8193), 171 * kNs);
  EXPECT_EQ(unloaded(network, 0, 7, 1), 43 * kNs);
  EXPECT_EQ(unloaded(network, 0, 7, 0), 42 * kNs);
  EXPECT_EQ(unloaded(network, 3, 3, 8192), 0);
}

// A cycle is 1000 / 1.2 = 833.33 ps. Each duration rounds once, half up (R6.1): 5 cycles 4166.67, 8
// cycles 6666.67, ceil(65 / 64) = 2 cycles 1666.67, 128 cycles 106666.67.
TEST(Mesh, RoundsEachDurationOnce) {
  const Network network = Network::mesh(noc(4, 2), Rational(12, 10), 8, 0);
  EXPECT_EQ(network.latency(0, 2), 2 * 4167 + 2 * 6667);
  EXPECT_EQ(network.service(64), 833);
  EXPECT_EQ(network.service(65), 1667);
  EXPECT_EQ(network.service(8192), 106667);
  EXPECT_EQ(unloaded(network, 0, 2, 65), 2 * 4167 + 2 * 6667 + 1667);
}

// At 8 THz a cycle is 0.125 ps; 3 cycles 0.375, 4 cycles 0.5.
TEST(Mesh, APacketTakesAtLeastOnePicosecond) {
  NocConfig config = noc(4, 2);
  config.hop_cycles = 3;
  config.niu_cycles = 4;
  const Network network = Network::mesh(config, Rational(8000), 8, 0);
  EXPECT_EQ(network.service(0), 0);
  EXPECT_EQ(network.service(1), 1);
  EXPECT_EQ(network.service(64 * 3), 1);
  EXPECT_EQ(network.service(64 * 12), 2);
  EXPECT_EQ(network.latency(0, 1), 1 + 0 + 1);
}

TEST(Ring, TakesTheShorterWayAndOfTwoEqualOnesTheAscending) {
  const Network even = Network::ring(RingConfig{}, 4, "c", false);
  EXPECT_EQ(even.links().size(), 8);
  EXPECT_THAT(way(even, 0, 1), ElementsAre("c0_c1"));
  EXPECT_THAT(way(even, 0, 2), ElementsAre("c0_c1", "c1_c2"));
  EXPECT_THAT(way(even, 2, 0), ElementsAre("c2_c3", "c3_c0"));
  EXPECT_THAT(way(even, 0, 3), ElementsAre("c0_c3"));
  EXPECT_THAT(way(even, 3, 0), ElementsAre("c3_c0"));
  const Network odd = Network::ring(RingConfig{}, 5, "sip", false);
  EXPECT_THAT(way(odd, 4, 1), ElementsAre("sip4_sip0", "sip0_sip1"));
  EXPECT_THAT(way(odd, 1, 4), ElementsAre("sip1_sip0", "sip0_sip4"));
  // Every pair: min(d, n - d) links.
  for (std::uint32_t n = 1; n <= 7; ++n) {
    const Network ring = Network::ring(RingConfig{}, n, "c", false);
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t j = 0; j < n; ++j) {
        const std::uint32_t up = (j + n - i) % n;
        EXPECT_EQ(path(ring, i, j).size(), std::min(up, n - up)) << i << " to " << j << " of " << n;
      }
    }
  }
}

TEST(Ring, OfOneNodeHasNoLinksAndOfTwoOneEachWay) {
  const Network one = Network::ring(RingConfig{}, 1, "c", true);
  EXPECT_THAT(one.links(), IsEmpty());
  EXPECT_EQ(one.endpoints(), 2);
  EXPECT_THAT(path(one, 0, 1), IsEmpty());
  EXPECT_EQ(unloaded(one, 0, 1, 8192), 0);
  const Network two = Network::ring(RingConfig{}, 2, "c", false);
  EXPECT_EQ(two.links().size(), 2);
  EXPECT_THAT(way(two, 0, 1), ElementsAre("c0_c1"));
  EXPECT_THAT(way(two, 1, 0), ElementsAre("c1_c0"));
}

TEST(Ring, GatewayIsAtNodeZero) {
  const Network network = Network::ring(RingConfig{}, 4, "c", true);
  EXPECT_EQ(network.endpoints(), 5);
  EXPECT_THAT(way(network, 4, 0), IsEmpty());
  EXPECT_THAT(way(network, 0, 4), IsEmpty());
  for (std::uint32_t node = 1; node < 4; ++node) {
    EXPECT_EQ(path(network, 4, node), path(network, 0, node));
    EXPECT_EQ(path(network, node, 4), path(network, node, 0));
  }
}

// 8192 bytes at 256 GB/s take 32 ns, once; 1 byte 3.90625 ps. At 3 GB/s a byte takes 333.33 ps, 2
// bytes 666.67; at 4000 GB/s 0.25 ps, 2 bytes 0.5. The latency of 0.0205 ns is 20.5 ps.
TEST(Ring, UnloadedTime) {
  const Network d2d = Network::ring({Rational(256), Rational(20)}, 4, "c", true);
  EXPECT_EQ(unloaded(d2d, 0, 1, 8192), (20 + 32) * kNs);
  EXPECT_EQ(unloaded(d2d, 0, 2, 8192), (2 * 20 + 32) * kNs);
  EXPECT_EQ(unloaded(d2d, 2, 4, 8192), (2 * 20 + 32) * kNs);
  EXPECT_EQ(unloaded(d2d, 0, 3, 1), 20 * kNs + 4);
  EXPECT_EQ(unloaded(d2d, 0, 2, 0), 40 * kNs);
  const Network slow = Network::ring({Rational(3), Rational(205, 10000)}, 2, "c", false);
  EXPECT_EQ(unloaded(slow, 0, 1, 1), 21 + 333);
  EXPECT_EQ(unloaded(slow, 0, 1, 2), 21 + 667);
  const Network fast = Network::ring({Rational(4000), Rational(0)}, 2, "c", false);
  EXPECT_EQ(fast.service(1), 1);
  EXPECT_EQ(fast.service(2), 1);
  EXPECT_EQ(fast.service(6), 2);
  EXPECT_EQ(unloaded(fast, 0, 1, 6), 2);
}

}  // namespace
}  // namespace kernbench::arch
