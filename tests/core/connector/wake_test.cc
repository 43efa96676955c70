// What a reader stages wakes the driver: never in vain, never too late, and not
// for every buffer.
#include "tests/core/connector/harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace penstock::core {
namespace {

// A connector that is RUNNING; its reader reads when told.
class WakeTest : public testing::Test {
 protected:
  WakeTest() : harness_(Options()) {
    harness_.request.spec.shards = 1;
    harness_.request.spec.limits.chunk_bytes = 1024;
    harness_.request.spec.limits.inflight_bytes_max = 20 << 10;
  }

  static FakeSource::Options Options() {
    FakeSource::Options options;
    options.records_per_buffer = 1;
    options.reads_itself = false;
    return options;
  }

  void Start() {
    harness_.MustOpen();
    harness_.MustExtend();
  }
  QueueRequest Request(Step step, absl::Duration wait) const {
    QueueRequest queue = harness_.RequestOf(step, wait);
    queue.min_records = 1;
    return queue;
  }
  // The next time that the driver has looked at everything and is about to
  // wait, a buffer is staged, as a reader's thread may do it just then.
  void StageBehindTheLook() {
    harness_.Status();  // So that the next change is told.
    harness_.events->on_changed = [this] {
      harness_.events->on_changed = nullptr;
      EXPECT_EQ(harness_.source.Read(1), 1u);
    };
  }

  Harness harness_;
};

TEST_F(WakeTest, WhatIsStagedBehindTheLookAnswersAWaitingQueue) {
  Start();
  harness_.source.AppendNumbered("k", 2);
  EXPECT_EQ(harness_.source.Read(1), 1u);
  ASSERT_NE(harness_.MustQueue(Request(0, absl::ZeroDuration())), nullptr);
  const Answer<QueueReply> answer = harness_.Queue(Request(1, absl::Hours(1)));
  EXPECT_FALSE(answer.came());
  StageBehindTheLook();
  // Makes the driver look.
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_EQ(harness_.events->on_changed, nullptr);
  // No time passed.
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result->amount.records, 1u);
}

TEST_F(WakeTest, WhatIsStagedBehindTheLookStallsIfNobodyQueues) {
  harness_.MustOpen();
  harness_.source.AppendNumbered("k", 1);
  StageBehindTheLook();
  harness_.MustExtend();
  EXPECT_EQ(harness_.events->on_changed, nullptr);
  harness_.Advance(absl::Seconds(61));
  EXPECT_EQ(harness_.Status().health.condition, Condition::kStalled);
}

TEST_F(WakeTest, ManyBuffersThatNobodyWaitsForAreOneRunOfTheDriver) {
  Start();
  harness_.source.AppendNumbered("k", 100);
  for (int i = 0; i < 100; ++i) harness_.source.Read(1);
  EXPECT_EQ(harness_.executor.RunUntilIdle(), 1u);
  for (int i = 0; i < 100; ++i) {
    harness_.source.AppendNumbered("k", 1);
    harness_.source.Read(1);
    EXPECT_EQ(harness_.executor.RunUntilIdle(), 0u);
  }
}

TEST_F(WakeTest, WhatIsStagedKeepsNobodyBusy) {
  Start();
  harness_.source.AppendNumbered("k", 10);
  harness_.source.Read();
  // The wake-up, and the alarm of the stall: timer and strand.
  EXPECT_LE(harness_.executor.Advance(absl::Hours(24)), 4u);
  EXPECT_EQ(harness_.executor.timer_count(), 0u);
}

TEST_F(WakeTest, BuffersBelowTheMinimumWakeAQueueOnce) {
  Start();
  QueueRequest queue = Request(0, absl::Hours(1));
  queue.min_records = 100;
  queue.linger = absl::Hours(1);
  const Answer<QueueReply> answer = harness_.Queue(queue);
  harness_.source.AppendNumbered("k", 100);
  harness_.source.Read(1);
  EXPECT_EQ(harness_.executor.RunUntilIdle(), 1u);
  for (int i = 0; i < 98; ++i) {
    harness_.source.Read(1);
    EXPECT_EQ(harness_.executor.RunUntilIdle(), 0u);
  }
  EXPECT_FALSE(answer.came());
  harness_.source.Read(1);
  harness_.RunUntilIdle();
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result->amount.records, 100u);
}

TEST_F(WakeTest, BuffersBeyondTheMinimumDoNotWakeAQueueThatWaitsForRoom) {
  Start();
  harness_.source.Append(0, {std::string(18 << 10, 'x')});
  harness_.source.Read();
  ASSERT_NE(harness_.MustQueue(0), nullptr);
  const Answer<QueueReply> answer = harness_.Queue(Request(1, absl::Hours(1)));
  harness_.source.AppendNumbered("k", 100);
  harness_.source.Read(1);
  EXPECT_EQ(harness_.executor.RunUntilIdle(), 1u);
  for (int i = 0; i < 99; ++i) {
    harness_.source.Read(1);
    EXPECT_EQ(harness_.executor.RunUntilIdle(), 0u);
  }
  EXPECT_FALSE(answer.came());
  EXPECT_OK(harness_.Release(1).status());
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result->amount.records, 100u);
}

}  // namespace
}  // namespace penstock::core
