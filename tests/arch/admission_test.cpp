// SPDX-License-Identifier: Apache-2.0
// When the head of the scheduler's queue enters flight: R7.1, R7.2, R6.10.
#include "model/arch/admission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernbench::arch {
namespace {

using command::AccessSet;
using testing::ElementsAre;
using testing::IsEmpty;

const AccessSet kWritesX{{}, {{0, 64}}};
const AccessSet kWritesY{{}, {{64, 128}}};
const AccessSet kReadsX{{{0, 64}}, {{512, 576}}};
const AccessSet kReadsXY{{{0, 128}}, {{512, 576}}};
const AccessSet kUnrelated{{{1024, 1088}}, {{1088, 1152}}};

SchedulerConfig policy(RwPolicy rw_policy, std::uint32_t max_composites = 4) {
  SchedulerConfig config;
  config.rw_policy = rw_policy;
  config.max_inflight_composites = max_composites;
  return config;
}

TEST(Admission, NothingInFlightAdmitsAnything) {
  Admission admission(policy(RwPolicy::overlap));
  EXPECT_TRUE(admission.may_admit(kReadsXY, true));
  EXPECT_EQ(admission.inflight(), 0u);
}

// W'&(R|W) or R'&W; two readers do not conflict. Ranges that only touch do not overlap.
TEST(Admission, R7_1_Conflicts) {
  const auto may_follow = [](const AccessSet& earlier, const AccessSet& head) {
    Admission admission(policy(RwPolicy::overlap));
    admission.admit(0, earlier, true);
    return admission.may_admit(head, true);
  };
  EXPECT_FALSE(may_follow(kWritesX, kReadsX));
  EXPECT_FALSE(may_follow(kReadsX, kWritesX));
  EXPECT_FALSE(may_follow(kWritesX, kWritesX));
  EXPECT_TRUE(may_follow({{{0, 64}}, {}}, {{{0, 64}}, {}}));
  EXPECT_TRUE(may_follow(kWritesX, kWritesY));
  EXPECT_FALSE(may_follow(kWritesX, {{}, {{63, 64}}}));
}

// The head reads X and Y: when the writer of X has gone, that of Y still keeps it.
TEST(Admission, R7_1_WaitsForAllEarlierOverlapping) {
  Admission admission(policy(RwPolicy::overlap));
  admission.admit(0, kWritesX, true);
  admission.admit(1, kUnrelated, true);
  admission.admit(2, kWritesY, false);
  EXPECT_FALSE(admission.may_admit(kReadsXY, true));
  EXPECT_THAT(admission.blockers(kReadsXY, true), ElementsAre(0, 2));
  admission.retire(0);
  EXPECT_FALSE(admission.may_admit(kReadsXY, true));
  admission.retire(2);
  EXPECT_TRUE(admission.may_admit(kReadsXY, true));  // 1 is in flight still
}

// R6.12: simple commands are tracked, whatever their engine.
TEST(Admission, R6_12_SimpleCommandsBlockSimpleCommands) {
  Admission admission(policy(RwPolicy::overlap));
  admission.admit(0, kWritesX, false);
  EXPECT_FALSE(admission.may_admit(kReadsX, false));
}

// Under overlap the head would go when 0 retires; under drain_all it waits for 1, too.
TEST(Admission, R7_2_DrainAllWaitsForEverything) {
  Admission admission(policy(RwPolicy::drain_all));
  admission.admit(0, kWritesX, true);
  admission.admit(1, kUnrelated, false);
  EXPECT_FALSE(admission.may_admit(kReadsX, true));
  admission.retire(0);
  EXPECT_FALSE(admission.may_admit(kReadsX, true));
  EXPECT_THAT(admission.blockers(kReadsX, true), ElementsAre(1));
  admission.retire(1);
  EXPECT_TRUE(admission.may_admit(kReadsX, true));
}

// drain_all is for a head that conflicts: another enters beside what is in flight.
TEST(Admission, R7_2_DrainAllLetsTheUnrelatedPass) {
  Admission admission(policy(RwPolicy::drain_all));
  admission.admit(0, kWritesX, true);
  EXPECT_TRUE(admission.may_admit(kUnrelated, true));
}

TEST(Admission, R7_2_DrainingEndsWithTheHead) {
  Admission admission(policy(RwPolicy::drain_all));
  admission.admit(0, kWritesX, true);
  EXPECT_FALSE(admission.may_admit(kReadsX, true));
  admission.retire(0);
  EXPECT_TRUE(admission.may_admit(kReadsX, true));
  admission.admit(1, kReadsX, true);
  EXPECT_TRUE(admission.may_admit(kUnrelated, true));
}

// The limit counts and limits composites only.
TEST(Admission, R6_10_LimitOfComposites) {
  Admission admission(policy(RwPolicy::overlap, 1));
  admission.admit(0, kWritesX, true);
  EXPECT_FALSE(admission.may_admit(kUnrelated, true));
  EXPECT_THAT(admission.blockers(kUnrelated, true), ElementsAre(0));
  EXPECT_TRUE(admission.may_admit(kUnrelated, false));
  EXPECT_THAT(admission.blockers(kUnrelated, false), IsEmpty());
  admission.admit(1, kUnrelated, false);
  admission.retire(0);
  EXPECT_TRUE(admission.may_admit(kWritesY, true));  // 1 is simple: it takes no slot
}

// Waiting for a slot is no conflict: it does not drain.
TEST(Admission, R7_2_TheLimitDoesNotDrain) {
  Admission admission(policy(RwPolicy::drain_all, 1));
  admission.admit(0, kWritesX, true);
  admission.admit(1, kWritesY, false);
  EXPECT_FALSE(admission.may_admit(kUnrelated, true));
  admission.retire(0);
  EXPECT_TRUE(admission.may_admit(kUnrelated, true));
}

}  // namespace
}  // namespace kernbench::arch
