#include "core/sinks/file/file_sink_reader.h"

#include "core/base/error.h"
#include "core/sinks/file/layout.h"
#include "tests/core/sinks/file/hooked_filesystem.h"
#include "tests/core/sinks/file/sink_process.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Writer kFirst = {.epoch = 1, .open_number = 1};
constexpr Writer kSecond = {.epoch = 1, .open_number = 2};

struct Line {
  std::string text;
  std::string path;
  uint64_t offset = 0;
  friend bool operator==(const Line&, const Line&) = default;
};

// A directory made by hand: a manifest of the second writer, and data.
class FileSinkReaderTest : public testing::Test {
 protected:
  void MakeManifest(std::vector<CommittedData> data) {
    const ManifestHeader header = {
        .identity = {"1234abcd", "p", "c"}, .writer = kSecond, .shards = 1};
    files_.Put(absl::StrCat("/d/", ManifestName(kSecond, 0)),
               EncodeHeader(header) +
                   EncodeState({.progress = {}, .data = std::move(data)}));
    files_.Put(absl::StrCat("/d/", ClaimName(kSecond)), EncodeHeader(header));
  }
  static std::string DataPath(const Writer& writer) {
    return absl::StrCat("/d/", DataName(0, writer));
  }

  absl::StatusOr<std::vector<Line>> ReadLines(size_t line_bytes_max = 1000) {
    auto reader = FileSinkReader::Open(files_, "/d");
    if (!reader.ok()) return reader.status();
    FileSinkLines lines = reader->Lines(0, line_bytes_max);
    std::vector<Line> result;
    absl::string_view line;
    while (true) {
      const auto more = lines.Next(line);
      if (!more.ok()) return more.status();
      if (!*more) return result;
      result.push_back({std::string(line), lines.path(), lines.offset()});
    }
  }

  FakeFileSystem files_;
};

TEST_F(FileSinkReaderTest, LinesEndAtTheCommittedLength) {
  files_.Put(DataPath(kSecond), "one\ntwo\nnot yet\n");
  MakeManifest({{.shard = 0, .writer = kSecond, .bytes = 8}});
  EXPECT_THAT(ReadLines(),
              IsOkAndHolds(ElementsAre(Line{"one", DataPath(kSecond), 0},
                                       Line{"two", DataPath(kSecond), 4})));
}

TEST_F(FileSinkReaderTest, LinesGoOnFromFileToFile) {
  files_.Put(DataPath(kFirst), "one\ntw");
  files_.Put(DataPath(kSecond), "o\n\nthree");
  MakeManifest({{.shard = 0, .writer = kFirst, .bytes = 6},
                {.shard = 0, .writer = kSecond, .bytes = 8}});
  EXPECT_THAT(ReadLines(),
              IsOkAndHolds(ElementsAre(Line{"one", DataPath(kFirst), 0},
                                       Line{"two", DataPath(kFirst), 4},
                                       Line{"", DataPath(kSecond), 2},
                                       Line{"three", DataPath(kSecond), 3})));
}

TEST_F(FileSinkReaderTest, LineThatBeginsAFileIsThatFiles) {
  files_.Put(DataPath(kFirst), "one\n");
  files_.Put(DataPath(kSecond), "two\n");
  MakeManifest({{.shard = 0, .writer = kFirst, .bytes = 4},
                {.shard = 0, .writer = kSecond, .bytes = 4}});
  EXPECT_THAT(ReadLines(),
              IsOkAndHolds(ElementsAre(Line{"one", DataPath(kFirst), 0},
                                       Line{"two", DataPath(kSecond), 0})));
}

TEST_F(FileSinkReaderTest, LinesLongerThanABlockComeWhole) {
  const std::string row(5 << 20, 'x');
  files_.Put(DataPath(kSecond), absl::StrCat("a\n", row, "\nb\n"));
  MakeManifest({{.shard = 0, .writer = kSecond, .bytes = row.size() + 5}});
  ASSERT_OK_AND_ASSIGN(const auto lines, ReadLines(row.size()));
  ASSERT_EQ(lines.size(), 3);
  EXPECT_EQ(lines[1].text, row);
  EXPECT_EQ(lines[2], (Line{"b", DataPath(kSecond), row.size() + 3}));
}

TEST_F(FileSinkReaderTest, LineAboveTheLimitIsAnError) {
  files_.Put(DataPath(kSecond), std::string(200, 'x'));
  MakeManifest({{.shard = 0, .writer = kSecond, .bytes = 200}});
  EXPECT_THAT(ReadLines(100), HasReason(Reason::RECORD_TOO_LARGE));
}

TEST_F(FileSinkReaderTest, DataShorterThanCommittedIsDamage) {
  files_.Put(DataPath(kSecond), "one\n");
  MakeManifest({{.shard = 0, .writer = kSecond, .bytes = 8}});
  EXPECT_THAT(ReadLines(), HasReason(Reason::STATE_DAMAGED));
}

TEST_F(FileSinkReaderTest, ShardWithoutDataHasNoLines) {
  MakeManifest({});
  EXPECT_THAT(ReadLines(), IsOkAndHolds(IsEmpty()));
}

TEST_F(FileSinkReaderTest, ClaimAboveTheManifestIsNotSettled) {
  MakeManifest({});
  ASSERT_OK_AND_ASSIGN(const auto before, FileSinkReader::Open(files_, "/d"));
  EXPECT_TRUE(before.settled());
  files_.Put(absl::StrCat("/d/", ClaimName({1, 3})), "");
  ASSERT_OK_AND_ASSIGN(const auto after, FileSinkReader::Open(files_, "/d"));
  EXPECT_FALSE(after.settled());
  EXPECT_EQ(after.header().writer, kSecond);
}

TEST_F(FileSinkReaderTest, ReadsAgainIfAWriterTookOverMeanwhile) {
  SinkProcess first(files_, {.open_number = 1, .steps = 3});
  first.Run();
  ASSERT_OK(first.status());
  // Whenever the second writer comes, the reader sees either state whole.
  for (int at = 0; at < 12; ++at) {
    FakeFileSystem files;
    SinkProcess before(files, {.open_number = 1, .steps = 3});
    before.Run();
    int operations = 0;
    HookedFileSystem hooked(files, [&] {
      if (operations++ == at) {
        SinkProcess second(files,
                           {.open_number = 2, .first_open = false, .steps = 6});
        second.Run();
        EXPECT_OK(second.status());
      }
      return absl::OkStatus();
    });
    ASSERT_OK_AND_ASSIGN(const Committed committed,
                         ReadCommitted(hooked, kDirectory));
    ExpectConsistent(committed);
    EXPECT_TRUE(committed.settled);
  }
}

}  // namespace
}  // namespace penstock::core
