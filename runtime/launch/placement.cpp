// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/placement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tlm_if/command/error.hpp"

namespace kernbench::runtime {
namespace {

using command::Index;
using kernels::Shard;
using kernels::TensorSpec;

Shard shard_of(const TensorSpec& spec, Index program) {
  Shard shard = spec.shard ? spec.shard(program) : Shard{{{0, spec.shape.rows()}}};
  if (shard.cols == 0) shard.cols = spec.shape.cols() - shard.first_col;
  const auto inside = [](Index begin, Index count, Index size) {
    return begin >= 0 && count > 0 && begin <= size - count;
  };
  const bool sound = std::all_of(
      shard.rows.begin(), shard.rows.end(),
      [&](const Shard::Rows& rows) { return inside(rows.begin, rows.count, spec.shape.rows()); });
  if (!sound || !inside(shard.first_col, shard.cols, spec.shape.cols())) {
    throw InputError(
        fmt::format("the shard of {} {} for program {} reaches out of it; give rows and columns of "
                    "the tensor",
                    spec.name, to_string(spec.shape), program));
  }
  return shard;
}

command::Shape shape_of(const TensorSpec& spec, const Shard& shard) {
  Index rows = 0;
  for (const Shard::Rows& block : shard.rows) rows += block.count;
  return spec.shape.rank() == 1 ? command::Shape::vector(shard.cols)
                                : command::Shape::matrix(rows, shard.cols);
}

}  // namespace

const Part* PlacedTensor::part_of(Index program) const {
  const auto found =
      std::lower_bound(parts.begin(), parts.end(), program,
                       [](const Part& part, Index number) { return part.program < number; });
  return found == parts.end() || found->program != program ? nullptr : &*found;
}

DeviceMemory::DeviceMemory(const arch::TopologyConfig& topology) {
  const std::uint64_t own = topology.pes_per_cube == 1
                                ? topology.hbm.bytes
                                : topology.hbm.bytes / topology.pes_per_cube /
                                      command::kHbmTensorAlignment * command::kHbmTensorAlignment;
  for (std::uint32_t pe = 0; pe < topology.pes(); ++pe) {
    Area area;
    if (topology.hbm.map == arch::HbmMap::interleaved) {
      area.next = pe % topology.pes_per_cube * own;
    }
    area.bytes = {area.next, area.next + own};
    areas_.push_back(std::move(area));
  }
}

std::vector<DeviceTensor> DeviceMemory::place(const std::vector<TensorSpec>& specs,
                                              const std::vector<std::uint32_t>& pes) {
  const std::vector<Area> before = areas_;
  try {
    std::vector<DeviceTensor> tensors;
    for (const TensorSpec& spec : specs) tensors.push_back(place_one(spec, pes));
    check();
    return tensors;
  } catch (const InputError&) {
    areas_ = before;
    throw;
  }
}

void DeviceMemory::check() const {
  for (std::size_t pe = 0; pe < areas_.size(); ++pe) {
    const Area& area = areas_[pe];
    if (area.next <= area.bytes.end) continue;
    throw InputError(fmt::format(
        "the tensors on PE {} need {} bytes of HBM and there are {}: {}; choose smaller tensors or "
        "enlarge hbm.bytes",
        pe, area.next - area.bytes.begin, area.bytes.size(), area.list));
  }
}

DeviceTensor DeviceMemory::place_one(const TensorSpec& spec,
                                     const std::vector<std::uint32_t>& pes) {
  auto tensor = std::make_shared<PlacedTensor>();
  tensor->spec = spec;
  for (std::size_t program = 0; program < pes.size(); ++program) {
    Part part;
    part.program = static_cast<Index>(program);
    part.shard = shard_of(spec, part.program);
    if (part.shard.rows.empty()) continue;
    part.pe = pes[program];
    Area& area = areas_.at(part.pe);
    const command::Address begin = command::align_up(area.next, command::kHbmTensorAlignment);
    part.handle = command::make_handle(0, begin, shape_of(spec, part.shard), spec.dtype,
                                       command::Space::hbm, spec.name);
    area.next = part.handle.range().end;
    area.list += fmt::format("{}{} {} bytes at {:#x}", area.list.empty() ? "" : ", ", spec.name,
                             part.handle.bytes(), begin);
    tensor->parts.push_back(std::move(part));
  }
  return tensor;
}

}  // namespace kernbench::runtime
