#include "tests/client/controller/controller_fixture.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace penstock::client {
namespace {

using core::ControlVerb;
using core::FakeControl;
using core::HasReason;
using core::IsOk;
using core::MakeError;
using core::Reason;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ControllerLoopTest : public ControllerTest {};

TEST_F(ControllerLoopTest, RunsToTheEndOfInputAndCheckpointsThere) {
  AddConnector(95);
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(ends_, 1);
  ExpectExactlyOnce();
  EXPECT_EQ(Stored().position, "{\"at\":95}");
  EXPECT_THAT(Stored().journal, IsEmpty());
  EXPECT_EQ(Outside().acknowledged_steps, Stored().base_steps);
  EXPECT_EQ(worker_.InstanceOf("c"), nullptr);
  EXPECT_EQ(controller_->Snapshot().phase, ControllerPhase::kEnded);
}

TEST_F(ControllerLoopTest, AnEmptySourceEndsCompletesAndCheckpoints) {
  AddConnector(0);
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(Stored().base_steps, 1u);
}

TEST_F(ControllerLoopTest, StoresTheFirstPositionBeforeTheFirstExtend) {
  AddConnector(10);
  Start();
  store_->SetDelay(absl::Seconds(1));
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kOpen) > 0; }));
  EXPECT_TRUE(CallsOf(ControlVerb::kOpen)[0].open->first_open);
  EXPECT_EQ(CallsOf(ControlVerb::kOpen)[0].open->position, std::nullopt);
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kExtend) > 0; }));
  EXPECT_TRUE(Stored().opened);
  EXPECT_EQ(Stored().position, "{\"at\":0}");
}

TEST_F(ControllerLoopTest, ReservesTheWriterBeforeDeletingAndOpening) {
  AddConnector(10);
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kDelete) > 0; }));
  EXPECT_EQ(Stored().open_number, 1u);
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kOpen) > 0; }));
  const core::OpenRequest open = *CallsOf(ControlVerb::kOpen)[0].open;
  EXPECT_EQ(open.writer, (core::Writer{.epoch = 1, .open_number = 1}));
  EXPECT_EQ(open.incarnation, "incarnation-1");
  EXPECT_EQ(open.spec_bytes, "spec of c");
  EXPECT_EQ(open.spec.name, "c");
}

TEST_F(ControllerLoopTest, EveryNumberIsReservedBeforeItIsUsed) {
  AddConnector(500);
  bool always = true;
  hook_ = [&](FaultPoint point, const std::string&) {
    if (point != FaultPoint::kResultReceived) return;
    const auto queues = CallsOf(ControlVerb::kQueue);
    always = always && queues.back().step < Stored().reserved_steps;
  };
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_TRUE(always);
  EXPECT_GE(Stored().reserved_steps, 50u);
}

TEST_F(ControllerLoopTest, ABlockOfOneNumberWorks) {
  options_.step_block = 1;
  AddConnector(100);
  Start();
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
}

TEST_F(ControllerLoopTest, AsksTheNextQueueBeforeTheJournalAnswered) {
  AddConnector(100);
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) > 0; }));
  store_->Hold(true);
  RunFor(absl::Seconds(1));
  EXPECT_GE(worker_.CountOf(ControlVerb::kQueue), 3u);
  EXPECT_THAT(Outside().rows, IsEmpty()) << "nothing is released unjournaled";
  store_->Hold(false);
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
}

TEST_F(ControllerLoopTest, GroupsWhatArrivesWhileATransactionIsUnderWay) {
  options_.step_block = 1024;
  AddConnector(300);
  Start();
  store_->SetDelay(absl::Milliseconds(50));
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
  // 30 results one by one would alone be 30 transactions.
  EXPECT_LT(disk_.commits, 15u);
}

