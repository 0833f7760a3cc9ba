// SPDX-License-Identifier: Apache-2.0
// The HBM port against a memory that draws every legal answer, delay and order at random, and
// copies of any size and alignment, over a PE drawn at random: 100,000 bursts a seed. What must
// have come of the bytes is the same copies, one after the other, on two plain arrays; all that no
// copy names are guard bytes. The monitor checks the protocol, the exclusion rule and that no write
// is outstanding beside another burst on its bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <vector>

#include "model/pe.hpp"
#include "tests/support/monitored.hpp"
#include "tests/support/scripted_memory.hpp"

namespace kernbench {
namespace {

using command::Address;
using command::DType;
using command::Index;
using command::kTcmBase;
using command::Shape;
using command::Space;
using command::TensorHandle;

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kBursts = 100'000;
constexpr std::uint64_t kHbmBytes = 1u << 20;
constexpr std::uint64_t kTcmBytes = 1u << 20;

struct Seed {
  arch::DmaPort port;
  std::uint64_t seed;
  std::uint32_t channels;  // each way
  std::uint32_t burst_bytes;
  friend std::ostream& operator<<(std::ostream& out, const Seed& s) {
    return out << (s.port == arch::DmaPort::at ? "at" : "lt") << "_" << s.channels << "_channels_"
               << s.burst_bytes << "_bytes";
  }
};

class RandomPort : public testing::TestWithParam<Seed> {
 protected:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  arch::PeConfig config() {
    arch::PeConfig config;
    config.hbm_bytes = kHbmBytes;
    config.tcm.bytes = kTcmBytes;
    config.dma.port = GetParam().port;
    config.dma.read_channels = config.dma.write_channels = GetParam().channels;
    config.dma.burst_bytes = GetParam().burst_bytes;
    config.dma.max_outstanding_bytes = GetParam().burst_bytes * (1 + below(16));
    config.dma.setup_cycles = below(3);
    return config;
  }

  // A matrix or part of a wider one, rows * cols entries anywhere in [base, base + bytes).
  TensorHandle place(Address base, std::uint64_t bytes, Index rows, Index cols, Space space) {
    const Index stride = below(2) == 0 ? cols : cols + static_cast<Index>(below(9));
    const auto extent = static_cast<std::uint64_t>((rows - 1) * stride + cols) * 2;
    TensorHandle handle = command::make_handle(1, base + below(bytes - extent + 1),
                                               Shape{rows, cols}, DType::f16, space);
    handle.row_stride = stride;
    return handle;
  }

  // A few to some tens of bursts.
  void draw(TensorHandle& hbm, TensorHandle& tcm) {
    const std::uint64_t entries =
        1 + below(std::min<std::uint64_t>(8 * config_.dma.burst_bytes, 8192));
    const auto rows =
        static_cast<Index>(below(2) == 0 ? 1 : 1 + below(std::min<std::uint64_t>(entries, 8)));
    const Index cols = std::max<Index>(1, static_cast<Index>(entries) / rows);
    hbm = place(0, kHbmBytes, rows, cols, Space::hbm);
    tcm = place(kTcmBase, kTcmBytes, rows, cols, Space::tcm);
  }

  static void copy(const Bytes& from, Address from_base, const TensorHandle& source, Bytes& to,
                   Address to_base, const TensorHandle& target) {
    for (Index row = 0; row < source.shape.rows(); ++row) {
      const Address at =
          source.addr + static_cast<Address>(row * source.row_stride) * 2 - from_base;
      const Address there =
          target.addr + static_cast<Address>(row * target.row_stride) * 2 - to_base;
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), source.shape.cols() * 2,
                  to.begin() + static_cast<std::ptrdiff_t>(there));
    }
  }

  std::mt19937_64 random_{GetParam().seed};
  const arch::PeConfig config_ = config();
};

TEST_P(RandomPort, MovesEveryByteOfAHundredThousandBursts) {
  test::ScriptedMemory memory("memory", {0, kHbmBytes},
                              test::random_script(GetParam().seed, 20'000));
  Pe pe("pe0", config_, 0);
  const auto monitor = test::bind_monitored(pe.memory, memory.socket);
  pe.set_data_mode(true);
  Bytes hbm(kHbmBytes), tcm(kTcmBytes);
  for (std::uint8_t& byte : hbm) byte = static_cast<std::uint8_t>(random_());
  memory.storage().write(0, hbm.data(), hbm.size());
  std::uint64_t read_bytes = 0, write_bytes = 0;
  pe.set_kernel([&](command::CommandSink& sink) {
    while (memory.transactions() < kBursts) {
      TensorHandle outside, inside;
      draw(outside, inside);
      if (below(2) == 0) {
        copy(hbm, 0, outside, tcm, kTcmBase, inside);
        read_bytes += outside.bytes();
        sink.issue(command::DmaReadCmd{outside, inside});
      } else {
        copy(tcm, kTcmBase, inside, hbm, 0, outside);
        write_bytes += outside.bytes();
        sink.issue(command::DmaWriteCmd{inside, outside});
      }
    }
  });
  sc_core::sc_start();

  EXPECT_TRUE(pe.idle());
  EXPECT_TRUE(monitor->violations().empty());
  EXPECT_EQ(monitor->outstanding(), 0u);
  EXPECT_EQ(pe.dma.port.live_payloads(), 0u);
  EXPECT_EQ(memory.reused_while_held(), 0u);
  EXPECT_EQ(memory.dmi_requests(), 0u);  // although each response hints at it

  Bytes after(kHbmBytes);
  memory.storage().read(0, after.data(), after.size());
  EXPECT_TRUE(after == hbm);
  after.resize(kTcmBytes);
  pe.tcm_storage().read(kTcmBase, after.data(), after.size());
  EXPECT_TRUE(after == tcm);

  const MemoryPortTotals& totals = pe.dma.port.totals();
  EXPECT_EQ(totals.read.bursts + totals.write.bursts, memory.transactions());
  EXPECT_EQ(totals.read.bytes, read_bytes);
  EXPECT_EQ(totals.write.bytes, write_bytes);
  // With lt a channel has one burst outstanding.
  const std::uint64_t most = GetParam().channels * (config_.dma.port == arch::DmaPort::lt
                                                        ? config_.dma.burst_bytes
                                                        : config_.dma.max_outstanding_bytes);
  EXPECT_LE(totals.read.max_outstanding_bytes, most);
  EXPECT_LE(totals.write.max_outstanding_bytes, most);
  EXPECT_GT(memory.overtakings(), GetParam().channels > 1 ? 1000u : 0u);
}
INSTANTIATE_TEST_SUITE_P(
    Seeds, RandomPort,
    testing::Values(Seed{arch::DmaPort::at, 1, 1, 64}, Seed{arch::DmaPort::at, 2, 4, 4096},
                    Seed{arch::DmaPort::at, 3, 16, 1}, Seed{arch::DmaPort::lt, 4, 3, 256}),
    [](const auto& instance) { return testing::PrintToString(instance.param); });

}  // namespace
}  // namespace kernbench
