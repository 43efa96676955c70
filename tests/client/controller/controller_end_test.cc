#include "core/base/error.h"
#include "tests/client/controller/controller_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>

namespace penstock::client {
namespace {

using core::ControlVerb;
using core::HasReason;
using core::IsOk;
using core::MakeError;
using core::Reason;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class ControllerEndTest : public ControllerTest {};

TEST_F(ControllerEndTest, StopCheckpointsDisconnectsAndEnds) {
  options_.checkpoint_interval = absl::ZeroDuration();
  AddConnector(35).ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Outside().rows.size() == 35; }));
  controller_->Stop();
  ASSERT_TRUE(RunToEnd(absl::Seconds(1)))
      << "the Queue that waits for data is woken";
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(Stored().position, "{\"at\":35}");
  EXPECT_THAT(Stored().journal, IsEmpty());
  EXPECT_EQ(worker_.InstanceOf("c"), nullptr);
  AddRecords(10);
  Outside().ends = true;
  Start();
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
  EXPECT_EQ(worker_.CountOf(ControlVerb::kReplay), 0u);
}

TEST_F(ControllerEndTest, StopEndsInTimeThoughASinkIsDead) {
  AddConnector(35).held = true;
  Outside().ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().released_steps == 4; }));
  controller_->Stop();
  ASSERT_TRUE(RunToEnd(options_.stop_deadline + absl::Seconds(10)));
  EXPECT_THAT(*end_, HasReason(Reason::NOT_COMPLETED));
  EXPECT_THAT(end_->message(),
              HasSubstr("connector 'c' has steps from 0 to 3 that were not"));
  EXPECT_THAT(Stored().journal, SizeIs(4));
  Outside().held = false;
  Outside().ends = true;
  Start();
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
}

TEST_F(ControllerEndTest, StopEndsInTimeThoughTheWorkerIsAway) {
  AddConnector(35).ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().released_steps == 4; }));
  worker_.SetAway(true);
  controller_->Stop();
  ASSERT_TRUE(RunToEnd(absl::Minutes(1)));
  EXPECT_THAT(*end_, HasReason(Reason::NOT_COMPLETED));
}

TEST_F(ControllerEndTest, StopWhileAConnectorIsReopenedSaysWhatIsLeft) {
  AddConnector(35).held = true;
  AddConnector(20, "d").ends = false;
  Outside().ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().released_steps == 4; }));
  worker_.AimAt("c");
  worker_.FailNext(ControlVerb::kOpen, 1000,
                   MakeError(Reason::STORAGE_FULL, "no room"));
  worker_.Fail("c");
  ASSERT_TRUE(RunUntil([&] { return Progress().recoveries == 3; }));
  controller_->Stop();
  ASSERT_TRUE(RunToEnd(absl::Minutes(1)));
  ASSERT_THAT(*end_, HasReason(Reason::NOT_COMPLETED));
  EXPECT_THAT(end_->message(), HasSubstr("connector 'c'"));
  EXPECT_THAT(end_->message(), HasSubstr("no room"));
  EXPECT_THAT(end_->message(), Not(HasSubstr("connector 'd'")))
      << "its steps were checkpointed";
}

TEST_F(ControllerEndTest, StopWithStepsThatNoCheckpointCanTakeIsOk) {
  options_.checkpoint_interval = absl::ZeroDuration();
  AddConnector(35).ends = false;
  Outside().positions_complete = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().released_steps == 4; }));
  controller_->Stop();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
}

TEST_F(ControllerEndTest, BelowExactlyOnceWhatIsReadAgainIsNamed) {
  AddConnector(35).level = core::FtModel::kAtLeastOnce;
  options_.checkpoint_interval = absl::ZeroDuration();
  Outside().ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().made_steps == 4; }));
  worker_.SetAway(true);
  controller_->Stop();
  ASSERT_TRUE(RunToEnd(absl::Minutes(1)));
  EXPECT_THAT(*end_, HasReason(Reason::NOT_COMPLETED));
}

TEST_F(ControllerEndTest, TheLastLookCountsEveryBadRecord) {
  options_.status_interval = absl::Hours(1);
  AddConnector(10);
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) == 1; }));
  Outside().bad_records = 3;
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(Progress().bad_records.not_parsed, 3u);
  EXPECT_EQ(Progress().bad_records.total(), 3u);
}

