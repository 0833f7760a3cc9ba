// SPDX-License-Identifier: Apache-2.0
// A binary for the tests of what a well-behaved one does not show: memories that never answer, that
// refuse, that break the protocol, that are loosely timed or that have a clock, chosen by the first
// argument, and kernels with faults.
#include <tlm_utils/simple_target_socket.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/catalogue.hpp"
#include "runtime/main.hpp"
#include "tests/support/hasty_memory.hpp"

namespace {

using namespace kernbench;

/// Takes requests and never answers.
class SilentMemory : public sc_core::sc_module, private tlm::tlm_fw_transport_if<> {
 public:
  SilentMemory(const sc_core::sc_module_name& name, tlm::tlm_initiator_socket<32>& pe_memory)
      : sc_module(name) {
    socket_.bind(*this);
    pe_memory.bind(socket_);
  }

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload&, tlm::tlm_phase&,
                                     sc_core::sc_time&) override {
    return tlm::TLM_ACCEPTED;
  }
  void b_transport(tlm::tlm_generic_payload&, sc_core::sc_time&) override {}
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  unsigned int transport_dbg(tlm::tlm_generic_payload&) override { return 0; }

  tlm::tlm_target_socket<32> socket_{"socket"};
};

/// A loosely timed memory; with `refuse` it has no address at all.
class LooseMemory : public sc_core::sc_module {
 public:
  LooseMemory(const sc_core::sc_module_name& name, tlm::tlm_initiator_socket<32>& pe_memory,
              bool refuse)
      : sc_module(name), refuse_(refuse) {
    socket_.register_b_transport(this, &LooseMemory::b_transport);
    socket_.register_transport_dbg(this, &LooseMemory::transport_dbg);
    pe_memory.bind(socket_);
  }

 private:
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    delay += sc_core::sc_time(10, sc_core::SC_NS);
    if (!refuse_) transport_dbg(payload);
    payload.set_response_status(refuse_ ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
  }
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload) {
    if (payload.get_address() + payload.get_data_length() > bytes_.size()) return 0;
    unsigned char* here = &bytes_[payload.get_address()];
    if (payload.is_read()) std::memcpy(payload.get_data_ptr(), here, payload.get_data_length());
    if (payload.is_write()) std::memcpy(here, payload.get_data_ptr(), payload.get_data_length());
    return payload.get_data_length();
  }

  bool refuse_;
  std::vector<unsigned char> bytes_ = std::vector<unsigned char>(1u << 20);
  tlm_utils::simple_target_socket<LooseMemory> socket_{"socket"};
};

/// As LooseMemory, beside a clock that never stops.
class ClockedMemory : public sc_core::sc_module {
 public:
  ClockedMemory(const sc_core::sc_module_name& name, tlm::tlm_initiator_socket<32>& pe_memory)
      : sc_module(name), memory_("memory", pe_memory, false) {}

 private:
  sc_core::sc_clock clock_{"clock", 1, sc_core::SC_NS};
  LooseMemory memory_;
};

/// out = x; the reference says x + `offset`.
kernels::Kernel copy_kernel(const std::string& name, double offset) {
  kernels::Kernel kernel;
  kernel.name = name;
  kernel.summary = "out = x";
  kernel.make = [offset](const kernels::Parameters&, const tl::Target&) {
    kernels::Instance instance;
    instance.tensors = {{"x", {4}, {4}, tl::f32, kernels::Direction::in},
                        {"out", {4}, {4}, tl::f32, kernels::Direction::out}};
    instance.body = [](tl::Context& tl, const std::vector<tl::Tensor>& bound) {
      tl.store(bound[1], tl.load(bound[0]));
    };
    instance.reference = [offset](const kernels::HostTensors& inputs) {
      kernels::Reference reference;
      reference.outputs["out"] = inputs.at("x");
      for (double& entry : reference.outputs["out"]) entry += offset;
      reference.checked = "out";
      reference.max_rms_rel = reference.max_abs_rel = 1e-3;
      return reference;
    };
    return instance;
  };
  return kernel;
}

/// Observes a value under the name of a tensor.
kernels::Kernel clash_kernel() {
  kernels::Kernel kernel = copy_kernel("clash", 0);
  const auto make = kernel.make;
  kernel.make = [make](const kernels::Parameters& parameters, const tl::Target& target) {
    kernels::Instance instance = make(parameters, target);
    instance.body = [](tl::Context& tl, const std::vector<tl::Tensor>& bound) {
      tl.observe("out", tl.load(bound[0]));
    };
    return instance;
  };
  return kernel;
}

