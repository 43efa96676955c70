// The tests of the contract suite for sources; see source_suite.h.
#include "tests/contract/source_suite.h"

#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

namespace penstock::core {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SourceContractTest);

namespace {

using testing::ElementsAreArray;
using testing::Ge;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;
using RecordedStep = SourceRun::RecordedStep;
using Transcript = SourceRun::Transcript;

bool IsStaged(const Transcript& seen) { return seen.buffered.records > 0; }

// One buffer at a time: the queue is full as soon as it holds one.
constexpr RecordingConsumer::Limits kOneBuffer = {.queued_bytes_max = 1};

}  // namespace

// --- Extend and Pause ------------------------------------------------------

TEST_P(SourceContractTest, IsPausedAtBirth) {
  driver_->Write(kRecords);
  SourceRun run(*driver_, {});
  ASSERT_OK(run.opened());

  EXPECT_TRUE(run.StaysFalse([](const Transcript& seen) {
    return seen.buffered_calls + seen.end_of_inputs + seen.steps.size() > 0;
  }));
}

TEST_P(SourceContractTest, ReadsEverythingInOrderAfterExtend) {
  const std::vector<OwnedRecord> written = driver_->Write(kRecords);
  SourceRun run(*driver_, {});
  ASSERT_OK(run.opened());
  run.Extend();

  EXPECT_THAT(ByPartition(run.ReadRest(kRecords)),
              ElementsAreArray(ByPartition(written)));
}

TEST_P(SourceContractTest, OffsetsRiseStrictlyWithinAPartition) {
  driver_->Write(kRecords);
  SourceRun run(*driver_, {});
  ASSERT_OK(run.opened());
  run.Extend();

  std::map<uint32_t, int64_t> last;
  for (const OwnedRecord& record : run.ReadRest(kRecords)) {
    const auto [it, is_first] = last.try_emplace(record.partition, -1);
    EXPECT_GT(record.offset, it->second);
    it->second = record.offset;
  }
}

TEST_P(SourceContractTest, StopsStagingWhileTheQueueIsFull) {
  driver_->Write(kRecords);
  SourceRun run(*driver_, {.limits = kOneBuffer, .make = {.read_bytes = 256}});
  ASSERT_OK(run.opened());
  run.Extend();
  ASSERT_TRUE(run.WaitUntil(IsStaged));

  EXPECT_TRUE(run.StaysFalse([](const Transcript& seen) {
    return seen.buffered_calls > 1 || seen.buffered.records >= kRecords;
  }));
}

TEST_P(SourceContractTest, GoesOnWhenAQueueMadeRoom) {
  const std::vector<OwnedRecord> written = driver_->Write(kRecords);
  SourceRun run(*driver_, {.limits = kOneBuffer, .make = {.read_bytes = 256}});
  ASSERT_OK(run.opened());
  run.Extend();

  EXPECT_THAT(ByPartition(run.ReadRest(kRecords)),
              ElementsAreArray(ByPartition(written)));
}

TEST_P(SourceContractTest, PauseStopsReadingAndQueueDrainsWhatIsStaged) {
  const std::vector<OwnedRecord> written = driver_->Write(kRecords);
  SourceRun run(*driver_, {.limits = kOneBuffer, .make = {.read_bytes = 256}});
  ASSERT_OK(run.opened());
  run.Extend();
  ASSERT_TRUE(run.WaitUntil(IsStaged));
  run.Pause();

  const std::optional<RecordedStep> drained = run.Queue();
  ASSERT_TRUE(drained.has_value());
  EXPECT_THAT(drained->records, SizeIs(Ge(1u)));
  // A read that was under way when Pause came may still be staged, no more.
  const Transcript paused = run.transcript();
  run.StaysFalse(
      [&](const Transcript& seen) { return seen.buffered != paused.buffered; });
  const std::optional<RecordedStep> straggler = run.Queue();
  ASSERT_TRUE(straggler.has_value());
  EXPECT_TRUE(run.StaysFalse(
      [](const Transcript& seen) { return seen.buffered != seen.extended; }));
  const size_t before = drained->records.size() + straggler->records.size();
  EXPECT_LT(before, kRecords) << "Pause was not obeyed";

  run.Extend();
  std::vector<OwnedRecord> all = drained->records;
  all.insert(all.end(), straggler->records.begin(), straggler->records.end());
  const std::vector<OwnedRecord> rest = run.ReadRest(kRecords - before);
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_THAT(ByPartition(all), ElementsAreArray(ByPartition(written)));
}

