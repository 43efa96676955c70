#include "core/connector/consumer.h"

#include "core/base/error.h"
#include "core/base/strand.h"
#include "tests/core/connector/harness.h"
#include "tests/support/make_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class ConsumerTest : public testing::Test {
 protected:
  ConsumerTest() {
    waker_ = std::make_shared<Waker>(strand_, [this] {
      ++wakes_;
      waker_->Begin();
      waker_->End();
    });
    Consumer::Options options;
    options.level = FtModel::kExactlyOnce;
    options.queued_bytes_max = 1000;
    options.estimator = std::make_unique<LineEncoder>();
    options.budget = budget_;
    options.waker = waker_;
    options.completed = std::make_shared<CountWatch>(0);
    options.checkpointed = std::make_shared<CountWatch>(0);
    options.on_changed = [this] { ++changes_; };
    consumer_ =
        std::make_unique<Consumer>(std::move(options), executor_.clock());
  }

  static constexpr uint64_t kBudget = 200;

  // Ten bytes of payload, eleven encoded; until then it holds more.
  static RecordBatch Ten() { return MakeValueBatch({"0123456789"}); }
  // Buffers, admits and flushes a batch. False: not admitted.
  bool Offer(RecordBatch batch) {
    consumer_->Buffered(batch.size());
    if (!consumer_->Admit(batch)) return false;
    consumer_->Flush(std::move(batch));
    return true;
  }
  void Answer(BufferSize amount) {
    consumer_->Extended(
        amount, Resume(Resume::Replay{.seek = "1", .replay = "", .hash = 2}),
        {});
  }
  int TakeWakes() {
    executor_.RunUntilIdle();
    return std::exchange(wakes_, 0);
  }

  ManualExecutor executor_;
  std::shared_ptr<Strand> strand_ = std::make_shared<Strand>(executor_);
  std::shared_ptr<InflightBudget> budget_ = std::make_shared<InflightBudget>(
      InflightBudget::Options{.limit = kBudget});
  int wakes_ = 0;
  int changes_ = 0;
  std::shared_ptr<Waker> waker_;
  std::unique_ptr<Consumer> consumer_;
};

TEST_F(ConsumerTest, GivesAHasherInExactlyOnce) {
  EXPECT_TRUE(consumer_->Hasher().has_value());
}

TEST_F(ConsumerTest, AnswerCarriesWhatWasFlushedAndReserved) {
  consumer_->BeginQueue(StepCaps());
  EXPECT_TRUE(Offer(Ten()));
  EXPECT_TRUE(Offer(Ten()));
  const uint64_t held = Ten().MemoryBytes();
  ASSERT_GT(held, 11u);
  EXPECT_EQ(budget_->usage(), 2 * held);
  Answer({.records = 2, .bytes = 20});
  const ReaderNews news = consumer_->TakeNews();
  ASSERT_TRUE(news.extended.has_value());
  EXPECT_THAT(news.extended->batches, SizeIs(2));
  EXPECT_EQ(news.extended->reservation.bytes(), 2 * held);
  EXPECT_FALSE(news.extended->stopped_by_budget);
  EXPECT_EQ(TakeWakes(), 1);
}

TEST_F(ConsumerTest, BufferThatDoesNotFitIsNotAdmitted) {
  consumer_->BeginQueue(StepCaps());
  const BudgetLease other =
      budget_->ForceReserve(kBudget - Ten().MemoryBytes());
  EXPECT_TRUE(Offer(Ten()));
  EXPECT_FALSE(Offer(Ten()));
  Answer({.records = 1, .bytes = 10});
  const ReaderNews news = consumer_->TakeNews();
  EXPECT_TRUE(news.extended->stopped_by_budget);
  EXPECT_EQ(consumer_->totals().queued.records, 1u);
}

// Parts of one storage keep it alive together.
TEST_F(ConsumerTest, PartsOfOneStorageReserveItOnce) {
  consumer_->BeginQueue(StepCaps());
  RecordBatch rest = MakeValueBatch({"0123456789", "0123456789"});
  const uint64_t held = rest.MemoryBytes();
  ASSERT_GT(held, 11u);
  EXPECT_TRUE(Offer(rest.TakeSome(1)));
  EXPECT_TRUE(Offer(std::move(rest)));
  EXPECT_EQ(budget_->usage(), held + 11);
}

