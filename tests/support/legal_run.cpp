// SPDX-License-Identifier: Apache-2.0
#include "tests/support/legal_run.hpp"

#include <fmt/format.h>

#include <cstring>
#include <random>

#include "tests/support/data_run.hpp"

namespace kernbench::test {
namespace {

constexpr char kSeparator = '\x1e';
constexpr std::uint64_t kLongestDelayPs = 500'000;
constexpr std::uint64_t kLatestPs = 5'000'000;

}  // namespace

LegalRun plain() {
  LegalRun run{"plain", {}};
  run.options.data = true;
  return run;
}

LegalRun poisoned() {
  LegalRun run = plain();
  run.name = "poisoned";
  run.options.poison = true;
  return run;
}

LegalRun delayed(std::uint64_t seed) {
  LegalRun run = plain();
  run.name = "delayed";
  run.options.extra_delay = [random = std::mt19937_64(seed)]() mutable {
    // Most stages keep their time, so that the long ones change the order of things.
    const std::uint64_t draw = random();
    return draw % 4 != 0 ? 0 : draw / 4 % kLongestDelayPs;
  };
  return run;
}

LegalRun shuffled(std::uint64_t seed) {
  LegalRun run = plain();
  run.name = "shuffled";
  std::mt19937_64 random(seed);
  std::vector<int>& order = run.options.creation_order;
  for (int part = 0; part < kModules; ++part) {  // std::shuffle differs between libraries
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(random() % (order.size() + 1)), part);
  }
  return run;
}

LegalRun early_memory() {
  LegalRun run = plain();
  run.name = "early memory";
  run.options.memory = [](std::uint64_t, const tlm::tlm_generic_payload&) {
    Behaviour behaviour;
    behaviour.answer = Answer::updated_begin_resp;
    return behaviour;
  };
  return run;
}

LegalRun late_memory(std::uint64_t seed) {
  LegalRun run = plain();
  run.name = "late memory";
  run.options.memory = [random = std::mt19937_64(seed)](std::uint64_t,
                                                        const tlm::tlm_generic_payload&) mutable {
    Behaviour behaviour;
    behaviour.answer = Answer::updated_end_req;
    behaviour.response_ps = random() % kLatestPs;
    behaviour.serve_late = true;
    return behaviour;
  };
  return run;
}

std::string run_as_text(const arch::TopologyConfig& topology, const runtime::Launch& launch,
                        const kernels::HostTensors& inputs, const LegalRun& how) {
  const DataRun run = run_with_data(topology, launch, inputs, how.options);
  return run.op_log + kSeparator + text_of(run.results);
}

std::string op_log_in(const std::string& run) { return run.substr(0, run.find(kSeparator)); }
std::string results_in(const std::string& run) { return run.substr(run.find(kSeparator) + 1); }

std::string text_of(const kernels::HostTensors& tensors) {
  std::string text;
  for (const auto& [name, values] : tensors) {
    text += name;
    for (const double value : values) {
      const auto entry = static_cast<float>(value);
      std::uint32_t bits = 0;
      std::memcpy(&bits, &entry, sizeof bits);
      text += fmt::format(" {:x}", bits);
    }
    text += '\n';
  }
  return text;
}

}  // namespace kernbench::test
