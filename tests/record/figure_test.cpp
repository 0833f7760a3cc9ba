// SPDX-License-Identifier: Apache-2.0
#include "model/record/figure.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/record/sample_records.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::test {
namespace {

using record::Figure;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::StartsWith;

// An element of an XML file, by its opening tag.
struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;   // without that of its children
  std::string title;  // the text of its child `title`
};

// Elements in the order of their opening tags. Throws std::runtime_error for what is no well-formed
// XML, as far as a figure needs it: elements, attributes in double quotes, the three entities.
class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : rest_(text) {}

  std::vector<Element> read() {
    while (!rest_.empty()) {
      if (rest_.front() != '<') {
        const std::string text = character_data(take_until('<'));
        if (!open_.empty()) {
          elements_[open_.back()].text += text;
        } else if (text.find_first_not_of('\n') != std::string::npos) {
          fail("text outside the root");
        }
        continue;
      }
      rest_.remove_prefix(1);
      tag(take_until('>'));
      rest_.remove_prefix(1);
    }
    if (!open_.empty()) fail("'" + elements_[open_.back()].name + "' is not closed");
    return elements_;
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw std::runtime_error("XML: " + what);
  }

  std::string_view take_until(char end) {
    const std::size_t size = std::min(rest_.find(end), rest_.size());
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  static std::string character_data(std::string_view raw) {
    static const std::map<std::string_view, char> kEntities{
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}};
    std::string text;
    while (!raw.empty()) {
      const char c = raw.front();
      if (c == '<' || c == '>') fail("a bare angle bracket");
      if (static_cast<unsigned char>(c) < ' ' && c != '\n') fail("a control character");
      std::size_t size = 1;
      if (c == '&') {
        size = std::min(raw.find(';') + 1, raw.size());
        const auto entity = kEntities.find(raw.substr(0, size));
        if (entity == kEntities.end()) fail("an unknown entity");
        text += entity->second;
      } else {
        text += c;
      }
      raw.remove_prefix(size);
    }
    return text;
  }

  // What stands between angle brackets.
  void tag(std::string_view text) {
    if (!text.empty() && text.front() == '/') {
      if (open_.empty() || elements_[open_.back()].name != text.substr(1)) {
        fail("'" + std::string(text) + "' closes nothing");
      }
      const Element& closed = elements_[open_.back()];
      open_.pop_back();
      if (closed.name == "title") elements_[open_.back()].title = closed.text;
      return;
    }
    const bool empty = !text.empty() && text.back() == '/';
    if (empty) text.remove_suffix(1);
    Element element;
    const std::size_t name_size = std::min(text.find(' '), text.size());
    element.name = text.substr(0, name_size);
    if (element.name.empty()) fail("an element without a name");
    text.remove_prefix(name_size);
    while (!text.empty()) {
      const std::size_t equals = text.find("=\"");
      const std::size_t end = text.find('"', equals + 2);
      if (text.front() != ' ' || equals == std::string_view::npos || end == text.npos) {
        fail("'" + std::string(text) + "' is no attribute");
      }
      const bool added = element.attributes
                             .emplace(text.substr(1, equals - 1),
                                      character_data(text.substr(equals + 2, end - equals - 2)))
                             .second;
      if (!added) fail("an attribute is given twice");
      text.remove_prefix(end + 1);
    }
    if (open_.empty() && !elements_.empty()) fail("a second root");
    elements_.push_back(element);
    if (!empty) open_.push_back(elements_.size() - 1);
  }

  std::string_view rest_;
  std::vector<Element> elements_;
  std::vector<std::size_t> open_;
};

std::string figure_text(const std::vector<StageRecord>& records, Picoseconds end,
                        Figure::Window window = {}, const std::string& title = "gemm m=8",
                        const arch::TopologyConfig& topology = one_cube(16)) {
  const TemporaryFolder folder;
  Figure figure(folder / "figure.svg", title, window, topology);
  feed(figure, records, end);
  return read_file(folder / "figure.svg");
}

