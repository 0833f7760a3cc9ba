// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/embedded_hbm.hpp"
#include "model/pe.hpp"
#include "runtime/pe_outputs.hpp"
#include "tests/support/kernel_bench.hpp"
#include "tests/support/monitored.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tlm_if/base_protocol_monitor.hpp"

namespace kernbench::test {

/// A memory as an integrator writes it: times are its own, in the resolution of the simulation. It
/// holds no bytes, accepts and answers in order, and answers one request at a time.
class ForeignMemory : public sc_core::sc_module, private tlm::tlm_fw_transport_if<> {
 public:
  /// From BEGIN_REQ to END_REQ and from there to BEGIN_RESP, and what the two calls annotate on
  /// top.
  struct Times {
    sc_core::sc_time accept, response;
    sc_core::sc_time accept_annotated = sc_core::SC_ZERO_TIME;
    sc_core::sc_time response_annotated = sc_core::SC_ZERO_TIME;
  };

  tlm::tlm_target_socket<32> socket{"socket"};

  ForeignMemory(const sc_core::sc_module_name& name, const Times& times)
      : sc_module(name), times_(times) {
    KERNBENCH_HAS_PROCESS(ForeignMemory);
    SC_METHOD(work);
    sensitive << event_;
    dont_initialize();
    socket.bind(*this);
  }

 private:
  struct Due {
    tlm::tlm_generic_payload* payload;
    bool response;
  };

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    if (phase == tlm::BEGIN_REQ) {
      payload.acquire();
      schedule(delay + times_.accept, {&payload, false});
    } else if (phase == tlm::END_RESP) {
      responding_ = false;
      payload.release();
      event_.notify(sc_core::SC_ZERO_TIME);
      return tlm::TLM_COMPLETED;
    }
    return tlm::TLM_ACCEPTED;
  }
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override {
    delay += times_.accept + times_.response;
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  unsigned int transport_dbg(tlm::tlm_generic_payload&) override { return 0; }

  void schedule(const sc_core::sc_time& delay, const Due& due) {
    agenda_.emplace(sc_core::sc_time_stamp() + delay, due);
    event_.notify(delay);  // an earlier notification stays
  }
  void work() {
    const sc_core::sc_time now = sc_core::sc_time_stamp();
    for (auto due = agenda_.begin(); due != agenda_.end() && due->first <= now;) {
      if (due->second.response && responding_) {  // one at a time
        ++due;
        continue;
      }
      const Due at_hand = due->second;
      due = agenda_.erase(due);
      send(at_hand);
    }
    const auto next = agenda_.upper_bound(now);
    if (next != agenda_.end()) event_.notify(next->first - now);
  }
  void send(const Due& due) {
    tlm::tlm_phase phase = due.response ? tlm::BEGIN_RESP : tlm::END_REQ;
    sc_core::sc_time delay = due.response ? times_.response_annotated : times_.accept_annotated;
    if (due.response) {
      responding_ = true;
      due.payload->set_response_status(tlm::TLM_OK_RESPONSE);
    } else {
      schedule(times_.accept_annotated + times_.response, {due.payload, true});
    }
    socket->nb_transport_bw(*due.payload, phase, delay);
  }

  const Times times_;
  std::multimap<sc_core::sc_time, Due> agenda_;
  sc_core::sc_event event_;
  bool responding_ = false;
};

/// The four files of PeOutputs, in a folder.
inline runtime::StagePaths paths_in(const TemporaryFolder& folder) {
  return {folder / "op_log.csv", folder / "waves.vcd", folder / "trace.json",
          folder / "summary.json"};
}

/// What there is of them, each behind a line with its name.
inline std::string files_in(const TemporaryFolder& folder) {
  std::string text;
  for (const std::string& name : folder.names()) {
    text += "=== " + name + "\n" + read_file(folder / name);
  }
  return text;
}

/// The part of it that is one file.
inline std::string file_of(const std::string& files, const std::string& name) {
  const std::string head = "=== " + name + "\n";
  const std::size_t begin = files.find(head);
  if (begin == std::string::npos) return {};
  const std::size_t end = files.find("=== ", begin + head.size());
  return files.substr(begin + head.size(),
                      end == std::string::npos ? end : end - begin - head.size());
}

/// A design of one PE named pe0 on the embedded HBM, with its outputs.
struct OwnDesign {
  explicit OwnDesign(const arch::TopologyConfig& topology = single_pe())
      : pe("pe0", topology.pe_config(), 0),
        hbm("hbm", topology.hbm, 1, false),
        outputs(paths_in(folder)) {
    outputs.add(pe);
  }

  TemporaryFolder folder;
  Pe pe;
  EmbeddedHbm hbm;
  std::unique_ptr<BaseProtocolMonitor> monitor = bind_monitored(pe.memory, hbm.port(0));
  runtime::PeOutputs outputs;
};

/// A process of the integrator.
struct Process : sc_core::sc_module {
  Process(const sc_core::sc_module_name& name, std::function<void()> run)
      : sc_module(name), body(std::move(run)) {
    KERNBENCH_HAS_PROCESS(Process);
    SC_THREAD(call);
  }
  void call() { body(); }
  const std::function<void()> body;
};

inline sc_core::sc_time nanoseconds(double ns) { return {ns, sc_core::SC_NS}; }

}  // namespace kernbench::test