// --- Queue -----------------------------------------------------------------

TEST_P(SourceContractTest, EveryQueueIsAnsweredOnceAlsoWhenEmpty) {
  driver_->Write(kRecords);
  SourceRun run(*driver_, {});
  ASSERT_OK(run.opened());
  run.Extend();
  run.ReadRest(kRecords);

  const std::optional<RecordedStep> first = run.Queue();
  const std::optional<RecordedStep> second = run.Queue();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_TRUE(first->amount.IsEmpty());
  EXPECT_TRUE(second->amount.IsEmpty());
  EXPECT_EQ(second->seek(), first->seek());
}

TEST_P(SourceContractTest, CommandsInABurstAreAllObeyed) {
  const std::vector<OwnedRecord> written = driver_->Write(kRecords);
  SourceRun run(*driver_, {});
  ASSERT_OK(run.opened());
  run.Extend();
  const std::optional<RecordedStep> first = run.Queue();
  ASSERT_TRUE(first.has_value());
  run.Pause();
  run.Extend();
  run.Pause();
  const std::optional<RecordedStep> second = run.Queue();
  ASSERT_TRUE(second.has_value());
  run.Extend();

  std::vector<OwnedRecord> all = RecordsOf({*first, *second});
  const std::vector<OwnedRecord> rest = run.ReadRest(kRecords - all.size());
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_THAT(ByPartition(all), ElementsAreArray(ByPartition(written)));
}

TEST_P(SourceContractTest, AStepStopsAtTheBufferThatReachesTheRecordLimit) {
  driver_->Write(kRecords);
  constexpr uint64_t kMax = 7;
  SourceRun run(*driver_, {.limits = {.batch_records_max = kMax},
                           .make = {.read_bytes = 256}});
  ASSERT_OK(run.opened());
  run.Extend();

  for (const RecordedStep& step : run.ReadSteps(kRecords)) {
    EXPECT_THAT(step.amount.records - step.buffers.back().records,
                Le(kMax - 1));
  }
}

TEST_P(SourceContractTest, AStepStopsAtTheBufferThatReachesTheByteLimit) {
  driver_->Write(kRecords);
  constexpr uint64_t kMax = 300;
  SourceRun run(*driver_, {.limits = {.batch_bytes_max = kMax},
                           .make = {.read_bytes = 256}});
  ASSERT_OK(run.opened());
  run.Extend();

  for (const RecordedStep& step : run.ReadSteps(kRecords)) {
    EXPECT_THAT(step.amount.bytes - step.buffers.back().bytes, Le(kMax - 1));
  }
}

TEST_P(SourceContractTest, ABufferThatIsNotAdmittedEndsTheStepAndStays) {
  const std::vector<OwnedRecord> written = driver_->Write(kRecords);
  SourceRun run(*driver_, {.make = {.read_bytes = 256}});
  ASSERT_OK(run.opened());
  run.consumer().AdmitAtMost(0);
  run.Extend();
  ASSERT_TRUE(run.WaitUntil(IsStaged));

  const std::optional<RecordedStep> blocked = run.Queue();
  ASSERT_TRUE(blocked.has_value());
  EXPECT_TRUE(blocked->amount.IsEmpty());

  run.consumer().AdmitAtMost(1);
  const std::vector<RecordedStep> steps = run.ReadSteps(kRecords);
  EXPECT_THAT(ByPartition(RecordsOf(steps)),
              ElementsAreArray(ByPartition(written)));
  for (const RecordedStep& step : steps) EXPECT_THAT(step.buffers, SizeIs(1));
}

