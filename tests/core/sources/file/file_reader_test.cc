#include "core/sources/file/file_reader.h"

#include "core/base/path_policy.h"
#include "core/base/thread_pool_executor.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/raw/raw_format.h"
#include "core/sources/file/file_source.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using RecordedStep = RecordingConsumer::RecordedStep;
using Transcript = RecordingConsumer::Transcript;

constexpr char kPath[] = "/f";

std::unique_ptr<Parser> MakeRaw(size_t record_bytes_max = 1000) {
  RawConfig config;
  config.record_bytes_max = record_bytes_max;
  return *MakeRawParser(config);
}

// An open reader over kPath, and its consumer.
struct Reading {
  std::unique_ptr<RecordingConsumer> consumer;
  std::unique_ptr<InputReader> reader;
  std::string position;

  void Send(InputReaderCommand command) { reader->Request(std::move(command)); }
  Transcript seen() const { return consumer->transcript(); }
  // The step that answers a Queue.
  RecordedStep Queue() {
    Send(QueueCommand{});
    return seen().steps.back();
  }
};

std::vector<std::string> ValuesOf(const RecordedStep& step) {
  std::vector<std::string> values;
  for (const OwnedRecord& record : step.records) {
    values.push_back(*record.value);
  }
  return values;
}

struct ReadOptions {
  size_t block_bytes = 8;
  std::optional<std::string> resume = std::nullopt;
  std::unique_ptr<Parser> parser = nullptr;
  std::optional<FtModel> level = FtModel::kExactlyOnce;
  RecordingConsumer::Limits limits = {};
};

class FileReaderTest : public testing::Test {
 protected:
  Reading Open(ReadOptions options = {}) {
    FileSourceConfig config;
    config.path = kPath;
    config.block_bytes = options.block_bytes;
    FileSource source(config, {.files = files_,
                               .io = executor_,
                               .clock = executor_.clock(),
                               .paths = paths_});
    Reading run;
    run.consumer =
        std::make_unique<RecordingConsumer>(options.level, options.limits);
    if (options.parser == nullptr) options.parser = MakeRaw();
    absl::StatusOr<OpenedInput> opened = source.Open(
        *run.consumer, std::move(options.parser), Schema{}, options.resume);
    EXPECT_OK(opened);
    if (!opened.ok()) return run;
    run.reader = std::move(opened->reader);
    run.position = std::move(opened->position);
    return run;
  }
  // Opens, reads everything.
  Reading OpenAndRead(ReadOptions options = {}) {
    Reading run = Open(std::move(options));
    run.Send(ExtendCommand{});
    executor_.RunUntilIdle();
    return run;
  }
  // Reads everything into one step.
  RecordedStep ReadStep(ReadOptions options = {}) {
    return OpenAndRead(std::move(options)).Queue();
  }
  void ExpectFatal(const Reading& run, Reason reason) {
    const Transcript seen = run.seen();
    ASSERT_THAT(seen.errors, SizeIs(1));
    EXPECT_TRUE(seen.errors[0].fatal);
    EXPECT_THAT(seen.errors[0].status, HasReason(reason));
    EXPECT_TRUE(run.reader->IsClosed());
    EXPECT_THAT(seen.violations, IsEmpty());
  }

  FakeFileSystem files_;
  ManualExecutor executor_;
  const PathPolicy paths_{{}};
};

TEST_F(FileReaderTest, AnEmptyFileEndsAtOnce) {
  files_.Put(kPath, "");
  Reading run = OpenAndRead();
  EXPECT_EQ(run.seen().end_of_inputs, 1u);
  EXPECT_TRUE(run.Queue().amount.IsEmpty());
}

TEST_F(FileReaderTest, TheLastLineNeedsNoLineEnd) {
  files_.Put(kPath, "a\nb");
  EXPECT_THAT(ValuesOf(ReadStep()), ElementsAre("a", "b"));
}

TEST_F(FileReaderTest, EndOfInputComesOnceAfterTheLastBuffer) {
  files_.Put(kPath, "a\nb\n");
  Reading run = OpenAndRead();
  EXPECT_EQ(run.seen().end_of_inputs, 1u);
  EXPECT_EQ(run.seen().buffered.records, 2u);
  run.Send(PauseCommand{});
  run.Send(ExtendCommand{});
  executor_.RunUntilIdle();
  EXPECT_EQ(run.seen().end_of_inputs, 1u);
}

