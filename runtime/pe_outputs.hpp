// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/pe.hpp"
#include "runtime/stage_files.hpp"

namespace kernbench::runtime {

/// Op log, waveform, trace and summary (R10) of PEs in your own SystemC design.
///
///     Pe pe("pe0", config, 0);
///     PeOutputs outputs({"op_log.csv", "waves.vcd", "trace.json", "summary.json"});
///     outputs.add(pe);
///     sc_core::sc_start();
///     outputs.finish();
///
/// The files do not depend on how the simulation ends: by itself, at a time, by sc_stop(), in one
/// piece or in several. finish() completes them, not a SystemC callback, and the run ends when the
/// last PE was done, not when the simulation stopped. Without finish() there are no files. A
/// PeOutputs and its PEs must exist until finish() and may then be destroyed in any order.
///
/// For a PE called NAME the waveform has `NAME.cpu` .. `NAME.math`, `NAME.ipcq` if its
/// PeConfig::pes is above 1, and `NAME.memory`, which counts the DMA stages running at its socket.
/// The summary has the keys of contract 12 without those of a kernel and without host times, so it
/// is the same in every run.
class PeOutputs {
 public:
  /// Opens the files; an empty path means no file. Throws InputError if a file cannot be opened.
  explicit PeOutputs(const StagePaths& paths);
  /// Before finish(): writes no files, and the PEs that still exist continue unrecorded.
  ~PeOutputs();
  PeOutputs(const PeOutputs&) = delete;
  PeOutputs& operator=(const PeOutputs&) = delete;

  /// Records a PE; call it before the simulation starts. Rows identify the PE by its index. `name`:
  /// its name in waveform, trace and summary, made of letters, digits and `_`, with dots between
  /// scopes; empty: the instance name. Throws InputError if another PE has the same index or name.
  void add(Pe& pe, std::string name = {});

  /// For adding your own sinks before the simulation starts.
  record::Recorder& recorder() { return recorder_; }

  /// Completes the files; later stages are not recorded, and a second call does nothing. Throws
  /// what a kernel has thrown. Throws SimulationError, with the wait graph, if a PE is not idle, or
  /// if a PE has not received a message that another of these PEs has sent. No file is written
  /// then, and the simulation may continue until the next call.
  void finish();

 private:
  struct Added {
    Pe* pe;
    std::string name;
    const sc_core::sc_object* object;  ///< the PE as SystemC knows it, by `path`
    std::string path;
  };

  void detach();

  const std::unique_ptr<StageFiles> files_;  // on the heap, since their buffers are large for a
                                             // thread's stack
  record::Recorder recorder_;
  std::vector<Added> pes_;
  bool finished_ = false;
};

}  // namespace kernbench::runtime
