// SPDX-License-Identifier: Apache-2.0
#include "runtime/pe_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/run.hpp"
#include "runtime/run_to_end.hpp"
#include "runtime/summary_json.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::runtime {
namespace {

/// Statistics have an entry for each index up to the largest.
constexpr std::uint32_t kMaxIndex = 65535;

/// A name that every waveform viewer accepts as a scope, with dots between scopes.
bool is_scope(const std::string& name) {
  const auto ordinary = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  char before = '.';
  for (const char c : name + '.') {
    if (!ordinary(c) && (c != '.' || before == '.')) return false;
    before = c;
  }
  return true;
}

}  // namespace

PeOutputs::PeOutputs(const StagePaths& paths) : files_(std::make_unique<StageFiles>(paths)) {
  files_->attach(recorder_);
}

PeOutputs::~PeOutputs() {
  if (!finished_) detach();
}

// A destroyed PE must not be accessed; SystemC knows every PE that still exists.
void PeOutputs::detach() {
  for (const Added& added : pes_) {
    if (sc_core::sc_find_object(added.path.c_str()) == added.object)
      added.pe->set_recorder(nullptr);
  }
}

void PeOutputs::add(Pe& pe, std::string name) {
  if (name.empty()) name = pe.name();
  if (sc_core::sc_get_status() >= sc_core::SC_RUNNING) {
    throw InputError(fmt::format(
        "{} is added to outputs of a simulation that has started; add it before sc_start", name));
  }
  if (!is_scope(name)) {
    throw InputError(
        fmt::format("the PE '{}' has a name that waveforms cannot show: scopes are letters, digits "
                    "and '_', with dots between them; give add() one as its second argument",
                    name));
  }
  if (pe.index() > kMaxIndex) {
    throw InputError(
        fmt::format("{} has index {}, and outputs number PEs from 0 to {}; give it a "
                    "smaller one",
                    name, pe.index(), kMaxIndex));
  }
  for (const Added& other : pes_) {
    if (other.pe->index() == pe.index()) {
      throw InputError(fmt::format(
          "{} and {} both have index {}, by which outputs tell PEs apart; give each its own",
          other.name, name, pe.index()));
    }
    if (other.name == name) {
      throw InputError(fmt::format(
          "two PEs are called {} in the outputs; give each its own name in add()", name));
    }
  }
  record::PeScope scope;
  scope.number = pe.index();
  scope.name = name;
  scope.memory = name + ".memory";
  scope.read_channels = pe.config().dma.read_channels;
  scope.write_channels = pe.config().dma.write_channels;
  scope.ipcq = pe.config().pes > 1;
  files_->add_pe(scope);
  pe.set_recorder(&recorder_);
  pes_.push_back({&pe, std::move(name), &pe, pe.name()});
}

void PeOutputs::finish() {
  if (finished_) return;
  PesByName pes;
  std::string busy;
  for (const Added& added : pes_) {
    if (const std::exception_ptr failure = added.pe->cpu.failure()) std::rethrow_exception(failure);
    pes.emplace_back(added.name, added.pe);
    if (!added.pe->idle()) busy += (busy.empty() ? "" : ", ") + added.name;
  }
  if (!busy.empty()) {
    const bool stopped = sc_core::sc_get_status() >= sc_core::SC_STOPPED;
    throw work_in_flight(
        fmt::format("the outputs of {}: finish()", busy), pes,
        stopped ? "the simulation was stopped too early, and no file is written; stop when every "
                  "Pe::idle() is true"
                : "no file is written; simulate on until every Pe::idle() is true and call it "
                  "again");
  }
  std::vector<const Pe*> added;
  for (const Added& pe : pes_) added.push_back(pe.pe);
  if (const std::vector<Unreceived> left = unreceived(added); !left.empty()) {
    throw never_received("the outputs, of which no file is written", pes, left,
                         "when finish() was called");
  }
  finished_ = true;
  detach();
  const RunResult result = result_of(pes, recorder_.statistics());
  recorder_.finish(result.sim_time_ps);
  files_->write_summary(summary_json(result));
}

}  // namespace kernbench::runtime
