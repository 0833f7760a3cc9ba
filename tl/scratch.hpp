// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tlm_if/command/error.hpp"
#include "tlm_if/command/tensor_handle.hpp"

namespace kernbench::tl {

/// The line of the kernel that allocates, for the message of R4.4.
struct CallSite {
  const char* file = "";
  int line = 0;

  static constexpr CallSite here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// An allocation that does not fit the scratch of the target. A caller that knows where the target
/// comes from may add how to enlarge it.
class ScratchExhausted : public InputError {
 public:
  using InputError::InputError;
};

/// TCM scratch: a bump allocator (R4.4). Allocations form a stack; a scope remembers its height.
class Scratch {
 public:
  Scratch(command::Address base, std::uint64_t bytes);

  /// Identifies one allocation, also after its end, since `id`, the first handle id on it, is never
  /// reused.
  struct Lease {
    std::size_t index = 0;
    command::HandleId id = 0;
  };
  struct Block {
    command::Address addr = 0;
    Lease lease;
  };
  /// `bytes` bytes at the next multiple of 64. `id` is the first handle id on them, `name` may be
  /// empty. Throws ScratchExhausted if they do not fit.
  Block allocate(std::uint64_t bytes, command::HandleId id, std::string_view name, CallSite site);
  /// If `handle` covers a whole allocation, the allocation takes the handle's name, for messages.
  void rename(const command::TensorHandle& handle);

  struct Mark {
    command::Address top = 0;
  };
  Mark mark() const { return {top_}; }
  /// Ends every allocation at or above `mark`.
  void release(Mark mark);

  bool is_live(Lease lease) const {
    return lease.index < allocations_.size() && allocations_[lease.index].id == lease.id;
  }
  /// The live allocation that holds the handle's bytes and is not younger than the handle, if there
  /// is one.
  std::optional<Lease> find(const command::TensorHandle& handle) const;
  command::ByteRange region() const { return {base_, base_ + bytes_}; }
  /// The highest end of an allocation so far, as an offset.
  std::uint64_t peak_bytes() const { return peak_; }

 private:
  struct Allocation {
    command::Address begin = 0;
    std::uint64_t bytes = 0;
    command::HandleId id = 0;
    command::Name name;
    std::size_t site = 0;
  };
  struct Site {
    CallSite place;
    std::uint64_t allocations = 0;
  };

  /// Index of the last allocation that starts at or before `addr`; the number of them if none.
  std::size_t index_of(command::Address addr) const;
  std::size_t site_index(CallSite site);
  [[noreturn]] void exhausted(std::uint64_t bytes, std::uint64_t free, std::string_view name,
                              std::size_t site) const;

  command::Address base_;
  std::uint64_t bytes_;
  command::Address top_;
  std::uint64_t peak_ = 0;
  std::vector<Allocation> allocations_;  // ascending addresses
  std::vector<Site> sites_;              // in order of first use
};

}  // namespace kernbench::tl
