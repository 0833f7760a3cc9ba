// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tl/tl.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/op_table.hpp"
#include "tlm_if/command/program.hpp"

namespace kernbench::tl {

using command::Command;
using command::CompositeCmd;
using command::OperandName;
using command::OpKind;
using command::OpSpec;
using command::TensorHandle;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// The line of the InputError that `call` throws; empty if it throws none.
template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

/// A context whose commands are recorded.
struct ContextTest : testing::Test {
  std::vector<Command> commands() const { return sink.program().commands(); }
  Command last() const { return commands().back(); }
  CompositeCmd last_composite() const { return std::get<CompositeCmd>(last()); }
  std::uint64_t last_bytes() const { return command::logical_bytes(last()); }

  /// Where the next allocation would lie.
  command::Address next_address() {
    auto scope = tl.scratch_scope();
    return tl.empty({1}, f16).handle().addr;
  }

  /// The message of a refusal; fails unless nothing was submitted and nothing stays allocated.
  template <class Call>
  std::string refusal(Call call) {
    const std::size_t steps = sink.program().steps.size();
    const command::Address address = next_address();
    const std::string message = message_of(call);
    EXPECT_FALSE(message.empty()) << "not refused";
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(sink.program().steps.size(), steps) << "something was submitted";
    EXPECT_EQ(next_address(), address) << "something stays allocated";
    return message;
  }

  command::ProgramRecorder sink;
  Context tl{Target{}, sink};
};

inline std::vector<OpKind> kinds_of(const CompositeCmd& command) {
  std::vector<OpKind> kinds;
  for (const OpSpec& op : command.ops) kinds.push_back(op.kind);
  return kinds;
}

inline std::vector<std::string> names_of(const std::vector<TensorHandle>& handles) {
  std::vector<std::string> names;
  for (const TensorHandle& handle : handles) names.push_back(handle.label());
  return names;
}

/// Contract 4: the operands of the decode step, G = 8, TILE = 64, d = 128, statistics in f32.
struct DecodeStep {
  explicit DecodeStep(Context& tl, DType stats = f32)
      : s(tl.empty({8, 64}, f16).named("s")),
        m(tl.empty({8}, stats).named("m")),
        l(tl.empty({8}, stats).named("l")),
        O(tl.empty({8, 128}, stats).named("O")),
        V(tl.ref(0x100000, {64, 128}, f16, "V")) {}
  Tensor s, m, l, O, V;
};

}  // namespace kernbench::tl
