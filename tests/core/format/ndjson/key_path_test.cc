#include "core/format/ndjson/key_path.h"

#include "core/format/ndjson/line_checker.h"
#include "core/format/ndjson/structural_walker.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::HasSubstr;

// The key token's text as the checker and the walker find it; nullopt: none.
std::optional<std::string> KeyOf(absl::string_view path, std::string document) {
  const absl::StatusOr<KeyPath> key = KeyPath::Parse(path);
  EXPECT_OK(key);
  const bool has_escapes = document.find('\\') != std::string::npos;
  KeyTracker checked(*key, has_escapes);
  EXPECT_TRUE(LineChecker(document, &checked).Check().fault ==
              JsonFault::kNone);
  KeyTracker walked(*key, has_escapes);
  StructuralWalker walker;
  EXPECT_TRUE(walker.Index(document, document.size()));
  EXPECT_TRUE(walker.IsGood(static_cast<uint32_t>(document.size()), &walked));
  const KeyToken token = checked.token();
  EXPECT_EQ(walked.token().found, token.found);
  if (!token.found) return std::nullopt;
  EXPECT_EQ(walked.token().begin, token.begin);
  EXPECT_EQ(walked.token().size, token.size);
  EXPECT_EQ(walked.token().is_escaped, token.is_escaped);
  return document.substr(token.begin, token.size);
}

TEST(KeyPathTest, RefusesAnEmptyPath) {
  EXPECT_THAT(KeyPath::Parse(""), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasReason(Reason::INVALID_CONFIG)));
}

TEST(KeyPathTest, RefusesAnEmptyName) {
  EXPECT_THAT(KeyPath::Parse("a..b").status().message(),
              HasSubstr("empty member name"));
}

TEST(KeyTrackerTest, FindsAStringWithoutItsQuotes) {
  EXPECT_EQ(KeyOf("k", R"({"k":"abc"})"), "abc");
}

TEST(KeyTrackerTest, FindsAnEmptyString) {
  EXPECT_EQ(KeyOf("k", R"({"k":""})"), "");
}

TEST(KeyTrackerTest, FindsANumberAsItIsWritten) {
  EXPECT_EQ(KeyOf("k", R"({"k": -1.50e3 })"), "-1.50e3");
}

TEST(KeyTrackerTest, FindsABoolean) {
  EXPECT_EQ(KeyOf("k", "{\"k\"\t:\ttrue\t}"), "true");
}

TEST(KeyTrackerTest, NullIsNoKey) {
  EXPECT_EQ(KeyOf("k", R"({"k":null})"), std::nullopt);
}

TEST(KeyTrackerTest, AnObjectIsNoKey) {
  EXPECT_EQ(KeyOf("k", R"({"k":{"k":1}})"), std::nullopt);
}

TEST(KeyTrackerTest, AnArrayIsNoKey) {
  EXPECT_EQ(KeyOf("k", R"({"k":["x"]})"), std::nullopt);
}

TEST(KeyTrackerTest, AMissingMemberIsNoKey) {
  EXPECT_EQ(KeyOf("k", R"({"x":1})"), std::nullopt);
}

TEST(KeyTrackerTest, FindsANestedMember) {
  EXPECT_EQ(KeyOf("a.b.c", R"({"x":{"b":{"c":0}},"a":{"x":1,"b":{"c":"y"}}})"),
            "y");
}

TEST(KeyTrackerTest, DoesNotMistakeADeeperMember) {
  EXPECT_EQ(KeyOf("a.b", R"({"a":{"x":{"b":1}},"b":2,"x":{"a":{"b":3}}})"),
            std::nullopt);
}

TEST(KeyTrackerTest, GoesOnBehindADeeperObject) {
  EXPECT_EQ(KeyOf("a.b", R"({"a":{"x":{"y":{}},"b":"z"}})"), "z");
}

TEST(KeyTrackerTest, DoesNotEnterArrays) {
  EXPECT_EQ(KeyOf("a.b", R"({"a":[{"b":1}]})"), std::nullopt);
  EXPECT_EQ(KeyOf("b", R"([{"b":1}])"), std::nullopt);
}

TEST(KeyTrackerTest, AScalarDocumentHasNoKey) {
  EXPECT_EQ(KeyOf("b", R"("b")"), std::nullopt);
}

TEST(KeyTrackerTest, TheLastOfEqualMembersCounts) {
  EXPECT_EQ(KeyOf("k", R"({"k":"first","k":"last"})"), "last");
  EXPECT_EQ(KeyOf("k", R"({"k":"first","k":null})"), std::nullopt);
}

TEST(KeyTrackerTest, TheLastOfEqualObjectsOnTheWayCounts) {
  EXPECT_EQ(KeyOf("a.k", R"({"a":{"k":1},"a":{"x":2}})"), std::nullopt);
  EXPECT_EQ(KeyOf("a.k", R"({"a":{"k":1},"a":7})"), std::nullopt);
}

TEST(KeyTrackerTest, KnowsANameThatIsEscaped) {
  EXPECT_EQ(KeyOf("k\u00e9y", R"({"k\u00e9y":5})"), "5");
  EXPECT_EQ(KeyOf("a/b", R"({"a\/b":5})"), "5");
}

TEST(KeyTrackerTest, ABackslashInTheNameIsWrittenAsTwo) {
  EXPECT_EQ(KeyOf(R"(a\b)", R"({"a\b":1,"a\\b":2})"), "2");
}

TEST(KeyTrackerTest, SaysWhetherAKeyIsEscaped) {
  EXPECT_EQ(KeyOf("k", R"({"k":"a\nb","x":1})"), R"(a\nb)");
}

}  // namespace
}  // namespace penstock::core
