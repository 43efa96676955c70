// InputQueue::Queue, which splits buffers and answers by itself.
#include "core/queue/input_queue.h"

#include "tests/support/make_batch.h"
#include "tests/support/recording_consumer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using PlainQueue = InputQueue<>;
using RecordedStep = RecordingConsumer::RecordedStep;

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

std::vector<std::string> ValuesOf(const RecordedStep& step) {
  std::vector<std::string> values;
  for (const OwnedRecord& record : step.records) {
    values.push_back(record.value.value_or("(null)"));
  }
  return values;
}

// One Queue; what it flushed.
std::vector<std::string> QueueOnce(PlainQueue& queue,
                                   const RecordingConsumer& consumer) {
  queue.Queue();
  return ValuesOf(consumer.transcript().steps.back());
}

class QueueCommandTest : public testing::Test {
 protected:
  void SetMax(uint64_t records) {
    consumer_.SetLimits({.batch_records_max = records});
  }
  void Push(const std::vector<std::string>& values, int64_t seconds = 0) {
    queue_.Push(MakeValueBatch(values), {}, At(seconds));
  }
  std::vector<std::string> Queue() { return QueueOnce(queue_, consumer_); }
  RecordedStep last() const { return consumer_.transcript().steps.back(); }
  std::vector<std::string> violations() const {
    return consumer_.transcript().violations;
  }

  RecordingConsumer consumer_{std::nullopt};
  PlainQueue queue_{consumer_};
};

