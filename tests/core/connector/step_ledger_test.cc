#include "core/connector/step_ledger.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<const StepResult> ResultOf(Step step, size_t payload = 0) {
  auto result = std::make_shared<StepResult>();
  result->step = step;
  result->resume = Resume(Resume::Replay{
      .seek = "{}", .replay = std::string(payload, 'x'), .hash = step});
  return result;
}

TEST(StepLedgerTest, StartsAtItsBase) {
  const StepLedger ledger({.base_steps = 5});
  EXPECT_EQ(ledger.made_steps(), 5u);
  EXPECT_EQ(ledger.released_steps(), 5u);
  EXPECT_THAT(ledger.snapshot().retained_steps, IsEmpty());
}

TEST(StepLedgerTest, AdmitsANewStepBehindTheLastOne) {
  const StepLedger ledger({.base_steps = 5});
  EXPECT_THAT(ledger.Ask(5, 5), IsOkAndHolds(nullptr));
}

TEST(StepLedgerTest, AdmitsAJumpOfNumbers) {
  const StepLedger ledger({.base_steps = 5});
  EXPECT_THAT(ledger.Ask(1000, 5), IsOkAndHolds(nullptr));
}

TEST(StepLedgerTest, AnswersAMadeStepWithTheSameResult) {
  StepLedger ledger({.base_steps = 0});
  const auto result = ResultOf(3);
  ledger.Add(result);
  EXPECT_THAT(ledger.Ask(3, 0), IsOkAndHolds(result));
  // Whatever previous_steps says: the step comes before the chain.
  EXPECT_THAT(ledger.Ask(3, 99), IsOkAndHolds(result));
}

TEST(StepLedgerTest, ReleasedStepIsGone) {
  StepLedger ledger({.base_steps = 0});
  ledger.Add(ResultOf(3));
  EXPECT_OK(ledger.Release(4));
  EXPECT_THAT(ledger.Ask(3, 0), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasReason(Reason::STEP_RELEASED)));
}

TEST(StepLedgerTest, StepBelowTheBaseIsReleased) {
  const StepLedger ledger({.base_steps = 5});
  EXPECT_THAT(ledger.Ask(4, 5), HasReason(Reason::STEP_RELEASED));
}

TEST(StepLedgerTest, NumberThatWasJumpedOverIsAGap) {
  StepLedger ledger({.base_steps = 0});
  ledger.Add(ResultOf(3));
  ledger.Add(ResultOf(9));
  EXPECT_OK(ledger.Release(4));
  EXPECT_THAT(ledger.Ask(5, 10), HasReason(Reason::STEP_GAP));
}

TEST(StepLedgerTest, BrokenChainNamesBothValues) {
  StepLedger ledger({.base_steps = 0});
  ledger.Add(ResultOf(3));
  const absl::Status status = ledger.Ask(7, 6).status();
  ASSERT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasReason(Reason::STEP_GAP)));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("previous_steps"), "6");
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("made_steps"), "4");
}

TEST(StepLedgerTest, ReleaseFreesWhatIsBelow) {
  StepLedger ledger({.base_steps = 0});
  ledger.Add(ResultOf(1, 1000));
  ledger.Add(ResultOf(2, 1000));
  ledger.Add(ResultOf(5, 1000));
  const uint64_t before = ledger.snapshot().retained_bytes;
  EXPECT_OK(ledger.Release(3));
  EXPECT_THAT(ledger.snapshot().retained_steps, ElementsAre(5));
  EXPECT_EQ(ledger.Retained(2), nullptr);
  EXPECT_NE(ledger.Retained(5), nullptr);
  EXPECT_GE(before, ledger.snapshot().retained_bytes + 2000);
  EXPECT_OK(ledger.Release(6));
  EXPECT_EQ(ledger.snapshot().retained_bytes, 0u);
}

TEST(StepLedgerTest, ReleaseIsMonotone) {
  StepLedger ledger({.base_steps = 0});
  ledger.Add(ResultOf(1));
  EXPECT_OK(ledger.Release(2));
  EXPECT_OK(ledger.Release(1));
  EXPECT_EQ(ledger.released_steps(), 2u);
}

TEST(StepLedgerTest, ReleaseAheadHasNoEffect) {
  StepLedger ledger({.base_steps = 0});
  ledger.Add(ResultOf(1));
  EXPECT_THAT(ledger.Release(3), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          HasReason(Reason::RELEASE_AHEAD)));
  EXPECT_EQ(ledger.released_steps(), 0u);
  EXPECT_THAT(ledger.snapshot().retained_steps, ElementsAre(1));
}

TEST(StepLedgerTest, FullOfRetainedResults) {
  StepLedger ledger(
      {.base_steps = 0, .retained_bytes_max = 2 * StepLedger::kResultBytes});
  EXPECT_OK(ledger.CheckRoom());
  ledger.Add(ResultOf(0, StepLedger::kResultBytes / 2));
  EXPECT_OK(ledger.CheckRoom());
  ledger.Add(ResultOf(1, StepLedger::kResultBytes));
  EXPECT_THAT(ledger.CheckRoom(), StatusIs(absl::StatusCode::kResourceExhausted,
                                           HasReason(Reason::RETAINED_FULL)));
  EXPECT_OK(ledger.Release(1));
  EXPECT_THAT(ledger.CheckRoom(), HasReason(Reason::RETAINED_FULL));
  EXPECT_OK(ledger.Release(2));
  EXPECT_OK(ledger.CheckRoom());
}

TEST(StepLedgerTest, OneResultMayExceedALimitThatIsTooSmallForAny) {
  const StepLedger ledger({.base_steps = 0, .retained_bytes_max = 1});
  EXPECT_OK(ledger.CheckRoom());
}

TEST(StepLedgerTest, ReplayedStepIsMadeAndReleased) {
  StepLedger ledger({.base_steps = 5});
  ledger.AddReplayed(7, {.amount = {.records = 3, .bytes = 9}});
  EXPECT_EQ(ledger.made_steps(), 8u);
  EXPECT_EQ(ledger.released_steps(), 8u);
  EXPECT_THAT(ledger.Ask(7, 8), HasReason(Reason::STEP_RELEASED));
  ASSERT_OK_AND_ASSIGN(const auto again, ledger.AskReplay(7, 5));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->amount.records, 3u);
}

TEST(StepLedgerTest, AnswersOfOldReplaysAreForgotten) {
  StepLedger ledger({.base_steps = 0});
  for (Step step = 0; step <= StepLedger::kReplaysKept; ++step) {
    ledger.AddReplayed(step, {});
  }
  EXPECT_THAT(ledger.AskReplay(0, 0), HasReason(Reason::STEP_RELEASED));
  EXPECT_OK(ledger.AskReplay(1, 0));
}

TEST(StepLedgerTest, UnfinishedStepsAreThoseMadeAndNotCompleted) {
  StepLedger ledger({.base_steps = 0});
  ledger.AddReplayed(0, {});
  ledger.Add(ResultOf(1));
  ledger.Add(ResultOf(4));
  ledger.Complete(4);
  EXPECT_THAT(ledger.unfinished_steps(), ElementsAre(4));
  ledger.Complete(5);
  EXPECT_THAT(ledger.unfinished_steps(), IsEmpty());
}

}  // namespace
}  // namespace penstock::core
