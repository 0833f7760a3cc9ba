// SPDX-License-Identifier: Apache-2.0
#include "runtime/design.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/arch/numerics.hpp"
#include "model/embedded_hbm.hpp"

namespace kernbench::runtime {
namespace {

using kernels::Direction;
using kernels::TensorSpec;

constexpr std::size_t kHostAccessBytes = 1u << 20;  // of one debug access

command::TensorHandle handle_of(const TensorSpec& tensor, command::Address addr) {
  return command::make_handle(0, addr, tensor.shape, tensor.dtype, command::Space::hbm,
                              tensor.name);
}

}  // namespace

Design::Design(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology,
               const Launch& launch, const kernels::HostTensors* inputs,
               const MemoryFactory& memory)
    : sc_module(name), pe("pe0", topology.pe, 0), launch_(launch), inputs_(inputs) {
  if (memory) {
    memory_ = memory("hbm", pe.memory);
  } else {
    auto hbm = std::make_unique<EmbeddedHbm>("hbm", topology.hbm, 1, inputs != nullptr);
    pe.memory.bind(hbm->port(0));
    memory_ = std::move(hbm);
  }
  pe.set_recorder(&recorder);
  pe.set_data_mode(inputs != nullptr);
  pe.set_kernel([&launch](command::CommandSink& sink) { launch.issue(sink); });
  if (inputs != nullptr) {
    pe.cpu.set_observe_handler([this](std::string_view value, const command::TensorHandle& handle) {
      observe(value, handle);
    });
  }
}

// Sockets are bound by now, and nothing has run.
void Design::start_of_simulation() {
  if (inputs_ == nullptr) return;
  const std::vector<TensorSpec>& tensors = launch_.instance().tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].direction != Direction::in) continue;
    const std::vector<double>& values = inputs_->at(tensors[i].name);
    const std::size_t entry_bytes = command::bytes_of(tensors[i].dtype, 1);
    std::vector<std::uint8_t> bytes(values.size() * entry_bytes);
    for (std::size_t j = 0; j < values.size(); ++j) {
      arch::encode(tensors[i].dtype, static_cast<float>(values[j]), &bytes[j * entry_bytes]);
    }
    access_memory(tlm::TLM_WRITE_COMMAND, launch_.addresses()[i], bytes);
  }
}

void Design::access_memory(tlm::tlm_command command, command::Address addr,
                           std::vector<std::uint8_t>& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const auto count =
        static_cast<unsigned>(std::min<std::size_t>(bytes.size() - done, kHostAccessBytes));
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(addr + done);
    payload.set_data_ptr(&bytes[done]);
    payload.set_data_length(count);
    payload.set_streaming_width(count);
    const unsigned moved = pe.memory->transport_dbg(payload);
    if (moved != count) {
      SC_REPORT_ERROR("/kernbench/runtime/host_access",
                      fmt::format("the memory moved {} of {} bytes at {:#x} in transport_dbg; "
                                  "with --data it must move them all",
                                  moved, count, addr + done)
                          .c_str());
      return;
    }
    done += count;
  }
}

std::vector<double> Design::read(const command::TensorHandle& handle) {
  const arch::Slice slice{command::OperandName::src, handle.dtype,        handle.addr,
                          handle.shape.rows(),       handle.shape.cols(), handle.row_stride,
                          handle.col_stride};
  arch::Values values;
  if (handle.pinned()) {
    arch::read_slice(pe.tcm_storage(), slice, values);
  } else {
    std::vector<std::uint8_t> bytes(handle.range().size());
    access_memory(tlm::TLM_READ_COMMAND, handle.addr, bytes);
    arch::Storage storage(handle.range());
    storage.write(handle.addr, bytes.data(), bytes.size());
    arch::read_slice(storage, slice, values);
  }
  return {values.begin(), values.end()};
}

void Design::observe(std::string_view name, const command::TensorHandle& handle) {
  FileTensor& value = observed_[std::string(name)];
  value.dtype = file_dtype(handle.dtype);
  if (value.shape.empty()) {
    for (int axis = 0; axis < handle.shape.rank(); ++axis)
      value.shape.push_back(handle.shape[axis]);
  } else {
    value.shape[0] += handle.shape[0];
  }
  const std::vector<double> entries = read(handle);
  value.values.insert(value.values.end(), entries.begin(), entries.end());
}

FileTensors Design::results() {
  FileTensors results = observed_;
  const std::vector<TensorSpec>& tensors = launch_.instance().tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].direction != Direction::out) continue;
    results[tensors[i].name] = {file_dtype(tensors[i].dtype), tensors[i].file_shape,
                                read(handle_of(tensors[i], launch_.addresses()[i]))};
  }
  return results;
}

}  // namespace kernbench::runtime
