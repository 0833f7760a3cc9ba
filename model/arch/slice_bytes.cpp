// SPDX-License-Identifier: Apache-2.0
#include "model/arch/slice_bytes.hpp"

namespace kernbench::arch {
namespace {

using command::Index;

struct MemoryRows {
  bool by_row;
  Index outer;
  Index inner;
};

MemoryRows memory_rows(const Slice& slice) {
  const bool by_row = slice.col_stride == 1;
  return {by_row, by_row ? slice.rows : slice.cols, by_row ? slice.cols : slice.rows};
}

command::Address row_address(const Slice& slice, const MemoryRows& rows, Index i) {
  return rows.by_row ? slice.element_address(i, 0) : slice.element_address(0, i);
}

// Calls piece(address, offset, bytes) for each contiguous piece of `slice`, where `offset` is the
// piece's position among the bytes in the transfer order of `order`, a slice of the same entries.
template <class Piece>
void for_each_piece(const Slice& slice, const Slice& order, Piece piece) {
  const MemoryRows rows = memory_rows(slice);
  const MemoryRows moved = memory_rows(order);
  if (rows.by_row == moved.by_row) {
    const std::uint64_t run =
        command::bytes_of(slice.dtype, static_cast<std::uint64_t>(rows.inner));
    for (Index i = 0; i < rows.outer; ++i) {
      piece(row_address(slice, rows, i), static_cast<std::uint64_t>(i) * run, run);
    }
    return;
  }
  const std::uint64_t entry = command::bytes_of(slice.dtype, 1);
  for (Index i = 0; i < moved.outer; ++i) {
    for (Index j = 0; j < moved.inner; ++j) {
      piece(moved.by_row ? slice.element_address(i, j) : slice.element_address(j, i),
            static_cast<std::uint64_t>(i * moved.inner + j) * entry, entry);
    }
  }
}

}  // namespace

void gather(const Storage& storage, const Slice& source, const Slice& target,
            std::vector<std::uint8_t>& bytes) {
  bytes.resize(target.bytes());
  for_each_piece(source, target,
                 [&](command::Address addr, std::uint64_t offset, std::uint64_t size) {
                   storage.read(addr, bytes.data() + offset, size);
                 });
}

void scatter(Storage& storage, const Slice& target, const Slice& source,
             const std::vector<std::uint8_t>& bytes) {
  for_each_piece(target, source,
                 [&](command::Address addr, std::uint64_t offset, std::uint64_t size) {
                   storage.write(addr, bytes.data() + offset, size);
                 });
}

void byte_runs(const Slice& slice, std::vector<command::ByteRange>& runs) {
  const MemoryRows rows = memory_rows(slice);
  const std::uint64_t run = command::bytes_of(slice.dtype, static_cast<std::uint64_t>(rows.inner));
  runs.clear();
  for (Index i = 0; i < rows.outer; ++i) {
    const command::Address begin = row_address(slice, rows, i);
    command::add_range(runs, {begin, begin + run});
  }
}

void pack(const Slice& slice, const Values& values, std::vector<std::uint8_t>& bytes) {
  const MemoryRows rows = memory_rows(slice);
  const std::uint64_t entry = command::bytes_of(slice.dtype, 1);
  bytes.resize(slice.bytes());
  for (Index i = 0; i < rows.outer; ++i) {
    for (Index j = 0; j < rows.inner; ++j) {
      const Index at = rows.by_row ? i * slice.cols + j : j * slice.cols + i;
      encode(slice.dtype, values[static_cast<std::size_t>(at)],
             bytes.data() + static_cast<std::uint64_t>(i * rows.inner + j) * entry);
    }
  }
}

}  // namespace kernbench::arch