TEST_F(FileReaderTest, AStepsSeekIsItsRangeInTheFile) {
  files_.Put(kPath, "a\n\nb\n");
  Reading run = OpenAndRead(
      {.block_bytes = 4, .parser = *MakeNdjsonParser(NdjsonConfig{})});
  run.consumer->AdmitAtMost(0);
  ASSERT_OK_AND_ASSIGN(const FilePosition base,
                       FilePosition::Parse(run.position));
  FilePosition expected = base;
  expected.start = 0;
  expected.end = 5;
  expected.records = 2;
  expected.lines = 3;
  EXPECT_EQ(run.Queue().seek(), expected.ToJson());
  expected.start = 5;
  EXPECT_EQ(run.Queue().seek(), expected.ToJson());
}

TEST_F(FileReaderTest, AStepsWatermarkIsWhereItsLastBufferCameFrom) {
  files_.Put(kPath, "a\nb\n");
  Reading run = OpenAndRead();
  const RecordedStep step = run.Queue();
  ASSERT_THAT(step.watermarks, SizeIs(1));
  EXPECT_EQ(step.watermarks[0].metadata, R"({"path":"/f","offset":4})");
  EXPECT_EQ(step.watermarks[0].timestamp, executor_.clock().Now());
  EXPECT_THAT(run.Queue().watermarks, IsEmpty());
}

TEST_F(FileReaderTest, BelowExactlyOnceThereIsASeekWithoutReplay) {
  files_.Put(kPath, "a\n");
  const RecordedStep step = ReadStep({.level = FtModel::kAtLeastOnce});
  ASSERT_TRUE(step.resume.has_value());
  EXPECT_EQ(step.resume->FaultTolerance(), FtModel::kAtLeastOnce);
  EXPECT_THAT(step.seek(), HasSubstr("\"end\":2,"));
}

TEST_F(FileReaderTest, ErrorsHaveTheirPlaceInTheFileAlsoAfterASeek) {
  files_.Put(kPath, "{}\n\n[]\nx\ny\n");
  std::string seek;
  {
    Reading run = OpenAndRead({.block_bytes = 4,
                               .parser = *MakeNdjsonParser(NdjsonConfig{}),
                               .limits = {.batch_records_max = 1}});
    const RecordedStep step = run.Queue();
    ASSERT_EQ(step.amount.records, 1u);
    seek = step.seek();
  }
  Reading run = OpenAndRead(
      {.resume = seek, .parser = *MakeNdjsonParser(NdjsonConfig{})});
  const std::vector<ParseError> errors = run.seen().parse_errors;
  ASSERT_THAT(errors, SizeIs(2));
  EXPECT_EQ(errors[0].record_number, 3u);
  EXPECT_EQ(errors[0].line, 4u);
  EXPECT_EQ(errors[0].byte_offset, 7u);
  EXPECT_EQ(errors[0].input, kPath);
  EXPECT_EQ(errors[1].record_number, 4u);
  EXPECT_EQ(errors[1].line, 5u);
  EXPECT_EQ(errors[1].byte_offset, 9u);
}

TEST_F(FileReaderTest, BadRecordsAtTheEndMoveThePosition) {
  files_.Put(kPath, "{}\nbad\nworse\n");
  Reading run = OpenAndRead(
      {.block_bytes = 8, .parser = *MakeNdjsonParser(NdjsonConfig{})});
  EXPECT_THAT(run.Queue().seek(), HasSubstr("\"end\":13,"));
  EXPECT_THAT(run.seen().parse_errors, SizeIs(2));
}

TEST_F(FileReaderTest, ATooLongRecordCostsOnlyItself) {
  files_.Put(kPath, "a\n" + std::string(500, 'x') + "\nb\n");
  Reading run = OpenAndRead({.parser = MakeRaw(20)});
  EXPECT_THAT(ValuesOf(run.Queue()), ElementsAre("a", "b"));
  const std::vector<ParseError> errors = run.seen().parse_errors;
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].tag, "record_too_large");
  EXPECT_EQ(errors[0].record_number, 2u);
}

