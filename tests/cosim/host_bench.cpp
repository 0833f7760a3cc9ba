// SPDX-License-Identifier: Apache-2.0
#include "tests/cosim/host_bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/record/op_log.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tlm_if/command/encoding.hpp"

namespace kernbench::test {
namespace {

constexpr auto kRead = tlm::TLM_READ_COMMAND;
constexpr auto kWrite = tlm::TLM_WRITE_COMMAND;

void set_attributes(tlm::tlm_generic_payload& payload, tlm::tlm_command command,
                    std::uint64_t address, std::uint8_t* data, std::uint32_t length) {
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(data);
  payload.set_data_length(length);
  payload.set_streaming_width(length);
  payload.set_byte_enable_ptr(nullptr);
  payload.set_byte_enable_length(0);
  payload.set_dmi_allowed(false);
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
}

}  // namespace

Bytes records_of(const runtime::Launch& launched, std::uint32_t table_entries) {
  command::ProgramRecorder recorder;
  launched.issue(recorder);
  return command::encode(recorder.program(), table_entries);
}

Bytes records_of(const KernelBody& kernel) {
  command::ProgramRecorder recorder;
  kernel(recorder);
  return command::encode(recorder.program());
}

HostCpu::HostCpu(const sc_core::sc_module_name& name, Program program, bool non_blocking)
    : sc_module(name), program_(std::move(program)), non_blocking_(non_blocking) {
  KERNBENCH_HAS_PROCESS(HostCpu);
  SC_THREAD(run);
  socket.register_nb_transport_bw(this, &HostCpu::nb_transport_bw);
}

tlm::tlm_response_status HostCpu::access(tlm::tlm_generic_payload& payload) {
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  if (!non_blocking_) {
    socket->b_transport(payload, delay);
    if (delay != sc_core::SC_ZERO_TIME) sc_core::wait(delay);
    return payload.get_response_status();
  }
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  EXPECT_EQ(socket->nb_transport_fw(payload, phase, delay), tlm::TLM_ACCEPTED);
  sc_core::wait(response_event_);
  phase = tlm::END_RESP;
  socket->nb_transport_fw(payload, phase, delay);
  return payload.get_response_status();
}

tlm::tlm_sync_enum HostCpu::nb_transport_bw(tlm::tlm_generic_payload&, tlm::tlm_phase& phase,
                                            sc_core::sc_time& delay) {
  if (phase == tlm::BEGIN_RESP) response_event_.notify(delay);
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_response_status HostCpu::access(tlm::tlm_command command, std::uint64_t address,
                                         std::uint8_t* data, std::uint32_t length) {
  auto* const payload = new tlm::tlm_generic_payload(this);
  payload->acquire();
  set_attributes(*payload, command, address, data, length);
  const tlm::tlm_response_status status = access(*payload);
  payload->release();
  return status;
}

unsigned int HostCpu::debug(tlm::tlm_command command, std::uint64_t address, std::uint8_t* data,
                            std::uint32_t length) {
  tlm::tlm_generic_payload payload;
  set_attributes(payload, command, address, data, length);
  return socket->transport_dbg(payload);
}

std::uint32_t HostCpu::read(std::uint32_t offset) {
  std::uint8_t data[4];
  EXPECT_EQ(access(kRead, offset, data, 4), tlm::TLM_OK_RESPONSE) << offset;
  return std::uint32_t{data[0]} | std::uint32_t{data[1]} << 8 | std::uint32_t{data[2]} << 16 |
         std::uint32_t{data[3]} << 24;
}

std::uint64_t HostCpu::read64(std::uint32_t offset) {
  std::uint8_t data[8];
  EXPECT_EQ(access(kRead, offset, data, 8), tlm::TLM_OK_RESPONSE) << offset;
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{data[i]} << 8 * i;
  return value;
}

void HostCpu::write(std::uint32_t offset, std::uint32_t value) {
  std::uint8_t data[4];
  for (unsigned i = 0; i < 4; ++i) data[i] = static_cast<std::uint8_t>(value >> 8 * i);
  EXPECT_EQ(access(kWrite, offset, data, 4), tlm::TLM_OK_RESPONSE) << offset;
}

void HostCpu::write_ring(const Bytes& bytes) {
  const std::uint32_t ring = read(KB_HOST_RING_BYTES);
  for (std::size_t done = 0; done < bytes.size();) {
    const std::uint32_t at = (tail_ + static_cast<std::uint32_t>(done)) & (ring - 1);
    const auto count =
        static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size() - done, ring - at));
    Bytes part(bytes.begin() + static_cast<std::ptrdiff_t>(done),
               bytes.begin() + static_cast<std::ptrdiff_t>(done + count));
    EXPECT_EQ(access(kWrite, KB_HOST_RING + at, part.data(), count), tlm::TLM_OK_RESPONSE);
    done += count;
  }
}

