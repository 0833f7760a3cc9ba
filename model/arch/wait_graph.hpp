// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kernbench::arch {

/// A node that waits or that is waited for.
struct WaitNode {
  enum class Kind : std::uint8_t {
    kernel,   ///< of `pe`
    command,  ///< `number` of `pe`
    message,  ///< the next message from `pe` to `peer` on channel `number`
    room,     ///< a free slot at `peer` for such a message
  };
  std::uint32_t pe = 0;
  Kind kind = Kind::kernel;
  std::uint64_t number = 0;
  std::uint32_t peer = 0;

  static WaitNode kernel(std::uint32_t pe) { return {pe, Kind::kernel, 0, 0}; }
  static WaitNode command(std::uint32_t pe, std::uint64_t number) {
    return {pe, Kind::command, number, 0};
  }
  static WaitNode message(std::uint32_t from, std::uint32_t to, std::uint32_t channel) {
    return {from, Kind::message, channel, to};
  }
  static WaitNode room(std::uint32_t from, std::uint32_t to, std::uint32_t channel) {
    return {from, Kind::room, channel, to};
  }
  bool is_resource() const { return kind == Kind::message || kind == Kind::room; }
};
bool operator<(const WaitNode& x, const WaitNode& y);

/// Who waits for what, over all PEs, when a run makes no progress. Each component adds what it
/// knows. A wait for a message or a free slot points to the command that provides it, if that
/// command has been issued, otherwise to the kernel that would issue it. A node waits for all of
/// its successors, so every cycle is a deadlock.
class WaitGraph {
 public:
  /// `returned`: the PE's kernel issues nothing more.
  void add_pe(std::uint32_t pe, std::string name, bool returned);
  /// `label` as in command::label.
  void add_command(std::uint32_t pe, std::uint64_t number, std::string_view label);
  /// `from` is a kernel or command; `to` is a command of the same PE or a resource. `reason` is the
  /// text between them.
  void add(const WaitNode& from, const WaitNode& to, std::string reason = "waits for");
  /// Says why a kernel or command that waits for no node has not ended: `has not finished`.
  void note(const WaitNode& node, std::string text);
  /// Sets the command that sends the message, or that receives the slot. Only the first call for a
  /// resource counts.
  void provide(const WaitNode& resource, const WaitNode& command);

  /// One line per wait, and one for each message or slot that does not come; sorted by PE, its
  /// kernel first.
  std::vector<std::string> lines() const;
  /// The first cycle, from its first command on, such as `pe0 command 4 (recv) -> pe1 kernel -> pe1
  /// command 2 (recv) -> pe0 kernel -> pe0 command 4`, shortened if it is long; empty if there is
  /// no cycle.
  std::string cycle() const;

 private:
  struct Pe {
    std::string name;
    bool returned = false;
  };
  struct Edge {
    WaitNode to;
    std::string reason;
  };

  /// The command that provides it, or the kernel of the PE that would issue that command.
  WaitNode provider(const WaitNode& resource) const;
  std::vector<WaitNode> successors(const WaitNode& node) const;
  std::string name(std::uint32_t pe) const;
  /// `kernel`, `command 17 (recv)`, `a message from pe5 on channel 0`.
  std::string text(const WaitNode& node) const;
  /// Why `resource` does not come, from the side of its provider.
  std::string missing(const WaitNode& resource) const;

  std::map<std::uint32_t, Pe> pes_;
  std::map<WaitNode, std::string> labels_;
  std::map<WaitNode, std::vector<Edge>> edges_;
  std::map<WaitNode, std::vector<std::string>> notes_;
  std::map<WaitNode, WaitNode> providers_;
};

}  // namespace kernbench::arch
