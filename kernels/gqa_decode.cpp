// SPDX-License-Identifier: Apache-2.0
#include "kernels/gqa_decode.hpp"

#include <algorithm>
#include <cmath>

namespace kernbench::kernels {
namespace {

struct Decode {
  std::string variant;
  Index rows;  // of one KV head: g * t_q
  Index d, s_kv, tile, kv_heads;
  DType dtype, stats;

  Index tiles() const { return (s_kv + tile - 1) / tile; }
  /// Of tile j: the last one has its true size (R8.4).
  Index length(Index j) const { return std::min(tile, s_kv - j * tile); }
  double scale() const { return 1 / std::sqrt(static_cast<double>(d)); }
};

using Ring = tl::Ring<2>;

Ring make_ring(tl::Context& tl, const Decode& p, const std::string& name) {
  const Ring ring = tl.ring<2>({p.rows, p.tile}, p.dtype);
  return Ring({ring[0].named(name + "0"), ring[1].named(name + "1")});
}

/// One KV head: its slices of K and V in HBM, and what every variant keeps in TCM.
struct Head {
  tl::Tensor k, v, q, m, l, O;
  Ring S;
};

Head make_head(tl::Context& tl, const Decode& p, const std::vector<tl::Tensor>& bound, Index head) {
  return {bound[1].rows(head * p.s_kv, p.s_kv),
          bound[2].rows(head * p.s_kv, p.s_kv),
          tl.load(bound[0].rows(head * p.rows, p.rows)),
          tl.full({p.rows}, tl::kMinusInf, p.stats).named("m"),
          tl.zeros({p.rows}, p.stats).named("l"),
          tl.zeros({p.rows, p.d}, p.stats).named("O"),
          make_ring(tl, p, "S")};
}

tl::Tensor slot(const Decode& p, const Ring& ring, Index j) {
  return ring[j].first({p.rows, p.length(j)});
}
tl::Tensor tile(const Decode& p, const tl::Tensor& cache, Index j) {
  return cache.rows(j * p.tile, p.length(j));
}

/// #1: scaled scores of tile j; K lies (s_kv, d), the transposed view costs nothing (R8.4).
void issue_scores(tl::Context& tl, const Decode& p, const Head& h, Index j) {
  tl.composite(
      tl::gemm(h.q, tile(p, h.k, j).t()).out(slot(p, h.S, j)).epilogue(tl::scale(p.scale())));
}

// The loops of R13.2. All issue #1(0) first.

/// Three composites a tile: softmax_merge, P.V + O, the next scores.
void loop_opt1(tl::Context& tl, const Decode& p, const Head& h) {
  const auto P = tl.empty({p.rows, p.tile}, p.dtype).named("P");
  auto loop = tl.region("loop");
  issue_scores(tl, p, h, 0);
  for (Index j = 0; j < p.tiles(); ++j) {
    const auto p_j = P.first({p.rows, p.length(j)});
    tl.composite(tl::recipe(tl::softmax_merge(slot(p, h.S, j), h.m, h.l, h.O)).out(p_j));
    tl.composite(tl::gemm(p_j, tile(p, h.v, j)).out(h.O).epilogue(tl::add(h.O)));
    if (j + 1 < p.tiles()) issue_scores(tl, p, h, j + 1);
  }
}

/// Two composites a tile: #2 fuses softmax_merge and P.V + O; then the next scores.
void loop_opt2(tl::Context& tl, const Decode& p, const Head& h) {
  auto loop = tl.region("loop");
  issue_scores(tl, p, h, 0);
  for (Index j = 0; j < p.tiles(); ++j) {
    tl.composite(tl::gemm()
                     .b(tile(p, h.v, j))
                     .out(h.O)
                     .prologue(tl::softmax_merge(slot(p, h.S, j), h.m, h.l, h.O))
                     .epilogue(tl::add(h.O)));
    if (j + 1 < p.tiles()) issue_scores(tl, p, h, j + 1);
  }
}

/// Ten commands a tile: the next scores, softmax_merge as eight simple commands, P.V + O.
void loop_opt3(tl::Context& tl, const Decode& p, const Head& h) {
  const Ring P = make_ring(tl, p, "P");
  const auto m_loc = tl.empty({p.rows}, p.stats).named("m_loc");
  const auto m_new = tl.empty({p.rows}, p.stats).named("m_new");
  const auto corr = tl.empty({p.rows}, p.stats).named("corr");
  const auto l_loc = tl.empty({p.rows}, p.stats).named("l_loc");
  auto loop = tl.region("loop");
  issue_scores(tl, p, h, 0);
  for (Index j = 0; j < p.tiles(); ++j) {
    if (j + 1 < p.tiles()) issue_scores(tl, p, h, j + 1);
    const auto s_j = slot(p, h.S, j), p_j = slot(p, P, j);
    tl.rmax(s_j, m_loc);
    tl.max_elem(h.m, m_loc, m_new);
    tl.exp_diff(h.m, m_new, corr);
    tl.exp_diff(s_j, m_new, p_j);
    tl.rsum(p_j, l_loc);
    tl.fma(h.l, corr, l_loc, h.l);
    tl.mul_bcast(h.O, corr, h.O);
    tl.copy(m_new, h.m);
    tl.composite(tl::gemm(p_j, tile(p, h.v, j)).out(h.O).epilogue(tl::add(h.O)));
  }
}

void run(tl::Context& tl, const Decode& p, const std::vector<tl::Tensor>& bound) {
  for (Index head = 0; head < p.kv_heads; ++head) {
    auto scope = tl.scratch_scope();
    const Head h = make_head(tl, p, bound, head);
    tl.wait({h.q, h.m, h.l, h.O});
    if (p.variant == "opt1") {
      loop_opt1(tl, p, h);
    } else if (p.variant == "opt2") {
      loop_opt2(tl, p, h);
    } else {
      loop_opt3(tl, p, h);
    }
    tl.store(bound[3].rows(head * p.rows, p.rows), tl.div_bcast(h.O, h.l, p.dtype));
    tl.observe("m", h.m);
    tl.observe("l", h.l);
    tl.observe("O", h.O);
  }
}

double dot(const double* x, const double* y, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

/// Plain two-pass softmax in float64.
Reference reference(const Decode& p, const HostTensors& inputs) {
  const std::vector<double>& q = inputs.at("q");
  const std::vector<double>& k = inputs.at("k");
  const std::vector<double>& v = inputs.at("v");
  const auto rows = static_cast<std::size_t>(p.rows), d = static_cast<std::size_t>(p.d);
  const auto s_kv = static_cast<std::size_t>(p.s_kv);
  const std::size_t all_rows = rows * static_cast<std::size_t>(p.kv_heads);
  std::vector<double> out(all_rows * d), m(all_rows), l(all_rows, 0), O(all_rows * d, 0);
  std::vector<double> scores(s_kv);
  double largest = 0;
  for (std::size_t row = 0; row < all_rows; ++row) {
    const std::size_t first = row / rows * s_kv;  // query head i uses KV head i / g (R13.3)
    for (std::size_t i = 0; i < s_kv; ++i) {
      scores[i] = dot(&q[row * d], &k[(first + i) * d], d) * p.scale();
      largest = std::max(largest, std::abs(scores[i]));
    }
    m[row] = *std::max_element(scores.begin(), scores.end());
    for (std::size_t i = 0; i < s_kv; ++i) {
      const double weight = std::exp(scores[i] - m[row]);
      l[row] += weight;
      for (std::size_t c = 0; c < d; ++c) O[row * d + c] += weight * v[(first + i) * d + c];
    }
    for (std::size_t c = 0; c < d; ++c) out[row * d + c] = O[row * d + c] / l[row];
  }
  Reference result;
  result.outputs = {
      {"out", std::move(out)}, {"m", std::move(m)}, {"l", std::move(l)}, {"O", std::move(O)}};
  result.checked = "out";
  // R13.4 is for f16 (unit roundoff 2^-11). Scores, P and out are stored in `dtype`, so the wider
  // roundoff of bf16 (2^-8) widens it. `stats` does not: whether f16 statistics hold is the
  // question.
  const double factor = std::max(1.0, largest / 8) * (p.dtype == DType::bf16 ? 8 : 1);
  result.max_rms_rel = 2e-3 * factor;
  result.max_abs_rel = 1e-2 * factor;
  return result;
}

Instance make(const Parameters& parameters, const tl::Target&) {
  const Index g = parameters.integer("g"), t_q = parameters.integer("t_q");
  const Decode p{parameters.choice("variant"),
                 g * t_q,
                 parameters.integer("d"),
                 parameters.integer("s_kv"),
                 parameters.integer("tile"),
                 parameters.integer("kv_heads"),
                 parameters.choice("dtype") == "bf16" ? DType::bf16 : DType::f16,
                 parameters.choice("stats") == "f16" ? DType::f16 : DType::f32};
  const std::vector<Index> q_shape{p.kv_heads * g, t_q, p.d}, kv_shape{p.kv_heads, p.s_kv, p.d};
  const command::Shape q_rows{p.kv_heads * p.rows, p.d}, kv_rows{p.kv_heads * p.s_kv, p.d};
  Instance instance;
  instance.tensors = {{"q", q_shape, q_rows, p.dtype, Direction::in},
                      {"k", kv_shape, kv_rows, p.dtype, Direction::in},
                      {"v", kv_shape, kv_rows, p.dtype, Direction::in},
                      {"out", q_shape, q_rows, p.dtype, Direction::out}};
  instance.body = [p](tl::Context& tl, const std::vector<tl::Tensor>& bound) { run(tl, p, bound); };
  instance.reference = [p](const HostTensors& inputs) { return reference(p, inputs); };
  instance.tiles = static_cast<std::uint64_t>(p.tiles() * p.kv_heads);
  return instance;
}

}  // namespace

Kernel gqa_decode() {
  Kernel kernel;
  kernel.name = "gqa_decode";
  kernel.summary = "flash-decode attention of grouped query heads over a K/V cache";
  kernel.parameters = {
      {"variant",
       "opt2",
       "commands a tile: opt1 three composites, opt2 two, opt3 ten commands",
       0,
       0,
       {"opt1", "opt2", "opt3"}},
      {"g", "8", "query heads of one KV head", 1, 65536},
      {"d", "128", "entries of a head", 1, 65536},
      {"s_kv", "4096", "tokens in the K/V cache", 1, Index{1} << 40},
      {"tile", "64", "tokens of a tile", 1, 65536},
      {"t_q", "1", "query tokens", 1, 65536},
      {"kv_heads", "1", "KV heads, one after the other", 1, 65536},
      {"dtype", "f16", "of q, k, v, out, scores and P", 0, 0, {"f16", "bf16"}},
      {"stats", "f32", "of m, l and O", 0, 0, {"f32", "f16"}},
  };
  kernel.make = make;
  return kernel;
}

}  // namespace kernbench::kernels
