#include "core/base/error.h"
#include "tests/client/controller/controller_fixture.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

namespace penstock::client {
namespace {

using core::ControlVerb;
using core::HasReason;
using core::IsOk;
using core::MakeError;
using core::Reason;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ControllerCheckpointTest : public ControllerTest {};

TEST_F(ControllerCheckpointTest, IsTakenOnTheIntervalAtTheLastJournaledStep) {
  AddConnector(25).ends = false;
  Start();
  RunFor(absl::Milliseconds(900));
  EXPECT_EQ(Stored().base_steps, 0u);
  EXPECT_THAT(Stored().journal, SizeIs(3));
  RunFor(absl::Milliseconds(200));
  EXPECT_EQ(Stored().base_steps, 3u);
  EXPECT_EQ(Stored().position, "{\"at\":25}");
  EXPECT_THAT(Stored().journal, IsEmpty());
  EXPECT_EQ(Outside().acknowledged_steps, 3u);
}

TEST_F(ControllerCheckpointTest, NothingNewIsNotPrepared) {
  AddConnector(25).ends = false;
  Start();
  RunFor(absl::Minutes(1));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kPrepareCheckpoint), 1u);
}

TEST_F(ControllerCheckpointTest, OneDeadSinkStopsNobodyElsesCheckpoint) {
  options_.prepare_deadline = absl::Seconds(3);
  AddConnector(20, "a").ends = false;
  AddConnector(20, "b").ends = false;
  Outside("a").held = true;
  Start();
  RunFor(absl::Seconds(6));
  EXPECT_EQ(Stored("a").base_steps, 0u);
  EXPECT_THAT(Stored("a").journal, SizeIs(2));
  EXPECT_EQ(Stored("b").base_steps, 2u);
  Outside("a").held = false;
  worker_.LookAgain();
  RunFor(absl::Seconds(6));
  EXPECT_EQ(Stored("a").base_steps, 2u);
}

TEST_F(ControllerCheckpointTest, ALateAnswerIsLeftForTheNextRound) {
  options_.prepare_deadline = absl::Seconds(3);
  AddConnector(20).ends = false;
  worker_.LoseReplies(ControlVerb::kPrepareCheckpoint, 2);
  Start();
  RunFor(absl::Seconds(10));
  EXPECT_EQ(Stored().base_steps, 2u);
  EXPECT_GE(worker_.CountOf(ControlVerb::kPrepareCheckpoint), 3u);
}

TEST_F(ControllerCheckpointTest, AnAnswerLaterThanItsRoundIsWaitedForAtTheEnd) {
  options_.status_interval = absl::ZeroDuration();  // Nothing else wakes it.
  options_.checkpoint_interval = absl::ZeroDuration();
  options_.prepare_deadline = absl::Seconds(1);
  AddConnector(20);
  worker_.SetLostAnswerDelay(absl::Seconds(10));
  worker_.LoseReplies(ControlVerb::kPrepareCheckpoint, 1);
  Start();
  ASSERT_TRUE(RunToEnd(absl::Seconds(15)));
  EXPECT_THAT(Stored().journal, IsEmpty());
}

TEST_F(ControllerCheckpointTest, ALifeThatEndedTakesItsAnswerWithIt) {
  options_.prepare_deadline = absl::Seconds(3);
  AddConnector(20, "a").ends = false;
  AddConnector(20, "b").ends = false;
  Outside("b").held = true;
  Start();
  // "a" is ready and "b" is waited for; then "a" fails and is reopened.
  ASSERT_TRUE(RunUntil(
      [&] { return worker_.CountOf(ControlVerb::kPrepareCheckpoint) == 2; }));
  RunFor(absl::Seconds(1));
  worker_.Fail("a");
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kExtend) == 3; }));
  RunFor(absl::Seconds(2.5));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kPrepareCheckpoint), 2u);
  EXPECT_EQ(Stored("a").base_steps, 0u);
  RunFor(absl::Seconds(10));
  EXPECT_EQ(Stored("a").base_steps, 2u);
}

