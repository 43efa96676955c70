#include "core/sources/file/stream_reader.h"

#include "core/base/path_policy.h"
#include "core/base/piped_input.h"
#include "core/base/thread_pool_executor.h"
#include "core/format/csv/csv_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/raw/raw_format.h"
#include "core/sources/file/file_source.h"
#include "core/sources/file/stream_source.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// A pipe, its two ends, and a source that reads it.
class StreamReaderTest : public testing::Test {
 protected:
  StreamReaderTest() {
    EXPECT_EQ(::pipe2(pipe_.data(), O_CLOEXEC), 0);
    input_.emplace(pipe_[0], watcher_);
    config_.path = "-";
  }
  ~StreamReaderTest() override {
    reader_.reset();
    input_.reset();
    CloseWriting();
    ::close(pipe_[0]);
  }

  absl::Status Open(size_t record_bytes_max = 1000) {
    RawConfig raw;
    raw.record_bytes_max = record_bytes_max;
    return OpenWith(*MakeRawParser(raw));
  }
  absl::Status OpenWith(std::unique_ptr<Parser> parser,
                        std::optional<std::string> resume = std::nullopt) {
    auto made =
        MakeFileSourceWith({.standard_input = &*input_}, config_, environment_);
    if (!made.ok()) return made.status();
    source_ = std::move(*made);
    auto opened = static_cast<StreamSource&>(*source_).Open(
        consumer_, std::move(parser), Schema(), std::move(resume));
    if (!opened.ok()) return opened.status();
    EXPECT_EQ(opened->position, "null");
    reader_ = std::move(opened->reader);
    return absl::OkStatus();
  }

  void Write(absl::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t wrote = ::write(pipe_[1], bytes.data(), bytes.size());
      ASSERT_GT(wrote, 0);
      bytes.remove_prefix(static_cast<size_t>(wrote));
    }
  }
  void CloseWriting() {
    if (pipe_[1] >= 0) ::close(std::exchange(pipe_[1], -1));
  }
  bool WaitForRecords(uint64_t count) {
    return consumer_.WaitUntil(
        [count](const auto& seen) { return seen.buffered.records >= count; });
  }
  bool WaitForEnd() {
    return consumer_.WaitUntil([](const auto& seen) {
      return seen.end_of_inputs > 0 || !seen.errors.empty();
    });
  }
  // What was read and not asked for yet.
  std::vector<std::string> Queue() {
    reader_->Request(QueueCommand{});
    std::vector<std::string> values;
    const auto step = consumer_.transcript().steps.back();
    for (const auto& record : step.records) {
      values.push_back(*record.value);
    }
    return values;
  }

  std::array<int, 2> pipe_ = {-1, -1};
  DescriptorWatcher watcher_;
  ThreadPoolExecutor executor_{"test", 2};
  const PathPolicy paths_{{}};
  const Environment environment_{.files = PosixFileSystem(),
                                 .io = executor_,
                                 .clock = executor_.clock(),
                                 .paths = paths_};
  FileSourceConfig config_;
  std::optional<PipedInput> input_;
  RecordingConsumer consumer_{std::nullopt};
  std::unique_ptr<InputEndpoint> source_;
  std::unique_ptr<InputReader> reader_;
};

TEST_F(StreamReaderTest, GivesAllRecordsBeforeTheEnd) {
  ASSERT_OK(Open());
  EXPECT_EQ(source_->FaultTolerance(), std::nullopt);
  Write("a\nb");
  CloseWriting();
  reader_->Request(ExtendCommand{});
  ASSERT_TRUE(WaitForEnd());
  EXPECT_THAT(Queue(), ElementsAre("a", "b"));
  EXPECT_THAT(consumer_.transcript().violations, SizeIs(0));
}

TEST_F(StreamReaderTest, GivesWhatIsWholeWhileTheWriterWaits) {
  ASSERT_OK(Open());
  reader_->Request(ExtendCommand{});
  Write("a\nb");
  ASSERT_TRUE(WaitForRecords(1));
  EXPECT_THAT(Queue(), ElementsAre("a"));
  Write("c\n");
  ASSERT_TRUE(WaitForRecords(2));
  EXPECT_THAT(Queue(), ElementsAre("bc"));
}

TEST_F(StreamReaderTest, DocumentsThatSayNoChangeAreCounted) {
  NdjsonConfig config;
  config.envelope = {.kind = EnvelopeKind::kDebezium};
  ASSERT_OK(OpenWith(*MakeNdjsonParser(config)));
  Write("null\n{\"ts_ms\":1}\n{\"op\":\"c\",\"after\":{\"id\":1}}\n");
  CloseWriting();
  reader_->Request(ExtendCommand{});
  ASSERT_TRUE(WaitForEnd());
  EXPECT_THAT(Queue(), ElementsAre("{\"id\":1}"));
  ASSERT_NE(consumer_.custom_metrics(), nullptr);
  const auto samples = consumer_.custom_metrics()->Metrics();
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_EQ(samples[0].name, "documents_passed_total");
  EXPECT_EQ(samples[0].value, 2);
}

