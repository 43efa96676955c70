// Shard workers and rows that the target refuses (INV-8, INV-11).
#include "core/base/error.h"
#include "core/contract/message_frame.h"
#include "core/contract/sink_error.h"
#include "core/handoff/breaker.h"
#include "core/handoff/refused_rows.h"
#include "tests/core/handoff/recording_dead_letters.h"
#include "tests/core/handoff/shard_worker_fixture.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Rows = std::vector<std::string>;

// Refuses rows that begin with "bad", without saying which.
absl::Status RefuseBad(const Rows& /*present*/, const Rows& added) {
  for (const std::string& row : added) {
    if (absl::StartsWith(row, "bad")) return MakeRowRefused("a bad row");
  }
  return absl::OkStatus();
}

// Takes each row once.
absl::Status RefuseDoubles(const Rows& present, const Rows& added) {
  Rows all = present;
  for (const std::string& row : added) {
    if (std::find(all.begin(), all.end(), row) != all.end()) {
      return MakeRowRefused("a double");
    }
    all.push_back(row);
  }
  return absl::OkStatus();
}

class RefusedRowTest : public ShardWorkerTest {
 protected:
  RefusedRowTest() {
    database_.SetJudge(RefuseBad);
    options_.target.tells_rows_apart = true;
    options_.worker.refused_rows = {.tells_rows_apart = true,
                                    .skip = true,
                                    .dead_letters = &letters_,
                                    .counter = &counter_};
  }

  // One chunk of `rows`, from partition 5, offsets from 100 times the step on.
  void SendRows(Step step, const Rows& rows) {
    EncodedChunk chunk;
    FrameBuffer frame;
    for (size_t i = 0; i < rows.size(); ++i) {
      chunk.row_positions.push_back(
          {.frame_offset = static_cast<uint32_t>(frame.size()),
           .partition = 5,
           .source_offset = static_cast<int64_t>(100 * step + next_offset_++)});
      frame.Append(rows[i] + "\n");
    }
    chunk.frame = SealedFrame(std::move(frame));
    chunk.rows = static_cast<uint32_t>(rows.size());
    chunk.step = step;
    chunk.acks.Push(HandleOf(step).Share());
    chunk.lease = budget_->ForceReserve(chunk.frame.size());
    Send(std::move(chunk));
  }
  void RunStep(Step step, const Rows& rows) {
    next_offset_ = 0;
    SendRows(step, rows);
    SendEnd(step);
    Release(step + 1);
  }
  void RunBackoffs() {
    do {
      executor_.RunUntilIdle();
    } while (executor_.AdvanceToNextTimer());
  }
  // Answers `operation` with `status` from its `first` call on, `times` times.
  void Answer(Operation operation, absl::Status status, int first, int times) {
    database_.SetHook([=, calls = 0](const FakeDatabase::Call& call) mutable
                      -> std::optional<FakeDatabase::Fault> {
      if (call.operation != operation) return std::nullopt;
      ++calls;
      if (calls < first || calls >= first + times) return std::nullopt;
      return FakeDatabase::Fault{.status = status};
    });
  }
  const absl::Status& Fatal() const {
    CHECK_EQ(process_->observer.fatal.size(), 1u);
    return process_->observer.fatal.front();
  }

  WorkerProcess::Options options_;
  RecordingDeadLetters letters_;
  RefusedRows counter_{RefusedRowLimits{.ratio_max = 1.0}};
  uint64_t next_offset_ = 0;
};

