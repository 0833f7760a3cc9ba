// SPDX-License-Identifier: Apache-2.0
#include "tests/support/pe_bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "model/record/op_log.hpp"
#include "model/record/trace.hpp"
#include "model/record/vcd.hpp"
#include "tests/support/slice_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

// Two or four of it are a NaN in f16, bf16 and f32.
constexpr std::uint8_t kNanByte = 0xff;

// The modules of a Pe, created in any order: what Pe does, without its order.
struct LoosePe : sc_core::sc_module {
  PeContext context;
  tlm::tlm_initiator_socket<32> memory{"memory"};
  std::unique_ptr<PeCpu> cpu;
  std::unique_ptr<PeScheduler> scheduler;
  std::unique_ptr<PeDma> dma;
  std::unique_ptr<PeTcm> tcm;
  std::unique_ptr<PeGemm> gemm;
  std::unique_ptr<PeMath> math;
  std::unique_ptr<PeIpcq> ipcq;

  LoosePe(const sc_core::sc_module_name& name, const arch::PeConfig& config,
          const std::vector<int>& order)
      : sc_module(name), context(config, 0) {
    for (const int part : order) {
      switch (part) {
        case 1:
          cpu = std::make_unique<PeCpu>("cpu", context);
          break;
        case 2:
          scheduler = std::make_unique<PeScheduler>("scheduler", context);
          break;
        case 3:
          dma = std::make_unique<PeDma>("dma", context);
          break;
        case 4:
          tcm = std::make_unique<PeTcm>("tcm", context);
          break;
        case 5:
          gemm = std::make_unique<PeGemm>("gemm", context);
          break;
        case 6:
          math = std::make_unique<PeMath>("math", context);
          break;
        case 7:
          ipcq = std::make_unique<PeIpcq>("ipcq", context);
          break;
        default:
          break;
      }
    }
    cpu->command_out.bind(scheduler->command_in);
    scheduler->ipcq_out.bind(ipcq->stage_in);
    scheduler->math_out.bind(math->stage_in);
    scheduler->gemm_out.bind(gemm->stage_in);
    scheduler->tcm_out.bind(tcm->stage_in);
    scheduler->dma_out.bind(dma->stage_in);
    dma->port.memory.bind(memory);
  }
};

// Contract 13, "every run".
void check_lower_bounds(const arch::TopologyConfig& topology, bool embedded_hbm,
                        std::uint64_t bursts, const BenchResult& result) {
  const auto& pe = result.statistics.pes().at(0);
  const auto busy = [&](arch::Engine engine) {
    return pe.engines[static_cast<std::size_t>(engine)].busy_ps;
  };
  const double hbm_ps = static_cast<double>(pe.hbm_read_bytes + pe.hbm_write_bytes) * 1000 /
                        (topology.hbm.gbps.to_double() * topology.hbm.efficiency.to_double());
  if (embedded_hbm) {  // each burst rounds by at most half a ps (R6.8)
    EXPECT_GE(static_cast<double>(result.end_ps) + static_cast<double>(bursts) / 2, hbm_ps);
  }
  for (const auto engine :
       {arch::Engine::cpu, arch::Engine::gemm, arch::Engine::math, arch::Engine::tcm}) {
    EXPECT_GE(result.end_ps, busy(engine)) << arch::to_string(engine);
  }
}

void check_hazards(const BenchOptions& options, const record::HazardFindings& found) {
  if (options.expects_hazards) return;
  for (const record::Race& race : found.races) ADD_FAILURE() << to_string(race);
  if (!options.inputs) return;
  for (const auto& read : found.uninitialized_reads) ADD_FAILURE() << to_string(read);
}

}  // namespace

const Region& BenchResult::region(const std::string& name) const {
  const auto found =
      std::find_if(regions.begin(), regions.end(), [&](const Region& r) { return r.name == name; });
  if (found == regions.end()) throw std::runtime_error("the kernel has no region " + name);
  return *found;
}

arch::TopologyConfig single_pe() {
  arch::TopologyConfig topology;
  topology.name = "single_pe";
  return topology;
}

