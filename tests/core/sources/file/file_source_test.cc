#include "core/sources/file/file_source.h"

#include "core/base/checksum.h"
#include "core/base/path_policy.h"
#include "core/format/raw/raw_format.h"
#include "core/sources/file/file_position.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::core {
namespace {

using testing::HasSubstr;

class FileSourceTest : public testing::Test {
 protected:
  absl::StatusOr<OpenedInput> Open(
      const std::string& path, std::optional<std::string> resume = std::nullopt,
      FileSystem* files = nullptr) {
    FileSourceConfig config;
    config.path = path;
    config.block_bytes = 4;
    FileSource source(config, {.files = files == nullptr ? files_ : *files,
                               .io = executor_,
                               .clock = executor_.clock(),
                               .paths = paths_});
    return source.Open(consumer_, *MakeRawParser(RawConfig{}), Schema{},
                       std::move(resume));
  }

  FakeFileSystem files_;
  ManualExecutor executor_;
  PathPolicy paths_{{}};
  RecordingConsumer consumer_;
};

TEST_F(FileSourceTest, IsExactlyOnce) {
  FileSourceConfig config;
  config.path = "/f";
  EXPECT_EQ(FileSource(config, {.files = files_,
                                .io = executor_,
                                .clock = executor_.clock(),
                                .paths = paths_})
                .FaultTolerance(),
            FtModel::kExactlyOnce);
}

TEST_F(FileSourceTest, OpensAtTheBeginning) {
  files_.Put("/f", "a\nb\n");
  ASSERT_OK_AND_ASSIGN(const OpenedInput opened, Open("/f"));
  EXPECT_EQ(opened.position,
            R"({"path":"/f","fingerprint":{"bytes":4,"xxh3":")" +
                Hex64(Checksum64("a\nb\n")) +
                R"("},"length":4,"start":0,"end":0,"records":0,"lines":0})");
}

TEST_F(FileSourceTest, OpensWhereAPositionEnds) {
  files_.Put("/f", "a\nb\n");
  ASSERT_OK_AND_ASSIGN(const OpenedInput first, Open("/f"));
  ASSERT_OK_AND_ASSIGN(FilePosition position,
                       FilePosition::Parse(first.position));
  position.end = 2;
  position.records = position.lines = 1;
  ASSERT_OK_AND_ASSIGN(const OpenedInput opened, Open("/f", position.ToJson()));
  position.start = 2;
  EXPECT_EQ(opened.position, position.ToJson());
}

TEST_F(FileSourceTest, KnowsAFileUnderAnotherName) {
  files_.Put("/f", "a\nb\n");
  ASSERT_OK_AND_ASSIGN(const OpenedInput first, Open("/f"));
  ASSERT_OK(files_.Rename("/f", "/g"));
  EXPECT_OK(Open("/g", first.position));
}

TEST_F(FileSourceTest, AMissingFileIsNotFound) {
  EXPECT_THAT(Open("/f").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/f")));
}

TEST_F(FileSourceTest, AFileThatIsGoneHasNoPosition) {
  files_.Put("/f", "a\n");
  ASSERT_OK_AND_ASSIGN(const OpenedInput first, Open("/f"));
  ASSERT_OK(files_.Remove("/f"));
  EXPECT_THAT(Open("/f", first.position).status(),
              HasReason(Reason::POSITION_EXPIRED));
}

TEST_F(FileSourceTest, AReplacedFileHasNoPosition) {
  files_.Put("/f", "a\nb\n");
  ASSERT_OK_AND_ASSIGN(const OpenedInput first, Open("/f"));
  files_.Put("/f", "c\nd\n");
  EXPECT_THAT(Open("/f", first.position).status(),
              HasReason(Reason::POSITION_EXPIRED));
}

// When it was opened there was nothing to know it by.
TEST_F(FileSourceTest, APositionInAFileThatWasEmptyIsNotGoodForAnother) {
  files_.Put("/f", "");
  ASSERT_OK_AND_ASSIGN(const OpenedInput opened, Open("/f"));
  files_.Put("/f", "aaa\nbbb\n");
  opened.reader->Request(ExtendCommand{});
  executor_.RunUntilIdle();
  opened.reader->Request(QueueCommand{});
  const auto step = consumer_.transcript().steps.back();
  EXPECT_EQ(step.records.size(), 2u);
  EXPECT_OK(Open("/f", step.seek()));
  files_.Put("/f", "ccc\nddd\neee\n");
  EXPECT_THAT(Open("/f", step.seek()).status(),
              HasReason(Reason::POSITION_EXPIRED));
}

TEST_F(FileSourceTest, AFileThatWasEmptyAndIsRewrittenMeanwhileIsFatal) {
  files_.Put("/f", "");
  ASSERT_OK_AND_ASSIGN(const OpenedInput opened, Open("/f"));
  files_.Put("/f", "aaa\nbbb\n");
  opened.reader->Request(ExtendCommand{});
  ASSERT_TRUE(executor_.RunOne());
  files_.Put("/f", "ccc\nddd\neee\n");
  executor_.RunUntilIdle();
  ASSERT_EQ(consumer_.transcript().errors.size(), 1u);
  EXPECT_THAT(consumer_.transcript().errors[0].status,
              HasReason(Reason::POSITION_EXPIRED));
}

TEST_F(FileSourceTest, ADamagedPositionIsRefused) {
  files_.Put("/f", "a\nb\n");
  EXPECT_THAT(Open("/f", "{\"path\":").status(),
              HasReason(Reason::MALFORMED_FRAME));
}

TEST_F(FileSourceTest, ADirectoryIsNoFile) {
  files_.Put("/d/f", "a\n");
  EXPECT_THAT(Open("/d").status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("it is a directory")));
}

