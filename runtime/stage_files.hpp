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

/// Where the outputs of contract 10 go; empty: not wanted.
struct StagePaths {
  std::string op_log, vcd, trace, summary;
};

/// These files, opened. Each appears under its name when it is complete: the summary by
/// write_summary(), the others by the recorder's finish().
class StageFiles {
 public:
  /// Throws InputError if two have the same name or one cannot be opened.
  explicit StageFiles(const StagePaths& paths);

  /// Names a PE; every one, before its first record.
  void add_pe(const record::PeScope& pe);
  /// Names all of a machine. `shown`: those of the waveform; empty: all.
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
