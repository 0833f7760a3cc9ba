// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/compile.hpp"

#include <algorithm>

#include "tlm_if/command/access_set.hpp"
#include "tlm_if/command/address_map.hpp"
#include "tlm_if/command/program.hpp"

namespace kernbench::runtime {
namespace {

using command::ProgramFile;

/// The end of the highest HBM bytes that have been added.
class HbmEnd {
 public:
  void add(const command::ByteRange& range) {
    if (range.begin < command::kTcmBase) end_ = std::max(end_, range.end);
  }
  void add(const std::vector<command::ByteRange>& ranges) {
    for (const command::ByteRange& range : ranges) add(range);
  }
  void add(const command::ProgramStep& step) {
    if (const auto* command = std::get_if<command::Command>(&step)) {
      command::access_set(*command, accesses_);
      add(accesses_.reads);
      add(accesses_.writes);
    } else if (const auto* observed = std::get_if<command::ObserveStep>(&step)) {
      add(observed->handle.range());
    }
  }
  std::uint64_t bytes() const { return end_; }

 private:
  command::AccessSet accesses_;
  std::uint64_t end_ = 0;
};

ProgramFile::Tensor tensor_of(const PlacedTensor& placed) {
  const kernels::TensorSpec& spec = placed.spec;
  ProgramFile::Tensor tensor;
  tensor.name = spec.name;
  tensor.is_output = spec.direction == kernels::Direction::out;
  tensor.dtype = spec.dtype;
  tensor.shape = spec.shape;
  tensor.file_shape = spec.file_shape;
  for (const Part& from : placed.parts) {
    ProgramFile::Tensor::Part part;
    part.program = static_cast<std::uint32_t>(from.program);
    part.handle = from.handle;
    for (const auto& rows : from.shard.rows) part.rows.push_back({rows.begin, rows.count});
    part.first_col = from.shard.first_col;
    part.cols = from.shard.cols;
    tensor.parts.push_back(std::move(part));
  }
  return tensor;
}

}  // namespace

ProgramFile compile(const Launch& launch) {
  ProgramFile file;
  file.title = launch.file_title();
  file.tiles = launch.instance().tiles;
  file.scratch_bytes = launch.scratch_peak_bytes();
  HbmEnd hbm;
  for (const DeviceTensor& tensor : launch.tensors()) {
    file.tensors.push_back(tensor_of(*tensor));
    for (const Part& part : tensor->parts) hbm.add(part.handle.range());
  }
  for (command::Index program = 0; program < launch.programs(); ++program) {
    command::ProgramRecorder recorder;
    launch.issue(recorder, program);
    for (const command::ProgramStep& step : recorder.program().steps) hbm.add(step);
    ProgramFile::Stream& stream = file.streams.emplace_back();
    stream.pe = launch.launch().pes()[static_cast<std::size_t>(program)];
    stream.program = recorder.take();
  }
  file.hbm_bytes = hbm.bytes();
  return file;
}

}  // namespace kernbench::runtime
