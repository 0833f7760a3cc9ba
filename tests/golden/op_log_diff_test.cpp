// SPDX-License-Identifier: Apache-2.0
#include "tests/support/op_log_diff.hpp"

#include <gtest/gtest.h>

#include <string>

namespace kernbench::test {
namespace {

constexpr const char* kLog = "start_ps,end_ps,op\n0,5,load\n5,9,rmax\n9,12,rsum\n";

TEST(OpLogDiff, IsEmptyForTheSameBytesOnly) {
  EXPECT_EQ(op_log_diff(kLog, kLog), "");
  EXPECT_EQ(op_log_diff("", ""), "");
  EXPECT_NE(op_log_diff(kLog, ""), "");
  EXPECT_NE(op_log_diff("", kLog), "");
}

TEST(OpLogDiff, NamesTheFirstDifferingRowAndItsColumns) {
  EXPECT_EQ(op_log_diff(kLog, "start_ps,end_ps,op\n0,5,load\n5,8,max_elem\n8,11,rsum\n"),
            "row 2 differs in end_ps, op (3 rows expected, 3 found)\n"
            "  expected: 5,9,rmax\n"
            "  found:    5,8,max_elem");
}

TEST(OpLogDiff, NamesARowThatIsMissingOrOneTooMany) {
  const std::string two = "start_ps,end_ps,op\n0,5,load\n5,9,rmax\n";
  EXPECT_EQ(op_log_diff(kLog, two),
            "row 3 is missing (3 rows expected, 2 found)\n"
            "  expected: 9,12,rsum\n"
            "  found:    (none)");
  EXPECT_EQ(op_log_diff(two, kLog),
            "row 3 is one too many (2 rows expected, 3 found)\n"
            "  expected: (none)\n"
            "  found:    9,12,rsum");
}

TEST(OpLogDiff, SeesTheHeaderTheColumnsAndTheLastNewline) {
  EXPECT_EQ(op_log_diff("a,b\n1,2\n", "a,c\n1,2\n"),
            "row 0 differs in b (1 rows expected, 1 found)\n"
            "  expected: a,b\n"
            "  found:    a,c");
  EXPECT_EQ(op_log_diff("a,b\n1,2\n", "a,b\n1,2,3\n"),
            "row 1 differs in its number of columns (1 rows expected, 1 found)\n"
            "  expected: 1,2\n"
            "  found:    1,2,3");
  EXPECT_EQ(op_log_diff("a,b\n1,2\n", "a,b\n1,2"),
            "row 2 differs in the newline before it (1 rows expected, 1 found)\n"
            "  expected: (none)\n"
            "  found:    (none)");
}

}  // namespace
}  // namespace kernbench::test
