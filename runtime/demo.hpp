// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "model/record/record.hpp"
#include "runtime/run.hpp"

namespace kernbench::runtime {

/// Checks K before V (contract 7) on the rows of the op log: no composite reads its gemm's b before
/// its last MATH stage ahead of the tile loop has ended.
class PrologueOrder : public record::OrderedSink {
 public:
  void record(const record::StageRecord& record) override;
  void finish(record::Picoseconds) override {}

  /// Composites with a prologue and a streamed b.
  std::uint64_t composites() const;
  /// Those of them that break the rule.
  std::uint64_t violations() const;

 private:
  struct Composite {
    bool has_prologue = false, reads_b = false;
    std::int32_t gemm_index = -1;
    record::Picoseconds prologue_end = 0;
    record::Picoseconds first_read = 0;
  };
  static bool applies(const Composite& composite) {
    return composite.has_prologue && composite.reads_b;
  }

  std::map<std::int64_t, Composite> composites_;  // by command number
};

/// The files that the demo writes into `folder`.
std::vector<std::string> demo_files(const std::string& folder);

/// The main job: decode with the head geometry of Llama 70B, opt2 and opt3, data on. Writes op log,
/// VCD, trace and summary of each into `folder`, which is created, and a report to `out`. Returns
/// whether all checks passed. Throws InputError if gqa_decode is not among `kernels`.
bool run_demo(std::ostream& out, const std::vector<kernels::Kernel>& kernels,
              const arch::TopologyConfig& topology, const MemoryFactory& memory,
              const std::string& folder);

}  // namespace kernbench::runtime
