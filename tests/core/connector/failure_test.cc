// What ends a connector, and what lives on.
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/connector/health.h"
#include "tests/core/connector/harness.h"
#include "tests/support/recording_log_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::core {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ParseError BadRecord() {
  ParseError error;
  error.tag = "invalid_json";
  error.description = "a comma is missing";
  error.record_number = 7;
  error.line = 9;
  error.byte_offset = 123;
  error.input = "/in.ndjson";
  error.suggestion = "put a comma there";
  error.invalid_text = "{\"a\" 1}";
  return error;
}

class FailureTest : public testing::Test {
 protected:
  void Start() {
    harness_.MustOpen();
    harness_.MustExtend();
  }
  void MakeStep(Step step) {
    harness_.source.AppendNumbered("k", 10, 10 * step);
    harness_.MustQueue(step);
  }
  Answer<QueueReply> WaitForStep(Step step) {
    return harness_.QueueStep(step, absl::Seconds(100));
  }

  Harness harness_;
};

TEST_F(FailureTest, FatalErrorOfTheReaderAnswersTheOutstandingQueue) {
  Start();
  const Answer<QueueReply> queue = WaitForStep(0);
  harness_.source.ReportError(
      true, MakeError(Reason::POSITION_EXPIRED, "the offset is gone"), "seek");
  harness_.RunUntilIdle();
  EXPECT_THAT(queue.status(), HasReason(Reason::POSITION_EXPIRED));
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
  const ConnectorStatus status = harness_.Status();
  EXPECT_EQ(status.health.condition, Condition::kFatal);
  EXPECT_THAT(status.errors, Contains(Field(&ErrorEntry::tag, "seek")));
}

TEST_F(FailureTest, ErrorWithoutAReasonIsWrapped) {
  Start();
  const Answer<QueueReply> queue = WaitForStep(0);
  harness_.source.ReportError(true, absl::UnknownError("surprise"), "");
  harness_.RunUntilIdle();
  EXPECT_THAT(queue.status(), HasReason(Reason::CONNECTOR_FAILED));
  EXPECT_THAT(std::string(queue.status().message()), HasSubstr("surprise"));
}

TEST_F(FailureTest, ErrorThatIsNotFatalIsOnlyRecorded) {
  Start();
  harness_.source.ReportError(
      false, MakeError(Reason::UNAVAILABLE, "connection refused"), "connect");
  harness_.RunUntilIdle();
  EXPECT_EQ(harness_.state(), ConnectorState::kRunning);
  ASSERT_THAT(harness_.events->errors, SizeIs(1));
  EXPECT_EQ(harness_.events->errors[0].tag, "connect");
  EXPECT_EQ(harness_.events->errors[0].index, 1u);
  EXPECT_FALSE(harness_.events->errors[0].fatal);
}

TEST_F(FailureTest, ReaderThatDiesSilentlyFailsAWaitingQueue) {
  Start();
  const Answer<QueueReply> queue = WaitForStep(0);
  harness_.source.Die();
  EXPECT_FALSE(queue.came());
  harness_.Advance(absl::Seconds(1));
  EXPECT_THAT(queue.status(), HasReason(Reason::CONNECTOR_FAILED));
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
}

TEST_F(FailureTest, ReaderThatDiesInsteadOfAnsweringFailsTheQueue) {
  Start();
  harness_.source.HoldAnswers(true);
  harness_.source.AppendNumbered("k", 10);
  const Answer<QueueReply> queue = harness_.QueueStep(0);
  harness_.source.Die();
  harness_.Advance(absl::Seconds(1));
  EXPECT_THAT(queue.status(), HasReason(Reason::CONNECTOR_FAILED));
}

TEST_F(FailureTest, ReaderThatDiesInsteadOfReplayingFailsTheReplay) {
  Start();
  MakeStep(0);
  const StepResult result = *harness_.connector->Retained(0);
  harness_.MustClose();
  harness_.request.journaled_steps = 1;
  harness_.MustOpen();
  harness_.source.HoldAnswers(true);
  const Answer<ReplayReply> replay = harness_.Replay(result, 0);
  harness_.source.Die();
  harness_.Advance(absl::Seconds(1));
  EXPECT_THAT(replay.status(), HasReason(Reason::CONNECTOR_FAILED));
}

