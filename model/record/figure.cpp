// SPDX-License-Identifier: Apache-2.0
#include "model/record/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "model/arch/rational.hpp"
#include "model/arch/timing.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::record {
namespace {

using arch::nanoseconds;

// Pixels, from the top.
constexpr std::uint64_t kWidth = 1000;
constexpr std::uint64_t kTitleLine = 16;
constexpr std::uint64_t kRowHeight = 28;
constexpr std::uint64_t kBarTop = 3, kBarHeight = 17, kTailTop = 21, kTailHeight = 4;
constexpr std::uint64_t kTextBase = 15;                  // of a text in a row
constexpr std::uint64_t kPeBase = 10, kEngineBase = 22;  // of two
constexpr std::uint64_t kAxisHeight = 20;
constexpr std::uint64_t kFooterHeight = 20;

// Widths of text are estimates: the font is the viewer's.
constexpr std::size_t kTitleCharacters = 120;  // in a line
constexpr std::uint64_t kCharacterWidth = 600, kLabelMargin = 400;
constexpr std::uint64_t kUnitMargin = 4000;  // clear of the first number on the axis
constexpr std::uint64_t kMostTicks = 10;

constexpr std::string_view kFooter =
    "colour: number of the command, modulo 8; hatched: waits and stalls; thin: the data of a DMA "
    "is on its way, its channel free";

// P. Tol, "Colour Schemes" (SRON/EPS/TN/09-002), "light": colour-blind readers can distinguish the
// colours, and black text is readable on them. The order separates similar colours.
constexpr std::array<std::string_view, 8> kPalette{"#77aadd", "#eedd88", "#44bb99", "#ee8866",
                                                   "#99ddff", "#aaaa00", "#ffaabb", "#bbcc33"};

std::size_t colour_of(const StageRecord& record) {
  return record.cmd < 0 ? 0 : static_cast<std::size_t>(record.cmd) % kPalette.size();
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else {
      // XML has no control characters.
      result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return result;
}

/// Breaks a text at spaces into lines of at most `width` characters, unless a word is longer.
std::vector<std::string_view> lines_of(std::string_view text, std::size_t width) {
  std::vector<std::string_view> lines;
  while (text.size() > width) {
    std::size_t cut = text.rfind(' ', width);
    if (cut == std::string_view::npos) cut = text.find(' ', width);
    if (cut == std::string_view::npos) break;
    lines.push_back(text.substr(0, cut));
    text.remove_prefix(cut + 1);
  }
  lines.push_back(text);
  return lines;
}

/// Hundredths as pixels.
std::string pixels(std::uint64_t hundredths) {
  return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
}

/// What the stage works on, which its row does not show.
std::string_view subject_of(const StageRecord& record) {
  switch (record.stage) {
    case arch::StageKind::dispatch:
    case arch::StageKind::math:
      return record.op;
    case arch::StageKind::dma_read:
    case arch::StageKind::dma_write:
      return record.op_index < 0 ? record.op : record.operand;  // load, store; a, b, out
    default:
      return to_string(record.stage);
  }
}

/// The longest text that fits a bar; empty if none fits.
std::string label_of(const StageRecord& record, std::uint64_t width) {
  std::string label = fmt::format("#{} {}", record.cmd, subject_of(record));
  const auto fits = [&] { return label.size() * kCharacterWidth + kLabelMargin <= width; };
  if (!fits()) label.resize(label.find(' '));
  return fits() ? label : std::string();
}

std::string tooltip_of(const StageRecord& record, const arch::TopologyConfig& topology) {
  std::string text = fmt::format("{} #{} {}", engine_name(record.engine, record.channel),
                                 record.cmd, to_string(record.stage));
  if (!record.op.empty() && record.op != to_string(record.stage))
    text += fmt::format(" {}", record.op);
  if (!record.operand.empty()) text += fmt::format(" {}", record.operand);
  if (is_message(record.stage)) {
    text += fmt::format(" slot {} {} {} channel {}", record.tile.m,
                        record.stage == arch::StageKind::send ? "to" : "from",
                        pe_name(topology, peer_of(record)), record.tile.k);
  } else if (record.tile.m >= 0) {
    text += fmt::format(" tile {},{}", record.tile.m, record.tile.n);
    if (record.tile.k >= 0) text += fmt::format(",{}", record.tile.k);
  }
  text += fmt::format(": {} to {} ns", nanoseconds(record.start), nanoseconds(record.end));
  if (record.done != record.end) text += fmt::format(", done {} ns", nanoseconds(record.done));
  return text;
}

/// The smallest of 1, 2, 5, 10, 20 .. ps that cuts `span` into at most kMostTicks parts.
Picoseconds tick_step(Picoseconds span) {
  Picoseconds decade = 1;
  while (span / decade > kMostTicks * 5) decade *= 10;
  for (const Picoseconds step : {decade, 2 * decade}) {
    if (span / step <= kMostTicks) return step;
  }
  return decade * 5;
}

/// Draws records in `window`, which is not empty.
class Chart {
 public:
  Chart(OutputFile& file, const std::vector<StageRecord>& records, const Figure::Window& window,
        const arch::TopologyConfig& topology)
      : file_(file), records_(records), window_(window), topology_(topology) {
    for (const StageRecord& record : records_) rows_.emplace(row_key(record), 0);
    std::uint64_t number = 0;
    for (auto& row : rows_) row.second = number++;
  }

  void draw(const std::string& title) {
    const auto lines = lines_of(title, kTitleCharacters);
    top_ = (lines.size() + 1) * kTitleLine;
    const std::uint64_t height = bottom() + kAxisHeight + kFooterHeight;
    file_.write(fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" )"
        R"(viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="10" fill="#222222">)"
        "\n<title>{2}</title>\n",
        kWidth, height, escaped(title)));
    define_hatching();
    file_.write(
        fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n", kWidth, height));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      write_text(Figure::kLeft, (i + 1) * kTitleLine, lines[i], " font-size=\"12\"");
    }
    draw_rows();
    draw_axis();
    draw_bars();
    draw_labels();
    write_text(Figure::kLeft, height - kFooterHeight / 2, kFooter, "");
    file_.write("</svg>\n");
  }