BenchResult run_kernel(const arch::TopologyConfig& topology, const KernelBody& kernel,
                       const BenchOptions& options) {
  BenchResult result;
  TemporaryFolder folder;
  record::Recorder recorder;
  record::OpLog op_log(folder / "op_log.csv");
  recorder.add_sink(op_log);
  record::Vcd vcd(folder / "waves.vcd", topology, {0});
  recorder.add_sink(vcd);
  record::Trace trace(folder / "trace.json", topology);
  recorder.add_sink(trace);

  record::HazardChecker hazards(topology.pe.gemm);
  if (options.inputs) hazards.set_inputs(*options.inputs);

  std::unique_ptr<EmbeddedHbm> hbm;
  std::unique_ptr<ScriptedMemory> scripted;
  std::unique_ptr<Pe> pe;
  std::unique_ptr<LoosePe> loose;
  BaseProtocolMonitor monitor("monitor");
  const auto make_memory = [&] {
    if (options.memory) {
      scripted = std::make_unique<ScriptedMemory>(
          "hbm", command::ByteRange{0, topology.pe_config().hbm_bytes}, options.memory);
    } else {
      hbm = std::make_unique<EmbeddedHbm>("hbm", topology.hbm, 1, options.data);
    }
  };
  const TestHooks hooks{options.extra_delay, options.poison ? kNanByte : std::uint8_t{0}};
  if (options.creation_order.empty()) {
    make_memory();
    pe = std::make_unique<Pe>("pe0", topology.pe_config(), 0);
    pe->set_data_mode(options.data);
    pe->set_recorder(&recorder);
    pe->set_hazard_checker(&hazards);
    pe->set_test_hooks(hooks);
    pe->memory.bind(monitor.upstream);
    if (options.elaborated) options.elaborated(*pe);
  } else {
    const auto& order = options.creation_order;
    const bool memory_first = order.front() == 0;
    if (memory_first) make_memory();
    loose = std::make_unique<LoosePe>("pe0", topology.pe_config(), order);
    if (!memory_first) make_memory();
    loose->context.data = options.data;
    loose->context.recorder = &recorder;
    loose->context.hazards = &hazards;
    loose->context.set_test_hooks(hooks);
    loose->memory.bind(monitor.upstream);
  }
  if (hbm) {
    monitor.downstream.bind(hbm->port(0));
  } else {
    monitor.downstream.bind(scripted->socket);
  }
  arch::Storage& memory = hbm ? hbm->storage() : scripted->storage();
  PeCpu& cpu = pe ? pe->cpu : *loose->cpu;
  PeScheduler& scheduler = pe ? pe->scheduler : *loose->scheduler;
  const arch::Storage& tcm = pe ? pe->tcm_storage() : loose->context.tcm;

  cpu.launch(kernel);
  if (options.poison) memory.set_unwritten(kNanByte);
  if (options.data) {
    cpu.set_observe_handler([&](std::string_view name, const command::TensorHandle& handle) {
      arch::Values values;
      arch::read_slice(handle.pinned() ? tcm : memory, slice_of(handle), values);
      auto& all = result.observed[std::string(name)];
      all.insert(all.end(), values.begin(), values.end());
    });
    if (options.load) options.load(memory);
  }
  sc_core::sc_start();
  if (cpu.failure()) std::rethrow_exception(cpu.failure());

  if (options.inspect) options.inspect(memory);

  result.end_ps = TimeBase().now();
  recorder.finish(result.end_ps);
  result.op_log = read_file(folder / "op_log.csv");
  result.vcd = read_file(folder / "waves.vcd");
  result.trace = read_file(folder / "trace.json");
  result.rows = parse_op_log(result.op_log);
  result.regions = cpu.regions();
  result.totals = cpu.totals();
  result.statistics = recorder.statistics();
  result.idle = cpu.idle() && scheduler.idle();
  arch::WaitGraph graph;
  cpu.waits(graph, "pe0");
  scheduler.waits(graph);
  result.waiting = graph.lines();
  result.violations = monitor.violations();
  EXPECT_TRUE(result.violations.empty()) << result.violations.front();
  check_lower_bounds(topology, hbm != nullptr, monitor.transactions(), result);
  result.hazards = hazards.findings();
  check_hazards(options, result.hazards);
  return result;
}

}  // namespace kernbench::test
