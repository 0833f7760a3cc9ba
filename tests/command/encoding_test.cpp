// SPDX-License-Identifier: Apache-2.0
// The binary form of a command stream: its bytes as the design has them, the inverse of encode and
// decode, and every fault.
#include "tlm_if/command/encoding.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "tests/command/pv_composite.hpp"
#include "tests/command/raw_record.hpp"
#include "tlm_if/command/decoder.hpp"
#include "tlm_if/command/encoder.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::command {
namespace {

using test::Bytes;
using test::pv_composite;
using test::Raw;
using testing::HasSubstr;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr unsigned kComposite = 0x01, kSimple = 0x02, kCpuOverhead = 0x10, kWait = 0x11,
                   kBeginRegion = 0x12, kEndRegion = 0x13, kObserve = 0x14, kSetHandle = 0x20,
                   kEnd = 0x21;

TensorHandle tcm(HandleId id, const Shape& shape, DType dtype = DType::f16, const Name& name = {}) {
  return make_handle(id, kTcmBase + 4096 * id, shape, dtype, Space::tcm, name);
}
TensorHandle hbm(HandleId id, const Shape& shape, DType dtype = DType::f16, const Name& name = {}) {
  return make_handle(id, 4096 * id, shape, dtype, Space::hbm, name);
}

/// encode and decode are inverse: the same steps, and the same bytes again.
void expect_inverse(const Program& program, std::uint32_t entries = 64) {
  const Bytes bytes = encode(program, entries);
  const Program decoded = decode(bytes, "stream", entries);
  ASSERT_EQ(decoded.steps.size(), program.steps.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    EXPECT_TRUE(decoded.steps[i] == program.steps[i]) << "step " << i;
  }
  EXPECT_EQ(encode(decoded, entries), bytes);
}

std::vector<Bytes> records_of(const Bytes& stream) {
  std::vector<Bytes> records;
  for (std::size_t i = 0; i < stream.size(); i += Decoder::record_size(&stream[i])) {
    const auto begin = stream.begin() + static_cast<std::ptrdiff_t>(i);
    records.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(Decoder::record_size(&*begin)));
  }
  return records;
}

// ---- bytes, written by hand ---------------------------------------------------------------------

// Each expectation is the field list of the format, not what the encoder gave.
TEST(Records, OfATableEntryAndASimpleCommand) {
  const TensorHandle src = hbm(7, Shape{8, 64}, DType::f16, "q");
  const TensorHandle dst = tcm(9, Shape{8, 64}, DType::f16, "q");
  const auto records = records_of(encode({{Command(DmaReadCmd{src, dst})}}));
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(
      records[0],
      Raw().framing(kSetHandle).u32(0).entry(7, 4096 * 7, 8, 64, 64, 1, 2, 0, 0, "q").bytes());
  EXPECT_EQ(records[1], Raw()
                            .framing(kSetHandle)
                            .u32(1)
                            .entry(9, kTcmBase + 4096 * 9, 8, 64, 64, 1, 2, 0, 1, "q")
                            .bytes());
  EXPECT_EQ(records[0].size(), 88u);
  EXPECT_EQ(records[2], Raw().framing(kSimple).u8(0x80).ref(0).ref(1).bytes());
  EXPECT_EQ(records[2].size(), 21u);  // contract 3: load
  EXPECT_EQ(records[3], Raw().framing(kEnd).bytes());
  EXPECT_EQ(records[3], (Bytes{4, 0, 0x21, 0}));
}

TEST(Records, OfStoreFillSendAndRecv) {
  const TensorHandle in_tcm = tcm(1, Shape{16}, DType::f32);
  const TensorHandle in_hbm = hbm(2, Shape{16}, DType::f32);
  MathCmd fill;
  fill.op.extras.push_back(Extra::f32(ExtraName::value, -2.0F));
  fill.op.has_out = true;
  fill.op.out = in_tcm;
  const auto records = records_of(encode(
      {{Command(fill), Command(DmaWriteCmd{in_tcm, in_hbm}),
        Command(IpcqSendCmd{in_tcm, {0x123456, 0x7f}}), Command(IpcqRecvCmd{in_tcm, {2, 3}})}}));
  ASSERT_EQ(records.size(), 7u);
  EXPECT_EQ(
      records[0],
      Raw().framing(kSetHandle).u32(0).entry(1, kTcmBase + 4096, 1, 16, 16, 1, 1, 2, 1).bytes());
  // fill is op 23 of the table; -2.0f is 0xc0000000.
  EXPECT_EQ(records[1], Raw().framing(kSimple).u8(23).ref(0).u32(0xc0000000).bytes());
  EXPECT_EQ(records[1].size(), 17u);
  EXPECT_EQ(records[3], Raw().framing(kSimple).u8(0x81).ref(0).ref(1).bytes());
  // The peer in the low 24 bits, the channel in the high 8.
  EXPECT_EQ(records[4], Raw().framing(kSimple).u8(0x82).ref(0).u32(0x7f123456).bytes());
  EXPECT_EQ(records[4].size(), 17u);
  EXPECT_EQ(records[5], Raw().framing(kSimple).u8(0x83).ref(0).u32(0x03000002).bytes());
}