// Seed: "flushes a batch of records to the circuit and reports to the consumer
// that it was done".
TEST_F(QueueCommandTest, FlushesAndReportsOnce) {
  Push({"a", "b"});
  Push({"c"});
  EXPECT_THAT(Queue(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(consumer_.transcript().steps, SizeIs(1));
  EXPECT_EQ(last().amount, (BufferSize{.records = 3, .bytes = 3}));
  EXPECT_FALSE(last().resume.has_value());
}

TEST_F(QueueCommandTest, AnswersAlsoWhenThereIsNothing) {
  EXPECT_THAT(Queue(), IsEmpty());
  EXPECT_THAT(consumer_.transcript().steps, SizeIs(1));
}

TEST_F(QueueCommandTest, ReportsAWatermarkForEachBuffer) {
  Push({"a"}, 1);
  Push({"b"}, 2);
  queue_.PushEntry({.timestamp = At(3)}, {});
  Queue();
  EXPECT_THAT(
      last().watermarks,
      ElementsAre(Watermark{.timestamp = At(1), .metadata = std::nullopt},
                  Watermark{.timestamp = At(2), .metadata = std::nullopt}));
}

TEST_F(QueueCommandTest, SplitsTheBufferThatWouldExceedTheLimit) {
  SetMax(2);
  Push({"a", "b", "c", "d", "e"}, 7);
  EXPECT_THAT(Queue(), ElementsAre("a", "b"));
  EXPECT_THAT(Queue(), ElementsAre("c", "d"));
  EXPECT_THAT(Queue(), ElementsAre("e"));
  for (const RecordedStep& step : consumer_.transcript().steps) {
    ASSERT_THAT(step.watermarks, SizeIs(1));
    EXPECT_EQ(step.watermarks[0].timestamp, At(7));
  }
  EXPECT_TRUE(queue_.IsEmpty());
}

// Seed test take_some_keeps_partially_drained_buffer.
TEST_F(QueueCommandTest, KeepsTheRestOfAPartlyDrainedBuffer) {
  Push({"a", "b", "c"});
  Push({"d", "e", "f", "g", "h"});
  SetMax(5);
  EXPECT_THAT(Queue(), SizeIs(5));
  EXPECT_EQ(queue_.QueuedSize().records, 3u);
}

// The defect feldera#6709: drained one at a time, 1, 4, 6 was all that came.
TEST_F(QueueCommandTest, DrainedOneAtATimeNothingIsLost) {
  Push({"1", "2", "3"});
  Push({"4", "5"});
  Push({"6", "7", "8", "9"});
  SetMax(1);
  std::vector<std::string> all;
  for (int i = 0; i < 9; ++i) {
    const std::vector<std::string> one = Queue();
    ASSERT_THAT(one, SizeIs(1));
    all.push_back(one[0]);
  }
  EXPECT_THAT(all, ElementsAre("1", "2", "3", "4", "5", "6", "7", "8", "9"));
  EXPECT_THAT(Queue(), IsEmpty());
}

// Seed test take_some_loses_no_records_across_batches: batches of 1 to 9 over
// buffers of 3, 2 and 4.
class QueueBatchSizeTest : public QueueCommandTest,
                           public testing::WithParamInterface<uint64_t> {};

TEST_P(QueueBatchSizeTest, LosesNothing) {
  Push({"1", "2", "3"});
  Push({"4", "5"});
  Push({"6", "7", "8", "9"});
  SetMax(GetParam());
  std::vector<std::string> all;
  while (!queue_.IsEmpty()) {
    const std::vector<std::string> some = Queue();
    ASSERT_LE(some.size(), GetParam());
    all.insert(all.end(), some.begin(), some.end());
  }
  EXPECT_THAT(all, ElementsAre("1", "2", "3", "4", "5", "6", "7", "8", "9"));
  EXPECT_EQ(consumer_.transcript().buffered, consumer_.transcript().extended);
}

INSTANTIATE_TEST_SUITE_P(Sizes, QueueBatchSizeTest,
                         testing::Range(uint64_t{1}, uint64_t{10}));

// Seed: the rest of a split buffer keeps commit_transaction and has no start.
TEST_F(QueueCommandTest, ASplitLeavesTheCommitWithTheRest) {
  SetMax(2);
  queue_.PushEntry({.buffer = MakeValueBatch({"a", "b", "c"}),
                    .start_transaction = std::optional<std::string>("t"),
                    .commit_transaction = true},
                   {});
  Queue();
  EXPECT_THAT(last().starts, SizeIs(1));
  EXPECT_EQ(last().commits, 0u);
  Queue();
  EXPECT_THAT(last().starts, IsEmpty());
  EXPECT_EQ(last().commits, 1u);
  EXPECT_THAT(violations(), IsEmpty());
}

TEST_F(QueueCommandTest, ACommitEndsTheBatch) {
  queue_.PushEntry({.buffer = MakeValueBatch({"a"}),
                    .start_transaction = std::optional<std::string>(),
                    .commit_transaction = true},
                   {});
  Push({"b"});
  EXPECT_THAT(Queue(), ElementsAre("a"));
  EXPECT_THAT(Queue(), ElementsAre("b"));
}

// In the seed such a commit stays behind until more records come, and the
// transaction open.
TEST_F(QueueCommandTest, ACommitWithoutBufferIsTakenAlsoAfterTheLimit) {
  SetMax(1);
  queue_.PushEntry({.buffer = MakeValueBatch({"a"}),
                    .start_transaction = std::optional<std::string>()},
                   {});
  queue_.PushEntry({.commit_transaction = true}, {});
  Queue();
  EXPECT_EQ(last().commits, 1u);
  EXPECT_TRUE(queue_.IsEmpty());
}

TEST_F(QueueCommandTest, StopsAtTheByteLimitWithoutSplitting) {
  consumer_.SetLimits({.batch_bytes_max = 3});
  Push({"aa", "bb"});
  Push({"c"});
  EXPECT_THAT(Queue(), ElementsAre("aa", "bb"));
  EXPECT_THAT(Queue(), ElementsAre("c"));
}

TEST_F(QueueCommandTest, ARefusedPartStaysInFrontOfTheRest) {
  SetMax(2);
  consumer_.AdmitAtMost(0);
  queue_.PushEntry({.buffer = MakeValueBatch({"a", "b", "c"}),
                    .start_transaction = std::optional<std::string>(),
                    .commit_transaction = true},
                   {});
  EXPECT_THAT(Queue(), IsEmpty());
  EXPECT_THAT(last().starts, IsEmpty());
  EXPECT_EQ(queue_.QueuedSize().records, 3u);
  consumer_.AdmitAtMost(std::nullopt);
  SetMax(100);
  EXPECT_THAT(Queue(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(last().commits, 1u);
  EXPECT_THAT(violations(), IsEmpty());
}

}  // namespace
}  // namespace penstock::core
