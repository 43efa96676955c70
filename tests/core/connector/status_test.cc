// The snapshot, the accounting (INV-8), and what observers are told.
#include "core/base/random.h"
#include "tests/core/connector/harness.h"
#include "tests/support/test_rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::core {
namespace {

using testing::ElementsAre;

void ExpectAccounted(Harness& harness) {
  const ConnectorStatus status = harness.Status();
  const BufferSize accounted =
      status.extended_total + status.replayed_total + status.queued;
  EXPECT_EQ(status.buffered_total, accounted);
  if (harness.source.has_reader()) {
    EXPECT_EQ(status.queued, harness.source.staged());
  }
  EXPECT_EQ(
      status.extended_total.records + status.replayed_total.records,
      status.records_out + status.records_skipped + status.records_discarded);
}

TEST(StatusTest, ShowsTheLifeOfAStep) {
  Harness harness;
  harness.MustOpen();
  harness.MustExtend();
  harness.source.AppendNumbered("k", 25);
  ConnectorStatus status = harness.Status();
  EXPECT_EQ(status.name, "connector");
  EXPECT_EQ(status.pipeline, "pipeline");
  EXPECT_EQ(status.state, ConnectorState::kRunning);
  EXPECT_EQ(status.queued.records, 25u);
  EXPECT_FALSE(status.running_step.has_value());

  harness.MustQueue(3);
  status = harness.Status();
  EXPECT_EQ(status.queued.records, 0u);
  EXPECT_EQ(status.extended_total.records, 25u);
  EXPECT_EQ(status.records_out, 25u);
  EXPECT_EQ(status.made_steps, 4u);
  EXPECT_THAT(status.retained_steps, ElementsAre(3));
  EXPECT_GT(status.retained_bytes, 0u);
  EXPECT_GT(status.inflight_bytes, 0u);
  ASSERT_EQ(status.shards.size(), 2u);
  EXPECT_GT(status.shards[0].held_bytes + status.shards[1].held_bytes, 0u);

  EXPECT_OK(harness.Release(4).status());
  EXPECT_OK(harness.Prepare(4).status());
  status = harness.Status();
  EXPECT_EQ(status.inflight_bytes, 0u);
  EXPECT_EQ(status.retained_bytes, 0u);
  EXPECT_EQ(status.completed_steps, 4u);
  EXPECT_EQ(status.shards[0].progress, 4u);
  EXPECT_EQ(status.shards[1].progress, 4u);
}

TEST(StatusTest, ShowsTheQueueThatIsOutstanding) {
  Harness harness;
  harness.MustOpen();
  harness.MustExtend();
  harness.QueueStep(5, absl::Seconds(10));
  EXPECT_EQ(harness.Status().running_step, 5u);
}

TEST(StatusTest, ObserverIsToldOnceUntilItLooks) {
  Harness harness;
  harness.MustOpen();
  harness.Status();
  const int before = harness.events->changes;
  harness.MustExtend();
  harness.source.AppendNumbered("k", 100);
  EXPECT_EQ(harness.events->changes, before + 1);
  harness.Status();
  harness.source.AppendNumbered("k", 10, 100);
  EXPECT_EQ(harness.events->changes, before + 2);
}

TEST(StatusTest, WhoeverIsAnsweredSeesAStateThatHasIt) {
  Harness harness;
  harness.MustOpen();
  std::optional<ConnectorState> seen;
  harness.connector->Extend(
      [&](const absl::Status&) { seen = harness.Status().state; });
  EXPECT_EQ(seen, ConnectorState::kRunning);
}

TEST(StatusTest, CallbackMayAskAgainAtOnce) {
  Harness harness;
  harness.source.AppendNumbered("k", 50);
  harness.MustOpen();
  harness.MustExtend();
  Answer<QueueReply> second;
  QueueRequest queue;
  queue.max_records = 10;
  harness.connector->Queue(queue, [&](const absl::StatusOr<QueueReply>& first) {
    ASSERT_OK(first.status());
    QueueRequest next;
    next.step = 1;
    next.previous_steps = 1;
    harness.connector->Queue(next, second.Callback());
  });
  harness.RunUntilIdle();
  ASSERT_OK(second.status());
  EXPECT_EQ(second->result->amount.records, 40u);
}

// Random walks over everything that moves records.
class AccountingTest : public testing::TestWithParam<int> {};

TEST_P(AccountingTest, EverythingBufferedIsSomewhere) {
  Random random(static_cast<uint64_t>(GetParam()));
  FakeSource::Options options;
  options.partitions = 3;
  options.records_per_buffer = 1 + random.Uniform(20);
  Harness harness(options);
  harness.MustOpen();
  harness.MustExtend();
  Step step = 0;
  size_t records = 0;
  for (int i = 0; i < 100; ++i) {
    switch (random.Uniform(5)) {
      case 0:
      case 1: {
        const size_t count = random.Uniform(50);
        harness.source.AppendNumbered(
            random.Bernoulli(0.1) ? "unencodable" : "k", count, records);
        records += count;
        break;
      }
      case 2: {
        QueueRequest queue;
        queue.step = step;
        queue.previous_steps = harness.made_steps();
        queue.max_records = random.Uniform(40);
        const Answer<QueueReply> answer = harness.Queue(queue);
        ASSERT_OK(answer.status());
        if (answer->result != nullptr) step += 1 + random.Uniform(3);
        break;
      }
      case 3:
        EXPECT_OK(harness.Release(harness.made_steps()).status());
        break;
      case 4:
        if (harness.state() == ConnectorState::kRunning) {
          harness.MustPause();
        } else {
          harness.MustExtend();
        }
        break;
    }
    ExpectAccounted(harness);
  }
  const ConnectorStatus before = harness.Status();
  EXPECT_OK(harness.Disconnect().status());
  ExpectAccounted(harness);
  EXPECT_EQ(harness.Status().inflight_bytes, 0u);
  EXPECT_EQ(harness.Status().extended_total, before.extended_total);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AccountingTest, testing::Range(0, 20));

TEST(AccountingTest, ReplayedRecordsAreBufferedAndReplayed) {
  Harness harness;
  harness.source.AppendNumbered("k", 25);
  harness.MustOpen();
  harness.MustExtend();
  const StepResult result = *harness.MustQueue(0);
  harness.MustClose();
  harness.request.journaled_steps = 1;
  harness.MustOpen();
  EXPECT_OK(harness.Replay(result, 0).status());
  ExpectAccounted(harness);
  EXPECT_EQ(harness.Status().replayed_total, result.amount);
}

TEST(AccountingTest, MismatchedReplayIsDiscarded) {
  Harness harness;
  harness.source.AppendNumbered("k", 25);
  harness.MustOpen();
  harness.MustExtend();
  const StepResult result = *harness.MustQueue(0);
  harness.MustClose();
  harness.source.Overwrite(0, 3, "k3:tampered");
  harness.request.journaled_steps = 1;
  harness.MustOpen();
  EXPECT_THAT(harness.Replay(result, 0).status(),
              HasReason(Reason::REPLAY_MISMATCH));
  ExpectAccounted(harness);
  EXPECT_EQ(harness.Status().records_discarded, 25u);
}

}  // namespace
}  // namespace penstock::core
