// SPDX-License-Identifier: Apache-2.0
#include "model/arch/storage.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace kernbench::arch {

void Storage::read(command::Address addr, void* data, std::uint64_t size) const {
  assert(range_.contains({addr, addr + size}));
  auto* to = static_cast<std::uint8_t*>(data);
  while (size > 0) {
    const std::uint64_t offset = addr % kBlockBytes;
    const std::uint64_t count = std::min(size, kBlockBytes - offset);
    const auto block = blocks_.find(addr / kBlockBytes);
    if (block == blocks_.end()) {
      std::memset(to, unwritten_, count);
    } else {
      std::memcpy(to, block->second.get() + offset, count);
    }
    addr += count;
    to += count;
    size -= count;
  }
}

void Storage::write(command::Address addr, const void* data, std::uint64_t size) {
  assert(range_.contains({addr, addr + size}));
  const auto* from = static_cast<const std::uint8_t*>(data);
  while (size > 0) {
    const std::uint64_t offset = addr % kBlockBytes;
    const std::uint64_t count = std::min(size, kBlockBytes - offset);
    Block& block = blocks_[addr / kBlockBytes];
    if (!block) {
      block = std::make_unique<std::uint8_t[]>(kBlockBytes);
      if (unwritten_ != 0) std::memset(block.get(), unwritten_, kBlockBytes);
    }
    std::memcpy(block.get() + offset, from, count);
    addr += count;
    from += count;
    size -= count;
  }
}

}  // namespace kernbench::arch