TEST_P(SourceContractTest, EveryStepWithRecordsHasAWatermark) {
  driver_->Write(kRecords);
  SourceRun run(*driver_, {.make = {.read_bytes = 256}});
  ASSERT_OK(run.opened());
  run.Extend();

  absl::Time latest = absl::InfinitePast();
  for (const RecordedStep& step : run.ReadSteps(kRecords)) {
    ASSERT_THAT(step.watermarks, SizeIs(Ge(1u)));
    EXPECT_NE(step.watermarks.front().timestamp, absl::InfinitePast());
    EXPECT_GE(step.watermarks.back().timestamp, latest);
    latest = step.watermarks.back().timestamp;
  }
}

// --- Ends and errors -------------------------------------------------------

TEST_P(SourceContractTest, AnEmptyInputEndsWithoutRecords) {
  SourceRun run(*driver_, {});
  ASSERT_OK(run.opened());
  run.Extend();

  EXPECT_THAT(run.ReadRest(0), IsEmpty());
}

TEST_P(SourceContractTest, EndOfInputComesOnceAfterAllIsBuffered) {
  if (!capabilities_.ends) GTEST_SKIP() << "never ends";
  driver_->Write(kRecords);
  SourceRun run(*driver_, {});
  ASSERT_OK(run.opened());
  run.Extend();

  // Without any Queue: buffered is what counts.
  ASSERT_TRUE(run.WaitUntil(
      [](const Transcript& seen) { return seen.end_of_inputs > 0; }));
  EXPECT_EQ(run.transcript().buffered.records, kRecords);
  run.Pause();
  run.Extend();
  run.ReadRest(kRecords);
}

TEST_P(SourceContractTest, ABadRecordCostsOneRecord) {
  if (!capabilities_.has_bad_records) GTEST_SKIP() << "has no bad records";
  std::vector<OwnedRecord> written = driver_->Write(kRecords);
  driver_->WriteBad();
  const std::vector<OwnedRecord> more = driver_->Write(kRecords);
  written.insert(written.end(), more.begin(), more.end());
  SourceRun run(*driver_, {.make = {.read_bytes = 256}});
  ASSERT_OK(run.opened());
  run.Extend();

  EXPECT_THAT(ByPartition(run.ReadRest(2 * kRecords)),
              ElementsAreArray(ByPartition(written)));
  EXPECT_THAT(run.transcript().parse_errors, SizeIs(1));
}

TEST_P(SourceContractTest, BadRecordsAloneStillMoveThePosition) {
  if (!capabilities_.has_bad_records) GTEST_SKIP() << "has no bad records";
  if (!capabilities_.level.has_value()) GTEST_SKIP() << "cannot seek";
  driver_->WriteBad();
  std::string seek;
  {
    SourceRun run(*driver_, {.level = capabilities_.level});
    ASSERT_OK(run.opened());
    run.Extend();
    ASSERT_TRUE(run.WaitUntil([](const Transcript& seen) {
      return seen.parse_errors.size() == 1 &&
             seen.request_steps + seen.end_of_inputs > 0;
    })) << "nobody asked for the step that carries the position";
    const std::optional<RecordedStep> step = run.Queue();
    ASSERT_TRUE(step.has_value());
    seek = step->seek();
  }
  const std::vector<OwnedRecord> more = driver_->Write(kRecords);
  SourceRun run(*driver_, {.level = capabilities_.level, .resume = seek});
  ASSERT_OK(run.opened());
  run.Extend();

  EXPECT_THAT(ByPartition(run.ReadRest(kRecords)),
              ElementsAreArray(ByPartition(more)));
  EXPECT_THAT(run.transcript().parse_errors, IsEmpty());
}