TEST_F(ConsumerTest, OneBufferIsAlwaysAdmittedWithNothingInFlight) {
  consumer_->BeginQueue(
      StepCaps{.payload_bytes_max = 1, .reserved_bytes_max = 1});
  EXPECT_TRUE(Offer(MakeValueBatch({std::string(1000, 'x')})));
  EXPECT_FALSE(Offer(Ten()));
}

TEST_F(ConsumerTest, StepEndsBeforeItsLimits) {
  consumer_->BeginQueue(
      StepCaps{.payload_bytes_max = 25, .reserved_bytes_max = 1000});
  EXPECT_TRUE(Offer(Ten()));
  EXPECT_TRUE(Offer(Ten()));
  EXPECT_FALSE(Offer(Ten()));
  Answer({.records = 2, .bytes = 20});
  EXPECT_TRUE(consumer_->TakeNews().extended->stopped_by_size);
}

TEST_F(ConsumerTest, ReplayAdmitsEverythingAndReservesNothing) {
  const BudgetLease other = budget_->ForceReserve(kBudget);
  consumer_->BeginReplay();
  EXPECT_TRUE(Offer(Ten()));
  consumer_->Replayed({.records = 1, .bytes = 10}, 77);
  const ReaderNews news = consumer_->TakeNews();
  ASSERT_TRUE(news.replayed.has_value());
  EXPECT_EQ(news.replayed->hash, 77u);
  EXPECT_EQ(news.replayed->reservation.bytes(), 0u);
  EXPECT_EQ(consumer_->totals().replayed.records, 1u);
}

TEST_F(ConsumerTest, WakesOnceForTheFirstBufferAndOnceForTheMark) {
  consumer_->WatchStaged({.records = 3, .bytes = UINT64_MAX});
  consumer_->Buffered({.records = 1, .bytes = 10});
  EXPECT_EQ(TakeWakes(), 1);
  consumer_->WatchStaged({.records = 3, .bytes = UINT64_MAX});
  consumer_->Buffered({.records = 1, .bytes = 10});
  EXPECT_EQ(TakeWakes(), 0);
  consumer_->Buffered({.records = 1, .bytes = 10});
  EXPECT_EQ(TakeWakes(), 1);
}

TEST_F(ConsumerTest, WakesForTheFirstBufferOnlyIfNobodyWaits) {
  consumer_->Buffered({.records = 1, .bytes = 10});
  EXPECT_EQ(TakeWakes(), 1);
  consumer_->Buffered({.records = 1, .bytes = 10});
  EXPECT_EQ(TakeWakes(), 0);
  EXPECT_EQ(changes_, 2);
}

// Who was told that there is enough and still waits, waits for room.
TEST_F(ConsumerTest, DoesNotWakeForMoreThanEnough) {
  consumer_->Buffered({.records = 3, .bytes = 30});
  EXPECT_EQ(TakeWakes(), 1);
  consumer_->WatchStaged({.records = 3, .bytes = UINT64_MAX});
  for (int i = 0; i < 100; ++i) {
    consumer_->Buffered({.records = 1, .bytes = 10});
    EXPECT_EQ(TakeWakes(), 0);
    consumer_->WatchStaged({.records = 3, .bytes = UINT64_MAX});
  }
  consumer_->EndOfInput();
  EXPECT_EQ(TakeWakes(), 1);
}

TEST_F(ConsumerTest, BuffersWithoutRecordsWakeNobody) {
  consumer_->Buffered({});
  EXPECT_EQ(TakeWakes(), 0);
  EXPECT_EQ(consumer_->staged().since, absl::InfiniteFuture());
}

// Only an answer can leave nothing staged, so first buffers are no more than
// answers, and one.
TEST_F(ConsumerTest, WakesForAFirstBufferOnceForEachAnswer) {
  for (int round = 0; round < 3; ++round) {
    consumer_->BeginQueue(StepCaps());
    EXPECT_TRUE(Offer(Ten()));
    EXPECT_TRUE(Offer(Ten()));
    EXPECT_EQ(TakeWakes(), 1);
    Answer({.records = 2, .bytes = 20});
    EXPECT_EQ(TakeWakes(), 1);
    (void)consumer_->TakeNews();
  }
}

