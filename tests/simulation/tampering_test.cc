// The input changes between a crash and the replay.
// See tests/simulation/README.md; upholds INV-3.
#include "client/controller/controller.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/sources/file/file_position.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/world.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::simulation {
namespace {

using core::ErrorInfo;
using core::Reason;

class TamperingTest : public testing::TestWithParam<bool> {
 protected:
  static Plan PlanOf(uint64_t seed) {
    Plan plan = QuietPlan(seed, GetParam(), false);
    // By its first bytes the source would know that it is another file.
    plan.records.insert(
        plan.records.begin(),
        absl::StrCat("{\"p\":\"",
                     std::string(core::FileFingerprint::kBytesMax, 'x'),
                     "\"}"));
    return plan;
  }
};

TEST_P(TamperingTest, NothingOfAStepThatDiffersIsVisible) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    World world(PlanOf(seed));
    int journaled = 0;
    world.SetFaultHook([&](client::FaultPoint point) {
      // Some steps are in the target, and one is journaled that is not.
      if (point == client::FaultPoint::kAfterJournal && ++journaled == 6) {
        world.CrashWorkerHere(nullptr);
      }
    });
    world.Start();
    ASSERT_TRUE(world.RunUntil([&] { return world.outcome().kills > 0; },
                               absl::Minutes(1)));
    core::Random random(seed);
    ASSERT_TRUE(world.TamperWithInput(random));
    const uint64_t commits = world.store_disk().commits;
    ASSERT_TRUE(world.RunUntil([&] { return world.mismatch().has_value(); },
                               absl::Minutes(1)))
        << world.violation() << world.Describe();
    EXPECT_GT(world.store_disk().commits, commits);
    const std::optional<ErrorInfo> info = core::GetErrorInfo(*world.mismatch());
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->reason, Reason::REPLAY_MISMATCH) << *world.mismatch();
    EXPECT_NE(info->metadata.at("expected_hash"),
              info->metadata.at("actual_hash"));
    // The process lives, the connector does not.
    ASSERT_TRUE(world.Status().has_value());
    EXPECT_EQ(world.Status()->state, core::ConnectorState::kFailed);
    // The input is as it was again.
    ASSERT_TRUE(
        world.RunUntil([&] { return world.Finished(); }, absl::Minutes(1)))
        << world.violation() << world.Describe();
    world.CheckComplete();
    EXPECT_EQ(world.violation(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(EachSink, TamperingTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& test) {
                           return test.param ? "File" : "Fake";
                         });

}  // namespace
}  // namespace penstock::simulation
