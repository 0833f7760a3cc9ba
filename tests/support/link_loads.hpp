// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/fabric.hpp"
#include "runtime/launch/launch.hpp"
#include "tests/support/op_log_reader.hpp"

namespace kernbench::test {

/// What each link of a machine must have carried when everything in the op log has arrived, in the
/// order of Machine::links(). Each `send` row is a packet of its bytes over every link of its way:
/// NoC, d2d, sip_link, d2d, NoC. With an interleaved HBM each burst of a DMA row goes to its
/// channel and back: a flit as the request of a read and the response to a write, else the data.
/// Credits occupy nothing.
///
/// `launch`: where the bytes of a DMA row lie, which its row only has the first of; needed with an
/// interleaved HBM only, null without.
std::vector<LinkStatistics> link_loads(const arch::TopologyConfig& topology,
                                       const std::vector<OpLogRow>& rows,
                                       const runtime::KernelLaunch* launch);

}  // namespace kernbench::test
