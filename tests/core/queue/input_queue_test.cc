#include "core/queue/input_queue.h"

#include "core/contract/ft_model.h"
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

using AuxQueue = InputQueue<std::string>;
using PlainQueue = InputQueue<>;
using Transcript = RecordingConsumer::Transcript;

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

ParseError MakeError(std::string tag) {
  ParseError error;
  error.tag = std::move(tag);
  return error;
}

std::vector<std::string> ValuesOf(const std::vector<OwnedRecord>& records) {
  std::vector<std::string> values;
  for (const OwnedRecord& record : records) {
    values.push_back(record.value.value_or("(null)"));
  }
  return values;
}

std::vector<std::string> AuxOf(const FlushResult<std::string>& result) {
  std::vector<std::string> aux;
  for (const auto& [timestamp, text] : result.aux) aux.push_back(text);
  return aux;
}

void PushAux(AuxQueue& queue, std::string aux) {
  queue.PushWithAux(std::nullopt, {}, At(0), std::move(aux));
}

void PushBatch(AuxQueue& queue, const std::vector<std::string>& values,
               std::string aux) {
  queue.PushWithAux(MakeValueBatch(values), {}, At(0), std::move(aux));
}

// Ends the running step, so that the consumer lists what was flushed.
std::vector<std::string> EndStep(RecordingConsumer& consumer,
                                 const FlushResult<std::string>& result) {
  consumer.Extended(result.total, std::nullopt, {});
  return ValuesOf(consumer.transcript().steps.back().records);
}

// --- Pushing -----------------------------------------------------------------

// Seed: "reports to the controller that errors have occurred during parsing",
// and push_entry reports the buffer's length as buffered.
TEST(InputQueuePushTest, ReportsErrorsAndWhatIsBuffered) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  queue.PushWithAux(MakeValueBatch({"a", "bc"}), {MakeError("e")}, At(0), "x");

  const Transcript seen = consumer.transcript();
  EXPECT_EQ(seen.buffered, (BufferSize{.records = 2, .bytes = 3}));
  EXPECT_THAT(seen.parse_errors, SizeIs(1));
  EXPECT_EQ(seen.request_steps, 0u);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.QueuedSize(), (BufferSize{.records = 2, .bytes = 3}));
}

// Seed: "since we didn't report any buffered records, the controller may never
// perform another step, so we nudge it to do it".
TEST(InputQueuePushTest, AnEntryWithoutBufferAsksForAStep) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  PushAux(queue, "x");

  EXPECT_EQ(consumer.transcript().request_steps, 1u);
  EXPECT_EQ(consumer.transcript().buffered_calls, 0u);
  EXPECT_EQ(queue.size(), 1u);
}

TEST(InputQueuePushTest, AnEmptyBufferAsksForAStepAndHoldsNoMemory) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  PushBatch(queue, {}, "x");

  EXPECT_EQ(consumer.transcript().request_steps, 1u);
  EXPECT_EQ(queue.QueuedBytes(), 0u);
  EXPECT_THAT(AuxOf(queue.FlushWithAux()), ElementsAre("x"));
}

TEST(InputQueuePushTest, IsEmptyUntilSomethingIsPushed) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  EXPECT_TRUE(queue.IsEmpty());
  PushAux(queue, "x");
  EXPECT_FALSE(queue.IsEmpty());
}

// Seed: push "appends buffer, if nonempty, to the queue".
TEST(InputQueuePushTest, PushWithoutRecordsAppendsNothing) {
  RecordingConsumer consumer;
  PlainQueue queue(consumer);
  queue.Push(std::nullopt, {MakeError("e")}, At(0));
  queue.Push(RecordBatch(), {}, At(0));

  EXPECT_TRUE(queue.IsEmpty());
  EXPECT_THAT(consumer.transcript().parse_errors, SizeIs(1));
  EXPECT_EQ(consumer.transcript().request_steps, 2u);
}

// --- Flushing with aux -------------------------------------------------------

// Seed: "flushes a batch of records to the circuit and returns the auxiliary
// data that was associated with those records".
TEST(InputQueueFlushTest, FlushesInOrderAndReturnsAuxAndTimestamps) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  queue.PushWithAux(MakeValueBatch({"a", "b"}), {}, At(1), "x");
  queue.PushWithAux(MakeValueBatch({"c"}), {}, At(2), "y");

  const FlushResult<std::string> result = queue.FlushWithAux();
  EXPECT_EQ(result.total, (BufferSize{.records = 3, .bytes = 3}));
  EXPECT_THAT(result.aux, ElementsAre(std::pair(At(1), std::string("x")),
                                      std::pair(At(2), std::string("y"))));
  EXPECT_FALSE(result.blocked);
  EXPECT_FALSE(result.transaction_committed);
  EXPECT_THAT(EndStep(consumer, result), ElementsAre("a", "b", "c"));
  EXPECT_TRUE(queue.IsEmpty());
  EXPECT_TRUE(queue.QueuedSize().IsEmpty());
}