// Pixels with two decimals as hundredths.
std::uint64_t hundredths(const std::string& pixels) {
  const std::size_t point = pixels.find('.');
  if (point == std::string::npos || pixels.size() != point + 3) {
    throw std::runtime_error("'" + pixels + "' has not two decimals");
  }
  return std::stoull(pixels.substr(0, point)) * 100 + std::stoull(pixels.substr(point + 1));
}

struct Bar {
  std::uint64_t x, width;  // hundredths
  std::uint64_t y, height;
  std::string fill, title;
};

struct Text {
  std::uint64_t x, y;
  std::string text;
};

struct Drawing {
  std::vector<Bar> bars;  // those with a tooltip
  std::vector<Text> texts;

  std::vector<std::string> words() const {
    std::vector<std::string> result;
    for (const Text& text : texts) result.push_back(text.text);
    return result;
  }
};

Drawing read_figure(const std::string& text) {
  Drawing drawing;
  for (const Element& element : XmlReader(text).read()) {
    const auto& attributes = element.attributes;
    if (element.name == "rect" && !element.title.empty()) {
      drawing.bars.push_back({hundredths(attributes.at("x")), hundredths(attributes.at("width")),
                              std::stoull(attributes.at("y")), std::stoull(attributes.at("height")),
                              attributes.at("fill"), element.title});
    } else if (element.name == "text") {
      drawing.texts.push_back(
          {hundredths(attributes.at("x")), std::stoull(attributes.at("y")), element.text});
    }
  }
  return drawing;
}

Drawing draw(const std::vector<StageRecord>& records, Picoseconds end, Figure::Window window = {}) {
  return read_figure(figure_text(records, end, window));
}

// At this length of a run a hundredth of a pixel is 100 ps, by the formula of figure.hpp:
// x(t) = 9000 + round(89000 t / 8900000 ps).
constexpr Picoseconds kEnd = 8900000;

TEST(FigureTest, BarsLieWhereTheirTimesSay) {
  const Drawing drawing = draw({dispatch_row(0, 60125, 0), math_row(60150, 68125, 0),
                                math_row(68125, 68225, 1), math_row(8000000, kEnd, 2)},
                               kEnd);
  ASSERT_EQ(drawing.bars.size(), 4u);
  EXPECT_EQ(drawing.bars[0].x, 9000u);
  EXPECT_EQ(drawing.bars[0].width, 601u);  // 601.25
  EXPECT_EQ(drawing.bars[1].x, 9602u);     // 601.5 is rounded up
  EXPECT_EQ(drawing.bars[1].width, 79u);   // to 681.25
  EXPECT_EQ(drawing.bars[2].x, 9681u);
  EXPECT_EQ(drawing.bars[2].width, 50u);  // at least
  EXPECT_EQ(drawing.bars[3].x, 89000u);
  EXPECT_EQ(drawing.bars[3].width, 9000u);
}

TEST(FigureTest, TimeFromEndToDoneOfADmaIsAThinBarBelow) {
  const Drawing drawing = draw({read_row(1000000, 2000000, 2500000, 3)}, kEnd);
  ASSERT_EQ(drawing.bars.size(), 2u);
  const Bar &occupied = drawing.bars[0], &underway = drawing.bars[1];
  EXPECT_EQ(occupied.x, 19000u);
  EXPECT_EQ(occupied.width, 10000u);
  EXPECT_EQ(underway.x, 29000u);
  EXPECT_EQ(underway.width, 5000u);
  EXPECT_EQ(underway.fill, occupied.fill);
  EXPECT_GE(underway.y, occupied.y + occupied.height);
  EXPECT_LT(2 * underway.height, occupied.height);
}

