// SPDX-License-Identifier: Apache-2.0
#include "runtime/host.hpp"

#include <fmt/format.h>

#include <numeric>

#include "runtime/run.hpp"
#include "runtime/summary_json.hpp"

namespace kernbench::runtime {
namespace {

using command::DType;
using command::Index;
using command::Shape;

DType device_dtype(const std::string& path, std::string_view name, FileDType dtype) {
  switch (dtype) {
    case FileDType::f16:
      return DType::f16;
    case FileDType::bf16:
      return DType::bf16;
    case FileDType::f32:
      return DType::f32;
    case FileDType::f64:
      break;
  }
  throw InputError(
      fmt::format("{}: tensor '{}' has dtype F64, which no PE knows; store it as F16, BF16 or F32",
                  path, name));
}

Shape device_shape(const std::vector<std::int64_t>& file_shape) {
  if (file_shape.empty()) return Shape::vector(1);
  if (file_shape.size() == 1) return Shape::vector(file_shape[0]);
  const Index rows = std::accumulate(file_shape.begin(), file_shape.end() - 1, Index{1},
                                     [](Index x, Index y) { return x * y; });
  return Shape::matrix(rows, file_shape.back());
}

}  // namespace

Host::Host(std::string_view name, const arch::TopologyConfig& topology, bool data,
           const StagePaths& outputs)
    : topology_(topology),
      data_(data),
      files_(std::make_unique<StageFiles>(outputs)),
      memory_(topology),
      design_(std::string(name).c_str(), topology, {data}) {
  files_->add_machine(topology_);
  files_->attach(design_.recorder);
}

DeviceTensor Host::place(std::string_view name, const Shape& shape, DType dtype,
                         kernels::Sharding sharding, const std::vector<std::uint32_t>& pes) {
  kernels::TensorSpec spec;
  spec.name = name;
  spec.shape = shape;
  spec.dtype = dtype;
  spec.shard = std::move(sharding);
  std::vector<std::uint32_t> all(topology_.pes());
  std::iota(all.begin(), all.end(), 0);
  return memory_.place({spec}, pes.empty() ? all : pes).front();
}

DeviceTensor Host::empty(std::string_view name, const Shape& shape, DType dtype,
                         kernels::Sharding sharding, const std::vector<std::uint32_t>& pes) {
  return place(name, shape, dtype, std::move(sharding), pes);
}

DeviceTensor Host::zeros(std::string_view name, const Shape& shape, DType dtype,
                         kernels::Sharding sharding, const std::vector<std::uint32_t>& pes) {
  return from_values(name, shape, dtype,
                     std::vector<double>(data_ ? static_cast<std::size_t>(shape.elements()) : 0, 0),
                     std::move(sharding), pes);
}

DeviceTensor Host::from_values(std::string_view name, const Shape& shape, DType dtype,
                               const std::vector<double>& values, kernels::Sharding sharding,
                               const std::vector<std::uint32_t>& pes) {
  if (data_ && static_cast<Index>(values.size()) != shape.elements()) {
    throw InputError(
        fmt::format("tensor {} {} has {} entries and {} values are given; give one an "
                    "entry",
                    name, to_string(shape), shape.elements(), values.size()));
  }
  DeviceTensor tensor = place(name, shape, dtype, std::move(sharding), pes);
  if (data_) design_.write(tensor, values);
  return tensor;
}

DeviceTensor Host::from_file(const std::string& path, std::string_view name,
                             kernels::Sharding sharding, const std::vector<std::uint32_t>& pes) {
  const FileTensors tensors = read_safetensors(path);
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    std::string names;
    for (const auto& entry : tensors) names += (names.empty() ? "" : ", ") + entry.first;
    throw InputError(fmt::format("{}: no tensor '{}'; the file has {}", path, name, names));
  }
  const FileTensor& tensor = found->second;
  const DType dtype = device_dtype(path, name, tensor.dtype);
  return from_values(name, device_shape(tensor.shape), dtype, tensor.values, std::move(sharding),
                     pes);
}

void Host::launch(std::string title, KernelLaunch::Body body, std::vector<DeviceTensor> arguments,
                  const Grid& grid) {
  const KernelLaunch launch(std::move(title), topology_, std::move(body), std::move(arguments),
                            grid);
  for (const DeviceTensor& tensor : launch.arguments()) {
    for (const Part& part : tensor->parts) {
      const auto program = static_cast<std::size_t>(part.program);
      if (program >= launch.pes().size() || launch.pes()[program] == part.pe) continue;
      throw InputError(fmt::format(
          "{}: program {} runs on PE {}, and its part of {} lies on PE {}; place the tensor on the "
          "PEs of the grid",
          launch.title(), program, launch.pes()[program], tensor->spec.name, part.pe));
    }
  }
  design_.launch(launch);
}

void Host::run() { run_to_end({{&design_, design_.name()}}, false); }

void Host::finish() {
  if (finished_) return;
  if (!design_.done()) {
    throw InputError(fmt::format(
        "{}: finish() comes before run() has brought every launch to its end, and no file is "
        "written; call run() first",
        design_.name()));
  }
  finished_ = true;
  for (Pe* pe : design_.machine.pes()) pe->set_recorder(nullptr);
  const RunResult result = result_of(design_, topology_);
  design_.recorder.finish(result.sim_time_ps);
  files_->write_summary(summary_json(result));
}

}  // namespace kernbench::runtime
