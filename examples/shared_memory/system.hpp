// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "dram_controller.hpp"
#include "interconnect.hpp"
#include "model/arch/config.hpp"
#include "model/pe.hpp"
#include "tl/tl.hpp"
#include "tlm_if/base_protocol_monitor.hpp"

namespace example {

using kernbench::command::Address;
using kernbench::command::Index;
using kernbench::command::TensorHandle;

inline constexpr Index kPes = 2;
inline constexpr Index kRows = 8, kDepth = 1024, kCols = 256;

/// What each PE sees at its own addresses: its own memory, then the shared one.
inline constexpr Address kWindowBytes = 1u << 24;
inline constexpr Address kShared = kWindowBytes;
/// Where the addresses of a PE begin on the interconnect.
constexpr Address pe_base(Index pe) { return static_cast<Address>(pe) << 28; }

/// out = x w, with the depth split over the PEs. Each PE has its columns of x in its own memory; w,
/// the two products and out are in the shared memory. One kernel multiplies on both PEs; the other
/// then adds the products on PE 0.
struct Tensors {
  TensorHandle x, w, product, other_product, out;
};
/// As PE `pe` sees them.
Tensors tensors_of(Index pe);
void multiply(kernbench::tl::Context& tl, Index pe);
void add_up(kernbench::tl::Context& tl);

/// Small multiples of 1/8: every product and sum is exact in f32, in any order.
std::vector<double> values(Index count, int period);
/// The part of a PE, row after row.
std::vector<double> x_of(Index pe);
std::vector<double> w_of(Index pe);

///     pe0 --.                    .-- own memory of pe0
///            monitor -- bus -----+-- own memory of pe1
///     pe1 --'                    '-- shared memory: answers out of order
class System : public sc_core::sc_module {
 public:
  const kernbench::arch::TopologyConfig topology;               ///< of a PE and what it sees
  std::vector<std::unique_ptr<dram::DramController>> memories;  ///< those of the PEs, then shared
  bus::Interconnect interconnect;
  std::vector<std::unique_ptr<kernbench::BaseProtocolMonitor>> monitors;
  std::vector<std::unique_ptr<kernbench::Pe>> pes;

  explicit System(const sc_core::sc_module_name& name);

  /// The time at which both had multiplied.
  std::uint64_t multiplied_ps() const { return multiplied_ps_; }
  bool idle() const { return pes[0]->idle() && pes[1]->idle(); }

 private:
  void start_of_simulation() override;
  void launch_done();

  std::size_t launches_done_ = 0;
  std::uint64_t multiplied_ps_ = 0;
};

}  // namespace example