/// Throws when it runs, inside the simulation.
kernels::Kernel thrower_kernel() {
  kernels::Kernel kernel = copy_kernel("thrower", 0);
  const auto make = kernel.make;
  kernel.make = [make](const kernels::Parameters& parameters, const tl::Target& target) {
    kernels::Instance instance = make(parameters, target);
    // Issued once ahead of the simulation, where it must not fail.
    instance.body = [](tl::Context& tl, const std::vector<tl::Tensor>& bound) {
      tl.load(bound[0]);
      if (sc_core::sc_get_status() == sc_core::SC_RUNNING) {
        throw std::runtime_error("the kernel author's own\nmistake");
      }
    };
    return instance;
  };
  return kernel;
}

kernels::Kernel throwing_kernel() {
  kernels::Kernel kernel = copy_kernel("throwing", 0);
  kernel.make = [](const kernels::Parameters&, const tl::Target&) -> kernels::Instance {
    throw std::runtime_error("the kernel author's own\nmistake");
  };
  return kernel;
}

/// Throws whenever it runs.
kernels::Kernel fragile_kernel() {
  kernels::Kernel kernel = copy_kernel("fragile", 0);
  const auto make = kernel.make;
  kernel.make = [make](const kernels::Parameters& parameters, const tl::Target& target) {
    kernels::Instance instance = make(parameters, target);
    instance.body = [](tl::Context&, const std::vector<tl::Tensor>&) {
      throw std::runtime_error("the kernel author's own\nmistake");
    };
    return instance;
  };
  return kernel;
}

/// Its reference reads the input `input`, and has the output `output`.
kernels::Kernel misnamed_kernel(const std::string& name, const std::string& input,
                                const std::string& output) {
  kernels::Kernel kernel = copy_kernel(name, 0);
  const auto make = kernel.make;
  kernel.make = [=](const kernels::Parameters& parameters, const tl::Target& target) {
    kernels::Instance instance = make(parameters, target);
    instance.reference = [=](const kernels::HostTensors& inputs) {
      return kernels::Reference{{{output, inputs.at(input)}}, output, 1, 1};
    };
    return instance;
  };
  return kernel;
}

/// On two PEs, each of which receives before it sends.
kernels::Kernel circular_kernel() {
  kernels::Kernel kernel;
  kernel.name = "circular";
  kernel.summary = "waits for ever";
  kernel.make = [](const kernels::Parameters&, const tl::Target&) {
    kernels::Instance instance;
    instance.grid = {2, 1, 1};
    instance.body = [](tl::Context& tl, const std::vector<tl::Tensor>&) {
      const auto x = tl.empty({4}, tl::f32);
      tl.recv(1 - tl.program(), x);
      tl.wait({x});
      tl.send(1 - tl.program(), x);
    };
    return instance;
  };
  return kernel;
}

/// On two PEs: a message of two slots more than are received.
kernels::Kernel lost_kernel() {
  kernels::Kernel kernel = circular_kernel();
  kernel.name = "lost";
  const auto make = kernel.make;
  kernel.make = [make](const kernels::Parameters& parameters, const tl::Target& target) {
    kernels::Instance instance = make(parameters, target);
    instance.body = [](tl::Context& tl, const std::vector<tl::Tensor>&) {
      const auto x = tl.zeros({4096}, tl::f32);
      if (tl.program() == 0) tl.send(1, x);
    };
    return instance;
  };
  return kernel;
}

}  // namespace

int sc_main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  // A monitor on every memory socket, but where the memory is one that breaks the protocol.
  const char* topology =
      mode == "hasty" ? "name: odd_pe\n" : "name: odd_pe\ncheck_protocol: true\n";
  runtime::Binary binary{"odd_pe", "odd_pe.yaml", topology, kernels::catalogue()};
  binary.kernels.push_back(copy_kernel("right", 0));
  binary.kernels.push_back(copy_kernel("wrong", 1));
  binary.kernels.push_back(clash_kernel());
  binary.kernels.push_back(throwing_kernel());
  binary.kernels.push_back(thrower_kernel());
  binary.kernels.push_back(circular_kernel());
  binary.kernels.push_back(fragile_kernel());
  binary.kernels.push_back(misnamed_kernel("misread", "xx", "out"));
  binary.kernels.push_back(misnamed_kernel("misspelt", "x", "oot"));
  binary.kernels.push_back(lost_kernel());
  binary.memory =
      [mode](const char* name,
             tlm::tlm_initiator_socket<32>& pe_memory) -> std::unique_ptr<sc_core::sc_module> {
    if (mode == "silent") return std::make_unique<SilentMemory>(name, pe_memory);
    if (mode == "hasty") return std::make_unique<test::HastyMemory>(name, pe_memory);
    if (mode == "clocked") return std::make_unique<ClockedMemory>(name, pe_memory);
    return std::make_unique<LooseMemory>(name, pe_memory, mode == "refusing");
  };
  return runtime::run_main(argc - 1, argv + 1, binary);
}

int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
