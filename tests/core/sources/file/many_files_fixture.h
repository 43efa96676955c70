// A file source of many files over files in memory, under the test's clock.
#pragma once

#include "core/base/path_policy.h"
#include "core/format/raw/raw_format.h"
#include "core/sources/file/file_source.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/string_view.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

class ManyFilesTest : public testing::Test {
 protected:
  using RecordedStep = RecordingConsumer::RecordedStep;
  using Transcript = RecordingConsumer::Transcript;

  ManyFilesTest() {
    config_.path = "/l/*.log*";
    config_.block_bytes = 64;
  }
  ~ManyFilesTest() override {
    if (consumer_ != nullptr) {
      EXPECT_THAT(consumer_->transcript().violations, testing::IsEmpty());
    }
  }

  absl::Status TryOpen(std::optional<std::string> resume = std::nullopt) {
    FileSource source(config_, {.files = files_,
                                .io = executor_,
                                .clock = executor_.clock(),
                                .paths = paths_});
    reader_.reset();
    consumer_ =
        std::make_unique<RecordingConsumer>(FtModel::kExactlyOnce, limits_);
    absl::StatusOr<OpenedInput> opened =
        source.Open(*consumer_, make_parser_(), Schema{}, std::move(resume));
    if (!opened.ok()) return opened.status();
    reader_ = std::move(opened->reader);
    position_ = std::move(opened->position);
    return absl::OkStatus();
  }
  // The process dies and comes back where `resume` says.
  void Open(std::optional<std::string> resume = std::nullopt) {
    ASSERT_OK(TryOpen(std::move(resume)));
  }
  void Send(InputReaderCommand command) {
    reader_->Request(std::move(command));
  }
  // Reads on for some time.
  void Run(absl::Duration time = absl::Seconds(1)) {
    Send(ExtendCommand{});
    executor_.Advance(time);
  }
  RecordedStep Queue(bool checkpoint_requested = false) {
    Send(QueueCommand{.checkpoint_requested = checkpoint_requested});
    steps_.push_back(consumer_->transcript().steps.back());
    return steps_.back();
  }
  RecordedStep Replay(const RecordedStep& step) {
    Send(ReplayCommand{.metadata = step.seek(),
                       .data = std::string(kMsgpackNil)});
    executor_.RunUntilIdle();
    const Transcript seen = consumer_->transcript();
    return seen.steps.empty() ? RecordedStep{} : seen.steps.back();
  }
  static std::vector<std::string> ValuesOf(const RecordedStep& step) {
    std::vector<std::string> values;
    for (const OwnedRecord& record : step.records) {
      values.push_back(*record.value);
    }
    return values;
  }
  // What came within some time, all in one step.
  std::vector<std::string> Read(absl::Duration time = absl::Seconds(1)) {
    Run(time);
    return ValuesOf(Queue());
  }
  void Append(const std::string& path, absl::string_view text) {
    const auto file = files_.OpenForAppend(path, {.create = true});
    ASSERT_OK(file);
    ASSERT_OK((*file)->Append(text));
  }
  // Cuts the file off and writes it anew, in place.
  void Rewrite(const std::string& path, absl::string_view text) {
    const auto file = files_.OpenForAppend(path, {.create = true});
    ASSERT_OK(file);
    ASSERT_OK((*file)->Truncate(0));
    ASSERT_OK((*file)->Append(text));
  }
  std::vector<std::string> ErrorTags() const {
    std::vector<std::string> tags;
    for (const ParseError& error : consumer_->transcript().parse_errors) {
      tags.push_back(error.tag);
    }
    return tags;
  }
  bool HasFailed() const { return consumer_->transcript().HasFatal(); }

  FileSourceConfig config_;
  std::function<std::unique_ptr<Parser>()> make_parser_ = [] {
    return *MakeRawParser(RawConfig{});
  };
  RecordingConsumer::Limits limits_;
  FakeFileSystem files_;
  ManualExecutor executor_;
  const PathPolicy paths_{{}};
  std::unique_ptr<RecordingConsumer> consumer_;
  std::unique_ptr<InputReader> reader_;
  std::string position_;
  std::vector<RecordedStep> steps_;
};

}  // namespace penstock::core
