// Compressed files, and which configurations are refused.
#include "core/base/error.h"
#include "core/compress/decoder.h"
#include "core/sinks/file/config.h"
#include "core/sinks/file/file_sink_reader.h"
#include "core/sinks/file/layout.h"
#include "tests/core/sinks/file/file_sink_fixture.h"
#include "tests/core/sinks/file/sink_process.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::Gt;

class FileSinkCompressTest : public FileSinkTest,
                             public testing::WithParamInterface<Compression> {
 protected:
  FileSinkCompressTest() { config_.compression = GetParam(); }
  std::string DataPath() {
    return PathOf(SinkFileName({.kind = SinkFileKind::kData,
                                .writer = kWriter,
                                .compression = GetParam()}));
  }
  std::vector<std::string> ReadLines() {
    std::vector<std::string> lines;
    auto reader = FileSinkReader::Open(files_, kDirectory);
    EXPECT_OK(reader);
    FileSinkLines shard = reader->Lines(0);
    absl::string_view line;
    while (true) {
      const auto more = shard.Next(line);
      EXPECT_OK(more);
      if (!more.value_or(false)) return lines;
      EXPECT_EQ(shard.path(), DataPath());
      lines.push_back(absl::StrCat(line, "@", shard.offset()));
    }
  }
};

TEST_P(FileSinkCompressTest, CommitIsAMemberOfItsOwn) {
  ASSERT_OK(Open());
  ASSERT_OK(endpoints_[0]->BatchStart({.steps = {0, 1}}));
  ASSERT_OK(endpoints_[0]->PushBuffer("one\n"));
  ASSERT_OK(endpoints_[0]->PushBuffer("two\n"));
  ASSERT_OK(endpoints_[0]->BatchEnd());
  ASSERT_OK(Commit(0, {0, 1}));
  const std::string first = *files_.Contents(DataPath());
  WriteSteps(1, 3);
  EXPECT_THAT(ReadLines(), ElementsAre("one@0", "two@4", "1@8", "2@10"));
  // Cut between members, it is whole.
  const auto decoder = MakeDecoder(GetParam());
  std::string out(100, '\0');
  const auto progress = decoder->Decode(first, std::span(out));
  EXPECT_EQ(progress.consumed, first.size());
  EXPECT_EQ(out.substr(0, progress.produced), "one\ntwo\n");
  EXPECT_TRUE(decoder->MayEnd());
}

TEST_P(FileSinkCompressTest, LargeBatchIsWrittenInPieces) {
  ASSERT_OK(Open());
  std::string rows;
  uint64_t noise = 1;
  while (rows.size() < (size_t{4} << 20)) {
    noise = noise * 6364136223846793005u + 1442695040888963407u;
    absl::StrAppend(&rows, noise, "\n");
  }
  const uint64_t before = files_.mutating_operations();
  ASSERT_OK(WriteAndCommit(0, {0, 1}, rows));
  EXPECT_THAT(files_.mutating_operations() - before, Gt(10u));
  EXPECT_EQ(Read().contents[0], rows);
}

// Case B076, with the disk full at any byte of a member.
TEST_P(FileSinkCompressTest, FullDiskInAMemberIsCutOff) {
  ASSERT_OK(Open());
  WriteSteps(0, 1);
  for (uint64_t room = 0; room < 20; ++room) {
    const Step step = room + 1;
    files_.ShortenNextAppend("/data-", room % 7);
    EXPECT_THAT(Write(0, {step, step + 1}, "lost\n"),
                HasReason(Reason::STORAGE_FULL));
    WriteSteps(step, step + 1);
  }
  std::string expected;
  for (Step step = 0; step <= 20; ++step)
    absl::StrAppend(&expected, step, "\n");
  EXPECT_EQ(Read().contents[0], expected);
  // No byte of what failed is left.
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       FileSinkReader::Open(files_, kDirectory));
  ASSERT_OK_AND_ASSIGN(const auto data, reader.Files(0));
  EXPECT_EQ(files_.Contents(DataPath())->size(), data[0].committed_bytes);
}

TEST_P(FileSinkCompressTest, BatchWithoutRowsAddsNoMember) {
  ASSERT_OK(Open());
  WriteSteps(0, 1);
  const std::string before = *files_.Contents(DataPath());
  ASSERT_OK(WriteAndCommit(0, {1, 2}, ""));
  EXPECT_EQ(files_.Contents(DataPath()), before);
}

TEST_P(FileSinkCompressTest, DamagedMemberIsTold) {
  ASSERT_OK(Open());
  WriteSteps(0, 3);
  std::string bytes = *files_.Contents(DataPath());
  bytes[bytes.size() - 3] ^= 1;
  files_.Put(DataPath(), bytes);
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       FileSinkReader::Open(files_, kDirectory));
  FileSinkLines lines = reader.Lines(0);
  absl::string_view line;
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) more = lines.Next(line);
  EXPECT_THAT(more, HasReason(Reason::STATE_DAMAGED));
}

INSTANTIATE_TEST_SUITE_P(All, FileSinkCompressTest,
                         testing::Values(Compression::kGzip,
                                         Compression::kZstd),
                         [](const auto& test) {
                           return test.param == Compression::kGzip ? "Gzip"
                                                                   : "Zstd";
                         });

// --- Configurations.

struct BadConfig {
  const char* name;
  const char* field;
  void (*spoil)(FileSinkConfig& config);
};
class FileSinkBadConfigTest : public testing::TestWithParam<BadConfig> {};

TEST_P(FileSinkBadConfigTest, IsRefusedByTheNameOfItsField) {
  FileSinkConfig config;
  config.path = kDirectory;
  ASSERT_OK(CheckFileSinkConfig(config));
  GetParam().spoil(config);
  const absl::Status status = CheckFileSinkConfig(config);
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("field"), GetParam().field);
}

INSTANTIATE_TEST_SUITE_P(
    All, FileSinkBadConfigTest,
    testing::Values(
        BadConfig{"LevelWithoutCompression", "compression_level",
                  [](FileSinkConfig& config) { config.compression_level = 3; }},
        BadConfig{"GzipLevel", "compression_level",
                  [](FileSinkConfig& config) {
                    config.compression = Compression::kGzip;
                    config.compression_level = 10;
                  }},
        BadConfig{"ZstdLevel", "compression_level",
                  [](FileSinkConfig& config) {
                    config.compression = Compression::kZstd;
                    config.compression_level = 13;
                  }},
        BadConfig{"Interval", "roll.interval",
                  [](FileSinkConfig& config) {
                    config.roll.interval = absl::ZeroDuration();
                  }},
        BadConfig{"RenameWithoutRoll", "visibility",
                  [](FileSinkConfig& config) {
                    config.visibility = FileVisibility::kRename;
                  }},
        BadConfig{"NameWithoutRename", "name",
                  [](FileSinkConfig& config) {
                    config.name = "{shard}-{writer}-{number}";
                  }},
        BadConfig{"Name", "name",
                  [](FileSinkConfig& config) {
                    config.visibility = FileVisibility::kRename;
                    config.roll.bytes = 1;
                    config.name = "../{shard}-{writer}-{number}";
                  }},
        BadConfig{"SegmentFiles", "segment_files",
                  [](FileSinkConfig& config) { config.segment_files = 0; }}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace penstock::core
