// The source "file" over compressed files.
#include "core/base/path_policy.h"
#include "core/format/raw/raw_format.h"
#include "core/sources/file/file_source.h"
#include "tests/support/compress.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
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
using Transcript = RecordingConsumer::Transcript;

constexpr char kPath[] = "/f.gz";

class CompressedFileTest : public testing::Test {
 protected:
  // Opens anew, where `resume` says.
  void Open(std::optional<std::string> resume = std::nullopt) {
    FileSourceConfig config;
    config.path = kPath;
    config.block_bytes = 64;
    FileSource source(config, {.files = files_,
                               .io = executor_,
                               .clock = executor_.clock(),
                               .paths = paths_});
    reader_.reset();
    consumer_ = std::make_unique<RecordingConsumer>(
        FtModel::kExactlyOnce,
        RecordingConsumer::Limits{.batch_records_max = 3});
    absl::StatusOr<OpenedInput> opened = source.Open(
        *consumer_, *MakeRawParser(RawConfig{}), Schema{}, std::move(resume));
    ASSERT_OK(opened);
    reader_ = std::move(opened->reader);
  }
  // Steps up to the end; the last one is empty.
  std::vector<RecordedStep> ReadSteps() {
    reader_->Request(ExtendCommand{});
    std::vector<RecordedStep> steps;
    do {
      executor_.RunUntilIdle();
      reader_->Request(QueueCommand{});
      steps.push_back(consumer_->transcript().steps.back());
    } while (!steps.back().amount.IsEmpty());
    return steps;
  }
  std::vector<std::string> ReadAll() {
    std::vector<std::string> values;
    for (const RecordedStep& step : ReadSteps()) {
      for (const OwnedRecord& record : step.records) {
        values.push_back(*record.value);
      }
    }
    return values;
  }
  std::vector<std::string> ErrorTags() {
    std::vector<std::string> tags;
    for (const ParseError& error : consumer_->transcript().parse_errors) {
      tags.push_back(absl::StrCat(error.tag, "@", error.byte_offset));
    }
    return tags;
  }

  FakeFileSystem files_;
  ManualExecutor executor_;
  const PathPolicy paths_{{}};
  std::unique_ptr<RecordingConsumer> consumer_;
  std::unique_ptr<InputReader> reader_;
};

// Case B042.
TEST_F(CompressedFileTest, ALineMaySpanMembers) {
  files_.Put(kPath,
             Gzip("{\"i\":1}\n{\"i\"") + Gzip("") + Gzip(":2}\n{\"i\":3}\n"));
  Open();
  EXPECT_THAT(ReadAll(), ElementsAre("{\"i\":1}", "{\"i\":2}", "{\"i\":3}"));
  EXPECT_THAT(ErrorTags(), IsEmpty());
  EXPECT_EQ(consumer_->transcript().end_of_inputs, 1u);
}

// Case B042.
TEST_F(CompressedFileTest, GarbageBehindItIsAnErrorAfterTheGoodData) {
  files_.Put(kPath, Gzip("a\n") + "{\"i\":2}\n");
  Open();
  EXPECT_THAT(ReadAll(), ElementsAre("a"));
  EXPECT_THAT(ErrorTags(), ElementsAre("gzip_trailing_garbage@2"));
  EXPECT_THAT(consumer_->transcript().errors, IsEmpty());
}

// Case B042. The record that the cut went through is not given out.
TEST_F(CompressedFileTest, ACutOffFileGivesItsWholeRecords) {
  std::string text;
  for (int i = 0; i < 50; ++i) absl::StrAppend(&text, "line ", i, "\n");
  const std::string whole = Gzip(text);
  files_.Put(kPath, whole.substr(0, whole.size() - 40));
  Open();
  const std::vector<std::string> values = ReadAll();
  ASSERT_GT(values.size(), 3u);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], absl::StrCat("line ", i));
  }
  EXPECT_THAT(consumer_->transcript().parse_errors, SizeIs(1));
  EXPECT_EQ(consumer_->transcript().parse_errors[0].tag, "gzip_truncated");
}

TEST_F(CompressedFileTest, ZstdIsReadAsWell) {
  files_.Put(kPath, Zstd("a\nb\n") + Zstd("c"));
  Open();
  EXPECT_THAT(ReadAll(), ElementsAre("a", "b", "c"));
}

TEST_F(CompressedFileTest, EveryStepCanBeReplayedAndResumedFrom) {
  std::string text;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, "line ", i, "\n");
  files_.Put(kPath, Gzip(text));
  Open();
  const std::vector<RecordedStep> steps = ReadSteps();
  ASSERT_GT(steps.size(), 10u);
  for (size_t i = 1; i < steps.size(); ++i) {
    Open(std::string(*steps[i - 1].resume->seek()));
    reader_->Request(
        ReplayCommand{.metadata = std::string(*steps[i].resume->seek()),
                      .data = std::string(kMsgpackNil)});
    executor_.RunUntilIdle();
    ASSERT_THAT(consumer_->transcript().errors, IsEmpty());
    EXPECT_EQ(consumer_->transcript().steps.back().records, steps[i].records);
  }
}

// What was read plainly goes on in the compressed copy: a position is one in
// the content.
TEST_F(CompressedFileTest, ACopyCompressedMeanwhileIsTheSameFile) {
  files_.Put(kPath, "a\nb\nc\nd\ne\nf\n");
  Open();
  const std::vector<RecordedStep> steps = ReadSteps();
  files_.Put(kPath, Gzip("a\nb\nc\nd\ne\nf\ng\n"));
  Open(std::string(*steps.back().resume->seek()));
  EXPECT_THAT(ReadAll(), ElementsAre("g"));
}

TEST_F(CompressedFileTest, AnotherContentIsExpired) {
  files_.Put(kPath, Gzip("a\nb\n"));
  Open();
  const std::vector<RecordedStep> steps = ReadSteps();
  files_.Put(kPath, Gzip("A\nb\n"));
  FileSourceConfig config;
  config.path = kPath;
  FileSource source(config, {.files = files_,
                             .io = executor_,
                             .clock = executor_.clock(),
                             .paths = paths_});
  RecordingConsumer consumer;
  EXPECT_THAT(source
                  .Open(consumer, *MakeRawParser(RawConfig{}), Schema{},
                        std::string(*steps.back().resume->seek()))
                  .status(),
              HasReason(Reason::POSITION_EXPIRED));
}

}  // namespace
}  // namespace penstock::core