TEST_F(ControllerLoopTest, GroupsNoMoreBytesThanATransactionMayHave) {
  constexpr size_t kReplayBytes = size_t{5} << 20;
  AddConnector(100).replay = std::string(kReplayBytes, 'r');
  Start();
  store_->SetDelay(absl::Milliseconds(50));
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
  EXPECT_GT(disk_.journal_bytes_max, 2 * kReplayBytes);
  EXPECT_LE(disk_.journal_bytes_max, kJournalBytesMax);
}

TEST_F(ControllerLoopTest, ReleasesByItselfWhileAQueueWaits) {
  AddConnector(10).ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().released_steps == 1; },
                       absl::Milliseconds(1)));
  EXPECT_THAT(Outside().rows, SizeIs(10));
  const auto releases = CallsOf(ControlVerb::kRelease);
  ASSERT_THAT(releases, SizeIs(1));
  EXPECT_EQ(releases[0].released_steps, 1u);
}

TEST_F(ControllerLoopTest, ALostReleaseIsSentAgainThoughNothingElseIs) {
  options_.checkpoint_interval = absl::ZeroDuration();
  options_.queue_wait = absl::Hours(1);
  AddConnector(10).ends = false;
  worker_.LoseRequests(ControlVerb::kRelease, 3);
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return Outside().rows.size() == 10; }, absl::Seconds(5)));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kQueue), 2u);
}

TEST_F(ControllerLoopTest, AnInterruptedQueueIsAskedAgainAtOnceButNotForEver) {
  AddConnector(10);
  worker_.MakeNoStep(core::NoStepReason::kInterrupted, 1000);
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) == 2; },
               absl::Milliseconds(1)));
  RunFor(absl::Seconds(20));
  EXPECT_LT(worker_.CountOf(ControlVerb::kQueue), 40u);
  worker_.HealAll();
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
}

TEST_F(ControllerLoopTest, BoundsTheResultsBetweenArrivalAndJournal) {
  options_.unjournaled_max = 3;
  options_.step_block = 1024;
  AddConnector(1000);
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) > 0; }));
  store_->Hold(true);
  RunFor(absl::Seconds(30));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kQueue), 3u);
  store_->Hold(false);
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
}

TEST_F(ControllerLoopTest, AsksAgainForTheSameStepWhenAReplyIsLost) {
  AddConnector(100);
  worker_.LoseReplies(ControlVerb::kQueue, 3);
  Start();
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
  const auto queues = CallsOf(ControlVerb::kQueue);
  EXPECT_EQ(queues[0].step, queues[1].step);
  EXPECT_EQ(queues[1].step, queues[2].step);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u);
}

TEST_F(ControllerLoopTest, RetriesEachCommandWhoseReplyOrRequestIsLost) {
  AddConnector(100);
  for (ControlVerb verb :
       {ControlVerb::kOpen, ControlVerb::kDelete, ControlVerb::kExtend,
        ControlVerb::kQueue, ControlVerb::kRelease,
        ControlVerb::kPrepareCheckpoint, ControlVerb::kCommitCheckpoint}) {
    worker_.LoseRequests(verb, 1);
    worker_.LoseReplies(verb, 1);
  }
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  ExpectExactlyOnce();
  const auto opens = CallsOf(ControlVerb::kOpen);
  ASSERT_THAT(opens, SizeIs(3));
  EXPECT_EQ(opens[0].request_id, opens[1].request_id);
  EXPECT_EQ(opens[0].open->writer, opens[2].open->writer);
  const auto extends = CallsOf(ControlVerb::kExtend);
  ASSERT_THAT(extends, SizeIs(3));
  EXPECT_EQ(extends[0].request_id, extends[2].request_id);
  EXPECT_NE(extends[0].request_id, opens[0].request_id);
}

