// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/command_line.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string_view>

#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {

Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    Leaks leaks) {
  const TemporaryFolder folder;
  const std::string out = folder / "out", err = folder / "err";
  std::vector<char*> argv;
  std::string name = program;
  argv.push_back(name.data());
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);

  // The address sanitizer warns once when an exception is thrown after SystemC has switched stacks.
  std::string sanitizer = "ASAN_OPTIONS=exitcode=99:log_path=" + (folder / "sanitizer");
  if (leaks == Leaks::ignored) sanitizer += ":detect_leaks=0";
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::string_view(*entry).rfind("ASAN_OPTIONS=", 0) != 0) environment.push_back(*entry);
  }
  environment.push_back(sanitizer.data());
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags, 0600);
  pid_t pid = 0;
  const int failed =
      posix_spawn(&pid, name.c_str(), &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + program);
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) throw std::runtime_error("lost " + program);

  Outcome outcome;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  outcome.out = read_file(out);
  outcome.err = read_file(err);
  return outcome;
}

}  // namespace kernbench::test
