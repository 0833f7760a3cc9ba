// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kernbench::arch {

/// What waits or is waited for.
struct WaitNode {
  enum class Kind : std::uint8_t {
    kernel,   ///< of `pe`
    command,  ///< `number` of `pe`
    message,  ///< the next from `pe` to `peer` on channel `number`
    room,     ///< a free slot at `peer` for one
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

/// Who waits for what when nothing goes on, over all PEs: each adds what it knows. A message or a
/// free slot is waited for at the command that provides it, if that has been issued, else at the
/// kernel that would issue it. A wait is for all that a node waits for, so every cycle is a
/// deadlock.
class WaitGraph {
 public:
  /// `returned`: its kernel issues nothing any more.
  void add_pe(std::uint32_t pe, std::string name, bool returned);
  /// `label` as in command::label.
  void add_command(std::uint32_t pe, std::uint64_t number, std::string_view label);
  /// `reason` stands between the two: a kernel or command, and a command of the same PE or a
  /// resource.
  void add(const WaitNode& from, const WaitNode& to, std::string reason = "waits for");
  /// What keeps a kernel or command that waits for nothing in the graph: `has not finished`.
  void note(const WaitNode& node, std::string text);
  /// The command that sends the message, or receives the slot. The first one counts.
  void provide(const WaitNode& resource, const WaitNode& command);

  /// A line a wait, and one for each message or slot that does not come; by PE, its kernel first.
  std::vector<std::string> lines() const;
  /// The first cycle, from its first command on, such as `pe0 command 4 (recv) -> pe1 kernel -> pe1
  /// command 2 (recv) -> pe0 kernel -> pe0 command 4`, a long one cut short; empty: there is none.
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

  /// Its command, or the kernel of the PE that has to act.
  WaitNode provider(const WaitNode& resource) const;
  std::vector<WaitNode> successors(const WaitNode& node) const;
  std::string name(std::uint32_t pe) const;
  /// `kernel`, `command 17 (recv)`, `a message from pe5 on channel 0`.
  std::string text(const WaitNode& node) const;
  /// Why `resource` does not come, said of its provider.
  std::string missing(const WaitNode& resource) const;

  std::map<std::uint32_t, Pe> pes_;
  std::map<WaitNode, std::string> labels_;
  std::map<WaitNode, std::vector<Edge>> edges_;
  std::map<WaitNode, std::vector<std::string>> notes_;
  std::map<WaitNode, WaitNode> providers_;
};

}  // namespace kernbench::arch
