// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "model/arch/limits.hpp"
#include "tlm_if/command/check.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/null_sink.hpp"

namespace kernbench::runtime {
namespace {

using command::Index;

/// Counts the commands and checks the names of results. Its memory does not grow with the run.
class DryRun : public command::NullSink {
 public:
  explicit DryRun(const std::vector<DeviceTensor>& tensors) : tensors_(tensors) {}

  void issue(command::Command) override { ++commands_; }
  void begin_region(std::string_view name) override {
    regions_.insert(std::string(name));
    if (regions_.size() > command::kMaxRegions) {
      throw InputError(
          fmt::format("region '{}' is one more than the {} that a kernel may name; reuse names for "
                      "repeated phases",
                      name, command::kMaxRegions));
    }
  }
  void observe(std::string_view name, const command::TensorHandle& handle) override {
    for (const DeviceTensor& tensor : tensors_) {
      if (tensor->spec.name == name) {
        throw InputError(fmt::format(
            "the kernel observes '{}', which is the name of one of its tensors; use another name",
            name));
      }
    }
    const auto [first, added] = observed_.emplace(std::string(name), handle);
    const command::TensorHandle& known = first->second;
    if (!added && (known.shape != handle.shape || known.dtype != handle.dtype)) {
      throw InputError(fmt::format(
          "the kernel observes '{}' as {} and as {}; give values of one name one shape and dtype",
          name, known.describe(), handle.describe()));
    }
  }

  std::uint64_t commands() const { return commands_; }
  /// The next program has its own regions.
  void end_program() { regions_.clear(); }

 private:
  const std::vector<DeviceTensor>& tensors_;
  std::map<std::string, command::TensorHandle> observed_;
  std::set<std::string> regions_;
  std::uint64_t commands_ = 0;
};

std::string title_of(const std::string& kernel, const std::vector<Launch::Parameter>& parameters,
                     std::string_view without = {}) {
  std::string title = kernel;
  for (const Launch::Parameter& parameter : parameters) {
    if (parameter.name != without) title += fmt::format(" {}={}", parameter.name, parameter.value);
  }
  return title;
}

bool reads_as_integer(const std::string& value) {
  Index number = 0;
  const auto [last, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && last == value.data() + value.size();
}

/// Splits a title such as `gqa_decode variant=opt2 g=8`; for any other title the kernel is
/// `program`.
std::pair<std::string, std::vector<Launch::Parameter>> parse_title(const std::string& title) {
  std::vector<Launch::Parameter> parameters;
  const std::size_t first_space = std::min(title.find(' '), title.size());
  const std::string kernel = title.substr(0, first_space);
  bool sound = !kernel.empty() && kernel.find('=') == std::string::npos;
  for (std::size_t begin = first_space; begin < title.size() && sound;) {
    const std::size_t end = std::min(title.find(' ', begin + 1), title.size());
    const std::string word = title.substr(begin + 1, end - begin - 1);
    const std::size_t equals = word.find('=');
    sound = equals != std::string::npos && equals > 0 && equals + 1 < word.size();
    if (sound) {
      std::string value = word.substr(equals + 1);
      const bool integer = reads_as_integer(value);
      if (value.size() > 2 && value.front() == '"' && value.back() == '"') {
        value = value.substr(1, value.size() - 2);
      }
      parameters.push_back({word.substr(0, equals), value, integer});
    }
    begin = end;
  }
  if (!sound) return {"program", {}};
  return {kernel, parameters};
}

/// The title of the launch from which the file was compiled.
std::string shown_title(const std::string& file_title) {
  const auto [kernel, parameters] = parse_title(file_title);
  return parameters.empty() ? file_title : title_of(kernel, parameters);
}

/// The PE of each program. Throws InputError unless each has its own PE.
std::vector<std::uint32_t> pes_of(const std::string& title, const Grid& grid, std::uint32_t pes) {
  const auto [low, high] = std::minmax_element(grid.programs.begin(), grid.programs.end());
  const bool fits = *low >= 1 && *high <= pes;  // so that the product fits too
  const Index programs = fits ? grid.programs[0] * grid.programs[1] * grid.programs[2] : 0;
  if (!fits || programs > pes) {
    throw InputError(fmt::format(
        "{}: the grid of {} x {} x {} programs needs a PE for each, and the topology has {}; take "
        "fewer programs or a larger topology",
        title, grid.programs[0], grid.programs[1], grid.programs[2], pes));
  }
  std::vector<std::uint32_t> result = grid.pes;
  if (result.empty()) {
    for (Index i = 0; i < programs; ++i) result.push_back(static_cast<std::uint32_t>(i));
  }
  std::vector<bool> taken(pes, false);
  bool sound = static_cast<Index>(result.size()) == programs;
  for (const std::uint32_t pe : result) {
    sound = sound && pe < pes && !taken[pe];
    if (sound) taken[pe] = true;
  }
  if (!sound) {
    throw InputError(fmt::format(
        "{}: the grid has {} programs and the PEs [{}]; give each program a PE of its own, of 0 to "
        "{}",
        title, programs, fmt::join(result, ", "), pes - 1));
  }
  return result;
}

}  // namespace

void rethrow_of_kernel(const std::string& where) {
  try {
    throw;
  } catch (const InputError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{} failed: {}", where, error.what()));
  }
}

tl::Target make_target(const arch::TopologyConfig& topology) {
  const arch::PeConfig pe = topology.pe_config();
  tl::Target target;
  target.scratch_bytes = pe.tcm.scratch_bytes;
  target.tcm_bytes = pe.tcm.bytes;
  target.hbm_bytes = pe.hbm_bytes;
  target.tile_m = pe.gemm.tile_m;
  target.tile_k = pe.gemm.tile_k;
  target.tile_n = pe.gemm.tile_n;
  target.math_head_from_hbm = pe.scheduler.math_head_from_hbm;
  target.sips = topology.sips;
  target.cubes_per_sip = topology.cubes_per_sip;
  target.pes_per_cube = topology.pes_per_cube;
  target.ipcq_channels = pe.ipcq.channels;
  return target;
}

namespace {

/// A kernel body with the data for each of its programs.
struct CompiledAtIssue {
  tl::Target target;  // of program 0
  KernelLaunch::Body body;
  std::vector<DeviceTensor> arguments;
  std::shared_ptr<const tl::RecipeTable> recipes;

