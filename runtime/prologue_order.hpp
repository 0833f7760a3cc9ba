// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "model/record/record.hpp"

namespace kernbench::runtime {

/// Checks "K before V" (contract 7) on the rows of the op log: no composite reads its gemm's b
/// before its last MATH stage of the prologue has ended.
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

}  // namespace kernbench::runtime
