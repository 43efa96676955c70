#include "core/format/ndjson/json_token.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

struct NumberCase {
  std::string name;
  std::string text;
  JsonFault fault = JsonFault::kNone;
  size_t size = 0;
};

class ReadJsonNumberTest : public testing::TestWithParam<NumberCase> {};

TEST_P(ReadJsonNumberTest, SaysWhatTheNumberIs) {
  const JsonNumber number = ReadJsonNumber(GetParam().text);
  EXPECT_EQ(number.fault, GetParam().fault);
  EXPECT_EQ(number.size, GetParam().size);
}

constexpr JsonFault kNone = JsonFault::kNone;
constexpr JsonFault kSyntax = JsonFault::kSyntax;
constexpr JsonFault kOutOfRange = JsonFault::kOutOfRange;

INSTANTIATE_TEST_SUITE_P(
    All, ReadJsonNumberTest,
    testing::Values(
        NumberCase{"Zero", "0", kNone, 1},
        NumberCase{"MinusZero", "-0", kNone, 2},
        NumberCase{"Int64Max", "9223372036854775807", kNone, 19},
        NumberCase{"LongInteger", std::string(400, '9'), kNone, 400},
        NumberCase{"LongDecimal", "0.12345678901234567890123456789", kNone, 31},
        NumberCase{"Exponent", "-1.5e+10,", kNone, 8},
        NumberCase{"CapitalExponent", "1E-7 ", kNone, 4},
        NumberCase{"LeadingZeroEndsTheNumber", "01", kNone, 1},
        NumberCase{"Nothing", "", kSyntax, 0},
        NumberCase{"OnlyMinus", "-", kSyntax, 1},
        NumberCase{"Plus", "+1", kSyntax, 0},
        NumberCase{"NoDigitBeforeThePoint", ".5", kSyntax, 0},
        NumberCase{"NoDigitBehindThePoint", "1.", kSyntax, 2},
        NumberCase{"NoDigitInTheExponent", "1e+", kSyntax, 3},
        NumberCase{"Overflow", "1e400", kOutOfRange, 5},
        NumberCase{"NegativeOverflow", "-1e309", kOutOfRange, 6},
        NumberCase{"LargestDouble", "1.7976931348623157e308", kNone, 22},
        NumberCase{"Underflow", "1e-400", kNone, 6},
        NumberCase{"FarUnderflow", "1e-99999999999999999999", kNone, 23},
        NumberCase{"FarOverflow", "1e99999999999999999999", kOutOfRange, 22},
        NumberCase{"ZeroWithAnyExponent", "0e999", kNone, 5},
        NumberCase{"ManyDigitsAndANegativeExponent",
                   "1" + std::string(400, '0') + "e-50", kOutOfRange, 405},
        NumberCase{"ManyZerosAndAPositiveExponent",
                   "0." + std::string(400, '0') + "1e50", kNone, 406}),
    [](const testing::TestParamInfo<NumberCase>& test) {
      return test.param.name;
    });

struct EscapeCase {
  std::string name;
  std::string text;
  JsonFault fault = JsonFault::kNone;
  int size = 0;
};

class ReadJsonEscapeTest : public testing::TestWithParam<EscapeCase> {};

TEST_P(ReadJsonEscapeTest, SaysWhatTheEscapeIs) {
  const JsonEscape escape = ReadJsonEscape(GetParam().text);
  EXPECT_EQ(escape.fault, GetParam().fault);
  if (GetParam().fault == JsonFault::kNone) {
    EXPECT_EQ(escape.size, GetParam().size);
  }
}

constexpr JsonFault kUnicode = JsonFault::kInvalidUnicode;

INSTANTIATE_TEST_SUITE_P(
    All, ReadJsonEscapeTest,
    testing::Values(EscapeCase{"Quote", R"(\"x)", kNone, 2},
                    EscapeCase{"Backslash", R"(\\)", kNone, 2},
                    EscapeCase{"Slash", R"(\/)", kNone, 2},
                    EscapeCase{"Newline", R"(\n)", kNone, 2},
                    EscapeCase{"Letter", R"(\u00e9)", kNone, 6},
                    EscapeCase{"Pair", R"(\ud83d\ude80)", kNone, 12},
                    EscapeCase{"CapitalPair", R"(\uD83D\uDE80)", kNone, 12},
                    EscapeCase{"Unknown", R"(\x41)", kSyntax},
                    EscapeCase{"CapitalU", R"(\U0041)", kSyntax},
                    EscapeCase{"Alone", R"(\)", kSyntax},
                    EscapeCase{"ShortHex", R"(\u00e)", kSyntax},
                    EscapeCase{"NoHex", R"(\u00g0)", kSyntax},
                    EscapeCase{"LoneHigh", R"(\ud83d)", kUnicode},
                    EscapeCase{"LoneHighThenLetter", R"(\ud83dabcdef)",
                               kUnicode},
                    EscapeCase{"TwoHighs", R"(\ud83d\ud83d)", kUnicode},
                    EscapeCase{"LoneLow", R"(\ude80)", kUnicode},
                    EscapeCase{"SwappedPair", R"(\ude80\ud83d)", kUnicode}),
    [](const testing::TestParamInfo<EscapeCase>& test) {
      return test.param.name;
    });

TEST(JsonUnescapeTest, LeavesPlainTextAlone) {
  EXPECT_EQ(JsonUnescape("d\u00e9j\u00e0 vu"), "d\u00e9j\u00e0 vu");
}

TEST(JsonUnescapeTest, KnowsEverySimpleEscape) {
  EXPECT_EQ(JsonUnescape(R"(\"\\\/\b\f\n\r\t)"), "\"\\/\b\f\n\r\t");
}

TEST(JsonUnescapeTest, UnescapesOnce) {
  EXPECT_EQ(JsonUnescape(R"(\\u002f)"), R"(\u002f)");
}

TEST(JsonUnescapeTest, WritesCharactersOfEveryLengthAsUtf8) {
  EXPECT_EQ(JsonUnescape(R"(\u0041\u00e9\u20ac\ud83d\ude80)"),
            "A\u00e9\u20ac\U0001f680");
}

TEST(JsonUnescapeTest, KeepsNul) {
  EXPECT_EQ(JsonUnescape(R"(a\u0000b)"), std::string("a\0b", 3));
}

TEST(JsonEscapesAreGoodTest, FindsABadOneBehindGoodOnes) {
  EXPECT_TRUE(JsonEscapesAreGood(R"("a\\b\n")", 2));
  EXPECT_FALSE(JsonEscapesAreGood(R"("a\\b\q")", 2));
}

TEST(JsonEscapesAreGoodTest, TakesAPairTogether) {
  EXPECT_TRUE(JsonEscapesAreGood(R"("\ud83d\ude80")", 1));
}

}  // namespace
}  // namespace penstock::core
