// SPDX-License-Identifier: Apache-2.0
#include "kernels/split_decode.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tlm_if/command/error.hpp"

namespace kernbench::kernels {

Team Groups::team(Index program) const {
  Team team;
  const Index first = program / members() * members();
  for (Index i = 0; i < members(); ++i) team.programs.push_back(first + i);
  team.place = program - first;
  return team;
}

std::vector<std::uint32_t> Groups::pes(const tl::Target& target) const {
  std::vector<std::uint32_t> pes;
  for (Index group = 0; group < count; ++group) {
    const Index sip = group % target.sips, slot = group / target.sips;
    const Index per_sip = target.cubes_per_sip / c;
    const Index first_cube = slot % per_sip * c, first_pe = slot / per_sip * p;
    for (Index i = 0; i < members(); ++i) {
      const Index cube = sip * target.cubes_per_sip + first_cube + i / p;
      pes.push_back(static_cast<std::uint32_t>(cube * target.pes_per_cube + first_pe + i % p));
    }
  }
  return pes;
}

Tiles TileSplit::of(Index place) const {
  const Index first = std::min(place * each(), tiles);
  return {first, std::min(each(), tiles - first)};
}

Team TileSplit::takers(Team group) const {
  group.programs.resize(static_cast<std::size_t>(ceil_div(tiles, each())));
  return group;
}

Index groups_on(const tl::Target& target, Index c, Index p) {
  return target.sips * (target.cubes_per_sip / c) * (target.pes_per_cube / p);
}

void check_group(std::string_view kernel, Index c, Index p, const tl::Target& target) {
  const auto fit = [&](const char* name, Index value, const char* limit_name, Index limit) {
    if (value <= limit) return;
    throw InputError(
        fmt::format("{0}: {1}={2} exceeds {3}={4} of the topology; give at most {1}={4}", kernel,
                    name, value, limit_name, limit));
  };
  fit("c", c, "cubes_per_sip", target.cubes_per_sip);
  fit("p", p, "pes_per_cube", target.pes_per_cube);
}

std::vector<FlashState> receive_states(tl::Context& tl, const Team& team, const TreeLinks& links,
                                       Index rows, Index d) {
  std::vector<FlashState> parts;
  for (const Index child : links.children) {
    const FlashState part{tl.empty({rows}, tl::f32).named("m_part"),
                          tl.empty({rows}, tl::f32).named("l_part"),
                          tl.empty({rows, d}, tl::f32).named("O_part")};
    for (const auto& tensor : {part.O, part.m, part.l}) tl.recv(team.program(child), tensor);
    parts.push_back(part);
  }
  return parts;
}

void merge_states(tl::Context& tl, const Team& team, const TreeLinks& links,
                  const FlashState& state, const std::vector<FlashState>& parts) {
  for (const FlashState& part : parts) {
    tl.composite(tl::recipe(tl::state_merge(state.m, state.l, state.O, part.m, part.l, part.O)));
  }
  if (!links.parent) return;
  for (const auto& tensor : {state.O, state.m, state.l}) {
    tl.send(team.program(*links.parent), tensor);
  }
}

}  // namespace kernbench::kernels
