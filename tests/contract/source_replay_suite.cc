// The part of the contract suite for sources that concerns Replay and Skip.
#include "tests/contract/source_suite.h"

#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>

namespace penstock::core {
namespace {

using testing::ElementsAreArray;
using testing::Ge;
using testing::SizeIs;
using RecordedStep = SourceRun::RecordedStep;
using Transcript = SourceRun::Transcript;

// Limits that a replay does not know.
constexpr RecordingConsumer::Limits kOneRecord = {.batch_records_max = 1,
                                                  .batch_bytes_max = 1};

}  // namespace

#define SKIP_UNLESS_EXACTLY_ONCE()                    \
  if (capabilities_.level != FtModel::kExactlyOnce) { \
    GTEST_SKIP() << "cannot replay";                  \
  }                                                   \
  static_assert(true)

TEST_P(SourceContractTest, ReplaysEveryStepWithTheSameRecordsAndHash) {
  SKIP_UNLESS_EXACTLY_ONCE();
  driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  SourceRun run(*driver_, ResumeBefore(first, 0));
  ASSERT_OK(run.opened());

  for (const RecordedStep& step : first.steps) {
    const std::optional<RecordedStep> again = run.Replay(step);
    ASSERT_TRUE(again.has_value());
    EXPECT_THAT(ByPartition(again->records),
                ElementsAreArray(ByPartition(step.records)));
    EXPECT_EQ(again->amount, step.amount);
    EXPECT_EQ(again->hash, step.hash);
  }
  const Transcript seen = run.transcript();
  EXPECT_EQ(seen.buffered, seen.replayed) << "INV-8";
}

TEST_P(SourceContractTest, ReplayDoesNotDependOnHowTheInputIsCut) {
  SKIP_UNLESS_EXACTLY_ONCE();
  driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  for (const size_t read_bytes : {size_t{64}, size_t{1000}, size_t{1} << 20}) {
    SCOPED_TRACE(read_bytes);
    SourceRun::Options options = ResumeBefore(first, 0);
    options.make.read_bytes = read_bytes;
    SourceRun run(*driver_, options);
    ASSERT_OK(run.opened());
    for (const RecordedStep& step : first.steps) {
      const std::optional<RecordedStep> again = run.Replay(step);
      ASSERT_TRUE(again.has_value());
      EXPECT_EQ(again->hash, step.hash);
    }
  }
}

TEST_P(SourceContractTest, ReplayKnowsNoBatchLimits) {
  SKIP_UNLESS_EXACTLY_ONCE();
  driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  SourceRun::Options options = ResumeBefore(first, 0);
  options.limits = kOneRecord;
  // Several buffers a step.
  options.make.read_bytes = 64;
  SourceRun run(*driver_, options);
  ASSERT_OK(run.opened());

  for (const RecordedStep& step : first.steps) {
    const std::optional<RecordedStep> again = run.Replay(step);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->amount, step.amount);
  }
}

TEST_P(SourceContractTest, ReplayStartsAtAnyStepThatWasResumed) {
  SKIP_UNLESS_EXACTLY_ONCE();
  driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  for (size_t i = 0; i < first.steps.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "step " << i);
    SourceRun run(*driver_, ResumeBefore(first, i));
    ASSERT_OK(run.opened());
    const std::optional<RecordedStep> again = run.Replay(first.steps[i]);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->hash, first.steps[i].hash);
  }
}

TEST_P(SourceContractTest, ReadsOnAfterAReplayWithExactlyTheRest) {
  SKIP_UNLESS_EXACTLY_ONCE();
  std::vector<OwnedRecord> rest = driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  for (size_t replayed = 1; replayed <= first.steps.size(); ++replayed) {
    SCOPED_TRACE(testing::Message() << replayed << " steps replayed");
    SourceRun run(*driver_, ResumeBefore(first, 0));
    ASSERT_OK(run.opened());
    for (size_t i = 0; i < replayed; ++i) {
      ASSERT_TRUE(run.Replay(first.steps[i]).has_value());
    }
    rest = Without(rest, first.steps[replayed - 1].records);
    run.Extend();
    EXPECT_THAT(ByPartition(run.ReadRest(rest.size())),
                ElementsAreArray(ByPartition(rest)));
  }
}

TEST_P(SourceContractTest, AnEmptyQueueAfterAReplayHasItsPosition) {
  SKIP_UNLESS_EXACTLY_ONCE();
  const std::vector<OwnedRecord> written = driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  std::string seek;
  {
    SourceRun run(*driver_, ResumeBefore(first, 0));
    ASSERT_OK(run.opened());
    ASSERT_TRUE(run.Replay(first.steps[0]).has_value());
    run.consumer().AdmitAtMost(0);
    run.Extend();
    const std::optional<RecordedStep> empty = run.Queue();
    ASSERT_TRUE(empty.has_value());
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

TEST_P(SourceContractTest, AReplayedStepThatWasEmptyIsEmptyAgain) {
  SKIP_UNLESS_EXACTLY_ONCE();
  driver_->Write(kRecords);
  std::string base;
  std::optional<RecordedStep> empty;
  {
    SourceRun run(*driver_, {});
    ASSERT_OK(run.opened());
    base = run.position();
    run.consumer().AdmitAtMost(0);
    run.Extend();
    empty = run.Queue();
    ASSERT_TRUE(empty.has_value());
  }
  SourceRun run(*driver_, {.resume = base});
  ASSERT_OK(run.opened());

  const std::optional<RecordedStep> again = run.Replay(*empty);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->amount.IsEmpty());
  EXPECT_EQ(again->hash, empty->hash);
}

TEST_P(SourceContractTest, ReplayDropsTheSameBadRecords) {
  SKIP_UNLESS_EXACTLY_ONCE();
  if (!capabilities_.has_bad_records) GTEST_SKIP() << "has no bad records";
  driver_->Write(kRecords);
  driver_->WriteBad();
  driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(2 * kRecords);
  SourceRun run(*driver_, ResumeBefore(first, 0));
  ASSERT_OK(run.opened());

  for (const RecordedStep& step : first.steps) {
    const std::optional<RecordedStep> again = run.Replay(step);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->hash, step.hash);
  }
  EXPECT_THAT(run.transcript().parse_errors, SizeIs(1));
}

