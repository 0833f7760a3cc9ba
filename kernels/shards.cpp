// SPDX-License-Identifier: Apache-2.0
#include "kernels/shards.hpp"

#include <algorithm>

#include "kernels/shapes.hpp"

namespace kernbench::kernels {
namespace {

/// The block of program `program` of `programs`, out of `size` items; it is empty if the count is 0
/// or less.
Shard::Rows block(Index size, Index programs, Index program) {
  const Index each = ceil_div(size, programs);
  const Index begin = program * each;
  return {begin, std::min(each, size - begin)};
}

}  // namespace

Sharding split_rows(Index rows, Index programs) {
  return [rows, programs](Index program) {
    const Shard::Rows own = block(rows, programs, program);
    return own.count > 0 ? Shard{{own}} : Shard{};
  };
}

Sharding split_cols(Index rows, Index cols, Index programs) {
  return [rows, cols, programs](Index program) {
    const Shard::Rows own = block(cols, programs, program);
    return own.count > 0 ? Shard{{{0, rows}}, own.begin, own.count} : Shard{};
  };
}

Sharding whole_on(Index rows, Index program) {
  return [rows, program](Index each) { return each == program ? Shard{{{0, rows}}} : Shard{}; };
}

}  // namespace kernbench::kernels
