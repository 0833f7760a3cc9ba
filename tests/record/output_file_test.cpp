// SPDX-License-Identifier: Apache-2.0
#include "model/record/output_file.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "tests/support/temporary_folder.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::test {
namespace {

namespace fs = std::filesystem;
using record::OutputFile;
using testing::ElementsAre;
using testing::IsEmpty;

template <class Error, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(OutputFileTest, AppearsUnderItsNameOnlyWhenCommitted) {
  const TemporaryFolder folder;
  {
    OutputFile file(folder / "log.csv");
    file.write("whole\n");
    EXPECT_FALSE(fs::exists(folder / "log.csv"));
    file.commit();
    EXPECT_EQ(read_file(folder / "log.csv"), "whole\n");
  }
  EXPECT_THAT(folder.names(), ElementsAre("log.csv"));
}

TEST(OutputFileTest, LeavesNothingBehindWithoutCommit) {
  const TemporaryFolder folder;
  {
    OutputFile file(folder / "log.csv");
    for (int i = 0; i < 100000; ++i) file.put('x');  // more than the buffer
    EXPECT_EQ(folder.names().size(), 1u);            // the temporary
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(OutputFileTest, AnOldFileStaysWholeUntilTheNewOneIs) {
  const TemporaryFolder folder;
  std::ofstream(folder / "log.csv") << "old\n";
  {
    OutputFile abandoned(folder / "log.csv");
    abandoned.write("half");
  }
  EXPECT_EQ(read_file(folder / "log.csv"), "old\n");
  OutputFile file(folder / "log.csv");
  file.write("new\n");
  file.commit();
  EXPECT_EQ(read_file(folder / "log.csv"), "new\n");
}

TEST(OutputFileTest, TwoWritersOfOneNameDoNotMix) {
  const TemporaryFolder folder;
  OutputFile first(folder / "log.csv"), second(folder / "log.csv");
  first.write("first\n");
  second.write("second\n");
  first.commit();
  EXPECT_EQ(read_file(folder / "log.csv"), "first\n");
  second.commit();
  EXPECT_EQ(read_file(folder / "log.csv"), "second\n");
}

TEST(OutputFileTest, WritesNumbersAndTextAcrossBufferBoundaries) {
  const TemporaryFolder folder;
  std::string expected;
  OutputFile file(folder / "log.csv");
  for (int i = 0; i < 20000; ++i) {
    file.write_decimal(std::numeric_limits<std::uint64_t>::max());
    file.put(',');
    file.write_hex(0xfeedbeef01);
    expected += "18446744073709551615,0xfeedbeef01";
  }
  file.write_hex(0);
  const std::string large(200000, 'y');
  file.write(large);
  file.commit();
  EXPECT_TRUE(read_file(folder / "log.csv") == expected + "0x0" + large);
}

TEST(OutputFileTest, FollowsALinkAndWritesASpecialFileInPlace) {
  const TemporaryFolder folder;
  std::ofstream(folder / "target") << "old";
  fs::create_symlink("target", folder / "link");
  OutputFile file(folder / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "target"), "new");

  OutputFile null("/dev/null");
  null.write("nothing");
  null.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(OutputFileTest, FollowsALinkToWhatDoesNotExistYet) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "there");
  fs::create_symlink("there/second", folder / "first");
  fs::create_symlink("target", folder / "there/second");
  OutputFile file(folder / "first");
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder / "first"));
  EXPECT_EQ(read_file(folder / "there/target"), "new");

  fs::create_symlink("ring", folder / "ring");
  EXPECT_THAT(message_of<InputError>([&] { OutputFile ring(folder / "ring"); }),
              testing::HasSubstr("ring': Too many levels of symbolic links; name "));
}

TEST(OutputFileTest, SharesAnOpenDescriptor) {
  if (!fs::exists("/proc/self/fd")) GTEST_SKIP() << "this system has no /proc";
  const TemporaryFolder folder;
  std::FILE* open = std::fopen((folder / "open").c_str(), "wb");
  ASSERT_NE(open, nullptr);
  std::fputs("before ", open);
  std::fflush(open);
  {
    OutputFile file("/proc/self/fd/" + std::to_string(fileno(open)));
    file.write("within ");
    file.commit();
  }
  std::fputs("after", open);
  std::fclose(open);
  EXPECT_EQ(read_file(folder / "open"), "before within after");
  EXPECT_THAT(folder.names(), ElementsAre("open"));
}

TEST(OutputFileTest, RefusesWhatItCannotOpenWithPathReasonAndAdvice) {
  const TemporaryFolder folder;
  const auto message = [](const std::string& path) {
    return message_of<InputError>([&] { OutputFile file(path); });
  };
  const std::string advice = "; name a file in a folder that exists and is writable";
  EXPECT_EQ(message(folder / "none/log.csv"),
            "cannot write '" + (folder / "none/log.csv") + "': No such file or directory" + advice);
  EXPECT_EQ(message(folder.path()),
            "cannot write '" + folder.path() + "': Is a directory" + advice);
  EXPECT_EQ(message(""), "cannot write '': the file name is empty" + advice);
  EXPECT_THAT(folder.names(), IsEmpty());
}

// Ctrl-C and the like: what is complete stays, nothing else; the process ends by the signal.
TEST(OutputFileTest, ASignalLeavesNoUnfinishedFile) {
  const TemporaryFolder folder;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(
        {
          record::remove_unfinished_files_on_signals();
          OutputFile first(folder / "first");
          OutputFile second(folder / "second");
          OutputFile third(folder / "third");
          { const OutputFile abandoned(folder / "abandoned"); }
          second.commit();
          raise(number);
        },
        testing::KilledBySignal(number), "");
    EXPECT_THAT(folder.names(), ElementsAre("second"));
    fs::remove(folder / "second");
  }
}

// As under nohup.
TEST(OutputFileTest, AnIgnoredSignalStaysIgnored) {
  const TemporaryFolder folder;
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        record::remove_unfinished_files_on_signals();
        OutputFile file(folder / "file");
        raise(SIGHUP);
        file.commit();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_THAT(folder.names(), ElementsAre("file"));
}

TEST(OutputFileTest, ADashIsNotStdout) {
  EXPECT_EQ(
      message_of<InputError>([] { OutputFile file("-"); }),
      "cannot write '-': it does not stand for stdout here; write /dev/stdout for that, or ./- "
      "for a file of that name");
}

TEST(OutputFileTest, ReportsAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  EXPECT_EQ(message_of<std::runtime_error>([] {
              OutputFile file("/dev/full");
              file.write("lost");
              file.commit();
            }),
            "writing '/dev/full' failed: No space left on device; free some space or name another "
            "file");
}

}  // namespace
}  // namespace kernbench::test