TEST_F(RefusedRowTest, CostsOnlyItself) {
  Start(options_);
  RunStep(0, {"a", "b", "bad", "c", "d"});
  EXPECT_THAT(Lines(), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(letters_.rows, ElementsAre("bad\n"));
  EXPECT_THAT(letters_.ids, ElementsAre("0/2"));
  EXPECT_THAT(letters_.positions, ElementsAre("5@2"));
  EXPECT_THAT(letters_.errors, ElementsAre(HasReason(Reason::ROW_REFUSED)));
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

TEST_F(RefusedRowTest, GoodRowsAndProgressAreOneTransaction) {
  Start(options_);
  RunStep(0, {"a", "bad 1", "b", "bad 2", "c", "bad 3"});
  EXPECT_EQ(Ranges(), "[0,1)");
  EXPECT_THAT(Lines(), ElementsAre("a", "b", "c"));
}

TEST_F(RefusedRowTest, ItsLetterIsDurableBeforeItIsPassedOver) {
  Start(options_);
  bool was_committed = true;
  letters_.on_write = [&] { was_committed = !Lines().empty(); };
  RunStep(0, {"a", "bad"});
  EXPECT_FALSE(was_committed);
  EXPECT_THAT(Lines(), ElementsAre("a"));
}

TEST_F(RefusedRowTest, NumbersCountWithinTheStepOverItsChunks) {
  Start(options_);
  SendRows(0, {"a", "bad 1"});
  SendRows(0, {"bad 2"});
  SendEnd(0);
  SendRows(1, {"bad 3"});
  SendEnd(1);
  Release(2);
  EXPECT_THAT(letters_.ids, ElementsAre("0/1", "0/2", "1/0"));
  EXPECT_EQ(Ranges(), "[0,2)");
}

TEST_F(RefusedRowTest, AStepOfNothingButBadRowsMovesProgress) {
  Start(options_);
  RunStep(0, {"bad 1", "bad 2", "bad 3"});
  EXPECT_THAT(Lines(), IsEmpty());
  EXPECT_EQ(database_.Progress(kTable, 0), 1u);
  EXPECT_THAT(letters_.rows, SizeIs(3));
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

TEST_F(RefusedRowTest, OfRowsThatExcludeEachOtherTheFirstIsKept) {
  database_.SetJudge(RefuseDoubles);
  Start(options_);
  RunStep(0, {"a", "b", "c", "a", "d", "b"});
  EXPECT_THAT(Lines(), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(letters_.ids, ElementsAre("0/3", "0/5"));
}

TEST_F(RefusedRowTest, CountsAddUp) {
  Start(options_);
  RunStep(0, {"a", "bad 1", "b"});
  RunStep(1, {"c"});
  RunStep(2, {"bad 2"});
  EXPECT_EQ(Snapshot().rows_written, 3u);
  EXPECT_EQ(Snapshot().rows_refused, 2u);
  EXPECT_EQ(Snapshot().dead_letters, 2u);
  EXPECT_EQ(budget_->usage(), 0u);
}

TEST_F(RefusedRowTest, WithoutAnOutputItIsOnlyCounted) {
  options_.worker.refused_rows.dead_letters = nullptr;
  Start(options_);
  RunStep(0, {"a", "bad", "b"});
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
  EXPECT_EQ(Snapshot().rows_refused, 1u);
  EXPECT_EQ(Snapshot().dead_letters, 0u);
}

TEST_F(RefusedRowTest, ThatMayNotBeSkippedBreaksTheShardAndIsNamed) {
  options_.worker.refused_rows.skip = false;
  Start(options_);
  RunStep(7, {"a", "b", "bad", "c"});
  EXPECT_THAT(Fatal(), HasReason(Reason::ROW_REFUSED));
  EXPECT_THAT(
      std::string(Fatal().message()),
      AllOf(HasSubstr("row 2 of step 7"), HasSubstr("partition 5, offset 702"),
            HasSubstr("a bad row"), HasSubstr("on_refused_row")));
  EXPECT_THAT(Lines(), IsEmpty());
  EXPECT_THAT(letters_.rows, IsEmpty());
  EXPECT_EQ(AckOf(7), AckStatus::kFailed);
}

TEST_F(RefusedRowTest, OfASinkThatCannotTellWhichBreaksTheShard) {
  options_.target.tells_rows_apart = false;
  options_.worker.refused_rows.tells_rows_apart = false;
  Start(options_);
  RunStep(0, {"a", "bad"});
  EXPECT_THAT(Fatal(), HasReason(Reason::ROW_REFUSED));
  EXPECT_THAT(std::string(Fatal().message()), HasSubstr("cannot tell which"));
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(RefusedRowTest, WithoutATableOfRowsBreaksTheShard) {
  Start(options_);
  SendStep(0, {"bad"});
  Release(1);
  EXPECT_THAT(Fatal(), HasReason(Reason::ROW_REFUSED));
}

TEST_F(RefusedRowTest, TransientTroubleOfAProbeIsNoVerdict) {
  Start(options_);
  Answer(Operation::kBatchProbe, MakeError(Reason::UNAVAILABLE, "away"), 2, 5);
  RunStep(0, {"a", "b", "bad", "c"});
  RunBackoffs();
  EXPECT_THAT(Lines(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(letters_.ids, ElementsAre("0/2"));
  EXPECT_EQ(Snapshot().retries, 5u);
  EXPECT_EQ(process_->observer.recovered, 1);
}

TEST_F(RefusedRowTest, TransientTroubleNeverBeginsASearch) {
  Start(options_);
  database_.FailNext(Operation::kBatchEnd,
                     MakeError(Reason::UNAVAILABLE, "away"), 3);
  int probes = 0;
  database_.SetHook([&probes](const FakeDatabase::Call& call)
                        -> std::optional<FakeDatabase::Fault> {
    if (call.operation == Operation::kBatchProbe) ++probes;
    return std::nullopt;
  });
  RunStep(0, {"a", "b"});
  RunBackoffs();
  EXPECT_EQ(probes, 0);
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
}

TEST_F(RefusedRowTest, LettersThatCannotBeWrittenHoldBackTheStep) {
  letters_.failures = {MakeError(Reason::STORAGE_FULL, "full"),
                       MakeError(Reason::STORAGE_FULL, "full")};
  Start(options_);
  RunStep(0, {"a", "bad"});
  EXPECT_THAT(Lines(), IsEmpty());
  EXPECT_THAT(process_->observer.retries,
              ElementsAre(HasReason(Reason::STORAGE_FULL)));
  RunBackoffs();
  EXPECT_THAT(Lines(), ElementsAre("a"));
  EXPECT_THAT(letters_.ids, ElementsAre("0/1"));
}

TEST_F(RefusedRowTest, LettersThatAreLostBreakTheShard) {
  letters_.failures = {MakeError(Reason::IO_ERROR, "a broken disk")};
  Start(options_);
  RunStep(0, {"a", "bad"});
  EXPECT_THAT(Fatal(), HasReason(Reason::IO_ERROR));
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(RefusedRowTest, AFenceInTheMidstOfTheSearchEndsIt) {
  Start(options_);
  database_.SetHook([this, probes = 0](const FakeDatabase::Call& call) mutable
                    -> std::optional<FakeDatabase::Fault> {
    if (call.operation == Operation::kBatchProbe && ++probes == 2) {
      database_.Fence(kTable, {.epoch = 9});
    }
    return std::nullopt;
  });
  RunStep(0, {"a", "b", "bad", "c"});
  EXPECT_THAT(Fatal(), HasReason(Reason::WRITER_FENCED));
  EXPECT_THAT(Lines(), IsEmpty());
  EXPECT_THAT(letters_.rows, IsEmpty());
}

// An attempt whose answer was lost was stored after all; the next one meets its
// rows, as in a database that looks at keys before it looks at progress.
TEST_F(RefusedRowTest, RowsThatALostAnswerHidAreNotBad) {
  Start(options_);
  database_.SetHook([attempts = 0](const FakeDatabase::Call& call) mutable
                    -> std::optional<FakeDatabase::Fault> {
    if (call.operation != Operation::kBatchEnd) return std::nullopt;
    ++attempts;
    if (attempts == 1) {
      return FakeDatabase::Fault{
          .status = MakeError(Reason::UNAVAILABLE, "lost"), .lost = true};
    }
    if (attempts == 2) {
      return FakeDatabase::Fault{.status = MakeRowRefused("a double", 0)};
    }
    return std::nullopt;
  });
  RunStep(0, {"a", "b"});
  RunBackoffs();
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
  EXPECT_THAT(letters_.rows, IsEmpty());
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

TEST_F(RefusedRowTest, ABatchRefusedForNoRowBreaksTheShard) {
  Start(options_);
  Answer(Operation::kBatchEnd, MakeRowRefused("a riddle"), 1, 1'000);
  RunStep(0, {"a", "b"});
  EXPECT_THAT(Fatal(), HasReason(Reason::ROW_REFUSED));
  EXPECT_THAT(std::string(Fatal().message()),
              AllOf(HasSubstr("a riddle"), HasSubstr("takes its rows")));
  EXPECT_THAT(letters_.rows, IsEmpty());
}

TEST_F(RefusedRowTest, OneTooManyStopsTheShardAndLosesNothing) {
  RefusedRows counter(RefusedRowLimits{.total_max = 2, .ratio_max = 1.0});
  options_.worker.refused_rows.counter = &counter;
  Start(options_);
  RunStep(0, {"a", "bad 1", "bad 2"});
  RunStep(1, {"b", "bad 3"});
  EXPECT_THAT(Fatal(), HasReason(Reason::TOO_MANY_BAD_ROWS));
  EXPECT_THAT(std::string(Fatal().message()), HasSubstr("row 1 of step 1"));
  EXPECT_THAT(Lines(), ElementsAre("a"));
  EXPECT_EQ(AckOf(1), AckStatus::kFailed);
}

TEST_F(RefusedRowTest, ManyAreWrittenInLettersAsTheyAreFound) {
  int writes = 0;
  letters_.on_write = [&] { ++writes; };
  Start(options_);
  RunStep(0, Rows(600, "bad"));
  EXPECT_THAT(letters_.rows, SizeIs(600));
  EXPECT_EQ(writes, 3);
  EXPECT_EQ(Snapshot().dead_letters, 600u);
}

TEST_F(RefusedRowTest, ReplayAfterACrashWritesTheSameLettersAgain) {
  Start(options_);
  // The letters are there; the commit behind them is never answered.
  Answer(Operation::kBatchEnd, MakeError(Reason::UNAVAILABLE, "away"), 2, 9);
  RunStep(3, {"a", "bad", "b"});
  EXPECT_THAT(letters_.ids, ElementsAre("3/1"));
  EXPECT_THAT(Lines(), IsEmpty());
  executor_.DropAll();
  database_.SetHook(nullptr);
  options_.open_number = 2;
  options_.first_open = false;
  Start(options_);
  RunStep(3, {"a", "bad", "b"});
  EXPECT_THAT(letters_.ids, ElementsAre("3/1", "3/1"));
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
}

TEST_F(RefusedRowTest, StopInTheMidstOfASearchEndsItInTime) {
  Start(options_);
  Answer(Operation::kBatchProbe, MakeError(Reason::UNAVAILABLE, "away"), 2,
         1'000'000);
  RunStep(0, {"a", "bad"});
  const auto report = Stop(absl::Seconds(5));
  executor_.RunUntilIdle();
  EXPECT_FALSE(report->has_value());
  RunBackoffs();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, ElementsAre(0));
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(RefusedRowTest, AProbeHasTheDeadlineOfAWrite) {
  Start(options_);
  database_.SetHook([this, hung = false](const FakeDatabase::Call& call) mutable
                    -> std::optional<FakeDatabase::Fault> {
    if (call.operation != Operation::kBatchProbe || std::exchange(hung, true)) {
      return std::nullopt;
    }
    executor_.Advance(absl::Minutes(1));
    EXPECT_EQ(Snapshot().deadlines_passed, 1u);
    EXPECT_EQ(Snapshot().writes_overdue, 1u);
    return std::nullopt;
  });
  RunStep(0, {"a", "bad", "b"});
  RunBackoffs();
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
  EXPECT_EQ(Snapshot().deadlines_passed, 1u);
  EXPECT_EQ(Snapshot().writes_overdue, 0u);
}

TEST_F(RefusedRowTest, BelowExactlyOnceGoodRowsAreStoredInPartsOfTheirOwn) {
  options_.target.level = FtModel::kAtLeastOnce;
  Start(options_);
  SendRows(0, {"a", "b", "bad", "c"});
  ResolveHandle(0);
  RunBackoffs();
  EXPECT_THAT(Lines(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(letters_.positions, ElementsAre("5@2"));
  EXPECT_EQ(Snapshot().rows_written, 3u);
  EXPECT_EQ(Snapshot().rows_refused, 1u);
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

TEST_F(RefusedRowTest, BelowExactlyOnceTheLastOneSettlesTheBatch) {
  options_.target.level = FtModel::kAtLeastOnce;
  options_.worker.refused_rows.dead_letters = nullptr;
  Start(options_);
  SendRows(0, {"bad"});
  ResolveHandle(0);
  RunBackoffs();
  EXPECT_EQ(Snapshot().rows_refused, 1u);
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

TEST_F(RefusedRowTest, MessagesAreToldApartToo) {
  options_.target.frames = FrameKind::kMessages;
  Start(options_);
  EncodedChunk chunk;
  FrameBuffer frame;
  for (const char* const value : {"a", "bad", "b"}) {
    chunk.row_positions.push_back(
        {.frame_offset = static_cast<uint32_t>(frame.size())});
    AppendMessage("k", value, {}, frame);
  }
  chunk.frame = SealedFrame(std::move(frame));
  chunk.rows = 3;
  chunk.acks.Push(HandleOf(0).Share());
  Send(std::move(chunk));
  SendEnd(0);
  Release(1);
  Rows values;
  for (const auto& message : database_.Messages(kTable, 0)) {
    values.push_back(*message.value);
  }
  EXPECT_THAT(values, ElementsAre("a", "b"));
  EXPECT_THAT(letters_.ids, ElementsAre("0/1"));
}

// --- Records that the encoder refused, and that never were rows.

TEST_F(RefusedRowTest, ARecordThatCouldNotBeEncodedHasALetterBeforeTheCommit) {
  Start(options_);
  bool was_committed = true;
  letters_.on_write = [&] { was_committed = !Lines().empty(); };
  EncodedChunk chunk;
  FrameBuffer frame;
  frame.Append("a\n");
  chunk.frame = SealedFrame(std::move(frame));
  chunk.rows = 1;
  chunk.refused.push_back({.partition = 5,
                           .offset = 17,
                           .error = MakeError(Reason::MALFORMED_FRAME, "no"),
                           .value = "raw"});
  chunk.acks.Push(HandleOf(0).Share());
  Send(std::move(chunk));
  SendEnd(0);
  Release(1);
  EXPECT_FALSE(was_committed);
  EXPECT_THAT(letters_.ids, ElementsAre("0/none"));
  EXPECT_THAT(letters_.positions, ElementsAre("5@17"));
  EXPECT_THAT(letters_.rows, ElementsAre("raw"));
  EXPECT_THAT(Lines(), ElementsAre("a"));
  EXPECT_EQ(Snapshot().dead_letters, 1u);
  EXPECT_EQ(Snapshot().rows_refused, 0u);
}

TEST_F(RefusedRowTest, AChunkOfSuchRecordsAloneMovesProgressAndPushesNothing) {
  letters_.failures = {MakeError(Reason::UNAVAILABLE, "away")};
  Start(options_);
  EncodedChunk chunk;
  chunk.refused.push_back(
      {.error = MakeError(Reason::MALFORMED_FRAME, "no"), .value = "raw"});
  chunk.acks.Push(HandleOf(0).Share());
  Send(std::move(chunk));
  SendEnd(0);
  Release(1);
  EXPECT_EQ(AckOf(0), std::nullopt);
  RunBackoffs();
  EXPECT_THAT(letters_.rows, ElementsAre("raw"));
  EXPECT_EQ(database_.Progress(kTable, 0), 1u);
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

// --- Behind the target's circuit breaker.

class RefusedRowBreakerTest : public RefusedRowTest {
 protected:
  static constexpr absl::Duration kOpenFor = absl::Seconds(5);

  RefusedRowBreakerTest() { options_.worker.breaker = breaker_; }

  absl::Time Now() { return executor_.clock().SteadyNow(); }
  // As another shard of the connector.
  void Fail(int times) {
    for (int i = 0; i < times; ++i) breaker_->Ask(Now()).permit->Fail(Now());
  }
  Breaker::Snapshot breaker() const { return breaker_->snapshot(); }

  std::shared_ptr<Breaker> breaker_ =
      std::make_shared<Breaker>(Breaker::Options{.consecutive_failures_max = 2,
                                                 .probe_interval = kOpenFor});
};

TEST_F(RefusedRowBreakerTest, ARefusalIsNeitherFailureNorSuccess) {
  Fail(1);
  Start(options_);
  std::vector<uint32_t> failures;
  database_.SetHook([&](const FakeDatabase::Call& call)
                        -> std::optional<FakeDatabase::Fault> {
    if (call.operation == Operation::kBatchProbe) {
      failures.push_back(breaker().failures_in_a_row);
    }
    return std::nullopt;
  });
  RunStep(0, {"bad 1", "bad 2"});
  ASSERT_THAT(failures, SizeIs(::testing::Ge(2)));
  EXPECT_THAT(failures, ::testing::Each(1u)) << "all were refused";
  EXPECT_THAT(letters_.rows, SizeIs(2));
  EXPECT_EQ(breaker().failures_in_a_row, 0u) << "the commit succeeded";
}

TEST_F(RefusedRowBreakerTest, ARefusedProbeOfItGivesItsPlaceBack) {
  Fail(2);
  Start(options_);
  RunStep(0, {"bad 1", "a", "bad 2"});
  EXPECT_THAT(Lines(), IsEmpty());
  executor_.Advance(kOpenFor);
  EXPECT_THAT(Lines(), ElementsAre("a"));
  EXPECT_EQ(breaker().state, Breaker::State::kClosed);
  EXPECT_EQ(breaker().opens, 1u);
}

TEST_F(RefusedRowBreakerTest, LettersSayNothingOfTheTarget) {
  letters_.failures.assign(5, MakeError(Reason::STORAGE_FULL, "full"));
  Start(options_);
  RunStep(0, {"bad"});
  RunBackoffs();
  EXPECT_EQ(Snapshot().retries, 5u);
  EXPECT_EQ(breaker().opens, 0u);
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

TEST_F(RefusedRowBreakerTest, LettersDoNotWaitForTheTarget) {
  letters_.failures = {MakeError(Reason::STORAGE_FULL, "full")};
  letters_.on_write = [&] {
    if (breaker().opens == 0) Fail(2);
  };
  Start(options_);
  RunStep(0, {"a", "bad"});
  EXPECT_LT(process_->observer.next_attempt, Now() + kOpenFor);
  EXPECT_TRUE(executor_.AdvanceToNextTimer());
  executor_.RunUntilIdle();
  EXPECT_THAT(letters_.rows, ElementsAre("bad\n"));
  EXPECT_THAT(Lines(), IsEmpty());
  executor_.Advance(kOpenFor);
  EXPECT_THAT(Lines(), ElementsAre("a"));
}

TEST_F(RefusedRowBreakerTest, AfterItsLettersStopDoesNotWaitForTheTarget) {
  letters_.failures = {MakeError(Reason::STORAGE_FULL, "full")};
  Start(options_);
  RunStep(0, {"a", "bad"});
  EXPECT_EQ(Snapshot().retries, 1u) << "its letter waits";
  Fail(2);
  const auto report = Stop(absl::Seconds(1));
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, IsEmpty());
  EXPECT_THAT(letters_.rows, ElementsAre("bad\n"));
  EXPECT_THAT(Lines(), ElementsAre("a"));
  EXPECT_EQ(breaker().state, Breaker::State::kClosed) << "it has succeeded";
}

TEST_F(RefusedRowBreakerTest, StopEndsASearchThatWaits) {
  Start(options_);
  Answer(Operation::kBatchProbe, MakeError(Reason::UNAVAILABLE, "away"), 2,
         1'000'000);
  RunStep(0, {"a", "bad"});
  executor_.Advance(absl::Seconds(1));
  EXPECT_EQ(breaker().state, Breaker::State::kOpen);
  const auto report = Stop(absl::Seconds(2));
  executor_.RunUntilIdle();
  EXPECT_FALSE(report->has_value());
  executor_.Advance(absl::Seconds(2));
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, ElementsAre(0));
  EXPECT_EQ((*report)->calls_running, 0u);
  EXPECT_EQ(Snapshot().abandoned, 1u);
}

}  // namespace
}  // namespace penstock::core