TEST(InputQueueFlushTest, AnEmptyQueueFlushesNothing) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  const FlushResult<std::string> result = queue.FlushWithAux();
  EXPECT_TRUE(result.total.IsEmpty());
  EXPECT_THAT(result.aux, IsEmpty());
}

// Seed: "stops after flushing at least max_batch_size records"; "this always
// flushes whole buffers to the circuit".
TEST(InputQueueFlushTest, StopsWithTheBufferThatReachesTheRecordLimit) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.batch_records_max = 3});
  AuxQueue queue(consumer);
  PushBatch(queue, {"a", "b"}, "1");
  PushBatch(queue, {"c", "d"}, "2");
  PushBatch(queue, {"e"}, "3");

  EXPECT_THAT(AuxOf(queue.FlushWithAux()), ElementsAre("1", "2"));
  EXPECT_THAT(AuxOf(queue.FlushWithAux()), ElementsAre("3"));
}

TEST(InputQueueFlushTest, StopsWithTheBufferThatReachesTheByteLimit) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.batch_bytes_max = 5});
  AuxQueue queue(consumer);
  PushBatch(queue, {"aaa"}, "1");
  PushBatch(queue, {"bb"}, "2");
  PushBatch(queue, {"c"}, "3");

  EXPECT_THAT(AuxOf(queue.FlushWithAux()), ElementsAre("1", "2"));
  EXPECT_THAT(AuxOf(queue.FlushWithAux()), ElementsAre("3"));
}

// Seed: "process any entries with aux data only".
TEST(InputQueueFlushTest, TakesEntriesWithoutBufferAlsoAfterTheLimit) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.batch_records_max = 1});
  AuxQueue queue(consumer);
  PushBatch(queue, {"a"}, "1");
  PushAux(queue, "2");
  PushAux(queue, "3");
  PushBatch(queue, {"b"}, "4");
  PushAux(queue, "5");

  EXPECT_THAT(AuxOf(queue.FlushWithAux()), ElementsAre("1", "2", "3"));
  EXPECT_THAT(AuxOf(queue.FlushWithAux()), ElementsAre("4", "5"));
}

TEST(InputQueueFlushTest, ALimitOfZeroTakesOnlyEntriesWithoutBuffer) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.batch_records_max = 0});
  AuxQueue queue(consumer);
  PushAux(queue, "1");
  PushBatch(queue, {"a"}, "2");

  EXPECT_THAT(AuxOf(queue.FlushWithAux()), ElementsAre("1"));
  EXPECT_EQ(queue.size(), 1u);
}

// Seed: "or after flushing a buffer whose auxiliary data satisfies the stop_at
// predicate, whichever happens first".
TEST(InputQueueFlushTest, StopsAfterTheEntryWhoseAuxSatisfiesStopAt) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  PushBatch(queue, {"a"}, "1");
  PushBatch(queue, {"b"}, "stop");
  PushAux(queue, "3");

  const auto stop_at = [](const std::string& aux) { return aux == "stop"; };
  const FlushResult<std::string> result = queue.FlushWithAuxUntil(stop_at);
  EXPECT_THAT(AuxOf(result), ElementsAre("1", "stop"));
  EXPECT_THAT(EndStep(consumer, result), ElementsAre("a", "b"));
  EXPECT_EQ(queue.size(), 1u);
}

TEST(InputQueueFlushTest, StopAtMayStopAtAnEntryWithoutBuffer) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.batch_records_max = 1});
  AuxQueue queue(consumer);
  PushBatch(queue, {"a"}, "1");
  PushAux(queue, "stop");
  PushAux(queue, "3");

  const auto stop_at = [](const std::string& aux) { return aux == "stop"; };
  EXPECT_THAT(AuxOf(queue.FlushWithAuxUntil(stop_at)),
              ElementsAre("1", "stop"));
}

TEST(InputQueueFlushTest, TheLimitMayComeBeforeStopAt) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.batch_records_max = 1});
  AuxQueue queue(consumer);
  PushBatch(queue, {"a"}, "1");
  PushBatch(queue, {"b"}, "stop");

  const auto stop_at = [](const std::string& aux) { return aux == "stop"; };
  EXPECT_THAT(AuxOf(queue.FlushWithAuxUntil(stop_at)), ElementsAre("1"));
}

