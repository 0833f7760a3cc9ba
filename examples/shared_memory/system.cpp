// SPDX-License-Identifier: Apache-2.0
#include "system.hpp"

#include <string>

#include "model/arch/topology_file.hpp"
#include "runtime/host_access.hpp"
#include "runtime/launch/launch.hpp"

namespace tl = kernbench::tl;
namespace command = kernbench::command;
using command::DType, command::Shape, command::Space;
using kernbench::runtime::write_tensor;

namespace example {
namespace {

constexpr Index kPart = kDepth / kPes;  // columns of x and rows of w of a PE
constexpr Address kWeights = kShared, kProducts = kShared + 0x100000, kOut = kShared + 0x200000;
constexpr Address kProductBytes = kRows * kCols * 4;

kernbench::arch::TopologyConfig topology_of_a_pe() {
  return kernbench::arch::load_topology(
      "name: shared_memory\n"
      "pe: {dma: {burst_bytes: 256}}\n"
      "hbm: {bytes: 33554432}  # its own memory and the shared one\n",
      "shared_memory.yaml");
}

std::vector<bus::Window> address_map() {
  std::vector<bus::Window> map;
  for (Index pe = 0; pe < kPes; ++pe) {
    map.push_back({pe_base(pe), kWindowBytes, static_cast<unsigned>(pe), 0});
    map.push_back({pe_base(pe) + kShared, kWindowBytes, static_cast<unsigned>(kPes), 0});
  }
  return map;
}

constexpr double kHopNs = 2;
constexpr double kSharedBurstNs = 4;  // half the rate of the PEs' own memories

tl::Tensor ref(tl::Context& tl, const TensorHandle& handle) {
  return tl.ref(handle.addr, handle.shape, handle.dtype, handle.name);
}

}  // namespace

Tensors tensors_of(Index pe) {
  const auto part = static_cast<Address>(pe);
  const auto matrix = [](Address addr, Index rows, Index cols, DType dtype, const char* name) {
    return command::make_handle(0, addr, Shape::matrix(rows, cols), dtype, Space::hbm, name);
  };
  const auto product = [&](Address of) {
    return matrix(kProducts + of * kProductBytes, kRows, kCols, DType::f32, "product");
  };
  return {matrix(0, kRows, kPart, DType::f16, "x"),
          matrix(kWeights + part * kPart * kCols * 2, kPart, kCols, DType::f16, "w"), product(part),
          product(1 - part), matrix(kOut, kRows, kCols, DType::f16, "out")};
}

void multiply(tl::Context& tl, Index pe) {
  const Tensors on = tensors_of(pe);
  const tl::Tensor x = tl.load(ref(tl, on.x));
  tl.wait({x});
  tl.composite(tl::gemm(x, ref(tl, on.w)).out(ref(tl, on.product)));
}

void add_up(tl::Context& tl) {
  const Tensors on = tensors_of(0);
  const tl::Tensor sum = tl.add(tl.load(ref(tl, on.product)), tl.load(ref(tl, on.other_product)));
  tl.store(ref(tl, on.out), tl.copy(sum, tl::f16));
}

std::vector<double> values(Index count, int period) {
  const Index middle = period / 2;
  std::vector<double> values;
  for (Index i = 0; i < count; ++i) values.push_back(double(i % period - middle) / 8);
  return values;
}

std::vector<double> x_of(Index pe) {
  const std::vector<double> x = values(kRows * kDepth, 7);
  std::vector<double> part;
  for (Index row = 0; row < kRows; ++row) {
    const auto begin = x.begin() + row * kDepth + pe * kPart;
    part.insert(part.end(), begin, begin + kPart);
  }
  return part;
}

std::vector<double> w_of(Index pe) {
  const std::vector<double> w = values(kDepth * kCols, 11);
  return {w.begin() + pe * kPart * kCols, w.begin() + (pe + 1) * kPart * kCols};
}

System::System(const sc_core::sc_module_name& name)
    : sc_module(name), topology(topology_of_a_pe()), interconnect("bus", address_map(), kHopNs) {
  dram::Config dram;  // 16 MiB: a window
  for (Index pe = 0; pe < kPes; ++pe) {
    memories.push_back(
        std::make_unique<dram::DramController>(("memory" + std::to_string(pe)).c_str(), dram));
  }
  dram.t_burst_ns = kSharedBurstNs;
  memories.push_back(std::make_unique<dram::DramController>("shared", dram));
  for (auto& memory : memories) interconnect.targets.bind(memory->socket);

  for (Index i = 0; i < kPes; ++i) {
    const std::string number = std::to_string(i);
    kernbench::arch::PeConfig config = topology.pe_config();
    config.memory_offset = pe_base(i);
    pes.push_back(std::make_unique<kernbench::Pe>(("pe" + number).c_str(), config,
                                                  static_cast<std::uint32_t>(i)));
    monitors.push_back(
        std::make_unique<kernbench::BaseProtocolMonitor>(("monitor" + number).c_str()));
    kernbench::Pe& pe = *pes.back();
    pe.memory.bind(monitors.back()->upstream);
    monitors.back()->downstream.bind(interconnect.initiators);
    pe.set_data_mode(true);
    pe.cpu.set_launch_done_handler([this] { launch_done(); });
    pe.set_kernel([this, i](command::CommandSink& sink) {
      tl::Context context(kernbench::runtime::make_target(topology), sink);
      multiply(context, i);
    });
  }
}

void System::start_of_simulation() {
  for (Index i = 0; i < kPes; ++i) {
    kernbench::Pe& pe = *pes[static_cast<std::size_t>(i)];
    const Tensors on = tensors_of(i);
    write_tensor(pe, on.x, x_of(i));
    write_tensor(pe, on.w, w_of(i));
  }
}

void System::launch_done() {
  if (++launches_done_ != pes.size()) return;
  multiplied_ps_ = kernbench::TimeBase().now();
  pes[0]->cpu.launch([this](command::CommandSink& sink) {
    tl::Context context(kernbench::runtime::make_target(topology), sink);
    add_up(context);
  });
}

}  // namespace example