TEST_F(ConsumerTest, AnAbandonedOneWakesForNoBuffer) {
  consumer_->Abandon();
  consumer_->Buffered({.records = 1, .bytes = 10});
  EXPECT_EQ(TakeWakes(), 0);
}

TEST_F(ConsumerTest, SaysSinceWhenSomethingIsStaged) {
  EXPECT_EQ(consumer_->staged().since, absl::InfiniteFuture());
  executor_.Advance(absl::Seconds(1));
  const absl::Time first = executor_.clock().SteadyNow();
  consumer_->Buffered({.records = 1, .bytes = 10});
  executor_.Advance(absl::Seconds(1));
  consumer_->Buffered({.records = 1, .bytes = 10});
  EXPECT_EQ(consumer_->staged().since, first);
}

TEST_F(ConsumerTest, RequestBelongsToTheNextQueue) {
  consumer_->RequestStep();
  EXPECT_TRUE(consumer_->staged().step_requested);
  consumer_->BeginQueue(StepCaps());
  EXPECT_FALSE(consumer_->staged().step_requested);
  Answer({});
  EXPECT_TRUE(consumer_->TakeNews().extended->requested);
}

// Bad records at the very end: their position comes behind the flush.
TEST_F(ConsumerTest, AStepRequestedWhileOneIsFlushedIsTheLast) {
  consumer_->BeginQueue(StepCaps());
  consumer_->RequestStep();
  consumer_->EndOfInput();
  Answer({});
  EXPECT_FALSE(consumer_->TakeNews().extended->end_of_input);
  consumer_->BeginQueue(StepCaps());
  Answer({});
  EXPECT_TRUE(consumer_->TakeNews().extended->end_of_input);
}

TEST_F(ConsumerTest, RequestOfABlockedQueueIsKept) {
  consumer_->RequestStep();
  const BudgetLease other = budget_->ForceReserve(kBudget);
  consumer_->BeginQueue(StepCaps());
  EXPECT_FALSE(Offer(Ten()));
  Answer({});
  EXPECT_TRUE(consumer_->staged().step_requested);
}

// It was asked for two steps ago: their records left no room for it, and the
// last one would have been taken for the end.
TEST_F(ConsumerTest, BadRecordsBehindTheLastRecordGetAStepHoweverLate) {
  RecordBatch bad;
  bad.AddBadRecords({BadRecord()});
  consumer_->RequestStep();
  consumer_->EndOfInput();
  consumer_->Buffered({.records = 2, .bytes = 20});
  const StepCaps small = {.payload_bytes_max = 5, .reserved_bytes_max = 1000};
  for (int i = 0; i < 2; ++i) {
    consumer_->BeginQueue(small);
    EXPECT_TRUE(consumer_->Admit(Ten()));
    consumer_->Flush(Ten());
    if (i == 1) {
      EXPECT_FALSE(consumer_->Admit(bad));
    }
    Answer({.records = 1, .bytes = 10});
    EXPECT_FALSE(consumer_->TakeNews().extended->end_of_input);
  }
  EXPECT_TRUE(consumer_->staged().step_requested);
  consumer_->BeginQueue(small);
  EXPECT_TRUE(consumer_->Admit(bad));
  consumer_->Flush(std::move(bad));
  Answer({});
  const ReaderNews news = consumer_->TakeNews();
  EXPECT_TRUE(news.extended->end_of_input);
  EXPECT_THAT(news.extended->bad_records, SizeIs(1));
}

TEST_F(ConsumerTest, EndOfInputIsOnTheStepThatLeavesNothing) {
  consumer_->BeginQueue(StepCaps());
  EXPECT_TRUE(Offer(Ten()));
  consumer_->Buffered({.records = 1, .bytes = 10});
  consumer_->EndOfInput();
  Answer({.records = 1, .bytes = 10});
  EXPECT_FALSE(consumer_->TakeNews().extended->end_of_input);
  consumer_->BeginQueue(StepCaps());
  EXPECT_TRUE(consumer_->Admit(Ten()));
  consumer_->Flush(Ten());
  Answer({.records = 1, .bytes = 10});
  EXPECT_TRUE(consumer_->TakeNews().extended->end_of_input);
}