  tl::Target target_of(Index program) const {
    tl::Target of_program = target;
    const Index y = target.num_programs[1], z = target.num_programs[2];
    of_program.program_id = {program / (y * z), program / z % y, program % z};
    return of_program;
  }

  /// Returns the peak of scratch.
  std::uint64_t run(command::CommandSink& sink, Index program) const {
    tl::Context context(target_of(program), sink, recipes ? *recipes : tl::builtin_recipes());
    std::vector<tl::Tensor> bound;
    for (const DeviceTensor& tensor : arguments) {
      const Part* part = tensor->part_of(program);
      bound.push_back(part == nullptr ? tl::Tensor()
                                      : context.ref(part->handle.addr, part->handle.shape,
                                                    tensor->spec.dtype, tensor->spec.name));
    }
    body(context, bound);
    return context.scratch_peak_bytes();
  }
};

}  // namespace

KernelLaunch::KernelLaunch(std::string title, const arch::TopologyConfig& topology, Body body,
                           std::vector<DeviceTensor> arguments, const Grid& grid,
                           std::shared_ptr<const tl::RecipeTable> recipes)
    : title_(std::move(title)),
      pes_(pes_of(title_, grid, topology.pes())),
      arguments_(std::move(arguments)) {
  auto kernel = std::make_shared<CompiledAtIssue>();
  kernel->target = make_target(topology);
  kernel->target.pes = pes_;
  kernel->target.num_programs = grid.programs;
  kernel->body = std::move(body);
  kernel->arguments = arguments_;
  kernel->recipes = std::move(recipes);
  DryRun dry_run(arguments_);
  for (Index program = 0; program < kernel->target.programs(); ++program) {
    try {
      scratch_peak_bytes_ = std::max(scratch_peak_bytes_, kernel->run(dry_run, program));
      dry_run.end_program();
    } catch (const tl::ScratchExhausted& error) {
      throw InputError(
          fmt::format(
              "{}: TCM scratch is exhausted: its tensors in TCM need more than the {} bytes "
              "of {}; choose other parameters (sizes, tile, what stays in HBM), or enlarge "
              "pe.tcm.scratch_bytes",
              title_, topology.pe.tcm.scratch_bytes, topology.name),
          fmt::format("{}\n{}", error.what(), error.detail()));
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", title_, error.what()), error.detail());
    } catch (...) {
      rethrow_of_kernel(title_ + ": the kernel's body");
    }
  }
  commands_ = dry_run.commands();
  issue_ = [kernel](command::CommandSink& sink, Index program) { kernel->run(sink, program); };
}

namespace {

using command::ProgramFile;

void check_needs(std::string_view name, const ProgramFile& file,
                 const arch::TopologyConfig& topology) {
  const auto refuse = [&](const std::string& what, const char* remedy) {
    throw InputError(
        fmt::format("{}: {}; compile it for {}, or {}", name, what, topology.name, remedy));
  };
  for (std::size_t i = 0; i < file.streams.size(); ++i) {
    const std::uint32_t pe = file.streams[i].pe;
    if (pe < topology.pes()) continue;
    refuse(fmt::format("program {} runs on PE {} and {} has {}", i, pe, topology.name,
                       topology.pes() == 1 ? std::string("PE 0 alone")
                                           : fmt::format("PEs 0 to {}", topology.pes() - 1)),
           "run it on a larger machine");
  }
  const std::uint64_t hbm_bytes = topology.pe_config().hbm_bytes;
  if (file.hbm_bytes > hbm_bytes) {
    refuse(fmt::format("it takes {} bytes of HBM and a PE of {} sees {}", file.hbm_bytes,
                       topology.name, hbm_bytes),
           "enlarge hbm.bytes");
  }
  if (file.scratch_bytes > topology.pe.tcm.scratch_bytes) {
    refuse(fmt::format("it takes {} bytes of TCM scratch and {} has {}", file.scratch_bytes,
                       topology.name, topology.pe.tcm.scratch_bytes),
           "enlarge pe.tcm.scratch_bytes");
  }
}

/// The checks that `tl` would make if it compiled the commands for this topology (R4.9).
void check_commands(std::string_view name, const ProgramFile& file,
                    const arch::TopologyConfig& topology) {
  command::Limits limits = arch::limits_of(topology.pe_config());
  for (std::size_t i = 0; i < file.streams.size(); ++i) {
    limits.pe = file.streams[i].pe;
    std::uint64_t number = 0;
    for (const command::ProgramStep& step : file.streams[i].program.steps) {
      const bool is_command = std::holds_alternative<command::Command>(step);
      try {
        command::check_step(step, limits);
      } catch (const InputError& error) {
        const std::string what = is_command ? fmt::format("command {}", number)
                                            : fmt::format("the step before command {}", number);
        throw InputError(fmt::format("{}: {} of program {} is not for {}: {}", name, what, i,
                                     topology.name, error.what()),
                         error.detail());
      }
      if (is_command) ++number;
    }
  }
}

DeviceTensor placed(const ProgramFile::Tensor& tensor, const ProgramFile& file) {
  auto placed = std::make_shared<PlacedTensor>();
  kernels::TensorSpec& spec = placed->spec;
  spec.name = tensor.name;
  spec.file_shape = tensor.file_shape;
  spec.shape = tensor.shape;
  spec.dtype = tensor.dtype;
  spec.direction = tensor.is_output ? kernels::Direction::out : kernels::Direction::in;
  spec.domain = kernels::Domain::any;  // not in the file
  for (const ProgramFile::Tensor::Part& from : tensor.parts) {
    Part part;
    part.program = from.program;
    part.pe = file.streams.at(from.program).pe;
    for (const auto& rows : from.rows) part.shard.rows.push_back({rows.begin, rows.count});
    part.shard.first_col = from.first_col;
    part.shard.cols = from.cols;
    part.handle = from.handle;
    placed->parts.push_back(std::move(part));
  }
  return placed;
}

}  // namespace

KernelLaunch::KernelLaunch(std::string_view name, std::shared_ptr<const ProgramFile> file,
                           const arch::TopologyConfig& topology)
    : title_(shown_title(file->title)), scratch_peak_bytes_(file->scratch_bytes) {
  check_needs(name, *file, topology);
  check_commands(name, *file, topology);
  for (const ProgramFile::Stream& stream : file->streams) pes_.push_back(stream.pe);
  for (const ProgramFile::Tensor& tensor : file->tensors) {
    arguments_.push_back(placed(tensor, *file));
  }
  DryRun dry_run(arguments_);
  try {
    for (const ProgramFile::Stream& stream : file->streams) {
      stream.program.replay(dry_run);
      dry_run.end_program();
    }
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", name, error.what()));
  }
  commands_ = dry_run.commands();
  issue_ = [file = std::move(file)](command::CommandSink& sink, Index program) {
    file->streams[static_cast<std::size_t>(program)].program.replay(sink);
  };
}

namespace {

std::vector<Launch::Parameter> with_values(const kernels::Kernel& kernel,
                                           const kernels::Parameters& parameters) {
  std::vector<Launch::Parameter> result;
  for (const auto& [name, value] : parameters.values()) {
    if (value.empty()) continue;
    const kernels::Parameter& declared = *kernels::find_parameter(kernel.parameters, name);
    result.push_back({name, value, declared.choices.empty() && !declared.list});
  }
  return result;
}

kernels::Instance instance_of(const kernels::Kernel& kernel, const kernels::Parameters& parameters,
                              const arch::TopologyConfig& topology) {
  try {
    return kernel.make(parameters, make_target(topology));
  } catch (...) {
    rethrow_of_kernel(kernel.name + ": the kernel's make");
  }
}

KernelLaunch launch_of(const std::string& kernel, const std::string& title,
                       const kernels::Instance& instance, const arch::TopologyConfig& topology) {
  if (instance.tiles == 0) {
    throw InputError(fmt::format("kernel {}: its Instance has 0 tiles; give at least 1", kernel));
  }
  const Grid grid{instance.grid, instance.pes};
  DeviceMemory memory(topology);
  return {title,         topology,
          instance.body, memory.place(instance.tensors, pes_of(title, grid, topology.pes())),
          grid,          instance.recipes};
}

}  // namespace

Launch::Launch(const kernels::Kernel& kernel, const Settings& settings,
               const arch::TopologyConfig& topology)
    : Launch(kernel, kernels::Parameters(kernel.name, kernel.parameters, settings), topology) {}

Launch::Launch(const kernels::Kernel& kernel, const kernels::Parameters& parameters,
               const arch::TopologyConfig& topology)
    : kernel_(kernel.name),
      parameters_(with_values(kernel, parameters)),
      instance_(instance_of(kernel, parameters, topology)),
      launch_(launch_of(kernel_, title_of(kernel_, parameters_), instance_, topology)) {}

namespace {

bool same_tensors(const std::vector<kernels::TensorSpec>& x,
                  const std::vector<kernels::TensorSpec>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const kernels::TensorSpec& a, const kernels::TensorSpec& b) {
                      return a.name == b.name && a.file_shape == b.file_shape &&
                             a.shape == b.shape && a.dtype == b.dtype && a.direction == b.direction;
                    });
}

/// Gives a program file's instance the domains, the tiles and the reference of its kernel. False if
/// the file is of another kernel.
bool add_what_the_kernel_knows(kernels::Instance& instance, const kernels::Kernel& kernel,
                               const std::vector<Launch::Parameter>& parameters,
                               const arch::TopologyConfig& topology) {
  Settings settings;
  for (const Launch::Parameter& parameter : parameters) {
    settings.emplace_back(parameter.name, parameter.value);
  }
  try {
    kernels::Instance known = kernel.make(
        kernels::Parameters(kernel.name, kernel.parameters, settings), make_target(topology));
    if (!same_tensors(instance.tensors, known.tensors)) return false;
    for (std::size_t i = 0; i < instance.tensors.size(); ++i) {
      instance.tensors[i].domain = known.tensors[i].domain;
      instance.tensors[i].synthetic_scale = known.tensors[i].synthetic_scale;
    }
    instance.tiles = known.tiles;  // the scheduler cuts them by the tile sizes of this topology
    instance.reference = std::move(known.reference);
    return true;
  } catch (const InputError&) {
    return false;  // a kernel of that name with other parameters
  }
}

}  // namespace