TEST_F(ControllerCheckpointTest, AsksForACompletePositionWhenItLacksOne) {
  AddConnector(30).positions_complete = false;
  Outside().ends = false;
  Start();
  RunFor(absl::Seconds(1.5));
  EXPECT_EQ(Stored().base_steps, 0u) << "no step so far has a whole position";
  RunFor(absl::Seconds(10));
  // The waiting Queue is over, the next one asks: an empty step carries it.
  EXPECT_EQ(Stored().position, "{\"at\":30}");
  EXPECT_GE(Stored().base_steps, 4u);
}

TEST_F(ControllerCheckpointTest,
       TheEndOfInputIsCheckpointedWithACompletePosition) {
  options_.checkpoint_interval = absl::ZeroDuration();
  AddConnector(30).positions_complete = false;
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(Stored().position, "{\"at\":30}");
  EXPECT_THAT(Stored().journal, IsEmpty());
}

TEST_F(ControllerCheckpointTest, AnInterruptedQuestionForTheEndIsAskedAgain) {
  options_.checkpoint_interval = absl::ZeroDuration();
  AddConnector(10).positions_complete = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().end_of_input; }));
  worker_.MakeNoStep(core::NoStepReason::kInterrupted, 1);
  ASSERT_TRUE(RunToEnd());
  EXPECT_EQ(Stored().position, "{\"at\":10}");
  EXPECT_THAT(Stored().journal, IsEmpty());
}

TEST_F(ControllerCheckpointTest, TheEndWaitsForTheNumberOfTheLastQuestion) {
  options_.checkpoint_interval = absl::ZeroDuration();
  options_.step_block = 1;
  AddConnector(10).positions_complete = false;
  Start();
  store_->SetDelay(absl::Milliseconds(10));
  ASSERT_TRUE(RunToEnd());
  EXPECT_EQ(Stored().position, "{\"at\":10}");
}

TEST_F(ControllerCheckpointTest, ALostCommitCheckpointIsSentAgain) {
  AddConnector(20).ends = false;
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kExtend) == 1; }));
  worker_.LoseRequests(ControlVerb::kCommitCheckpoint, 3);
  ASSERT_TRUE(RunUntil([&] { return Outside().acknowledged_steps == 2; },
                       absl::Seconds(5)));
}

TEST_F(ControllerCheckpointTest, AFullJournalWaitsForACheckpoint) {
  options_.checkpoint_interval = absl::ZeroDuration();
  options_.journal_rows_max = 4;
  options_.step_block = 1024;
  AddConnector(200);
  size_t rows_max = 0;
  hook_ = [&](FaultPoint, const std::string&) {
    rows_max = std::max(rows_max, Stored().journal.size());
  };
  Start();
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
  // What was under way when it became full comes on top.
  EXPECT_LE(rows_max, 4 + options_.unjournaled_max);
  EXPECT_LT(rows_max, 16u);
}

TEST_F(ControllerCheckpointTest, AFullJournalOutlivesAnAnswerAfterItsRound) {
  options_.checkpoint_interval = absl::ZeroDuration();
  options_.prepare_deadline = absl::Seconds(1);
  options_.journal_rows_max = 4;
  AddConnector(200);
  worker_.SetLostAnswerDelay(absl::Seconds(10));
  worker_.LoseReplies(ControlVerb::kPrepareCheckpoint, 1);
  Start();
  ASSERT_TRUE(RunToEnd(absl::Seconds(60)));
  ExpectExactlyOnce();
}

TEST_F(ControllerCheckpointTest, AFullJournalIsShownAsStalled) {
  options_.checkpoint_interval = absl::ZeroDuration();
  options_.prepare_deadline = absl::Seconds(1);
  options_.journal_rows_max = 4;
  AddConnector(500).held = true;
  Start();
  RunFor(absl::Minutes(1));
  EXPECT_THAT(Progress().health, ::testing::HasSubstr("STALLED"));
  EXPECT_THAT(Progress().last_error,
              ::testing::HasSubstr("the target does not take it"));
  const size_t queues = worker_.CountOf(ControlVerb::kQueue);
  RunFor(absl::Minutes(1));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kQueue), queues);
  Outside().held = false;
  worker_.LookAgain();
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
}

}  // namespace
}  // namespace penstock::client
