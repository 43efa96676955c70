#include "core/format/ndjson/line_checker.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

struct Case {
  std::string name;
  std::string text;
  JsonFault fault = JsonFault::kNone;
  size_t position = 0;
  std::string field = "";
  std::string description = "";
};

class LineCheckerTest : public testing::TestWithParam<Case> {};

TEST_P(LineCheckerTest, SaysWhatIsWrongAndWhere) {
  const Case& param = GetParam();
  const JsonProblem problem = LineChecker(param.text).Check();
  EXPECT_EQ(problem.fault, param.fault);
  EXPECT_EQ(problem.field, param.field);
  if (param.fault == JsonFault::kNone) return;
  EXPECT_EQ(problem.position, param.position);
  EXPECT_FALSE(problem.suggestion.empty());
  if (param.description.empty()) {
    EXPECT_FALSE(problem.description.empty());
  } else {
    EXPECT_EQ(problem.description, param.description);
  }
}

std::string CaseName(const testing::TestParamInfo<Case>& test) {
  return test.param.name;
}

std::string Nested(size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

constexpr JsonFault kSyntax = JsonFault::kSyntax;

INSTANTIATE_TEST_SUITE_P(
    Good, LineCheckerTest,
    testing::Values(Case{"Object", R"({"a":1,"b":[true,false,null]})"},
                    Case{"EmptyObject", "{}"}, Case{"EmptyArray", " [ ] "},
                    Case{"EmptyContainers", R"({"a":{},"b":[[],{}]})"},
                    Case{"String", R"("x")"}, Case{"Number", "-0.5e1"},
                    Case{"Literal", "null"},
                    Case{"Blanks", " {\t\"a\" : [ 1 , 2 ] }\r"},
                    Case{"Utf8", "\"\u00e9\u20ac\U0001f680\""},
                    Case{"EscapedPair", R"("\ud83d\ude80")"},
                    Case{"EscapedNul", R"("a\u0000b")"},
                    Case{"LongInteger", "1234567890123456789012345"},
                    Case{"EmptyName", R"({"":1})"},
                    Case{"AtTheDepthLimit", Nested(kJsonDepthMax)}),
    CaseName);

INSTANTIATE_TEST_SUITE_P(
    Bad, LineCheckerTest,
    testing::Values(
        Case{"Nothing", "", kSyntax, 0, "",
             "expected a value, but the record ends"},
        Case{"Nan", R"({"x":NaN})", kSyntax, 5, "x",
             "expected a value, found 'N' at byte 5"},
        Case{"MinusInfinity", R"({"x":-Infinity})", kSyntax, 6, "x",
             "expected a digit, found 'I' at byte 6"},
        Case{"LowerCaseNan", R"([nan])", kSyntax, 1, "[0]",
             "expected null at byte 1"},
        Case{"Overflow", R"({"x":1e400})", JsonFault::kOutOfRange, 5, "x"},
        Case{"LeadingZero", "[01]", kSyntax, 2, "[0]"},
        Case{"TrailingComma", R"({"a":1,})", kSyntax, 7, "",
             "expected a member name in double quotes, found '}' at byte 7"},
        Case{"TrailingCommaInArray", "[1,]", kSyntax, 3, "[1]"},
        Case{"MissingColon", R"({"a" 1})", kSyntax, 5, "a",
             "expected ':', found '1' at byte 5"},
        Case{"MissingComma", R"({"a":{"b":[1 2]}})", kSyntax, 13, "a.b[0]",
             "expected ',' or ']', found '2' at byte 13"},
        Case{"SingleQuotes", "{'a':1}", kSyntax, 1},
        Case{"BareWord", "hello", kSyntax, 0},
        Case{"MismatchedEnd", R"({"a":[1})", kSyntax, 7, "a[0]"},
        Case{"CutOff", R"({"a":{"b":1)", kSyntax, 11, "a.b",
             "expected ',' or '}', but the record ends"},
        Case{"CutOffString", R"({"a":"b)", kSyntax, 7, "a",
             "a string does not end"},
        Case{"CutOffEscape", "[\"a\\", kSyntax, 3, "[0]"},
        Case{"BadEscape", R"(["a\q"])", kSyntax, 3, "[0]",
             "bad escape sequence at byte 3"},
        Case{"LoneSurrogate", R"({"t":"\ud83d"})", JsonFault::kInvalidUnicode,
             6, "t"},
        Case{"ControlCharacter", "[\"a\tb\"]", kSyntax, 3, "[0]",
             "control character byte 0x09 in a string at byte 3"},
        Case{"RawNulInAString", std::string("\"a\0\"", 4), kSyntax, 2},
        Case{"RawNul", std::string("\0", 1), kSyntax, 0},
        Case{"TwoValues", R"({"q":5}{"q":6})", JsonFault::kTrailingData, 7},
        Case{"ValueAndGarbage", R"({"q":7} x)", JsonFault::kTrailingData, 8},
        Case{"TwoNumbers", "1 2", JsonFault::kTrailingData, 2},
        Case{"Latin1", "{\"m\":\"caf\xe9\"}", JsonFault::kInvalidUtf8, 9},
        Case{"CutOffCharacter", "\"\xe2\x82\"", JsonFault::kInvalidUtf8, 1},
        Case{"OverlongSlash", "\"\xc0\xaf\"", JsonFault::kInvalidUtf8, 1},
        Case{"EncodedSurrogate", "\"\xed\xa0\xbd\"", JsonFault::kInvalidUtf8,
             1},
        Case{"BeyondUnicode", "\"\xf4\x90\x80\x80\"", JsonFault::kInvalidUtf8,
             1},
        Case{"ByteOrderMark", "\xef\xbb\xbf{}", kSyntax, 0},
        Case{"TooDeep", Nested(kJsonDepthMax + 1), JsonFault::kTooDeep,
             kJsonDepthMax,
             [] {
               std::string path;
               for (size_t i = 0; path.size() <= 256; ++i) path += "[0]";
               return path + "...";
             }()}),
    CaseName);

TEST(LineCheckerLimitTest, AHundredThousandLevelsAreRefusedWithoutRecursion) {
  EXPECT_EQ(LineChecker(std::string(100'000, '[')).Check().fault,
            JsonFault::kTooDeep);
}

TEST(LineCheckerLimitTest, ALongNameIsCutInTheFieldPath) {
  const std::string text = "{\"" + std::string(10'000, 'n') + "\":x}";
  EXPECT_LT(LineChecker(text).Check().field.size(), 300u);
}

}  // namespace
}  // namespace penstock::core
