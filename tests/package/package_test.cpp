// SPDX-License-Identifier: Apache-2.0
// The installed package: nothing of this machine in it, and what it says to projects that cannot
// use it, before anything is compiled (field case 01).
#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/runtime/command_line.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kernbench::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Its words on one line: CMake breaks lines.
std::string unbroken(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!line.empty() && line.back() != ' ')) line += blank ? ' ' : c;
  }
  return line;
}

class Package : public testing::Test {
 protected:
  Package() {
    const Outcome installed =
        run_program(KERNBENCH_CMAKE, {"--install", KERNBENCH_BINARY_DIR, "--prefix", prefix()});
    EXPECT_EQ(installed.exit_code, 0) << installed.err;
  }

  std::string prefix() const { return folder_ / "prefix"; }

  /// Configures tests/package/variants.
  Outcome configure(const std::string& variant) const {
    Outcome outcome = run_program(
        KERNBENCH_CMAKE,
        {"-G", "Ninja", "-S", std::string(KERNBENCH_SOURCE_DIR) + "/tests/package/variants", "-B",
         folder_ / "build", "-DCMAKE_PREFIX_PATH=" + prefix(), "-DVARIANT=" + variant,
         "-DCMAKE_DISABLE_FIND_PACKAGE_SystemCLanguage=" + std::string(hidden_ ? "ON" : "OFF")});
    outcome.err = unbroken(outcome.err);
    return outcome;
  }

  std::string compile_commands() const {
    return read_file(folder_ / "build/compile_commands.json");
  }

  /// As on a machine that has no SystemC.
  void hide_systemc() {
    hidden_ = true;
    ASSERT_EQ(setenv("PKG_CONFIG_LIBDIR", prefix().c_str(), 1), 0);
    ASSERT_EQ(unsetenv("PKG_CONFIG_PATH"), 0);
  }

 private:
  TemporaryFolder folder_;
  bool hidden_ = false;
};

// Nor one of where it was installed to: it can be moved.
TEST_F(Package, HasNoPathOfTheBuildMachine) {
  const auto files_with = [&](const std::string& path) {
    return run_program("/bin/grep", {"-rlF", "-e", path, prefix()}).out;
  };
  EXPECT_EQ(files_with(KERNBENCH_SOURCE_DIR), "");
  EXPECT_EQ(files_with(KERNBENCH_BINARY_DIR), "");
  EXPECT_EQ(files_with(prefix()), "");
  // What the libraries do have, in reports: paths from the root of the repository.
  EXPECT_THAT(files_with("model/pe_dma.cpp"), HasSubstr("libkernbench_model.a"));
}

TEST_F(Package, HasEveryHeaderBelowItsFolder) {
  std::size_t headers = 0;
  for (const char* folder : {"tlm_if", "tl", "kernels", "model", "runtime"}) {
    const fs::path sources(KERNBENCH_SOURCE_DIR);
    for (const auto& entry : fs::recursive_directory_iterator(sources / folder)) {
      const fs::path extension = entry.path().extension();
      if (extension != ".hpp" && extension != ".h") continue;
      const fs::path header = entry.path().lexically_relative(sources);
      EXPECT_TRUE(fs::exists(fs::path(prefix()) / "include/kernbench" / header)) << header;
      ++headers;
    }
  }
  EXPECT_GT(headers, 0U);
}

// What a reader of an installed header is sent to.
TEST_F(Package, HasThePagesThatItsHeadersName) {
  const fs::path pages = fs::path(prefix()) / "share/doc/kernbench";
  const std::regex page(R"(docs/(\w+/)?\w+\.md)");
  std::size_t named = 0;
  for (const auto& entry : fs::recursive_directory_iterator(prefix() + "/include")) {
    if (!entry.is_regular_file()) continue;
    const std::string text = read_file(entry.path());
    for (std::sregex_iterator match(text.begin(), text.end(), page), end; match != end; ++match) {
      EXPECT_TRUE(fs::exists(pages / match->str().substr(5))) << entry.path() << match->str();
      ++named;
    }
  }
  EXPECT_GT(named, 0U);
  EXPECT_TRUE(fs::exists(prefix() + "/share/kernbench/examples/host_cpu/host_cpu.cpp"));
}

// libsystemc's version symbol has its C++ standard in it: another one would not link.
TEST_F(Package, AnotherStandardStopsAtConfigure) {
  for (const char* variant : {"none", "seventeen", "fourteen", "twenty_behind_a_library"}) {
    const Outcome outcome = configure(variant);
    EXPECT_EQ(outcome.exit_code, 0) << variant << ": " << outcome.err;
  }
  // None is added where the compiler's default is right.
  configure("none");
  EXPECT_THAT(compile_commands(), Not(HasSubstr("-std=")));
  const Outcome newer = configure("newer_compiler");
  EXPECT_EQ(newer.exit_code, 0) << newer.err;
  EXPECT_THAT(compile_commands(), HasSubstr("-std=gnu++17"));

  const auto refuses = [](const std::string& standard, const std::string& reason) {
    return AllOf(HasSubstr("the target app would be compiled as C++" + standard + " (" + reason),
                 HasSubstr("libsystemc and KernBench are built as C++17"),
                 HasSubstr("set_target_properties(app PROPERTIES CXX_STANDARD 17)"));
  };
  const std::string property = "its property CXX_STANDARD";
  const std::vector<std::vector<std::string>> refused{
      {"twenty_before", "20", property},
      {"twenty_after", "20", property},
      {"twenty_as_property", "20", property},
      {"twenty_three", "23", property},
      {"twenty_as_feature", "20", property},
      {"twenty_as_feature_of_another", "20", "the compile feature cxx_std_20 of between"}};
  for (const auto& row : refused) {
    const Outcome outcome = configure(row[0]);
    EXPECT_EQ(outcome.exit_code, 1) << row[0];
    EXPECT_THAT(outcome.err, refuses(row[1], row[2])) << row[0];
  }
}

TEST_F(Package, RefusesWhatItDoesNotHave) {
  const Outcome component = configure("no_such_component");
  EXPECT_EQ(component.exit_code, 1);
  EXPECT_THAT(component.err,
              AllOf(HasSubstr("KernBench has no component 'modle'; it has"), HasSubstr(" model ")));
  const Outcome version = configure("next_minor_version");
  EXPECT_EQ(version.exit_code, 1);
  EXPECT_THAT(version.err, HasSubstr("compatible with requested version \"0.2\""));
}

TEST_F(Package, CompilesKernelsWithoutSystemC) {
  hide_systemc();
  const Outcome host = configure("host_only");
  EXPECT_EQ(host.exit_code, 0) << host.err;
  const Outcome all = configure("none");
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_THAT(all.err,
              HasSubstr("SystemC was found neither as a CMake package (SystemCLanguage) nor "
                        "by pkg-config (systemc). On Debian: apt-get install "
                        "libsystemc-dev pkg-config."));
}

}  // namespace
}  // namespace kernbench::test
