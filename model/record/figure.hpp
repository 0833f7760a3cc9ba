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

/// A figure cannot show its run. The run and its other outputs are valid.
class FigureRefused : public InputError {
 public:
  using InputError::InputError;
};

/// A Gantt chart of the stages as SVG (R10.5), 1000 px wide. It has one row per engine or DMA
/// channel that has a stage, in the order of the data flow. Bars are coloured by command; waits and
/// stalls are hatched. A bar has the stage as its tooltip, and a label where there is room. A thin
/// bar below that of a DMA stage is the time from `end` to `done`, when the channel is free but the
/// data is still in flight. Rows are labelled with their PEs if there are several.
///
/// With the window [from, to], where `to` is at most the end of the run, and times clipped to it,
/// time t is at x(t) = kLeft + round(kPlotWidth (t - from) / (to - from)) hundredths of a pixel and
/// a bar reaches from x(start) to x(end), but is at least kMinBarWidth wide. A stage outside the
/// window gives no bar.
class Figure : public OrderedSink {
 public:
  static constexpr std::uint64_t kLeft = 9000;
  static constexpr std::uint64_t kPlotWidth = 89000;
  static constexpr std::uint64_t kMinBarWidth = 50;
  /// More bars could not be distinguished.
  static constexpr std::uint64_t kMaxBars = 2000;

  struct Window {
    Picoseconds from = 0;
    Picoseconds to = std::numeric_limits<Picoseconds>::max();
  };

  /// `title`: text above the chart. `window.from` must be below `window.to`. `topology`: of the
  /// design. Throws InputError if the file cannot be opened.
  Figure(const std::string& path, std::string title, Window window,
         const arch::TopologyConfig& topology);

  void record(const StageRecord& record) override;
  /// The file appears under its name. Throws FigureRefused, and writes no file, if the window has
  /// more than kMaxBars stages, or begins at or after the end of the run.
  void finish(Picoseconds end) override;

 private:
  OutputFile file_;
  std::string path_;
  std::string title_;
  Window window_;
  const arch::TopologyConfig topology_;
  std::uint64_t stages_ = 0;          // in the window
  std::vector<StageRecord> records_;  // the stages that can be drawn
};

}  // namespace kernbench::record
