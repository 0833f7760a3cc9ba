// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"

namespace kernbench::kernels {

// Flash attention: query rows attend to a K/V cache, tile by tile, with an online softmax. Decode
// and prefill share this code.

/// Parameters that are the same for every block of query rows.
struct Flash {
  std::string variant;          ///< of flash_variant()
  Index d = 0, tile = 0;        ///< entries of a head; tokens of a tile
  DType dtype = DType::f16;     ///< of q, k, v, scores, P and out
  DType stats = DType::f32;     ///< of m, l and O
  std::string region = "loop";  ///< around the tiles
};

/// `variant`: one of the three ways to submit a tile (R13.2). Their results are bit-equal.
Parameter flash_variant();
/// `dtype`: f16 or bf16.
Parameter flash_dtype();

/// The part of the cache that one block of query rows visits.
struct FlashCache {
  tl::Tensor k, v;   ///< (any, d), row-major in HBM
  Index tokens = 0;  ///< in the cache; the last tile has its true size (R8.4)
  Index tiles = 0;   ///< visited: 0, 1, .. tiles - 1; at least one
  /// Row of k and v where tile j starts; empty: j * tile.
  std::function<Index(Index j)> first_row = {};

  /// Row r is a query token at position first + r / rows_per_token and attends to the tokens up to
  /// it. Without Causal every row attends to every token.
  struct Causal {
    Index first = 0;
    Index rows_per_token = 1;
  };
  std::optional<Causal> causal = {};
};

/// Running maximum and sum (rows,), and weighted sum of V (rows, d), in the open scope.
struct FlashState {
  tl::Tensor m, l, O;
};

/// One block of query rows, as a head of R13.3 up to the end of its loop: load of q, fills, wait,
/// and the loop of R13.2 in its region. `q` is (rows, d) in HBM; if it is in TCM, it is not loaded.
/// The final result is O / l.
FlashState flash_attend(tl::Context& tl, const Flash& p, const FlashCache& cache,
                        const tl::Tensor& q);

/// The same in float64, row after row, by plain two-pass softmax.
class FlashReference {
 public:
  /// `inputs` holds q, k and v and must outlive the object.
  FlashReference(const HostTensors& inputs, const Flash& p);

  /// Row `row` of q over `tokens` tokens, at least one; token t is row cache_row(t) of k and v.
  void add_row(Index row, Index tokens, const std::function<Index(Index)>& cache_row);
  /// Adds a row of zeros to `out`, without m, l and O, for a row with no tokens to attend to.
  void add_empty_row();

  const std::vector<double>& m() const { return m_; }
  const std::vector<double>& l() const { return l_; }
  const std::vector<double>& weighted_sum() const { return weighted_sum_; }
  /// `out` as the checked output, with the tolerance of R13.4.
  Reference result() const;

 private:
  const std::vector<double>&q_, &k_, &v_;
  std::size_t d_;
  double scale_;
  DType dtype_;
  std::vector<double> m_, l_, weighted_sum_, out_;
  std::vector<double> scores_;
  double largest_ = 0;
};

}  // namespace kernbench::kernels