TEST_P(SourceContractTest, AFatalErrorMeansClosed) {
  if (!capabilities_.can_break) GTEST_SKIP() << "cannot break";
  driver_->Write(kRecords);
  SourceRun run(*driver_, {});
  ASSERT_OK(run.opened());
  driver_->Break();
  run.Extend();

  ASSERT_TRUE(
      run.WaitUntil([](const Transcript& seen) { return seen.HasFatal(); }));
  // The thread that told of it may still be ending.
  EXPECT_TRUE(run.consumer().WaitUntil(
      [&run](const Transcript& /*seen*/) { return run.IsClosed(); },
      absl::Seconds(1)));
  EXPECT_EQ(run.transcript().end_of_inputs, 0u);
}

TEST_P(SourceContractTest, DisconnectEndsAPausedReader) {
  driver_->Write(kRecords);
  SourceRun run(*driver_, {});
  ASSERT_OK(run.opened());

  run.Close();
  EXPECT_THAT(run.transcript().steps, IsEmpty());
}

TEST_P(SourceContractTest, DisconnectEndsARunningReader) {
  driver_->Write(kRecords);
  SourceRun run(*driver_, {.limits = kOneBuffer, .make = {.read_bytes = 256}});
  ASSERT_OK(run.opened());
  run.Extend();
  ASSERT_TRUE(run.WaitUntil(IsStaged));

  run.Close();
  EXPECT_THAT(run.transcript().errors, IsEmpty());
}

TEST_P(SourceContractTest, DisconnectEndsAReaderThatHasReadAll) {
  driver_->Write(kRecords);
  SourceRun run(*driver_, {});
  ASSERT_OK(run.opened());
  run.Extend();
  run.ReadRest(kRecords);

  run.Close();
  EXPECT_THAT(run.transcript().errors, IsEmpty());
}

TEST_P(SourceContractTest, AReaderMayBeDestroyedWithoutDisconnect) {
  driver_->Write(kRecords);
  RecordingConsumer consumer;
  consumer.SetPump(driver_->MakePump());
  SourceDriver::Made made = driver_->Make({});
  absl::StatusOr<OpenedInput> opened = made.endpoint->Open(
      consumer, std::move(made.parser), Schema{}, std::nullopt);
  ASSERT_OK(opened);
  opened->reader->Request(ExtendCommand{});

  opened->reader.reset();
  const Transcript then = consumer.transcript();
  EXPECT_FALSE(consumer.WaitUntil(
      [&](const Transcript& seen) { return seen.buffered != then.buffered; },
      absl::Milliseconds(50)));
}

// --- Levels ----------------------------------------------------------------

TEST_P(SourceContractTest, GivesTheLevelItClaims) {
  driver_->Write(kRecords);
  EXPECT_EQ(driver_->Make({}).endpoint->FaultTolerance(), capabilities_.level);
  if (!capabilities_.level.has_value()) return;

  for (const RecordedStep& step : ReadInSteps(kRecords).steps) {
    ASSERT_TRUE(step.resume.has_value());
    EXPECT_GE(step.resume->FaultTolerance(), *capabilities_.level);
  }
}

TEST_P(SourceContractTest, ACheckpointCanBeTakenWhereOneIsRequested) {
  if (!capabilities_.level.has_value()) GTEST_SKIP() << "cannot seek";
  driver_->Write(kRecords);
  SourceRun run(*driver_, {.level = capabilities_.level});
  ASSERT_OK(run.opened());
  run.Extend();
  ASSERT_TRUE(run.WaitForData());

  const std::optional<RecordedStep> step =
      run.Queue(/*checkpoint_requested=*/true);
  ASSERT_TRUE(step.has_value() && step->resume.has_value());
  EXPECT_FALSE(step->resume->IsBarrier());
}