// The window 1000 ns to 1890 ns: a hundredth of a pixel is 10 ps.
TEST(FigureTest, AWindowCutsStagesAndLeavesOutOthers) {
  const Drawing drawing =
      draw({read_row(0, 900000, 1100000, 0),         // only what is underway reaches into it
            math_row(500000, 1000000, 1),            // ends as it begins
            math_row(1000000, 1200000, 2),           //
            dispatch_row(1800000, 2000000, 3),       // reaches out
            read_row(1850000, 1900000, 2100000, 4),  // what is underway does not reach into it
            math_row(1890000, 2000000, 5)},          // begins as it ends
           kEnd, {1000000, 1890000});
  ASSERT_EQ(drawing.bars.size(), 4u);
  EXPECT_EQ(drawing.bars[0].x, 9000u);
  EXPECT_EQ(drawing.bars[0].width, 10000u);
  EXPECT_EQ(drawing.bars[1].x, 9000u);
  EXPECT_EQ(drawing.bars[1].width, 20000u);
  EXPECT_EQ(drawing.bars[2].x, 89000u);
  EXPECT_EQ(drawing.bars[2].width, 9000u);
  EXPECT_EQ(drawing.bars[3].x, 94000u);
  EXPECT_EQ(drawing.bars[3].width, 4000u);
  // The tooltip has the whole stage.
  EXPECT_EQ(drawing.bars[2].title, "cpu #3 dispatch composite: 1800.000 to 2000.000 ns");
}

TEST(FigureTest, AWindowBeyondTheEndEndsWithTheRun) {
  const std::vector<StageRecord> records{math_row(kEnd / 2, kEnd, 0)};
  EXPECT_EQ(figure_text(records, kEnd, {0, 2 * kEnd}), figure_text(records, kEnd));
}

TEST(FigureTest, EveryEngineAndChannelAtWorkHasARowInTheOrderOfTheDataFlow) {
  const std::vector<StageRecord> records{read_row(0, 100000, 100000, 1, 1), math_row(0, 200000, 0),
                                         read_row(0, 300000, 300000, 2), dispatch_row(0, 400000, 3),
                                         math_row(200000, 300000, 4)};
  const Drawing drawing = draw(records, kEnd);
  const std::vector<std::string> rows{"dma_rd1", "math", "dma_rd", "cpu", "math"};
  ASSERT_EQ(drawing.bars.size(), rows.size());
  std::map<std::uint64_t, std::string> names;  // by y
  for (const Text& text : drawing.texts) {
    if (text.x < Figure::kLeft && text.text != "ns") names[text.y] = text.text;
  }
  ASSERT_EQ(names.size(), 4u);
  std::vector<std::string> order;
  for (const auto& [y, name] : names) order.push_back(name);
  EXPECT_THAT(order, ElementsAre("cpu", "dma_rd", "dma_rd1", "math"));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Bar& bar = drawing.bars[i];
    const auto name = names.lower_bound(bar.y);  // its base lies within the bar
    ASSERT_NE(name, names.end());
    EXPECT_EQ(name->second, rows[i]);
    EXPECT_LT(name->first, bar.y + bar.height);
    EXPECT_THAT(bar.title, StartsWith(rows[i] + " #"));
  }
}

TEST(FigureTest, RowsNameTheirPeIfThereAreSeveral) {
  const StageRecord other = on_pe(12, math_row(0, 10, 0));
  EXPECT_THAT(draw({math_row(0, 10, 0), other}, 10).words(),
              IsSupersetOf({"pe0.math", "pe12.math"}));
  EXPECT_THAT(draw({other}, 10).words(), Contains("math"));
}

// 82 px hold 13 characters of 6 px: longer names stand above their engines, in the same row.
TEST(FigureTest, LongNamesOfPesStandAboveTheirEngines) {
  const std::vector<StageRecord> records{on_pe(3, math_row(0, 10, 0)),
                                         on_pe(12, math_row(0, 10, 0))};
  const Drawing drawing = read_figure(figure_text(records, 10, {}, "title", two_sips()));
  ASSERT_EQ(drawing.bars.size(), 2u);
  std::map<std::uint64_t, std::string> names;  // by y
  for (const Text& text : drawing.texts) {
    if (text.x < Figure::kLeft && text.text != "ns") names[text.y] = text.text;
  }
  std::vector<std::string> order;
  for (const auto& [y, name] : names) order.push_back(name);
  EXPECT_THAT(order, ElementsAre("sip0.cube0.pe3", "math", "sip1.cube0.pe0", "math"));
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint64_t top = drawing.bars[i].y - 3;  // of the row, by kBarTop
    EXPECT_GT(std::next(names.begin(), static_cast<int>(2 * i))->first, top);
    EXPECT_LT(std::next(names.begin(), static_cast<int>(2 * i + 1))->first, top + 28);
  }
}