TEST_F(FileReaderTest, NoStepEndsInsideATooLongRecord) {
  files_.Put(kPath, "a\n" + std::string(500, 'x') + "\nb\n");
  Reading run = Open({.parser = MakeRaw(20)});
  run.Send(ExtendCommand{});
  std::vector<std::string> ends;
  while (executor_.RunOne()) {
    ASSERT_OK_AND_ASSIGN(const FilePosition position,
                         FilePosition::Parse(run.Queue().seek()));
    EXPECT_THAT(position.end, testing::AnyOf(0u, 2u, 503u, 505u));
  }
}

TEST_F(FileReaderTest, PauseIsObeyedWithinOneBlock) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\nccccccc\nddddddd\n");
  Reading run = Open();
  run.Send(ExtendCommand{});
  ASSERT_TRUE(executor_.RunOne());
  ASSERT_EQ(run.seen().buffered.records, 1u);
  run.Send(PauseCommand{});
  executor_.RunUntilIdle();
  EXPECT_EQ(run.seen().buffered.records, 1u);
  EXPECT_THAT(ValuesOf(run.Queue()), ElementsAre("aaaaaaa"));
  run.Send(ExtendCommand{});
  executor_.RunUntilIdle();
  EXPECT_EQ(run.seen().buffered.records, 4u);
}

TEST_F(FileReaderTest, NothingIsReadWhileTheQueueIsFull) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "0123456\n";
  files_.Put(kPath, text);
  Reading run = Open({.limits = {.queued_bytes_max = 1}});
  run.Send(ExtendCommand{});
  executor_.RunUntilIdle();
  EXPECT_EQ(run.seen().buffered.records, 1u);
  EXPECT_EQ(executor_.ready_count(), 0u);
  for (size_t records = 1; records <= 100; ++records) {
    ASSERT_EQ(run.Queue().amount.records, 1u);
    executor_.RunUntilIdle();
    ASSERT_EQ(run.seen().buffered.records, std::min<size_t>(records + 1, 100));
  }
  EXPECT_EQ(run.seen().end_of_inputs, 1u);
}

TEST_F(FileReaderTest, RoomThatCameWhilePausedIsUsedAfterExtend) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\n");
  Reading run = Open({.limits = {.queued_bytes_max = 1}});
  run.Send(ExtendCommand{});
  executor_.RunUntilIdle();
  run.Send(PauseCommand{});
  run.Queue();
  executor_.RunUntilIdle();
  EXPECT_EQ(run.seen().buffered.records, 1u);
  run.Send(ExtendCommand{});
  executor_.RunUntilIdle();
  EXPECT_EQ(run.seen().buffered.records, 2u);
}

TEST_F(FileReaderTest, WhatGrewWhileItWasReadIsRead) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\n");
  Reading run = Open();
  run.Send(ExtendCommand{});
  ASSERT_TRUE(executor_.RunOne());
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\nccccccc\n");
  executor_.RunUntilIdle();
  EXPECT_THAT(ValuesOf(run.Queue()),
              ElementsAre("aaaaaaa", "bbbbbbb", "ccccccc"));
  EXPECT_EQ(run.seen().end_of_inputs, 1u);
}

TEST_F(FileReaderTest, AFileThatIsCutOffMeanwhileIsFatal) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\nccccccc\n");
  Reading run = Open();
  run.Send(ExtendCommand{});
  ASSERT_TRUE(executor_.RunOne());
  files_.Put(kPath, "aaaaaaa\nb");
  executor_.RunUntilIdle();
  ExpectFatal(run, Reason::POSITION_EXPIRED);
  EXPECT_EQ(run.seen().end_of_inputs, 0u);
}

TEST_F(FileReaderTest, AFileThatIsRewrittenLongerMeanwhileIsFatal) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\n");
  Reading run = Open();
  run.Send(ExtendCommand{});
  ASSERT_TRUE(executor_.RunOne());
  files_.Put(kPath, "ddddddd\neeeeeee\nfffffff\n");
  executor_.RunUntilIdle();
  ExpectFatal(run, Reason::POSITION_EXPIRED);
  EXPECT_EQ(run.seen().end_of_inputs, 0u);
}

