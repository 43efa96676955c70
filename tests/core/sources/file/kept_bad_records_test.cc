// Bad records that are kept for the dead letters.
#include "core/base/path_policy.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/sources/file/file_source.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using RecordedStep = RecordingConsumer::RecordedStep;

constexpr char kPath[] = "/f";

class KeptBadRecordsTest : public testing::Test {
 protected:
  KeptBadRecordsTest() { files_.Put(kPath, "{}\nbad\n[]\nworse\n"); }

  // What a reader with blocks of this size answers to `command`.
  RecordedStep Ask(size_t block_bytes, bool keeps, InputReaderCommand command) {
    FileSourceConfig config;
    config.path = kPath;
    config.block_bytes = block_bytes;
    FileSource source(config, {.files = files_,
                               .io = executor_,
                               .clock = executor_.clock(),
                               .paths = paths_});
    RecordingConsumer consumer(FtModel::kExactlyOnce,
                               {.keeps_bad_records = keeps});
    absl::StatusOr<OpenedInput> opened = source.Open(
        consumer, *MakeNdjsonParser(NdjsonConfig()), Schema{}, std::nullopt);
    EXPECT_OK(opened);
    const bool is_queue = std::holds_alternative<QueueCommand>(command);
    if (is_queue) opened->reader->Request(ExtendCommand{});
    executor_.RunUntilIdle();
    opened->reader->Request(std::move(command));
    executor_.RunUntilIdle();
    return consumer.transcript().steps.back();
  }

  FakeFileSystem files_;
  ManualExecutor executor_;
  const PathPolicy paths_{std::vector<std::string>()};
};

TEST_F(KeptBadRecordsTest, GoWithTheStepInWhichTheyStand) {
  const RecordedStep step = Ask(8, true, QueueCommand{});
  EXPECT_THAT(step.records, SizeIs(2));
  ASSERT_THAT(step.bad_records, SizeIs(2));
  EXPECT_EQ(step.bad_records[0].offset, 3);
  EXPECT_EQ(step.bad_records[0].text, "bad");
  EXPECT_FALSE(step.bad_records[0].tag.empty());
  EXPECT_FALSE(step.bad_records[0].description.empty());
  EXPECT_EQ(step.bad_records[1].offset, 10);
  EXPECT_EQ(step.bad_records[1].text, "worse");
}

TEST_F(KeptBadRecordsTest, AreTheSameInReplayHoweverTheFileIsCut) {
  const RecordedStep step = Ask(8, true, QueueCommand{});
  const RecordedStep again =
      Ask(4096, true, ReplayCommand{.metadata = step.seek(), .data = ""});
  EXPECT_EQ(again.bad_records, step.bad_records);
}

TEST_F(KeptBadRecordsTest, AreNotCarriedIfNobodyKeepsThem) {
  EXPECT_THAT(Ask(8, false, QueueCommand{}).bad_records, IsEmpty());
}

}  // namespace
}  // namespace penstock::core