TEST_F(ControllerLoopTest, AsksAgainAfterTheRetryDelay) {
  AddConnector(20);
  worker_.FailNext(
      ControlVerb::kQueue, 1,
      core::WithRetryDelay(MakeError(Reason::BUDGET_EXCEEDED, "no room"),
                           absl::Seconds(7)));
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) == 1; }));
  RunFor(absl::Seconds(6));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kQueue), 1u);
  ASSERT_TRUE(RunToEnd());
  EXPECT_EQ(CallsOf(ControlVerb::kQueue)[1].step,
            CallsOf(ControlVerb::kQueue)[0].step);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u);
}

TEST_F(ControllerLoopTest, ANumberThatMadeNoStepIsAskedAgain) {
  AddConnector(0).ends = false;
  Start();
  RunFor(absl::Seconds(30));
  const auto queues = CallsOf(ControlVerb::kQueue);
  EXPECT_GE(queues.size(), 3u);
  EXPECT_LE(queues.size(), 40u);
  EXPECT_TRUE(std::all_of(queues.begin(), queues.end(),
                          [](const auto& call) { return call.step == 0; }));
}

TEST_F(ControllerLoopTest, QueuesNoMoreBehindTheEndOfInput) {
  options_.stop_at_end_of_input = false;
  AddConnector(15);
  Start();
  RunFor(absl::Minutes(1));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kQueue), 2u);
  EXPECT_TRUE(Progress().end_of_input);
  EXPECT_EQ(Progress().checkpointed_steps, 2u);
  EXPECT_FALSE(end_.has_value());
}

TEST_F(ControllerLoopTest, BelowExactlyOnceNothingIsJournaledOrReplayed) {
  AddConnector(95).level = core::FtModel::kAtLeastOnce;
  Start();
  size_t rows_max = 0;
  ASSERT_TRUE(RunUntil([&] {
    if (disk_.state.connectors.count("c") > 0) {
      rows_max = std::max(rows_max, Stored().journal.size());
    }
    return end_.has_value();
  }));
  EXPECT_EQ(rows_max, 0u);
  EXPECT_EQ(Outside().rows, Outside().records);
  EXPECT_EQ(Stored().position, "{\"at\":95}");
  EXPECT_GT(worker_.CountOf(ControlVerb::kRelease), 0u);
}

TEST_F(ControllerLoopTest, BelowExactlyOnceItReopensAtTheCheckpoint) {
  AddConnector(30).level = core::FtModel::kAtLeastOnce;
  Outside().ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().checkpointed_steps == 3; }));
  AddRecords(20);
  worker_.LookAgain();
  ASSERT_TRUE(RunUntil([&] { return Outside().rows.size() == 50; },
                       absl::Milliseconds(500)));
  worker_.Restart();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kOpen) == 2; }));
  const core::OpenRequest open = *CallsOf(ControlVerb::kOpen)[1].open;
  EXPECT_EQ(open.position, "{\"at\":30}");
  EXPECT_EQ(open.base_steps, 3u);
  EXPECT_EQ(open.journaled_steps, 3u);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kReplay), 0u);
  ASSERT_TRUE(RunUntil([&] { return Outside().rows.size() == 70; }));
}

// What a life below exactly-once made above the checkpoint is not journaled,
// so that the next one begins lower.
TEST_F(ControllerLoopTest, BelowExactlyOnceNoCountIsEverAboveTheStepsMade) {
  AddConnector(30).level = core::FtModel::kAtLeastOnce;
  Outside().ends = false;
  options_.status_interval = absl::Milliseconds(1);
  Start();
  int looks = 0;
  const auto is_consistent = [&] {
    const ConnectorProgress progress = Progress();
    ++looks;
    return progress.released_steps <= progress.made_steps &&
           progress.completed_steps <= progress.made_steps &&
           progress.checkpointed_steps <= progress.completed_steps &&
           progress.checkpointed_steps <= progress.released_steps;
  };
  bool was_consistent = true;
  const auto run_until = [&](size_t rows) {
    return RunUntil([&] {
      was_consistent = was_consistent && is_consistent();
      return !was_consistent || Outside().rows.size() >= rows;
    });
  };
  ASSERT_TRUE(run_until(30));
  ASSERT_TRUE(RunUntil([&] { return Progress().checkpointed_steps == 3; }));
  AddRecords(20);
  worker_.LookAgain();
  ASSERT_TRUE(run_until(50));
  EXPECT_GT(Progress().made_steps, 3u);
  worker_.Restart();
  ASSERT_TRUE(run_until(70));
  const ConnectorProgress progress = Progress();
  EXPECT_TRUE(was_consistent)
      << "made " << progress.made_steps << ", released "
      << progress.released_steps << ", completed " << progress.completed_steps
      << ", checkpointed " << progress.checkpointed_steps;
  EXPECT_GT(looks, 10);
}

