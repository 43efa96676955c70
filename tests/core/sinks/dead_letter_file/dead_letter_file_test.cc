#include "core/sinks/dead_letter_file/dead_letter_file.h"

#include "core/base/error.h"
#include "core/base/path_policy.h"
#include "core/contract/sink_error.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kFirstPart[] =
    "/dead/orders+0002.00000000000000000003-00000000000000000001.000000.ndjson";
constexpr char kSecondPart[] =
    "/dead/orders+0002.00000000000000000003-00000000000000000001.000001.ndjson";

DeadLetterOpen Orders(uint64_t open_number = 1) {
  return {.incarnation = "inc",
          .connector = "orders",
          .writer = {.epoch = 3, .open_number = open_number},
          .shard = 2,
          .level = FtModel::kExactlyOnce};
}

DeadLetter Letter(uint64_t number, absl::string_view row) {
  return {.step = 12,
          .number = number,
          .partition = 7,
          .offset = 1'000 + static_cast<int64_t>(number),
          .error = MakeRowRefused("value too long"),
          .row = row};
}

std::string LineOf(const DeadLetter& letter,
                   const DeadLetterOpen& open = Orders()) {
  std::string line;
  AppendDeadLetter(open, letter, line);
  return line;
}

TEST(AppendDeadLetterTest, SaysEverythingInOneLine) {
  EXPECT_EQ(LineOf(Letter(4, "{\"a\":\"\n\"}\n")),
            "{\"id\":\"inc/orders/12/2/4\",\"connector\":\"orders\","
            "\"step\":12,\"shard\":2,\"row\":4,\"partition\":7,"
            "\"offset\":1004,\"reason\":\"ROW_REFUSED\","
            "\"message\":\"value too long\",\"encoding\":\"utf-8\","
            "\"data\":\"{\\\"a\\\":\\\"\\n\\\"}\\n\"}\n");
}

TEST(AppendDeadLetterTest, BytesThatAreNoTextAreBase64) {
  EXPECT_THAT(LineOf(Letter(4, "a\xFFz")),
              HasSubstr("\"encoding\":\"base64\",\"data\":\"Yf96\"}"));
}

TEST(AppendDeadLetterTest, BelowExactlyOnceTheIdIsWhereTheRowCameFrom) {
  DeadLetterOpen open = Orders();
  open.level = FtModel::kAtLeastOnce;
  const std::string line = LineOf(Letter(4, "x"), open);
  EXPECT_THAT(line, HasSubstr("\"id\":\"inc/orders/p7/o1004\""));
  EXPECT_FALSE(absl::StrContains(line, "\"row\""));
}

