// SPDX-License-Identifier: Apache-2.0
// Total of the region `loop` of softmax, rmsnorm, layernorm, rmsnorm_linear, linear_gelu_norm, mlp
// and state_merge on the default single_pe, by closed forms and recurrences of contract 6. ps
// throughout.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/kernel_bench.hpp"

namespace kernbench {
namespace {

using test::Settings;
using Ps = std::uint64_t;

constexpr Ps kSetup = 16000;     // of a DMA stage
constexpr Ps kLatency = 100000;  // from the end of service to the response

// R3.8: 40 cycles and 1/16 a byte, 62.5 ps a byte rounded half up (R6.1).
Ps dispatch(std::uint64_t bytes) { return 40000 + (125 * bytes + 1) / 2; }
Ps on_bus(std::uint64_t bytes) { return bytes * 1000 / 128; }
Ps math(std::uint64_t elements) { return (elements + 63) / 64 * 1000; }

Ps loop_ps(const std::string& kernel, const Settings& settings) {
  return test::run_catalogue(test::single_pe(), kernel, settings).region_ps("loop");
}

// ---- blocks of rows -----------------------------------------------------------------------------

struct BlockOp {
  std::uint64_t bytes;  // as a simple command
  bool on_matrix;       // else on one entry a row
  bool reads_x = false, writes_y = false;
};

struct BlockKernel {
  std::uint64_t composite_bytes;
  std::vector<BlockOp> ops;
  // The first op writes what the last one of the block before reads: R6.12 holds it back.
  bool first_op_waits;
};

BlockKernel softmax() {
  return {118, {{25, true, true}, {33, true, true}, {25, true}, {33, true, false, true}}, false};
}
BlockKernel rmsnorm() {
  return {162,
          {{21, true, true},
           {25, true},
           {29, false},
           {21, false},
           {33, true, true},
           {33, true, false, true}},
          true};
}
BlockKernel layernorm() {
  return {274,
          {{25, true, true},
           {25, false},
           {33, true, true},
           {21, true},
           {25, true},
           {29, false},
           {21, false},
           {33, true},
           {33, true},
           {33, true, false, true}},
          false};
}

struct Shape {
  std::uint64_t rows, cols, block;
};

/// A DMA stage on whole rows of a matrix that begins at a multiple of 4096.
struct Transfer {
  std::uint64_t offset, bytes;
  Ps admitted;
  Ps end = 0;  // the last burst has been served
  Ps done() const { return end + kLatency; }
};

/// R6.7, R6.8 for one read and one write channel: a channel has one naturally aligned burst of a
/// power of two up to 4096 bytes at the memory at a time, which serves them by arrival, a read
/// first.
void serve(std::vector<Transfer>& loads, std::vector<Transfer>& stores) {
  struct Channel {
    std::vector<Transfer>& transfers;
    std::size_t next = 0;
    std::uint64_t sent = 0;
    Ps arrival = 0;
    bool idle() const { return next == transfers.size(); }
    void start(Ps free) {
      sent = 0;
      if (!idle()) arrival = std::max(free, transfers[next].admitted) + kSetup;
    }
  };
  Channel read{loads}, write{stores};
  read.start(0);
  write.start(0);
  Ps free = 0;
  while (!read.idle() || !write.idle()) {
    const bool take_read = write.idle() || (!read.idle() && read.arrival <= write.arrival);
    Channel& channel = take_read ? read : write;
    Transfer& transfer = channel.transfers[channel.next];
    std::uint64_t burst = 4096;
    while ((transfer.offset + channel.sent) % burst != 0 || burst > transfer.bytes - channel.sent) {
      burst /= 2;
    }
    free = std::max(free, channel.arrival) + on_bus(burst);
    channel.sent += burst;
    channel.arrival = free;
    if (channel.sent < transfer.bytes) continue;
    transfer.end = free;
    ++channel.next;
    channel.start(free);
  }
}

/// load(0); then for each block: the load of the next, its ops, the store of the one before; then
/// the last store. Times from the begin of the loop.
class BlockRecurrence {
 public:
  BlockRecurrence(BlockKernel kernel, const Shape& shape, bool fused)
      : kernel_(std::move(kernel)),
        shape_(shape),
        fused_(fused),
        blocks_((shape.rows + shape.block - 1) / shape.block) {}

