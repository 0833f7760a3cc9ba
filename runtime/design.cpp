// SPDX-License-Identifier: Apache-2.0
#include "runtime/design.hpp"

#include <algorithm>

#include "runtime/host_access.hpp"

namespace kernbench::runtime {
namespace {

using command::Index;

/// Calls `visit(row, begin)` for each row of a part, with the row's number in the part and where
/// its entries begin in the whole tensor.
template <class Visit>
void for_each_row(const PlacedTensor& tensor, const Part& part, Visit visit) {
  Index row = 0;
  for (const kernels::Shard::Rows& block : part.shard.rows) {
    for (Index i = 0; i < block.count; ++i, ++row) {
      const Index begin = (block.begin + i) * tensor.spec.shape.cols() + part.shard.first_col;
      visit(static_cast<std::size_t>(row), static_cast<std::size_t>(begin));
    }
  }
}

}  // namespace

std::vector<Unreceived> unreceived(const std::vector<const Pe*>& pes) {
  std::vector<const Pe*> by_index = pes;
  const auto before = [](const Pe* pe, std::uint32_t index) { return pe->index() < index; };
  std::sort(by_index.begin(), by_index.end(),
            [&](const Pe* x, const Pe* y) { return before(x, y->index()); });
  std::vector<Unreceived> found;
  for (const Pe* sender : by_index) {
    for (const auto& [to, sent] : sender->ipcq.sent()) {
      const auto peer = std::lower_bound(by_index.begin(), by_index.end(), to.peer, before);
      if (peer == by_index.end() || (*peer)->index() != to.peer) continue;
      const IpcqCount received = (*peer)->ipcq.received({sender->index(), to.channel});
      if (received.slots == sent.slots) continue;
      found.push_back({sender->index(),
                       to.peer,
                       to.channel,
                       {sent.messages - received.messages, sent.slots - received.slots}});
    }
  }
  return found;
}

Design::Design(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology,
               const MachineOptions& options)
    : sc_module(name), machine(topology, options), observed_(topology.pes()) {
  for (Pe* pe : machine.pes()) {
    pe->set_recorder(&recorder);
    pe->set_data_mode(options.data);
    pe->cpu.set_launch_done_handler([this] {
      if (--running_ == 0) end_launch();
    });
    if (!options.data) continue;
    pe->cpu.set_observe_handler(
        [this, number = pe->index()](std::string_view value, const command::TensorHandle& handle) {
          observe(number, value, handle);
        });
  }
}

void Design::write(const DeviceTensor& tensor, const std::vector<double>& values) {
  for (const Part& part : tensor->parts) {
    Write write{&machine.pe(part.pe), part.handle.addr, {}};
    write.bytes.reserve(part.handle.bytes());
    for_each_row(*tensor, part, [&](std::size_t, std::size_t begin) {
      append_entries(tensor->spec.dtype, &values[begin], static_cast<std::size_t>(part.shard.cols),
                     write.bytes);
    });
    if (started_) {
      write_bytes(*write.pe, write.addr, std::move(write.bytes));
    } else {
      writes_.push_back(std::move(write));
    }
  }
}

void Design::launch(const KernelLaunch& launch) {
  launches_.push_back(launch);
  if (running_ == 0 && !leak_) start_next_launch();
}

void Design::end_launch() {
  std::vector<Unreceived> messages = unreceived({machine.pes().begin(), machine.pes().end()});
  if (messages.empty()) {
    start_next_launch();
  } else {
    leak_ = {next_launch_, launches_[next_launch_ - 1].title(), last_done_ps(),
             std::move(messages)};
  }
}

void Design::start_next_launch() {
  if (next_launch_ == launches_.size()) return;
  const KernelLaunch& launch = launches_[next_launch_++];
  running_ = launch.pes().size();
  for (std::size_t program = 0; program < launch.pes().size(); ++program) {
    machine.pe(launch.pes()[program])
        .cpu.launch([this, launch = next_launch_ - 1, program](command::CommandSink& sink) {
          launches_[launch].issue(sink, static_cast<Index>(program));
        });
  }
}

std::exception_ptr Design::failure() const {
  for (const Pe* pe : machine.pes()) {
    if (pe->cpu.failure() != nullptr) return pe->cpu.failure();
  }
  return nullptr;
}

std::uint64_t Design::last_done_ps() const {
  std::uint64_t last = 0;
  for (const Pe* pe : machine.pes()) last = std::max(last, pe->cpu.last_done_ps());
  return last;
}

std::vector<std::uint32_t> Design::used_pes() const {
  std::vector<std::uint32_t> used;
  std::vector<bool> known(machine.pes().size(), false);
  for (const KernelLaunch& launch : launches_) {
    for (const std::uint32_t pe : launch.pes()) {
      if (!known[pe]) used.push_back(pe);
      known[pe] = true;
    }
  }
  return used;
}

// Sockets are bound now, and nothing has run yet.
void Design::start_of_simulation() {
  started_ = true;
  for (; !writes_.empty(); writes_.pop_front()) {
    Write& write = writes_.front();
    write_bytes(*write.pe, write.addr, std::move(write.bytes));
  }
}

std::vector<double> Design::read(const DeviceTensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor->spec.shape.elements()), 0);
  // From the last part to the first, so that the first one's entries remain.
  for (auto part = tensor->parts.rbegin(); part != tensor->parts.rend(); ++part) {
    const std::vector<double> entries = read_tensor(machine.pe(part->pe), part->handle);
    const auto cols = static_cast<std::ptrdiff_t>(part->shard.cols);
    for_each_row(*tensor, *part, [&](std::size_t row, std::size_t begin) {
      const auto from = entries.begin() + static_cast<std::ptrdiff_t>(row) * cols;
      std::copy(from, from + cols, values.begin() + static_cast<std::ptrdiff_t>(begin));
    });
  }
  return values;
}

void Design::observe(std::uint32_t pe, std::string_view name, const command::TensorHandle& handle) {
  FileTensor& value = observed_[pe][std::string(name)];
  value.dtype = file_dtype(handle.dtype);
  if (value.shape.empty()) {
    for (int axis = 0; axis < handle.shape.rank(); ++axis)
      value.shape.push_back(handle.shape[axis]);
  } else {
    value.shape[0] += handle.shape[0];
  }
  const std::vector<double> entries = read_tensor(machine.pe(pe), handle);
  value.values.insert(value.values.end(), entries.begin(), entries.end());
}

FileTensors Design::observed() const {
  FileTensors all;
  for (const std::uint32_t pe : used_pes()) {
    for (const auto& [name, value] : observed_[pe]) {
      const auto [known, added] = all.emplace(name, value);
      if (added) continue;
      known->second.shape[0] += value.shape[0];
      known->second.values.insert(known->second.values.end(), value.values.begin(),
                                  value.values.end());
    }
  }
  return all;
}

}  // namespace kernbench::runtime