TEST_F(FileReaderTest, AFileThatIsReplacedMeanwhileIsFatal) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\n");
  files_.Put("/g", "aaaaaaa\nbbbbbbb\n");
  Reading run = Open();
  run.Send(ExtendCommand{});
  ASSERT_TRUE(executor_.RunOne());
  ASSERT_OK(files_.Rename("/g", kPath));
  executor_.RunUntilIdle();
  ExpectFatal(run, Reason::POSITION_EXPIRED);
  EXPECT_THAT(std::string(run.seen().errors[0].status.message()),
              HasSubstr("replaced by another"));
}

TEST_F(FileReaderTest, AFileThatIsDeletedMeanwhileIsFatal) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\n");
  Reading run = Open();
  run.Send(ExtendCommand{});
  ASSERT_TRUE(executor_.RunOne());
  ASSERT_OK(files_.Remove(kPath));
  executor_.RunUntilIdle();
  ExpectFatal(run, Reason::POSITION_EXPIRED);
}

TEST_F(FileReaderTest, AReadErrorIsFatal) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\n");
  Reading run = Open();
  files_.FailNext(FileOperation::kReadAt, kPath,
                  MakeError(Reason::IO_ERROR, "the disk is gone"));
  run.Send(ExtendCommand{});
  executor_.RunUntilIdle();
  ExpectFatal(run, Reason::IO_ERROR);
  EXPECT_THAT(std::string(run.seen().errors[0].status.message()),
              HasSubstr("while reading /f"));
}

TEST_F(FileReaderTest, AClosedReaderAnswersNothing) {
  files_.Put(kPath, "a\n");
  Reading run = OpenAndRead();
  run.Send(DisconnectCommand{});
  EXPECT_TRUE(run.reader->IsClosed());
  run.Send(QueueCommand{});
  executor_.RunUntilIdle();
  EXPECT_THAT(run.seen().steps, IsEmpty());
}

TEST_F(FileReaderTest, ALineEndThatCameAfterTheEndIsNoRecord) {
  files_.Put(kPath, "a\nb");
  const std::string seek = ReadStep().seek();
  files_.Put(kPath, "a\nb\nc\n");
  Reading run = OpenAndRead({.resume = seek});
  EXPECT_THAT(ValuesOf(run.Queue()), ElementsAre("c"));
  EXPECT_THAT(run.seen().errors, IsEmpty());
}

TEST_F(FileReaderTest, ARecordThatWasTornIsReportedOnce) {
  files_.Put(kPath, "a\nb");
  const std::string seek = ReadStep().seek();
  files_.Put(kPath, "a\nbb\nc\nddddddddd\n");
  Reading run = OpenAndRead({.resume = seek});
  EXPECT_THAT(ValuesOf(run.Queue()), ElementsAre("b", "c", "ddddddddd"));
  const Transcript seen = run.seen();
  ASSERT_THAT(seen.errors, SizeIs(1));
  EXPECT_FALSE(seen.errors[0].fatal);
  EXPECT_EQ(seen.errors[0].tag, "file_torn_record");
}

TEST_F(FileReaderTest, AReplayPutsAnEndlessLastRecordTogetherAgain) {
  files_.Put(kPath, "a\nb");
  const RecordedStep first = ReadStep();
  files_.Put(kPath, "a\nb\nc");
  const RecordedStep second = ReadStep({.resume = first.seek()});
  files_.Put(kPath, "a\nb\nc\nd\n");
  Reading run = Open();
  for (const RecordedStep& step : {first, second}) {
    run.Send(ReplayCommand{.metadata = step.seek(), .data = ""});
    executor_.RunUntilIdle();
    ASSERT_FALSE(run.seen().HasFatal());
    EXPECT_EQ(run.seen().steps.back().replay_hash, step.hash.value);
  }
  run.Send(ExtendCommand{});
  executor_.RunUntilIdle();
  EXPECT_THAT(ValuesOf(run.Queue()), ElementsAre("d"));
}

TEST_F(FileReaderTest, AReplayGoesBlockByBlock) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\nccccccc\n");
  const RecordedStep step = ReadStep();
  Reading run = Open();
  run.Send(ReplayCommand{.metadata = step.seek(), .data = ""});
  ASSERT_TRUE(executor_.RunOne());
  EXPECT_EQ(run.seen().buffered.records, 1u);
  run.Send(DisconnectCommand{});
  executor_.RunUntilIdle();
  EXPECT_EQ(run.seen().buffered.records, 1u);
  EXPECT_THAT(run.seen().steps, IsEmpty());
}