  /// Loads and stores wait for each other at the memory, and what waits for them with them: issued
  /// and served again and again. A transfer is final when those admitted before it are, so each
  /// round makes at least one more final.
  Ps total() {
    for (std::size_t j = 0; j < blocks_; ++j) {
      loads_.push_back({j * block_bytes(0), block_bytes(j), 0});
      stores_.push_back(loads_.back());
    }
    for (std::size_t round = 0; round < 2 * blocks_; ++round) {
      issue();
      serve(loads_, stores_);
    }
    return stores_.back().done();
  }

 private:
  std::uint64_t elements(std::size_t j) const {
    return std::min(shape_.block, shape_.rows - j * shape_.block) * shape_.cols;
  }
  std::uint64_t block_bytes(std::size_t j) const { return elements(j) * 2; }
  Ps busy(const BlockOp& op, std::size_t j) const {
    return math(op.on_matrix ? elements(j) : elements(j) / shape_.cols);
  }
  /// Commands are admitted in order (R7.1): none before the one ahead of it.
  void admit(Ps earliest) { admitted_ = std::max({admitted_, cpu_, earliest}); }

  void issue() {
    cpu_ = admitted_ = math_ = 0;
    x_read_.assign(blocks_, 0);
    computed_.assign(blocks_, 0);
    load(0);
    for (std::size_t j = 0; j < blocks_; ++j) {
      if (j + 1 < blocks_) load(j + 1);
      if (fused_) {
        composite(j);
      } else {
        split(j);
      }
      if (j > 0) store(j - 1);
    }
    store(blocks_ - 1);
  }

  void load(std::size_t j) {
    if (j >= 3) cpu_ = std::max(cpu_, x_read_[j - 3]);  // its slot is read (R6.11)
    cpu_ += dispatch(21);
    admit(0);
    loads_[j].admitted = admitted_;
  }

  void composite(std::size_t j) {
    cpu_ += dispatch(kernel_.composite_bytes);
    admit(loads_[j].done());
    if (j > 0) admit(computed_[j - 1]);        // they share the scratch
    if (j >= 3) admit(stores_[j - 3].done());  // of its y slot
    computed_[j] = admitted_;
    for (const BlockOp& op : kernel_.ops) computed_[j] += busy(op, j);
    x_read_[j] = computed_[j];  // a command holds its bytes to its end (R6.10)
  }

  void split(std::size_t j) {
    for (std::size_t i = 0; i < kernel_.ops.size(); ++i) {
      const BlockOp& op = kernel_.ops[i];
      if (op.reads_x) cpu_ = std::max(cpu_, loads_[j].done());
      if (op.writes_y && j >= 3) cpu_ = std::max(cpu_, stores_[j - 3].done());
      cpu_ += dispatch(op.bytes);
      admit(i > 0 || kernel_.first_op_waits ? math_ : 0);  // each op reads what the last one wrote
      math_ = std::max(admitted_, math_) + busy(op, j);
      if (op.reads_x) x_read_[j] = math_;
    }
    computed_[j] = math_;
  }

  void store(std::size_t j) {
    cpu_ = std::max(cpu_, computed_[j]) + dispatch(21);
    admit(0);
    stores_[j].admitted = admitted_;
  }

