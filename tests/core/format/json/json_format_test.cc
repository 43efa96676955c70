#include "core/format/json/json_format.h"

#include "core/contract/parser.h"
#include "core/format/raw/config.h"
#include "tests/core/format/parse_text.h"
#include "tests/support/status_matchers.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::unique_ptr<Parser> MakeParser(std::optional<std::string> key = {},
                                   size_t record_bytes_max = 1 << 20) {
  JsonConfig config;
  config.key = std::move(key);
  config.record_bytes_max = record_bytes_max;
  return *MakeJsonParser(config);
}

ParsedText Parse(absl::string_view text, std::optional<std::string> key = {}) {
  return ParseWhole(*MakeParser(std::move(key)), text);
}

// A stream, its records and the first bytes of its bad ones.
struct StreamCase {
  std::string name;
  std::string text;
  std::vector<std::string> records;
  std::vector<std::string> bad = {};

  friend std::ostream& operator<<(std::ostream& out, const StreamCase& stream) {
    return out << stream.name;
  }
};

class JsonStreamTest : public testing::TestWithParam<StreamCase> {};

TEST_P(JsonStreamTest, GivesTheseRecords) {
  const ParsedText parsed = Parse(GetParam().text);
  EXPECT_EQ(parsed.values(), GetParam().records);
  std::vector<std::string> bad;
  for (const ParseError& error : parsed.errors) {
    bad.push_back(error.invalid_text);
    EXPECT_EQ(
        GetParam().text.substr(error.byte_offset, error.invalid_text.size()),
        error.invalid_text);
  }
  EXPECT_EQ(bad, GetParam().bad);
  EXPECT_EQ(parsed.record_count, parsed.records.size() + parsed.errors.size());
}