TEST_F(ControllerEndTest, BadRecordsOfEveryLifeAreCounted) {
  AddConnector(35).ends = false;
  Outside().bad_records = 3;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().bad_records.total() == 3; }));
  worker_.Fail("c");
  ASSERT_TRUE(RunUntil([&] { return Progress().recoveries == 1; }));
  ASSERT_TRUE(RunUntil([&] { return Progress().bad_records.total() == 6; }));
}

TEST_F(ControllerEndTest, ALastLookThatIsNotAnsweredDelaysNoEnd) {
  AddConnector(10);
  worker_.LoseReplies(ControlVerb::kGet, 1000);
  worker_.SetLostAnswerDelay(absl::Minutes(1));
  Start();
  ASSERT_TRUE(RunToEnd(absl::Seconds(10)));
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(worker_.InstanceOf("c"), nullptr);
}

TEST_F(ControllerEndTest, AStoreThatStaysLockedEndsTheStartWithItsError) {
  AddConnector(10);
  Start();
  store_->FailNext(1'000'000, MakeError(Reason::UNAVAILABLE, "locked by 17"));
  ASSERT_TRUE(RunToEnd(options_.lead_deadline + absl::Seconds(5)));
  EXPECT_THAT(*end_, HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(end_->message(), HasSubstr("locked by 17"));
}

TEST_F(ControllerEndTest, StopWaitsForTheJournalWithoutSpinning) {
  options_.checkpoint_interval = absl::ZeroDuration();
  AddConnector(35).ends = false;
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) == 1; }));
  store_->Hold(true);
  ASSERT_TRUE(RunUntil([&] { return Progress().made_steps == 4; }));
  controller_->Stop();
  const absl::Time before = executor_.clock().SteadyNow();
  // One virtual second in which nothing answers: a spin would never end it.
  EXPECT_LT(executor_.Advance(absl::Seconds(1)), 1000u);
  EXPECT_EQ(executor_.clock().SteadyNow() - before, absl::Seconds(1));
  EXPECT_FALSE(end_.has_value());
  store_->Hold(false);
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(Stored().position, "{\"at\":35}");
}

TEST_F(ControllerEndTest, StopBeforeAnythingIsOpenEndsAtOnce) {
  AddConnector(35);
  Start();
  controller_->Stop();
  ASSERT_TRUE(RunToEnd(absl::Seconds(1)));
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 0u);
}

TEST_F(ControllerEndTest, StopWhileTheFirstOpenIsTriedEndsAtOnce) {
  AddConnector(35);
  worker_.SetAway(true);
  Start();
  RunFor(absl::Seconds(20));
  controller_->Stop();
  ASSERT_TRUE(RunToEnd(absl::Seconds(1)));
  EXPECT_THAT(*end_, IsOk());
}

TEST_F(ControllerEndTest, DestructionDropsEverythingAndIsSilent) {
  AddConnector(100);
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) == 3; }));
  Crash();
  const size_t calls = worker_.calls().size();
  RunFor(absl::Minutes(1));
  EXPECT_EQ(worker_.calls().size(), calls);
  EXPECT_FALSE(end_.has_value());
}

TEST_F(ControllerEndTest, OnEndMayDestroyTheController) {
  AddConnector(10);
  store_ = std::make_unique<FakeStateStore>(executor_, disk_);
  bool ended = false;
  controller_ = Controller::Create(options_, executor_, *store_, {&worker_},
                                   [&](absl::Status) {
                                     controller_ = nullptr;
                                     ended = true;
                                   });
  controller_->Start();
  ASSERT_TRUE(RunUntil([&] { return ended; }));
  executor_.RunUntilIdle();
}

TEST_F(ControllerEndTest, WhoIsTakenOverAtTheVeryEndEndsAsStale) {
  AddConnector(10);
  hook_ = [&](FaultPoint point, const std::string&) {
    if (point != FaultPoint::kAfterCommitCheckpoint) return;
    disk_.state.epoch = 2;
    outside_.fences["pipeline"] = {.epoch = 2, .nonce = "of the next"};
  };
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::STALE_EPOCH));
  EXPECT_EQ(ends_, 1);
}

TEST_F(ControllerEndTest, NothingRunsAfterTheEnd) {
  AddConnector(10);
  Start();
  ASSERT_TRUE(RunToEnd());
  const size_t calls = worker_.calls().size();
  controller_->Stop();
  RunFor(absl::Minutes(10));
  EXPECT_EQ(worker_.calls().size(), calls);
  EXPECT_EQ(ends_, 1);
}

