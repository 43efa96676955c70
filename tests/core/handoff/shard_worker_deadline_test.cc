// A shard worker whose target does not answer in time. A call that blocks its
// thread is one that lets the rest of the world go on before it returns.
#include "core/handoff/shard_worker.h"

#include "tests/core/handoff/shard_worker_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ShardWorkerDeadlineTest : public ShardWorkerTest {};

TEST_F(ShardWorkerDeadlineTest, TheEndpointIsToldTheDeadline) {
  Start({.worker = {.delivery = {.write_deadline = absl::Seconds(7)}}});
  SendStep(0, {"a"});
  const absl::Time begun = executor_.clock().SteadyNow();
  Release(1);
  EXPECT_EQ(database_.Transactions(kTable, 0)[0].deadline,
            begun + absl::Seconds(7));
}

TEST_F(ShardWorkerDeadlineTest, WhatStopStillWritesIsToldItsDeadline) {
  Start();
  SendStep(0, {"a"});
  SendStep(1, {"b"});
  const absl::Time begun = executor_.clock().SteadyNow();
  std::shared_ptr<std::optional<ShardStopReport>> report;
  InNext(Operation::kBatchEnd, [&] {
    process_->worker->SetReleased(2);
    report = Stop(absl::Seconds(5));
    executor_.RunUntilIdle();
  });
  Release(1);
  ASSERT_TRUE(report != nullptr && report->has_value());
  const auto& transactions = database_.Transactions(kTable, 0);
  ASSERT_THAT(transactions, SizeIs(2));
  EXPECT_EQ(transactions[0].deadline, begun + DeliveryOptions().write_deadline);
  EXPECT_EQ(transactions[1].deadline, begun + absl::Seconds(5));
}

TEST_F(ShardWorkerDeadlineTest, ADeadlineBetweenTwoCallsFailsTheAttempt) {
  Start({.worker = {.push_bytes_max = 0}});
  InNext(Operation::kPush,
         [this] { executor_.fake_clock().Advance(absl::Minutes(2)); });
  SendStep(0, {"a", "b", "c", "d"});
  Release(1);
  EXPECT_THAT(Lines(), IsEmpty());
  ASSERT_THAT(process_->observer.retries, SizeIs(1));
  EXPECT_THAT(process_->observer.retries[0], HasReason(Reason::DEADLINE));
  executor_.Advance(absl::Seconds(1));
  EXPECT_THAT(Lines(), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(Snapshot().deadlines_passed, 1u);
  EXPECT_EQ(process_->observer.recovered, 1);
}

TEST_F(ShardWorkerDeadlineTest, ACallBeyondItsDeadlineIsShown) {
  Start();
  SendStep(0, {"a"});
  bool looked = false;
  InNext(Operation::kBatchEnd, [&] {
    executor_.Advance(absl::Minutes(1));
    EXPECT_EQ(Snapshot().writes_overdue, 1u);
    ASSERT_THAT(process_->observer.retries, SizeIs(1));
    EXPECT_THAT(process_->observer.retries[0], HasReason(Reason::DEADLINE));
    EXPECT_EQ(process_->observer.next_attempt, absl::InfiniteFuture());
    looked = true;
  });
  Release(1);
  EXPECT_TRUE(looked);
}

TEST_F(ShardWorkerDeadlineTest, ALateAnswerCounts) {
  Start();
  SendStep(0, {"a"});
  InNext(Operation::kBatchEnd, [&] { executor_.Advance(absl::Minutes(9)); });
  Release(1);
  EXPECT_THAT(Lines(), ElementsAre("a"));
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
  EXPECT_EQ(process_->observer.recovered, 1);
  EXPECT_EQ(Snapshot().writes_overdue, 0u);
  EXPECT_EQ(executor_.timer_count(), 0u);
}

TEST_F(ShardWorkerDeadlineTest, ACommitThatIsNotAnsweredIsOverdue) {
  Start({.target = {.separate_committer = true}});
  process_->target.HoldAnswers();
  SendStep(0, {"a"});
  Release(1);
  executor_.Advance(absl::Minutes(1));
  EXPECT_EQ(Snapshot().writes_overdue, 1u);
  EXPECT_FALSE(AckOf(0).has_value());
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
  EXPECT_EQ(Snapshot().writes_overdue, 0u);
}

TEST_F(ShardWorkerDeadlineTest, StopIsAnsweredByItsDeadlineThoughACallHangs) {
  Start();
  SendStep(0, {"a"});
  SendStep(1, {"b"});
  bool looked = false;
  InNext(Operation::kPush, [&] {
    const auto report = Stop(absl::Seconds(5));
    executor_.Advance(absl::Seconds(5));
    ASSERT_TRUE(report->has_value());
    EXPECT_THAT((*report)->unconfirmed, ElementsAre(0));
    EXPECT_THAT((*report)->dropped, ElementsAre(1));
    EXPECT_EQ((*report)->calls_running, 1u);
    EXPECT_EQ(Snapshot().writes_overdue, 1u);
    looked = true;
  });
  Release(1);
  EXPECT_TRUE(looked);
  EXPECT_EQ(Snapshot().writes_overdue, 0u) << "it has returned";
  EXPECT_THAT(Lines(), IsEmpty());
  EXPECT_EQ(AckOf(0), AckStatus::kFailed);
}

TEST_F(ShardWorkerDeadlineTest, WhatAHangingCallUsesLivesUntilItReturns) {
  auto parts = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = parts;
  Start({.keep_alive = std::move(parts)});
  SendStep(0, {"a"});
  InNext(Operation::kPush, [&] {
    (void)Stop(absl::ZeroDuration());
    executor_.RunUntilIdle();
    process_->worker.reset();
    EXPECT_FALSE(watched.expired());
  });
  process_->worker->SetReleased(1);
  executor_.RunUntilIdle();
  EXPECT_TRUE(watched.expired());
}

TEST_F(ShardWorkerDeadlineTest, WithoutARunningCallStopLetsGoOfEverything) {
  auto parts = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = parts;
  Start({.keep_alive = std::move(parts)});
  (void)Stop(absl::Seconds(5));
  executor_.RunUntilIdle();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace penstock::core
