// SPDX-License-Identifier: Apache-2.0
#include "tl/scratch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tlm_if/command/text.hpp"

namespace kernbench::tl {
namespace {

// Number of live tensors in the line of the message; its detail sums up all of them.
constexpr std::size_t kListedTensors = 8;

// Folders differ from machine to machine.
std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);  // npos + 1 == 0
}

std::string to_string(CallSite site) {
  return fmt::format("{}:{}", base_name(site.file), site.line);
}

}  // namespace

Scratch::Scratch(command::Address base, std::uint64_t bytes)
    : base_(base), bytes_(bytes), top_(base) {}

Scratch::Block Scratch::allocate(std::uint64_t bytes, command::HandleId id, std::string_view name,
                                 CallSite site) {
  const std::size_t index = site_index(site);
  const command::Address begin = command::align_up(top_, command::kTcmTensorAlignment);
  const command::Address end = base_ + bytes_;
  const std::uint64_t free = begin < end ? end - begin : 0;
  if (bytes > free) exhausted(bytes, free, name, index);
  ++sites_[index].allocations;
  allocations_.push_back({begin, bytes, id, name, index});
  top_ = begin + bytes;
  peak_ = std::max(peak_, top_ - base_);
  return {begin, {allocations_.size() - 1, id}};
}

std::size_t Scratch::index_of(command::Address addr) const {
  const auto next = std::upper_bound(
      allocations_.begin(), allocations_.end(), addr,
      [](command::Address x, const Allocation& allocation) { return x < allocation.begin; });
  return next == allocations_.begin() ? allocations_.size()
                                      : static_cast<std::size_t>(next - allocations_.begin()) - 1;
}

void Scratch::rename(const command::TensorHandle& handle) {
  const std::size_t i = index_of(handle.addr);
  if (i == allocations_.size()) return;
  Allocation& allocation = allocations_[i];
  if (allocation.begin == handle.addr && allocation.bytes == handle.range().size()) {
    allocation.name = handle.name;
  }
}

// An outer scope may have ended first, so later allocations may start below the mark.
void Scratch::release(Mark mark) {
  while (!allocations_.empty() && allocations_.back().begin >= mark.top) allocations_.pop_back();
  top_ = allocations_.empty() ? base_ : allocations_.back().begin + allocations_.back().bytes;
}

std::optional<Scratch::Lease> Scratch::find(const command::TensorHandle& handle) const {
  const command::ByteRange range = handle.range();
  const std::size_t i = index_of(range.begin);
  if (i == allocations_.size()) return std::nullopt;
  const Allocation& allocation = allocations_[i];
  const bool holds = range.end <= allocation.begin + allocation.bytes && allocation.id <= handle.id;
  return holds ? std::optional(Lease{i, allocation.id}) : std::nullopt;
}

std::size_t Scratch::site_index(CallSite site) {
  const auto found = std::find_if(sites_.begin(), sites_.end(), [&](const Site& known) {
    return known.place.line == site.line &&
           (known.place.file == site.file ||
            std::string_view(known.place.file) == std::string_view(site.file));
  });
  if (found == sites_.end()) {
    sites_.push_back({site, 0});
    return sites_.size() - 1;
  }
  return static_cast<std::size_t>(found - sites_.begin());
}

void Scratch::exhausted(std::uint64_t bytes, std::uint64_t free, std::string_view name,
                        std::size_t site) const {
  std::string live;
  for (std::size_t i = 0; i < allocations_.size() && i < kListedTensors; ++i) {
    const Allocation& a = allocations_[i];
    live +=
        fmt::format("{}{} {}", i == 0 ? "" : ", ",
                    a.name.empty() ? fmt::format("tcm#{}", a.id) : std::string(a.name), a.bytes);
  }
  if (allocations_.size() > kListedTensors) {
    live += fmt::format(" and {} more", allocations_.size() - kListedTensors);
  }
  std::string detail;
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    std::uint64_t count = 0;
    std::uint64_t sum = 0;
    for (const Allocation& a : allocations_) {
      if (a.site != i) continue;
      ++count;
      sum += a.bytes;
    }
    if (count > 0) {
      detail += fmt::format("{}: {} live, {} bytes, of {} allocated so far\n",
                            to_string(sites_[i].place), count, sum, sites_[i].allocations);
    }
  }
  const std::uint64_t before = sites_[site].allocations;
  const std::string history = before == 0 ? ""
                                          : fmt::format("; this line has allocated {} before",
                                                        command::plural(before, "tensor"));
  throw ScratchExhausted(
      fmt::format(
          "TCM scratch is exhausted: {} at {} needs {} bytes, {} of {} are free; live: {}{}; "
          "end what is not needed with a scratch_scope, or work on smaller tensors",
          name.empty() ? "a tensor" : name, to_string(sites_[site].place), bytes, free, bytes_,
          live.empty() ? "none" : live, history),
      detail);
}

}  // namespace kernbench::tl
