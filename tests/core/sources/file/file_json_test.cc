// A stream of JSON in a file: positions inside of an array.
#include "core/base/path_policy.h"
#include "core/format/json/json_format.h"
#include "core/sources/file/file_source.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/string_view.h>
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
using testing::IsEmpty;
using testing::SizeIs;
using RecordedStep = RecordingConsumer::RecordedStep;

constexpr char kPath[] = "/f";
constexpr absl::string_view kArray =
    "[\n  {\"a\": 1},\n  [2,\n3], NaN,\n  4,5 , \"6\" ,{\"long\":\n"
    "\"012345678901234567890123456789\"\n}\n, [],7\n]\n[8]9";

// An open reader over kPath, and its consumer.
struct Reading {
  std::unique_ptr<RecordingConsumer> consumer;
  std::unique_ptr<InputReader> reader;

  RecordedStep Queue() {
    reader->Request(QueueCommand{});
    return consumer->transcript().steps.back();
  }
};

class FileJsonTest : public testing::Test {
 protected:
  Reading Open(size_t block_bytes, std::optional<std::string> resume = {}) {
    FileSourceConfig config;
    config.path = kPath;
    config.block_bytes = block_bytes;
    FileSource source(config, {.files = files_,
                               .io = executor_,
                               .clock = executor_.clock(),
                               .paths = paths_});
    JsonConfig format;
    format.record_bytes_max = 20;
    Reading run;
    run.consumer = std::make_unique<RecordingConsumer>();
    absl::StatusOr<OpenedInput> opened = source.Open(
        *run.consumer, *MakeJsonParser(format), Schema{}, std::move(resume));
    EXPECT_OK(opened);
    if (opened.ok()) run.reader = std::move(opened->reader);
    return run;
  }
  // All that is left, in one step.
  RecordedStep ReadRest(Reading& run) {
    run.reader->Request(ExtendCommand{});
    executor_.RunUntilIdle();
    return run.Queue();
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

TEST_F(FileJsonTest, GoesOnBehindEveryRecord) {
  files_.Put(kPath, kArray);
  Reading whole_run = Open(1000);
  const std::vector<std::string> whole = ValuesOf(ReadRest(whole_run));
  ASSERT_THAT(whole, ElementsAre("{\"a\": 1}", "[2,\n3]", "4", "5", "\"6\"",
                                 "[]", "7", "8", "9"));
  const std::vector<ParseError> errors =
      whole_run.consumer->transcript().parse_errors;
  ASSERT_THAT(errors, SizeIs(2));
  for (size_t block_bytes = 1; block_bytes <= kArray.size(); ++block_bytes) {
    Reading run = Open(block_bytes);
    run.reader->Request(ExtendCommand{});
    std::vector<std::string> read;
    std::vector<RecordedStep> steps;
    do {
      executor_.RunOne();
      steps.push_back(run.Queue());
      for (std::string& value : ValuesOf(steps.back())) read.push_back(value);
      Reading rest = Open(block_bytes, steps.back().seek());
      std::vector<std::string> all = read;
      for (std::string& value : ValuesOf(ReadRest(rest))) all.push_back(value);
      ASSERT_EQ(all, whole) << "blocks of " << block_bytes;
      ASSERT_THAT(rest.consumer->transcript().errors, IsEmpty());
      for (const ParseError& error : rest.consumer->transcript().parse_errors) {
        const ParseError& known = errors[error.tag == errors[1].tag ? 1 : 0];
        ASSERT_EQ(error.byte_offset, known.byte_offset);
        ASSERT_EQ(error.record_number, known.record_number);
        ASSERT_EQ(error.line, known.line);
      }
    } while (run.consumer->transcript().end_of_inputs == 0);
    Reading replay = Open(kArray.size() - block_bytes + 1);
    for (const RecordedStep& step : steps) {
      replay.reader->Request(
          ReplayCommand{.metadata = step.seek(), .data = ""});
      executor_.RunUntilIdle();
      const RecordedStep again = replay.consumer->transcript().steps.back();
      ASSERT_EQ(again.replay_hash, step.hash.value);
    }
  }
}

TEST_F(FileJsonTest, ANumberThatGrewAfterTheEndWasTorn) {
  files_.Put(kPath, "[1,2");
  Reading run = Open(100);
  const std::string seek = ReadRest(run).seek();
  files_.Put(kPath, "[1,23,4]");
  Reading more = Open(100, seek);
  EXPECT_THAT(ValuesOf(ReadRest(more)), ElementsAre("3", "4"));
  ASSERT_THAT(more.consumer->transcript().errors, SizeIs(1));
  EXPECT_FALSE(more.consumer->transcript().errors[0].fatal);
}

TEST_F(FileJsonTest, AValueThatWasNotWholeAtTheEndIsTornWhenItGrows) {
  files_.Put(kPath, "{\"a\":1}{\"b\":");
  Reading run = Open(100);
  const std::string seek = ReadRest(run).seek();
  EXPECT_THAT(run.consumer->transcript().parse_errors, SizeIs(1));
  // Nothing came: nothing is torn.
  Reading same = Open(100, seek);
  ReadRest(same);
  EXPECT_THAT(same.consumer->transcript().errors, IsEmpty());
  files_.Put(kPath, "{\"a\":1}{\"b\":2}3");
  Reading more = Open(100, seek);
  ReadRest(more);
  ASSERT_THAT(more.consumer->transcript().errors, SizeIs(1));
  EXPECT_FALSE(more.consumer->transcript().errors[0].fatal);
}

}  // namespace
}  // namespace penstock::core
