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

const std::vector<command::TensorHandle> kNoHandles;
Claim composite(const AccessSet& accesses) { return {&accesses, &kNoHandles}; }
Claim simple(const AccessSet& accesses) { return {&accesses, nullptr}; }

SchedulerConfig policy(RwPolicy rw_policy, std::uint32_t max_composites = 4) {
  SchedulerConfig config;
  config.rw_policy = rw_policy;
  config.max_inflight_composites = max_composites;
  return config;
}

TEST(Admission, NothingInFlightAdmitsAnything) {
  Admission admission(policy(RwPolicy::overlap));
  EXPECT_TRUE(admission.may_admit(composite(kReadsXY)));
  EXPECT_EQ(admission.inflight(), 0u);
}

// W'&(R|W) or R'&W; two readers do not conflict. Ranges that only touch do not overlap.
TEST(Admission, R7_1_Conflicts) {
  const auto may_follow = [](const AccessSet& earlier, const AccessSet& head) {
    Admission admission(policy(RwPolicy::overlap));
    admission.admit(0, composite(earlier));
    return admission.may_admit(composite(head));
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
  admission.admit(0, composite(kWritesX));
  admission.admit(1, composite(kUnrelated));
  admission.admit(2, simple(kWritesY));
  EXPECT_FALSE(admission.may_admit(composite(kReadsXY)));
  EXPECT_THAT(admission.blockers(composite(kReadsXY)), ElementsAre(0, 2));
  admission.retire(0);
  EXPECT_FALSE(admission.may_admit(composite(kReadsXY)));
  admission.retire(2);
  EXPECT_TRUE(admission.may_admit(composite(kReadsXY)));  // 1 is in flight still
}

// R6.12: simple commands are tracked, whatever their engine.
TEST(Admission, R6_12_SimpleCommandsBlockSimpleCommands) {
  Admission admission(policy(RwPolicy::overlap));
  admission.admit(0, simple(kWritesX));
  EXPECT_FALSE(admission.may_admit(simple(kReadsX)));
}

// Under overlap the head would go when 0 retires; under drain_all it waits for 1, too.
TEST(Admission, R7_2_DrainAllWaitsForEverything) {
  Admission admission(policy(RwPolicy::drain_all));
  admission.admit(0, composite(kWritesX));
  admission.admit(1, simple(kUnrelated));
  EXPECT_FALSE(admission.may_admit(composite(kReadsX)));
  admission.retire(0);
  EXPECT_FALSE(admission.may_admit(composite(kReadsX)));
  EXPECT_THAT(admission.blockers(composite(kReadsX)), ElementsAre(1));
  admission.retire(1);
  EXPECT_TRUE(admission.may_admit(composite(kReadsX)));
}

// drain_all is for a head that conflicts: another enters beside what is in flight.
TEST(Admission, R7_2_DrainAllLetsTheUnrelatedPass) {
  Admission admission(policy(RwPolicy::drain_all));
  admission.admit(0, composite(kWritesX));
  EXPECT_TRUE(admission.may_admit(composite(kUnrelated)));
}

TEST(Admission, R7_2_DrainingEndsWithTheHead) {
  Admission admission(policy(RwPolicy::drain_all));
  admission.admit(0, composite(kWritesX));
  EXPECT_FALSE(admission.may_admit(composite(kReadsX)));
  admission.retire(0);
  EXPECT_TRUE(admission.may_admit(composite(kReadsX)));
  admission.admit(1, composite(kReadsX));
  EXPECT_TRUE(admission.may_admit(composite(kUnrelated)));
}

// The limit counts and limits composites only.
TEST(Admission, R6_10_LimitOfComposites) {
  Admission admission(policy(RwPolicy::overlap, 1));
  admission.admit(0, composite(kWritesX));
  EXPECT_FALSE(admission.may_admit(composite(kUnrelated)));
  EXPECT_THAT(admission.blockers(composite(kUnrelated)), ElementsAre(0));
  EXPECT_TRUE(admission.may_admit(simple(kUnrelated)));
  EXPECT_THAT(admission.blockers(simple(kUnrelated)), IsEmpty());
  admission.admit(1, simple(kUnrelated));
  admission.retire(0);
  EXPECT_TRUE(admission.may_admit(composite(kWritesY)));  // 1 is simple: it takes no slot
}

// Waiting for a slot is no conflict: it does not drain.
TEST(Admission, R7_2_TheLimitDoesNotDrain) {
  Admission admission(policy(RwPolicy::drain_all, 1));
  admission.admit(0, composite(kWritesX));
  admission.admit(1, simple(kWritesY));
  EXPECT_FALSE(admission.may_admit(composite(kUnrelated)));
  admission.retire(0);
  EXPECT_TRUE(admission.may_admit(composite(kUnrelated)));
}

// Ids of rw handles decide, whatever the bytes: the DDD's sketch. A simple command has none.
TEST(Admission, R7_3_HandleIds) {
  SchedulerConfig config;
  config.rw_match = RwMatch::handle_id;
  Admission admission(config);
  command::TensorHandle o, view_of_o, other;
  o.id = 7;
  view_of_o.id = 8;
  other.id = 9;
  const std::vector<command::TensorHandle> with_o{other, o}, with_view{view_of_o};
  admission.admit(0, {&kWritesX, &with_o});
  EXPECT_FALSE(admission.may_admit({&kUnrelated, &with_o}));
  EXPECT_THAT(admission.blockers({&kUnrelated, &with_o}), ElementsAre(0));
  EXPECT_TRUE(admission.may_admit({&kReadsX, &with_view}));
  EXPECT_TRUE(admission.may_admit(composite(kReadsX)));
  EXPECT_TRUE(admission.may_admit(simple(kReadsX)));
}

}  // namespace
}  // namespace kernbench::arch
