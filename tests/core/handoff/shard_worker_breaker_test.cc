// Shard workers of one target behind its circuit breaker.
#include "core/handoff/breaker.h"
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ShardWorkerBreakerTest : public ShardWorkerTest {
 protected:
  static constexpr absl::Duration kOpenFor = absl::Seconds(5);

  void StartBehindBreaker(uint32_t writers = 1) {
    Start(
        {.target = {.level = FtModel::kAtLeastOnce, .writers_max = writers},
         .worker = {.delivery = {.batch_bytes_max = 1,
                                 .retry = {.initial = absl::Milliseconds(100)}},
                    .breaker = breaker_}});
    database_.SetHook([this](const FakeDatabase::Call& call)
                          -> std::optional<FakeDatabase::Fault> {
      if (call.operation != Operation::kBatchStart) return std::nullopt;
      ++attempts_;
      if (is_up_) return std::nullopt;
      return FakeDatabase::Fault{.status =
                                     MakeError(Reason::UNAVAILABLE, "down")};
    });
  }
  Breaker::State state() const { return breaker_->snapshot().state; }

  std::shared_ptr<Breaker> breaker_ =
      std::make_shared<Breaker>(Breaker::Options{.consecutive_failures_max = 3,
                                                 .probe_interval = kOpenFor});
  bool is_up_ = false;
  int attempts_ = 0;
};

TEST_F(ShardWorkerBreakerTest, ADeadTargetIsTriedOnceInAWhile) {
  StartBehindBreaker(/*writers=*/4);
  SendChunks(0, {"a", "b", "c", "d"});
  executor_.RunUntilIdle();
  EXPECT_EQ(state(), Breaker::State::kOpen);
  const int before = attempts_;
  executor_.Advance(kOpenFor * 10);
  EXPECT_LE(attempts_ - before, 10);
  EXPECT_GE(attempts_ - before, 5);
}

TEST_F(ShardWorkerBreakerTest, AProbeThatSucceedsLetsAllOthersThrough) {
  StartBehindBreaker(/*writers=*/4);
  SendChunks(0, {"a", "b", "c", "d"});
  executor_.Advance(absl::Seconds(1));
  is_up_ = true;
  executor_.Advance(kOpenFor);
  EXPECT_THAT(Lines(), SizeIs(4));
  EXPECT_EQ(state(), Breaker::State::kClosed);
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
  EXPECT_EQ(process_->observer.recovered, 1);
}

TEST_F(ShardWorkerBreakerTest, AShardWaitsForTheBreakerThatAnotherOpened) {
  for (int i = 0; i < 3; ++i) {
    breaker_->Ask(executor_.clock().SteadyNow())
        .permit->Fail(executor_.clock().SteadyNow());
  }
  is_up_ = true;
  StartBehindBreaker();
  SendChunks(0, {"a"});
  executor_.Advance(kOpenFor - absl::Nanoseconds(1));
  EXPECT_EQ(attempts_, 0);
  EXPECT_EQ(Snapshot().retries, 0u) << "waiting is no attempt";
  executor_.Advance(absl::Nanoseconds(1));
  EXPECT_THAT(Lines(), ElementsAre("a"));
}

TEST_F(ShardWorkerBreakerTest, TheNextAttemptThatIsToldIsTheBreakers) {
  StartBehindBreaker(/*writers=*/3);
  SendChunks(0, {"a", "b", "c"});
  executor_.RunUntilIdle();
  EXPECT_EQ(process_->observer.next_attempt,
            executor_.clock().SteadyNow() + kOpenFor);
  EXPECT_THAT(process_->observer.retries.back().message(),
              HasSubstr("breaker is open"));
}

TEST_F(ShardWorkerBreakerTest, TheSnapshotShowsTheBreaker) {
  StartBehindBreaker(/*writers=*/3);
  SendChunks(0, {"a", "b", "c"});
  executor_.RunUntilIdle();
  EXPECT_EQ(Snapshot().breaker.state, Breaker::State::kOpen);
  EXPECT_EQ(Snapshot().breaker.opens, 1u);
}

TEST_F(ShardWorkerBreakerTest, StopTriesOnceMoreWithoutWaiting) {
  StartBehindBreaker(/*writers=*/3);
  SendChunks(0, {"a", "b", "c"});
  executor_.RunUntilIdle();
  is_up_ = true;
  const auto report = Stop(absl::Seconds(1));
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, IsEmpty());
  EXPECT_THAT(Lines(), SizeIs(3));
}

