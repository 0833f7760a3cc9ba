// SPDX-License-Identifier: Apache-2.0
#include "tests/support/decode_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tlm_if/command/check.hpp"
#include "tlm_if/command/encoder.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::test {
namespace {

using command::Decoder;

/// Where gemms and epilogue ops stand in a composite is for check() to refuse, and for the encoder.
bool is_misplaced(const command::ProgramStep& step) {
  const auto* command = std::get_if<command::Command>(&step);
  if (command == nullptr) return false;
  try {
    check_form(*command);
  } catch (const InputError& error) {
    const std::string_view what = error.what();
    return what.find("are gemms; at most one") != std::string_view::npos ||
           what.find("needs a gemm before it") != std::string_view::npos;
  }
  return false;
}

/// A record alone, with the table entries of a decoder that has none yet.
Bytes encoded(const command::ProgramStep& step, std::uint32_t table_entries) {
  command::ProgramStep first = step;
  if (auto* command = std::get_if<command::Command>(&first)) {
    auto* composite = std::get_if<command::CompositeCmd>(command);
    if (composite != nullptr) composite->completion.id = 0;
  }
  command::Encoder encoder(table_entries);
  encoder.append(first);
  return encoder.bytes();
}

/// What is wrong with the binary form of a step that was decoded from `record`.
std::string problem_of_form(const command::ProgramStep& step, const Bytes& record,
                            std::uint32_t table_entries) {
  if (const auto* command = std::get_if<command::Command>(&step)) {
    const std::uint64_t logical = logical_bytes(*command);
    if (logical > 0 && logical != record.size()) {
      return fmt::format("a record of {} bytes is a command of {}", record.size(), logical);
    }
  }
  Bytes bytes;
  try {
    bytes = encoded(step, table_entries);
  } catch (const InputError& error) {
    return fmt::format("a decoded step does not encode: {}", error.what());
  }
  if (bytes.size() < record.size()) return "a decoded step encodes to fewer bytes";
  Decoder decoder(table_entries);
  std::size_t offset = 0;
  for (std::size_t rest = bytes.size(); rest > record.size(); rest = bytes.size() - offset) {
    const std::size_t size = Decoder::record_size(&bytes[offset]);
    const auto result = decoder.decode(&bytes[offset], size);
    if (!std::holds_alternative<command::HandleTableUpdate>(result)) {
      return "an encoded table entry does not decode";
    }
    offset += size;
  }
  const auto again = decoder.decode(&bytes[offset], bytes.size() - offset);
  const auto* decoded = std::get_if<command::ProgramStep>(&again);
  if (decoded == nullptr) return "an encoded step does not decode";
  return encoded(*decoded, table_entries) == bytes ? "" : "a step has two binary forms";
}

/// What is wrong with the binary form of a whole program, whose steps use the handle table after
/// each other.
std::string problem_of_program(const command::Program& program, std::uint32_t table_entries) {
  try {
    const Bytes bytes = encode(program, table_entries);
    return command::decode(bytes, "again", table_entries) == program ? "" : "a program has changed";
  } catch (const InputError& error) {
    return fmt::format("a decoded program does not encode: {}", error.what());
  }
}

}  // namespace

std::string decode_all(const Bytes& bytes, Decoder& decoder, const command::Limits& limits,
                       bool encode, DecodeTally& tally) {
  decoder.reset();
  command::Program program;
  for (std::size_t offset = 0; bytes.size() - offset >= command::kFramingBytes;) {
    const std::size_t stated =
        std::max(Decoder::record_size(&bytes[offset]), command::kFramingBytes);
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    const std::size_t size = std::min(stated, bytes.size() - offset);
    // In an allocation of its own: a read beyond the record is one beyond its end.
    const Bytes record(begin, begin + static_cast<std::ptrdiff_t>(size));
    const Decoder::Result result = decoder.decode(record.data(), size);
    if (const auto* error = std::get_if<command::DecodeError>(&result)) {
      ++tally.refused;
      if (error->fault == command::Fault::none) return "a refusal without a fault";
      if (error->reason.empty()) return "a refusal without a reason";
      if (error->offset > size) {
        return fmt::format("offset {} of {} bytes: {}", error->offset, size, error->reason);
      }
      break;
    }
    if (const auto* step = std::get_if<command::ProgramStep>(&result)) {
      ++tally.commands;
      if (encode && is_misplaced(*step)) {
        program.steps.emplace_back(
            command::Command(command::PeCpuOverheadCmd{}));  // takes a number as well
      } else if (encode) {
        std::string problem = problem_of_form(*step, record, decoder.table_entries());
        if (!problem.empty()) return problem;
        program.steps.push_back(*step);
      }
      try {
        command::check_step(*step, limits);
        ++tally.taken;
      } catch (const InputError& error) {
        if (std::string_view(error.what()).empty()) return "check refuses without a reason";
      }
    }
    if (std::holds_alternative<command::EndOfProgram>(result)) {
      std::string problem = problem_of_program(program, decoder.table_entries());
      if (!problem.empty()) return problem;
      program = {};
    }
    offset += size;
  }
  return problem_of_program(program, decoder.table_entries());
}

}  // namespace kernbench::test