TEST_P(SourceContractTest, APipelineWithoutLevelIsServed) {
  const std::vector<OwnedRecord> written = driver_->Write(kRecords);
  SourceRun run(*driver_, {.level = std::nullopt});
  ASSERT_OK(run.opened());
  run.Extend();

  EXPECT_THAT(ByPartition(run.ReadRest(kRecords)),
              ElementsAreArray(ByPartition(written)));
}

TEST_P(SourceContractTest, RefusesResumeInfoThatIsNotItsOwn) {
  if (!capabilities_.level.has_value()) GTEST_SKIP() << "cannot seek";
  driver_->Write(kRecords);
  for (const char* garbage : {"", "{", "[1,2", "7", "\"x\"", "{\"x\":1}"}) {
    const SourceRun run(*driver_, {.resume = garbage});
    EXPECT_THAT(run.opened(), StatusIs(absl::StatusCode::kInvalidArgument))
        << garbage;
  }
}

TEST_P(SourceContractTest, ResumesAtTheResolvedStart) {
  if (!capabilities_.level.has_value()) GTEST_SKIP() << "cannot seek";
  const std::vector<OwnedRecord> written = driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  SourceRun run(*driver_, ResumeBefore(first, 0));
  ASSERT_OK(run.opened());
  run.Extend();

  EXPECT_THAT(ByPartition(run.ReadRest(kRecords)),
              ElementsAreArray(ByPartition(written)));
}

TEST_P(SourceContractTest, ResumesAtEveryCutPointWithExactlyTheRest) {
  if (!capabilities_.level.has_value()) GTEST_SKIP() << "cannot seek";
  std::vector<OwnedRecord> rest = driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  ASSERT_THAT(first.steps, SizeIs(Ge(3u))) << "too few steps to cut at";
  for (size_t i = 0; i < first.steps.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "after step " << i);
    rest = Without(rest, first.steps[i].records);
    SourceRun run(*driver_, ResumeBefore(first, i + 1));
    ASSERT_OK(run.opened());
    run.Extend();
    EXPECT_THAT(ByPartition(run.ReadRest(rest.size())),
                ElementsAreArray(ByPartition(rest)));
  }
}

TEST_P(SourceContractTest, ThePositionThatAResumeOpensIsTheSamePlace) {
  if (!capabilities_.level.has_value()) GTEST_SKIP() << "cannot seek";
  const std::vector<OwnedRecord> written = driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  ASSERT_THAT(first.steps, SizeIs(Ge(2u)));
  std::string position;
  {
    const SourceRun run(*driver_, ResumeBefore(first, 1));
    ASSERT_OK(run.opened());
    position = run.position();
  }
  SourceRun run(*driver_, {.resume = position});
  ASSERT_OK(run.opened());
  run.Extend();

  const std::vector<OwnedRecord> rest =
      Without(written, first.steps[0].records);
  EXPECT_THAT(ByPartition(run.ReadRest(rest.size())),
              ElementsAreArray(ByPartition(rest)));
}

TEST_P(SourceContractTest, AnEmptyQueueAfterAResumeKeepsThePosition) {
  if (!capabilities_.level.has_value()) GTEST_SKIP() << "cannot seek";
  std::vector<OwnedRecord> written = driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  ASSERT_THAT(first.steps, SizeIs(Ge(2u)));
  std::string seek;
  {
    SourceRun run(*driver_, ResumeBefore(first, 1));
    ASSERT_OK(run.opened());
    run.consumer().AdmitAtMost(0);
    run.Extend();
    const std::optional<RecordedStep> empty = run.Queue();
    ASSERT_TRUE(empty.has_value());
    ASSERT_TRUE(empty->amount.IsEmpty());
    seek = empty->seek();
  }
  SourceRun run(*driver_, {.resume = seek});
  ASSERT_OK(run.opened());
  run.Extend();

  const std::vector<OwnedRecord> rest =
      Without(written, first.steps[0].records);
  EXPECT_THAT(ByPartition(run.ReadRest(rest.size())),
              ElementsAreArray(ByPartition(rest)));
}

}  // namespace penstock::core