TEST_P(SourceContractTest, ReplayOfATamperedInputNeverPasses) {
  SKIP_UNLESS_EXACTLY_ONCE();
  if (!capabilities_.can_tamper) GTEST_SKIP() << "replay carries the data";
  driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  driver_->Tamper();
  SourceRun run(*driver_, ResumeBefore(first, 0));
  if (!run.opened().ok()) return;  // Noticed early: as good.

  const std::optional<RecordedStep> again = run.ReplayOrFatal(first.steps[0]);
  if (!again.has_value()) return;  // A fatal error.
  EXPECT_NE(again->replay_hash, first.steps[0].hash.value);
}

TEST_P(SourceContractTest, DisconnectInterruptsAReplay) {
  SKIP_UNLESS_EXACTLY_ONCE();
  driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  const auto* resume =
      std::get_if<Resume::Replay>(&first.steps[0].resume->kind());
  ASSERT_NE(resume, nullptr);
  RecordingConsumer consumer;
  consumer.SetPump(driver_->MakePump());
  SourceDriver::Made made = driver_->Make({});
  absl::StatusOr<OpenedInput> opened = made.endpoint->Open(
      consumer, std::move(made.parser), Schema{}, first.base);
  ASSERT_OK(opened);

  opened->reader->Request(
      ReplayCommand{.metadata = resume->seek, .data = resume->replay});
  opened->reader->Request(DisconnectCommand{});
  opened->reader.reset();
  EXPECT_LE(consumer.transcript().steps.size(), 1u);
}

TEST_P(SourceContractTest, SkipsToTheEndOfAnyStepWithExactlyTheRest) {
  SKIP_UNLESS_EXACTLY_ONCE();
  std::vector<OwnedRecord> rest = driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  for (size_t skipped = 1; skipped <= first.steps.size(); ++skipped) {
    SCOPED_TRACE(testing::Message() << skipped << " steps skipped");
    SourceRun run(*driver_, ResumeBefore(first, 0));
    ASSERT_OK(run.opened());
    for (size_t i = 0; i < skipped; ++i) {
      ASSERT_TRUE(run.Skip(first.steps[i]).has_value());
    }
    EXPECT_TRUE(run.transcript().buffered.IsEmpty());
    rest = Without(rest, first.steps[skipped - 1].records);
    run.Extend();
    EXPECT_THAT(ByPartition(run.ReadRest(rest.size())),
                ElementsAreArray(ByPartition(rest)));
  }
}

TEST_P(SourceContractTest, ReplaysAndSkipsAlternate) {
  SKIP_UNLESS_EXACTLY_ONCE();
  std::vector<OwnedRecord> rest = driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  ASSERT_THAT(first.steps, SizeIs(Ge(4u)));
  SourceRun run(*driver_, ResumeBefore(first, 0));
  ASSERT_OK(run.opened());

  for (size_t i = 0; i < 4; ++i) {
    const RecordedStep& step = first.steps[i];
    rest = Without(rest, step.records);
    const std::optional<RecordedStep> again =
        i % 2 == 0 ? run.Skip(step) : run.Replay(step);
    ASSERT_TRUE(again.has_value());
    if (i % 2 == 1) {
      EXPECT_EQ(again->hash, step.hash);
    }
  }
  run.Extend();
  EXPECT_THAT(ByPartition(run.ReadRest(rest.size())),
              ElementsAreArray(ByPartition(rest)));
}

TEST_P(SourceContractTest, AStepReadAfterAReplayCanBeReplayedToo) {
  SKIP_UNLESS_EXACTLY_ONCE();
  driver_->Write(kRecords);
  const FirstRun first = ReadInSteps(kRecords);
  std::vector<RecordedStep> later;
  {
    SourceRun run(*driver_, ResumeBefore(first, 0));
    ASSERT_OK(run.opened());
    ASSERT_TRUE(run.Replay(first.steps[0]).has_value());
    run.Extend();
    later = run.ReadSteps(kRecords - first.steps[0].records.size());
  }
  SourceRun run(*driver_, ResumeBefore(first, 1));
  ASSERT_OK(run.opened());
  for (const RecordedStep& step : later) {
    const std::optional<RecordedStep> again = run.Replay(step);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->hash, step.hash);
  }
}

}  // namespace penstock::core
