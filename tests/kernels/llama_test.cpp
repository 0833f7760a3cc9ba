// SPDX-License-Identifier: Apache-2.0
// llama_layer and llama_decode_step in program order: results against a plain model, however they
// are spread, and the commands, messages and bytes of Llama 70B on 128 PEs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "model/arch/topology_file.hpp"
#include "tests/support/attention_run.hpp"
#include "tests/support/program_order.hpp"
#include "tests/support/program_outline.hpp"
#include "tlm_if/command/null_sink.hpp"

namespace kernbench::kernels {
namespace {

using namespace test;
using command::Command;
using testing::ElementsAre;

// ---- a plain decoder --------------------------------------------------------------------------

/// Two layers at most; the dimensions of the tests.
struct Model {
  Index hidden = 64, heads = 8, kv_heads = 2, d = 16, ffn = 96;
  Index s_kv = 40;

  Index g() const { return heads / kv_heads; }
};

Settings settings_of(const Model& m, const Settings& more = {}) {
  Settings settings{{"hidden", std::to_string(m.hidden)},
                    {"heads", std::to_string(m.heads)},
                    {"kv_heads", std::to_string(m.kv_heads)},
                    {"d", std::to_string(m.d)},
                    {"ffn", std::to_string(m.ffn)},
                    {"s_kv", std::to_string(m.s_kv)},
                    {"tile", "8"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

/// An entry of unit variance that depends on name, layer, row and column only, in f16.
double entry(std::string_view name, Index layer, Index row, Index col, double scale = 1) {
  std::uint64_t hash = 1469598103934665603u;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  for (const char c : name) mix(static_cast<std::uint64_t>(c));
  for (const Index value : {layer, row, col}) mix(static_cast<std::uint64_t>(value) + 977);
  hash ^= hash >> 31;
  hash *= 0x9e3779b97f4a7c15u;
  hash ^= hash >> 29;
  const double uniform = static_cast<double>(hash >> 11) * 0x1p-53;
  return rounded(DType::f16, {(2 * uniform - 1) * std::sqrt(3.0) * scale})[0];
}

/// Row and column of the whole weight, as every model has it: (inputs, outputs).
double weight(const Model& m, const std::string& name, Index layer, Index row, Index col) {
  const Index inputs = name == "wo" ? m.heads * m.d : name == "wdown" ? m.ffn : m.hidden;
  return entry(name, layer, row, col, 1 / std::sqrt(static_cast<double>(inputs)));
}

std::vector<double> times(const Model& m, const std::vector<double>& x, const std::string& name,
                          Index layer, Index outputs) {
  std::vector<double> y(static_cast<std::size_t>(outputs), 0);
  for (std::size_t row = 0; row < x.size(); ++row) {
    for (std::size_t col = 0; col < y.size(); ++col) {
      y[col] += x[row] * weight(m, name, layer, static_cast<Index>(row), static_cast<Index>(col));
    }
  }
  return y;
}

std::vector<double> rmsnorm(const std::vector<double>& x, const std::string& name, Index layer) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double r = 1 / std::sqrt(squares / static_cast<double>(x.size()) + tl::kNormEps);
  std::vector<double> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.push_back(x[i] * r * entry(name, 0, layer, static_cast<Index>(i)));
  }
  return y;
}

std::vector<double> plain_layer(const Model& m, Index layer, std::vector<double> x) {
  const auto xn = rmsnorm(x, "attention_norm", layer);
  const auto q = times(m, xn, "wq", layer, m.heads * m.d);
  const auto k = times(m, xn, "wk", layer, m.kv_heads * m.d);
  const auto v = times(m, xn, "wv", layer, m.kv_heads * m.d);
  std::vector<double> attended;
  for (Index head = 0; head < m.heads; ++head) {
    const Index kv_head = head / m.g();
    const auto cached = [&](const char* name, const std::vector<double>& added, Index t, Index i) {
      if (t + 1 == m.s_kv) return added[static_cast<std::size_t>(kv_head * m.d + i)];
      return entry(name, 0, (layer * m.kv_heads + kv_head) * m.s_kv + t, i);
    };
    std::vector<double> weights;
    for (Index t = 0; t < m.s_kv; ++t) {
      double score = 0;
      for (Index i = 0; i < m.d; ++i) {
        score += q[static_cast<std::size_t>(head * m.d + i)] * cached("k", k, t, i);
      }
      weights.push_back(std::exp(score / std::sqrt(static_cast<double>(m.d))));
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (Index i = 0; i < m.d; ++i) {
      double value = 0;
      for (Index t = 0; t < m.s_kv; ++t) {
        value += weights[static_cast<std::size_t>(t)] / sum * cached("v", v, t, i);
      }
      attended.push_back(value);
    }
  }
  const auto add = [&](const std::vector<double>& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  };
  add(times(m, attended, "wo", layer, m.hidden));
  const auto yn = rmsnorm(x, "mlp_norm", layer);
  auto h = times(m, yn, "wgate", layer, m.ffn);
  const auto up = times(m, yn, "wup", layer, m.ffn);
  for (std::size_t i = 0; i < h.size(); ++i) h[i] = h[i] / (1 + std::exp(-h[i])) * up[i];
  add(times(m, h, "wdown", layer, m.hidden));
  return x;
}

std::vector<double> plain(const Model& m, Index layers) {
  std::vector<double> x;
  for (Index i = 0; i < m.hidden; ++i) x.push_back(entry("x", 0, 0, i));
  for (Index layer = 0; layer < layers; ++layer) x = plain_layer(m, layer, x);
  return x;
}

/// The same inputs as the kernel has them: weights by program, in panels (docs).
HostTensors inputs_of(const Model& m, const Instance& instance) {
  const Index programs = instance.grid[0] * instance.grid[1] * instance.grid[2];
  const Index members = programs / m.kv_heads, q_size = m.g() * m.d / members;
  const Index kv_size = m.d / members, ffn = m.ffn / programs;
  std::map<std::string, Index> panel_counts;
  for (const TensorSpec& spec : instance.tensors) {
    if (spec.name[0] == 'w') panel_counts[spec.name] = spec.file_shape[1] / programs;
  }
  return test::inputs_of(instance, [&](const std::string& name, Index row, Index col) {
    if (name[0] != 'w') return entry(name, 0, row, col);
    const TensorSpec& spec = *std::find_if(instance.tensors.begin(), instance.tensors.end(),
                                           [&](const TensorSpec& s) { return s.name == name; });
    const Index r = row % m.hidden, number = row / m.hidden, count = panel_counts[name];
    const Index program = number / count % programs, layer = number / count / programs;
    const Index own = number % count * spec.file_shape[3] + col;  // of the program's
    if (name == "wo") return weight(m, name, layer, program * q_size + own, r);
    if (name == "wdown") return weight(m, name, layer, program * ffn + own, r);
    if (name != "wqkv") return weight(m, name, layer, r, program * ffn + own);
    const Index head = program / members, place = program % members;
    if (own < q_size) return weight(m, "wq", layer, r, program * q_size + own);
    const Index i = place * kv_size + (own - q_size) % kv_size;
    return weight(m, own < q_size + kv_size ? "wk" : "wv", layer, r, head * m.d + i);
  });
}

/// The reference is the plain model; the results are within the tolerance, which is no wider than
/// it must be.
void expect_plain(const Model& m, const std::vector<Compiled>& programs, Index layers = 1) {
  const HostTensors inputs = inputs_of(m, programs[0].instance);
  const Reference reference = programs[0].instance.reference(inputs);
  const std::vector<double>& exact = reference.outputs.at("out");
  const std::vector<double> expected = plain(m, layers);
  ASSERT_EQ(exact.size(), expected.size());
  for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(exact[i], expected[i], 1e-9) << i;
  const Error error = error_against(expected, run_in_program_order(programs, inputs).at("out"));
  EXPECT_LE(error.rms, reference.max_rms_rel);
  EXPECT_LE(error.max, reference.max_abs_rel);
  EXPECT_GE(error.rms, reference.max_rms_rel / 10);
}

struct Spread {
  const char* c;
  const char* p;
};

// 40 tokens are 5 tiles: 3 and 2 of 2 programs, 2, 2, 1 and none of 4.
TEST(LlamaLayer, IsAPlainDecoderLayerHoweverItIsSpread) {
  for (const Spread& spread :
       {Spread{"1", "1"}, Spread{"1", "2"}, Spread{"2", "1"}, Spread{"1", "4"}, Spread{"2", "2"}}) {
    for (const char* all_reduce : {"tree", "ring"}) {
      SCOPED_TRACE(testing::Message() << spread.c << " " << spread.p << all_reduce);
      const Model m;
      expect_plain(
          m, compile_all(
                 "llama_layer",
                 settings_of(m, {{"c", spread.c}, {"p", spread.p}, {"all_reduce", all_reduce}}),
                 machine(2, 2, 4)));
    }
  }
}

TEST(LlamaLayer, SharesMayBeEmpty) {
  for (const Index s_kv : {1, 2, 7, 8, 9, 17, 64}) {
    SCOPED_TRACE(s_kv);
    Model m;
    m.s_kv = s_kv;
    expect_plain(m, compile_all("llama_layer", settings_of(m), machine(1, 2, 4)));
  }
}

// Tiles of 16 x 16: 3 panels of 16 columns of wqkv and of wgate, 2 of 16 rows of wo, 3 of wdown.
TEST(LlamaLayer, PanelsOfATile) {
  tl::Target target = machine(1, 1, 2);
  target.tile_k = target.tile_n = 16;
  Model m;
  m.heads = 4;
  const auto programs = compile_all("llama_layer", settings_of(m), target);
  const std::vector<TensorSpec>& tensors = programs[0].instance.tensors;
  EXPECT_THAT(tensors[2].file_shape, ElementsAre(1, 2 * 4, 64, 16));  // wqkv: 32 + 2 * 16
  EXPECT_THAT(tensors[5].file_shape, ElementsAre(1, 2 * 2, 64, 16));  // wo: 32
  EXPECT_THAT(tensors[7].file_shape, ElementsAre(1, 2 * 3, 64, 16));  // wgate: 48
  EXPECT_THAT(tensors[9].file_shape, ElementsAre(1, 2 * 3, 64, 16));  // wdown: 48
  expect_plain(m, programs);
  // 20 entries of the hidden width in each program: two panels of 10.
  m.ffn = 40;
  const auto odd = compile_all("llama_layer", settings_of(m), target);
  EXPECT_THAT(odd[0].instance.tensors[7].file_shape, ElementsAre(1, 2 * 2, 64, 10));
  expect_plain(m, odd);
  // 35: neither three nor four panels, but five of 7.
  m.ffn = 70;
  const auto narrow = compile_all("llama_layer", settings_of(m), target);
  EXPECT_THAT(narrow[0].instance.tensors[7].file_shape, ElementsAre(1, 2 * 5, 64, 7));
  expect_plain(m, narrow);
}

// Three query heads over two programs: a program has one and a half of them. Three KV heads, and
// three programs a head: no power of two.
TEST(LlamaLayer, HeadsNeedNotFallOnPrograms) {
  Model m;
  m.heads = 6;
  expect_plain(m, compile_all("llama_layer", settings_of(m), machine(1, 1, 4)));
  m.heads = 9;
  m.kv_heads = 3;
  m.d = 12;
  m.ffn = 90;
  const auto programs = compile_all("llama_layer", settings_of(m, {{"p", "3"}}), machine(3, 1, 4));
  EXPECT_EQ(programs.size(), 9U);
  expect_plain(m, programs);
}

TEST(LlamaLayer, VariantsOfAttentionAreBitEqual) {
  const Model m;
  HostTensors first;
  for (const char* variant : {"opt1", "opt2", "opt3"}) {
    const auto programs =
        compile_all("llama_layer", settings_of(m, {{"variant", variant}}), machine(1, 1, 4));
    const HostTensors results = run_in_program_order(programs, inputs_of(m, programs[0].instance));
    if (first.empty()) first = results;
    EXPECT_EQ(results, first) << variant;
  }
}

TEST(LlamaLayer, TheNewTokenTakesTheLastRowOfTheCache) {
  const Model m;
  const auto programs = compile_all("llama_layer", settings_of(m), machine(1, 1, 4));
  HostTensors inputs = inputs_of(m, programs[0].instance);
  const HostTensors expected = run_in_program_order(programs, inputs);
  for (const char* name : {"k", "v"}) {
    std::vector<double>& values = inputs.at(name);
    for (Index head = 0; head < m.kv_heads; ++head) {
      const auto last = values.begin() + ((head + 1) * m.s_kv - 1) * m.d;
      std::fill(last, last + m.d, 1000);
    }
  }
  EXPECT_EQ(run_in_program_order(programs, inputs), expected);
}

TEST(LlamaDecodeStep, IsItsLayersOneAfterTheOther) {
  const Model m;
  const tl::Target target = machine(1, 1, 4);
  const auto step = compile_all("llama_decode_step", settings_of(m, {{"layers", "3"}}), target);
  expect_plain(m, step, 3);
  const HostTensors inputs = inputs_of(m, step[0].instance);
  std::vector<double> x = inputs.at("x");
  const auto layer = compile_all("llama_layer", settings_of(m), target);
  for (std::size_t l = 0; l < 3; ++l) {
    HostTensors own;
    for (const auto& [name, values] : inputs) {
      const auto size = static_cast<std::ptrdiff_t>(values.size() / 3);
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(l) * size;
      own[name] = name == "x" ? x : std::vector<double>(first, first + size);
    }
    x = run_in_program_order(layer, own).at("out");
  }
  EXPECT_EQ(run_in_program_order(step, inputs).at("out"), x);
}

TEST(LlamaDecodeStep, PhasesFollowEachOther) {
  const Model m;
  const auto programs =
      compile_all("llama_decode_step", settings_of(m, {{"layers", "2"}}), machine(1, 2, 4));
  const Strings phases{"qkv", "attention", "merge", "out_proj", "all_reduce", "mlp", "all_reduce"};
  for (const Compiled& compiled : programs) {
    Strings expected{"loop"};
    for (int layer = 0; layer < 2; ++layer) {
      for (const std::string& phase : phases) {
        // 5 tiles, 2 each: the last place of the 4 of a group has none.
        if (phase != "attention" || compiled.number % 4 != 3) expected.push_back(phase);
      }
    }
    Strings found;
    bool waited = false;  // for the phase before, just now
    for (const command::ProgramStep& step : compiled.program.steps) {
      if (const auto* begin = std::get_if<command::BeginRegionStep>(&step)) {
        EXPECT_TRUE(waited) << begin->name << " after " << (found.empty() ? "" : found.back());
        found.push_back(begin->name);
        waited = begin->name == "loop";  // its first phase begins with it
      } else {
        waited = std::holds_alternative<command::WaitStep>(step);
      }
    }
    EXPECT_EQ(found, expected) << compiled.number;
  }
}

// ---- where things are -------------------------------------------------------------------------

std::array<Index, 3> grid_of(const tl::Target& target, const Settings& settings) {
  const Kernel kernel = catalogue_kernel("llama_layer");
  return kernel.make(Parameters(kernel.name, kernel.parameters, settings), target).grid;
}

TEST(LlamaLayer, TakesTheLargestGroupsThatFit) {
  using Grid = std::array<Index, 3>;
  const Settings llama{};
  EXPECT_EQ(grid_of(machine(4, 4, 8), llama), (Grid{8, 2, 8}));
  EXPECT_EQ(grid_of(machine(1, 1, 8), llama), (Grid{8, 1, 1}));
  EXPECT_EQ(grid_of(machine(1, 4, 8), llama), (Grid{8, 1, 4}));
  EXPECT_EQ(grid_of(machine(4, 4, 8), {{"c", "1"}}), (Grid{8, 1, 8}));
  EXPECT_EQ(grid_of(machine(4, 4, 8), {{"p", "2"}}), (Grid{8, 4, 2}));
  // 3 PEs a head would fit, but do not divide the hidden width.
  EXPECT_EQ(grid_of(machine(1, 8, 3), llama), (Grid{8, 1, 2}));
}

std::string refusal(const tl::Target& target, const Settings& settings) {
  try {
    grid_of(target, settings);
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(LlamaLayer, RefusesWhatDoesNotComeOutEven) {
  EXPECT_EQ(refusal(machine(1, 1, 1), {}),
            "llama_layer: kv_heads=8 take a group of c=1 cubes with p=1 PEs each, and the topology "
            "holds 1; give fewer or smaller ones, or a larger topology");
  EXPECT_EQ(refusal(machine(4, 4, 8), {{"c", "4"}, {"p", "8"}}),
            "llama_layer: kv_heads=8 take a group of c=4 cubes with p=8 PEs each, and the topology "
            "holds 4; give fewer or smaller ones, or a larger topology");
  EXPECT_EQ(refusal(machine(4, 4, 8), {{"c", "5"}}),
            "llama_layer: c=5 exceeds cubes_per_sip=4 of the topology; give at most c=4");
  EXPECT_EQ(refusal(machine(4, 4, 8), {{"p", "9"}}),
            "llama_layer: p=9 exceeds pes_per_cube=8 of the topology; give at most p=8");
  EXPECT_EQ(refusal(machine(4, 4, 8), {{"heads", "60"}}),
            "llama_layer: heads=60 is not a multiple of kv_heads=8; give a multiple");
  EXPECT_EQ(
      refusal(machine(4, 4, 8), {{"ffn", "28676"}}),
      "llama_layer: ffn=28676 is not a multiple of the 8 programs, kv_heads=8 * c=1 * p=1; give "
      "a multiple, or other c and p");
  EXPECT_EQ(
      refusal(machine(4, 4, 8), {{"d", "120"}, {"c", "2"}, {"p", "8"}}),
      "llama_layer: d=120 is not a multiple of the 16 programs of a KV head, c=2 * p=8; give a "
      "multiple, or other c and p");
}

// ---- Llama 70B on 128 PEs ---------------------------------------------------------------------

arch::TopologyConfig llama70b_4sip() {
  return arch::read_topology_file(std::string(KERNBENCH_SOURCE_DIR) +
                                  "/topologies/llama70b_4sip.yaml");
}

struct Counts {
  std::uint64_t commands = 0, bytes = 0, sends = 0, sent_bytes = 0;
};

/// Commands, their bytes and messages by the innermost open region.
class PhaseCounter : public command::NullSink {
 public:
  void issue(Command command) override {
    Counts& counts = phases[open_.back()];
    ++counts.commands;
    counts.bytes += logical_bytes(command);
    if (const auto* send = std::get_if<command::IpcqSendCmd>(&command)) {
      ++counts.sends;
      counts.sent_bytes += send->src.bytes();
    }
  }
  void begin_region(std::string_view name) override { open_.emplace_back(name); }
  void end_region(std::string_view) override { open_.pop_back(); }

  std::map<std::string, Counts> phases;

 private:
  std::vector<std::string> open_{""};
};

/// Children of place i of n in a binomial tree: i + s < n for the s = 1, 2, 4, .. below the lowest
/// set bit of i.
std::uint64_t children_of(Index i, Index n) {
  std::uint64_t count = 0;
  for (Index s = 1; i + s < n && i % (2 * s) == 0; s *= 2) ++count;
  return count;
}

// c = 2, p = 8: 8 groups of 16. A program has 64 columns of q, 8 of k and of v, 224 of the hidden
// width, and 64 of 1024 tiles of 128 tokens.
TEST(LlamaDecodeStep, CommandsOfLlama70B) {
  const runtime::Launch launch(catalogue_kernel("llama_decode_step"),
                               {{"s_kv", "131072"}, {"layers", "2"}}, llama70b_4sip());
  ASSERT_EQ(launch.programs(), 128);
  const std::vector<std::uint32_t>& pes = launch.launch().pes();
  std::map<std::string, Counts> totals;
  for (Index program = 0; program < 128; ++program) {
    PhaseCounter found;
    launch.issue(found, program);
    for (const auto& [name, counts] : found.phases) {
      totals[name].sends += counts.sends;
      totals[name].sent_bytes += counts.sent_bytes;
    }
    const Index place = program % 16;
    const std::uint64_t children = children_of(place, 16), parent = place == 0 ? 0 : 1;
    const auto check = [&](const char* phase, std::uint64_t commands, std::uint64_t bytes) {
      EXPECT_EQ(found.phases[phase].commands, 2 * commands) << phase << " of " << program;
      EXPECT_EQ(found.phases[phase].bytes, 2 * bytes) << phase << " of " << program;
    };
    // rmsnorm_linear and gemm 202. Up the tree and down again. A copy is 20: 16 pieces of q, in the
    // root also of k and v, and two stores of 21.
    const std::uint64_t copies = parent == 0 ? 48 : 16, stores = parent == 0 ? 2 : 0;
    check("qkv", 2 + 2 * (children + parent) + stores,
          202 + 34 * (children + parent) + 6 + 20 * copies + 21 * stores);
    check("attention", 2 * 64, 64 * (54 + 322));
    // A merge is 290; three sends; or in the root div_bcast 32 and 8 copies. Then the scatter.
    check("merge", children + (parent == 0 ? 1 : 3) + children + parent,
          290 * children + (parent == 0 ? 6 + 32 + 8 * 20 : 3 * 17) + 17 * (children + parent));
    check("out_proj", 1, 46);
    // rmsnorm_linear 162; silu 20, mul 28 and add 28 with out as rw handle.
    check("mlp", 7, 162 + 2 * (46 + 20) + 2 * (46 + 28 + 8) + 46 + (46 + 28 + 8));
    // Twice a layer, but for the load of the last one. An add is 28 + 6.
    const Index pe = pes[static_cast<std::size_t>(program)];
    const std::uint64_t all_children = children_of(pe, 128), all_parent = pe == 0 ? 0 : 1;
    const Counts& reduce = found.phases["all_reduce"];
    EXPECT_EQ(reduce.commands, 4 * (3 * all_children + 2 * all_parent + 1) + 3) << program;
    EXPECT_EQ(reduce.bytes, 4 * ((2 * 17 + 34) * all_children + 2 * 17 * all_parent + 34) + 3 * 21)
        << program;
    // Fills of m, l, O, and receives of three messages from each child; between the phases.
    check("loop", 3 + 3 * children, 3 * 17 + 3 * 17 * children);
  }
  // 16 members: 15 edges, the 8 + 4 + 2 + 1 subtrees of which have 1, 2, 4, 8 members, 32 together.
  // A record is 80 entries of 2 bytes, a share of the heads 64; a state O, m, l of 8 rows.
  EXPECT_EQ(totals["qkv"].sends, 2U * 8 * 30);
  EXPECT_EQ(totals["qkv"].sent_bytes, 2U * 8 * (32 * 160 + 15 * 16 * 160));
  EXPECT_EQ(totals["merge"].sends, 2U * 8 * 15 * 4);
  EXPECT_EQ(totals["merge"].sent_bytes, 2U * 8 * (15 * (4096 + 32 + 32) + 32 * 128));
  // 127 edges, 8192 entries up and down.
  EXPECT_EQ(totals["all_reduce"].sends, 4U * 127 * 2);
  EXPECT_EQ(totals["all_reduce"].sent_bytes, 4U * 127 * 2 * 16384);
  EXPECT_EQ(totals["out_proj"].sends + totals["mlp"].sends + totals["loop"].sends, 0U);
}

// The projection of q, k, v takes most: x, gamma, y of 16384 bytes each, the attended heads and q
// of 1024 entries, k and v of 128, 16 records of 80; above them the recipe's squares (f32), xn, and
// ss, ms and r of 4 bytes. In the mlp h, xn and the recipe lie above x, gamma and y, in the
// all-reduce two slots.
TEST(LlamaDecodeStep, ScratchOfLlama70B) {
  const runtime::Launch launch(catalogue_kernel("llama_layer"), {{"s_kv", "131072"}},
                               llama70b_4sip());
  const std::uint64_t heads = 2 * 1024 * 2 + 2 * 128 * 2 + 16 * 80 * 2;
  EXPECT_EQ(launch.scratch_peak_bytes(), 3 * 16384 + heads + 4 * 8192 + 2 * 8192 + 3 * 4);
}

// A program's weights of a layer: 8192 x (80 + 64 + 3 * 224) f16; its part of the cache 8192 tokens
// of K and of V; x, the two norms and out. All are multiples of 4096 bytes.
TEST(LlamaDecodeStep, HbmOfLlama70B) {
  const Kernel kernel = catalogue_kernel("llama_decode_step");
  const arch::TopologyConfig topology = llama70b_4sip();
  const runtime::Launch launch(kernel, {{"s_kv", "131072"}}, topology);
  std::vector<std::uint64_t> used(topology.pes(), 0);
  for (const runtime::DeviceTensor& tensor : launch.tensors()) {
    for (const runtime::Part& part : tensor->parts) {
      used[part.pe] = std::max(used[part.pe], part.handle.range().end);
    }
  }
  const std::uint64_t layer = 8192 * (80 + 64 + 3 * 224) * 2 + 2 * 8192 * 128 * 2 + 2 * 16384;
  for (std::size_t pe = 0; pe < used.size(); ++pe) {
    EXPECT_EQ(used[pe], 80 * layer + 16384 + (pe == 0 ? 16384 : 0)) << pe;
  }
}

}  // namespace
}  // namespace kernbench::kernels