INSTANTIATE_TEST_SUITE_P(
    Good, JsonStreamTest,
    testing::Values(
        StreamCase{"Nothing", "", {}}, StreamCase{"Blanks", " \n\t\r\n", {}},
        StreamCase{"ByteOrderMark", "\xef\xbb\xbf[1]", {"1"}},
        StreamCase{"EmptyArray", "[ ]\n", {}},
        StreamCase{"Array",
                   "[1, \"a\",{},[] ,null]",
                   {"1", "\"a\"", "{}", "[]", "null"}},
        StreamCase{"ArrayOfArrays", "[[1,2],[[3]]]", {"[1,2]", "[[3]]"}},
        StreamCase{"TwoArrays", "[1,2]\n[3][4]", {"1", "2", "3", "4"}},
        StreamCase{"OneBehindTheOther",
                   "{\"a\":1}{\"a\":2} {}\n\"x\"\"y\" 1 2\ntrue",
                   {"{\"a\":1}", "{\"a\":2}", "{}", "\"x\"", "\"y\"", "1", "2",
                    "true"}},
        StreamCase{"Pretty",
                   "{\n  \"a\": [\n    1,\n    {}\n  ]\n}\n{\n}\n",
                   {"{\n  \"a\": [\n    1,\n    {}\n  ]\n}", "{\n}"}},
        StreamCase{"PrettyArray",
                   "[\r\n  {\r\n    \"a\": 1\r\n  },\r\n  {}\r\n]\r\n",
                   {"{\r\n    \"a\": 1\r\n  }", "{}"}},
        StreamCase{"BracketsInStrings",
                   "[{\"a\":\"}]\\\"{\"},\"[,\\\\\",2]",
                   {"{\"a\":\"}]\\\"{\"}", "\"[,\\\\\"", "2"}},
        StreamCase{"ValuesThenArray", "1\n[2,3]4", {"1", "2", "3", "4"}}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Bad, JsonStreamTest,
    testing::Values(
        StreamCase{"ATokenCostsItself", "[1,NaN,2]", {"1", "2"}, {"NaN"}},
        StreamCase{"InAnObjectCostsTheObject",
                   "[{\"a\":x,\"b\":[1]},{\"a\":1}]",
                   {"{\"a\":1}"},
                   {"{\"a\":x,\"b\":[1]}"}},
        StreamCase{"DoubledComma", "[1,,2]", {"1", "2"}, {","}},
        StreamCase{"TrailingComma", "[1,]", {"1"}, {","}},
        StreamCase{"CommaAtTheEnd", "[1, ", {"1"}, {", "}},
        StreamCase{"CommaAtTheBeginning", "[,1]", {"1"}, {"["}},
        StreamCase{"CommaInAnObject", "[{\"a\":1,},2]", {"2"}, {"{\"a\":1,}"}},
        StreamCase{"WrongBracketClosesWhatItIsIn",
                   "[{\"a\":[1,2},3]",
                   {"3"},
                   {"{\"a\":[1,2}"}},
        StreamCase{"WrongBraceClosesTheArray", "[[1,2},3]", {"3"}, {"[1,2}"}},
        StreamCase{"TheArrayEndsBeforeTheObjectDoes",
                   "[1,{\"a\":2]\n3",
                   {"1", "3"},
                   {"{\"a\":2"}},
        StreamCase{"AForgottenBraceCostsItsObject",
                   "{\"a\":1\n{\"a\":2}\n{\"a\":3}\n",
                   {"{\"a\":2}", "{\"a\":3}"},
                   {"{\"a\":1\n"}},
        StreamCase{"AForgottenBraceInAPrettyArray",
                   "[\n  {\n    \"a\": 1\n  ,\n  {\n    \"a\": 2\n  }\n]\n",
                   {"{\n    \"a\": 2\n  }"},
                   {"{\n    \"a\": 1\n  ,\n  "}},
        StreamCase{"AForgottenQuoteCostsItsLine",
                   "{\"a\":\"x}\n{\"a\":2}\n",
                   {"{\"a\":2}"},
                   {"{\"a\":\"x}\n"}},
        StreamCase{"ALineThatWasCutOff",
                   "{\"a\":1,\"b{\"a\":2}\n{\"a\":3}\n",
                   {"{\"a\":3}"},
                   {"{\"a\":1,\"b{\"a\":2}\n"}},
        StreamCase{
            "AStringByItselfEndsWithItsLine", "\"abc\n1\n", {"1"}, {"\"abc"}},
        StreamCase{"ABraceTooMany", "[1}2]", {"1", "2"}, {"}"}},
        StreamCase{"AnEndThatIsNone", "{\"a\":1", {}, {"{\"a\":1"}},
        StreamCase{"NulBetween",
                   std::string("1\0"
                               "2 3",
                               5),
                   {"3"},
                   {std::string("1\0"
                                "2",
                                3)}}),
    [](const auto& test) { return test.param.name; });

// What is known of one record alone cannot tell these.
INSTANTIATE_TEST_SUITE_P(
    NotTold, JsonStreamTest,
    testing::Values(StreamCase{"AnArrayThatDoesNotEnd", "[1,2", {"1", "2"}},
                    StreamCase{"AnArrayThatEndsTwice", "[1]]", {"1"}},
                    StreamCase{"AForgottenComma", "[1 2]", {"1", "2"}},
                    StreamCase{"ACommaBetweenValues", "1,2", {"1", "2"}}),
    [](const auto& test) { return test.param.name; });

TEST(JsonParserTest, PlacesAreExact) {
  const ParsedText parsed = Parse("[\n  1,\n  {\n    \"a\" 2\n  },\n\n  x]\n");
  ASSERT_THAT(parsed.errors, SizeIs(2));
  EXPECT_EQ(parsed.errors[0].record_number, 2u);
  EXPECT_EQ(parsed.errors[0].line, 3u);
  EXPECT_EQ(parsed.errors[0].byte_offset, 9u);
  EXPECT_EQ(parsed.errors[0].tag, "syntax");
  EXPECT_EQ(parsed.errors[1].record_number, 3u);
  EXPECT_EQ(parsed.errors[1].line, 7u);
  EXPECT_EQ(parsed.line_count, 7u);
  EXPECT_EQ(parsed.records[0].offset, 4);
}

TEST(JsonParserTest, HasTheKeysOfNdjson) {
  EXPECT_THAT(
      Parse("[{\"a\":{\"b\":\"x\\u0041\"}},{\"a\":\n{\"b\":7}},{}]", "a.b")
          .keys(),
      ElementsAre("xA", "7", "(none)"));
}

TEST(JsonParserTest, HasTheRowsOfNdjson) {
  const std::unique_ptr<Parser> parser = *MakeJsonParser(
      JsonConfig(),
      {{{.name = "id", .type = SqlType::kBigint, .nullable = false},
        {.name = "name"}}});
  const ParsedText parsed = ParseWhole(
      *parser,
      "[{\"id\":\n1,\"name\":\"\\u0041\"},{\"name\":\"b\"},{\"id\":2}]");
  EXPECT_THAT(parsed.rows, SizeIs(2));
  ASSERT_THAT(parsed.tags(), ElementsAre("null_value"));
  EXPECT_EQ(parsed.errors[0].field, "id");
}

TEST(JsonParserTest, DeepNestingIsABadRecordOnly) {
  const std::string deep =
      std::string(100'000, '[') + std::string(100'000, ']');
  const ParsedText parsed = Parse(absl::StrCat("{\"a\":", deep, "}\n{}"));
  EXPECT_THAT(parsed.tags(), ElementsAre("too_deep"));
  EXPECT_THAT(parsed.values(), ElementsAre("{}"));
}

TEST(JsonParserTest, ATooLongRecordCostsItself) {
  const ParsedText parsed =
      ParseWhole(*MakeParser({}, 5), "[1,\"abcdef\",\"abc\"\n]");
  EXPECT_THAT(parsed.tags(), ElementsAre("record_too_large"));
  EXPECT_THAT(parsed.values(), ElementsAre("1", "\"abc\""));
}

TEST(JsonParserTest, ABrokenCharacterCostsItsRecord) {
  const ParsedText parsed = Parse("[\"\xff\",\"a\"]");
  EXPECT_THAT(parsed.tags(), ElementsAre("invalid_utf8"));
  EXPECT_THAT(parsed.values(), ElementsAre("\"a\""));
}

TEST(JsonSplitterTest, ANumberEndsWithWhatFollows) {
  JsonSplitter splitter;
  EXPECT_EQ(splitter.Input("12"), std::nullopt);
  EXPECT_EQ(splitter.Input("3"), std::nullopt);
  EXPECT_EQ(splitter.Input("\n"), 1u);
}

TEST(JsonSplitterTest, ANumberThatGoesOnLaterWasTorn) {
  const JsonSplitter splitter;
  EXPECT_EQ(splitter.PassSeam('2', "3"), std::nullopt);
  EXPECT_EQ(splitter.PassSeam('2', ",3"), 0u);
  EXPECT_EQ(splitter.PassSeam('}', "1"), 0u);
  EXPECT_EQ(splitter.PassSeam('\n', "1"), 0u);
}

// Found by the fuzzer: read whole it was said to be in the value's line.
TEST(JsonParserTest, AValueFarBehindItsBracketIsTooLargeWhereTheBracketIs) {
  const std::string text = "1\n[\n" + std::string(40, ' ') + "{\"a\":1}\n2\n";
  const ParsedText whole = ParseWhole(*MakeParser({}, 4), text);
  EXPECT_THAT(whole.values(), ElementsAre("1", "2"));
  ASSERT_THAT(whole.tags(), ElementsAre("record_too_large"));
  EXPECT_EQ(whole.errors[0].line, 2u);
  EXPECT_EQ(whole.errors[0].byte_offset, 2u);
  const ParsedText in_reads = ParseInReads(*MakeParser({}, 4), text, 2);
  ASSERT_THAT(in_reads.tags(), ElementsAre("record_too_large"));
  EXPECT_EQ(in_reads.errors[0].line, 2u);
  EXPECT_EQ(in_reads.errors[0].byte_offset, 2u);
  EXPECT_EQ(in_reads.line_count, whole.line_count);
}

// Found by the fuzzer: a unit of all that a source reads at most was good when
// read whole, though only the next byte ends it, and too large in reads.
TEST(JsonParserTest, AUnitOfAllThatIsReadIsTooLargeUnlessItsLastByteEndsIt) {
  const size_t unit = 4 + Parser::kFramingBytesMax;
  const auto padded = [&](absl::string_view value) {
    return "[" + std::string(unit - 1 - value.size(), ' ') + std::string(value);
  };
  const auto expect_alike = [](const std::string& text, bool is_too_large) {
    const ParsedText whole = ParseWhole(*MakeParser({}, 4), text);
    const ParsedText in_reads = ParseInReads(*MakeParser({}, 4), text, 3);
    EXPECT_EQ(in_reads.values(), whole.values());
    EXPECT_EQ(in_reads.tags(), whole.tags());
    EXPECT_EQ(in_reads.line_count, whole.line_count);
    const std::vector<std::string> tags = whole.tags();
    EXPECT_EQ(absl::c_count(tags, "record_too_large"), is_too_large ? 1 : 0);
  };
  expect_alike(padded("1") + ",2]", true);
  expect_alike(padded("1"), true);
  expect_alike(padded("\x04") + "[", true);
  expect_alike(padded("{}") + "1", false);
  expect_alike(padded("\"\""), false);
  expect_alike(padded("{") + "\n[1]", true);
  expect_alike(padded("{,\n") + "[1]", true);
  expect_alike(padded("}") + "1", true);
  expect_alike(std::string(unit - 1, '\r') + "\n1", false);
  expect_alike("1," + std::string(unit - 1, ' ') + ",2", true);
  expect_alike("\xEF\xBB\xBF" + padded("1") + ",2]", true);
  expect_alike("\xEF\xBB\xBF" + padded("{}") + "1", false);
}

TEST(JsonEncoderTest, WritesValuesOneBehindTheOther) {
  JsonEncoder encoder;
  FrameBuffer frame;
  ASSERT_OK(encoder.Encode(Record{.value = "{\n}"}, frame));
  ASSERT_OK(encoder.Encode(Record{.value = "1"}, frame));
  EXPECT_EQ(frame.view(), "{\n}\n1\n");
}

TEST(JsonEncoderTest, AnArrayIsReadAsOneRecordAgain) {
  JsonEncoder encoder;
  FrameBuffer frame;
  ASSERT_OK(encoder.Encode(Record{.value = "[1,2]"}, frame));
  EXPECT_EQ(frame.view(), "[[1,2]]\n");
  EXPECT_EQ(encoder.EstimateBytes(1, 5), frame.view().size());
  EXPECT_THAT(Parse(frame.view()).values(), ElementsAre("[1,2]"));
}

TEST(JsonEncoderTest, HasNoFormForNull) {
  FrameBuffer frame;
  EXPECT_THAT(JsonEncoder().Encode(Record{}, frame),
              HasReason(Reason::UNSUPPORTED));
  EXPECT_THAT(frame.view(), IsEmpty());
}

TEST(MakeJsonTest, RefusesAnothersConfiguration) {
  EXPECT_THAT(MakeJsonParser(RawConfig()).status(),
              HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(MakeJsonEncoder(RawConfig(), FrameKind::kConcatenated).status(),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(MakeJsonTest, RefusesRecordsOfNoBytesAndBadKeys) {
  JsonConfig config;
  config.record_bytes_max = 0;
  EXPECT_THAT(MakeJsonParser(config).status(),
              HasReason(Reason::INVALID_CONFIG));
  config = JsonConfig();
  config.key = "a..b";
  EXPECT_THAT(MakeJsonParser(config).status(),
              HasReason(Reason::INVALID_CONFIG));
}

}  // namespace
}  // namespace penstock::core
