// A header of CSV: read once, known wherever the reader goes on.
#include "core/base/path_policy.h"
#include "core/format/csv/csv_format.h"
#include "core/sources/file/file_source.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/status_matchers.h"

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
using testing::IsEmpty;
using testing::SizeIs;
using RecordedStep = RecordingConsumer::RecordedStep;

constexpr char kPath[] = "/f.csv";
constexpr char kText[] =
    "# made by hand\nb,\"k\n\",a\r\n1,x,\"two\nlines\"\r\n\nbad\n2,y,\n3,z,c\n";

// The records' keys tell which field was taken: that below the header "k\n".
std::vector<std::string> KeysOf(const RecordedStep& step) {
  std::vector<std::string> keys;
  for (const OwnedRecord& record : step.records) {
    keys.push_back(record.key.value_or("(none)"));
  }
  return keys;
}

class FileCsvTest : public testing::Test {
 protected:
  struct Reading {
    std::unique_ptr<RecordingConsumer> consumer;
    std::unique_ptr<InputReader> reader;
  };

  static Schema Columns() { return {{{.name = "a"}, {.name = "b"}}}; }

  absl::StatusOr<Reading> Open(
      std::optional<std::string> resume = std::nullopt,
      RecordingConsumer::Limits limits = {.batch_records_max = 1},
      const Schema& schema = Columns()) {
    CsvConfig csv;
    csv.header = true;
    csv.dialect.comment = '#';
    csv.key = "k\n";
    FileSourceConfig config;
    config.path = kPath;
    config.block_bytes = 8;
    config.follow = follows_ || follows_from_end_;
    if (follows_from_end_) config.start = FileStart::kEnd;
    FileSource source(config, {.files = files_,
                               .io = executor_,
                               .clock = executor_.clock(),
                               .paths = paths_});
    Reading reading;
    reading.consumer =
        std::make_unique<RecordingConsumer>(FtModel::kExactlyOnce, limits);
    absl::StatusOr<OpenedInput> opened = source.Open(
        *reading.consumer, *MakeCsvParser(csv, schema), schema, resume);
    if (!opened.ok()) return opened.status();
    reading.reader = std::move(opened->reader);
    return reading;
  }

  RecordedStep Queue(Reading& reading) {
    reading.reader->Request(ExtendCommand{});
    executor_.RunUntilIdle();
    reading.reader->Request(QueueCommand{});
    executor_.RunUntilIdle();
    return reading.consumer->transcript().steps.back();
  }

  bool follows_ = false;
  bool follows_from_end_ = false;
  FakeFileSystem files_;
  ManualExecutor executor_;
  const PathPolicy paths_{std::vector<std::string>()};
};

TEST_F(FileCsvTest, WhoGoesOnInTheMiddleKnowsTheHeader) {
  files_.Put(kPath, kText);
  ASSERT_OK_AND_ASSIGN(Reading first, Open());
  std::optional<std::string> seek;
  std::vector<std::string> keys;
  // A step, then another reader, until there is nothing more.
  for (int step = 0; step < 5; ++step) {
    ASSERT_OK_AND_ASSIGN(Reading reading, Open(seek));
    const RecordedStep made = Queue(reading);
    for (std::string& key : KeysOf(made)) keys.push_back(std::move(key));
    seek = made.seek();
  }
  EXPECT_THAT(keys, ElementsAre("x", "y", "z"));
  ASSERT_OK_AND_ASSIGN(Reading last, Open(seek));
  EXPECT_THAT(Queue(last).records, IsEmpty());
}

TEST_F(FileCsvTest, TheEndIsNotInsideOfQuotes) {
  follows_from_end_ = true;
  files_.Put(kPath, absl::StrCat(kText, "4,w,\"be\ngun\n"));
  ASSERT_OK_AND_ASSIGN(Reading reading, Open());
  EXPECT_THAT(Queue(reading).records, IsEmpty());
  const auto file = files_.OpenForAppend(kPath, {.create = true});
  ASSERT_OK(file);
  ASSERT_OK((*file)->Append("and ended\"\n"));
  executor_.Advance(absl::Seconds(1));
  EXPECT_THAT(KeysOf(Queue(reading)), ElementsAre("w"));
  EXPECT_THAT(reading.consumer->transcript().parse_errors, IsEmpty());
}

// A writer that went on at its old place in a file that was cut off left NULs,
// here more of them than a header may be long, and wrote its header anew.
TEST_F(FileCsvTest, AHeaderBehindNulsThatArePassedOverIsTheHeader) {
  follows_ = true;
  files_.Put(kPath, absl::StrCat(std::string(3 << 20, '\0'), kText));
  std::optional<std::string> seek;
  std::vector<std::string> keys;
  // A step, then another reader, until there is nothing more.
  for (int step = 0; step < 6; ++step) {
    ASSERT_OK_AND_ASSIGN(Reading reading, Open(seek));
    const RecordedStep made = Queue(reading);
    for (std::string& key : KeysOf(made)) keys.push_back(std::move(key));
    seek = made.seek();
  }
  EXPECT_THAT(keys, ElementsAre("x", "y", "z"));
}

TEST_F(FileCsvTest, AReplayIsWhatWasReadFirst) {
  files_.Put(kPath, kText);
  ASSERT_OK_AND_ASSIGN(Reading first, Open());
  const RecordedStep one = Queue(first);
  const RecordedStep two = Queue(first);
  ASSERT_THAT(two.records, SizeIs(1));
  ASSERT_OK_AND_ASSIGN(Reading again, Open(one.seek()));
  again.reader->Request(ReplayCommand{.metadata = two.seek(), .data = ""});
  executor_.RunUntilIdle();
  const RecordedStep replayed = again.consumer->transcript().steps.back();
  EXPECT_EQ(KeysOf(replayed), KeysOf(two));
  EXPECT_EQ(replayed.hash, two.hash);
}

TEST_F(FileCsvTest, ErrorsHaveTheirPlaceBehindTheHeader) {
  files_.Put(kPath, kText);
  ASSERT_OK_AND_ASSIGN(Reading reading, Open(std::nullopt, {}));
  EXPECT_THAT(Queue(reading).records, SizeIs(3));
  const auto errors = reading.consumer->transcript().parse_errors;
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].record_number, 2u);
  EXPECT_EQ(errors[0].line, 7u);
  EXPECT_EQ(errors[0].description,
            "the record has 1 fields, the header names 3");
}

TEST_F(FileCsvTest, OfAFileThatWasEmptyAtOpenTheHeaderIsReadLater) {
  files_.Put(kPath, "");
  ASSERT_OK_AND_ASSIGN(Reading reading, Open(std::nullopt, {}));
  files_.Put(kPath, kText);
  EXPECT_THAT(KeysOf(Queue(reading)), ElementsAre("x", "y", "z"));
}

TEST_F(FileCsvTest, AHeaderWithoutAColumnIsFatal) {
  files_.Put(kPath, "b\n1\n");
  ASSERT_OK_AND_ASSIGN(Reading reading, Open());
  reading.reader->Request(ExtendCommand{});
  executor_.RunUntilIdle();
  EXPECT_TRUE(reading.reader->IsClosed());
}

}  // namespace
}  // namespace penstock::core