// --- Hash --------------------------------------------------------------------

TEST(InputQueueHashTest, IsOverWhatWasFlushed) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  PushBatch(queue, {"a", "b"}, "1");
  PushBatch(queue, {"c"}, "2");

  StepHasher expected;
  MakeValueBatch({"a", "b", "c"}).HashInto(expected);
  EXPECT_EQ(queue.FlushWithAux().hash, expected.Finish());
}

TEST(InputQueueHashTest, OfNothingIsThatOfAnEmptyStep) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  EXPECT_EQ(queue.FlushWithAux().hash, StepHasher().Finish());
}

// Seed: "a hasher, if the fault tolerance model calls for hashing, and None
// otherwise".
TEST(InputQueueHashTest, IsAbsentBelowExactlyOnce) {
  for (const std::optional<FtModel> level :
       {std::optional<FtModel>(), std::optional(FtModel::kAtLeastOnce)}) {
    RecordingConsumer consumer(level);
    AuxQueue queue(consumer);
    PushBatch(queue, {"a"}, "1");
    EXPECT_EQ(queue.FlushWithAux().hash, std::nullopt);
  }
}

// --- Admission ---------------------------------------------------------------

TEST(InputQueueAdmitTest, ARefusedBufferEndsTheFlushAndStays) {
  RecordingConsumer consumer;
  consumer.AdmitAtMost(1);
  AuxQueue queue(consumer);
  PushBatch(queue, {"a"}, "1");
  PushBatch(queue, {"b"}, "2");
  PushAux(queue, "3");

  const FlushResult<std::string> first = queue.FlushWithAux();
  EXPECT_TRUE(first.blocked);
  EXPECT_THAT(AuxOf(first), ElementsAre("1"));
  EXPECT_THAT(EndStep(consumer, first), ElementsAre("a"));
  const FlushResult<std::string> second = queue.FlushWithAux();
  EXPECT_FALSE(second.blocked);
  EXPECT_THAT(AuxOf(second), ElementsAre("2", "3"));
  EXPECT_THAT(EndStep(consumer, second), ElementsAre("b"));
  EXPECT_THAT(consumer.transcript().violations, IsEmpty());
}

TEST(InputQueueAdmitTest, ARefusedBufferStartsNoTransaction) {
  RecordingConsumer consumer;
  consumer.AdmitAtMost(0);
  AuxQueue queue(consumer);
  queue.PushEntry({.buffer = MakeValueBatch({"a"}),
                   .start_transaction = std::optional<std::string>("t")},
                  {});
  EndStep(consumer, queue.FlushWithAux());
  EXPECT_THAT(consumer.transcript().steps.back().starts, IsEmpty());
  consumer.AdmitAtMost(std::nullopt);
  EndStep(consumer, queue.FlushWithAux());
  EXPECT_THAT(consumer.transcript().steps.back().starts,
              ElementsAre(std::optional<std::string>("t")));
}

TEST(InputQueueAdmitTest, AFullBatchAsksForNothingMore) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.batch_records_max = 1});
  consumer.AdmitAtMost(1);
  AuxQueue queue(consumer);
  PushBatch(queue, {"a"}, "1");
  PushBatch(queue, {"b"}, "2");
  EXPECT_FALSE(queue.FlushWithAux().blocked);
}

// --- Transactions ------------------------------------------------------------

std::optional<std::optional<std::string>> Labelled(std::string label) {
  return std::optional<std::string>(std::move(label));
}

// Seed: "start a transaction with the given label before pushing the buffer to
// the circuit unless a transaction is already in progress".
TEST(InputQueueTransactionTest, StartsOnceWithTheFirstLabel) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  queue.PushEntry(
      {.buffer = MakeValueBatch({"a"}), .start_transaction = Labelled("first")},
      {});
  queue.PushEntry({.buffer = MakeValueBatch({"b"}),
                   .start_transaction = Labelled("second")},
                  {});
  EndStep(consumer, queue.FlushWithAux());

  const Transcript seen = consumer.transcript();
  EXPECT_THAT(seen.steps[0].starts,
              ElementsAre(std::optional<std::string>("first")));
  EXPECT_EQ(seen.steps[0].commits, 0u);
  EXPECT_THAT(seen.violations, IsEmpty());
}

