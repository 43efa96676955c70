// Blocks that make more than one result: the rest of a block waits for the
// next task, behind whatever comes between.
#include "core/base/path_policy.h"
#include "core/contract/parser.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/sources/file/file_source.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using RecordedStep = RecordingConsumer::RecordedStep;
using Transcript = RecordingConsumer::Transcript;

constexpr char kPath[] = "/f";

// A parser whose results are full after `lines_max` lines.
class FewLinesParser final : public Parser {
 public:
  FewLinesParser(std::unique_ptr<Parser> inner, size_t lines_max)
      : inner_(std::move(inner)), lines_max_(lines_max) {}

  ParseResult Parse(const Fragment& fragment) override {
    const absl::string_view text(fragment.block->data() + fragment.begin,
                                 fragment.size);
    size_t end = 0;
    for (size_t lines = 0; lines < lines_max_ && end < text.size(); ++lines) {
      const size_t newline = text.find('\n', end);
      end = newline == absl::string_view::npos ? text.size() : newline + 1;
    }
    Fragment few = fragment;
    few.size = static_cast<uint32_t>(end);
    return inner_->Parse(few);
  }
  std::unique_ptr<Splitter> MakeSplitter() const override {
    return inner_->MakeSplitter();
  }
  std::unique_ptr<Parser> Fork() const override {
    return std::make_unique<FewLinesParser>(inner_->Fork(), lines_max_);
  }
  void SetPosition(uint64_t record_number, uint64_t line) override {
    inner_->SetPosition(record_number, line);
  }
  size_t RecordBytesMax() const override { return inner_->RecordBytesMax(); }

 private:
  const std::unique_ptr<Parser> inner_;
  const size_t lines_max_;
};

struct ReadOptions {
  std::unique_ptr<Parser> parser = nullptr;
  size_t block_bytes = size_t{1} << 20;
  std::optional<std::string> resume = std::nullopt;
  RecordingConsumer::Limits limits = {};
};

// An open reader over kPath, and its consumer.
struct Reading {
  std::unique_ptr<RecordingConsumer> consumer;
  std::unique_ptr<InputReader> reader;

  void Send(InputReaderCommand command) { reader->Request(std::move(command)); }
  Transcript seen() const { return consumer->transcript(); }
  RecordedStep Queue() {
    Send(QueueCommand{});
    return seen().steps.back();
  }
};

std::unique_ptr<Parser> MakeFew(size_t lines_max) {
  return std::make_unique<FewLinesParser>(*MakeNdjsonParser(NdjsonConfig()),
                                          lines_max);
}

class FileResultsTest : public testing::Test {
 protected:
  Reading Open(ReadOptions options) {
    FileSourceConfig config;
    config.path = kPath;
    config.block_bytes = options.block_bytes;
    FileSource source(config, {.files = files_,
                               .io = executor_,
                               .clock = executor_.clock(),
                               .paths = paths_});
    Reading run;
    run.consumer = std::make_unique<RecordingConsumer>(FtModel::kExactlyOnce,
                                                       options.limits);
    if (options.parser == nullptr) {
      options.parser = *MakeNdjsonParser(NdjsonConfig());
    }
    absl::StatusOr<OpenedInput> opened =
        source.Open(*run.consumer, std::move(options.parser), Schema{},
                    std::move(options.resume));
    EXPECT_OK(opened);
    if (opened.ok()) run.reader = std::move(opened->reader);
    return run;
  }
  RecordedStep Replay(ReadOptions options, const RecordedStep& step) {
    Reading run = Open(std::move(options));
    run.Send(ReplayCommand{.metadata = step.seek(), .data = ""});
    executor_.RunUntilIdle();
    EXPECT_THAT(run.seen().violations, IsEmpty());
    EXPECT_THAT(run.seen().steps, SizeIs(1));
    return run.seen().steps.back();
  }

  FakeFileSystem files_;
  ManualExecutor executor_;
  const PathPolicy paths_{{}};
};

std::vector<std::string> ValuesOf(const RecordedStep& step) {
  std::vector<std::string> values;
  for (const OwnedRecord& record : step.records) {
    values.push_back(*record.value);
  }
  return values;
}