  BlockKernel kernel_;
  Shape shape_;
  bool fused_;
  std::size_t blocks_;
  std::vector<Transfer> loads_, stores_;
  std::vector<Ps> x_read_, computed_;
  Ps cpu_ = 0, admitted_ = 0, math_ = 0;
};

void check_blocks(const std::string& name, const BlockKernel& kernel, const Shape& shape,
                  const std::string& variant) {
  EXPECT_EQ(loop_ps(name, {{"rows", std::to_string(shape.rows)},
                           {"cols", std::to_string(shape.cols)},
                           {"block", std::to_string(shape.block)},
                           {"variant", variant}}),
            BlockRecurrence(kernel, shape, variant == "fused").total());
}

constexpr Shape kDefaults{64, 512, 8};  // a MATH op of 64 cycles: longer than a dispatch
constexpr Shape kNarrow{64, 256, 8};    // of 32 cycles: shorter
constexpr Shape kPartial{27, 320, 8};   // the last block has 3 rows
constexpr Shape kOneBlock{5, 96, 8};

TEST(RowBlockTiming, SoftmaxFusedDefaults) {
  check_blocks("softmax", softmax(), kDefaults, "fused");
}
TEST(RowBlockTiming, SoftmaxFusedNarrow) { check_blocks("softmax", softmax(), kNarrow, "fused"); }
TEST(RowBlockTiming, SoftmaxFusedPartial) { check_blocks("softmax", softmax(), kPartial, "fused"); }
TEST(RowBlockTiming, SoftmaxFusedOneBlock) {
  check_blocks("softmax", softmax(), kOneBlock, "fused");
}
// Here a load and a store are admitted at once: div_bcast holds both back at the head of the queue.
TEST(RowBlockTiming, SoftmaxSplitDefaults) {
  check_blocks("softmax", softmax(), kDefaults, "split");
}
TEST(RowBlockTiming, SoftmaxSplitWide) {
  check_blocks("softmax", softmax(), {64, 704, 8}, "split");
}
// Blocks of 2048 bytes, the last of 8 rows.
TEST(RowBlockTiming, SoftmaxFusedShortRows) {
  check_blocks("softmax", softmax(), {200, 32, 32}, "fused");
}
TEST(RowBlockTiming, SoftmaxSplitNarrow) { check_blocks("softmax", softmax(), kNarrow, "split"); }
TEST(RowBlockTiming, SoftmaxSplitPartial) { check_blocks("softmax", softmax(), kPartial, "split"); }
TEST(RowBlockTiming, RmsnormFusedDefaults) {
  check_blocks("rmsnorm", rmsnorm(), kDefaults, "fused");
}
TEST(RowBlockTiming, RmsnormFusedPartial) { check_blocks("rmsnorm", rmsnorm(), kPartial, "fused"); }
TEST(RowBlockTiming, RmsnormSplitDefaults) {
  check_blocks("rmsnorm", rmsnorm(), kDefaults, "split");
}
TEST(RowBlockTiming, RmsnormSplitPartial) { check_blocks("rmsnorm", rmsnorm(), kPartial, "split"); }
TEST(RowBlockTiming, LayernormFusedDefaults) {
  check_blocks("layernorm", layernorm(), kDefaults, "fused");
}
TEST(RowBlockTiming, LayernormFusedPartial) {
  check_blocks("layernorm", layernorm(), kPartial, "fused");
}
TEST(RowBlockTiming, LayernormSplitDefaults) {
  check_blocks("layernorm", layernorm(), kDefaults, "split");
}
TEST(RowBlockTiming, LayernormSplitPartial) {
  check_blocks("layernorm", layernorm(), kPartial, "split");
}

// The recurrence itself, by hand. Defaults, fused: load 0 is dispatched (41.313) and done after
// 16 + 64 + 100; from then on MATH never pauses, 4 * 64 a block; the last store is dispatched and
// done like the load.
TEST(RowBlockTiming, SoftmaxFusedKeepsMathBusy) {
  EXPECT_EQ(loop_ps("softmax", {}), 41313u + 180000u + 8 * 256000u + 41313u + 180000u);
}
// 32 cycles an op: a block's 4 * 32 are less than its three dispatches, 47.375 + 2 * 41.313. Block
// 2 is the first to wait for them: block 0 ends at 41.313 + 148 + 128, then store 0, load 3 and
// composite 2 are dispatched. Block 7 starts when block 6 ends; its store ends the loop.
TEST(RowBlockTiming, SoftmaxFusedNarrowIsBoundByDispatch) {
  const Ps composite_2 = 41313 + 148000 + 128000 + 2 * 41313 + 47375;
  const Ps composite_6 = composite_2 + 4 * (47375 + 2 * 41313);
  EXPECT_EQ(loop_ps("softmax", {{"cols", "256"}}), composite_6 + 2 * 128000 + 41313 + 148000);
}

// R5.5: a block's composite reads its rows itself and shares the scratch of the one before, so its
// first read starts when that has ended, and nothing hides it.
struct Streamed {
  std::string kernel;
  std::uint64_t composite_bytes;     // of the fused one; copy is 20 more
  std::uint64_t on_matrix, on_rows;  // ops
};
const Streamed kStreamed[] = {
    {"softmax", 118, 4, 0}, {"rmsnorm", 162, 4, 2}, {"layernorm", 274, 7, 3}};

Ps streamed_loop_ps(const std::string& kernel, const Settings& settings) {
  arch::TopologyConfig topology = test::single_pe();
  topology.pe.scheduler.math_head_from_hbm = true;
  Settings all = settings;
  all.emplace_back("variant", "streamed");
  return test::run_catalogue(topology, kernel, all).region_ps("loop");
}

// Blocks of 8 x 128 are one chunk of 2048 bytes each: read, copy, then the ops as ever. The store
// of a block is dispatched at its end, and over before the next reads: those take the memory from
// 16 to 32, a write from 41.313 + 16 on.
Ps one_chunk_a_block(const Streamed& s, std::uint64_t blocks) {
  const Ps transfer = kSetup + on_bus(2048) + kLatency;
  const Ps block = transfer + math(1024) + s.on_matrix * math(1024) + s.on_rows * math(8);
  return dispatch(s.composite_bytes + 20) + blocks * block + dispatch(21) + transfer;
}
TEST(RowBlockTiming, SoftmaxStreamed) {
  EXPECT_EQ(streamed_loop_ps("softmax", {{"cols", "128"}}), one_chunk_a_block(kStreamed[0], 8));
}
TEST(RowBlockTiming, RmsnormStreamed) {
  EXPECT_EQ(streamed_loop_ps("rmsnorm", {{"cols", "128"}}), one_chunk_a_block(kStreamed[1], 8));
}
TEST(RowBlockTiming, LayernormStreamed) {
  EXPECT_EQ(streamed_loop_ps("layernorm", {{"cols", "128"}}), one_chunk_a_block(kStreamed[2], 8));
}

// A block of 8 x 512 is four chunks of 8 rows of 256 bytes, with three credits: a read waits for
// its channel and for the copy three chunks before. The read of chunk 1 may take longer.
Ps four_chunks(Ps held_up) {
  Ps read = 0, copied[4] = {};
  for (std::size_t i = 0; i < 4; ++i) {
    read = std::max(read, i < 3 ? 0 : copied[i - 3]) + kSetup + 8 * on_bus(256);
    if (i == 1) read += held_up;
    copied[i] = std::max(i == 0 ? 0 : copied[i - 1], read + kLatency) + math(1024);
  }
  return copied[3] + 4 * math(8 * 512);
}
constexpr Ps kStoreOf8x512 = kSetup + 64000 + kLatency;
TEST(RowBlockTiming, SoftmaxStreamedOneBlock) {
  EXPECT_EQ(streamed_loop_ps("softmax", {{"rows", "8"}}),
            dispatch(138) + four_chunks(0) + dispatch(21) + kStoreOf8x512);
}
// The store of the block before arrives at the memory 41.313 + 16 after its end, as chunk 1 is
// read, from 48 to 64. By arrival: bursts of the read up to 58, one of the store (32 ns), one of
// the read, the other of the store, the rest of the read, which so ends 64 later.
TEST(RowBlockTiming, SoftmaxStreamedDefaults) {
  EXPECT_EQ(streamed_loop_ps("softmax", {}),
            dispatch(138) + four_chunks(0) + 7 * four_chunks(64000) + dispatch(21) + kStoreOf8x512);
}

// ---- gemms with streamed weights ----------------------------------------------------------------

// Of a full tile of 8 x 128 x 128: DMA of w (32768 bytes), FETCH of a and w at 512 bytes a cycle,
// GEMM 1 * 8 * 8. Fewer tiles are ever ready than read: their reads follow each other, the last
// one's FETCH and GEMM follow it.
constexpr Ps kRead = kSetup + 256000;
constexpr Ps kFetchAndGemm = 68000 + 64000;
constexpr Ps kStore = 4000;  // 8 x 128 in f16
Ps last_gemm(std::uint64_t tiles) { return tiles * kRead + kLatency + kFetchAndGemm; }
constexpr Ps kWrite = kSetup + 16000 + kLatency;  // of 8 x 128 in f16

/// Simple MATH commands one after the other, each on what the one before wrote.
class Chain {
 public:
  explicit Chain(Ps start) : cpu_(start) {}
  Chain& then(std::uint64_t bytes, std::uint64_t elements) {
    cpu_ += dispatch(bytes);
    math_ = std::max(cpu_, math_) + math(elements);
    return *this;
  }
  Ps cpu() const { return cpu_; }
  Ps math_end() const { return math_; }