TEST(InputQueueTransactionTest, MayHaveNoLabel) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  queue.PushEntry({.buffer = MakeValueBatch({"a"}),
                   .start_transaction = std::optional<std::string>()},
                  {});
  EndStep(consumer, queue.FlushWithAux());
  EXPECT_THAT(consumer.transcript().steps[0].starts,
              ElementsAre(std::optional<std::string>()));
}

// Seed: "commit the transaction after pushing the buffer to the circuit if
// there is a transaction in progress"; a commit ends the flush.
TEST(InputQueueTransactionTest, ACommitEndsTheFlush) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  queue.PushEntry(
      {.buffer = MakeValueBatch({"a"}), .start_transaction = Labelled("t")},
      {});
  queue.PushEntry({.buffer = MakeValueBatch({"b"}), .commit_transaction = true},
                  {});
  PushBatch(queue, {"c"}, "next");

  const FlushResult<std::string> result = queue.FlushWithAux();
  EXPECT_TRUE(result.transaction_committed);
  EXPECT_THAT(EndStep(consumer, result), ElementsAre("a", "b"));
  EXPECT_EQ(consumer.transcript().steps[0].commits, 1u);
  EXPECT_EQ(queue.size(), 1u);
}

// Seed: the connector "cannot queue any more updates after this function is
// invoked, until the next Queue command"; the seed's own queue goes on with
// entries that have no buffer, and may so start another transaction.
TEST(InputQueueTransactionTest, ACommitEndsAlsoTheEntriesWithoutBuffer) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  queue.PushEntry({.buffer = MakeValueBatch({"a"}),
                   .start_transaction = Labelled("t"),
                   .commit_transaction = true},
                  {});
  queue.PushEntry({.start_transaction = Labelled("u")}, {});
  EndStep(consumer, queue.FlushWithAux());

  EXPECT_THAT(consumer.transcript().steps[0].starts, SizeIs(1));
  EXPECT_THAT(consumer.transcript().violations, IsEmpty());
  EXPECT_EQ(queue.size(), 1u);
}

TEST(InputQueueTransactionTest, ACommitWithoutTransactionEndsNothing) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  queue.PushEntry({.buffer = MakeValueBatch({"a"}), .commit_transaction = true},
                  {});
  PushBatch(queue, {"b"}, "2");

  const FlushResult<std::string> result = queue.FlushWithAux();
  EXPECT_FALSE(result.transaction_committed);
  EXPECT_THAT(EndStep(consumer, result), ElementsAre("a", "b"));
  EXPECT_EQ(consumer.transcript().steps[0].commits, 0u);
}

TEST(InputQueueTransactionTest, MaySpanFlushes) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.batch_records_max = 1});
  AuxQueue queue(consumer);
  queue.PushEntry(
      {.buffer = MakeValueBatch({"a"}), .start_transaction = Labelled("t")},
      {});
  queue.PushEntry({.buffer = MakeValueBatch({"b"}),
                   .start_transaction = Labelled("t"),
                   .commit_transaction = true},
                  {});
  queue.PushEntry(
      {.buffer = MakeValueBatch({"c"}), .start_transaction = Labelled("u")},
      {});
  for (int i = 0; i < 3; ++i) EndStep(consumer, queue.FlushWithAux());

  const Transcript seen = consumer.transcript();
  EXPECT_THAT(seen.steps[0].starts, SizeIs(1));
  EXPECT_THAT(seen.steps[1].starts, IsEmpty());
  EXPECT_EQ(seen.steps[1].commits, 1u);
  EXPECT_THAT(seen.steps[2].starts, SizeIs(1));
  EXPECT_THAT(seen.violations, IsEmpty());
}

TEST(InputQueueTransactionTest, MayBeginAndEndWithEntriesWithoutBuffer) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.batch_records_max = 1});
  AuxQueue queue(consumer);
  queue.PushEntry({.start_transaction = Labelled("t")}, {});
  PushBatch(queue, {"a"}, "");
  queue.PushEntry({.commit_transaction = true}, {});

  const FlushResult<std::string> result = queue.FlushWithAux();
  EXPECT_TRUE(result.transaction_committed);
  EndStep(consumer, result);
  EXPECT_THAT(consumer.transcript().violations, IsEmpty());
}

// --- Memory ------------------------------------------------------------------

