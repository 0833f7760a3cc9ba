// SPDX-License-Identifier: Apache-2.0
// The boundaries of contract 1 and 2, of this repository and of small trees that break one rule.
#include "tests/boundaries/boundaries.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "tl/recipes.hpp"

namespace kernbench::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (tl::Phase phase : {tl::Phase::prologue, tl::Phase::epilogue}) {
    for (const std::string& name : tl::builtin_recipes().names(phase)) names.push_back(name);
  }
  return names;
}

/// A tree with one sound header in each folder, to which a test adds a file.
class Boundaries : public testing::Test {
 protected:
  Boundaries() {
    for (const char* folder :
         {"tlm_if/command", "tl", "kernels", "model/arch", "model/record", "tlm_if", "model"}) {
      add(std::string(folder) + "/sound.hpp", "#pragma once\n");
    }
    add("tests/sound.hpp", "#pragma once\n");
  }

  void add(const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::vector<std::string> broken() { return broken_boundaries(folder_.path(), recipe_names()); }

 private:
  TemporaryFolder folder_;
};

TEST(BoundariesOfThisRepository, sources_keep_to_their_folders) {
  EXPECT_THAT(broken_boundaries(KERNBENCH_SOURCE_DIR, recipe_names()), IsEmpty());
}

TEST(BoundariesOfThisRepository, libraries_link_what_their_folder_may_include) {
  const std::string links = read_file(KERNBENCH_LINKS_FILE);
  EXPECT_THAT(links, HasSubstr("model: KernBench::"));
  EXPECT_THAT(links, HasSubstr("tlc: KernBench::"));
  EXPECT_THAT(broken_links(links), IsEmpty());
}

TEST_F(Boundaries, sound_tree_is_accepted) {
  add("kernels/a.cpp", "#include <vector>\n#include \"tl/sound.hpp\"\n");
  add("model/a.cpp", "#include <systemc>\n#include \"model/arch/sound.hpp\"\n");
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(Boundaries, tl_includes_no_systemc) {
  add("tl/a.cpp", "\n#include <systemc>\n");
  EXPECT_THAT(broken(), ElementsAre("tl/a.cpp:2: tl is free of SystemC, but includes <systemc>"));
}

TEST_F(Boundaries, what_compiles_for_a_launch_has_no_systemc) {
  add("runtime/sound.hpp", "#pragma once\n");
  add("runtime/launch/sound.hpp", "#pragma once\n");
  add("runtime/a.cpp", "#include \"runtime/launch/sound.hpp\"\n");
  add("runtime/launch/a.cpp", "#include <systemc>\n#include \"runtime/sound.hpp\"\n");
  add("tlc/a.cpp", "#include \"model/sound.hpp\"\n");
  EXPECT_THAT(
      broken(),
      ElementsAre("runtime/launch/a.cpp:1: runtime/launch is free of SystemC, but includes "
                  "<systemc>",
                  "runtime/launch/a.cpp:2: runtime/launch may include kernels, tl, "
                  "model/arch, model/record, tlm_if/command, but includes runtime/sound.hpp",
                  "tlc/a.cpp:1: tlc may include runtime/launch, kernels, tl, model/arch, "
                  "model/record, tlm_if/command, but includes model/sound.hpp"));
}

TEST_F(Boundaries, every_spelling_of_systemc_is_seen) {
  add("model/arch/a.hpp",
      "#include <systemc.h>\n#include <tlm>\n# include <tlm_utils/peq_with_get.h>\n"
      "#include \"sysc/kernel/sc_time.h\"\n");
  const auto found = broken();
  EXPECT_THAT(found, testing::Contains(HasSubstr("<systemc.h>")));
  EXPECT_THAT(found, testing::Contains(HasSubstr("<tlm>")));
  EXPECT_THAT(found, testing::Contains(HasSubstr("<tlm_utils/peq_with_get.h>")));
  EXPECT_THAT(found, testing::Contains(HasSubstr("<sysc/kernel/sc_time.h>")));
}

TEST_F(Boundaries, kernels_do_not_reach_systemc_through_another_header) {
  add("kernels/a.cpp", "#include \"tlm_if/sound.hpp\"\n");
  EXPECT_THAT(broken(), ElementsAre("kernels/a.cpp:1: kernels may include tl, tlm_if/command, but "
                                    "includes tlm_if/sound.hpp"));
}

TEST_F(Boundaries, model_does_not_include_tl) {
  add("model/a.cpp", "#include \"tl/sound.hpp\"\n");
  EXPECT_THAT(broken(),
              ElementsAre("model/a.cpp:1: model may include tlm_if, model/arch, model/record, "
                          "tlm_if/command, but includes tl/sound.hpp"));
}

TEST_F(Boundaries, commands_include_no_other_folder) {
  add("tlm_if/command/a.hpp", "#include \"model/arch/sound.hpp\"\n");
  EXPECT_THAT(broken(), ElementsAre("tlm_if/command/a.hpp:1: tlm_if/command may include no other "
                                    "folder, but includes model/arch/sound.hpp"));
}

TEST_F(Boundaries, a_path_relative_to_the_file_is_refused) {
  add("model/a.cpp", "#include \"../tl/sound.hpp\"\n");
  EXPECT_THAT(broken(), testing::Contains("model/a.cpp:1: includes ../tl/sound.hpp, which is not a "
                                          "path from the root of the repository"));
}

TEST_F(Boundaries, libraries_do_not_include_tests) {
  add("model/a.cpp", "#include \"tests/sound.hpp\"\n");
  EXPECT_THAT(broken(),
              ElementsAre("model/a.cpp:1: model may not include tests/sound.hpp, which is "
                          "in no library"));
}

TEST_F(Boundaries, model_names_no_recipe) {
  add("model/a.cpp", "// softmax_merge\n");
  add("tlm_if/command/a.cpp", "state_merge\n");
  add("tl/a.cpp", "softmax_merge\n");
  EXPECT_THAT(broken(),
              ElementsAre("model/a.cpp:1: the model knows no recipe, but names softmax_merge",
                          "tlm_if/command/a.cpp:1: the model knows no recipe, but names "
                          "state_merge"));
}

TEST_F(Boundaries, libraries_leave_resolution_and_stop_to_the_user) {
  add("model/a.cpp", "// unlike sc_stop()\nsc_core::sc_set_time_resolution(1, sc_core::SC_FS);\n");
  add("tlm_if/a.hpp", "inline void f() { sc_core::sc_stop(); }  // done\n");
  EXPECT_THAT(broken(), ElementsAre("model/a.cpp:2: a library does not call "
                                    "sc_set_time_resolution()",
                                    "tlm_if/a.hpp:1: a library does not call sc_stop()"));
}

TEST(BoundaryLinks, model_does_not_link_tl) {
  EXPECT_THAT(broken_links("model: KernBench::tlm_if KernBench::tl fmt::fmt\n"),
              ElementsAre("model may link tlm_if, model/arch, model/record, tlm_if/command, but "
                          "links KernBench::tl"));
}

TEST(BoundaryLinks, tl_does_not_link_systemc) {
  EXPECT_THAT(broken_links("tl: KernBench::command KernBench::systemc\n"),
              ElementsAre("tl is free of SystemC, but links KernBench::systemc"));
}

}  // namespace
}  // namespace kernbench::test
