// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/machine.hpp"
#include "model/record/recorder.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/launch/safetensors.hpp"

namespace kernbench::runtime {

/// Messages on one channel that have been sent and not received.
struct Unreceived {
  std::uint32_t sender = 0, receiver = 0;  ///< numbers of PEs
  std::uint32_t channel = 0;
  IpcqCount count;
};
/// Between these PEs, which are idle, by sender, receiver and channel. Messages to others are not
/// looked at.
std::vector<Unreceived> unreceived(const std::vector<const Pe*>& pes);

/// A launch that has ended with messages that nobody has received.
struct LeakyLaunch {
  std::size_t number = 0;  ///< from 1
  std::string title;
  std::uint64_t end_ps = 0;
  std::vector<Unreceived> messages;
};

/// A machine with its recorder, and the host that loads its memories and launches its kernels.
/// Several designs may be elaborated in one simulation: they share nothing but the time, and each
/// behaves as it would alone.
class Design : public sc_core::sc_module {
 public:
  record::Recorder recorder;
  Machine machine;

  Design(const sc_core::sc_module_name& name, const arch::TopologyConfig& topology,
         const MachineOptions& options);

  // Before the simulation starts, or when every launch is over:

  /// The entries of a tensor, row-major; data mode only.
  void write(const DeviceTensor& tensor, const std::vector<double>& values);
  /// Launches run in the order of these calls: one starts when every program of the one before has
  /// returned and its commands are done, and nothing is left of its messages.
  void launch(const KernelLaunch& launch);

  /// Every launch is over, and none was leaky.
  bool done() const { return running_ == 0 && next_launch_ == launches_.size() && !leak_; }
  /// The launch that was, which ended the run: a later one would receive its messages.
  const std::optional<LeakyLaunch>& leak() const { return leak_; }
  /// A kernel has thrown InputError: what, else null.
  std::exception_ptr failure() const;
  /// When the last of the PEs was done.
  std::uint64_t last_done_ps() const;
  /// PEs that a launch names, in the order of its programs, launch after launch.
  std::vector<std::uint32_t> used_pes() const;

  // After the run, in data mode:

  /// Entries of a tensor, row-major, as they are in HBM. Of what several programs hold, the first
  /// one's; of what none holds, 0.
  std::vector<double> read(const DeviceTensor& tensor);
  /// The observed values by name: stacked along the first axis, by program and, of one, by time.
  FileTensors observed() const;

 private:
  /// A part of a tensor, in its dtype.
  struct Write {
    Pe* pe;
    command::Address addr;
    std::vector<std::uint8_t> bytes;
  };

  void start_of_simulation() override;
  void start_next_launch();
  void end_launch();
  void observe(std::uint32_t pe, std::string_view name, const command::TensorHandle& handle);

  std::vector<KernelLaunch> launches_;
  std::size_t next_launch_ = 0;
  std::size_t running_ = 0;  // programs of the launch under way
  std::optional<LeakyLaunch> leak_;
  bool started_ = false;
  std::deque<Write> writes_;           // until it is
  std::vector<FileTensors> observed_;  // by PE
};

}  // namespace kernbench::runtime