TEST_F(FailureTest, AnswerThatCameBeforeTheErrorIsDelivered) {
  Start();
  harness_.source.HoldAnswers(true);
  harness_.source.AppendNumbered("k", 10);
  const Answer<QueueReply> queue = harness_.QueueStep(0);
  harness_.source.AnswerHeld();
  harness_.source.ReportError(true, MakeError(Reason::UNAVAILABLE, "gone"),
                              "test");
  harness_.RunUntilIdle();
  ASSERT_OK(queue.status());
  EXPECT_EQ(queue->result->amount.records, 10u);
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
}

TEST_F(FailureTest, ReleasedStepsOfAFailedConnectorStillCommit) {
  Start();
  MakeStep(0);
  harness_.source.ReportError(true, MakeError(Reason::UNAVAILABLE, "gone"),
                              "test");
  harness_.RunUntilIdle();
  EXPECT_NE(harness_.connector->Retained(0), nullptr);
  QueueRequest again;
  again.step = 0;
  EXPECT_OK(harness_.Queue(again).status());
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_THAT(harness_.Lines(), SizeIs(10));
  EXPECT_EQ(harness_.connector->completed()->value(), 1u);
  EXPECT_THAT(harness_.QueueStep(1).status(),
              HasReason(Reason::ILLEGAL_TRANSITION));
}

TEST_F(FailureTest, FencedShardEndsTheConnectorWithItsReason) {
  Start();
  MakeStep(0);
  const Answer<QueueReply> queue = WaitForStep(1);
  harness_.database.Fence(harness_.table(), {.epoch = 9, .open_number = 9});
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_THAT(queue.status(), HasReason(Reason::WRITER_FENCED));
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
  EXPECT_THAT(harness_.Lines(), IsEmpty());
  EXPECT_EQ(harness_.connector->completed()->value(), 0u);
}

TEST_F(FailureTest, OneBrokenShardDoesNotKeepTheOtherFromCommitting) {
  Start();
  harness_.source.AppendNumbered("k", 30);
  harness_.MustQueue(0);
  harness_.database.SetHook(
      [](const FakeDatabase::Call& call) -> std::optional<FakeDatabase::Fault> {
        if (call.shard != 1) return std::nullopt;
        return FakeDatabase::Fault{
            .status = MakeError(Reason::STATE_DAMAGED, "shard 1 is damaged")};
      });
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
  EXPECT_EQ(harness_.database.Progress(harness_.table(), 0), 1u);
  EXPECT_EQ(harness_.database.Progress(harness_.table(), 1), 0u);
  EXPECT_EQ(harness_.connector->completed()->value(), 0u);
}

TEST_F(FailureTest, ShardThatBreaksAmidAStepLeavesNobodyWaiting) {
  FakeSource::Options options;
  options.records_per_buffer = 1;
  Harness harness(options);
  harness.MustOpen();
  harness.MustExtend();
  harness.source.AppendNumbered("k", 30);
  harness.MustQueue(0);
  for (int i = 0; i < 4; ++i) {
    harness.source.Append(0, {std::string(2 << 20, 'x')});
  }
  Answer<QueueReply> queue;
  QueueRequest request;
  request.step = 1;
  request.previous_steps = 1;
  harness.connector->Queue(request, queue.Callback());
  while (harness.Status().extended_total.records == 30) {
    ASSERT_TRUE(harness.executor.RunOne());
  }
  harness.database.Fence(harness.table(), {.epoch = 9, .open_number = 9});
  EXPECT_OK(harness.Release(1).status());
  EXPECT_TRUE(queue.came());
  EXPECT_EQ(harness.state(), ConnectorState::kFailed);
  EXPECT_THAT(harness.Lines(), IsEmpty());
  if (!queue.status().ok()) {
    EXPECT_THAT(queue.status(), HasReason(Reason::WRITER_FENCED));
  }
}

TEST_F(FailureTest, RetryingShardIsDegradedWithItsNextAttempt) {
  Start();
  MakeStep(0);
  harness_.Unreachable();
  EXPECT_OK(harness_.Release(1).status());
  const ConnectorStatus status = harness_.Status();
  EXPECT_EQ(status.state, ConnectorState::kRunning);
  EXPECT_EQ(status.health.condition, Condition::kDegraded);
  EXPECT_GT(status.health.next_attempt, harness_.executor.clock().Now());
  EXPECT_THAT(status.errors, Contains(Field(&ErrorEntry::tag, "write")));
  harness_.Reachable();
  harness_.Advance(absl::Seconds(30));
  EXPECT_EQ(harness_.Status().health.condition, Condition::kOk);
  EXPECT_THAT(harness_.Lines(), SizeIs(10));
}