TEST_F(ControllerEndTest, OneThatFailedHoldsUpNobodyAndIsNamedAtTheEnd) {
  AddConnector(30, "a");
  AddConnector(300, "b");
  Start();
  worker_.AimAt("a");
  worker_.FailNext(ControlVerb::kOpen, 1,
                   MakeError(Reason::PATH_NOT_ALLOWED, "outside"));
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::PATH_NOT_ALLOWED));
  EXPECT_THAT(std::string(end_->message()),
              AllOf(HasSubstr("1 of 2 connectors failed: 'a'"),
                    HasSubstr("what the others did is checkpointed")));
  EXPECT_TRUE(controller_->Snapshot().some_failed);
  EXPECT_EQ(Progress("a").state, "failed");
  EXPECT_THAT(Progress("a").health, HasSubstr("FATAL"));
  EXPECT_EQ(Stored("b").position, "{\"at\":300}");
  ExpectExactlyOnce("b");
}

TEST_F(ControllerEndTest, OneThatCouldNotBeOpenedIsTriedAgain) {
  AddConnector(30, "a");
  AddConnector(30, "b").ends = false;
  Start();
  worker_.AimAt("a");
  worker_.FailNext(ControlVerb::kOpen, 5,
                   MakeError(Reason::NOT_FOUND, "no such file"));
  ASSERT_TRUE(RunUntil([&] { return Progress("a").state == "failed"; }));
  EXPECT_THAT(Progress("a").health, HasSubstr("NEEDS_CONFIG"));
  ASSERT_TRUE(RunUntil([&] { return Outside("a").rows.size() == 30; }));
  Outside("b").ends = true;
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_FALSE(controller_->Snapshot().some_failed);
  ExpectExactlyOnce("a");
  ExpectExactlyOnce("b");
}

TEST_F(ControllerEndTest, OneThatIsTriedAgainHoldsUpNoEnd) {
  AddConnector(30, "a");
  AddConnector(300, "b");
  Start();
  worker_.AimAt("a");
  worker_.FailNext(ControlVerb::kOpen, 1'000'000,
                   MakeError(Reason::UNAUTHENTICATED, "wrong password"));
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::UNAUTHENTICATED));
  ExpectExactlyOnce("b");
}

TEST_F(ControllerEndTest, WithNoneLeftItEndsThoughTheInputDoesNot) {
  options_.stop_at_end_of_input = false;
  AddConnector(30, "a").ends = false;
  AddConnector(30, "b").ends = false;
  Start();
  worker_.FailNext(ControlVerb::kOpen, 2,
                   MakeError(Reason::PATH_NOT_ALLOWED, "outside"));
  ASSERT_TRUE(RunToEnd(absl::Minutes(1)));
  EXPECT_THAT(*end_, HasReason(Reason::PATH_NOT_ALLOWED));
  EXPECT_FALSE(controller_->Snapshot().some_failed);
}

TEST_F(ControllerEndTest, AnErrorOfOneConnectorStillCheckpointsTheOthers) {
  options_.checkpoint_interval = absl::ZeroDuration();
  AddConnector(30, "a").ends = false;
  AddConnector(30, "b").ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] {
    return Progress("a").released_steps == 3 &&
           Progress("b").released_steps == 3;
  }));
  worker_.AimAt("a");
  worker_.FailNext(ControlVerb::kQueue, 1,
                   MakeError(Reason::POSITION_EXPIRED, "gone"));
  ASSERT_TRUE(RunUntil([&] { return Progress("a").state == "failed"; }));
  RunFor(absl::Minutes(10));
  EXPECT_FALSE(end_.has_value()) << "the other one goes on";
  controller_->Stop();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::POSITION_EXPIRED));
  EXPECT_EQ(Stored("a").base_steps, 0u);
  EXPECT_EQ(Stored("b").base_steps, 3u);
}

TEST_F(ControllerEndTest, BadOptionsAreRefused) {
  AddConnector(10);
  options_.connectors.push_back(options_.connectors[0]);
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::INVALID_CONFIG));
  options_.connectors.pop_back();
  options_.connectors[0].worker = 7;
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(disk_.state.epoch, 0u);
}

TEST_F(ControllerEndTest, AnotherIncarnationThanExpectedIsRefused) {
  AddConnector(10);
  options_.incarnation = "another";
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(worker_.calls(), IsEmpty());
}

TEST_F(ControllerEndTest, AConnectorThatLeftThePipelineKeepsItsState) {
  AddConnector(10, "a");
  AddConnector(10, "b");
  Start();
  ASSERT_TRUE(RunToEnd());
  options_.connectors.pop_back();
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(disk_.state.connectors.count("b"), 1u);
}

}  // namespace
}  // namespace penstock::client
