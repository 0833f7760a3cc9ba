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

/// Writes `line`, which is made one line, and the lines of `detail`, indented, to stderr. Returns
/// `code`.
int fail(const std::string& binary, int code, const std::string& line,
         const std::string& detail = {});

/// Runs a whole program and returns its exit code: what it throws becomes a line on stderr, 2 for
/// an InputError, else 1; so does a report that could not be written to stdout. A signal that ends
/// it leaves no unfinished file.
int run_guarded(const std::string& binary, const std::function<int()>& program);

/// A command line whose first word is a command; `help` and `help COMMAND` are --help. What it does
/// not know is refused with what it knows.
class CommandLine {
 public:
  /// `example` of a command with an option is for messages; `libraries`, such as `, SystemC 3.0`,
  /// ends the line of --version.
  CommandLine(std::string binary, const std::string& meaning, std::string example,
              const std::string& libraries = {});
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// A command, to which the caller adds positionals and options; `run` is called after they have
  /// been read, and returns the exit code.
  CLI::App& add(const std::string& name, const std::string& meaning, std::function<int()> run);

  /// Words that belong behind `command`: one of them in its place gets that for an answer.
  void suggest(std::string command, std::vector<std::string> words);

  /// Throws InputError for a line that is not right.
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
