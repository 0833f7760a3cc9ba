// SPDX-License-Identifier: Apache-2.0
#include "model/arch/bursts.hpp"

#include <algorithm>

namespace kernbench::arch {

BurstCursor::BurstCursor(const Slice& slice, std::uint32_t burst_bytes)
    : addr_(slice.addr), burst_bytes_(burst_bytes) {
  const bool by_row = slice.col_stride == 1;
  const auto inner = static_cast<std::uint64_t>(by_row ? slice.cols : slice.rows);
  const auto outer = static_cast<std::uint64_t>(by_row ? slice.rows : slice.cols);
  const auto stride = static_cast<std::uint64_t>(by_row ? slice.row_stride : slice.col_stride);
  if (stride == inner) {
    run_ = command::bytes_of(slice.dtype, inner * outer);
    runs_left_ = 0;
  } else {
    run_ = command::bytes_of(slice.dtype, inner);
    runs_left_ = outer - 1;
    stride_ = command::bytes_of(slice.dtype, stride);
  }
  rest_ = run_;
}

Burst BurstCursor::peek() const {
  std::uint64_t size = std::min<std::uint64_t>(burst_bytes_, rest_);
  const std::uint64_t alignment = addr_ & (~addr_ + 1);  // lowest set bit; 0 at address 0
  if (alignment != 0) size = std::min(size, alignment);
  while ((size & (size - 1)) != 0) size &= size - 1;  // the largest power of two in it
  return {addr_, static_cast<std::uint32_t>(size), offset_};
}

void BurstCursor::advance(std::uint32_t bytes) {
  addr_ += bytes;
  offset_ += bytes;
  rest_ -= bytes;
  if (rest_ == 0 && runs_left_ > 0) {
    --runs_left_;
    addr_ = addr_ - run_ + stride_;
    rest_ = run_;
  }
}

}  // namespace kernbench::arch