TEST(AppendDeadLetterTest, CutsWhatTheTargetSaid) {
  DeadLetter letter = Letter(4, "x");
  letter.error = MakeRowRefused(std::string(10'000, 'm'));
  EXPECT_LT(LineOf(letter).size(), 1'500u);
}

TEST(AppendDeadLetterTest, AnErrorWithoutAReasonGoesByItsCode) {
  DeadLetter letter = Letter(4, "x");
  letter.error = absl::InvalidArgumentError("no");
  EXPECT_THAT(LineOf(letter), HasSubstr("\"reason\":\"INVALID_ARGUMENT\""));
}

class DeadLetterFileTest : public ::testing::Test {
 protected:
  DeadLetterFileTest() { files_.Put("/dead/.keep", ""); }

  absl::Status Write(DeadLetterFile& output,
                     const std::vector<DeadLetter>& letters) {
    return output.Write(letters);
  }
  DeadLetterFile Make(uint64_t open_number = 1) {
    return DeadLetterFile(config_, Orders(open_number), files_);
  }
  std::vector<std::string> DeadFiles() const {
    std::vector<std::string> found;
    for (const std::string& path : files_.Files()) {
      if (absl::EndsWith(path, ".ndjson")) found.push_back(path);
    }
    return found;
  }

  FakeFileSystem files_;
  DeadLetterFileConfig config_ = [] {
    DeadLetterFileConfig config;
    config.path = "/dead";
    return config;
  }();
};

TEST_F(DeadLetterFileTest, LettersAreDurableWhenWriteReturns) {
  DeadLetterFile output = Make();
  ASSERT_OK(Write(output, {Letter(0, "a"), Letter(1, "b")}));
  ASSERT_OK(Write(output, {Letter(2, "c")}));
  files_.Crash();
  EXPECT_EQ(
      files_.Contents(kFirstPart),
      LineOf(Letter(0, "a")) + LineOf(Letter(1, "b")) + LineOf(Letter(2, "c")));
}

TEST_F(DeadLetterFileTest, ThereIsNoFileBeforeTheFirstLetter) {
  DeadLetterFile output = Make();
  ASSERT_OK(Write(output, {}));
  EXPECT_THAT(DeadFiles(), IsEmpty());
}

TEST_F(DeadLetterFileTest, EachOpenWritesFilesOfItsOwn) {
  DeadLetterFile first = Make(1);
  ASSERT_OK(Write(first, {Letter(0, "a")}));
  DeadLetterFile second = Make(2);
  ASSERT_OK(Write(second, {Letter(0, "a")}));
  ASSERT_OK(Write(first, {Letter(1, "b")}));
  EXPECT_THAT(DeadFiles(), SizeIs(2));
  EXPECT_EQ(files_.Contents(kFirstPart),
            LineOf(Letter(0, "a")) + LineOf(Letter(1, "b")));
}

TEST_F(DeadLetterFileTest, ALineThatACrashCutStaysTheLastOfItsFile) {
  DeadLetterFile output = Make();
  ASSERT_OK(Write(output, {Letter(0, "a")}));
  files_.Put(kFirstPart, *files_.Contents(kFirstPart) + "{\"id\":\"inc/or");
  // Another process of the same writer, as after a restored state.
  DeadLetterFile again = Make();
  ASSERT_OK(Write(again, {Letter(1, "b")}));
  EXPECT_EQ(files_.Contents(kSecondPart), LineOf(Letter(1, "b")));
}

TEST_F(DeadLetterFileTest, AFullFileGoesOnInANewPart) {
  config_.file_bytes_max = 1;
  DeadLetterFile output = Make();
  ASSERT_OK(Write(output, {Letter(0, "a")}));
  ASSERT_OK(Write(output, {Letter(1, "b")}));
  EXPECT_THAT(DeadFiles(), ElementsAre(kFirstPart, kSecondPart));
}

TEST_F(DeadLetterFileTest, AFullDiskLeavesNoHalfLineAndCanBeTriedAgain) {
  DeadLetterFile output = Make();
  ASSERT_OK(Write(output, {Letter(0, "a")}));
  files_.ShortenNextAppend("/dead", 10);
  const absl::Status full = Write(output, {Letter(1, "b")});
  EXPECT_THAT(full, HasReason(Reason::STORAGE_FULL));
  EXPECT_TRUE(IsRetryable(full));
  EXPECT_EQ(files_.Contents(kFirstPart), LineOf(Letter(0, "a")));
  ASSERT_OK(Write(output, {Letter(1, "b")}));
  EXPECT_EQ(files_.Contents(kFirstPart),
            LineOf(Letter(0, "a")) + LineOf(Letter(1, "b")));
}

TEST_F(DeadLetterFileTest, AtItsBoundItSaysWhatToDoAndGoesOnWhenThatIsDone) {
  config_.file_bytes_max = 1;
  config_.total_bytes_max = 200;
  files_.Put("/dead/others+0000.ndjson", std::string(10'000, 'x'));
  files_.Put("/dead/orders+0000.old.ndjson", std::string(150, 'x'));
  DeadLetterFile output = Make();
  ASSERT_OK(Write(output, {Letter(0, "a")}));
  const absl::Status full = Write(output, {Letter(1, "b")});
  EXPECT_THAT(full, HasReason(Reason::STORAGE_FULL));
  EXPECT_THAT(std::string(full.message()), HasSubstr("move some away"));
  ASSERT_OK(files_.Remove("/dead/orders+0000.old.ndjson"));
  ASSERT_OK(files_.Remove(kFirstPart));
  EXPECT_OK(Write(output, {Letter(1, "b")}));
}

TEST_F(DeadLetterFileTest, AfterAFailedSyncItBeginsANewFile) {
  DeadLetterFile output = Make();
  ASSERT_OK(Write(output, {Letter(0, "a")}));
  files_.FailNext(FileOperation::kSync, "/dead",
                  MakeError(Reason::IO_ERROR, "injected"));
  EXPECT_THAT(Write(output, {Letter(1, "b")}), HasReason(Reason::IO_ERROR));
  ASSERT_OK(Write(output, {Letter(1, "b")}));
  files_.Crash();
  EXPECT_EQ(files_.Contents(kSecondPart), LineOf(Letter(1, "b")));
}

TEST_F(DeadLetterFileTest, ManyLettersAreWrittenInPartsOfAMebibyte) {
  const std::string row(300'000, 'r');
  std::vector<DeadLetter> letters;
  std::string expected;
  for (uint64_t i = 0; i < 10; ++i) {
    letters.push_back(Letter(i, row));
    expected += LineOf(letters.back());
  }
  DeadLetterFile output = Make();
  ASSERT_OK(output.Write(letters));
  EXPECT_TRUE(files_.Contents(kFirstPart) == expected);
}

class MakeDeadLetterFileTest : public DeadLetterFileTest {
 protected:
  absl::StatusOr<std::unique_ptr<DeadLetterOutput>> MakeBelow(
      const std::string& root) {
    const PathPolicy paths({root});
    return MakeDeadLetterFile(config_, Orders(),
                              Environment{.files = files_,
                                          .io = executor_,
                                          .clock = executor_.clock(),
                                          .paths = paths});
  }
  ManualExecutor executor_;
};

TEST_F(MakeDeadLetterFileTest, MakesTheDirectory) {
  config_.path = "/dead/letters";
  EXPECT_OK(MakeBelow("/dead"));
  EXPECT_OK(files_.List("/dead/letters"));
}

TEST_F(MakeDeadLetterFileTest, KeepsToTheAllowedPaths) {
  EXPECT_THAT(MakeBelow("/elsewhere"), HasReason(Reason::PATH_NOT_ALLOWED));
}

}  // namespace
}  // namespace penstock::core