TEST_F(ControllerLoopTest, LevelNoneIsFlushedAndNotCheckpointed) {
  AddConnector(30).level = std::nullopt;
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(Outside().rows, Outside().records);
  EXPECT_EQ(Stored().base_steps, 0u);
  EXPECT_GT(worker_.CountOf(ControlVerb::kPrepareCheckpoint), 0u);
  EXPECT_GE(Stored().reserved_steps, 3u);
}

TEST_F(ControllerLoopTest, DrivesSeveralConnectorsOnSeveralWorkers) {
  AddConnector(120, "a", 0);
  AddConnector(70, "b", 1);
  Start();
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce("a");
  ExpectExactlyOnce("b");
  EXPECT_GT(other_worker_.CountOf(ControlVerb::kQueue), 0u);
}

TEST_F(ControllerLoopTest, AConnectorThatMovedIsDeletedWhereItWas) {
  AddConnector(50, "a", 0).ends = false;
  AddConnector(50, "b", 1).ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Outside("a").rows.size() == 50; }));
  // The file says otherwise now.
  options_.connectors[0].worker = 1;
  Outside("a").ends = Outside("b").ends = true;
  AddRecords(30, "a");
  Start();
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce("a");
  ExpectExactlyOnce("b");
  EXPECT_EQ(worker_.InstanceOf("a"), nullptr);
  EXPECT_EQ(other_worker_.CountOf(ControlVerb::kOpen), 3u);
}

TEST_F(ControllerLoopTest, AWorkerThatIsAwayIsSweptWhenItIsBack) {
  AddConnector(50, "a", 0).ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Outside("a").rows.size() == 50; }));
  options_.connectors[0].worker = 1;
  worker_.SetAway(true);
  Start();
  AddRecords(30, "a");
  ASSERT_TRUE(RunUntil([&] { return Outside("a").rows.size() == 80; }))
      << "nobody waits for it";
  EXPECT_NE(worker_.InstanceOf("a"), nullptr);
  worker_.SetAway(false);
  EXPECT_TRUE(RunUntil([&] { return worker_.InstanceOf("a") == nullptr; }));
}

TEST_F(ControllerLoopTest, AConnectorThatCannotBeDeletedHoldsUpNoOther) {
  for (const char* const name : {"a", "b", "c"}) {
    AddConnector(10, name, 0).ends = false;
  }
  Start();
  ASSERT_TRUE(RunUntil([&] {
    return Outside("a").rows.size() == 10 && Outside("b").rows.size() == 10 &&
           Outside("c").rows.size() == 10;
  }));
  for (PipelineConnector& connector : options_.connectors) connector.worker = 1;
  worker_.AimAt("b");
  worker_.FailNext(ControlVerb::kDelete, 1,
                   MakeError(Reason::INTERNAL, "it hangs"));
  Start();
  EXPECT_TRUE(RunUntil([&] {
    return worker_.InstanceOf("a") == nullptr &&
           worker_.InstanceOf("c") == nullptr;
  }));
  EXPECT_NE(worker_.InstanceOf("b"), nullptr);
}

