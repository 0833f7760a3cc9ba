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

/// Messages on one channel that have been sent but not received.
struct Unreceived {
  std::uint32_t sender = 0, receiver = 0;  ///< numbers of PEs
  std::uint32_t channel = 0;
  IpcqCount count;
};
/// Those between these PEs, which must be idle, sorted by sender, receiver and channel. Messages to
/// other PEs are ignored.
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
  /// Launches run in the order of these calls. A launch starts when every program of the one before
  /// has returned, all its commands are done, and all its messages have been received.
  void launch(const KernelLaunch& launch);

  /// Every launch has ended, and none was leaky.
  bool done() const { return running_ == 0 && next_launch_ == launches_.size() && !leak_; }
  /// The leaky launch. It ends the run, since a later launch would receive its messages.
  const std::optional<LeakyLaunch>& leak() const { return leak_; }
  /// The InputError that a kernel has thrown; null if none has.
  std::exception_ptr failure() const;
  /// When the last of the PEs was done.
  std::uint64_t last_done_ps() const;
  /// PEs that a launch names, in the order of its programs, launch after launch.
  std::vector<std::uint32_t> used_pes() const;

  // After the run, in data mode:

  /// Entries of a tensor, row-major, as they are in HBM. An entry that several programs hold is the
  /// first one's. An entry that no program holds is 0.
  std::vector<double> read(const DeviceTensor& tensor);
  /// The observed values by name, stacked along the first axis: by program, and within a program by
  /// time.
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
  std::size_t running_ = 0;  // running programs of the current launch
  std::optional<LeakyLaunch> leak_;
  bool started_ = false;
  std::deque<Write> writes_;           // until the simulation has started
  std::vector<FileTensors> observed_;  // by PE
};

}  // namespace kernbench::runtime