TEST(FigureTest, MessagesHaveARowBelowMathAndTellTheirPeers) {
  const Drawing drawing =
      draw({message_row(0, 1000000, StageKind::send, 3, 0, 15, 2), math_row(0, 1000000, 1),
            message_row(1000000, 2000000, StageKind::recv, 4, 1, 7, 0)},
           kEnd);
  ASSERT_EQ(drawing.bars.size(), 3u);
  EXPECT_EQ(drawing.bars[0].title,
            "ipcq #3 send src slot 0 to pe15 channel 2: 0.000 to 1000.000 ns");
  EXPECT_EQ(drawing.bars[2].title,
            "ipcq #4 recv out slot 1 from pe7 channel 0: 1000.000 to 2000.000 ns");
  EXPECT_EQ(drawing.bars[0].y, drawing.bars[2].y);
  EXPECT_GT(drawing.bars[0].y, drawing.bars[1].y);
  EXPECT_THAT(drawing.words(), IsSupersetOf({"ipcq", "math", "#3 send", "#4 recv"}));
}

TEST(FigureTest, ColoursAreOfCommandsAndStallsAreHatched) {
  std::vector<StageRecord> records;
  for (std::int64_t cmd = 0; cmd < 9; ++cmd) records.push_back(math_row(0, 10, cmd));
  records.push_back(dispatch_row(0, 10, 2));
  records.push_back(row(0, 10, Engine::cpu, StageKind::wait, 2));
  records.push_back(row(0, 10, Engine::cpu, StageKind::queue_stall, 10));
  records.push_back(row(0, 10, Engine::scheduler, StageKind::admit_stall, 3));
  const std::vector<Bar> bars = draw(records, 10).bars;
  ASSERT_EQ(bars.size(), records.size());
  std::set<std::string> fills;
  for (std::size_t cmd = 0; cmd < 8; ++cmd) {
    EXPECT_THAT(bars[cmd].fill, StartsWith("#"));
    fills.insert(bars[cmd].fill);
  }
  EXPECT_EQ(fills.size(), 8u);
  EXPECT_EQ(bars[8].fill, bars[0].fill);
  EXPECT_EQ(bars[9].fill, bars[2].fill);
  EXPECT_EQ(bars[10].fill, "url(#hatch2)");
  EXPECT_EQ(bars[11].fill, "url(#hatch2)");  // 10 modulo 8
  EXPECT_EQ(bars[12].fill, "url(#hatch3)");
}

// The patterns are those of the commands' colours.
TEST(FigureTest, HatchesAreDefined) {
  const std::string text = figure_text({math_row(0, 10, 5)}, 10);
  std::string pattern, colour;
  for (const Element& element : XmlReader(text).read()) {
    if (element.name == "pattern") pattern = element.attributes.at("id");
    if (element.name == "rect" && pattern == "hatch5") colour = element.attributes.at("fill");
  }
  EXPECT_EQ(colour, read_figure(text).bars.at(0).fill);
}

// A character is taken for 6 px, with 4 px at both ends together: `#7 rmax` needs 46 px, `#7` 16.
TEST(FigureTest, LabelsAreAsLongAsTheirBarsAllow) {
  const auto label = [](Picoseconds pixels) {
    const Drawing drawing = draw({math_row(0, pixels * 10000, 7)}, kEnd);
    std::string found;
    for (const Text& text : drawing.texts) {
      if (text.text.front() != '#') continue;
      EXPECT_EQ(text.x, Figure::kLeft + pixels * 50);  // the middle
      found += text.text;
    }
    return found;
  };
  EXPECT_EQ(label(15), "");
  EXPECT_EQ(label(16), "#7");
  EXPECT_EQ(label(45), "#7");
  EXPECT_EQ(label(46), "#7 rmax");
}

