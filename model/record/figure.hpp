// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "model/arch/config.hpp"
#include "model/record/output_file.hpp"
#include "model/record/record.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::record {

/// A figure cannot show its run: nothing is wrong with the run or its other outputs.
class FigureRefused : public InputError {
 public:
  using InputError::InputError;
};

/// A Gantt chart of the stages as SVG (R10.5), 1000 px wide, a row an engine or DMA channel that
/// has a stage, in the order of the data flow. Bars are coloured by command, waits and stalls
/// hatched; a bar has the stage as its tooltip, and a label where there is room. A thin bar below
/// that of a DMA stage is the time from `end` to `done`: the channel is free, the data still on its
/// way. Rows have the names of their PEs if there are several.
///
/// With the window [from, to] of the run, to at most its end, and times cut to it, time t lies at
///   x(t) = kLeft + round(kPlotWidth (t - from) / (to - from))   hundredths of a pixel
/// and a bar reaches from x(start) to x(end), or is kMinBarWidth wide if that is more. A stage that
/// does not last into the window gives no bar.
class Figure : public OrderedSink {
 public:
  static constexpr std::uint64_t kLeft = 9000;
  static constexpr std::uint64_t kPlotWidth = 89000;
  static constexpr std::uint64_t kMinBarWidth = 50;
  /// More than that cannot be told apart.
  static constexpr std::uint64_t kMaxBars = 2000;

  struct Window {
    Picoseconds from = 0;
    Picoseconds to = std::numeric_limits<Picoseconds>::max();
  };

  /// `title`: text above the chart. `window.from` < `window.to`. `topology`: of the design. Throws
  /// InputError if the file cannot be opened.
  Figure(const std::string& path, std::string title, Window window,
         const arch::TopologyConfig& topology);

  void record(const StageRecord& record) override;
  /// The file appears under its name. Throws FigureRefused, and there is no file, if there are more
  /// than kMaxBars stages in the window, or if it begins at or after the end of the run.
  void finish(Picoseconds end) override;

 private:
  OutputFile file_;
  std::string path_;
  std::string title_;
  Window window_;
  const arch::TopologyConfig topology_;
  std::uint64_t stages_ = 0;          // in the window
  std::vector<StageRecord> records_;  // those of them that can be drawn
};

}  // namespace kernbench::record
