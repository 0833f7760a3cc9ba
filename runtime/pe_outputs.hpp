// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/pe.hpp"
#include "runtime/stage_files.hpp"

namespace kernbench::runtime {

/// Op log, waveform, trace and summary (R10) of PEs in a SystemC design of one's own.
///
///     Pe pe("pe0", config, 0);
///     PeOutputs outputs({"op_log.csv", "waves.vcd", "trace.json", "summary.json"});
///     outputs.add(pe);
///     sc_core::sc_start();
///     outputs.finish();
///
/// However the simulation ends, by itself, at a time, by sc_stop(), in one piece or in several, the
/// files are the same: they are completed by finish() and by no callback of SystemC, and the run
/// ends when the last PE was done, not when the clock stood still. Without finish() there are no
/// files. An instance and its PEs are there until finish(), and may go in any order.
///
/// The waveform has `NAME.cpu` .. `NAME.math` for a PE of that name, `NAME.ipcq` if its
/// PeConfig::pes is above 1, and `NAME.memory`, which counts the DMA under way at that socket. The
/// summary has the keys of contract 12 but those of a kernel, and no host time: it is the same in
/// every run.
class PeOutputs {
 public:
  /// Opens the files; an empty path is no file. Throws InputError if that fails.
  explicit PeOutputs(const StagePaths& paths);
  /// Before finish(): there are no files, and the PEs that are still there run on unrecorded.
  ~PeOutputs();
  PeOutputs(const PeOutputs&) = delete;
  PeOutputs& operator=(const PeOutputs&) = delete;

  /// Records a PE, from before the simulation starts; rows name it by its index. `name`: in
  /// waveform, trace and summary, of letters, digits and `_`, with dots between scopes; empty: that
  /// of the instance. Throws InputError if another PE has its index or name.
  void add(Pe& pe, std::string name = {});

  /// To add sinks of one's own, before the simulation starts.
  record::Recorder& recorder() { return recorder_; }

  /// Completes the files; later stages are not recorded, and a second call does nothing. Throws
  /// what a kernel has thrown; SimulationError if a PE is not idle, with who waits for what, or has
  /// not received what another of them has sent: no file is written then, and the simulation may go
  /// on until the next call.
  void finish();

 private:
  struct Added {
    Pe* pe;
    std::string name;
    const sc_core::sc_object* object;  ///< the PE as SystemC knows it, by `path`
    std::string path;
  };

  void detach();

  const std::unique_ptr<StageFiles> files_;  // their buffers are much for the stack of a thread
  record::Recorder recorder_;
  std::vector<Added> pes_;
  bool finished_ = false;
};

}  // namespace kernbench::runtime
