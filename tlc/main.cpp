// SPDX-License-Identifier: Apache-2.0
// tlc compiles a kernel of the catalogue to a program file and disassembles such files. It does not
// link SystemC.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "kernels/catalogue.hpp"
#include "model/record/output_file.hpp"
#include "runtime/launch/arguments.hpp"
#include "runtime/launch/command_line.hpp"
#include "runtime/launch/compile.hpp"
#include "runtime/launch/listing.hpp"
#include "tlc/machines.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/program_file.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench {
namespace {

constexpr char kDefaultMachine[] = "single_pe";
// The name of an option's value in the help.
constexpr char kFile[] = "FILE";
constexpr char kNumber[] = "N";

struct Options {
  std::string kernel;
  std::vector<std::string> parameters;
  std::string machine, topology;
  std::vector<std::string> sets;
  std::string output;
  std::string table_entries;
  std::string file;
  std::string program_id;
};

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const EmbeddedMachine& machine : embedded_machines()) names.push_back(machine.name);
  return names;
}

arch::TopologyConfig topology_of(const Options& options) {
  if (!options.topology.empty()) {
    if (!options.machine.empty()) {
      throw InputError(fmt::format(
          "--machine {} and --topology {} both say what to compile for; drop one of them",
          options.machine, options.topology));
    }
    return arch::read_topology_file(options.topology, options.sets);
  }
  const std::string name = options.machine.empty() ? kDefaultMachine : options.machine;
  for (const EmbeddedMachine& machine : embedded_machines()) {
    if (machine.name != name) continue;
    return arch::load_topology(machine.text, machine.file_name, options.sets, machine.includes);
  }
  throw InputError(fmt::format("no machine '{}'; machines are {}, or give --topology FILE.yaml{}",
                               name, fmt::join(machine_names(), ", "),
                               did_you_mean(name, machine_names())));
}

int list() {
  runtime::list_kernels(std::cout, kernels::catalogue());
  return runtime::kDone;
}

std::uint32_t table_entries_of(const std::string& text) {
  const std::optional<std::uint64_t> entries = runtime::parse_whole(text);
  if (!entries || *entries < 1 || *entries > command::kMaxHandleTableEntries) {
    throw InputError(fmt::format("--table-entries is {}; it must be a number in [1, {}]", text,
                                 command::kMaxHandleTableEntries));
  }
  return static_cast<std::uint32_t>(*entries);
}

int compile(const Options& options) {
  runtime::check_paths({{"--topology", options.topology}, {"--output", options.output}});
  const std::vector<kernels::Kernel> kernels = kernels::catalogue();
  const runtime::Launch launch(runtime::kernel_of(kernels, options.kernel),
                               runtime::settings_of(options.parameters), topology_of(options));
  record::OutputFile output(options.output);
  command::ProgramFile file = runtime::compile(launch);
  if (!options.table_entries.empty()) file.table_entries = table_entries_of(options.table_entries);
  const std::vector<std::uint8_t> bytes = command::to_bytes(file);
  output.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  output.commit();
  return runtime::kDone;
}

/// The bytes of the file and their meaning.
struct Read {
  std::vector<std::uint8_t> bytes;
  command::ProgramFile file;
};
Read read(const std::string& path) {
  Read read;
  read.bytes = command::program_file_bytes(path);
  read.file = command::parse_program_file(read.bytes, path);
  return read;
}

int info(const Options& options) {
  runtime::list_file(std::cout, read(options.file).file);
  return runtime::kDone;
}

int disassemble(const Options& options) {
  const auto [bytes, file] = read(options.file);
  const auto programs = static_cast<command::Index>(file.streams.size());
  command::Index first = 0;
  command::Index end = programs;
  if (!options.program_id.empty()) {
    first = runtime::program_of(options.program_id, options.file, programs);
    end = first + 1;
  }
  fmt::print("{}\n", file.title);
  for (command::Index program = first; program < end; ++program) {
    std::cout << '\n';
    runtime::list_records(std::cout, file, bytes, program);
  }
  return runtime::kDone;
}

int run(int argc, char** argv) {
  Options options;
  runtime::CommandLine line("tlc", "The KernBench compiler: kernels to program files.",
                            "compile KERNEL -o FILE");
  std::vector<std::string> kernels;
  for (const kernels::Kernel& kernel : kernels::catalogue()) kernels.push_back(kernel.name);
  line.suggest("compile", std::move(kernels));
  line.add("list", "The kernels, their parameters with defaults and meaning", list);

  CLI::App& compiler = line.add("compile", "Write what a kernel lowers to into a program file",
                                [&] { return compile(options); });
  compiler.add_option("kernel", options.kernel, "Name of a kernel")->type_name("")->required();
  compiler.add_option("parameters", options.parameters, "Kernel parameters")
      ->option_text("NAME=VALUE ...");
  compiler.add_option("-o,--output", options.output, "The program file to write")
      ->type_name(kFile)
      ->required();
  compiler
      .add_option("--machine", options.machine,
                  fmt::format("What to compile for: {} (default: {})",
                              fmt::join(machine_names(), ", "), kDefaultMachine))
      ->type_name("NAME");
  compiler.add_option("--topology", options.topology, "YAML file, instead of --machine")
      ->type_name(kFile);
  compiler
      .add_option("--set", options.sets,
                  "Override a key of the topology, as in pe.gemm.tile_k=64; repeatable")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
  compiler
      .add_option(
          "--table-entries", options.table_entries,
          fmt::format("Size of the handle table of the host port that runs it (default: {})",
                      command::kDefaultHandleTableEntries))
      ->type_name(kNumber);

  CLI::App& viewer = line.add("info", "What a program file needs, its tensors and its programs",
                              [&] { return info(options); });
  viewer.add_option("file", options.file, "A program file")->type_name("")->required();

  CLI::App& disassembler = line.add("disasm", "A program file as text, record by record",
                                    [&] { return disassemble(options); });
  disassembler.add_option("file", options.file, "A program file")->type_name("")->required();
  disassembler.add_option("--program-id", options.program_id, "Show program N only (default: all)")
      ->type_name(kNumber);
  return line.run(argc, argv);
}

}  // namespace
}  // namespace kernbench

int main(int argc, char** argv) {
  return kernbench::runtime::run_guarded("tlc", [&] { return kernbench::run(argc, argv); });
}