TEST(InputQueueMemoryTest, CountsAStorageOnceHoweverItIsSplit) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  RecordBatch batch = MakeValueBatch({"a", "b", "c"});
  const uint64_t bytes = batch.MemoryBytes();
  RecordBatch first = batch.TakeSome(1);
  queue.PushWithAux(std::move(first), {}, At(0), "1");
  queue.PushWithAux(std::move(batch), {}, At(0), "2");
  EXPECT_EQ(queue.QueuedBytes(), bytes);

  consumer.SetLimits({.batch_records_max = 1});
  queue.FlushWithAux();
  EXPECT_EQ(queue.QueuedBytes(), bytes) << "a part is still queued";
  queue.FlushWithAux();
  EXPECT_EQ(queue.QueuedBytes(), 0u);
}

TEST(InputQueueMemoryTest, AddsUpDifferentStorages) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  const uint64_t each = MakeValueBatch({"a"}).MemoryBytes();
  PushBatch(queue, {"a"}, "1");
  PushBatch(queue, {"b"}, "2");
  EXPECT_EQ(queue.QueuedBytes(), 2 * each);
}

TEST(InputQueueMemoryTest, IsFullAtTheLimit) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  PushBatch(queue, {"a"}, "1");
  const uint64_t bytes = queue.QueuedBytes();
  consumer.SetLimits({.queued_bytes_max = bytes + 1});
  EXPECT_FALSE(queue.IsFull());
  consumer.SetLimits({.queued_bytes_max = bytes});
  EXPECT_TRUE(queue.IsFull());
}

TEST(InputQueueMemoryTest, AnEmptyQueueIsNeverFull) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.queued_bytes_max = 0});
  AuxQueue queue(consumer);
  EXPECT_FALSE(queue.IsFull());
}

TEST(InputQueueMemoryTest, IsFullOfEntriesWithoutBufferToo) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  for (size_t i = 0; i < AuxQueue::kEntriesMax; ++i) {
    ASSERT_FALSE(queue.IsFull());
    PushAux(queue, "");
  }
  EXPECT_TRUE(queue.IsFull());
}

TEST(InputQueueMemoryTest, OnRoomComesWhenAFlushMadeRoomForWhoSawItFull) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.queued_bytes_max = 1});
  int rooms = 0;
  AuxQueue queue(consumer, [&rooms] { ++rooms; });
  PushBatch(queue, {"a"}, "1");
  ASSERT_TRUE(queue.IsFull());
  queue.FlushWithAux();
  EXPECT_EQ(rooms, 1);
}

TEST(InputQueueMemoryTest, OnRoomDoesNotComeWhereNobodySawItFull) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.queued_bytes_max = 1});
  int rooms = 0;
  AuxQueue queue(consumer, [&rooms] { ++rooms; });
  PushBatch(queue, {"a"}, "1");
  queue.FlushWithAux();
  EXPECT_EQ(rooms, 0);
}

TEST(InputQueueMemoryTest, OnRoomWaitsUntilItIsNoLongerFull) {
  RecordingConsumer consumer(FtModel::kExactlyOnce,
                             {.batch_records_max = 1, .queued_bytes_max = 1});
  int rooms = 0;
  AuxQueue queue(consumer, [&rooms] { ++rooms; });
  PushBatch(queue, {"a"}, "1");
  PushBatch(queue, {"b"}, "2");
  ASSERT_TRUE(queue.IsFull());
  queue.FlushWithAux();
  EXPECT_EQ(rooms, 0) << "it still holds one";
  queue.FlushWithAux();
  EXPECT_EQ(rooms, 1);
  queue.FlushWithAux();
  EXPECT_EQ(rooms, 1);
}

TEST(InputQueueMemoryTest, OnRoomMayPush) {
  RecordingConsumer consumer(FtModel::kExactlyOnce, {.queued_bytes_max = 1});
  AuxQueue* to = nullptr;
  AuxQueue queue(consumer, [&to] { PushBatch(*to, {"b"}, "2"); });
  to = &queue;
  PushBatch(queue, {"a"}, "1");
  ASSERT_TRUE(queue.IsFull());
  EXPECT_THAT(AuxOf(queue.FlushWithAux()), ElementsAre("1", "2"));
}

// --- Death -------------------------------------------------------------------

using InputQueueDeathTest = testing::Test;

TEST(InputQueueDeathTest, TwoFlushesAtATimeAbort) {
  RecordingConsumer consumer;
  AuxQueue queue(consumer);
  PushBatch(queue, {"a"}, "1");
  const auto flush_within = [&queue](const std::string&) {
    queue.FlushWithAux();
    return false;
  };
  EXPECT_DEATH(queue.FlushWithAuxUntil(flush_within), "two flushes at a time");
}

}  // namespace
}  // namespace penstock::core