TEST_F(FailureTest, UnencodableRecordIsSkippedAndCounted) {
  Start();
  harness_.source.Append(0, {"a:1", "unencodable", "b:2"});
  const auto result = harness_.MustQueue(0);
  EXPECT_EQ(result->amount.records, 3u);
  EXPECT_EQ(result->skipped_records, 1u);
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_THAT(harness_.Lines(), SizeIs(2));
  EXPECT_EQ(harness_.Status().records_skipped, 1u);
  EXPECT_EQ(harness_.Status().records_out, 2u);
}

TEST_F(FailureTest, UnencodableRecordEndsTheConnectorIfThePolicySaysSo) {
  harness_.request.spec.on_encode_error = BadRecordPolicy::kFail;
  Start();
  MakeStep(0);
  harness_.source.Append(0, {"a:1", "unencodable", "b:2"});
  const Answer<QueueReply> queue = harness_.QueueStep(1);
  EXPECT_TRUE(queue.came());
  EXPECT_FALSE(queue.status().ok());
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
  EXPECT_EQ(harness_.made_steps(), 1u);
  // The step before is not concerned.
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_THAT(harness_.Lines(), SizeIs(10));
  const ConnectorStatus status = harness_.Status();
  EXPECT_EQ(
      status.extended_total.records,
      status.records_out + status.records_skipped + status.records_discarded);
}

TEST_F(FailureTest, BadRecordsAreCountedAndSampled) {
  Start();
  harness_.source.ReportParseErrors({BadRecord(), BadRecord()});
  harness_.RunUntilIdle();
  EXPECT_THAT(harness_.events->parse_errors, SizeIs(2));
  const ConnectorStatus status = harness_.Status();
  EXPECT_EQ(status.parse_errors, 2u);
  EXPECT_EQ(status.state, ConnectorState::kRunning);
  ASSERT_THAT(status.errors, SizeIs(2));
  EXPECT_EQ(status.errors[0].tag, "invalid_json");
  EXPECT_THAT(status.errors[0].text,
              HasSubstr("/in.ndjson, record 7, line 9, byte 123"));
  EXPECT_THAT(status.errors[0].text, HasSubstr("put a comma there"));
}

