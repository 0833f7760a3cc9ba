// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): it is the library's
class App;
}

namespace kernbench::runtime {

// Exit codes of R11.1.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kRefused = 2;

/// Writes `line`, as one line, and the lines of `detail`, indented, to stderr. Returns `code`.
int fail(const std::string& binary, int code, const std::string& line,
         const std::string& detail = {});

/// Runs a whole program and returns its exit code. An exception becomes a line on stderr, with exit
/// code 2 for an InputError and 1 for others; so does a report that could not be written to stdout.
/// A signal that ends the program leaves no unfinished file.
int run_guarded(const std::string& binary, const std::function<int()>& program);

/// A command line whose first word is a command; `help` and `help COMMAND` mean --help. The message
/// for an unknown word lists the known ones.
class CommandLine {
 public:
  /// `example`, a command with an option, is for messages. `libraries`, such as `, SystemC 3.0`,
  /// ends the line of --version.
  CommandLine(std::string binary, const std::string& meaning, std::string example,
              const std::string& libraries = {});
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Adds a command. The caller adds positionals and options to it. `run` is called after they have
  /// been parsed and returns the exit code.
  CLI::App& add(const std::string& name, const std::string& meaning, std::function<int()> run);

  /// `words` belong after `command`; the message for one of them in the place of a command says so.
  void suggest(std::string command, std::vector<std::string> words);

  /// Throws InputError for an invalid command line.
  int run(int argc, char** argv);

 private:
  void refuse_flag_values(const std::vector<std::string>& arguments) const;
  static void refuse_odd_values(const CLI::App& command);
  void refuse_extras() const;
  void refuse_extras(const CLI::App& app, const std::string& where) const;
  std::vector<std::string> command_names() const;
  std::string see_help() const;

  std::string binary_, example_;
  std::string suggested_command_;
  std::vector<std::string> suggested_words_;
  std::unique_ptr<CLI::App> app_;
  std::vector<std::pair<CLI::App*, std::function<int()>>> commands_;
};

}  // namespace kernbench::runtime
