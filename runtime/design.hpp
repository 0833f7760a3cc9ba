// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "model/pe.hpp"
#include "model/record/recorder.hpp"
#include "runtime/launch.hpp"
#include "runtime/safetensors.hpp"

namespace kernbench::runtime {

/// Creates a memory of that name as a child of the module under construction, and binds it to the
/// socket of the PE. In data mode it must answer transport_dbg.
using MemoryFactory = std::function<std::unique_ptr<sc_core::sc_module>(
    const char* name, tlm::tlm_initiator_socket<32>& pe_memory)>;

/// One PE with its memory and its recorder, running one kernel. Several of them may be elaborated
/// in one simulation: they share nothing but the time, and each behaves as it would alone.
class Design : public sc_core::sc_module {
 public:
  Pe pe;
  record::Recorder recorder;

  /// `launch` must outlive the design. `inputs`: the entries of the input tensors; null: timing
  /// only. An empty `memory` stands for EmbeddedHbm.
  Design(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology,
         const Launch& launch, const kernels::HostTensors* inputs, const MemoryFactory& memory);

  /// After the run, in data mode: the output tensors and the observed values, by name. A value
  /// that was observed several times is stacked along its first axis.
  FileTensors results();

 private:
  void start_of_simulation() override;
  void observe(std::string_view name, const command::TensorHandle& handle);
  std::vector<double> read(const command::TensorHandle& handle);
  /// Host access to HBM, without time.
  void access_memory(tlm::tlm_command command, command::Address addr,
                     std::vector<std::uint8_t>& bytes);

  const Launch& launch_;
  const kernels::HostTensors* inputs_;
  std::unique_ptr<sc_core::sc_module> memory_;
  FileTensors observed_;
};

}  // namespace kernbench::runtime
