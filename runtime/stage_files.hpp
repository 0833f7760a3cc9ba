// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/record/op_log.hpp"
#include "model/record/output_file.hpp"
#include "model/record/recorder.hpp"
#include "model/record/trace.hpp"
#include "model/record/vcd.hpp"

namespace kernbench::runtime {

/// The files of the outputs of contract 10; empty: not wanted.
struct StagePaths {
  std::string op_log, vcd, trace, summary;
};

/// These files, opened. Each appears under its name when it is complete: the summary after
/// write_summary(), the others after the recorder's finish().
class StageFiles {
 public:
  /// Throws InputError if two files have the same name or one cannot be opened.
  explicit StageFiles(const StagePaths& paths);

  /// Names a PE. Call it for every PE before its first record.
  void add_pe(const record::PeScope& pe);
  /// Names all PEs of a machine. `shown`: the PEs in the waveform; empty: all.
  void add_machine(const arch::TopologyConfig& topology,
                   const std::vector<std::uint32_t>& shown = {});
  void attach(record::Recorder& recorder);
  void write_summary(const nlohmann::ordered_json& summary);

 private:
  std::optional<record::OpLog> op_log_;
  std::optional<record::Vcd> vcd_;
  std::optional<record::Trace> trace_;
  std::optional<record::OutputFile> summary_;
};

}  // namespace kernbench::runtime
