// SPDX-License-Identifier: Apache-2.0
// A CPU model runs a compiled kernel on a PE, as a driver does with an accelerator: it resets the
// host port, writes the program into the command ring, rings the doorbell, refills the ring when
// the interrupt says that there is room, and sleeps until the interrupt says that the program is
// done. HostCpu (host_cpu.hpp) is plain SystemC and TLM-2.0 and uses only the C header of the
// registers. The program comes from `tlc`.
//
// Usage: host_cpu [PROGRAM_FILE]
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "host_cpu.hpp"
#include "model/embedded_hbm.hpp"
#include "model/host_port.hpp"

static const char* const kUsage =
    "usage: host_cpu [PROGRAM_FILE]\n"
    "  PROGRAM_FILE  written by tlc compile (decode.kbp, beside this program)\n";

static bool simulate(const HostProgram& program) {
  const kernbench::arch::TopologyConfig topology;
  kernbench::HostPortConfig config;
  config.ring_bytes = 4096;
  config.access_ns = kernbench::arch::Rational(20);

  kernbench::EmbeddedHbm hbm("hbm", topology.hbm, 1, false);
  kernbench::Pe pe("pe", topology.pe_config(), 0);
  kernbench::HostPort port("port", pe, config);
  HostCpu cpu("cpu", program);
  sc_core::sc_signal<bool> interrupt("interrupt");
  pe.memory.bind(hbm.port(0));
  cpu.socket.bind(port.host);
  port.interrupt.bind(interrupt);
  cpu.interrupt.bind(interrupt);

  sc_core::sc_start();
  for (const std::string& line : pe.waiting()) std::printf("%s\n", line.c_str());
  return cpu.succeeded();
}

int sc_main(int argc, char** argv) {
  const bool help = argc == 2 && std::string(argv[1]) == "--help";
  if (help || argc > 2) {
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  const std::string self = argv[0];
  const std::string path =
      argc > 1 ? argv[1] : self.substr(0, self.find_last_of('/') + 1) + "decode.kbp";
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "host_cpu: %s cannot be opened; give a file that tlc has written\n",
                 path.c_str());
    return 2;
  }
  const std::vector<std::uint8_t> file{std::istreambuf_iterator<char>(in), {}};
  const HostProgram program = first_program(file);
  if (program.stream.empty()) {
    std::fprintf(stderr, "host_cpu: %s is not a program file; give one that tlc has written\n",
                 path.c_str());
    return 2;
  }
  std::printf("%s\n", program.title.c_str());
  try {
    return simulate(program) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "host_cpu: %s\n", error.what());
    return 1;
  }
}
