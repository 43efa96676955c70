#include "core/contract/parse_resume_info.h"

#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace penstock::core {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Lt;
using testing::Not;
using testing::SizeIs;

// The document must outlive the value: tests hold it.
ResumeInfo Parse(absl::string_view text) {
  absl::StatusOr<ResumeInfo> info = ParseResumeInfo(text);
  EXPECT_OK(info);
  return *std::move(info);
}

auto Damaged(testing::Matcher<std::string> message) {
  return AllOf(HasReason("MALFORMED_FRAME"),
               StatusIs(absl::StatusCode::kInvalidArgument, message));
}

TEST(ParseResumeInfoTest, ReadsMembersOfMembers) {
  const ResumeInfo info = Parse(R"({"offsets":{"start":3,"end":7}})");
  EXPECT_THAT(info.root()["offsets"]["end"].Int64(), IsOkAndHolds(7));
}

TEST(ParseResumeInfoTest, ReadsEveryInt64Exactly) {
  const ResumeInfo info = Parse(
      R"({"max":9223372036854775807,"min":-9223372036854775808,
          "near":9007199254740993})");
  EXPECT_THAT(info.root()["max"].Int64(), IsOkAndHolds(INT64_MAX));
  EXPECT_THAT(info.root()["min"].Int64(), IsOkAndHolds(INT64_MIN));
  // A double would say ...992.
  EXPECT_THAT(info.root()["near"].Int64(), IsOkAndHolds(9007199254740993));
}

TEST(ParseResumeInfoTest, ReadsEveryUint64Exactly) {
  const ResumeInfo info = Parse("18446744073709551615");
  EXPECT_THAT(info.root().Uint64(), IsOkAndHolds(UINT64_MAX));
}

TEST(ParseResumeInfoTest, ReadsStringsAndBooleans) {
  const ResumeInfo info = Parse(R"({"a":"\u00e9\n","b":true})");
  EXPECT_THAT(info.root()["a"].String(), IsOkAndHolds("\u00e9\n"));
  EXPECT_THAT(info.root()["b"].Bool(), IsOkAndHolds(true));
}

TEST(ParseResumeInfoTest, ReadsElementsInOrder) {
  const ResumeInfo info = Parse("[1,[2],3]");
  ASSERT_OK_AND_ASSIGN(const std::vector<ResumeValue> elements,
                       info.root().Elements());
  ASSERT_THAT(elements, SizeIs(3));
  EXPECT_THAT(elements[0].Int64(), IsOkAndHolds(1));
  EXPECT_THAT(elements[1].Int64(), Damaged(HasSubstr("$[1] is not a")));
  EXPECT_THAT(elements[2].Int64(), IsOkAndHolds(3));
}

TEST(ParseResumeInfoTest, ReadsMembersInOrder) {
  const ResumeInfo info = Parse(R"({"z":1,"a":2})");
  ASSERT_OK_AND_ASSIGN(const auto members, info.root().Members());
  ASSERT_THAT(members, SizeIs(2));
  EXPECT_EQ(members[0].first, "z");
  EXPECT_THAT(members[1].second.Int64(), IsOkAndHolds(2));
}

TEST(ParseResumeInfoTest, KnowsWhatIsThere) {
  const ResumeInfo info = Parse(R"({"a":0,"n":null})");
  EXPECT_TRUE(info.root().HasValue());
  EXPECT_TRUE(info.root()["a"].HasValue());
  EXPECT_FALSE(info.root()["n"].HasValue());
  EXPECT_FALSE(info.root()["x"].HasValue());
  EXPECT_FALSE(Parse("null").root().HasValue());
}

TEST(ParseResumeInfoTest, SurvivesAMove) {
  ResumeInfo info = Parse(R"({"a":"text long enough to be on the heap"})");
  const ResumeValue value = info.root()["a"];
  const ResumeInfo moved = std::move(info);
  EXPECT_THAT(value.String(),
              IsOkAndHolds("text long enough to be on the heap"));
}

// Seed: "unable to parse checkpointed connector state (checkpointed state:
// {metadata}; parse error: {e})".
TEST(ParseResumeInfoTest, NoJsonIsAnErrorThatQuotesTheState) {
  EXPECT_THAT(ParseResumeInfo("{\"start\":"),
              Damaged(AllOf(
                  HasSubstr("unable to parse checkpointed connector state "
                            "(checkpointed state: {\"start\":; parse error: "),
                  HasSubstr(")"))));
}

TEST(ParseResumeInfoTest, EmptyTextIsAnError) {
  EXPECT_THAT(ParseResumeInfo(""), Damaged(HasSubstr("parse error")));
}

TEST(ParseResumeInfoTest, TextAfterTheValueIsAnError) {
  EXPECT_THAT(ParseResumeInfo("{} {}"), Damaged(HasSubstr("parse error")));
}

TEST(ParseResumeInfoTest, AMissingMemberIsNamedWithItsPath) {
  const ResumeInfo info = Parse(R"({"offsets":{"start":3}})");
  EXPECT_THAT(info.root()["offsets"]["end"].Int64(),
              Damaged(AllOf(HasSubstr("{\"offsets\":{\"start\":3}}"),
                            HasSubstr("$.offsets.end is missing"))));
}

TEST(ParseResumeInfoTest, AMissingParentIsAnErrorToo) {
  const ResumeInfo info = Parse("{}");
  EXPECT_THAT(info.root()["a"]["b"].Int64(), Damaged(HasSubstr("$.a.b")));
}

TEST(ParseResumeInfoTest, AMemberOfANumberIsAnError) {
  const ResumeInfo info = Parse("7");
  EXPECT_THAT(info.root()["a"].Int64(), Damaged(HasSubstr("$.a")));
}

TEST(ParseResumeInfoTest, AFractionIsNoInteger) {
  const ResumeInfo info = Parse(R"({"a":1.0})");
  EXPECT_THAT(info.root()["a"].Int64(),
              Damaged(HasSubstr("$.a is not a signed 64-bit integer")));
}

TEST(ParseResumeInfoTest, ANumberBeyondItsTypeIsNamedSo) {
  const ResumeInfo info = Parse("[18446744073709551615,-1]");
  ASSERT_OK_AND_ASSIGN(const std::vector<ResumeValue> elements,
                       info.root().Elements());
  EXPECT_THAT(elements[0].Int64(), Damaged(HasSubstr("does not fit")));
  EXPECT_THAT(elements[1].Uint64(), Damaged(HasSubstr("does not fit")));
}

TEST(ParseResumeInfoTest, AValueThatMakesNoSenseIsQuotedLikewise) {
  const ResumeInfo info = Parse(R"({"end":-1})");
  EXPECT_THAT(
      info.root()["end"].Invalid("is below 0"),
      Damaged(AllOf(HasSubstr("{\"end\":-1}"), HasSubstr("$.end is below 0"))));
}

TEST(ParseResumeInfoTest, ALongStateIsCutBetweenCharacters) {
  std::string text = "\"";
  for (int i = 0; i < 1000; ++i) text += "\u00e9";
  const absl::Status status = ParseResumeInfo(text).status();
  EXPECT_THAT(status, Damaged(HasSubstr("\u00e9... (2001 bytes)")));
  EXPECT_THAT(std::string(status.message()), SizeIs(Lt(800u)));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\xc3...")));
}

}  // namespace
}  // namespace penstock::core