// P.V + O with rw=(O): 82 bytes (contract 3).
TEST(Records, OfTheCompositeWithAddAndRw) {
  const TensorHandle p = tcm(1, Shape{8, 64}), v = hbm(2, Shape{64, 128}),
                     o = tcm(3, Shape{8, 128}, DType::f32);
  CompositeCmd command = pv_composite(p, v, o);
  const auto records = records_of(encode({{Command(command)}}));
  ASSERT_EQ(records.size(), 5u);
  const Raw expected = Raw()
                           .framing(kComposite)
                           .u8(2)
                           // gemm: op 0, scope kernel, two operands and an output, m, k, n
                           .u8(0)
                           .u8(0)
                           .u8(0x82)
                           .ref(0)
                           .ref(1)
                           .ref(2)
                           .u8(3)
                           .u32(8)
                           .u32(64)
                           .u32(128)
                           // add: op 4, scope output_tile, src and other and an output
                           .u8(4)
                           .u8(2)
                           .u8(0x82)
                           .ref(2)
                           .ref(2)
                           .ref(2)
                           .u8(0)
                           .u8(1)
                           .ref(2);
  EXPECT_EQ(records[3], expected.bytes());
  EXPECT_EQ(records[3].size(), 82u);

  command.data_op = false;
  Bytes no_data = expected.bytes();
  no_data[3] = 0x01;
  EXPECT_EQ(records_of(encode({{Command(command)}}))[3], no_data);
}

TEST(Records, ThatCostNoDispatch) {
  const TensorHandle x = tcm(1, Shape{16}, DType::f32);
  const auto records = records_of(encode(
      {{Command(PeCpuOverheadCmd{0x123456789a}), WaitStep{{{0x10, 0x20}, {kTcmBase, kTcmBase + 8}}},
        BeginRegionStep{"loop"}, EndRegionStep{"loop"}, ObserveStep{"m", x}, WaitStep{}}}));
  ASSERT_EQ(records.size(), 8u);
  EXPECT_EQ(records[0], Raw().framing(kCpuOverhead).u64(0x123456789a).bytes());
  EXPECT_EQ(
      records[1],
      Raw().framing(kWait).u16(2).u64(0x10).u64(0x20).u64(kTcmBase).u64(kTcmBase + 8).bytes());
  EXPECT_EQ(records[2], Raw().framing(kBeginRegion).text("loop").bytes());
  EXPECT_EQ(records[3], Raw().framing(kEndRegion).text("loop").bytes());
  EXPECT_EQ(records[5], Raw().framing(kObserve).ref(0).text("m").bytes());
  EXPECT_EQ(records[6], Raw().framing(kWait).u16(0).bytes());
}

// ---- encode and decode are inverse --------------------------------------------------------------

std::vector<TensorHandle> tensors_of_all_kinds() {
  std::vector<TensorHandle> tensors;
  HandleId id = 1;
  for (const DTypeInfo& dtype : kDTypes) {
    const TensorHandle matrix = hbm(id++, Shape{12, 40}, dtype.dtype, "a_name_of_23_characters");
    tensors.push_back(matrix);
    tensors.push_back(tcm(id++, Shape{5}, dtype.dtype, "x"));
    tensors.push_back(tcm(id++, Shape{5, 1}, dtype.dtype));
    const TensorHandle slice = view_cols(view_rows(matrix, 3, 4, 1), 8, 9, id++);
    tensors.push_back(slice);
    tensors.push_back(view_transposed(slice, id++));
    tensors.push_back(view_first(view_transposed(slice, 1), Shape{2, 3}, id++));
    tensors.push_back(view_cols(matrix, 7, 1, id++));
    tensors.push_back(view_transposed(tensors.back(), id++));
    tensors.push_back(view_cols(tcm(1, Shape{17}, dtype.dtype), 3, 5, id++));
    tensors.push_back(view_rows(view_transposed(matrix, 1), 6, 1, id++));
  }
  tensors.push_back(make_handle(kMax, 0, Shape{1, 1}, DType::f32, Space::hbm));
  tensors.push_back(make_handle(id++, kTcmBase - 2, Shape{1}, DType::f16, Space::hbm));
  tensors.push_back(hbm(id++, Shape{2}, DType::f16, Name("\xce\x94")));
  tensors.push_back(hbm(id++, Shape{2}, DType::f16, Name("\xce")));  // cut inside a character
  return tensors;
}

// Views, strides, names of all lengths, the ends of the address map.
TEST(Encoding, OfTensors) {
  Program program;
  for (const TensorHandle& tensor : tensors_of_all_kinds()) {
    EXPECT_EQ(problem_of(tensor).what, "");
    program.steps.emplace_back(ObserveStep{"x", tensor});
  }
  expect_inverse(program);
}

