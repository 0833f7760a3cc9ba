// SPDX-License-Identifier: Apache-2.0
#include "runtime/stage_files.hpp"

#include <algorithm>

#include "runtime/launch/arguments.hpp"

namespace kernbench::runtime {

StageFiles::StageFiles(const StagePaths& paths) {
  check_paths({{"op_log", paths.op_log},
               {"vcd", paths.vcd},
               {"trace", paths.trace},
               {"summary", paths.summary}});
  if (!paths.op_log.empty()) op_log_.emplace(paths.op_log);
  if (!paths.vcd.empty()) vcd_.emplace(paths.vcd);
  if (!paths.trace.empty()) trace_.emplace(paths.trace);
  if (!paths.summary.empty()) summary_.emplace(paths.summary);
}

void StageFiles::add_pe(const record::PeScope& pe) {
  if (vcd_) vcd_->add_pe(pe);
  if (trace_) trace_->add_pe(pe);
}

void StageFiles::add_machine(const arch::TopologyConfig& topology,
                             const std::vector<std::uint32_t>& shown) {
  if (trace_) trace_->set_machine(arch::title_of(topology));
  for (record::PeScope& pe : record::scopes_of(topology)) {
    pe.shown = shown.empty() || std::find(shown.begin(), shown.end(), pe.number) != shown.end();
    add_pe(pe);
  }
}

void StageFiles::attach(record::Recorder& recorder) {
  if (op_log_) recorder.add_sink(*op_log_);
  if (vcd_) recorder.add_sink(*vcd_);
  if (trace_) recorder.add_sink(*trace_);
}

void StageFiles::write_summary(const nlohmann::ordered_json& summary) {
  if (!summary_) return;
  summary_->write(summary.dump(2));
  summary_->put('\n');
  summary_->commit();
}

}  // namespace kernbench::runtime
