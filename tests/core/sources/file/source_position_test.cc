#include "core/sources/file/source_position.h"

#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

using testing::HasSubstr;

// Golden: it is stored by controllers.
constexpr char kJson[] =
    R"({"version":2,"next":8,"files":[)"
    R"({"id":3,"path":"/a","fingerprint":{"bytes":2,)"
    R"("xxh3":"00000000000000ff"},)"
    R"("length":9,"start":4,"end":9,"records":3,"lines":4},)"
    R"({"id":7,"path":"/b","fingerprint":{"nuls":64,"bytes":1,)"
    R"("xxh3":"0000000000000001"},"length":0,"start":0,"end":0,)"
    R"("records":0,"lines":0}]})";

SourcePosition SomePosition() {
  return {.files = {{.id = 3,
                     .path = "/a",
                     .fingerprint = {.bytes = 2, .hash = 255},
                     .length = 9,
                     .start = 4,
                     .end = 9,
                     .records = 3,
                     .lines = 4},
                    {.id = 7,
                     .path = "/b",
                     .fingerprint = {.nuls = 64, .bytes = 1, .hash = 1}}},
          .next_id = 8};
}

TEST(SourcePositionTest, IsWrittenInOneForm) {
  EXPECT_EQ(SomePosition().ToJson(), kJson);
}

TEST(SourcePositionTest, IsReadExactly) {
  EXPECT_THAT(SourcePosition::Parse(kJson), IsOkAndHolds(SomePosition()));
}

// Golden, too.
TEST(SourcePositionTest, AChangeHasItsForm) {
  SourcePosition change = SomePosition();
  change.files.erase(change.files.begin());
  change.is_change = true;
  change.gone = {2, 5};
  change.before = 0xabc;
  constexpr char kChange[] =
      R"({"version":3,"next":8,"before":"0000000000000abc",)"
      R"("read":[{"id":7,"path":"/b",)"
      R"("fingerprint":{"nuls":64,"bytes":1,"xxh3":"0000000000000001"},)"
      R"("length":0,"start":0,"end":0,"records":0,"lines":0}],"gone":[2,5]})";
  EXPECT_EQ(change.ToJson(), kChange);
  EXPECT_THAT(SourcePosition::Parse(kChange), IsOkAndHolds(change));
  const SourcePosition nothing{.next_id = 8, .is_change = true};
  EXPECT_THAT(SourcePosition::Parse(nothing.ToJson()), IsOkAndHolds(nothing));
}

TEST(SourcePositionTest, GoneNumbersRise) {
  constexpr char kChange[] =
      R"({"version":3,"next":8,"before":"0000000000000abc","read":[],)"
      R"("gone":[5,5]})";
  const absl::Status status = SourcePosition::Parse(kChange).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("is not above the one before"));
}

TEST(SourcePositionTest, AChangeSaysWhatItIsBehind) {
  for (const char* before : {"", R"("before":"abc",)", R"("before":7,)"}) {
    const std::string json = absl::StrCat(R"({"version":3,"next":8,)", before,
                                          R"("read":[],"gone":[]})");
    const absl::Status status = SourcePosition::Parse(json).status();
    EXPECT_THAT(status, HasReason(Reason::MALFORMED_FRAME));
    EXPECT_THAT(std::string(status.message()), HasSubstr("before"));
  }
}

TEST(SourcePositionTest, MayHoldNoFile) {
  EXPECT_THAT(SourcePosition::Parse(SourcePosition{}.ToJson()),
              IsOkAndHolds(SourcePosition{}));
}

TEST(SourcePositionTest, APositionOfOneFileIsVersion1) {
  const FilePosition file{.path = "/a",
                          .fingerprint = {.bytes = 2, .hash = 255},
                          .length = 9,
                          .end = 9};
  EXPECT_THAT(SourcePosition::Parse(file.ToJson()),
              IsOkAndHolds(SourcePosition{.files = {file}, .next_id = 1}));
}

struct BadCase {
  std::string name;
  // What to change in kJson.
  std::string from;
  std::string to;
  // What the error says.
  std::string message;
};

class BadSourcePositionTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadSourcePositionTest, IsRefusedByName) {
  const std::string json =
      absl::StrReplaceAll(kJson, {{GetParam().from, GetParam().to}});
  const absl::Status status = SourcePosition::Parse(json).status();
  EXPECT_THAT(status, HasReason(Reason::MALFORMED_FRAME));
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSourcePositionTest,
    testing::Values(
        BadCase{"Newer", "\"version\":2", "\"version\":4",
                "is of a newer program"},
        BadCase{"Unknown", "\"next\":8", "\"next\":8,\"more\":1", "more"},
        BadCase{"IdNotBelowNext", "\"next\":8", "\"next\":7",
                "is not below next"},
        BadCase{"NotAscending", "\"id\":7", "\"id\":3",
                "is not above the one before"},
        BadCase{"NoId", "\"id\":7,", "", "id"},
        BadCase{"LargeId", "\"id\":3", "\"id\":4294967296", "is above 2^32-1"},
        BadCase{"BadFile", "\"start\":4", "\"start\":10", "is below start"}),
    [](const testing::TestParamInfo<BadCase>& named) {
      return named.param.name;
    });

}  // namespace
}  // namespace penstock::core
