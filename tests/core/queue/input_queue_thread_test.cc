#include "core/queue/input_queue.h"

#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "tests/support/make_batch.h"
#include "tests/support/recording_consumer.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::IsEmpty;
using Transcript = RecordingConsumer::Transcript;

constexpr uint32_t kPushers = 4;
constexpr int64_t kBatches = 500;

// Batch `index` of a pusher: 1 to 3 records with rising offsets.
RecordBatch BatchOf(uint32_t pusher, int64_t index) {
  std::vector<std::string> values;
  for (int64_t i = 0; i <= index % 3; ++i) {
    values.push_back(absl::StrCat(pusher, "/", index, "/", i));
  }
  return MakeValueBatch(values, pusher, index * 3);
}

uint64_t RecordsOfAll() {
  uint64_t records = 0;
  for (int64_t i = 0; i < kBatches; ++i) {
    records += static_cast<uint64_t>(1 + i % 3);
  }
  return kPushers * records;
}

bool SomethingIsStaged(const Transcript& seen) {
  return seen.buffered != seen.extended;
}

// Each pusher's records came completely and in its order (INV-4, INV-8).
void ExpectAllInOrder(const Transcript& seen) {
  EXPECT_THAT(seen.violations, IsEmpty());
  EXPECT_EQ(seen.buffered, seen.extended);
  EXPECT_EQ(seen.extended.records, RecordsOfAll());
  std::vector<int64_t> last(kPushers, -1);
  for (const RecordingConsumer::RecordedStep& step : seen.steps) {
    for (const OwnedRecord& record : step.records) {
      ASSERT_GT(record.offset, last[record.partition]);
      last[record.partition] = record.offset;
    }
  }
}

// What the seed's lock across push and Buffered is for: whoever hears that
// records are buffered finds them in the queue.
TEST(InputQueueThreadTest, WhatIsReportedAsBufferedIsThereToFlush) {
  RecordingConsumer consumer;
  InputQueue<int64_t> queue(consumer);
  std::vector<std::unique_ptr<Thread>> pushers;
  for (uint32_t id = 0; id < kPushers; ++id) {
    pushers.push_back(
        std::make_unique<Thread>("pusher", [&queue, id](std::stop_token) {
          for (int64_t i = 0; i < kBatches; ++i) {
            queue.PushWithAux(BatchOf(id, i), {}, absl::UnixEpoch(), i);
          }
        }));
  }
  uint64_t flushed = 0;
  while (flushed < RecordsOfAll()) {
    ASSERT_TRUE(consumer.WaitUntil(SomethingIsStaged));
    const uint64_t buffered = consumer.transcript().buffered.records;
    const FlushResult<int64_t> result = queue.FlushWithAux();
    flushed += result.total.records;
    ASSERT_GE(flushed, buffered);
    consumer.Extended(result.total, std::nullopt, {});
  }
  for (const auto& pusher : pushers) pusher->Join();
  ExpectAllInOrder(consumer.transcript());
  EXPECT_TRUE(queue.IsEmpty());
  EXPECT_EQ(queue.QueuedBytes(), 0u);
}

TEST(InputQueueThreadTest, QueueSplitsWhileOthersPush) {
  RecordingConsumer consumer(std::nullopt, {.batch_records_max = 5});
  InputQueue<> queue(consumer);
  std::vector<std::unique_ptr<Thread>> pushers;
  for (uint32_t id = 0; id < kPushers; ++id) {
    pushers.push_back(
        std::make_unique<Thread>("pusher", [&queue, id](std::stop_token) {
          for (int64_t i = 0; i < kBatches; ++i) {
            queue.Push(BatchOf(id, i), {}, absl::UnixEpoch());
          }
        }));
  }
  uint64_t flushed = 0;
  while (flushed < RecordsOfAll()) {
    ASSERT_TRUE(consumer.WaitUntil(SomethingIsStaged));
    queue.Queue();
    const uint64_t amount = consumer.transcript().steps.back().amount.records;
    ASSERT_LE(amount, 5u);
    flushed += amount;
  }
  for (const auto& pusher : pushers) pusher->Join();
  ExpectAllInOrder(consumer.transcript());
}

// How a reader with a thread stops when the queue is full, and goes on.
class RoomWaiter {
 public:
  void Wake() ABSL_LOCKS_EXCLUDED(mu_) {
    { MutexLock lock(mu_); }
    changed_.NotifyAll();
  }
  // Blocks: until `queue` has room.
  template <typename Queue>
  void WaitForRoom(Queue& queue) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    changed_.Wait(mu_, [&queue] { return !queue.IsFull(); });
  }

 private:
  Mutex mu_;
  CondVar changed_;
};

TEST(InputQueueThreadTest, ReadersStopWhenItIsFullAndLoseNoWakeUp) {
  const uint64_t each = BatchOf(0, 2).MemoryBytes();
  const uint64_t bytes_max = 3 * each;
  RecordingConsumer consumer(FtModel::kExactlyOnce,
                             {.queued_bytes_max = bytes_max});
  RoomWaiter waiter;
  InputQueue<int64_t> queue(consumer, [&waiter] { waiter.Wake(); });
  std::atomic<uint64_t> bytes_seen_max = 0;
  std::vector<std::unique_ptr<Thread>> pushers;
  for (uint32_t id = 0; id < kPushers; ++id) {
    pushers.push_back(
        std::make_unique<Thread>("pusher", [&, id](std::stop_token) {
          for (int64_t i = 0; i < kBatches; ++i) {
            waiter.WaitForRoom(queue);
            queue.PushWithAux(BatchOf(id, i), {}, absl::UnixEpoch(), i);
            const uint64_t bytes = queue.QueuedBytes();
            uint64_t most = bytes_seen_max.load();
            while (bytes > most &&
                   !bytes_seen_max.compare_exchange_weak(most, bytes)) {
            }
          }
        }));
  }
  uint64_t flushed = 0;
  while (flushed < RecordsOfAll()) {
    ASSERT_TRUE(consumer.WaitUntil(SomethingIsStaged)) << "a lost wake-up";
    const FlushResult<int64_t> result = queue.FlushWithAux();
    flushed += result.total.records;
    consumer.Extended(result.total, std::nullopt, {});
  }
  for (const auto& pusher : pushers) pusher->Join();
  ExpectAllInOrder(consumer.transcript());
  // The limit plus one buffer of each pusher (INV-6).
  EXPECT_LE(bytes_seen_max.load(), bytes_max + kPushers * each);
}

}  // namespace
}  // namespace penstock::core