TEST(FigureTest, LabelsSayWhatTheRowDoesNot) {
  StageRecord load = read_row(3000000, 4000000, 4100000, 2);
  load.op = "load";
  load.op_index = -1;
  load.operand = "src";
  StageRecord store = row(5000000, 6000000, Engine::tcm, StageKind::store, 1);
  store.op = "gemm";
  EXPECT_THAT(
      draw({dispatch_row(0, 1000000, 0), math_row(1000000, 2000000, 0),
            read_row(2000000, 3000000, 3100000, 1), load, store,
            row(6000000, 7000000, Engine::scheduler, StageKind::admit_stall, 9)},
           kEnd)
          .words(),
      IsSupersetOf({"#0 composite", "#0 rmax", "#1 b", "#2 load", "#1 store", "#9 admit_stall"}));
}

TEST(FigureTest, TooltipsTellTheWholeStage) {
  StageRecord gemm = row(344000, 376000, Engine::gemm, StageKind::gemm, 3);
  gemm.op = "gemm";
  gemm.tile = {4, 5, 6};
  const std::vector<Bar> bars = draw({read_row(104125, 248125, 348125, 2, 1), gemm}, kEnd).bars;
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_EQ(bars[0].title,
            "dma_rd1 #2 dma_read gemm b tile 0,1,2: 104.125 to 248.125 ns, done 348.125 ns");
  EXPECT_EQ(bars[2].title, "gemm #3 gemm tile 4,5,6: 344.000 to 376.000 ns");
}

// At most ten steps, each a 1, 2 or 5 with zeros.
TEST(FigureTest, TheAxisHasRoundNanoseconds) {
  const auto ticks = [](Figure::Window window) {
    const Drawing drawing = draw({}, 1000000000, window);
    std::vector<std::pair<std::string, std::uint64_t>> result;
    for (const Text& text : drawing.texts) {
      if (text.text.find_first_not_of("0123456789.") == std::string::npos) {
        result.emplace_back(text.text, text.x);
      }
    }
    return result;
  };
  using Tick = std::pair<std::string, std::uint64_t>;
  EXPECT_THAT(ticks({0, kEnd}),
              ElementsAre(Tick("0", 9000), Tick("1000", 19000), Tick("2000", 29000),
                          Tick("3000", 39000), Tick("4000", 49000), Tick("5000", 59000),
                          Tick("6000", 69000), Tick("7000", 79000), Tick("8000", 89000)));
  // 890 ns from 1001 ns on: by 100, the first at 9000 + 99 * 100.
  EXPECT_EQ(ticks({1001000, 1891000}).front(), Tick("1100", 18900));
  EXPECT_EQ(ticks({1001000, 1891000}).size(), 8u);
  // 11 parts of 100 are too many, so 6 of 200; 10 are not; 21 of 200 are, so 9 of 500.
  EXPECT_EQ(ticks({0, 1100000}).size(), 6u);
  EXPECT_EQ(ticks({0, 1000000}).size(), 11u);
  EXPECT_EQ(ticks({0, 4200000}).size(), 9u);
  // Below a nanosecond.
  EXPECT_EQ(ticks({0, 890}).at(1), Tick("0.100", 19000));
  EXPECT_EQ(ticks({0, 1}).size(), 2u);
}

TEST(FigureTest, TheTitleIsEscapedAndWrapped) {
  const std::string long_word(130, 'w');
  const std::string title = "a<b> & \"c\"\nd " + long_word + " " + std::string(60, 'x') + " " +
                            std::string(60, 'y') + " end";
  const std::string text = figure_text({}, kEnd, {}, title);
  EXPECT_THAT(read_figure(text).words(),
              IsSupersetOf({std::string("a<b> & \"c\" d"), long_word, std::string(60, 'x'),
                            std::string(60, 'y') + " end"}));
}