 private:
  Ps cpu_, math_ = 0;
};

// Four ops on 8 x k and two on 8, before the tile loop.
TEST(RmsnormLinearTiming, Fused) {
  const Ps norm = 4 * math(8 * 256) + 2 * math(8);
  EXPECT_EQ(loop_ps("rmsnorm_linear", {{"out", "tcm"}}),
            dispatch(202) + norm + last_gemm(4) + kStore);
}
// Of two n tiles the first is written while the second is read, which takes its 16 longer.
TEST(RmsnormLinearTiming, FusedOutInHbm) {
  const Ps norm = 4 * math(8 * 512) + 2 * math(8);
  EXPECT_EQ(loop_ps("rmsnorm_linear", {{"k", "512"}}),
            dispatch(202) + norm + last_gemm(8) + 16000 + kStore + kWrite);
}
// The gemm is admitted when it has been dispatched and mul_cols has ended: no w is read before.
Ps rmsnorm_linear_split(std::uint64_t k) {
  Chain norm(0);
  norm.then(21, 8 * k).then(25, 8 * k).then(29, 8).then(21, 8).then(33, 8 * k).then(33, 8 * k);
  return std::max(norm.cpu() + dispatch(46), norm.math_end()) + last_gemm(k / 128 * 2) + kStore;
}
TEST(RmsnormLinearTiming, Split) {
  EXPECT_EQ(loop_ps("rmsnorm_linear", {{"variant", "split"}, {"out", "tcm"}}),
            rmsnorm_linear_split(256));
}
TEST(RmsnormLinearTiming, SplitLongRows) {
  EXPECT_EQ(loop_ps("rmsnorm_linear", {{"variant", "split"}, {"out", "tcm"}, {"k", "512"}}),
            rmsnorm_linear_split(512));
}

// bias and gelu on each output tile (1024 entries), after the last STORE the norm: seven ops on
// 8 x n and three on 8.
Ps linear_gelu_norm_fused(std::uint64_t n) {
  return dispatch(374) + last_gemm(2 * n / 128) + 2 * math(1024) + kStore + 7 * math(8 * n) +
         3 * math(8);
}
TEST(LinearGeluNormTiming, Fused) {
  EXPECT_EQ(loop_ps("linear_gelu_norm", {}), linear_gelu_norm_fused(256));
}
TEST(LinearGeluNormTiming, FusedLongRows) {
  EXPECT_EQ(loop_ps("linear_gelu_norm", {{"n", "512"}}), linear_gelu_norm_fused(512));
}
// rsum awaits the composite, as it reads y; the others follow on the same engine.
Ps linear_gelu_norm_split(std::uint64_t n) {
  const Ps gemm = dispatch(94) + last_gemm(2 * n / 128) + 2 * math(1024) + kStore;
  const std::uint64_t matrix = 8 * n;
  Chain norm(gemm);
  norm.then(25, matrix).then(29, 8).then(33, matrix).then(21, matrix).then(25, matrix);
  norm.then(29, 8).then(21, 8).then(33, matrix).then(33, matrix).then(33, matrix);
  return norm.math_end();
}
TEST(LinearGeluNormTiming, Split) {
  EXPECT_EQ(loop_ps("linear_gelu_norm", {{"variant", "split"}}), linear_gelu_norm_split(256));
}
TEST(LinearGeluNormTiming, SplitLongRows) {
  EXPECT_EQ(loop_ps("linear_gelu_norm", {{"variant", "split"}, {"n", "512"}}),
            linear_gelu_norm_split(512));
}

// Each composite waits for the one before, which writes what it reads (R7.1): only the first
// dispatch shows. silu, and the product, are one op on each output tile.
Ps mlp_fused(std::uint64_t f) {
  const Ps gate_or_up = last_gemm(f / 128) + math(1024) + kStore;
  return dispatch(66) + 2 * gate_or_up + last_gemm(f / 128) + kStore + kWrite;
}
TEST(MlpTiming, Fused) { EXPECT_EQ(loop_ps("mlp", {}), mlp_fused(512)); }
TEST(MlpTiming, FusedWider) { EXPECT_EQ(loop_ps("mlp", {{"f", "1024"}}), mlp_fused(1024)); }

// Gate and up share nothing: their reads follow each other without a gap. The last one of gate is
// number `gate_reads_end`, that of up comes last. silu awaits gate (STORE in f32: 8), the product
// up, the gemm the product.
Ps mlp_split(std::uint64_t f, std::uint64_t gate_reads_end) {
  constexpr Ps kStoreF32 = 8000;
  const Ps gate = dispatch(46) + last_gemm(gate_reads_end) + kStoreF32;
  const Ps up = dispatch(46) + last_gemm(2 * f / 128) + kStoreF32;
  Chain silu(gate);
  silu.then(21, 8 * f);
  const Ps product_dispatched = std::max(silu.cpu(), up) + dispatch(29);
  const Ps product = std::max(product_dispatched, silu.math_end()) + math(8 * f);
  return std::max(product_dispatched + dispatch(46), product) + last_gemm(f / 128) + kStore +
         kWrite;
}
// Reads by arrival: gate 0 1 2, up 0 1 2 (three credits each), gate 3, up 3.
TEST(MlpTiming, Split) { EXPECT_EQ(loop_ps("mlp", {{"variant", "split"}}), mlp_split(512, 7)); }
// f = 256: gate 0 1, up 0 1.
TEST(MlpTiming, SplitNarrow) {
  EXPECT_EQ(loop_ps("mlp", {{"variant", "split"}, {"f", "256"}}), mlp_split(256, 2));
}

// ---- state_merge: rows 8, d 128 -----------------------------------------------------------------

constexpr Ps kLoadO = kSetup + 32000 + kLatency;  // 4096 bytes; m and l are 32 bytes each
// Six ops on 8 entries, three on 8 x 128.
constexpr Ps kMerge = 6 * 1000 + 3 * 16000;

// A merge is dispatched before its part has arrived if it is the only one.
TEST(StateMergeTiming, FusedTwoParts) {
  EXPECT_EQ(loop_ps("state_merge", {{"parts", "2"}}), 3 * dispatch(21) + kLoadO + kMerge);
}
// Three loads and a merge are dispatched a part, longer than a merge takes; the last merge waits
// for its O, dispatched just before the merge before.
Ps state_merge_fused(std::uint64_t parts) {
  const Ps last_but_one = 3 * dispatch(21) + (parts - 2) * (3 * dispatch(21) + dispatch(290));
  return last_but_one - dispatch(290) + kLoadO + kMerge;
}
TEST(StateMergeTiming, FusedFourParts) {
  EXPECT_EQ(loop_ps("state_merge", {}), state_merge_fused(4));
}
TEST(StateMergeTiming, FusedNineParts) {
  EXPECT_EQ(loop_ps("state_merge", {{"parts", "9"}}), state_merge_fused(9));
}
// Every op is shorter than a dispatch: the sum of them, and copy at the end. Loads of the next part
// go before a part's commands and hide its latency.
TEST(StateMergeTiming, Split) {
  const Ps merge = 5 * dispatch(29) + dispatch(37) + 2 * dispatch(33) + dispatch(21);
  EXPECT_EQ(loop_ps("state_merge", {{"variant", "split"}}),
            3 * (3 * dispatch(21) + merge) + math(8));
}
// With one part to come max_elem awaits its m: 32 bytes, dispatched first.
TEST(StateMergeTiming, SplitTwoParts) {
  const Ps m_loaded = dispatch(21) + kSetup + on_bus(32) + kLatency;
  const Ps merge = 5 * dispatch(29) + dispatch(37) + 2 * dispatch(33) + dispatch(21);
  EXPECT_EQ(loop_ps("state_merge", {{"variant", "split"}, {"parts", "2"}}),
            m_loaded + merge + math(8));
}

}  // namespace
}  // namespace kernbench