// Every op in every scope that it has, with optional extras and without, at the ends of their
// range.
TEST(Encoding, OfEveryOpScopeAndDType) {
  const std::vector<TensorHandle> tensors = tensors_of_all_kinds();
  Program program;
  std::size_t next = 0;
  const auto tensor = [&] { return tensors[next++ % tensors.size()]; };
  const auto op_of = [&](const OpInfo& info, Scope scope, bool optional, std::uint32_t bits) {
    OpSpec op;
    op.kind = info.kind;
    op.scope = scope;
    if (scope == Scope::kernel) {
      for (const OperandName name : info.operands) op.operands.push_back({name, tensor()});
    } else {
      for (const OperandName name : *info.tile_operands) op.operands.push_back({name, tensor()});
    }
    for (const ExtraInfo& extra : info.extras) {
      if (extra.required || optional) op.extras.push_back({extra.name, extra.type, bits});
    }
    op.has_out = scope == Scope::kernel || info.tile_out;
    if (op.has_out) op.out = tensor();
    return op;
  };
  std::uint64_t commands = 0;
  int forms = 0;
  for (const OpInfo& info : kOpTable) {
    for (const bool optional : {false, true}) {
      for (const std::uint32_t bits :
           {0U, 1U, 0x7fffffffU, 0x80000000U, 0xffffffffU, 0x7fc00001U}) {
        for (const Scope scope : {Scope::kernel, Scope::k_tile, Scope::output_tile}) {
          if (scope == Scope::kernel ? !info.kernel_form : !info.tile_operands) continue;
          ++forms;
          const OpSpec op = op_of(info, scope, optional, bits);
          CompositeCmd composite;
          composite.completion.id = commands++;
          if (scope != Scope::kernel) {
            composite.ops.push_back(op_of(op_info(OpKind::gemm), Scope::kernel, false, bits));
          }
          composite.ops.push_back(op);
          composite.rw_handles.assign(static_cast<std::size_t>(forms % 4), tensor());
          composite.data_op = forms % 3 != 0;
          program.steps.emplace_back(composite);
          if (scope != Scope::kernel) continue;
          program.steps.emplace_back(info.kind == OpKind::gemm ? Command(GemmCmd{op})
                                                               : Command(MathCmd{op}));
          ++commands;
        }
      }
    }
  }
  EXPECT_EQ(forms, 12 * (25 + 7 * 2));  // 25 kernel forms; 7 ops have both tile forms
  program.steps.emplace_back(IpcqSendCmd{tensors[1], {kMaxIpcqPeers - 1, kMaxIpcqChannels - 1}});
  program.steps.emplace_back(IpcqRecvCmd{tensors[1], {0, 0}});
  program.steps.emplace_back(PeCpuOverheadCmd{kMax});
  expect_inverse(program, 128);
}

// What dispatch pays for is what is there (contract 3).
TEST(Encoding, ARecordIsAsLongAsItsLogicalBytes) {
  const TensorHandle x = tcm(1, Shape{8, 8});
  CompositeCmd command;
  for (std::size_t ops = 1; ops <= kMaxOps; ops += 127) {
    OpSpec op;
    op.kind = OpKind::fma;
    op.operands = {{OperandName::src_a, x}, {OperandName::src_b, x}, {OperandName::src_c, x}};
    op.has_out = true;
    op.out = x;
    command.ops.assign(ops, op);
    command.rw_handles.assign(ops, x);
    const auto records = records_of(encode({{Command(command)}}));
    EXPECT_EQ(records[1].size(), logical_bytes(command));
  }
}

TEST(Encoding, OfLongNamesAndManyRanges) {
  Program program;
  program.steps.emplace_back(BeginRegionStep{std::string(kMaxTextBytes, 'x')});
  program.steps.emplace_back(EndRegionStep{"\xed\x95\x9c \xf0\x9f\x98\x80 \xc2\xa0"});
  program.steps.emplace_back(WaitStep{std::vector<ByteRange>(kMaxWaitRanges, ByteRange{0, kMax})});
  expect_inverse(program);
}

// A table of n entries holds what the last commands used; the oldest gives way, and comes back when
// it is used again.
TEST(Encoding, ASmallTableGivesItsOldestEntryAway) {
  std::vector<TensorHandle> tensors;
  for (HandleId id = 1; id <= 7; ++id) tensors.push_back(tcm(id, Shape{8, 8}));
  Program program;
  for (std::size_t i = 0; i < 60; ++i) {
    OpSpec op;
    op.kind = OpKind::copy;
    op.operands = {{OperandName::src, tensors[i * 3 % 7]}};
    op.has_out = true;
    op.out = tensors[i * i % 7];
    program.steps.emplace_back(MathCmd{op});
  }
  for (std::uint32_t entries = 2; entries <= 8; ++entries) {
    SCOPED_TRACE(entries);
    expect_inverse(program, entries);
    for (const Bytes& record : records_of(encode(program, entries))) {
      if (record[2] != kSetHandle) continue;
      EXPECT_LT(record[4], entries);
    }
  }
  // All fit: each is written once.
  std::size_t set = 0;
  for (const Bytes& record : records_of(encode(program, 7))) set += record[2] == kSetHandle ? 1 : 0;
  EXPECT_EQ(set, 7u);

  Program one;
  for (const TensorHandle& tensor : tensors) one.steps.emplace_back(ObserveStep{"x", tensor});
  expect_inverse(one, 1);
  try {
    encode(program, 1);
    FAIL() << "a copy takes two entries";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "a command has more tensors than the 1 entries of the handle table; enlarge it");
  }
}

// The same id with other contents, as after named(): both are right in one command.
TEST(Encoding, AnIdMayHaveTwoForms) {
  const TensorHandle x = tcm(1, Shape{8, 8});
  TensorHandle named = x;
  named.name = "S";
  OpSpec op;
  op.kind = OpKind::add;
  op.operands = {{OperandName::src_a, x}, {OperandName::src_b, named}};
  op.has_out = true;
  op.out = x;
  Program program;
  for (int i = 0; i < 3; ++i) program.steps.emplace_back(MathCmd{op});
  for (const std::uint32_t entries : {3U, 4U}) expect_inverse(program, entries);

  // Four tensors in three entries: the fourth takes the place of the first form of id 1, and the
  // second form, which is still there, is not set again.
  Encoder encoder(3);
  for (const TensorHandle& handle : {x, named, tcm(2, Shape{8, 8}), tcm(3, Shape{8, 8}), named}) {
    op.operands = {{OperandName::src_a, handle}, {OperandName::src_b, handle}};
    op.out = handle;
    encoder.append(Command(MathCmd{op}));
  }
  const std::vector<Bytes> records = records_of(encoder.bytes());
  EXPECT_EQ(std::count_if(records.begin(), records.end(),
                          [](const Bytes& record) { return record[2] == kSetHandle; }),
            4);
}