TEST_F(FileResultsTest, EachIsATaskByItself) {
  files_.Put(kPath, "1\n2\n3\n");
  Reading run = Open({.parser = MakeFew(2)});
  run.Send(ExtendCommand{});
  ASSERT_TRUE(executor_.RunOne());
  EXPECT_EQ(run.seen().buffered.records, 2u);
  EXPECT_EQ(run.seen().end_of_inputs, 0u);
  executor_.RunUntilIdle();
  EXPECT_EQ(run.seen().buffered.records, 3u);
  EXPECT_EQ(run.seen().end_of_inputs, 1u);
}

TEST_F(FileResultsTest, TheNextWaitsWhileTheQueueIsFull) {
  files_.Put(kPath, "1\n2\n3\n");
  Reading run = Open({.parser = MakeFew(1), .limits = {.queued_bytes_max = 1}});
  run.Send(ExtendCommand{});
  executor_.RunUntilIdle();
  EXPECT_EQ(run.seen().buffered.records, 1u);
  EXPECT_EQ(executor_.ready_count(), 0u);
  EXPECT_THAT(ValuesOf(run.Queue()), ElementsAre("1"));
  executor_.RunUntilIdle();
  EXPECT_THAT(ValuesOf(run.Queue()), ElementsAre("2"));
}

TEST_F(FileResultsTest, AStepMayEndBetweenTwo) {
  files_.Put(kPath, "1\n2\n3\n");
  Reading run = Open({.parser = MakeFew(2)});
  run.Send(ExtendCommand{});
  ASSERT_TRUE(executor_.RunOne());
  const RecordedStep step = run.Queue();
  EXPECT_THAT(ValuesOf(step), ElementsAre("1", "2"));
  Reading rest = Open({.resume = step.seek()});
  rest.Send(ExtendCommand{});
  executor_.RunUntilIdle();
  EXPECT_THAT(ValuesOf(rest.Queue()), ElementsAre("3"));
}

TEST_F(FileResultsTest, APauseBetweenTwoLosesAndDoublesNothing) {
  files_.Put(kPath, "1\nbad\n3\nworse\n");
  Reading run = Open({.parser = MakeFew(1)});
  run.Send(ExtendCommand{});
  ASSERT_TRUE(executor_.RunOne());
  ASSERT_TRUE(executor_.RunOne());
  run.Send(PauseCommand{});
  executor_.RunUntilIdle();
  EXPECT_EQ(run.seen().buffered.records, 1u);
  EXPECT_THAT(run.seen().parse_errors, SizeIs(1));
  run.Send(ExtendCommand{});
  executor_.RunUntilIdle();
  EXPECT_THAT(ValuesOf(run.Queue()), ElementsAre("1", "3"));
  ASSERT_THAT(run.seen().parse_errors, SizeIs(2));
  EXPECT_EQ(run.seen().parse_errors[1].record_number, 4u);
  EXPECT_EQ(run.seen().parse_errors[1].line, 4u);
  EXPECT_EQ(run.seen().parse_errors[1].byte_offset, 8u);
}

// A released block is read again, with what came behind it meanwhile.
TEST_F(FileResultsTest, WhatGrewDuringAPauseBetweenTwoIsRead) {
  files_.Put(kPath, "1\n2\n3");
  Reading run = Open({.parser = MakeFew(1)});
  run.Send(ExtendCommand{});
  ASSERT_TRUE(executor_.RunOne());
  run.Send(PauseCommand{});
  executor_.RunUntilIdle();
  files_.Put(kPath, "1\n2\n33\n4\n");
  run.Send(ExtendCommand{});
  executor_.RunUntilIdle();
  EXPECT_THAT(ValuesOf(run.Queue()), ElementsAre("1", "2", "33", "4"));
}

TEST_F(FileResultsTest, ADisconnectBetweenTwoEndsIt) {
  files_.Put(kPath, "1\n2\n3\n");
  Reading run = Open({.parser = MakeFew(1)});
  run.Send(ExtendCommand{});
  ASSERT_TRUE(executor_.RunOne());
  run.Send(DisconnectCommand{});
  executor_.RunUntilIdle();
  EXPECT_EQ(run.seen().buffered.records, 1u);
  EXPECT_THAT(run.seen().violations, IsEmpty());
}

