// What a specification says of delivery, as a connector obeys it.
#include "core/base/error.h"
#include "tests/core/connector/harness.h"

#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// One shard below exactly-once over a target that takes two writes at a time.
class DeliveryTest : public testing::Test {
 protected:
  DeliveryTest() : harness_({}, {.writers_max = 2}) {
    harness_.request.spec.shards = 1;
    harness_.request.spec.level = FtModel::kAtLeastOnce;
    harness_.request.spec.limits.chunk_age = absl::Milliseconds(1);
    // Longer than any of these tests.
    delivery().batch_linger = absl::Hours(1);
  }
  DeliveryOptions& delivery() { return harness_.request.spec.delivery; }
  // Writes `records` numbered records until nothing moves any more.
  void Write(int records) {
    harness_.source.AppendNumbered("k", records);
    harness_.MustOpen();
    harness_.MustExtend();
    harness_.MustQueue(0);
    harness_.Advance(absl::Milliseconds(1));
  }
  std::vector<size_t> RowsOfBatches() {
    std::vector<size_t> rows;
    for (const auto& batch :
         harness_.database.Transactions(harness_.table(), 0)) {
      rows.push_back(batch.Rows().size());
    }
    return rows;
  }

  Harness harness_;
};

TEST_F(DeliveryTest, ABatchHasTheRowsThatWereAskedFor) {
  delivery().batch_rows_max = 3;
  Write(10);
  // The last one is not full, and lingers.
  EXPECT_THAT(RowsOfBatches(), ElementsAre(3, 3, 3));
}

TEST_F(DeliveryTest, ABatchIsWrittenAtTheBytesThatWereAskedFor) {
  delivery().batch_bytes_max = 8;
  Write(10);
  EXPECT_FALSE(RowsOfBatches().empty());
  for (const auto& batch :
       harness_.database.Transactions(harness_.table(), 0)) {
    size_t bytes = 0;
    for (const std::string& frame : batch.frames) bytes += frame.size();
    EXPECT_GE(bytes, 8u);
    // Less than one row more.
    EXPECT_LT(bytes, 8u + batch.Rows().back().size() + 1);
  }
}

TEST_F(DeliveryTest, AChunkIsNoLongerThanABatchAndTheStatusSaysSo) {
  harness_.request.spec.limits.chunk_bytes = 1024;
  delivery().batch_bytes_max = 8;
  Write(10);
  EXPECT_EQ(harness_.Status().chunk_bytes, 8u);
}

TEST_F(DeliveryTest, InExactlyOnceChunksAreAsLongAsTheirLimitSays) {
  harness_.request.spec.level = FtModel::kExactlyOnce;
  harness_.request.spec.limits.chunk_bytes = 1024;
  delivery().batch_bytes_max = 8;
  Write(10);
  EXPECT_EQ(harness_.Status().chunk_bytes, 1024u);
}

TEST_F(DeliveryTest, ABatchLingersAsLongAsWasAsked) {
  delivery().batch_linger = absl::Milliseconds(30);
  Write(10);
  harness_.Advance(absl::Milliseconds(29));
  EXPECT_THAT(RowsOfBatches(), SizeIs(0));
  harness_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(RowsOfBatches(), ElementsAre(10));
}

TEST_F(DeliveryTest, InExactlyOnceABatchIsWholeStepsAllTheSame) {
  harness_.request.spec.level = FtModel::kExactlyOnce;
  delivery().batch_rows_max = 3;
  Write(10);
  harness_.Release(1);
  EXPECT_THAT(RowsOfBatches(), ElementsAre(10));
}

TEST_F(DeliveryTest, AsManyWritesAreMadeAtATimeAsTheSinkCanDo) {
  Write(10);
  EXPECT_EQ(harness_.Status().shards[0].worker.writes_max, 2u);
}

TEST_F(DeliveryTest, NoMoreWritesAreMadeAtATimeThanWereAskedFor) {
  delivery().writes_in_flight_max = 1;
  Write(10);
  EXPECT_EQ(harness_.Status().shards[0].worker.writes_max, 1u);
}

TEST_F(DeliveryTest, MoreWritesAtATimeThanTheSinkCanDoAreRefused) {
  delivery().writes_in_flight_max = 3;
  const absl::Status status = harness_.Open().status();
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("delivery.writes_in_flight_max is 3, but of this sink "
                        "a shard has at most 2"));
}

TEST_F(DeliveryTest, InExactlyOnceTwoWritesAtATimeAreRefused) {
  harness_.request.spec.level = FtModel::kExactlyOnce;
  delivery().writes_in_flight_max = 2;
  const absl::Status status = harness_.Open().status();
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(std::string(status.message()), HasSubstr("in exactly-once"));
}

