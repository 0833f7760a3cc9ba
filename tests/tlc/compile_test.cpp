// SPDX-License-Identifier: Apache-2.0
// What a launch is compiled to, and what a program file is as a launch, without SystemC.
#include "runtime/launch/compile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/catalogue.hpp"
#include "kernels/shards.hpp"
#include "runtime/launch/arguments.hpp"
#include "tests/support/catalogue_programs.hpp"
#include "tlm_if/command/address_map.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::runtime {
namespace {

using command::ProgramFile;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

arch::TopologyConfig one_pe() {
  arch::TopologyConfig topology;
  topology.name = "small";
  return topology;
}

Launch launch_of(const std::string& kernel, const Settings& settings,
                 const arch::TopologyConfig& topology) {
  return {kernel_of(kernels::catalogue(), kernel), settings, topology};
}

Launch from_file(ProgramFile file, const arch::TopologyConfig& topology) {
  return {"f.kbp", std::make_shared<const ProgramFile>(std::move(file)), topology};
}

/// What is said of `file` on that topology; empty: it is taken.
std::string refusal(const ProgramFile& file, const arch::TopologyConfig& topology) {
  try {
    from_file(file, topology);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

// The file of each kernel of the catalogue, written and read, is the same file, and stands for the
// same launch.
TEST(Compile, EveryKernelComesBackFromItsFile) {
  const arch::TopologyConfig topology = test::catalogue_topology();
  std::size_t several = 0;
  for (const kernels::Kernel& kernel : kernels::catalogue()) {
    SCOPED_TRACE(kernel.name);
    const bool has_layers = kernels::find_parameter(kernel.parameters, "layers") != nullptr;
    const Launch live(kernel, has_layers ? Settings{{"layers", "1"}} : Settings{}, topology);
    const auto bytes = command::to_bytes(compile(live));
    const ProgramFile file = command::parse_program_file(bytes, "f.kbp");
    EXPECT_EQ(command::to_bytes(file), bytes);
    const Launch read = from_file(file, topology);
    EXPECT_EQ(command::to_bytes(compile(read)), bytes);

    EXPECT_EQ(read.title(), live.title());
    EXPECT_EQ(read.kernel(), live.kernel());
    ASSERT_EQ(read.parameters().size(), live.parameters().size());
    for (std::size_t i = 0; i < read.parameters().size(); ++i) {
      EXPECT_EQ(read.parameters()[i].name, live.parameters()[i].name);
      EXPECT_EQ(read.parameters()[i].value, live.parameters()[i].value);
      EXPECT_EQ(read.parameters()[i].integer, live.parameters()[i].integer);
    }
    EXPECT_EQ(read.instance().tiles, live.instance().tiles);
    EXPECT_EQ(read.commands(), live.commands());
    EXPECT_EQ(read.scratch_peak_bytes(), live.scratch_peak_bytes());
    EXPECT_EQ(read.launch().pes(), live.launch().pes());
    for (const std::uint32_t pe : live.launch().pes()) EXPECT_EQ(read.inputs(pe), live.inputs(pe));
    for (command::Index program = 0; program < live.programs(); ++program) {
      command::ProgramRecorder issued, replayed;
      live.issue(issued, program);
      read.issue(replayed, program);
      EXPECT_TRUE(issued.program() == replayed.program()) << "program " << program;
    }
    if (live.programs() > 1) ++several;
  }
  EXPECT_GT(several, 2u);
}

// gemm 8x128x64 with b and out in HBM: a (8, 128) f16, 2048 bytes at 0; b (128, 64), 16384 bytes at
// 0x1000; out (8, 64), 1024 bytes at 0x5000. In TCM lies a alone. One tile.
TEST(Compile, NeedsOfAGemm) {
  const ProgramFile file = compile(launch_of(
      "gemm", {{"m", "8"}, {"k", "128"}, {"n", "64"}, {"b", "hbm"}, {"out", "hbm"}}, one_pe()));
  EXPECT_THAT(file.title, StartsWith("gemm m=8 k=128 n=64 a=tcm b=hbm out=hbm"));
  EXPECT_EQ(file.hbm_bytes, 0x5000u + 1024);
  EXPECT_EQ(file.scratch_bytes, 2048u);
  EXPECT_EQ(file.tiles, 1u);
  ASSERT_EQ(file.tensors.size(), 3u);
  EXPECT_EQ(file.tensors[1].name, "b");
  EXPECT_FALSE(file.tensors[1].is_output);
  EXPECT_EQ(file.tensors[1].shape, (command::Shape{128, 64}));
  EXPECT_EQ(file.tensors[1].parts.at(0).handle.addr, 0x1000u);
  EXPECT_TRUE(file.tensors[2].is_output);
  EXPECT_EQ(file.tensors[2].parts.at(0).handle.addr, 0x5000u);
  ASSERT_EQ(file.streams.size(), 1u);
  EXPECT_EQ(file.streams[0].pe, 0u);
}

// What a kernel touches beside its tensors is needed as well.
TEST(Compile, NeedsWhatAKernelRefers) {
  kernels::Kernel kernel;
  kernel.name = "peek";
  kernel.make = [](const kernels::Parameters&, const tl::Target&) {
    kernels::Instance instance;
    instance.body = [](tl::Context& tl, const std::vector<tl::Tensor>&) {
      tl.load(tl.ref(0x3000, {100}, tl::f16));
    };
    return instance;
  };
  EXPECT_EQ(compile(Launch(kernel, {}, one_pe())).hbm_bytes, 0x3000u + 200);
}

// 3 rows over two programs, of which the first, with 2 rows, runs on PE 1; columns of the second
// tensor: 16 each.
TEST(Compile, TensorsKeepTheirParts) {
  arch::TopologyConfig topology = one_pe();
  topology.pes_per_cube = 2;
  kernels::Kernel kernel;
  kernel.name = "halves";
  kernel.make = [](const kernels::Parameters&, const tl::Target&) {
    kernels::Instance instance;
    instance.tensors = {{"x", {3, 64}, {3, 64}, tl::f16, kernels::Direction::in},
                        {"y", {4, 32}, {4, 32}, tl::f16, kernels::Direction::out}};
    instance.tensors[0].shard = kernels::split_rows(3, 2);
    instance.tensors[1].shard = kernels::split_cols(4, 32, 2);
    instance.grid = {2, 1, 1};
    instance.pes = {1, 0};
    instance.body = [](tl::Context&, const std::vector<tl::Tensor>&) {};
    return instance;
  };
  const auto bytes = command::to_bytes(compile(Launch(kernel, {}, topology)));
  const Launch read = from_file(command::parse_program_file(bytes, "f.kbp"), topology);
  EXPECT_THAT(read.launch().pes(), ElementsAre(1u, 0u));
  const auto& x = read.tensors()[0]->parts;
  ASSERT_EQ(x.size(), 2u);
  EXPECT_EQ(x[0].pe, 1u);
  EXPECT_EQ(x[0].shard.rows.at(0).begin, 0);
  EXPECT_EQ(x[0].shard.rows.at(0).count, 2);
  EXPECT_EQ(x[1].pe, 0u);
  EXPECT_EQ(x[1].shard.rows.at(0).begin, 2);
  EXPECT_EQ(x[1].shard.rows.at(0).count, 1);
  const auto& y = read.tensors()[1]->parts;
  ASSERT_EQ(y.size(), 2u);
  EXPECT_EQ(y[1].shard.first_col, 16);
  EXPECT_EQ(y[1].shard.cols, 16);
  EXPECT_EQ(y[1].handle.shape, (command::Shape{4, 16}));
  EXPECT_EQ(read.instance().tensors[1].direction, kernels::Direction::out);
}

// A title that was not made of a kernel and its parameters stays as it is.
TEST(FileLaunch, TakesItsTitleApart) {
  ProgramFile file = compile(launch_of("dispatch", {{"commands", "3"}}, one_pe()));
  file.title = "mine n=3 mode=fast list=1,2";
  const Launch mine = from_file(file, one_pe());
  EXPECT_EQ(mine.kernel(), "mine");
  ASSERT_EQ(mine.parameters().size(), 3u);
  EXPECT_TRUE(mine.parameters()[0].integer);
  EXPECT_FALSE(mine.parameters()[1].integer);
  EXPECT_FALSE(mine.parameters()[2].integer);
  // Quoted, a list of one number is none (and the title that is shown is that of the live launch).
  file.title = R"(mine list="128" n=3)";
  const Launch quoted = from_file(file, one_pe());
  EXPECT_EQ(quoted.title(), "mine list=128 n=3");
  EXPECT_EQ(quoted.parameters().at(0).value, "128");
  EXPECT_FALSE(quoted.parameters().at(0).integer);
  EXPECT_TRUE(quoted.parameters().at(1).integer);
  EXPECT_EQ(compile(quoted).title, file.title);
  for (const char* title : {"a free title", "n=3", "mine n= x=1", "mine =3", "mine  n=3"}) {
    file.title = title;
    const Launch other = from_file(file, one_pe());
    EXPECT_EQ(other.kernel(), "program") << title;
    EXPECT_TRUE(other.parameters().empty()) << title;
    EXPECT_EQ(other.title(), title);
    EXPECT_EQ(other.why_no_reference(),
              "no kernel of this binary is what the file was compiled from (" + file.title + ")");
  }
}

TEST(FileLaunch, IsRefusedWhereItDoesNotFit) {
  const ProgramFile gemm = compile(launch_of(
      "gemm", {{"m", "8"}, {"k", "128"}, {"n", "64"}, {"b", "hbm"}, {"out", "hbm"}}, one_pe()));
  arch::TopologyConfig topology = one_pe();
  EXPECT_EQ(refusal(gemm, topology), "");

  topology.hbm.bytes = 21503;
  EXPECT_EQ(
      refusal(gemm, topology),
      "f.kbp: it takes 21504 bytes of HBM and a PE of small sees 21503; compile it for small, "
      "or enlarge hbm.bytes");
  topology.hbm.bytes = 21504;
  EXPECT_EQ(refusal(gemm, topology), "");

  topology.pe.tcm.scratch_bytes = 2047;
  EXPECT_EQ(
      refusal(gemm, topology),
      "f.kbp: it takes 2048 bytes of TCM scratch and small has 2047; compile it for small, or "
      "enlarge pe.tcm.scratch_bytes");
  topology.pe.tcm.scratch_bytes = 2048;
  EXPECT_EQ(refusal(gemm, topology), "");

  arch::TopologyConfig cube = one_pe();
  cube.pes_per_cube = 4;
  ProgramFile gather = compile(launch_of("all_gather", {{"n", "10"}}, cube));
  EXPECT_EQ(
      refusal(gather, one_pe()),
      "f.kbp: program 1 runs on PE 1 and small has PE 0 alone; compile it for small, or run it "
      "on a larger machine");
  gather.streams[3].pe = 4;
  EXPECT_EQ(
      refusal(gather, cube),
      "f.kbp: program 3 runs on PE 4 and small has PEs 0 to 3; compile it for small, or run it "
      "on a larger machine");
}

// What the sizes in its head do not tell: each command is checked.
TEST(FileLaunch, ChecksItsCommands) {
  arch::TopologyConfig streams = one_pe();
  streams.pe.scheduler.math_head_from_hbm = true;
  const ProgramFile softmax = compile(
      launch_of("softmax", {{"rows", "8"}, {"cols", "64"}, {"variant", "streamed"}}, streams));
  EXPECT_EQ(refusal(softmax, streams), "");
  EXPECT_THAT(refusal(softmax, one_pe()),
              testing::AllOf(StartsWith("f.kbp: command "),
                             HasSubstr(" of program 0 is not for small: "), HasSubstr("HBM")));

  // A file that says too little of itself.
  ProgramFile fill = compile(launch_of("dispatch", {{"commands", "2"}}, one_pe()));
  auto& math =
      std::get<command::MathCmd>(std::get<command::Command>(fill.streams[0].program.steps[2]));
  math.op.out.addr = command::kTcmBase + one_pe().pe.tcm.scratch_bytes;
  EXPECT_THAT(refusal(fill, one_pe()),
              StartsWith("f.kbp: command 1 of program 0 is not for small: "));

  // A message to a PE that is not there.
  arch::TopologyConfig cube = one_pe();
  cube.pes_per_cube = 4;
  ProgramFile gather = compile(launch_of("all_gather", {{"n", "10"}}, cube));
  gather.streams.resize(1);
  gather.tensors.clear();
  EXPECT_EQ(refusal(gather, cube), "");
  EXPECT_THAT(refusal(gather, one_pe()), HasSubstr("of program 0 is not for small: "));
  // To the PE itself: the ring of program 0 goes on to PE 1.
  gather.streams[0].pe = 1;
  EXPECT_THAT(refusal(gather, cube),
              HasSubstr("of program 0 is not for small: send: PE 1 is this one"));
}

// 64 names of regions a program, whatever the others name.
TEST(FileLaunch, CountsItsRegions) {
  arch::TopologyConfig cube = one_pe();
  cube.pes_per_cube = 2;
  ProgramFile file = compile(launch_of("dispatch", {{"commands", "1"}}, cube));
  file.streams.push_back(file.streams[0]);
  file.streams[1].pe = 1;
  const auto regions = [](int first, int count) {
    command::ProgramRecorder recorder;
    for (int i = 0; i < 2 * count; ++i) {  // each twice
      const std::string name = "r" + std::to_string(first + i % count);
      recorder.begin_region(name);
      recorder.end_region(name);
    }
    return recorder.take();
  };
  file.streams[0].program = regions(0, 64);
  file.streams[1].program = regions(64, 64);
  EXPECT_EQ(refusal(file, cube), "");
  file.streams[1].program = regions(64, 65);
  EXPECT_EQ(refusal(file, cube),
            "f.kbp: region 'r128' is one more than the 64 that a kernel may name; reuse names for "
            "repeated phases");
}

}  // namespace
}  // namespace kernbench::runtime
