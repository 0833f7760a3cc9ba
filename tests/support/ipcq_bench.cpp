// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ipcq_bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/embedded_hbm.hpp"
#include "model/record/op_log.hpp"
#include "tests/support/monitored.hpp"
#include "tests/support/slice_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

/// Each packet arrives `latency_ps` after it was sent, at the PE that it names.
class EvenNetwork : public sc_core::sc_module {
 public:
  EvenNetwork(const sc_core::sc_module_name& name, std::size_t pes, std::uint64_t latency_ps,
              bool reversed)
      : sc_module(name), latency_ps_(latency_ps), reversed_(reversed) {
    KERNBENCH_HAS_PROCESS(EvenNetwork);
    SC_METHOD(deliver);
    sensitive << deliver_event_;
    dont_initialize();
    for (std::size_t i = 0; i < pes; ++i) ends_.push_back(std::make_unique<End>(*this, i));
  }

  void bind(Pe& pe) {
    pe.ipcq_out.bind(ends_[pe.index()]->in);
    ends_[pe.index()]->out.bind(pe.ipcq_in);
  }

 private:
  struct End : ForwardInterface<PacketProtocol>, BackwardInterface<PacketProtocol> {
    End(EvenNetwork& of, std::size_t index)
        : network(of),
          in(("in" + std::to_string(index)).c_str()),
          out(("out" + std::to_string(index)).c_str()) {
      in.bind(static_cast<ForwardInterface<PacketProtocol>&>(*this));
      out.bind(static_cast<BackwardInterface<PacketProtocol>&>(*this));
    }
    tlm::tlm_sync_enum nb_transport_fw(Packet& packet, tlm::tlm_phase&,
                                       sc_core::sc_time&) override {
      network.take(packet);
      return tlm::TLM_ACCEPTED;
    }
    tlm::tlm_sync_enum nb_transport_bw(Packet&, tlm::tlm_phase&, sc_core::sc_time&) override {
      return tlm::TLM_ACCEPTED;
    }
    EvenNetwork& network;
    OptionalTargetSocket<PacketProtocol> in;
    OptionalInitiatorSocket<PacketProtocol> out;
  };
  struct Due {
    std::uint64_t time;
    std::uint64_t key;
    Packet* packet;
  };

  void take(Packet& packet) {
    due_.push_back({time_.now() + latency_ps_, packet.key, &packet});
    deliver_event_.notify(time_.to_sc_time(due_.front().time - time_.now()));
  }
  void deliver() {
    std::vector<Due> now;
    while (!due_.empty() && due_.front().time == time_.now()) {
      now.push_back(due_.front());
      due_.erase(due_.begin());
    }
    std::stable_sort(now.begin(), now.end(), [&](const Due& x, const Due& y) {
      // Those of one PE, which are in the upper half, stay in order.
      const std::uint64_t a = x.key >> 32, b = y.key >> 32;
      return reversed_ ? a > b : a < b;
    });
    for (const Due& due : now) {
      send_forward(ends_[due.packet->index]->out, *due.packet, tlm::BEGIN_REQ);
    }
    if (!due_.empty()) deliver_event_.notify(time_.to_sc_time(due_.front().time - time_.now()));
  }

  const TimeBase time_;
  const std::uint64_t latency_ps_;
  const bool reversed_;
  std::vector<std::unique_ptr<End>> ends_;
  std::vector<Due> due_;  // by time
  sc_core::sc_event deliver_event_;
};

}  // namespace

std::string first_report(const std::function<void()>& simulate) {
  static std::string first;  // SystemC's handler is a plain function
  first.clear();
  sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_DISPLAY);
  sc_core::sc_report_handler::set_handler(
      [](const sc_core::sc_report& report, const sc_core::sc_actions& actions) {
        if (report.get_severity() != sc_core::SC_ERROR) {
          sc_core::sc_report_handler::default_handler(report, actions);
        } else if (first.empty()) {
          first = std::string(report.get_msg_type()) + ": " + report.get_msg();
          sc_core::sc_stop();
        }
      });
  simulate();
  return first;
}

IpcqResult run_pes(const arch::TopologyConfig& topology, const std::vector<KernelBody>& kernels,
                   const IpcqOptions& options) {
  const std::size_t count = kernels.size();
  IpcqResult result;
  result.observed.resize(count);
  TemporaryFolder folder;
  record::Recorder recorder;
  record::OpLog op_log(folder / "op_log.csv");
  recorder.add_sink(op_log);
  std::vector<std::unique_ptr<record::HazardChecker>> hazards;
  for (std::size_t i = 0; i < count; ++i) {
    hazards.push_back(std::make_unique<record::HazardChecker>(topology.pe.gemm));
  }

  EvenNetwork network("network", count, options.latency_ps, options.reversed);
  arch::PeConfig config = topology.pe_config();
  config.pes = static_cast<std::uint32_t>(count);
  std::vector<std::unique_ptr<EmbeddedHbm>> memories(count);
  std::vector<std::unique_ptr<BaseProtocolMonitor>> monitors(count);
  std::vector<std::unique_ptr<Pe>> pes(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = options.reversed ? count - 1 - i : i;
    const std::string number = std::to_string(index);
    memories[index] =
        std::make_unique<EmbeddedHbm>(("hbm" + number).c_str(), topology.hbm, 1, options.data);
    pes[index] =
        std::make_unique<Pe>(("pe" + number).c_str(), config, static_cast<std::uint32_t>(index));
    Pe& pe = *pes[index];
    monitors[index] = bind_monitored(pe.memory, memories[index]->port(0), "monitor" + number);
    if (options.connected) network.bind(pe);
    pe.set_recorder(&recorder);
    pe.set_hazard_checker(hazards[index].get());
    pe.set_data_mode(options.data);
    TestHooks hooks;
    if (options.extra_delay) hooks.extra_delay = options.extra_delay(pe.index());
    pe.set_test_hooks(hooks);
    if (kernels[index]) pe.set_kernel(kernels[index]);
    if (!options.data) continue;
    if (options.load) options.load(pe.index(), memories[index]->storage());
    pe.cpu.set_observe_handler(
        [&result, &pe, index](std::string_view name, const command::TensorHandle& handle) {
          arch::Values values;
          arch::read_slice(pe.tcm_storage(), slice_of(handle), values);
          auto& all = result.observed[index][std::string(name)];
          all.insert(all.end(), values.begin(), values.end());
        });
  }
  std::vector<Pe*> all;
  for (const auto& pe : pes) all.push_back(pe.get());
  if (options.elaborated) options.elaborated(all);
  result.report = first_report([&] {
    if (options.simulate) {
      options.simulate(all);
    } else {
      sc_core::sc_start();
    }
  });
  if (!options.expects_report) {
    EXPECT_EQ(result.report, "");
  }
  recorder.finish(TimeBase().now());
  result.op_log = read_file(folder / "op_log.csv");
  result.rows = parse_op_log(result.op_log);
  result.idle = std::all_of(all.begin(), all.end(), [](const Pe* pe) { return pe->idle(); });
  arch::WaitGraph graph;
  for (const Pe* pe : all) {
    pe->waits(graph, pe->name());
    result.regions.push_back(pe->cpu.regions());
    result.hazards.push_back(hazards[pe->index()]->findings());
    if (options.expects_hazards) continue;
    for (const record::Race& race : result.hazards.back().races) ADD_FAILURE() << to_string(race);
  }
  result.waiting = graph.lines();
  result.cycle = graph.cycle();
  return result;
}

}  // namespace kernbench::test
