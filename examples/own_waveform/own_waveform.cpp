// SPDX-License-Identifier: Apache-2.0
// The signals of a PE in your own waveform file, beside those of your own modules. The module here
// is a controller without a clock, with a state and an sc_signal, that gives the PE one job after
// the other. Pe::trace() registers every engine in one line; the op log of the same run has the
// same intervals. SystemC polls all traced signals at every time step. For many PEs, or long runs,
// PeOutputs writes a waveform at lower cost.
//
// Usage: own_waveform NAME
#include <cstdio>
#include <exception>
#include <string>

#include "kernels/gemm.hpp"
#include "model/embedded_hbm.hpp"
#include "model/pe.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/pe_outputs.hpp"
#include "tlm_if/command/error.hpp"

namespace arch = kernbench::arch;
namespace command = kernbench::command;
namespace runtime = kernbench::runtime;
using kernbench::Pe;

namespace {

constexpr char kUsage[] =
    "usage: own_waveform NAME\n"
    "  NAME  of the files that are written: NAME.vcd, the waveform, and NAME.csv, the op log\n";

constexpr unsigned kJobs = 3;
constexpr double kPauseNs = 50;

/// Launches a kernel `kJobs` times, with a pause after each.
class Controller : public sc_core::sc_module {
 public:
  enum State : unsigned { waits_for_pe = 1, pauses = 2, done = 3 };
  sc_core::sc_signal<bool> pe_busy{"pe_busy"};

  Controller(const sc_core::sc_module_name& name, Pe& pe, const runtime::Launch& job)
      : sc_module(name), pe_(pe), job_(job) {
    KERNBENCH_HAS_PROCESS(Controller);
    SC_METHOD(act);
    sensitive << act_event_;
    // Called by the PE when the kernel has returned and its commands are done.
    pe.cpu.set_launch_done_handler([this] { act_event_.notify(sc_core::SC_ZERO_TIME); });
  }

  void trace(sc_core::sc_trace_file* file) const override {
    sc_core::sc_trace(file, state_, std::string(name()) + ".state");
    sc_core::sc_trace(file, jobs_, std::string(name()) + ".jobs");
    sc_core::sc_trace(file, pe_busy, pe_busy.name());
  }

 private:
  void act() {
    if (state_ == waits_for_pe) {
      pe_busy.write(false);
      state_ = ++jobs_ == kJobs ? done : pauses;
      act_event_.notify(kPauseNs, sc_core::SC_NS);
      return;
    }
    // SystemC writes the values of an instant when the next one comes; this is the one after the
    // last.
    if (state_ == done) return;
    pe_busy.write(true);
    state_ = waits_for_pe;
    pe_.cpu.launch([this](command::CommandSink& sink) { job_.issue(sink); });
  }

  Pe& pe_;
  const runtime::Launch& job_;
  sc_core::sc_event act_event_;
  unsigned state_ = 0;  // nothing has happened
  unsigned jobs_ = 0;   // done
};

void simulate(const std::string& name) {
  arch::TopologyConfig topology;
  topology.name = "own_waveform";
  const runtime::Launch job(kernbench::kernels::gemm(), {{"n", "512"}}, topology);

  kernbench::EmbeddedHbm hbm("hbm", topology.hbm, 1, false);
  Pe pe("pe0", topology.pe_config(), 0);
  pe.memory.bind(hbm.port(0));
  Controller controller("controller", pe, job);
  runtime::PeOutputs outputs({name + ".csv", {}, {}, {}});
  outputs.add(pe);

  sc_core::sc_trace_file* file = sc_core::sc_create_vcd_trace_file(name.c_str());
  file->set_time_unit(1, sc_core::SC_PS);
  pe.trace(file);
  controller.trace(file);

  sc_core::sc_start();
  sc_core::sc_close_vcd_trace_file(file);  // without it the file may lack its end
  outputs.finish();
  std::printf("%u jobs of %s in %.3f ns; %s.vcd, %s.csv\n", kJobs, job.title().c_str(),
              double(pe.cpu.last_done_ps()) / 1000, name.c_str(), name.c_str());
}

}  // namespace

int sc_main(int argc, char** argv) {
  const bool help = argc == 2 && std::string(argv[1]) == "--help";
  if (help || argc != 2) {
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  try {
    simulate(argv[1]);
    return 0;
  } catch (const kernbench::InputError& error) {
    std::fprintf(stderr, "own_waveform: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "own_waveform: %s\n", error.what());
    return 1;
  }
}
