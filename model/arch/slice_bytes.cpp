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

}  // namespace

void gather(const Storage& storage, const Slice& source, const Slice& target,
            std::vector<std::uint8_t>& bytes) {
  const MemoryRows from = memory_rows(source);
  const MemoryRows to = memory_rows(target);
  bytes.resize(target.bytes());
  if (from.by_row == to.by_row) {
    const std::uint64_t run =
        command::bytes_of(source.dtype, static_cast<std::uint64_t>(from.inner));
    for (Index i = 0; i < from.outer; ++i) {
      storage.read(row_address(source, from, i), bytes.data() + static_cast<std::uint64_t>(i) * run,
                   run);
    }
    return;
  }
  const std::uint64_t entry = command::bytes_of(source.dtype, 1);
  for (Index i = 0; i < to.outer; ++i) {
    for (Index j = 0; j < to.inner; ++j) {
      storage.read(to.by_row ? source.element_address(i, j) : source.element_address(j, i),
                   bytes.data() + static_cast<std::uint64_t>(i * to.inner + j) * entry, entry);
    }
  }
}

void scatter(Storage& storage, const Slice& target, const Slice& source,
             const std::vector<std::uint8_t>& bytes) {
  const MemoryRows from = memory_rows(source);
  const MemoryRows to = memory_rows(target);
  const std::uint64_t run = command::bytes_of(source.dtype, static_cast<std::uint64_t>(from.inner));
  if (from.by_row == to.by_row) {
    for (Index i = 0; i < from.outer; ++i) {
      storage.write(row_address(target, to, i), bytes.data() + static_cast<std::uint64_t>(i) * run,
                    run);
    }
    return;
  }
  const std::uint64_t entry = command::bytes_of(source.dtype, 1);
  for (Index i = 0; i < from.outer; ++i) {
    for (Index j = 0; j < from.inner; ++j) {
      storage.write(from.by_row ? target.element_address(i, j) : target.element_address(j, i),
                    bytes.data() + static_cast<std::uint64_t>(i * from.inner + j) * entry, entry);
    }
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
