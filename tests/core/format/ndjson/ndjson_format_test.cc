#include "core/format/ndjson/ndjson_format.h"

#include "core/format/bad_record.h"
#include "core/format/raw/config.h"
#include "core/record/key_hash.h"
#include "tests/core/format/parse_text.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::unique_ptr<Parser> MakeParser(std::optional<std::string> key = {},
                                   size_t record_bytes_max = 1 << 20) {
  NdjsonConfig config;
  config.key = std::move(key);
  config.record_bytes_max = record_bytes_max;
  return *MakeNdjsonParser(config);
}

ParsedText Parse(absl::string_view text, std::optional<std::string> key = {}) {
  return ParseWhole(*MakeParser(std::move(key)), text);
}

TEST(NdjsonParserTest, PassesALineAsItStands) {
  const std::string line =
      R"( {"n":9223372036854775807, "d":0.1000000000000000055511151231257827,)"
      R"("e":1E2,"s":"\u00e9\/"} )";
  EXPECT_THAT(Parse(line + "\n").values(), ElementsAre(line));
}

TEST(NdjsonParserTest, TakesAnyValueOnALine) {
  EXPECT_THAT(Parse("{}\n[]\n\"x\"\n-1.5\ntrue\nnull\n").values(),
              ElementsAre("{}", "[]", "\"x\"", "-1.5", "true", "null"));
}

TEST(NdjsonParserTest, TheLineEndIsNotPartOfTheRecord) {
  EXPECT_THAT(Parse("{}\r\n[]\n").values(), ElementsAre("{}", "[]"));
}

TEST(NdjsonParserTest, TheLastLineNeedsNoLineEnd) {
  EXPECT_THAT(Parse("{}\n[1]").values(), ElementsAre("{}", "[1]"));
}

TEST(NdjsonParserTest, BlankLinesCountAsLinesOnly) {
  const ParsedText parsed = Parse("{\"a\":1}\n\n  \t\n\r\nx\n");
  EXPECT_THAT(parsed.values(), ElementsAre("{\"a\":1}"));
  ASSERT_THAT(parsed.errors, SizeIs(1));
  EXPECT_EQ(parsed.errors[0].record_number, 2u);
  EXPECT_EQ(parsed.errors[0].line, 5u);
  EXPECT_EQ(parsed.record_count, 2u);
  EXPECT_EQ(parsed.line_count, 5u);
}

TEST(NdjsonParserTest, AByteOrderMarkAtTheBeginningIsPassedOver) {
  const ParsedText parsed = Parse("\xef\xbb\xbf{}\n");
  EXPECT_THAT(parsed.values(), ElementsAre("{}"));
  EXPECT_EQ(parsed.records[0].offset, 3);
}

TEST(NdjsonParserTest, AByteOrderMarkElsewhereIsAnError) {
  EXPECT_THAT(Parse("{}\n\xef\xbb\xbf{}\n").tags(), ElementsAre("syntax"));
  const std::unique_ptr<Parser> parser = MakeParser();
  EXPECT_THAT(ParseInReads(*parser, "\xef\xbb\xbf{}\n", 100, 7).tags(),
              ElementsAre("syntax"));
}

TEST(NdjsonParserTest, ABadLineCostsOnlyItself) {
  const ParsedText parsed = Parse("{\"a\":1}\n{\"a\":}\n{\"a\":3}\n");
  EXPECT_THAT(parsed.values(), ElementsAre("{\"a\":1}", "{\"a\":3}"));
  ASSERT_THAT(parsed.errors, SizeIs(1));
  const ParseError& error = parsed.errors[0];
  EXPECT_EQ(error.tag, "syntax");
  EXPECT_EQ(error.description, "expected a value, found '}' at byte 5");
  EXPECT_EQ(error.record_number, 2u);
  EXPECT_EQ(error.line, 2u);
  EXPECT_EQ(error.byte_offset, 8u);
  EXPECT_EQ(error.field, "a");
  EXPECT_EQ(error.invalid_text, "{\"a\":}");
  EXPECT_FALSE(error.suggestion.empty());
}