TEST(FigureTest, IsOneSvgWithoutScriptsAndForeignFonts) {
  const std::string text = figure_text({dispatch_row(0, 60125, 0)}, kEnd);
  const std::vector<Element> elements = XmlReader(text).read();
  ASSERT_FALSE(elements.empty());
  EXPECT_EQ(elements[0].name, "svg");
  EXPECT_EQ(elements[0].attributes.at("xmlns"), "http://www.w3.org/2000/svg");
  EXPECT_EQ(elements[0].attributes.at("width"), "1000");
  EXPECT_EQ(elements[0].attributes.at("font-family"), "sans-serif");
  EXPECT_EQ(elements[0].title, "gemm m=8");
  std::set<std::string> names;
  for (const Element& element : elements) names.insert(element.name);
  EXPECT_THAT(names, ElementsAre("defs", "g", "path", "pattern", "rect", "svg", "text", "title"));
}

TEST(FigureTest, ARunWithoutStagesIsAnEmptyChart) {
  EXPECT_THAT(draw({}, 0).bars, IsEmpty());
  EXPECT_THAT(draw({}, 0).words(), Contains("gemm m=8"));
}

// x(t) needs more than 64 bits on the way.
TEST(FigureTest, TheLongestRunIsDrawn) {
  constexpr Picoseconds kLongest = std::numeric_limits<Picoseconds>::max();
  const std::vector<Bar> bars = draw({math_row(kLongest / 2, kLongest, 0)}, kLongest).bars;
  ASSERT_EQ(bars.size(), 1u);
  EXPECT_EQ(bars[0].x, 9000u + 44500u);
  EXPECT_EQ(bars[0].width, 44500u);
}

std::string refusal(const std::vector<StageRecord>& records, Picoseconds end,
                    Figure::Window window) {
  const TemporaryFolder folder;
  std::string message = "no error";
  {
    Figure figure(folder / "figure.svg", "title", window, one_cube(1));
    try {
      feed(figure, records, end);
    } catch (const InputError& error) {
      message = error.what();
      const std::string path = folder / "figure.svg";
      message.replace(message.find(path), path.size(), "figure.svg");
    }
  }
  if (message != "no error") {
    EXPECT_THAT(folder.names(), IsEmpty());
  }
  return message;
}

TEST(FigureTest, RefusesMoreStagesThanCanBeToldApart) {
  std::vector<StageRecord> records;
  for (Picoseconds i = 0; i < 2000; ++i) records.push_back(math_row(i, i + 1, 0));
  EXPECT_EQ(refusal(records, 2003, {}), "no error");
  for (Picoseconds i = 2000; i < 2003; ++i) records.push_back(math_row(i, i + 1, 0));
  EXPECT_EQ(refusal(records, 2003, {}),
            "figure 'figure.svg' would have 2003 stages, of which at most 2000 can be told apart; "
            "take a smaller problem, or a part of the run with --figure-window FROM:TO");
  // Only those in the window count.
  EXPECT_EQ(refusal(records, 2003, {3, 2003}), "no error");
}

TEST(FigureTest, RefusesAWindowAfterTheRun) {
  EXPECT_EQ(refusal({math_row(0, 10000, 0)}, 10000, {10000, 20000}),
            "figure 'figure.svg' would begin at 10.000 ns, but the run ends at 10.000 ns; choose "
            "an earlier window");
  EXPECT_EQ(refusal({math_row(0, 10000, 0)}, 10000, {9999, 20000}), "no error");
}

TEST(FigureTest, RefusesAFileThatCannotBeOpened) {
  const TemporaryFolder folder;
  EXPECT_THROW(Figure(folder / "none/figure.svg", "title", {}, one_cube(1)), InputError);
}

// The reader above sees what is wrong.
TEST(FigureTest, TheReaderRefusesBrokenXml) {
  for (const char* text :
       {"<a>", "<a></b>", "</a>", "<a/><b/>", "<a>&</a>", "<a>&x;</a>", "<a b=\"1\" b=\"2\"/>",
        "<a b=1/>", "<a b=\"<\"/>", "text", "<a>></a>"}) {
    EXPECT_THROW(XmlReader(text).read(), std::runtime_error) << text;
  }
  const auto elements = XmlReader("<a b=\"&lt;\">x<title>y</title></a>\n").read();
  EXPECT_EQ(elements.at(0).attributes.at("b"), "<");
  EXPECT_EQ(elements.at(0).title, "y");
}

}  // namespace
}  // namespace kernbench::test