// Two bytes a bad record, kept for dead letters: a block of 100 KiB makes
// many results, of which the queue takes as many as it has room for.
TEST_F(FileResultsTest, BadRecordsFillTheQueueNotTheMemory) {
  std::string text;
  while (text.size() < size_t{100} << 10) text += "x\n";
  files_.Put(kPath, text + "{}\n");
  constexpr uint64_t kQueuedBytesMax = uint64_t{8} << 20;
  const RecordingConsumer::Limits limits{.queued_bytes_max = kQueuedBytesMax,
                                         .keeps_bad_records = true};
  Reading run = Open({.limits = limits});
  run.Send(ExtendCommand{});
  size_t before = 0;
  std::vector<RecordedStep> steps;
  while (true) {
    executor_.RunUntilIdle();
    const Transcript seen = run.seen();
    uint64_t staged = 0;
    for (const ParseError& error :
         std::span(seen.parse_errors).subspan(before)) {
      staged += error.MemoryBytes();
    }
    before = seen.parse_errors.size();
    EXPECT_LT(staged, kQueuedBytesMax + Parser::kResultBytesMax);
    steps.push_back(run.Queue());
    if (seen.end_of_inputs > 0) break;
  }
  EXPECT_GT(steps.size(), 3u);
  EXPECT_EQ(run.seen().parse_errors.size(), text.size() / 2);
  EXPECT_THAT(run.seen().violations, IsEmpty());
  const RecordedStep again = Replay({.limits = limits}, steps.front());
  EXPECT_EQ(again.bad_records, steps.front().bad_records);
}

// Whatever is asked in whatever order, and however much makes a result, the
// steps together are the file, and each is replayed as it was.
TEST_F(FileResultsTest, AnyOrderOfCommandsGivesTheFile) {
  Random random = TestRandom();
  for (int round = 0; round < 60; ++round) {
    std::string text;
    std::vector<std::string> lines;
    for (uint64_t left = random.Uniform(60); left > 0; --left) {
      lines.push_back(absl::StrCat(random.Uniform(1'000'000)));
      absl::StrAppend(&text, lines.back(), random.Bernoulli(0.3) ? "\n?\n" : "",
                      "\n");
    }
    files_.Put(kPath, text);
    Reading run = Open({.parser = MakeFew(1 + random.Uniform(4)),
                        .block_bytes = 1 + random.Uniform(200),
                        .limits = {.batch_records_max = 1 + random.Uniform(9),
                                   .queued_bytes_max = random.Uniform(2000),
                                   .keeps_bad_records = true}});
    run.Send(ExtendCommand{});
    bool is_extended = true;
    std::vector<std::string> read;
    std::vector<RecordedStep> steps;
    for (bool ended = false; !ended;) {
      const uint64_t action = random.Uniform(8);
      if (action == 0) {
        run.Send(is_extended ? InputReaderCommand(PauseCommand{})
                             : InputReaderCommand(ExtendCommand{}));
        is_extended = !is_extended;
      } else if (action < 3) {
        steps.push_back(run.Queue());
        for (std::string& value : ValuesOf(steps.back())) read.push_back(value);
        const Transcript seen = run.seen();
        ended = seen.end_of_inputs > 0 && seen.buffered == seen.extended;
      } else {
        executor_.RunOne();
      }
    }
    ASSERT_THAT(run.seen().violations, IsEmpty());
    ASSERT_THAT(run.seen().errors, IsEmpty());
    ASSERT_EQ(read, lines) << text;
    Reading replay = Open({.parser = MakeFew(1 + random.Uniform(4)),
                           .block_bytes = 1 + random.Uniform(200),
                           .limits = {.keeps_bad_records = true}});
    for (const RecordedStep& step : steps) {
      replay.Send(ReplayCommand{.metadata = step.seek(), .data = ""});
      executor_.RunUntilIdle();
      const RecordedStep again = replay.seen().steps.back();
      ASSERT_EQ(again.amount, step.amount);
      ASSERT_EQ(again.replay_hash, step.hash.value);
      ASSERT_EQ(again.bad_records, step.bad_records);
    }
  }
}

}  // namespace
}  // namespace penstock::core