// Forms of one id that take turns are table entries like any others: each is set once, and a
// command needs no more entries than it has tensors, however often it names them.
TEST(Encoding, FormsOfAnIdThatTakeTurnsStayInTheTable) {
  const TensorHandle x = tcm(1, Shape{8, 8});
  TensorHandle named = x;
  named.name = "S";
  CompositeCmd composite;
  for (int i = 0; i < 3; ++i) {
    OpSpec& op = composite.ops.emplace_back();
    op.kind = OpKind::add;
    op.operands = {{OperandName::src_a, x}, {OperandName::src_b, named}};
    op.has_out = true;
    op.out = x;
  }
  const Program program{{Command(composite)}};
  expect_inverse(program, 2);
  const std::vector<Bytes> records = records_of(encode(program, 2));
  EXPECT_EQ(records.size(), 4u);  // two entries, the composite, the end
}

// A composite's completion is its number in its program, which begins anew after the end.
TEST(Encoding, ProgramsFollowEachOther) {
  const TensorHandle p = tcm(1, Shape{8, 64}), v = hbm(2, Shape{64, 128}),
                     o = tcm(3, Shape{8, 128}, DType::f32);
  Encoder encoder(8);
  for (int program = 0; program < 2; ++program) {
    encoder.append(Command(DmaWriteCmd{p, v}));
    CompositeCmd command = pv_composite(p, v, o);
    command.completion.id = 1;
    encoder.append(Command(command));
    command.completion.id = 3;
    EXPECT_THROW(encoder.append(Command(command)), InputError);
    encoder.end_program();
  }
  Decoder decoder(8);
  int composites = 0, ends = 0;
  for (const Bytes& record : records_of(encoder.bytes())) {
    const Decoder::Result result = decoder.decode(record.data(), record.size());
    ASSERT_FALSE(std::holds_alternative<DecodeError>(result));
    if (std::holds_alternative<EndOfProgram>(result)) ++ends;
    const auto* step = std::get_if<ProgramStep>(&result);
    const auto* command = step == nullptr ? nullptr : std::get_if<Command>(step);
    const auto* composite = command == nullptr ? nullptr : std::get_if<CompositeCmd>(command);
    if (composite == nullptr) continue;
    ++composites;
    EXPECT_EQ(composite->completion.id, 1u);
  }
  EXPECT_EQ(composites, 2);
  EXPECT_EQ(ends, 2);
}

TEST(Encoding, TheDecoderKeepsTheTable) {
  Decoder decoder(4);
  EXPECT_EQ(decoder.table_entries(), 4u);
  EXPECT_EQ(decoder.entry(2), nullptr);
  const Bytes record =
      Raw().framing(kSetHandle).u32(2).entry(9, 64, 8, 4, 4, 1, 2, 2, 0, "x").bytes();
  const auto result = decoder.decode(record.data(), record.size());
  ASSERT_TRUE(std::holds_alternative<HandleTableUpdate>(result));
  EXPECT_EQ(std::get<HandleTableUpdate>(result).index, 2u);
  ASSERT_NE(decoder.entry(2), nullptr);
  EXPECT_EQ(*decoder.entry(2), make_handle(9, 64, Shape{8, 4}, DType::f32, Space::hbm, "x"));
  EXPECT_EQ(decoder.entry(4), nullptr);
  decoder.reset();
  EXPECT_EQ(decoder.entry(2), nullptr);

  // Nor does it count the commands of a program that was cut off.
  Encoder encoder(4);
  encoder.append(Command(pv_composite(tcm(1, Shape{8, 64}), hbm(2, Shape{64, 128}),
                                      tcm(3, Shape{8, 128}, DType::f32))));
  for (int program = 0; program < 2; ++program) {
    decoder.reset();
    Decoder::Result last = EndOfProgram{};
    for (const Bytes& each : records_of(encoder.bytes())) {
      last = decoder.decode(each.data(), each.size());
    }
    ASSERT_TRUE(std::holds_alternative<ProgramStep>(last));
    const auto& command = std::get<Command>(std::get<ProgramStep>(last));
    EXPECT_EQ(std::get<CompositeCmd>(command).completion.id, 0u);
  }
}

// ---- what has no binary form --------------------------------------------------------------------