TEST_F(DeliveryTest, WhatCannotBeIsRefusedAtOpen) {
  delivery().retry.initial = absl::ZeroDuration();
  EXPECT_THAT(harness_.Open().status(), HasReason(Reason::INVALID_CONFIG));
}

TEST_F(DeliveryTest, AWriteBeyondItsDeadlineIsSaidToBeWaitedFor) {
  delivery().batch_rows_max = 1;
  delivery().write_deadline = absl::Seconds(7);
  bool looked = false;
  // It hangs while the rest of the world goes on, longer than what is a stall.
  harness_.database.SetHook([&](const FakeDatabase::Call& call)
                                -> std::optional<FakeDatabase::Fault> {
    if (call.operation != FakeDatabase::Operation::kBatchEnd) {
      return std::nullopt;
    }
    harness_.Advance(absl::Milliseconds(6'999));
    EXPECT_EQ(harness_.Status().health.condition, Condition::kOk);
    harness_.Advance(absl::Milliseconds(1));
    for (int minute = 0; minute < 2; ++minute) {
      const ConnectorStatus status = harness_.Status();
      EXPECT_EQ(status.health.condition, Condition::kDegraded);
      EXPECT_THAT(status.health.reason,
                  AllOf(HasSubstr("not done within 7s"),
                        HasSubstr("has not answered, and is waited for")));
      EXPECT_EQ(status.health.next_attempt, absl::InfinitePast());
      EXPECT_EQ(status.shards[0].worker.writes_overdue, 1u);
      harness_.Advance(absl::Minutes(1));
    }
    looked = true;
    return std::nullopt;
  });
  Write(1);
  EXPECT_TRUE(looked);
  EXPECT_EQ(harness_.Status().health.condition, Condition::kOk);
  EXPECT_EQ(harness_.Status().shards[0].worker.writes_overdue, 0u);
  EXPECT_THAT(RowsOfBatches(), ElementsAre(1));
}

TEST_F(DeliveryTest, RetriesAndBreakerAreThoseOfTheSpecification) {
  delivery().batch_rows_max = 1;
  delivery().writes_in_flight_max = 1;
  delivery().retry = {.initial = absl::Milliseconds(10),
                      .max = absl::Milliseconds(10),
                      .jitter = 0};
  delivery().breaker = {.consecutive_failures_max = 3,
                        .probe_interval = absl::Seconds(7)};
  harness_.Unreachable();
  Write(1);
  const auto breaker = [this] {
    return harness_.Status().shards[0].worker.breaker;
  };
  // One has passed.
  harness_.Advance(absl::Milliseconds(18));
  EXPECT_EQ(breaker().state, Breaker::State::kClosed);
  harness_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(breaker().state, Breaker::State::kOpen);
  EXPECT_EQ(harness_.Status().shards[0].worker.retries, 3u);
  harness_.Reachable();
  harness_.Advance(absl::Milliseconds(6'999));
  EXPECT_THAT(RowsOfBatches(), SizeIs(0));
  harness_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(RowsOfBatches(), ElementsAre(1));
}

TEST_F(DeliveryTest, WhoWaitsForTheBreakerIsDegradedUntilItsProbe) {
  harness_.request.spec.shards = 4;
  delivery().batch_rows_max = 1;
  delivery().writes_in_flight_max = 1;
  delivery().retry = {.initial = absl::Milliseconds(10),
                      .max = absl::Milliseconds(10)};
  delivery().breaker = {.consecutive_failures_max = 3,
                        .probe_interval = absl::Seconds(7)};
  harness_.Unreachable();
  Write(20);
  harness_.Advance(absl::Milliseconds(100));
  const absl::Time since = harness_.Status().health_since;
  const size_t errors = harness_.Status().errors.size();
  // Probes of one shard after the other fail meanwhile.
  for (int second = 0; second < 60; ++second) {
    const ConnectorStatus status = harness_.Status();
    ASSERT_EQ(status.health.condition, Condition::kDegraded);
    ASSERT_THAT(status.health.reason, HasSubstr("circuit breaker is open"));
    ASSERT_GT(status.health.next_attempt, harness_.executor.clock().Now());
    ASSERT_EQ(status.health_since, since);
    harness_.Advance(absl::Seconds(1));
  }
  EXPECT_LE(harness_.Status().errors.size(), errors + 60 / 7)
      << "to wait is no error";
}

}  // namespace
}  // namespace penstock::core