TEST_F(ControllerLoopTest, WhatAnOnlyWorkerHasNoLongerIsDeleted) {
  AddConnector(10, "a").ends = false;
  AddConnector(10, "b").ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Outside("b").rows.size() == 10; }));
  Crash();
  options_.connectors.pop_back();
  options_.nonce = "another";
  FakeStateStore store(executor_, disk_);
  const auto alone = Controller::Create(options_, executor_, store, {&worker_},
                                        [](const absl::Status&) {});
  alone->Start();
  EXPECT_TRUE(RunUntil([&] { return worker_.InstanceOf("b") == nullptr; }));
  EXPECT_NE(worker_.InstanceOf("a"), nullptr);
}

TEST_F(ControllerLoopTest, AUsersPauseIsDurableAndHoldsAfterARestart) {
  AddConnector(30).ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Outside().rows.size() == 30; }));
  absl::Status paused = MakeError(Reason::INTERNAL, "not yet");
  controller_->SetUserPaused("c", true, [&](absl::Status s) { paused = s; });
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kPause) == 1; }));
  EXPECT_THAT(paused, IsOk());
  EXPECT_TRUE(Stored().user_paused);
  Start();
  RunFor(absl::Minutes(1));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 2u);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kExtend), 1u) << "not extended again";
  EXPECT_EQ(Progress().state, "paused");
  AddRecords(10);
  controller_->SetUserPaused("c", false, [&](absl::Status s) { paused = s; });
  ASSERT_TRUE(RunUntil([&] { return Outside().rows.size() == 40; }));
  EXPECT_FALSE(Stored().user_paused);
  controller_->SetUserPaused("d", false, [&](absl::Status s) { paused = s; });
  executor_.RunUntilIdle();
  EXPECT_THAT(paused, HasReason(Reason::NO_SUCH_CONNECTOR));
}

// The first one, committed again, once was the last word.
TEST_F(ControllerLoopTest, TheLastOfTwoWishesToPauseHolds) {
  AddConnector(30).ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Outside().rows.size() == 30; }));
  store_->FailNext(1, MakeError(Reason::UNAVAILABLE, "locked"));
  std::vector<bool> answered;
  controller_->SetUserPaused("c", true,
                             [&](absl::Status) { answered.push_back(true); });
  controller_->SetUserPaused("c", false,
                             [&](absl::Status) { answered.push_back(false); });
  ASSERT_TRUE(RunUntil([&] { return answered.size() == 2; }));
  EXPECT_THAT(answered, ElementsAre(true, false));
  EXPECT_FALSE(Stored().user_paused);
  AddRecords(10);
  ASSERT_TRUE(RunUntil([&] { return Outside().rows.size() == 40; }));
}

TEST_F(ControllerLoopTest, RequestIdsAreNeverUsedTwice) {
  AddConnector(50, "a");
  AddConnector(50, "b");
  Start();
  ASSERT_TRUE(RunToEnd());
  AddRecords(10, "a");
  Start();
  ASSERT_TRUE(RunToEnd());
  std::vector<std::string> ids;
  for (const FakeControl::Call& call : worker_.calls()) {
    if (!call.request_id.empty()) ids.push_back(call.request_id);
  }
  // Delete, Open, Extend and the last Delete, of two connectors, twice.
  EXPECT_THAT(ids, SizeIs(16));
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 16u);
}

// The answer to Pause once cancelled the time at which that Queue is asked
// again.
TEST_F(ControllerLoopTest, APauseLosesNoQueueThatIsToBeAskedAgain) {
  AddConnector(95);
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) == 3; }));
  worker_.LoseRequests(ControlVerb::kQueue, 6);
  worker_.SetLostAnswerDelay(absl::Milliseconds(1));
  // The waits grow: the answers to Pause and Extend fall into one of them.
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) >= 8; }));
  RunFor(absl::Milliseconds(10));
  controller_->SetUserPaused("c", true, [](absl::Status) {});
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kPause) == 1; }));
  controller_->SetUserPaused("c", false, [](absl::Status) {});
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
}

}  // namespace
}  // namespace penstock::client