TEST_F(FileReaderTest, AReplayOfChangedContentHasAnotherHash) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "0123456\n";
  files_.Put(kPath, text);
  const RecordedStep step = ReadStep({.block_bytes = 100});
  text[6000] = 'x';
  files_.Put(kPath, text);
  Reading run = Open();
  run.Send(ReplayCommand{.metadata = step.seek(), .data = ""});
  executor_.RunUntilIdle();
  ASSERT_THAT(run.seen().steps, SizeIs(1));
  EXPECT_EQ(run.seen().steps[0].amount, step.amount);
  EXPECT_NE(run.seen().steps[0].replay_hash, step.hash.value);
}

TEST_F(FileReaderTest, AReplayOfAFileThatWasCutOffIsFatal) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\n");
  const RecordedStep step = ReadStep();
  files_.Put(kPath, "aaaaaaa\n");
  Reading run = Open();
  run.Send(ReplayCommand{.metadata = step.seek(), .data = ""});
  executor_.RunUntilIdle();
  ExpectFatal(run, Reason::POSITION_EXPIRED);
  EXPECT_THAT(run.seen().steps, IsEmpty());
}

TEST_F(FileReaderTest, AReplayOfAFileThatIsCutOffMeanwhileIsFatal) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\nccccccc\n");
  const RecordedStep step = ReadStep();
  Reading run = Open();
  run.Send(ReplayCommand{.metadata = step.seek(), .data = ""});
  ASSERT_TRUE(executor_.RunOne());
  files_.Put(kPath, "aaaaaaa\nbbb");
  executor_.RunUntilIdle();
  ExpectFatal(run, Reason::POSITION_EXPIRED);
  EXPECT_EQ(run.seen().buffered.records, 1u);
  EXPECT_THAT(run.seen().steps, IsEmpty());
}

TEST_F(FileReaderTest, AReplayOfARewrittenFileIsFatal) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\n");
  const RecordedStep step = ReadStep();
  files_.Put(kPath, "aaaaaaa\nbbbbXbb\n");
  Reading run = Open();
  run.Send(ReplayCommand{.metadata = step.seek(), .data = ""});
  executor_.RunUntilIdle();
  ExpectFatal(run, Reason::POSITION_EXPIRED);
}

TEST_F(FileReaderTest, AReplayThatBeginsElsewhereIsFatal) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\n");
  Reading first = OpenAndRead({.limits = {.batch_records_max = 1}});
  first.Queue();
  const RecordedStep second = first.Queue();
  Reading run = Open();
  run.Send(ReplayCommand{.metadata = second.seek(), .data = ""});
  executor_.RunUntilIdle();
  ExpectFatal(run, Reason::POSITION_MISMATCH);
  EXPECT_THAT(std::string(run.seen().errors[0].status.message()),
              HasSubstr("it begins at byte 8, but the reader is at byte 0"));
}

TEST_F(FileReaderTest, AReplayOfDamagedMetadataIsFatal) {
  files_.Put(kPath, "a\n");
  Reading run = Open();
  run.Send(ReplayCommand{.metadata = "{", .data = ""});
  executor_.RunUntilIdle();
  ExpectFatal(run, Reason::MALFORMED_FRAME);
}

TEST_F(FileReaderTest, ASkipReadsNoRecord) {
  files_.Put(kPath, "aaaaaaa\nbbbbbbb\n");
  Reading first = OpenAndRead({.limits = {.batch_records_max = 1}});
  const RecordedStep step = first.Queue();
  Reading run = Open();
  run.Send(SkipCommand{.metadata = step.seek()});
  executor_.RunUntilIdle();
  ASSERT_THAT(run.seen().steps, SizeIs(1));
  EXPECT_TRUE(run.seen().buffered.IsEmpty());
  run.Send(ExtendCommand{});
  executor_.RunUntilIdle();
  EXPECT_THAT(ValuesOf(run.Queue()), ElementsAre("bbbbbbb"));
}