Launch::Launch(std::string_view name, const std::shared_ptr<const ProgramFile>& file,
               const arch::TopologyConfig& topology, const std::vector<kernels::Kernel>& catalogue)
    : launch_(name, file, topology) {
  std::tie(kernel_, parameters_) = parse_title(file->title);
  instance_.tiles = file->tiles;
  instance_.grid = {programs(), 1, 1};
  instance_.pes = launch_.pes();
  for (const DeviceTensor& tensor : tensors()) instance_.tensors.push_back(tensor->spec);
  is_stranger_ = std::none_of(catalogue.begin(), catalogue.end(), [&](const auto& kernel) {
    return kernel.name == kernel_ &&
           add_what_the_kernel_knows(instance_, kernel, parameters_, topology);
  });
}

std::string Launch::why_no_reference() const {
  if (instance_.reference) return {};
  if (!is_stranger_) return fmt::format("the kernel {} has no reference", kernel_);
  return fmt::format("no kernel of this binary is what the file was compiled from ({})", title());
}

std::vector<command::ByteRange> Launch::inputs(std::uint32_t pe) const {
  std::vector<command::ByteRange> ranges;
  for (const DeviceTensor& tensor : tensors()) {
    if (tensor->spec.direction != kernels::Direction::in) continue;
    for (const Part& part : tensor->parts) {
      if (part.pe == pe) command::add_range(ranges, part.handle.range());
    }
  }
  return ranges;
}

std::string Launch::file_title() const {
  if (parameters_.empty()) return title();
  std::vector<Parameter> parameters = parameters_;
  for (Parameter& parameter : parameters) {
    if (!parameter.integer && reads_as_integer(parameter.value)) {
      parameter.value = fmt::format("\"{}\"", parameter.value);
    }
  }
  return title_of(kernel_, parameters);
}

std::string Launch::title_without(std::string_view parameter) const {
  return title_of(kernel_, parameters_, parameter);
}

}  // namespace kernbench::runtime