void HostCpu::publish(const Bytes& bytes) {
  write_ring(bytes);
  tail_ += static_cast<std::uint32_t>(bytes.size());
  write(KB_HOST_DOORBELL, tail_);
}

void HostCpu::feed(const Bytes& bytes, std::uint32_t threshold) {
  const std::uint32_t ring = read(KB_HOST_RING_BYTES);
  for (std::size_t done = 0; done < bytes.size();) {
    const auto rest = static_cast<std::uint32_t>(bytes.size() - done);
    const std::uint32_t is_free = ring - (tail_ - read(KB_HOST_RING_HEAD));
    if (is_free < std::min(rest, threshold)) {
      write(KB_HOST_SPACE_THRESHOLD, std::min(rest, threshold));
      await(KB_HOST_IRQ_SPACE);
      continue;
    }
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(done);
    const std::uint32_t count = std::min(rest, is_free);
    publish(Bytes(begin, begin + count));
    done += count;
  }
}

void HostCpu::await(std::uint32_t bits) {
  write(KB_HOST_IRQ_MASK, bits);
  while ((read(KB_HOST_IRQ_STATUS) & bits) == 0) {
    // It may have risen while the access took its time.
    if (interrupt.read()) {
      sc_core::wait(sc_core::SC_ZERO_TIME);
    } else {
      sc_core::wait(interrupt.posedge_event());
    }
  }
  write(KB_HOST_IRQ_STATUS, bits);
}

void HostCpu::reset() {
  write(KB_HOST_CONTROL, KB_HOST_CONTROL_RESET);
  tail_ = 0;
}

class HostBench::Files {
 public:
  Files() { recorder.add_sink(op_log); }
  TemporaryFolder folder;
  record::Recorder recorder;
  record::OpLog op_log{folder / "op_log.csv"};
};

HostBench::HostBench(const arch::TopologyConfig& topology, HostCpu::Program program)
    : HostBench(topology, std::move(program), Options()) {}

HostBench::HostBench(const arch::TopologyConfig& topology, HostCpu::Program program,
                     Options options)
    : files_(std::make_unique<Files>()) {
  const std::string number = std::to_string(options.index);
  const auto named = [&](const char* name) { return name + number; };
  const auto make_host = [&] {
    host_ =
        std::make_unique<HostCpu>(named("host").c_str(), std::move(program), options.non_blocking);
  };
  if (options.host_first) make_host();
  if (options.memory) {
    const std::uint64_t begin = topology.pe.memory_offset;
    scripted_ = std::make_unique<ScriptedMemory>(
        named("memory").c_str(), command::ByteRange{begin, begin + topology.pe_config().hbm_bytes},
        std::move(options.memory));
  } else {
    hbm_ = std::make_unique<EmbeddedHbm>(named("hbm").c_str(), topology.hbm, 1, options.data,
                                         options.index);
  }
  pe_ = std::make_unique<Pe>(named("pe").c_str(), topology.pe_config(), options.index);
  port_ = std::make_unique<HostPort>(named("host_port").c_str(), *pe_, options.port);
  memory_monitor_ = std::make_unique<BaseProtocolMonitor>(named("memory_monitor").c_str());
  host_monitor_ = std::make_unique<BaseProtocolMonitor>(named("host_monitor").c_str(),
                                                        BaseProtocolMonitor::Checks::base_protocol);
  if (!options.host_first) make_host();
  pe_->set_data_mode(options.data);
  pe_->set_recorder(&files_->recorder);
  pe_->memory.bind(memory_monitor_->upstream);
  memory_monitor_->downstream.bind(scripted_ ? scripted_->socket : hbm_->port(0));
  if (options.connected) pe_->ipcq_out.bind(pe_->ipcq_in);
  host_->socket.bind(host_monitor_->upstream);
  host_monitor_->downstream.bind(port_->host);
  host_->interrupt.bind(interrupt_);
  if (options.interrupt) port_->interrupt.bind(interrupt_);
}

HostBench::~HostBench() = default;

HostBench::Result HostBench::run() {
  sc_core::sc_start();
  return finish();
}

HostBench::Result HostBench::finish() {
  EXPECT_TRUE(host_->finished());
  EXPECT_EQ(pe_->cpu.failure(), nullptr);
  for (const BaseProtocolMonitor* monitor : {memory_monitor_.get(), host_monitor_.get()}) {
    for (const std::string& violation : monitor->violations()) ADD_FAILURE() << violation;
  }
  files_->recorder.finish(TimeBase().now());
  Result result;
  result.op_log = read_file(files_->folder / "op_log.csv");
  result.rows = parse_op_log(result.op_log);
  return result;
}

}  // namespace kernbench::test
