// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/arch/config.hpp"
#include "tlm_if/command/program.hpp"

namespace kernbench::test {

struct NamedProgram {
  std::string name;  ///< title of the launch and number of the program
  command::Program program;
};

/// A cube of eight PEs that streams MATH heads: every kernel of the catalogue compiles for it.
arch::TopologyConfig catalogue_topology();

/// Every kernel of the catalogue as it comes, and with each choice that it offers: the first and
/// the last program of its launch.
std::vector<NamedProgram> catalogue_programs();

/// Short streams that between them hold each kind of command and step of those programs, with the
/// table entries that it needs and an end of program.
std::vector<std::vector<std::uint8_t>> sample_streams();

/// The first steps of those programs, each program in one stream for a handle table of
/// `table_entries`, so few that entries give way and come back. Without programs in which a command
/// has more tensors than that.
std::vector<std::vector<std::uint8_t>> sample_programs(std::uint32_t table_entries);

/// A program file with tensors over two programs.
std::vector<std::uint8_t> sample_file();

}  // namespace kernbench::test