TEST_F(FailureTest, FloodOfBadRecordsIsCountedWholeAndSampled) {
  Start();
  for (int i = 0; i < 10; ++i) {
    harness_.source.ReportParseErrors(
        std::vector<ParseError>(1000, BadRecord()));
  }
  harness_.RunUntilIdle();
  EXPECT_EQ(harness_.Status().parse_errors, 10'000u);
  EXPECT_LE(harness_.Status().errors.size(), 100u);
  // Metrics, drains and watches take snapshots all the time.
  EXPECT_THAT(harness_.connector->Status().errors, IsEmpty());
}

TEST_F(FailureTest, BadRecordsThatAreSkippedAreLoggedAFewTimes) {
  const auto log = std::make_shared<RecordingLogSink>();
  const ScopedLogSink scope(log);
  Start();
  harness_.source.ReportParseErrors(std::vector<ParseError>(50, BadRecord()));
  harness_.RunUntilIdle();
  EXPECT_THAT(log->records(), SizeIs(5));
}

TEST_F(FailureTest, BadRecordEndsTheConnectorIfThePolicySaysSo) {
  harness_.request.spec.on_parse_error = BadRecordPolicy::kFail;
  Start();
  const Answer<QueueReply> queue = WaitForStep(0);
  harness_.source.ReportParseErrors({BadRecord()});
  harness_.RunUntilIdle();
  EXPECT_THAT(queue.status(), HasReason(Reason::MALFORMED_FRAME));
  EXPECT_THAT(std::string(queue.status().message()), HasSubstr("record 7"));
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
}

TEST_F(FailureTest, TooManyBadRecordsEndTheConnectorThoughTheyAreSkipped) {
  harness_.request.spec.bad_records.total_max = 2;
  Start();
  const Answer<QueueReply> queue = WaitForStep(0);
  harness_.source.ReportParseErrors({BadRecord(), BadRecord()});
  harness_.RunUntilIdle();
  EXPECT_EQ(harness_.state(), ConnectorState::kRunning);
  harness_.source.ReportParseErrors({BadRecord()});
  harness_.RunUntilIdle();
  EXPECT_THAT(queue.status(), HasReason(Reason::TOO_MANY_BAD_ROWS));
  EXPECT_THAT(std::string(queue.status().message()),
              HasSubstr("bad_records.total_max is 2"));
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
}

TEST_F(FailureTest, BadRecordsPlaceAndRemedyComeBeforeItsText) {
  harness_.request.spec.on_parse_error = BadRecordPolicy::kFail;
  Start();
  const Answer<QueueReply> queue = WaitForStep(0);
  ParseError error = BadRecord();
  error.invalid_text = std::string(4096, 'x');
  harness_.source.ReportParseErrors({error});
  harness_.RunUntilIdle();
  // The wire cuts a message at 1,000 bytes.
  const std::string text(queue.status().message());
  EXPECT_LT(text.size(), 500u);
  EXPECT_LT(text.find("line 9, byte 123"), text.find("put a comma there"));
  EXPECT_LT(text.find("put a comma there"), text.find("xxx"));
}

TEST_F(FailureTest, WhoAsksAfterTheFailureLearnsItsCause) {
  harness_.request.spec.on_parse_error = BadRecordPolicy::kFail;
  Start();
  harness_.source.ReportParseErrors({BadRecord()});
  harness_.RunUntilIdle();
  const absl::Status refused = harness_.QueueStep(0).status();
  EXPECT_THAT(refused, HasReason(Reason::ILLEGAL_TRANSITION));
  const std::optional<absl::Status> cause = CauseOf(refused);
  ASSERT_TRUE(cause.has_value());
  EXPECT_THAT(*cause, HasReason(Reason::MALFORMED_FRAME));
  EXPECT_THAT(std::string(cause->message()), HasSubstr("/in.ndjson"));
}

TEST_F(FailureTest, SourceThatMiscountsIsFoundOut) {
  Start();
  harness_.source.AppendNumbered("k", 10);
  harness_.source.LieAboutAmount();
  harness_.QueueStep(0);
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
  EXPECT_THAT(harness_.Status().health.reason,
              HasSubstr("a bug of the source"));
}

TEST_F(FailureTest, ResumeThatCannotReplayIsFoundOut) {
  Start();
  harness_.source.AppendNumbered("k", 10);
  harness_.source.SetBarrier(true);
  EXPECT_THAT(harness_.QueueStep(0).status(), HasReason(Reason::INTERNAL));
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
  EXPECT_EQ(harness_.Status().records_discarded, 10u);
}

TEST_F(FailureTest, SourceSpeaksOfItsHealth) {
  Start();
  harness_.source.UpdateHealth({.condition = Condition::kDegraded,
                                .reason = "no broker answers",
                                .next_attempt = absl::InfinitePast()});
  harness_.RunUntilIdle();
  EXPECT_EQ(harness_.Status().health.condition, Condition::kDegraded);
  EXPECT_EQ(harness_.Status().health.reason, "no broker answers");
  harness_.source.UpdateHealth({});
  harness_.RunUntilIdle();
  EXPECT_EQ(harness_.Status().health.condition, Condition::kOk);
}

TEST_F(FailureTest, StepsThatAreNotReleasedStall) {
  Start();
  MakeStep(0);
  harness_.Status();
  const int before = harness_.events->changes;
  harness_.Advance(HealthLog::kStallAfter + absl::Seconds(1));
  EXPECT_EQ(harness_.Status().health.condition, Condition::kStalled);
  EXPECT_GT(harness_.events->changes, before);
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_EQ(harness_.Status().health.condition, Condition::kOk);
}

TEST_F(FailureTest, RecordsThatNobodyQueuesStall) {
  Start();
  harness_.source.AppendNumbered("k", 10);
  harness_.Advance(HealthLog::kStallAfter + absl::Seconds(1));
  EXPECT_EQ(harness_.Status().health.condition, Condition::kStalled);
}

// Each command passes by a release, which most often releases nothing.
TEST_F(FailureTest, CommandsThatMoveNothingPutNoStallOff) {
  Start();
  MakeStep(0);
  for (int i = 0; i < 13; ++i) {
    harness_.Advance(HealthLog::kStallAfter / 12);
    EXPECT_OK(harness_.Release(0).status());
  }
  EXPECT_EQ(harness_.Status().health.condition, Condition::kStalled);
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_EQ(harness_.Status().health.condition, Condition::kOk);
}

TEST_F(FailureTest, IdleConnectorIsOkForEver) {
  Start();
  harness_.Advance(absl::Hours(1));
  EXPECT_EQ(harness_.Status().health.condition, Condition::kOk);
}

}  // namespace
}  // namespace penstock::core
