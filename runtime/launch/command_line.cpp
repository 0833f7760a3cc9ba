// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>
#include <string_view>

#include "model/record/output_file.hpp"
#include "runtime/launch/version.hpp"
#include "tlm_if/command/error.hpp"
#include "tlm_if/command/spelling.hpp"

namespace kernbench::runtime {
namespace {

/// Checks both ways to stdout that the commands use.
bool stdout_is_written() {
  std::cout.flush();
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
}

/// The message in the parser's own text, which begins with the name of the option.
std::string sentence(const CLI::ArgumentMismatch& mismatch) {
  const std::string text = mismatch.what();
  const std::string name = text.substr(0, text.find(':'));
  constexpr std::string_view kMissing = "missing";
  const bool is_missing =
      text.size() > kMissing.size() &&
      text.compare(text.size() - kMissing.size(), kMissing.size(), kMissing) == 0;
  return is_missing ? fmt::format("{} is given no value; give one, or leave the option out", name)
                    : fmt::format("{} is given more than once; give it once", name);
}

}  // namespace

int fail(const std::string& binary, int code, const std::string& line, const std::string& detail) {
  std::cout.flush();
  std::string one_line = line;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  fmt::print(std::cerr, "{}: {}\n", binary, one_line);
  for (std::size_t begin = 0; begin < detail.size();) {
    const std::size_t end = std::min(detail.find('\n', begin), detail.size());
    fmt::print(std::cerr, "  {}\n", detail.substr(begin, end - begin));
    begin = end + 1;
  }
  return code;
}

int run_guarded(const std::string& binary, const std::function<int()>& program) {
  record::remove_unfinished_files_on_signals();
  try {
    const int code = program();
    if (code != kDone || stdout_is_written()) return code;
    return fail(binary, kFailed,
                "the report could not be written to stdout; free some space or send it elsewhere");
  } catch (const InputError& error) {
    return fail(binary, kRefused, error.what(), error.detail());
  } catch (const std::bad_alloc&) {
    return fail(
        binary, kFailed,
        "out of memory; choose a smaller problem, or leave --data out if only time matters");
  } catch (const std::exception& error) {
    return fail(binary, kFailed, error.what());
  } catch (...) {
    return fail(binary, kFailed, "failed with an exception that is not a std::exception");
  }
}

CommandLine::CommandLine(std::string binary, const std::string& meaning, std::string example,
                         const std::string& libraries)
    : binary_(std::move(binary)),
      example_(std::move(example)),
      app_(std::make_unique<CLI::App>(meaning, binary_)) {
  app_->require_subcommand(0, 1);
  app_->allow_extras();
  app_->set_version_flag("--version",
                         fmt::format("{} (KernBench {}){}", binary_, version(), libraries),
                         "Print the version and exit");
}

CommandLine::~CommandLine() = default;

CLI::App& CommandLine::add(const std::string& name, const std::string& meaning,
                           std::function<int()> run) {
  CLI::App* command = app_->add_subcommand(name, meaning);
  command->allow_extras();  // refuse_extras() has better messages
  commands_.emplace_back(command, std::move(run));
  return *command;
}

void CommandLine::suggest(std::string command, std::vector<std::string> words) {
  suggested_command_ = std::move(command);
  suggested_words_ = std::move(words);
}

int CommandLine::run(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  refuse_flag_values(arguments);
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  std::reverse(arguments.begin(), arguments.end());  // the order that the parser needs
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::Success& help) {
    return app_->exit(help);
  } catch (const CLI::ArgumentMismatch& mismatch) {
    throw InputError(fmt::format("{}; {}", sentence(mismatch), see_help()));
  } catch (const CLI::ParseError& error) {
    throw InputError(fmt::format("{}; {}", error.what(), see_help()));
  }
  refuse_extras();
  for (const auto& [command, run] : commands_) {
    if (!command->parsed()) continue;
    refuse_odd_values(*command);
    return run();
  }
  throw InputError(fmt::format("no command given; commands are {}; {}",
                               fmt::join(command_names(), ", "), see_help()));
}

// The parser's own message would not say what to write.
void CommandLine::refuse_flag_values(const std::vector<std::string>& arguments) const {
  for (const auto& entry : commands_) {
    for (const CLI::Option* option : entry.first->get_options()) {
      if (option->get_expected_max() > 0) continue;
      const std::string flag = option->get_name();
      for (const std::string& argument : arguments) {
        if (argument.rfind(flag + '=', 0) != 0) continue;
        throw InputError(
            fmt::format("{0} takes no value, and '{1}' is given; write {0} to turn it "
                        "on, or leave it away",
                        flag, argument.substr(flag.size() + 1)));
      }
    }
  }
}

// An empty value is a mistake in a script, since an unwanted option is simply omitted. If a value
// is forgotten, the parser takes the next option as the value.
void CommandLine::refuse_odd_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      if (option->nonpositional() && value.rfind("--", 0) == 0) {
        throw InputError(fmt::format("{}: {} is given no value but the option {}; give it one",
                                     command.get_name(), option->get_name(), value));
      }
      if (value.empty()) {
        throw InputError(fmt::format("{}: {} is given an empty value; give one or leave it out",
                                     command.get_name(), option->get_name()));
      }
    }
  }
}

void CommandLine::refuse_extras() const {
  for (const auto& entry : commands_) {
    if (entry.first->parsed()) refuse_extras(*entry.first, entry.first->get_name());
  }
  refuse_extras(*app_, "the command");
}

/// Arguments that `app` does not know.
void CommandLine::refuse_extras(const CLI::App& app, const std::string& where) const {
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) return;
  const std::string& extra = extras.front();
  if (extra.rfind('-', 0) != 0) {
    if (&app != app_.get()) {
      throw InputError(
          fmt::format("{}: '{}' is one argument too many; {}", where, extra, see_help()));
    }
    const bool is_argument = std::find(suggested_words_.begin(), suggested_words_.end(), extra) !=
                             suggested_words_.end();
    throw InputError(
        fmt::format("no command '{}'; commands are {}{}", extra, fmt::join(command_names(), ", "),
                    is_argument ? fmt::format("; did you mean '{} {}'?", suggested_command_, extra)
                                : did_you_mean(extra, command_names())));
  }
  const std::string name = extra.substr(0, extra.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) known.push_back("--" + option->get_lnames().front());
  }
  if (&app == app_.get()) {
    throw InputError(
        fmt::format("no option '{}' before the command; options follow it, as in {} {}", name,
                    binary_, example_));
  }
  throw InputError(fmt::format("{}: no option '{}'; options are {}{}", where, name,
                               fmt::join(known, ", "), did_you_mean(name, known)));
}

std::vector<std::string> CommandLine::command_names() const {
  std::vector<std::string> names;
  for (const auto& entry : commands_) names.push_back(entry.first->get_name());
  return names;
}

std::string CommandLine::see_help() const {
  const std::vector<CLI::App*> given = app_->get_subcommands();
  const std::string command = given.empty() ? "" : given.front()->get_name() + " ";
  return fmt::format("see {} {}--help", binary_, command);
}

}  // namespace kernbench::runtime