TEST_F(FileSourceTest, APipeIsNoPlainFileAndHoldsNobodyUp) {
  TempDir directory;
  const std::string path = directory.Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(
      Open(path, std::nullopt, &PosixFileSystem()).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no plain file")));
}

TEST_F(FileSourceTest, APathOutsideOfTheRootsIsRefused) {
  files_.Put("/in/f", "a\n");
  files_.Put("/out/f", "a\n");
  const PathPolicy roots({"/in"});
  FileSourceConfig config;
  config.path = "/in/../out/f";
  FileSource source(config, {.files = files_,
                             .io = executor_,
                             .clock = executor_.clock(),
                             .paths = roots});
  EXPECT_THAT(
      source
          .Open(consumer_, *MakeRawParser(RawConfig{}), Schema{}, std::nullopt)
          .status(),
      HasReason(Reason::PATH_NOT_ALLOWED));
}

TEST_F(FileSourceTest, OpeningReadsNoRecord) {
  files_.Put("/f", "a\nb\n");
  ASSERT_OK_AND_ASSIGN(const OpenedInput opened, Open("/f"));
  executor_.RunUntilIdle();
  EXPECT_EQ(consumer_.transcript().buffered_calls, 0u);
  EXPECT_EQ(consumer_.transcript().end_of_inputs, 0u);
  EXPECT_FALSE(opened.reader->IsClosed());
}

TEST_F(FileSourceTest, ClosesTheFileWithTheReader) {
  files_.Put("/f", "a\nb\n");
  {
    ASSERT_OK_AND_ASSIGN(const OpenedInput opened, Open("/f"));
    EXPECT_EQ(files_.open_files(), 1);
  }
  executor_.RunUntilIdle();
  EXPECT_EQ(files_.open_files(), 0);
}

class MakeFileSourceTest : public FileSourceTest {
 protected:
  absl::Status Make(const ComponentConfig& config) {
    return MakeFileSource(config, {.files = files_,
                                   .io = executor_,
                                   .clock = executor_.clock(),
                                   .paths = paths_})
        .status();
  }
};

TEST_F(MakeFileSourceTest, TakesAGoodConfiguration) {
  FileSourceConfig config;
  config.path = "/f";
  EXPECT_OK(Make(config));
}

TEST_F(MakeFileSourceTest, RefusesAnotherTypesConfiguration) {
  EXPECT_THAT(Make(RawConfig{}), HasReason(Reason::INVALID_CONFIG));
}

TEST_F(MakeFileSourceTest, RefusesAnEmptyPath) {
  EXPECT_THAT(Make(FileSourceConfig{}), HasReason(Reason::INVALID_CONFIG));
}

TEST_F(MakeFileSourceTest, RefusesBlocksOfNoBytesAndOfTooMany) {
  FileSourceConfig config;
  config.path = "/f";
  config.block_bytes = 0;
  EXPECT_THAT(Make(config), HasReason(Reason::INVALID_CONFIG));
  config.block_bytes = FileSourceConfig::kBlockBytesMax + 1;
  EXPECT_THAT(Make(config), HasReason(Reason::INVALID_CONFIG));
}

}  // namespace
}  // namespace penstock::core