 private:
  using RowKey = std::tuple<std::uint32_t, arch::Engine, std::uint32_t>;
  static RowKey row_key(const StageRecord& record) {
    return {record.pe, record.engine, record.channel};
  }

  std::uint64_t bottom() const { return top_ + rows_.size() * kRowHeight; }
  std::uint64_t row_top(const StageRecord& record) const {
    return top_ + rows_.at(row_key(record)) * kRowHeight;
  }
  std::uint64_t x_of(Picoseconds time) const {
    const Picoseconds shown = std::clamp(time, window_.from, window_.to) - window_.from;
    return Figure::kLeft +
           arch::mul_div_round(Figure::kPlotWidth, shown, window_.to - window_.from);
  }
  std::uint64_t width_of(Picoseconds begin, Picoseconds end) const {
    return std::max(x_of(end) - x_of(begin), Figure::kMinBarWidth);
  }

  void write_text(std::uint64_t x, std::uint64_t y, std::string_view text,
                  std::string_view attributes) {
    file_.write(fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", pixels(x), y, attributes,
                            escaped(text)));
  }

  void define_hatching() {
    file_.write("<defs>\n");
    for (std::size_t i = 0; i < kPalette.size(); ++i) {
      file_.write(fmt::format(
          R"xml(<pattern id="hatch{0}" width="5" height="5" patternUnits="userSpaceOnUse" )xml"
          R"xml(patternTransform="rotate(45)"><rect width="5" height="5" fill="{1}" )xml"
          R"xml(fill-opacity="0.2"/><rect width="1.5" height="5" fill="{1}" )xml"
          R"xml(fill-opacity="0.8"/></pattern>)xml"
          "\n",
          i, kPalette[i]));
    }
    file_.write("</defs>\n");
  }

  void draw_rows() {
    const bool one_pe = rows_.empty() || std::get<0>(rows_.begin()->first) ==
                                             std::get<0>(std::prev(rows_.end())->first);
    for (const auto& [key, number] : rows_) {
      const auto& [pe, engine, channel] = key;
      const std::uint64_t y = top_ + number * kRowHeight;
      if (number % 2 == 0) {
        file_.write(
            fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#f6f6f6\"/>\n",
                        pixels(Figure::kLeft), y, pixels(Figure::kPlotWidth), kRowHeight));
      }
      name_row(one_pe ? "" : pe_name(topology_, pe), engine_name(engine, channel), y);
    }
  }

  /// In one line if it fits, otherwise the PE in small letters above the engine.
  void name_row(const std::string& pe, const std::string& engine, std::uint64_t y) {
    const std::uint64_t x = Figure::kLeft - kLabelMargin;
    const std::string line = pe.empty() ? engine : fmt::format("{}.{}", pe, engine);
    if (line.size() * kCharacterWidth <= x) {
      write_text(x, y + kTextBase, line, " text-anchor=\"end\"");
      return;
    }
    write_text(x, y + kPeBase, pe, " text-anchor=\"end\" font-size=\"8\"");
    write_text(x, y + kEngineBase, engine, " text-anchor=\"end\"");
  }

  void draw_axis() {
    const Picoseconds step = tick_step(window_.to - window_.from);
    const Picoseconds first = (window_.from + step - 1) / step * step;
    // A step is at most as long as the window, so there is at least one tick in it.
    const std::uint64_t ticks = (window_.to - first) / step + 1;
    for (std::uint64_t i = 0; i < ticks; ++i) {
      const Picoseconds tick = first + i * step;
      const std::string x = pixels(x_of(tick));
      file_.write(
          fmt::format("<path d=\"M{} {}V{}\" stroke=\"#cccccc\"/>\n", x, top_, bottom() + 4));
      write_text(x_of(tick), bottom() + kAxisHeight - 5,
                 step % 1000 == 0 ? fmt::format("{}", tick / 1000) : nanoseconds(tick),
                 " text-anchor=\"middle\"");
    }
    write_text(Figure::kLeft - kUnitMargin, bottom() + kAxisHeight - 5, "ns",
               " text-anchor=\"end\"");
  }

  void draw_bars() {
    file_.write("<g stroke=\"#444444\" stroke-width=\"0.3\">\n");
    for (const StageRecord& record : records_) {
      if (record.end > window_.from) {
        const bool stall = is_stall(record.stage);
        draw_bar(record, record.start, record.end, kBarTop, kBarHeight,
                 stall ? fmt::format("url(#hatch{})", colour_of(record))
                       : std::string(kPalette[colour_of(record)]));
      }
      if (record.done > record.end && record.end < window_.to) {
        draw_bar(record, record.end, record.done, kTailTop, kTailHeight,
                 kPalette[colour_of(record)]);
      }
    }
    file_.write("</g>\n");
  }

  void draw_bar(const StageRecord& record, Picoseconds begin, Picoseconds end, std::uint64_t top,
                std::uint64_t height, std::string_view fill) {
    file_.write(fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{}</title></rect>\n",
        pixels(x_of(begin)), row_top(record) + top, pixels(width_of(begin, end)), height, fill,
        escaped(tooltip_of(record, topology_))));
  }

  void draw_labels() {
    // The mouse must reach the bar below.
    file_.write("<g text-anchor=\"middle\" pointer-events=\"none\">\n");
    for (const StageRecord& record : records_) {
      const std::uint64_t width = width_of(record.start, record.end);
      const std::string label = label_of(record, width);
      if (label.empty()) continue;
      write_text(x_of(record.start) + width / 2, row_top(record) + kTextBase, label, "");
    }
    file_.write("</g>\n");
  }

  OutputFile& file_;
  const std::vector<StageRecord>& records_;
  const Figure::Window window_;
  const arch::TopologyConfig& topology_;
  std::map<RowKey, std::uint64_t> rows_;
  std::uint64_t top_ = 0;
};

}  // namespace

Figure::Figure(const std::string& path, std::string title, Window window,
               const arch::TopologyConfig& topology)
    : file_(path), path_(path), title_(std::move(title)), window_(window), topology_(topology) {}

void Figure::record(const StageRecord& record) {
  if (record.done <= window_.from || record.start >= window_.to) return;
  if (++stages_ <= kMaxBars) records_.push_back(record);
}

void Figure::finish(Picoseconds end) {
  if (stages_ > kMaxBars) {
    throw FigureRefused(fmt::format(
        "figure '{}' would have {} stages, of which at most {} can be told apart; take a smaller "
        "problem, or a part of the run with --figure-window FROM:TO",
        path_, stages_, kMaxBars));
  }
  if (window_.from != 0 && window_.from >= end) {
    throw FigureRefused(fmt::format(
        "figure '{}' would begin at {} ns, but the run ends at {} ns; choose an earlier window",
        path_, nanoseconds(window_.from), nanoseconds(end)));
  }
  // A run without a command takes no time.
  window_.to = std::min(window_.to, std::max(end, Picoseconds{1}));
  Chart(file_, records_, window_, topology_).draw(title_);
  file_.commit();
}

}  // namespace kernbench::record