TEST_F(FileReaderTest, ASkipInARewrittenFileIsFatal) {
  files_.Put(kPath, "aaaaaaa\n");
  const RecordedStep step = ReadStep();
  files_.Put(kPath, "Xaaaaaa\n");
  Reading run = Open();
  run.Send(SkipCommand{.metadata = step.seek()});
  executor_.RunUntilIdle();
  ExpectFatal(run, Reason::POSITION_EXPIRED);
}

TEST_F(FileReaderTest, AnIdleReaderHasNoTask) {
  files_.Put(kPath, "a\n");
  Reading run = OpenAndRead();
  EXPECT_EQ(executor_.ready_count(), 0u);
  EXPECT_EQ(executor_.timer_count(), 0u);
}

// Whatever is asked in whatever order, the steps together are the file, and a
// new reader goes on from each of them with exactly the rest.
TEST_F(FileReaderTest, AnyOrderOfCommandsGivesTheFile) {
  Random random = TestRandom();
  for (int round = 0; round < 60; ++round) {
    std::string text;
    std::vector<std::string> lines;
    for (uint64_t left = random.Uniform(40); left > 0; --left) {
      lines.push_back(std::string(random.Uniform(30), 'x') +
                      std::to_string(left));
      text += lines.back() + "\n";
    }
    if (!text.empty() && random.Bernoulli(0.3)) text.pop_back();
    files_.Put(kPath, text);
    std::vector<std::string> read;
    std::optional<std::string> seek;
    for (bool ended = false; !ended;) {
      Reading run = Open({.block_bytes = 1 + random.Uniform(64),
                          .resume = seek,
                          .limits = {.batch_records_max = 1 + random.Uniform(9),
                                     .queued_bytes_max = random.Uniform(200)}});
      run.Send(ExtendCommand{});
      bool is_extended = true;
      for (uint64_t left = random.Uniform(60); left > 0 && !ended; --left) {
        const uint64_t action = random.Uniform(8);
        if (action == 0) {
          run.Send(is_extended ? InputReaderCommand(PauseCommand{})
                               : InputReaderCommand(ExtendCommand{}));
          is_extended = !is_extended;
        } else if (action < 4) {
          const RecordedStep step = run.Queue();
          for (std::string& value : ValuesOf(step)) read.push_back(value);
          seek = step.seek();
          const Transcript seen = run.seen();
          ended = seen.end_of_inputs > 0 && seen.buffered == seen.extended;
        } else {
          executor_.RunOne();
        }
      }
      ASSERT_THAT(run.seen().violations, IsEmpty());
      ASSERT_THAT(run.seen().errors, IsEmpty());
      run.reader.reset();
      executor_.RunUntilIdle();
    }
    ASSERT_EQ(read, lines) << text;
  }
}

// The destructor comes at any moment of a reader that works on threads.
TEST(FileReaderThreadsTest, CanBeDestroyedWhileItReads) {
  TempDir directory;
  const std::string path = directory.Path("input");
  std::string text;
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&text, "line ", i, "\n");
  ASSERT_OK(WriteFileDurably(PosixFileSystem(), path, text));
  Random random = TestRandom();
  const PathPolicy paths({});
  ThreadPoolExecutor executor("io", 2);
  FileSourceConfig config;
  config.path = path;
  config.block_bytes = 256;
  for (int round = 0; round < 50; ++round) {
    FileSource source(config, {.files = PosixFileSystem(),
                               .io = executor,
                               .clock = executor.clock(),
                               .paths = paths});
    RecordingConsumer consumer;
    absl::StatusOr<OpenedInput> opened =
        source.Open(consumer, MakeRaw(), Schema{}, std::nullopt);
    ASSERT_OK(opened);
    opened->reader->Request(ExtendCommand{});
    const uint64_t wanted = random.Uniform(1000);
    ASSERT_TRUE(consumer.WaitUntil([wanted](const Transcript& seen) {
      return seen.buffered.records >= wanted;
    }));
    if (round % 2 == 0) opened->reader->Request(QueueCommand{});
    opened->reader.reset();
    const Transcript seen = consumer.transcript();
    ASSERT_THAT(seen.violations, IsEmpty());
    // Nothing is said any more.
    ASSERT_EQ(consumer.transcript().buffered, seen.buffered);
  }
}

}  // namespace
}  // namespace penstock::core