TEST(Encoding, RefusesWhatHasNoBinaryForm) {
  const TensorHandle x = tcm(1, Shape{8, 8});
  const auto refused = [](const ProgramStep& step) {
    Encoder encoder(16);
    try {
      encoder.append(step);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  OpSpec copy;
  copy.kind = OpKind::copy;
  copy.operands = {{OperandName::src, x}};
  copy.has_out = true;
  copy.out = x;
  EXPECT_EQ(refused(Command(MathCmd{copy})), "accepted");
  OpSpec other = copy;
  other.operands = {{OperandName::src_a, x}};
  EXPECT_THAT(refused(Command(MathCmd{other})), HasSubstr("operands are src_a; they must be src"));
  EXPECT_THAT(refused(Command(GemmCmd{copy})), HasSubstr("copy: is not a gemm"));
  other = copy;
  other.extras = {Extra::u32(ExtraName::value, 1)};
  EXPECT_THAT(refused(Command(MathCmd{other})), HasSubstr("takes no extra 'value'"));
  other = copy;
  other.scope = Scope::k_tile;
  EXPECT_THAT(refused(Command(MathCmd{other})), HasSubstr("scope k_tile needs a gemm before it"));
  other = copy;
  other.out.shape = Shape();
  EXPECT_THAT(refused(Command(MathCmd{other})), HasSubstr("has no binary form: cols is 0"));
  other = copy;
  other.out.id = 0;
  EXPECT_THAT(refused(Command(MathCmd{other})), HasSubstr("the id is 0"));
  other = copy;
  other.out.name = "a\nb";
  EXPECT_THAT(refused(Command(MathCmd{other})), HasSubstr("has a control character"));

  CompositeCmd composite;
  EXPECT_THAT(refused(Command(composite)), HasSubstr("the op list is empty"));
  composite.ops = {copy};
  composite.completion.id = 5;
  EXPECT_THAT(refused(Command(composite)), HasSubstr("its completion is 5"));
  composite.completion.id = 0;
  composite.ops.assign(kMaxOps + 1, copy);
  EXPECT_THAT(refused(Command(composite)), HasSubstr("256 ops have no binary form; at most 255"));
  composite.ops.assign(1, copy);
  composite.rw_handles.assign(kMaxRwHandles + 1, x);
  EXPECT_THAT(refused(Command(composite)), HasSubstr("256 rw handles have no binary form"));

  EXPECT_THAT(refused(Command(IpcqSendCmd{x, {kMaxIpcqPeers, 0}})), HasSubstr("PE 16777216"));
  EXPECT_THAT(refused(Command(IpcqRecvCmd{x, {0, kMaxIpcqChannels}})), HasSubstr("channel 256"));
  EXPECT_THAT(refused(WaitStep{std::vector<ByteRange>(kMaxWaitRanges + 1, ByteRange{0, 1})}),
              HasSubstr("4096 ranges"));
  EXPECT_THAT(refused(WaitStep{{{8, 8}}}), HasSubstr("range [0x8, 0x8) is empty"));
  EXPECT_THAT(refused(BeginRegionStep{""}), HasSubstr("begin_region: the name is empty"));
  EXPECT_THAT(refused(EndRegionStep{std::string(kMaxTextBytes + 1, 'x')}), HasSubstr("256 bytes"));
  EXPECT_THAT(refused(ObserveStep{"a\x7f", x}), HasSubstr("byte 1 of the name is 0x7f"));
}

// ---- faults -------------------------------------------------------------------------------------

struct BadRecord {
  std::string what;
  Bytes record;
  Fault fault;
  std::size_t offset;
  std::string reason;
};

/// Tables 0 and 1 are set: an (8, 64) f16 in TCM and a (64, 128) f16 in HBM.
Decoder decoder_with_two_entries() {
  Decoder decoder(8);
  const Bytes in_tcm =
      Raw().framing(kSetHandle).u32(0).entry(1, kTcmBase, 8, 64, 64, 1, 2, 0, 1).bytes();
  const Bytes in_hbm =
      Raw().framing(kSetHandle).u32(1).entry(2, 0, 64, 128, 128, 1, 2, 0, 0).bytes();
  for (const Bytes& record : {in_tcm, in_hbm}) {
    EXPECT_TRUE(
        std::holds_alternative<HandleTableUpdate>(decoder.decode(record.data(), record.size())));
  }
  return decoder;
}

Bytes with(Bytes bytes, std::size_t offset, unsigned value) {
  bytes[offset] = static_cast<std::uint8_t>(value);
  return bytes;
}
Bytes without_last(Bytes bytes) {
  bytes.pop_back();
  bytes[0] = static_cast<std::uint8_t>(bytes.size());
  return bytes;
}

std::vector<BadRecord> bad_framings() {
  const Bytes load = Raw().framing(kSimple).u8(0x80).ref(1).ref(0).bytes();
  return {
      {"no framing", {4, 0, 0x21}, Fault::bad_size, 0, "shorter than its framing"},
      {"a size of 3", {3, 0, 0x21, 0}, Fault::bad_size, 0, "has 3 bytes; it must have at least 4"},
      {"a size beyond", with(load, 0, 22), Fault::bad_size, 0, "has 22 bytes, and 21 are there"},
      {"kind 0", with(load, 2, 0), Fault::bad_kind, 2, "record kind 0x00 is unknown"},
      {"kind 0x22", with(load, 2, 0x22), Fault::bad_kind, 2, "record kind 0x22 is unknown"},
      {"flags", with(load, 3, 1), Fault::bad_flags, 3, "flags are 0x01; only the bits of 0x00"},
      {"end with a body", Raw().framing(kEnd).u8(0).bytes(), Fault::bad_size, 0,
       "end_of_program: has 5 bytes; it must have 4"},
      {"cpu_overhead of 4 bytes", Raw().framing(kCpuOverhead).u32(1).bytes(), Fault::bad_size, 0,
       "cpu_overhead: has 8 bytes; it must have 12"},
  };
}

std::vector<BadRecord> bad_simple_commands() {
  return {
      {"no opcode", Raw().framing(kSimple).bytes(), Fault::bad_size, 0, "no opcode"},
      {"opcode 26", Raw().framing(kSimple).u8(26).ref(0).bytes(), Fault::bad_opcode, 4,
       "opcode 0x1a is unknown; give one in [0, 0x19] or [0x80, 0x83]"},
      {"opcode 0x84", Raw().framing(kSimple).u8(0x84).ref(0).bytes(), Fault::bad_opcode, 4,
       "opcode 0x84 is unknown"},
      {"bias", Raw().framing(kSimple).u8(25).ref(0).ref(0).bytes(), Fault::bad_opcode, 4,
       "bias: is an epilogue op"},
      {"load of one", Raw().framing(kSimple).u8(0x80).ref(0).bytes(), Fault::bad_size, 0,
       "load: has 13 bytes; it must have 21"},
      {"send without a scalar", Raw().framing(kSimple).u8(0x82).ref(0).bytes(), Fault::bad_size, 0,
       "send: has 13 bytes; it must have 17"},
      {"copy with an extra", Raw().framing(kSimple).u8(19).ref(0).ref(0).u32(0).bytes(),
       Fault::bad_size, 0, "copy: has 25 bytes; with 0 extras it must have 21"},
      {"exp_diff with two extras",
       Raw().framing(kSimple).u8(7).ref(0).ref(0).ref(0).u32(0).u32(0).bytes(), Fault::bad_size, 0,
       "exp_diff: has 37 bytes; with 0 or 1 extras it must have 29 or 33"},
      {"an entry that is not set", Raw().framing(kSimple).u8(0x80).ref(1).ref(5).bytes(),
       Fault::bad_reference, 13, "load: entry 5 of the handle table was never set"},
      {"an entry beyond the table", Raw().framing(kSimple).u8(0x80).ref(8).ref(0).bytes(),
       Fault::bad_reference, 5, "no entry 8 in the handle table; give one in [0, 7]"},
      {"a reference of 40 bits", Raw().framing(kSimple).u8(0x80).u64(0x100000001).ref(0).bytes(),
       Fault::bad_flags, 9, "upper half of a handle reference is 0x1; it must be 0"},
  };
}

std::vector<BadRecord> bad_composites() {
  const auto gemm = [] {
    return Raw()
        .framing(kComposite)
        .u8(1)
        .u8(0)
        .u8(0)
        .u8(0x82)
        .ref(0)
        .ref(1)
        .ref(0)
        .u8(3)
        .u32(8)
        .u32(64)
        .u32(128);
  };
  const auto op = [](unsigned opcode, unsigned scope, unsigned operands) {
    return Raw()
        .framing(kComposite)
        .u8(1)
        .u8(opcode)
        .u8(scope)
        .u8(operands)
        .ref(0)
        .ref(0)
        .ref(0)
        .u8(0)
        .u8(0);
  };
  const Bytes good = gemm().u8(1).ref(0).bytes();
  return {
      {"a flag", with(good, 3, 2), Fault::bad_flags, 3, "composite: flags are 0x02"},
      {"no op count", Raw().framing(kComposite).bytes(), Fault::bad_size, 4, "ends too early"},
      {"no op", Raw().framing(kComposite).u8(0).u8(0).bytes(), Fault::bad_count, 4,
       "the op list is empty"},
      {"more ops than bytes", Raw().framing(kComposite).u8(200).u32(0).bytes(), Fault::bad_size, 5,
       "has 9 bytes and ends too early"},
      {"opcode 26", op(26, 0, 0x82).bytes(), Fault::bad_opcode, 5,
       "composite: op 0: opcode 0x1a is unknown; give one in [0, 0x19]"},
      {"scope 3", op(4, 3, 0x82).bytes(), Fault::bad_scope, 6, "op 0 (add): scope 3 is unknown"},
      {"rmax per tile", op(1, 2, 0x81).bytes(), Fault::bad_scope, 6,
       "op 0 (rmax): has no output_tile form"},
      {"bias once", op(25, 0, 0x82).bytes(), Fault::bad_scope, 6, "is an epilogue op only"},
      {"a third operand", op(4, 0, 0x83).bytes(), Fault::bad_count, 7,
       "its count of operands is 0x83; at scope kernel it must be 0x82: 2 and an output"},
      {"no output", op(4, 0, 0x02).bytes(), Fault::bad_count, 7, "it must be 0x82"},
      {"scale with an operand", op(14, 1, 0x01).bytes(), Fault::bad_count, 7,
       "at scope k_tile it must be 0x00: 0 and no output"},
      {"an extra too few", with(good, 32, 2), Fault::bad_count, 32, "it has 2 extras; it takes 3"},
      {"an op cut short", Raw().framing(kComposite).u8(1).u8(4).u8(0).u8(0x82).ref(0).bytes(),
       Fault::bad_size, 8, "op 0 (add): the record of 16 bytes ends inside it"},
      {"extras cut short",
       Raw()
           .framing(kComposite)
           .u8(1)
           .u8(0)
           .u8(0)
           .u8(0x82)
           .ref(0)
           .ref(1)
           .ref(0)
           .u8(3)
           .u32(8)
           .bytes(),
       Fault::bad_size, 33, "op 0 (gemm): the record of 37 bytes ends inside it"},
      {"no rw count", gemm().bytes(), Fault::bad_size, 45, "composite: has 45 bytes and ends too"},
      {"a rw handle too few", gemm().u8(2).ref(0).bytes(), Fault::bad_size, 45,
       "2 rw handles take 16 bytes, and 8 follow"},
      {"a byte too many", gemm().u8(0).u8(0).bytes(), Fault::bad_size, 45,
       "0 rw handles take 0 bytes, and 1 follow"},
      {"a rw handle that is not set", gemm().u8(1).ref(2).bytes(), Fault::bad_reference, 46,
       "composite: entry 2 of the handle table was never set"},
      {"an operand that is not set", with(good, 8, 3), Fault::bad_reference, 8,
       "op 0 (gemm): entry 3 of the handle table was never set"},
  };
}

std::vector<BadRecord> bad_steps() {
  const Bytes wait = Raw().framing(kWait).u16(1).u64(8).u64(16).bytes();
  return {
      {"wait without a count", Raw().framing(kWait).u8(0).bytes(), Fault::bad_size, 0,
       "wait: has 5 bytes; it must have 6"},
      {"a range too few", with(wait, 4, 2), Fault::bad_size, 0, "has 22 bytes; it must have 38"},
      {"an empty range", with(wait, 14, 8), Fault::bad_range, 6, "range [0x8, 0x8) is empty"},
      {"a reversed range", with(wait, 14, 7), Fault::bad_range, 6, "range [0x8, 0x7) is empty"},
      {"an empty name", Raw().framing(kBeginRegion).bytes(), Fault::bad_text, 4,
       "begin_region: the name is empty"},
      {"a long name", Raw().framing(kEndRegion).text(std::string(256, 'x')).bytes(),
       Fault::bad_text, 4, "end_region: the name has 256 bytes; at most 255"},
      {"a new line", Raw().framing(kBeginRegion).text("a\nb").bytes(), Fault::bad_text, 5,
       "byte 1 of the name is 0x0a"},
      {"a zero", Raw().framing(kBeginRegion).text("ab").u8(0).bytes(), Fault::bad_text, 6,
       "byte 2 of the name is 0x00"},
      {"half a character", Raw().framing(kBeginRegion).text("a\xed\x95").bytes(), Fault::bad_text,
       5, "byte 1 of the name is 0xed"},
      {"half a UTF-16 pair", Raw().framing(kBeginRegion).text("\xed\xa0\x80").bytes(),
       Fault::bad_text, 4, "byte 0 of the name is 0xed"},
      {"a long form", Raw().framing(kBeginRegion).text("\xc1\xbf").bytes(), Fault::bad_text, 4,
       "byte 0 of the name is 0xc1"},
      {"beyond Unicode", Raw().framing(kBeginRegion).text("\xf4\x90\x80\x80").bytes(),
       Fault::bad_text, 4, "byte 0 of the name is 0xf4"},
      {"a control of Latin-1", Raw().framing(kBeginRegion).text("\xc2\x9f").bytes(),
       Fault::bad_text, 4, "byte 0 of the name is 0xc2"},
      {"a following byte first", Raw().framing(kBeginRegion).text("\x80").bytes(), Fault::bad_text,
       4, "byte 0 of the name is 0x80"},
      {"observe of nothing", Raw().framing(kObserve).u32(0).bytes(), Fault::bad_size, 0,
       "observe: has 8 bytes; it must have at least 12"},
      {"observe without a name", Raw().framing(kObserve).ref(0).bytes(), Fault::bad_text, 12,
       "observe: the name is empty"},
      {"observe of no entry", Raw().framing(kObserve).ref(7).text("m").bytes(),
       Fault::bad_reference, 4, "entry 7 of the handle table was never set"},
  };
}

/// Of a table entry; offsets are in the record, 8 bytes before those in the entry.
std::vector<BadRecord> bad_entries() {
  const auto set = [] { return Raw().framing(kSetHandle).u32(0); };
  const std::uint64_t base = kTcmBase;
  const std::uint64_t huge = std::uint64_t{1} << 56;
  const Bytes good = set().entry(1, 0, 8, 64, 64, 1, 2, 0, 0, "x").bytes();
  const Fault bad = Fault::bad_handle;
  return {
      {"a byte too few", without_last(good), Fault::bad_size, 0, "has 87 bytes; it must have 88"},
      {"index 8", with(good, 4, 8), Fault::bad_reference, 4, "no entry 8 in the handle table"},
      {"id 0", set().entry(0, 0, 8, 64, 64, 1, 2, 0, 0).bytes(), bad, 8, "the id is 0"},
      {"rank 0", set().entry(1, 0, 1, 64, 64, 1, 0, 0, 0).bytes(), bad, 56, "rank is 0"},
      {"rank 3", set().entry(1, 0, 8, 64, 64, 1, 3, 0, 0).bytes(), bad, 56, "rank is 3"},
      {"rank 1 of 8 rows", set().entry(1, 0, 8, 64, 64, 1, 1, 0, 0).bytes(), bad, 24,
       "rows is 8; a tensor of rank 1 has 1"},
      {"dtype 3", set().entry(1, 0, 8, 64, 64, 1, 2, 3, 0).bytes(), bad, 57, "dtype 3 is unknown"},
      {"space 2", set().entry(1, 0, 8, 64, 64, 1, 2, 0, 2).bytes(), bad, 58, "space 2 is unknown"},
      {"a reserved byte", with(good, 63, 1), Fault::bad_flags, 63, "a reserved byte is 0x01"},
      {"rows 0", set().entry(1, 0, 0, 64, 64, 1, 2, 0, 0).bytes(), bad, 24, "rows is 0"},
      {"rows -1", set().entry(1, 0, kMax, 64, 64, 1, 2, 0, 0).bytes(), bad, 24, "rows is -1"},
      {"cols 0", set().entry(1, 0, 8, 0, 64, 1, 2, 0, 0).bytes(), bad, 32, "cols is 0"},
      {"2^57 entries", set().entry(1, 0, 2, huge, huge, 1, 2, 0, 0).bytes(), bad, 32,
       "at most 2^56 entries"},
      {"row stride 0", set().entry(1, 0, 8, 64, 0, 1, 2, 0, 0).bytes(), bad, 40,
       "row_stride is 0; it must be in [1, 2^56]"},
      {"row stride -64", set().entry(1, 0, 8, 64, 0 - std::uint64_t{64}, 1, 2, 0, 0).bytes(), bad,
       40, "row_stride is -64"},
      {"col stride 0", set().entry(1, 0, 8, 64, 64, 0, 2, 0, 0).bytes(), bad, 48,
       "col_stride is 0"},
      {"both strides above 1", set().entry(1, 0, 8, 64, 64, 2, 2, 0, 0).bytes(), bad, 48,
       "col_stride is 2; it must be 1"},
      {"a strided vector", set().entry(1, 0, 1, 64, 1, 2, 1, 0, 0).bytes(), bad, 48,
       "col_stride is 2; it must be 1"},
      {"rows that overlap", set().entry(1, 0, 8, 64, 63, 1, 2, 0, 0).bytes(), bad, 40,
       "row_stride is 63 in a tensor of shape (8, 64): entries would share bytes"},
      {"columns that overlap", set().entry(1, 0, 8, 64, 1, 7, 2, 0, 0).bytes(), bad, 48,
       "col_stride is 7 in a tensor of shape (8, 64)"},
      {"a hull beyond 2^56", set().entry(1, 0, 3, 64, huge / 2, 1, 2, 0, 0).bytes(), bad, 40,
       "spans more than 2^56 entries"},
      {"TCM below its base", set().entry(1, base - 1, 8, 64, 64, 1, 2, 0, 1).bytes(), bad, 16,
       "address 0xffffffffff is one of HBM, but the space is tcm"},
      {"HBM into TCM", set().entry(1, base - 1023, 8, 64, 64, 1, 2, 0, 0).bytes(), bad, 16,
       "reach beyond 0x10000000000"},
      {"HBM in TCM", set().entry(1, base, 8, 64, 64, 1, 2, 0, 0).bytes(), bad, 16, "reach beyond"},
      {"an end beyond 2^63", set().entry(1, kMax / 2 - 1023, 8, 64, 64, 1, 2, 0, 1).bytes(), bad,
       16, "leaves no room for its 1024 bytes"},
      {"a name without an end",
       set().entry(1, 0, 8, 64, 64, 1, 2, 0, 0, std::string(24, 'x')).bytes(), Fault::bad_text, 87,
       "is not padded with zeros"},
      {"a name with more behind", with(good, 70, 'y'), Fault::bad_text, 70,
       "not padded with zeros"},
      {"a tab in a name", with(good, 65, '\t'), Fault::bad_text, 65,
       "byte 1 of the tensor's name is 0x09, a control character"},
  };
}

TEST(Faults, NameTheByteAndTheReason) {
  std::set<Fault> reached;
  for (const auto& records :
       {bad_framings(), bad_simple_commands(), bad_composites(), bad_steps(), bad_entries()}) {
    for (const BadRecord& bad : records) {
      SCOPED_TRACE(bad.what);
      Decoder decoder = decoder_with_two_entries();
      const TensorHandle before = *decoder.entry(0);
      const auto result = decoder.decode(bad.record.data(), bad.record.size());
      ASSERT_TRUE(std::holds_alternative<DecodeError>(result));
      const auto& error = std::get<DecodeError>(result);
      EXPECT_EQ(to_string(error.fault), to_string(bad.fault)) << error.reason;
      EXPECT_EQ(error.offset, bad.offset) << error.reason;
      EXPECT_THAT(error.reason, HasSubstr(bad.reason));
      EXPECT_EQ(error.reason.find('\n'), std::string::npos);
      EXPECT_EQ(*decoder.entry(0), before);  // nothing has changed
      reached.insert(error.fault);
    }
  }
  // All but none, and refused, which is what a PE says of a record that is well-formed.
  EXPECT_EQ(reached.size(), static_cast<std::size_t>(Fault::bad_range));
}

TEST(Faults, HaveNames) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Fault::refused); ++i) {
    names.insert(to_string(static_cast<Fault>(i)));
  }
  EXPECT_EQ(names.size(), 12u);
  EXPECT_EQ(to_string(Fault::bad_handle), "bad_handle");
  EXPECT_EQ(to_string(Fault::refused), "refused");
}

// A stream cut at any byte, one without an end, and one with something behind it.
TEST(Decode, RefusesAStreamThatIsCutShort) {
  const TensorHandle x = tcm(1, Shape{8, 8});
  const Bytes whole = encode({{Command(PeCpuOverheadCmd{1}), ObserveStep{"x", x}}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    try {
      decode(cut, "file");
      FAIL() << size << " bytes were taken for a program";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("file: offset "));
      EXPECT_THAT(error.what(), HasSubstr("cut short"));
    }
  }
  Bytes longer = whole;
  longer.push_back(0);
  try {
    decode(longer, "file");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "file: offset 117: 1 bytes follow the end of the program; remove them");
  }
  // 12 bytes of cpu_overhead, then a table entry with rank 9.
  Bytes bad = whole;
  bad[12 + 8 + 48] = 9;
  try {
    decode(bad, "file");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "file: offset 68: set_handle: rank is 9; it must be 1 or 2 (bad_handle)");
  }
}

}  // namespace
}  // namespace kernbench::command
