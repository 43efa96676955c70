#include "core/connector/timings.h"

#include "tests/core/connector/harness.h"
#include "tests/support/status_matchers.h"

#include <gtest/gtest.h>

#include <memory>

namespace penstock::core {
namespace {

uint64_t CountOf(const Timings& timings, Timing what) {
  uint64_t count = 0;
  for (const uint64_t bucket : timings.Of(what).counts()) count += bucket;
  return count;
}

TEST(TimingsTest, EachIsByItself) {
  Timings timings;
  timings.Record(Timing::kFailOver, absl::Seconds(2));
  timings.Record(Timing::kFailOver, absl::Milliseconds(500));
  EXPECT_EQ(timings.Of(Timing::kFailOver).sum(), 2.5);
  EXPECT_EQ(CountOf(timings, Timing::kFailOver), 2u);
  EXPECT_EQ(CountOf(timings, Timing::kFirstOpen), 0u);
  EXPECT_EQ(CountOf(timings, Timing::kWorkerDrain), 0u);
}

class ConnectorTimingsTest : public testing::Test {
 protected:
  double SumOf(Timing what) const { return harness_.timings->Of(what).sum(); }
  uint64_t CountOf(Timing what) const {
    return core::CountOf(*harness_.timings, what);
  }

  Harness harness_;
};

TEST_F(ConnectorTimingsTest, AFirstOpenAndAFailOverUntilTheirFirstStep) {
  harness_.MustOpen();
  harness_.MustExtend();
  harness_.Advance(absl::Seconds(3));
  EXPECT_EQ(CountOf(Timing::kFirstOpen), 0u);
  harness_.source.AppendNumbered("k", 20, 0);
  const auto first = harness_.MustQueue(0);
  EXPECT_EQ(SumOf(Timing::kFirstOpen), 3);
  harness_.source.AppendNumbered("k", 20, 20);
  harness_.MustQueue(1);
  EXPECT_EQ(CountOf(Timing::kFirstOpen), 1u);
  EXPECT_EQ(CountOf(Timing::kQueuedStep), 2u);
  harness_.MustClose();

  harness_.request.journaled_steps = 1;
  harness_.MustOpen();
  harness_.Advance(absl::Seconds(4));
  ASSERT_OK(harness_.Replay(*first, 0).status());
  EXPECT_EQ(CountOf(Timing::kReplayedStep), 1u);
  EXPECT_EQ(CountOf(Timing::kFailOver), 0u);
  harness_.MustExtend();
  harness_.MustQueue(1);
  EXPECT_EQ(SumOf(Timing::kFailOver), 4);
  EXPECT_EQ(CountOf(Timing::kFirstOpen), 1u);
  EXPECT_EQ(CountOf(Timing::kQueuedStep), 3u);
}

TEST_F(ConnectorTimingsTest, ADrainUntilBothEndsAreClosed) {
  for (const DrainScope scope : {DrainScope::kConnector, DrainScope::kWorker}) {
    harness_.MustOpen();
    EXPECT_OK(harness_.Drain(scope).status());
    harness_.Advance(absl::Seconds(2));
    harness_.MustClose();
  }
  EXPECT_EQ(SumOf(Timing::kConnectorDrain), 2);
  EXPECT_EQ(SumOf(Timing::kWorkerDrain), 2);
  harness_.MustOpen();
  harness_.MustClose();
  EXPECT_EQ(CountOf(Timing::kConnectorDrain), 1u);
  EXPECT_EQ(CountOf(Timing::kWorkerDrain), 1u);
}

// Counted from the staging, also of what an earlier step left.
TEST_F(ConnectorTimingsTest, EndToEndBeginsWhereTheOldestRecordWasStaged) {
  harness_.MustOpen();
  harness_.MustExtend();
  harness_.source.AppendNumbered("k", 20, 0);
  harness_.RunUntilIdle();
  harness_.Advance(absl::Seconds(3));
  harness_.MustQueue(0);
  harness_.Advance(absl::Seconds(4));
  EXPECT_OK(harness_.Release(1).status());
  const AckTracker::Latencies latencies = harness_.Status().latencies;
  EXPECT_EQ(latencies.ack_seconds.sum(), 4);
  EXPECT_EQ(latencies.end_to_end_seconds.sum(), 7);
}

}  // namespace
}  // namespace penstock::core
