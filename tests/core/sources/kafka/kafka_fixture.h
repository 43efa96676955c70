// A Kafka source over topics in memory, on an executor of the test.
#pragma once

#include "core/base/path_policy.h"
#include "core/contract/command.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/raw/raw_format.h"
#include "core/sources/kafka/kafka_source.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/fake_kafka_topics.h"
#include "tests/support/manual_executor.h"
#include "tests/support/recording_consumer.h"

#include <absl/status/statusor.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// One connector after the other over the same topics.
class KafkaFixture : public testing::Test {
 protected:
  using RecordedStep = RecordingConsumer::RecordedStep;
  using Message = FakeKafkaTopics::Message;

  KafkaFixture() {
    config_.topics = {"t"};
    config_.options["bootstrap.servers"] = "unused:1";
    topics_.Create("t", 1);
  }
  ~KafkaFixture() override { Close(); }

  // Opens, in place of what was open.
  absl::Status Open(std::optional<std::string> resume = std::nullopt) {
    Close();
    consumer_ =
        std::make_unique<RecordingConsumer>(FtModel::kExactlyOnce, limits_);
    consumer_->SetPump([this] { executor_.RunUntilIdle(); });
    KafkaSource source(config_, environment_,
                       [this](const KafkaSourceConfig&, const Environment&) {
                         return topics_.MakeConsumer();
                       });
    std::unique_ptr<Parser> parser =
        make_parser_ != nullptr ? make_parser_()
        : schema_.IsEmpty() && is_raw_
            ? *MakeRawParser(RawConfig{})
            : *MakeNdjsonParser(NdjsonConfig{}, schema_);
    absl::StatusOr<OpenedInput> opened =
        source.Open(*consumer_, std::move(parser), schema_, std::move(resume));
    if (!opened.ok()) return opened.status();
    position_ = opened->position;
    reader_ = std::move(opened->reader);
    return absl::OkStatus();
  }
  void Close() {
    reader_.reset();
    if (consumer_ == nullptr) return;
    EXPECT_TRUE(consumer_->transcript().violations.empty());
    consumer_.reset();
  }

  void Extend() { Send(ExtendCommand{}); }
  RecordedStep Queue(Step step = 0) { return Ask(QueueCommand{.step = step}); }
  RecordedStep Replay(const RecordedStep& step) {
    return Ask(ReplayCommand{.metadata = step.seek()});
  }
  RecordedStep Skip(const RecordedStep& step) {
    return Ask(SkipCommand{.metadata = step.seek()});
  }
  // Empty if none came.
  RecordedStep Ask(InputReaderCommand command) {
    const size_t before = consumer_->transcript().steps.size();
    Send(std::move(command));
    const auto steps = consumer_->transcript().steps;
    return steps.size() == before ? RecordedStep{} : steps.back();
  }
  void Send(InputReaderCommand command) {
    reader_->Request(std::move(command));
    executor_.RunUntilIdle();
  }
  // Lets time pass, with what is due.
  void Pass(absl::Duration time) { executor_.Advance(time); }
  // The status of the fatal error; OK: none.
  absl::Status Fatal() const {
    for (const auto& error : consumer_->transcript().errors) {
      if (error.fatal) return error.status;
    }
    return absl::OkStatus();
  }
  double Metric(const std::string& name) const {
    for (const auto& sample : consumer_->custom_metrics()->Metrics()) {
      if (sample.name == name) return sample.value;
    }
    return -1;
  }
  static std::vector<std::string> ValuesOf(const RecordedStep& step) {
    std::vector<std::string> values;
    for (const OwnedRecord& record : step.records) {
      values.push_back(record.value.value_or("(null)"));
    }
    return values;
  }

  FakeKafkaTopics topics_;
  KafkaSourceConfig config_;
  Schema schema_;
  bool is_raw_ = true;
  // Instead of one of these.
  std::function<std::unique_ptr<Parser>()> make_parser_;
  RecordingConsumer::Limits limits_;
  std::string position_;
  std::unique_ptr<RecordingConsumer> consumer_;
  std::unique_ptr<InputReader> reader_;
  FakeFileSystem files_;
  ManualExecutor executor_;
  const PathPolicy paths_{{}};
  const Environment environment_{.files = files_,
                                 .io = executor_,
                                 .clock = executor_.clock(),
                                 .paths = paths_};
};

}  // namespace penstock::core