TEST_F(ConsumerTest, AbandonedStepIsDiscardedAndReturnsItsRoom) {
  consumer_->BeginQueue(StepCaps());
  EXPECT_TRUE(Offer(Ten()));
  consumer_->Abandon();
  EXPECT_EQ(budget_->usage(), 0u);
  EXPECT_TRUE(Offer(Ten()));
  Answer({.records = 2, .bytes = 20});
  EXPECT_FALSE(consumer_->TakeNews().extended.has_value());
  const InputTotals totals = consumer_->totals();
  EXPECT_EQ(totals.records_discarded, 2u);
  EXPECT_EQ(totals.extended.records, 2u);
  EXPECT_EQ(totals.queued.records, 0u);
}

struct Breach {
  std::string name;
  std::function<void(Consumer&)> act;
  std::string what;
};

std::string BreachName(const testing::TestParamInfo<Breach>& info) {
  return info.param.name;
}

class ConsumerBreachTest : public ConsumerTest,
                           public testing::WithParamInterface<Breach> {};

TEST_P(ConsumerBreachTest, IsReportedAsABugOfTheSource) {
  GetParam().act(*consumer_);
  const ReaderNews news = consumer_->TakeNews();
  ASSERT_FALSE(news.errors.empty());
  EXPECT_TRUE(news.errors[0].fatal);
  EXPECT_TRUE(HasReason(news.errors[0].status, Reason::INTERNAL));
  EXPECT_THAT(std::string(news.errors[0].status.message()),
              HasSubstr(GetParam().what));
  EXPECT_EQ(TakeWakes(), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Breaches, ConsumerBreachTest,
    testing::Values(Breach{"FlushWithoutQueue",
                           [](Consumer& c) { c.Flush(MakeValueBatch({"x"})); },
                           "without a Queue"},
                    Breach{
                        "ExtendedWithoutQueue",
                        [](Consumer& c) { c.Extended({}, std::nullopt, {}); },
                        "answered Queue when it was asked no command"},
                    Breach{"ReplayedInAnswerToQueue",
                           [](Consumer& c) {
                             c.BeginQueue(StepCaps());
                             c.Replayed({}, 0);
                           },
                           "answered Replay when it was asked Queue"},
                    Breach{"MoreReportedThanFlushed",
                           [](Consumer& c) {
                             c.Buffered({.records = 5, .bytes = 5});
                             c.BeginQueue(StepCaps());
                             c.Extended({.records = 5, .bytes = 5},
                                        std::nullopt, {});
                           },
                           "but flushed 0"},
                    Breach{"MoreFlushedThanBuffered",
                           [](Consumer& c) {
                             c.BeginQueue(StepCaps());
                             RecordBatch batch = MakeValueBatch({"x"});
                             const BufferSize size = batch.size();
                             c.Flush(std::move(batch));
                             c.Extended(size, std::nullopt, {});
                           },
                           "had only 0 (0) buffered"}),
    BreachName);

TEST_F(ConsumerTest, SamplesAreBoundedButAFatalErrorIsNeverLost) {
  for (int i = 0; i < 1000; ++i) {
    consumer_->Error(false, absl::UnknownError("noise"), "noise");
  }
  consumer_->Error(true, absl::UnknownError("the end"), "end");
  consumer_->Error(true, absl::UnknownError("what follows from it"), "end");
  const ReaderNews news = consumer_->TakeNews();
  EXPECT_THAT(news.errors, SizeIs(Consumer::kSamplesMax));
  EXPECT_TRUE(news.errors.back().fatal);
  EXPECT_EQ(news.errors.back().status.message(), "the end");
}

TEST_F(ConsumerTest, TransactionsThatNobodyHearsAreBounded) {
  for (int i = 0; i < 1000; ++i) {
    consumer_->StartTransaction("label");
    consumer_->CommitTransaction();
  }
  const ReaderNews news = consumer_->TakeNews();
  EXPECT_THAT(news.transactions, SizeIs(Consumer::kSamplesMax));
  ASSERT_THAT(news.errors, SizeIs(1));
  EXPECT_TRUE(news.errors[0].fatal);
  EXPECT_THAT(news.errors[0].status, HasReason(Reason::INTERNAL));
}

}  // namespace
}  // namespace penstock::core
