// SPDX-License-Identifier: Apache-2.0
#include "model/arch/wait_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace kernbench::arch {

using Kind = WaitNode::Kind;

namespace {

constexpr std::size_t kShownOfCycle = 8;

}  // namespace

bool operator<(const WaitNode& x, const WaitNode& y) {
  return std::tie(x.pe, x.kind, x.number, x.peer) < std::tie(y.pe, y.kind, y.number, y.peer);
}

void WaitGraph::add_pe(std::uint32_t pe, std::string name, bool returned) {
  pes_[pe] = {std::move(name), returned};
}

void WaitGraph::add_command(std::uint32_t pe, std::uint64_t number, std::string_view label) {
  labels_[WaitNode::command(pe, number)] = label;
}

void WaitGraph::add(const WaitNode& from, const WaitNode& to, std::string reason) {
  edges_[from].push_back({to, std::move(reason)});
}

void WaitGraph::note(const WaitNode& node, std::string text) {
  notes_[node].push_back(std::move(text));
}

void WaitGraph::provide(const WaitNode& resource, const WaitNode& command) {
  providers_.emplace(resource, command);
}

WaitNode WaitGraph::provider(const WaitNode& resource) const {
  const auto command = providers_.find(resource);
  if (command != providers_.end()) return command->second;
  return WaitNode::kernel(resource.kind == Kind::message ? resource.pe : resource.peer);
}

std::vector<WaitNode> WaitGraph::successors(const WaitNode& node) const {
  std::vector<WaitNode> nodes;
  const auto edges = edges_.find(node);
  if (edges == edges_.end()) return nodes;
  for (const Edge& edge : edges->second) {
    nodes.push_back(edge.to.is_resource() ? provider(edge.to) : edge.to);
  }
  return nodes;
}

std::string WaitGraph::name(std::uint32_t pe) const {
  const auto found = pes_.find(pe);
  return found != pes_.end() ? found->second.name : fmt::format("PE {}", pe);
}

std::string WaitGraph::text(const WaitNode& node) const {
  switch (node.kind) {
    case Kind::kernel:
      return "kernel";
    case Kind::message:
      return fmt::format("a message from {} on channel {}", name(node.pe), node.number);
    case Kind::room:
      return fmt::format("a free slot at {} on channel {}", name(node.peer), node.number);
    case Kind::command:
      break;
  }
  const auto label = labels_.find(node);
  return label != labels_.end() ? fmt::format("command {} ({})", node.number, label->second)
                                : fmt::format("command {}", node.number);
}

std::string WaitGraph::missing(const WaitNode& resource) const {
  const bool message = resource.kind == Kind::message;
  const WaitNode who = provider(resource);
  const auto pe = pes_.find(who.pe);
  const std::string channel =
      fmt::format("{} on channel {}", name(message ? resource.peer : resource.pe), resource.number);
  if (who.kind == Kind::kernel && pe != pes_.end() && pe->second.returned) {
    return fmt::format("has returned: nobody will {} {}", message ? "send to" : "receive from",
                       channel);
  }
  return fmt::format("has not {} {}", message ? "sent to" : "received from", channel);
}

std::vector<std::string> WaitGraph::lines() const {
  std::map<WaitNode, std::vector<std::string>> lines;
  const auto add = [&](const WaitNode& node, const std::string& line) {
    std::vector<std::string>& of_node = lines[node];
    // Several may wait for the same thing.
    if (std::find(of_node.begin(), of_node.end(), line) == of_node.end()) of_node.push_back(line);
  };
  for (const auto& [node, edges] : edges_) {
    for (const Edge& edge : edges) add(node, fmt::format("{} {}", edge.reason, text(edge.to)));
  }
  for (const auto& [node, notes] : notes_) {
    for (const std::string& text : notes) add(node, text);
  }
  for (const auto& [node, edges] : edges_) {
    for (const Edge& edge : edges) {
      if (edge.to.is_resource()) add(provider(edge.to), missing(edge.to));
    }
  }
  std::vector<std::string> all;
  for (const auto& [node, of_node] : lines) {
    for (const std::string& line : of_node) {
      all.push_back(fmt::format("{}: {} {}", name(node.pe), text(node), line));
    }
  }
  return all;
}

std::string WaitGraph::cycle() const {
  std::set<WaitNode> without;  // no cycle can be reached from these
  for (const auto& [start, edges] : edges_) {
    // Depth first, without recursion: a chain may go through every PE.
    struct Step {
      WaitNode node;
      std::vector<WaitNode> left;  // to be visited; the next one is last
    };
    std::vector<Step> way;
    const auto enter = [&](const WaitNode& node) {
      std::vector<WaitNode> next = successors(node);
      std::reverse(next.begin(), next.end());
      way.push_back({node, std::move(next)});
    };
    const auto is = [](const WaitNode& x) {
      return [&x](const auto& step) { return !(step.node < x) && !(x < step.node); };
    };
    if (without.count(start) == 0) enter(start);
    while (!way.empty()) {
      if (way.back().left.empty()) {
        without.insert(way.back().node);
        way.pop_back();
        continue;
      }
      const WaitNode next = way.back().left.back();
      way.back().left.pop_back();
      if (without.count(next) != 0) continue;
      const auto seen = std::find_if(way.begin(), way.end(), is(next));
      if (seen == way.end()) {
        enter(next);
        continue;
      }
      // A kernel waits for commands only: there is a command in every cycle.
      std::vector<WaitNode> nodes;
      for (auto step = seen; step != way.end(); ++step) nodes.push_back(step->node);
      const auto first =
          std::min_element(nodes.begin(), nodes.end(), [](const WaitNode& x, const WaitNode& y) {
            return x.kind != y.kind ? x.kind > y.kind : x < y;  // commands before kernels
          });
      std::rotate(nodes.begin(), first, nodes.end());
      // The lines have all of them.
      const std::size_t shown = std::min(nodes.size(), kShownOfCycle);
      std::string line;
      for (std::size_t i = 0; i < shown; ++i) {
        line += fmt::format("{} {} -> ", name(nodes[i].pe), text(nodes[i]));
      }
      if (shown < nodes.size()) line += fmt::format(".. {} more .. -> ", nodes.size() - shown);
      return line + fmt::format("{} command {}", name(nodes.front().pe), nodes.front().number);
    }
  }
  return {};
}

}  // namespace kernbench::arch
