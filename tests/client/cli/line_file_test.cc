#include "client/cli/line_file.h"

#include "core/sources/file/open_file.h"
#include "tests/support/compress.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::pair<uint64_t, std::string>> LinesOf(
    const std::string& bytes, LineOptions options = {}) {
  core::FakeFileSystem files;
  files.Put("/in", bytes);
  const auto file =
      core::OpenFile::Open(files, "/in", core::FileCompression::kAuto);
  EXPECT_OK(file);
  std::vector<std::pair<uint64_t, std::string>> lines;
  EXPECT_OK(ForEachLine(file->content(), options,
                        [&](uint64_t offset, absl::string_view line) {
                          lines.emplace_back(offset, std::string(line));
                        }));
  return lines;
}

TEST(LineFileTest, GivesOffsetsAndLinesWithoutTheirEnds) {
  EXPECT_THAT(LinesOf("ab\nc\r\nd"),
              ElementsAre(Pair(0, "ab"), Pair(3, "c"), Pair(6, "d")));
}

TEST(LineFileTest, ALastLineThatMayGrowIsNone) {
  EXPECT_THAT(LinesOf("ab\nc", {.whole_only = true}),
              ElementsAre(Pair(0, "ab")));
}

TEST(LineFileTest, CompressedFilesHaveTheLinesOfTheirContent) {
  EXPECT_THAT(LinesOf(core::Gzip("ab\nc\n") + core::Gzip("d")),
              ElementsAre(Pair(0, "ab"), Pair(3, "c"), Pair(5, "d")));
}

TEST(LineFileTest, OfACompressedFileThatIsCutOffTheLastLineIsNone) {
  std::string bytes = core::Gzip("ab\nc");
  bytes.resize(bytes.size() - 8);
  EXPECT_THAT(LinesOf(bytes), ElementsAre(Pair(0, "ab")));
}

TEST(LineFileTest, BlankLinesAreSkippedOrKept) {
  EXPECT_THAT(LinesOf("a\n \n\nb\n"), ElementsAre(Pair(0, "a"), Pair(5, "b")));
  EXPECT_THAT(LinesOf("a\n\n", {.skip_blank = false}),
              ElementsAre(Pair(0, "a"), Pair(2, "")));
}

TEST(LineFileTest, AnEmptyFileHasNoLines) {
  EXPECT_THAT(LinesOf(""), IsEmpty());
}

TEST(LineFileTest, ALineLongerThanOneReadIsWhole) {
  const std::string longest(9 << 20, 'x');
  EXPECT_THAT(LinesOf(longest + "\ny\n"),
              ElementsAre(Pair(0, longest), Pair(longest.size() + 1, "y")));
}

TEST(LineFileTest, ReadsTheLineAtAnOffset) {
  core::FakeFileSystem files;
  files.Put("/in", "first\nsecond\nthird");
  const auto file =
      core::OpenFile::Open(files, "/in", core::FileCompression::kAuto);
  ASSERT_OK(file);
  EXPECT_THAT(LineAt(file->content(), 6), core::IsOkAndHolds("second"));
  EXPECT_THAT(LineAt(file->content(), 13), core::IsOkAndHolds("third"));
}

}  // namespace
}  // namespace penstock::client