// Each of these hides the lines around it from the fast path.
TEST(NdjsonParserTest, LinesAroundAnOpenStringAreGood) {
  const ParsedText parsed =
      Parse("{\"a\":1}\n{\"b\n{\"c\":\"x\"}\n{\"\xff\"}\n[]\n\"a\tb\"\n{}\n");
  EXPECT_THAT(parsed.values(),
              ElementsAre("{\"a\":1}", "{\"c\":\"x\"}", "[]", "{}"));
  EXPECT_THAT(parsed.tags(), ElementsAre("syntax", "invalid_utf8", "syntax"));
}

TEST(NdjsonParserTest, GoesBackToLargeStepsBehindBadLines) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "{\"member\":\"value\"}\n";
  const std::string all = text + "{\"open\n" + text + "\"\xc3\"\n" + text;
  const ParsedText parsed = Parse(all);
  EXPECT_THAT(parsed.records, SizeIs(15'000));
  EXPECT_THAT(parsed.tags(), ElementsAre("syntax", "invalid_utf8"));
  EXPECT_EQ(parsed.errors[1].line, 10'002u);
}

TEST(NdjsonParserTest, TheTextOfAnErrorIsCut) {
  const std::string line = "[\"" + std::string(10'000, 'x') + "\"";
  const ParsedText parsed = Parse(line + "\n");
  ASSERT_THAT(parsed.errors, SizeIs(1));
  EXPECT_EQ(parsed.errors[0].invalid_text,
            line.substr(0, kInvalidTextBytesMax));
}

TEST(NdjsonParserTest, ATooLongLineCostsOnlyItself) {
  const std::unique_ptr<Parser> parser = MakeParser({}, 8);
  const ParsedText parsed = ParseWhole(*parser, "[1,2,34]\n[1,2,345]\n[6]\n");
  EXPECT_THAT(parsed.values(), ElementsAre("[1,2,34]", "[6]"));
  ASSERT_THAT(parsed.errors, SizeIs(1));
  EXPECT_EQ(parsed.errors[0].tag, "record_too_large");
  EXPECT_EQ(parsed.errors[0].record_number, 2u);
  EXPECT_EQ(parsed.errors[0].byte_offset, 9u);
}

TEST(NdjsonParserTest, ATooLongBlankLineIsAnErrorToo) {
  const std::unique_ptr<Parser> parser = MakeParser({}, 8);
  EXPECT_THAT(ParseWhole(*parser, std::string(9, ' ') + "\n[]\n").tags(),
              ElementsAre("record_too_large"));
}

TEST(NdjsonParserTest, ACutRecordIsAnErrorWhateverItsBeginning) {
  const std::unique_ptr<Parser> parser = MakeParser({}, 4);
  const ParsedText parsed =
      ParseInReads(*parser, "1\n" + std::string(100, ' ') + "[]\n2\n", 8);
  EXPECT_THAT(parsed.values(), ElementsAre("1", "2"));
  EXPECT_THAT(parsed.tags(), ElementsAre("record_too_large"));
}

TEST(NdjsonParserTest, LinesBeyondWhatIsIndexedAreChecked) {
  const std::string good =
      "{\"k\":\"v\",\"x\":\"" + std::string(3 << 20, 'x') + "\"}";
  const std::unique_ptr<Parser> parser = MakeParser("k", 16 << 20);
  const ParsedText parsed =
      ParseWhole(*parser, "{}\n" + good + "\n" + good + "}\n[]\n");
  EXPECT_THAT(parsed.records, SizeIs(3));
  EXPECT_THAT(parsed.keys(), ElementsAre("(none)", "v", "(none)"));
  EXPECT_THAT(parsed.tags(), ElementsAre("trailing_data"));
}

TEST(NdjsonParserTest, WithoutAPathThereAreNoKeys) {
  EXPECT_THAT(Parse("{\"k\":1}\n").keys(), ElementsAre("(none)"));
}

TEST(NdjsonParserTest, TakesTheKeyFromItsPath) {
  const ParsedText parsed = Parse(
      "{\"u\":{\"id\":\"x\"}}\n{\"u\":{\"id\":7}}\n{\"u\":{}}\n[1]\n", "u.id");
  EXPECT_THAT(parsed.keys(), ElementsAre("x", "7", "(none)", "(none)"));
  EXPECT_THAT(parsed.key_hashes,
              ElementsAre(KeyHash("x"), KeyHash("7"), 0u, 0u));
}

TEST(NdjsonParserTest, AKeyIsUnescaped) {
  const ParsedText parsed = Parse(
      "{\"k\":\"a\\u00e9\\n\"}\n{\"k\":\"\\ud83d\\ude80\"}\n{\"k\":\"\"}\n",
      "k");
  EXPECT_THAT(parsed.keys(), ElementsAre("a\u00e9\n", "\U0001f680", ""));
  EXPECT_EQ(parsed.key_hashes[0], KeyHash("a\u00e9\n"));
  EXPECT_EQ(parsed.key_hashes[2], KeyHash(""));
}

TEST(NdjsonParserTest, ABadEscapeInANameIsNoMatterForTheKey) {
  const ParsedText parsed = Parse("{\"\\q\":1,\"k\":2}\n{\"k\":3}\n", "k");
  EXPECT_THAT(parsed.keys(), ElementsAre("3"));
  EXPECT_THAT(parsed.tags(), ElementsAre("syntax"));
}

TEST(NdjsonParserTest, AForkHasTheConfigurationAndFreshCounters) {
  const std::unique_ptr<Parser> parser = MakeParser("k", 77);
  ParseWhole(*parser, "{}\n{}\n");
  const std::unique_ptr<Parser> fork = parser->Fork();
  EXPECT_EQ(fork->RecordBytesMax(), 77u);
  const ParsedText parsed = ParseWhole(*fork, "x\n{\"k\":1}\n");
  ASSERT_THAT(parsed.errors, SizeIs(1));
  EXPECT_EQ(parsed.errors[0].record_number, 1u);
  EXPECT_THAT(parsed.keys(), ElementsAre("1"));
}

TEST(NdjsonParserTest, NumbersGoOnFromWhereItWasPut) {
  const std::unique_ptr<Parser> parser = MakeParser();
  parser->SetPosition(11, 21);
  const ParsedText parsed = ParseInReads(*parser, "{}\n\nx\n{}\ny\n", 5, 500);
  ASSERT_THAT(parsed.errors, SizeIs(2));
  EXPECT_EQ(parsed.errors[0].record_number, 12u);
  EXPECT_EQ(parsed.errors[0].line, 23u);
  EXPECT_EQ(parsed.errors[0].byte_offset, 504u);
  EXPECT_EQ(parsed.errors[1].record_number, 14u);
  EXPECT_EQ(parsed.errors[1].line, 25u);
}

TEST(NdjsonFormatTest, RefusesABadKeyPath) {
  NdjsonConfig config;
  config.key = "a.";
  EXPECT_THAT(MakeNdjsonParser(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasReason(Reason::INVALID_CONFIG)));
}

TEST(NdjsonFormatTest, RefusesAnotherFormatsConfiguration) {
  EXPECT_THAT(MakeNdjsonParser(RawConfig{}), HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(MakeNdjsonEncoder(RawConfig{}, FrameKind::kConcatenated),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(NdjsonFormatTest, RefusesALimitOfZero) {
  NdjsonConfig config;
  config.record_bytes_max = 0;
  EXPECT_THAT(MakeNdjsonParser(config).status().message(),
              HasSubstr("record_bytes_max"));
}

TEST(NdjsonFormatTest, MakesAnEncoder) {
  EXPECT_OK(MakeNdjsonEncoder(NdjsonConfig{}, FrameKind::kMessages));
}

// --- What went wrong elsewhere, and is right here.

struct FieldCase {
  std::string name;
  std::string text;
  size_t good = 0;
  // "tag record line byte field", one an error.
  std::string errors;
};

class NdjsonFieldCaseTest : public testing::TestWithParam<FieldCase> {};

std::string ErrorsOf(const ParsedText& parsed) {
  std::string all;
  for (const ParseError& error : parsed.errors) {
    all += error.tag + " " + std::to_string(error.record_number) + " " +
           std::to_string(error.line) + " " +
           std::to_string(error.byte_offset) + " " + error.field.value_or("-") +
           "\n";
  }
  return all;
}

TEST_P(NdjsonFieldCaseTest, IsRightInOnePieceAndByteByByte) {
  const FieldCase& param = GetParam();
  const ParsedText whole = Parse(param.text);
  EXPECT_EQ(whole.records.size(), param.good);
  EXPECT_EQ(ErrorsOf(whole), param.errors);
  const std::unique_ptr<Parser> parser = MakeParser();
  EXPECT_EQ(ParseInReads(*parser, param.text, 1), whole);
}

INSTANTIATE_TEST_SUITE_P(
    All, NdjsonFieldCaseTest,
    testing::Values(
        FieldCase{"IntegersBeyondUint64PassVerbatim",
                  "{\"n\":5}\n{\"n\":1234567890123456789012345}\n", 2, ""},
        FieldCase{"NotANumberIsNoJson",
                  "{\"x\":NaN}\n{\"x\":-Infinity}\n{\"x\":\"NaN\"}\n"
                  "{\"x\":nan}\n{\"x\":1e400}\n{\"x\":1.5}\n",
                  2,
                  "syntax 1 1 0 x\nsyntax 2 2 10 x\nsyntax 4 4 38 x\n"
                  "out_of_range 5 5 48 x\n"},
        FieldCase{"LoneSurrogatesAreErrors",
                  "{\"t\":\"\\ud83d\\ude80\"}\n{\"t\":\"\\ud83d\"}\n"
                  "{\"t\":\"\\ude80\"}\n{\"t\":\"\\ude80\\ud83d\"}\n",
                  1,
                  "invalid_unicode 2 2 21 t\ninvalid_unicode 3 3 36 t\n"
                  "invalid_unicode 4 4 51 t\n"},
        FieldCase{"BadUtf8CostsItsLineOnly",
                  "{\"m\":\"caf\xe9 ok\"}\n{\"m\":\"\xe2\x82\"}\n"
                  "{\"m\":\"\xc0\xaf\"}\n{\"m\":\"\xed\xa0\xbd\"}\n"
                  "{\"m\":\"fine\"}\n",
                  1,
                  "invalid_utf8 1 1 0 -\ninvalid_utf8 2 2 16 -\n"
                  "invalid_utf8 3 3 27 -\ninvalid_utf8 4 4 38 -\n"},
        FieldCase{"TrailingDataIsAnErrorOfItsLine",
                  "{\"q\":5}{\"q\":6}\n{\"q\":7} xyz\n{\"q\":8}\n", 1,
                  "trailing_data 1 1 0 -\ntrailing_data 2 2 15 -\n"},
        FieldCase{
            "RawNulIsAnError",
            std::string("{\"s\":\"a\\u0000b\"}\n{\"s\":\"a\0b\"}\n\0\n{}", 33),
            2, "syntax 2 2 17 s\nsyntax 3 3 29 -\n"},
        FieldCase{"BackslashAtTheEndOfAString",
                  "{\"s\":\"\\\\u002f\"}\n{\"s\":\"\\\\\"}\n"
                  "{\"s\":\"{\\\"k\\\":\\\"v\\\\n\\\"}\"}",
                  3, ""},
        FieldCase{"DeepNestingIsAnError",
                  std::string(100'000, '[') + std::string(100'000, ']') +
                      "\n{\"x\":1}\n",
                  1,
                  [] {
                    std::string path;
                    while (path.size() <= 256) path += "[0]";
                    return "too_deep 1 1 0 " + path + "...\n";
                  }()}),
    [](const testing::TestParamInfo<FieldCase>& test) {
      return test.param.name;
    });

}  // namespace
}  // namespace penstock::core