TEST_F(ShardWorkerBreakerTest, AStoppedShardHoldsNoProbe) {
  StartBehindBreaker(/*writers=*/3);
  SendChunks(0, {"a", "b", "c"});
  executor_.RunUntilIdle();
  (void)Stop(absl::ZeroDuration());
  executor_.Advance(kOpenFor);
  EXPECT_TRUE(breaker_->Ask(executor_.clock().SteadyNow()).permit.has_value());
  EXPECT_EQ(executor_.timer_count(), 0u);
}

TEST_F(ShardWorkerBreakerTest, AProbeThatHangsOpensItAgain) {
  StartBehindBreaker(/*writers=*/3);
  SendChunks(0, {"a", "b", "c"});
  executor_.RunUntilIdle();
  bool looked = false;
  database_.SetHook(
      [&](const FakeDatabase::Call&) -> std::optional<FakeDatabase::Fault> {
        if (std::exchange(looked, true)) return std::nullopt;
        EXPECT_EQ(state(), Breaker::State::kHalfOpen);
        executor_.Advance(absl::Minutes(1));
        EXPECT_EQ(breaker_->snapshot().opens, 2u);
        return std::nullopt;
      });
  executor_.Advance(kOpenFor);
  EXPECT_TRUE(looked);
}

TEST_F(ShardWorkerBreakerTest, AWriteThatSucceedsLateClosesIt) {
  StartBehindBreaker(/*writers=*/3);
  SendChunks(0, {"a", "b", "c"});
  executor_.RunUntilIdle();
  bool looked = false;
  database_.SetHook(
      [&](const FakeDatabase::Call&) -> std::optional<FakeDatabase::Fault> {
        if (std::exchange(looked, true)) return std::nullopt;
        // Just beyond the deadline of the write, which began with the probe.
        executor_.Advance(DeliveryOptions().write_deadline);
        EXPECT_EQ(breaker_->snapshot().opens, 2u);
        return std::nullopt;
      });
  executor_.Advance(kOpenFor);
  EXPECT_TRUE(looked);
  EXPECT_EQ(state(), Breaker::State::kClosed);
  EXPECT_THAT(Lines(), SizeIs(3)) << "nobody waits for the next probe";
  EXPECT_EQ(process_->observer.recovered, 1);
}

TEST_F(ShardWorkerBreakerTest, AWriteThatIsHeldBackIsTold) {
  for (int i = 0; i < 3; ++i) {
    breaker_->Ask(executor_.clock().SteadyNow())
        .permit->Fail(executor_.clock().SteadyNow());
  }
  is_up_ = true;
  StartBehindBreaker();
  SendChunks(0, {"a"});
  executor_.RunUntilIdle();
  EXPECT_THAT(process_->observer.retries, IsEmpty());
  ASSERT_THAT(process_->observer.held_back, SizeIs(1));
  EXPECT_THAT(std::string(process_->observer.held_back[0].message()),
              AllOf(HasSubstr("breaker is open"),
                    HasSubstr("other writes to it have failed")));
  EXPECT_EQ(process_->observer.next_attempt,
            executor_.clock().SteadyNow() + kOpenFor);
  executor_.Advance(kOpenFor);
  EXPECT_EQ(process_->observer.recovered, 1);
}

TEST_F(ShardWorkerBreakerTest, AWriteThatIsHeldBackAgainNamesItsOwnError) {
  StartBehindBreaker(/*writers=*/1);
  SendChunks(0, {"a"});
  executor_.RunUntilIdle();
  // Others open it before this one tries again.
  for (int i = 0; i < 2; ++i) {
    breaker_->Ask(executor_.clock().SteadyNow())
        .permit->Fail(executor_.clock().SteadyNow());
  }
  executor_.Advance(absl::Seconds(1));
  ASSERT_THAT(process_->observer.held_back, SizeIs(1));
  EXPECT_THAT(std::string(process_->observer.held_back[0].message()),
              AllOf(HasSubstr("breaker is open"), HasSubstr("down")));
}

TEST_F(ShardWorkerBreakerTest, WhatStopStillWritesDoesNotWait) {
  // One writer: the second batch begins only when the first one is confirmed.
  StartBehindBreaker(/*writers=*/1);
  SendChunks(0, {"a", "b"});
  executor_.RunUntilIdle();
  for (int i = 0; i < 2; ++i) {
    breaker_->Ask(executor_.clock().SteadyNow())
        .permit->Fail(executor_.clock().SteadyNow());
  }
  is_up_ = true;
  const auto report = Stop(absl::Seconds(1));
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, IsEmpty());
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace penstock::core