TEST_F(StreamReaderTest, AnEmptyStreamEnds) {
  ASSERT_OK(Open());
  CloseWriting();
  reader_->Request(ExtendCommand{});
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(consumer_.transcript().end_of_inputs, 1U);
}

// Whatever pieces it comes in, with blocks of any size.
TEST_F(StreamReaderTest, GivesTheSameRecordsForAnyPieces) {
  Random rng = TestRandom();
  std::vector<std::string> lines;
  std::string text;
  for (int i = 0; i < 400; ++i) {
    // Some are longer than a block, some than a record may be.
    const size_t size =
        rng.Uniform(20) == 0 ? rng.Uniform(1500) : rng.Uniform(30);
    std::string line(size, static_cast<char>('a' + i % 26));
    absl::StrAppend(&text, line, "\n");
    if (size <= 1000) lines.push_back(std::move(line));
  }
  config_.block_bytes = 64;
  ASSERT_OK(Open());
  reader_->Request(ExtendCommand{});
  for (absl::string_view rest = text; !rest.empty();) {
    const absl::string_view piece = rest.substr(0, 1 + rng.Uniform(200));
    Write(piece);
    rest.remove_prefix(piece.size());
  }
  CloseWriting();
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(Queue(), lines);
  EXPECT_EQ(consumer_.transcript().parse_errors.size(), 400 - lines.size());
}

TEST_F(StreamReaderTest, ReadsNothingUntilItIsExtended) {
  ASSERT_OK(Open());
  Write("a\n");
  reader_->Request(ExtendCommand{});
  ASSERT_TRUE(WaitForRecords(1));
  reader_->Request(PauseCommand{});
  reader_->Request(DisconnectCommand{});
  EXPECT_TRUE(reader_->IsClosed());
}

TEST_F(StreamReaderTest, CsvKnowsItsHeaderWhenPiecesEndAnywhere) {
  CsvConfig csv;
  csv.header = true;
  auto parser = MakeCsvParser(csv, Schema());
  ASSERT_OK(parser.status());
  ASSERT_OK(OpenWith(*std::move(parser)));
  reader_->Request(ExtendCommand{});
  for (const char c : std::string("a,b\n1,\"x\ny\"\n2,z\n")) Write({&c, 1});
  CloseWriting();
  ASSERT_TRUE(WaitForEnd());
  EXPECT_THAT(consumer_.transcript().errors, SizeIs(0));
  EXPECT_THAT(Queue(), SizeIs(2));
}

TEST_F(StreamReaderTest, IsReadByOneAndOnce) {
  ASSERT_OK(Open());
  EXPECT_THAT(input_->Claim(), HasReason(Reason::INVALID_CONFIG));
  // Nothing was read: another may have it.
  reader_.reset();
  ASSERT_OK(Open());
  Write("a\n");
  reader_->Request(ExtendCommand{});
  ASSERT_TRUE(WaitForRecords(1));
  reader_.reset();
  EXPECT_THAT(OpenWith(*MakeRawParser(RawConfig()), "null"),
              HasReason(Reason::POSITION_EXPIRED));
}

TEST_F(StreamReaderTest, SaysWhereThereIsNoInput) {
  StreamSource source(config_, environment_, nullptr);
  const auto opened = source.Open(consumer_, *MakeRawParser(RawConfig()),
                                  Schema(), std::nullopt);
  EXPECT_THAT(opened.status(), HasReason(Reason::INVALID_CONFIG));
}

TEST_F(StreamReaderTest, RefusesWhatIsCompressed) {
  ASSERT_OK(Open());
  Write("\x1f\x8b\x08rest");
  reader_->Request(ExtendCommand{});
  ASSERT_TRUE(WaitForEnd());
  ASSERT_THAT(consumer_.transcript().errors, SizeIs(1));
  EXPECT_THAT(std::string(consumer_.transcript().errors[0].status.message()),
              HasSubstr("zcat"));
}

TEST_F(StreamReaderTest, RefusesWhatMeansNothingForAStream) {
  config_.follow = true;
  EXPECT_THAT(Open(), HasReason(Reason::INVALID_CONFIG));
  config_.follow = false;
  config_.compression = FileCompression::kZstd;
  EXPECT_THAT(Open(), HasReason(Reason::INVALID_CONFIG));
}

}  // namespace
}  // namespace penstock::core
