#include "core/sources/file/file_position.h"

#include "core/base/checksum.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_replace.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::core {
namespace {

using testing::HasSubstr;

constexpr char kJson[] =
    R"({"path":"/a \"b\".log","fingerprint":{"bytes":12,)"
    R"("xxh3":"00000000000000ff"},"length":9223372036854775807,)"
    R"("start":9007199254740993,"end":9223372036854775807,)"
    R"("records":4611686018427387905,"lines":7})";

FilePosition SomePosition() {
  return {.path = "/a \"b\".log",
          .fingerprint = {.bytes = 12, .hash = 255},
          .length = INT64_MAX,
          .start = 9007199254740993,
          .end = INT64_MAX,
          .records = 4611686018427387905,
          .lines = 7};
}

TEST(FilePositionTest, IsWrittenInOneForm) {
  EXPECT_EQ(SomePosition().ToJson(), kJson);
}

TEST(FilePositionTest, IsReadExactly) {
  EXPECT_THAT(FilePosition::Parse(kJson), IsOkAndHolds(SomePosition()));
}

TEST(FilePositionTest, IsReadInAnyOrder) {
  EXPECT_THAT(FilePosition::Parse(
                  R"({ "lines":7, "records":4611686018427387905,)"
                  R"("end":9223372036854775807, "path":"/a \u0022b\u0022.log",)"
                  R"("start":9007199254740993, "length":9223372036854775807,)"
                  R"("fingerprint":{"xxh3":"00000000000000FF","bytes":12}})"),
              IsOkAndHolds(SomePosition()));
}

struct BadCase {
  std::string name;
  // What to change in kJson.
  std::string from;
  std::string to;
  // What the error says.
  std::string message;
};

class BadFilePositionTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadFilePositionTest, IsRefusedByName) {
  const std::string json =
      absl::StrReplaceAll(kJson, {{GetParam().from, GetParam().to}});
  ASSERT_NE(json, kJson);
  EXPECT_THAT(FilePosition::Parse(json).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(GetParam().message)));
  EXPECT_THAT(FilePosition::Parse(json), HasReason(Reason::MALFORMED_FRAME));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadFilePositionTest,
    testing::Values(
        BadCase{"CutOff", "\"lines\":7}", "", "parse error"},
        BadCase{"Missing", ",\"lines\":7", "", "$.lines is missing"},
        BadCase{"Unknown", "\"lines\":7", "\"lines\":7,\"member\":3",
                "$.member is unknown"},
        BadCase{"UnknownInFingerprint", "\"bytes\":12",
                "\"bytes\":12,\"more\":1", "$.fingerprint.more is unknown"},
        BadCase{"Negative", "\"lines\":7", "\"lines\":-7", "$.lines"},
        BadCase{"Fraction", "\"lines\":7", "\"lines\":7.0", "$.lines"},
        BadCase{"Text", "\"lines\":7", "\"lines\":\"7\"", "$.lines"},
        BadCase{"AboveInt64", "\"records\":4611686018427387905",
                "\"records\":9223372036854775808", "$.records is above 2^63-1"},
        BadCase{"EndBelowStart", "\"end\":9223372036854775807",
                "\"end\":9007199254740992", "$.end is below start"},
        BadCase{"LongFingerprint", "\"bytes\":12", "\"bytes\":4097",
                "$.fingerprint.bytes is above 4096"},
        BadCase{"ShortHash", "00000000000000ff", "ff",
                "$.fingerprint.xxh3 is not 16 hex digits"}),
    [](const testing::TestParamInfo<BadCase>& test) {
      return test.param.name;
    });

TEST(FilePositionTest, WhatIsNoObjectIsRefused) {
  EXPECT_THAT(FilePosition::Parse("null"), HasReason(Reason::MALFORMED_FRAME));
  EXPECT_THAT(FilePosition::Parse(""), HasReason(Reason::MALFORMED_FRAME));
  EXPECT_THAT(FilePosition::Parse(std::string(40, '\0')),
              HasReason(Reason::MALFORMED_FRAME));
}

class CheckPositionTest : public testing::Test {
 protected:
  void Put(const std::string& text) { files_.Put("/f", text); }
  absl::Status Check(const FilePosition& position) {
    const std::unique_ptr<File> file = *files_.OpenForRead("/f");
    PlainContent content(*file);
    return CheckPosition(content, position);
  }
  // At the end of what the file has now.
  FilePosition Here() {
    const std::unique_ptr<File> file = *files_.OpenForRead("/f");
    PlainContent content(*file);
    FilePosition position;
    position.path = "/f";
    position.length = position.end = *file->Size();
    position.fingerprint = *ReadFingerprint(content, position.length);
    return position;
  }

  FakeFileSystem files_;
};

TEST_F(CheckPositionTest, AFingerprintIsOverTheFirst4096Bytes) {
  const std::string text = std::string(4096, 'a') + "b";
  Put(text);
  const FilePosition position = Here();
  EXPECT_EQ(position.fingerprint.bytes, 4096u);
  EXPECT_EQ(position.fingerprint.hash, Checksum64(text.substr(0, 4096)));
}

TEST_F(CheckPositionTest, AShortFilesFingerprintIsOverAllOfIt) {
  Put("abc");
  EXPECT_EQ(Here().fingerprint.bytes, 3u);
  EXPECT_EQ(Here().fingerprint.hash, Checksum64("abc"));
}

TEST_F(CheckPositionTest, TheSameFileIsGood) {
  Put("abc");
  EXPECT_OK(Check(Here()));
}

TEST_F(CheckPositionTest, AGrownFileIsGood) {
  Put("abc");
  const FilePosition position = Here();
  Put("abc" + std::string(9000, 'x'));
  EXPECT_OK(Check(position));
}

TEST_F(CheckPositionTest, AnEmptyFileThatGrewIsGood) {
  Put("");
  const FilePosition position = Here();
  Put("abc");
  EXPECT_OK(Check(position));
}

TEST_F(CheckPositionTest, AFileCutOffBelowThePositionIsExpired) {
  Put("abcdef");
  const FilePosition position = Here();
  Put("abcde");
  const absl::Status status = Check(position);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange,
                               HasReason(Reason::POSITION_EXPIRED)));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the file had 6 bytes and has 5 now"));
}

TEST_F(CheckPositionTest, AFileCutOffBehindThePositionIsGood) {
  Put("abcdef");
  FilePosition position = Here();
  position.end = 3;
  position.fingerprint = {.bytes = 3, .hash = Checksum64("abc")};
  Put("abc");
  EXPECT_OK(Check(position));
}

TEST_F(CheckPositionTest, AnotherBeginningIsExpiredAndSaysBothFingerprints) {
  Put("abcdef");
  const FilePosition position = Here();
  Put("Xbcdefghi");
  const absl::Status status = Check(position);
  EXPECT_THAT(status, HasReason(Reason::POSITION_EXPIRED));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(Hex64(Checksum64("abcdef"))));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(Hex64(Checksum64("Xbcdef"))));
}

}  // namespace
}  // namespace penstock::core
