#include "core/format/csv/csv_format.h"

#include "core/base/json_text.h"
#include "core/format/csv/scanner.h"
#include "tests/core/format/csv/plain_reader.h"
#include "tests/core/format/parse_text.h"
#include "tests/core/format/random_csv.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Schema Texts(std::vector<std::string> names) {
  Schema schema;
  for (std::string& name : names) {
    schema.columns.push_back({.name = std::move(name)});
  }
  return schema;
}

ParsedText Parse(const CsvConfig& config, const Schema& schema,
                 absl::string_view text) {
  auto parser = MakeCsvParser(config, schema);
  EXPECT_OK(parser.status());
  return ParseWhole(**parser, text);
}

// Rows of two columns a, b.
ParsedText ParsePairs(const CsvConfig& config, absl::string_view text) {
  return Parse(config, Texts({"a", "b"}), text);
}

CsvConfig WithHeader() {
  CsvConfig config;
  config.header = true;
  return config;
}

CsvConfig WithBackslashes() {
  CsvConfig config;
  config.dialect.escape = CsvEscape::kBackslash;
  return config;
}

CsvConfig WithTrim() {
  CsvConfig config;
  config.dialect.trim = true;
  return config;
}

TEST(CsvFormatTest, TheRecordIsItsBytesWithoutLineEnd) {
  const ParsedText parsed = Parse({}, {}, "a,\"b \"\"c\"\"\nd\"\r\n,\nlast");
  EXPECT_THAT(parsed.values(),
              ElementsAre("a,\"b \"\"c\"\"\nd\"", ",", "last"));
  EXPECT_EQ(parsed.record_count, 3u);
  EXPECT_EQ(parsed.line_count, 4u);
  EXPECT_THAT(parsed.errors, IsEmpty());
}

TEST(CsvFormatTest, QuotesAreTakenOffAndDoubledOnesAreOne) {
  EXPECT_THAT(ParsePairs({}, "\"x\",\"say \"\"hi\"\"\"\n\"\"\"\",''\n").rows,
              ElementsAre("string 'x' | string 'say \\\"hi\\\"'",
                          "string '\\\"' | string '\\'\\''"));
}

TEST(CsvFormatTest, NothingIsNullAndQuotedNothingIsEmpty) {
  EXPECT_THAT(ParsePairs({}, "p,\"\"\n,\"\"\n\"\",").rows,
              ElementsAre("string 'p' | string ''", "null | string ''",
                          "string '' | null"));
}

TEST(CsvFormatTest, NothingMayBeEmptyText) {
  CsvConfig config;
  config.empty_is_null = false;
  EXPECT_THAT(ParsePairs(config, ",x\n").rows,
              ElementsAre("string '' | string 'x'"));
}

TEST(CsvFormatTest, TokensWithoutQuotesAreNull) {
  CsvConfig config;
  config.null_tokens = {"NULL", "\\N"};
  EXPECT_THAT(ParsePairs(config, "NULL,\\N\n\"NULL\",null\n").rows,
              ElementsAre("null | null", "string 'NULL' | string 'null'"));
}

TEST(CsvFormatTest, ANullThatMayNotBeIsABadRecord) {
  Schema schema = Texts({"a", "b"});
  schema.columns[1].nullable = false;
  const ParsedText parsed = Parse({}, schema, "x,y\nx,\n");
  EXPECT_THAT(parsed.tags(), ElementsAre("null_value"));
  EXPECT_EQ(parsed.errors[0].field, "b");
  EXPECT_EQ(parsed.errors[0].line, 2u);
  EXPECT_EQ(parsed.errors[0].byte_offset, 4u);
}

TEST(CsvFormatTest, AValueThatDoesNotFitSaysColumnFieldLineAndByte) {
  Schema schema = Texts({"note", "n"});
  schema.columns[1].type = SqlType::kSmallint;
  const ParsedText parsed =
      Parse({}, schema, "x,1\n\"two\nlines\",70000\ny,-2\n");
  EXPECT_THAT(parsed.rows,
              ElementsAre("string 'x' | int64 1", "string 'y' | int64 -2"));
  ASSERT_THAT(parsed.tags(), ElementsAre("out_of_range"));
  EXPECT_EQ(parsed.errors[0].description,
            "column n (smallint): '70000' is beyond the range of the type, in "
            "field 2 at line 3, byte 16");
  EXPECT_EQ(parsed.errors[0].record_number, 2u);
  EXPECT_EQ(parsed.errors[0].line, 2u);
  EXPECT_EQ(parsed.errors[0].byte_offset, 4u);
  EXPECT_EQ(parsed.errors[0].field, "n");
  EXPECT_EQ(parsed.errors[0].invalid_text, "\"two\nlines\",70000");
}

TEST(CsvFormatTest, AVariantIsJson) {
  Schema schema = Texts({"v"});
  schema.columns[0].type = SqlType::kVariant;
  const ParsedText parsed =
      Parse({}, schema, "\"{\"\"a\"\":[1]}\"\n{a}\n\"1\"\n");
  EXPECT_THAT(parsed.rows,
              ElementsAre("variant '{\\\"a\\\":[1]}'", "variant '1'"));
  EXPECT_THAT(parsed.tags(), ElementsAre("wrong_type"));
}

TEST(CsvFormatTest, AnotherNumberOfFieldsIsABadRecord) {
  const ParsedText parsed = ParsePairs({}, "a,b\nc\nd,e,f\ng,h\n");
  EXPECT_THAT(parsed.values(), ElementsAre("a,b", "g,h"));
  EXPECT_THAT(parsed.tags(), ElementsAre("field_count", "field_count"));
  EXPECT_EQ(parsed.errors[0].description,
            "the record has 1 fields, the schema has 2");
  EXPECT_EQ(parsed.errors[1].line, 3u);
  EXPECT_EQ(parsed.errors[1].byte_offset, 6u);
}

TEST(CsvFormatTest, WhereItMayMissingFieldsAreNull) {
  CsvConfig config;
  config.flexible = true;
  EXPECT_THAT(ParsePairs(config, "c\nd,e,f\n").rows,
              ElementsAre("string 'c' | null", "string 'd' | string 'e'"));
}

TEST(CsvFormatTest, BlankLinesAreLinesAndNoRecords) {
  const ParsedText parsed = ParsePairs({}, "\n\r\na,1\n\nb,2,3\n\n");
  EXPECT_THAT(parsed.values(), ElementsAre("a,1"));
  EXPECT_EQ(parsed.record_count, 2u);
  EXPECT_EQ(parsed.line_count, 6u);
  EXPECT_EQ(parsed.errors[0].line, 5u);
  EXPECT_EQ(parsed.errors[0].record_number, 2u);
}

TEST(CsvFormatTest, OfOneColumnABlankLineIsARecordIfKept) {
  CsvConfig config;
  EXPECT_THAT(Parse(config, Texts({"a"}), "x\n\n\"\"\n").rows,
              ElementsAre("string 'x'", "string ''"));
  config.keep_blank_lines = true;
  EXPECT_THAT(Parse(config, Texts({"a"}), "x\n\n\"\"\n").rows,
              ElementsAre("string 'x'", "null", "string ''"));
}

TEST(CsvFormatTest, CommentsHaveNoQuotes) {
  CsvConfig config;
  config.dialect.comment = '#';
  const ParsedText parsed =
      ParsePairs(config, "# it's, \"open\na,b\n#\nc,#d\n\"#\",e\n");
  EXPECT_THAT(parsed.values(), ElementsAre("a,b", "c,#d", "\"#\",e"));
  EXPECT_EQ(parsed.line_count, 5u);
}

TEST(CsvFormatTest, OtherBytesMayDelimitAndQuote) {
  CsvConfig config;
  config.dialect.delimiter = '|';
  config.dialect.quote = '\'';
  EXPECT_THAT(ParsePairs(config, "a,\"|'b|''c'\n").rows,
              ElementsAre("string 'a,\\\"' | string 'b|\\'c'"));
}

TEST(CsvFormatTest, WithoutQuotesEveryByteMeansItself) {
  CsvConfig config;
  config.dialect.delimiter = '\t';
  config.dialect.quote = std::nullopt;
  EXPECT_THAT(ParsePairs(config, "\"a\t5\" b\n").rows,
              ElementsAre("string '\\\"a' | string '5\\\" b'"));
}

TEST(CsvFormatTest, BlanksAreOfTheFieldUnlessTheyAreTrimmed) {
  EXPECT_THAT(ParsePairs({}, " a ,b\t\n").rows,
              ElementsAre("string ' a ' | string 'b\\t'"));
  EXPECT_THAT(
      ParsePairs(WithTrim(), " a\t, \" b,\n \" \n \t\n ,x y\n").rows,
      ElementsAre("string 'a' | string ' b,\\n '", "null | string 'x y'"));
}

TEST(CsvFormatTest, ATabThatDelimitsIsNoBlank) {
  CsvConfig config = WithTrim();
  config.dialect.delimiter = '\t';
  EXPECT_THAT(ParsePairs(config, " \t \"a\" \n").rows,
              ElementsAre("null | string 'a'"));
}

TEST(CsvFormatTest, BackslashesEscapeQuotesAndThemselves) {
  EXPECT_THAT(ParsePairs(WithBackslashes(), R"(1,"\"nick\" \\")"
                                            "\nx\\,\"y\"\n")
                  .rows,
              ElementsAre("string '1' | string '\\\"nick\\\" \\\\'",
                          "string 'x\\\\' | string 'y'"));
}

TEST(CsvFormatTest, WithoutEscapesABackslashIsAByte) {
  EXPECT_THAT(ParsePairs({}, "\"C:\\tmp\\\",2\n").rows,
              ElementsAre("string 'C:\\\\tmp\\\\' | string '2'"));
}

TEST(CsvFormatTest, TheWrongStyleIsAnErrorWithItsPlace) {
  const ParsedText doubled = ParsePairs({}, R"(1,"\"nick\" \\")"
                                            "\n2,b\n");
  ASSERT_THAT(doubled.tags(), ElementsAre("syntax"));
  EXPECT_THAT(doubled.errors[0].description,
              HasSubstr("field 2 at line 1, byte 5"));
  EXPECT_THAT(doubled.values(), ElementsAre("2,b"));
  const ParsedText backslash =
      ParsePairs(WithBackslashes(), "\"C:\\tmp\",2\n\"a\"\"b\",3\nc,4\n");
  EXPECT_THAT(backslash.tags(), ElementsAre("syntax", "syntax"));
  EXPECT_THAT(backslash.values(), ElementsAre("c,4"));
}

TEST(CsvFormatTest, AQuoteInAFieldCostsItsRecord) {
  const ParsedText parsed =
      ParsePairs({}, "5\" disk,1\nb,2\n\"6\" disk,3\n\"7\" x\",\"y\nz\"\nc,4");
  EXPECT_THAT(parsed.values(), ElementsAre("b,2", "c,4"));
  EXPECT_THAT(parsed.tags(), ElementsAre("syntax", "syntax", "syntax"));
  EXPECT_THAT(parsed.errors[0].description,
              HasSubstr("field 1 at line 1, byte 1"));
  EXPECT_EQ(parsed.errors[2].line, 4u);
}

TEST(CsvFormatTest, ACrAloneCostsItsRecord) {
  const ParsedText parsed = ParsePairs({}, "a,1\rb,2\nc,3\r\nd,\"4\r\"\r");
  EXPECT_THAT(parsed.values(), ElementsAre("c,3", "d,\"4\r\""));
  ASSERT_THAT(parsed.tags(), ElementsAre("syntax"));
  EXPECT_THAT(parsed.errors[0].description,
              HasSubstr("field 2 at line 1, byte 3"));
}

TEST(CsvFormatTest, AQuoteLeftOpenTakesWhatIsLeftOfTheInput) {
  const ParsedText parsed = ParsePairs({}, "a,1\nb,\"2\nc,3\n");
  EXPECT_THAT(parsed.values(), ElementsAre("a,1"));
  ASSERT_THAT(parsed.tags(), ElementsAre("open_quote"));
  EXPECT_EQ(parsed.errors[0].description,
            "a quote that is not closed before the input ends, in field 2 at "
            "line 2, byte 6");
  EXPECT_EQ(parsed.line_count, 3u);
}

TEST(CsvFormatTest, AQuoteLeftOpenTakesNoMoreThanARecordMayHave) {
  CsvConfig config;
  config.record_bytes_max = 10;
  std::string text = "a,\"1\n";
  for (int i = 0; i < 20; ++i) absl::StrAppend(&text, "b,", i, "\n");
  const ParsedText parsed = ParsePairs(config, text);
  ASSERT_THAT(parsed.tags(), ElementsAre("open_quote"));
  EXPECT_EQ(parsed.errors[0].description,
            "a quote that is not closed within 10 bytes of the record, in "
            "field 2 at line 1, byte 2");
  // It goes on behind the first LF that is 26 bytes or more into the record.
  EXPECT_EQ(parsed.values().front(), "b,6");
  EXPECT_EQ(parsed.record_count, 15u);
  EXPECT_EQ(parsed.line_count, 21u);
}

TEST(CsvFormatTest, ATooLongRecordCostsOnlyItself) {
  CsvConfig config;
  config.record_bytes_max = 10;
  const ParsedText parsed =
      ParsePairs(config, "a,1\nlonger,than that,is\nb,2\n1234567,90\n");
  EXPECT_THAT(parsed.values(), ElementsAre("a,1", "b,2", "1234567,90"));
  EXPECT_THAT(parsed.tags(), ElementsAre("record_too_large"));
}

TEST(CsvFormatTest, OneMarkAtTheBeginningIsNothing) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_THAT(ParsePairs({}, mark + "\"a\nb\",1\n" + mark + "c,2\n").rows,
              ElementsAre("string 'a\\nb' | string '1'",
                          "string '\\xef\\xbb\\xbf\\x63' | string '2'"));
  EXPECT_THAT(ParsePairs({}, "c,2\n" + mark + "\"a\nb\",1\nd,3\n").values(),
              ElementsAre("c,2", "d,3"));
}

TEST(CsvFormatTest, WhatIsNotUtf8CostsItsRecord) {
  const ParsedText parsed = ParsePairs({}, "a,\xe9\nb,\u00e9\n");
  EXPECT_THAT(parsed.values(), ElementsAre("b,\u00e9"));
  EXPECT_THAT(parsed.tags(), ElementsAre("invalid_utf8"));
  EXPECT_THAT(Parse({}, {}, "a,\xe9\n").values(), ElementsAre("a,\xe9"));
}

TEST(CsvFormatTest, TheHeaderMapsNamesToColumnsInAnyOrder) {
  const ParsedText parsed = Parse(WithHeader(), Texts({"b", "a"}),
                                  "\"a\",other,b\r\n1,2,3\r\n4,5\r\n");
  EXPECT_THAT(parsed.rows, ElementsAre("string '3' | string '1'"));
  EXPECT_EQ(parsed.record_count, 2u);
  EXPECT_EQ(parsed.line_count, 3u);
  EXPECT_EQ(parsed.errors[0].description,
            "the record has 2 fields, the header names 3");
  EXPECT_EQ(parsed.errors[0].record_number, 2u);
  EXPECT_EQ(parsed.errors[0].line, 3u);
}

TEST(CsvFormatTest, CommentsAndBlankLinesMayComeBeforeTheHeader) {
  CsvConfig config = WithHeader();
  config.dialect.comment = '#';
  const ParsedText parsed = Parse(
      config, Texts({"b"}), "\xef\xbb\xbf# x\n\n\"a \n\"\"x\",b\n1,2\n3,4\n");
  EXPECT_THAT(parsed.rows, ElementsAre("string '2'", "string '4'"));
  EXPECT_EQ(parsed.line_count, 6u);
}

TEST(CsvFormatTest, BehindTheBeginningThereIsNoHeaderToSkip) {
  const std::string text = "b,a\n1,2\nb,a\n";
  const auto parser = *MakeCsvParser(WithHeader(), Texts({"a", "b"}));
  LearnBeginning(*parser, text);
  parser->SetPosition(2, 3);
  EXPECT_THAT(ParseInReads(*parser, text.substr(8), 100, 8).rows,
              ElementsAre("string 'a' | string 'b'"));
  EXPECT_THAT(
      ParseInReads(*parser->Fork(), text.substr(4), 100, 4).rows,
      ElementsAre("string '2' | string '1'", "string 'a' | string 'b'"));
}

TEST(CsvFormatTest, WithoutItsHeaderNoRecordIsGood) {
  const auto parser = *MakeCsvParser(WithHeader(), Texts({"a"}));
  const ParsedText parsed = ParseInReads(*parser, "1\n2\n", 100, 8);
  EXPECT_THAT(parsed.tags(), ElementsAre("no_header", "no_header"));
}

TEST(CsvFormatTest, AHeaderWithoutAColumnIsRefused) {
  const auto parser = *MakeCsvParser(WithHeader(), Texts({"a", "c"}));
  EXPECT_THAT(parser->LearnPrologue("a,b\n1,2\n", 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no field 'c', which the schema names; it "
                                 "has: 'a', 'b'")));
  EXPECT_THAT(parser->LearnPrologue("a,c,c\n", 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("two fields 'c'")));
  EXPECT_THAT(parser->LearnPrologue("a\"b,c\n", 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("line 1, byte 1")));
  EXPECT_THAT(parser->LearnPrologue(std::string(1 << 20, 'x'), 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("none ends within")));
  EXPECT_THAT(parser->LearnPrologue("", 0), IsOkAndHolds(false));
}

// Each record of an input without a usable header says why.
TEST(CsvFormatTest, WhatIsSaidOfAHeaderIsShort) {
  std::string header;
  for (int i = 0; i < 1'000; ++i) {
    absl::StrAppend(&header, std::string(60, '\x01'), i, ",");
  }
  const auto parser = *MakeCsvParser(WithHeader(), Texts({"a"}));
  const ParsedText parsed = ParseWhole(*parser, header + "\n1\n2\n");
  ASSERT_THAT(parsed.tags(), testing::Each("no_header"));
  ASSERT_THAT(parsed.errors, SizeIs(3));
  EXPECT_LT(parsed.errors[1].description.size(), 700u);
  EXPECT_THAT(parsed.errors[1].description, HasSubstr("more"));
}

// Under ASan: the escape stands behind the last byte that may be looked at.
TEST(CsvFormatTest, AHeaderWhoseQuoteIsLeftOpenBehindTheLimitIsRefused) {
  CsvConfig config = WithBackslashes();
  config.header = true;
  config.record_bytes_max = 8;
  auto parser = MakeCsvParser(config, Schema());
  ASSERT_OK(parser);
  EXPECT_THAT(ParseWhole(**parser, "aaaaaaaa,\"bc\\").tags(), Not(IsEmpty()));
}

TEST(CsvFormatTest, AnEscapeAtTheEndStandsForNothing) {
  char to[8] = {};
  const CsvDialect dialect = WithBackslashes().dialect;
  EXPECT_EQ(UnescapeCsv(dialect, "bc\\", to), 2u);
  EXPECT_EQ(std::string(to), "bc");
}

TEST(CsvFormatTest, TheKeyIsAFieldByNameOrNumber) {
  CsvConfig config = WithHeader();
  config.key = "k";
  EXPECT_THAT(Parse(config, {}, "v,k\n1,\"a\"\"b\"\n2,c\n3,\n4,\"\"\n").keys(),
              ElementsAre("a\"b", "c", "(none)", ""));
  config.header = false;
  config.key = std::nullopt;
  config.key_column = 2;
  EXPECT_THAT(Parse(config, {}, "1,a\n2\n").keys(), ElementsAre("a", "(none)"));
}

TEST(CsvFormatTest, ARecordOfFarTooManyFieldsIsCounted) {
  const ParsedText parsed =
      ParsePairs({}, std::string(100'000, ',') + "\na,b\n");
  EXPECT_EQ(parsed.errors[0].description,
            "the record has 100001 fields, the schema has 2");
  EXPECT_THAT(parsed.values(), SizeIs(1));
}

TEST(CsvFormatTest, WrongConfigurationsAreRefused) {
  const auto refusal = [](CsvConfig config, const Schema& schema) {
    return MakeCsvParser(config, schema).status();
  };
  CsvConfig config;
  config.dialect.quote = ',';
  EXPECT_THAT(refusal(config, {}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  config = {};
  config.dialect.delimiter = '\n';
  EXPECT_THAT(refusal(config, {}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  config = WithBackslashes();
  config.dialect.delimiter = '\\';
  EXPECT_THAT(refusal(config, {}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  config = {};
  config.key = "k";
  EXPECT_THAT(refusal(config, Texts({"a"})),
              StatusIs(absl::StatusCode::kInvalidArgument));
  config.key = "a";
  config.key_column = 1;
  EXPECT_THAT(refusal(config, Texts({"a"})),
              StatusIs(absl::StatusCode::kInvalidArgument));
  config = {};
  config.key_column = 2;
  EXPECT_THAT(refusal(config, Texts({"a"})),
              StatusIs(absl::StatusCode::kInvalidArgument));
  config = {};
  EXPECT_THAT(refusal(config, {{{.name = "a",
                                 .type = SqlType::kArray,
                                 .children = {{.name = "element"}}}}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("array(varchar)")));
  config.record_bytes_max = 0;
  EXPECT_THAT(refusal(config, {}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// A record that is given up is measured from the byte order mark on, also where
// the fast way looked at it first.
TEST(CsvFormatTest, AByteOrderMarkCountsTowardsWhatIsTooLong) {
  CsvConfig config;
  config.record_bytes_max = 12;
  const size_t open_bytes_max = CsvOpenBytesMax(config.record_bytes_max);
  // The first LF at which the record may be given up.
  const std::string text =
      absl::StrCat(kByteOrderMark, "\"", std::string(open_bytes_max - 4, 'x'),
                   "\n", "1,2\n", std::string(40, 'y'), "\"\n");
  const ParsedText parsed = ParsePairs(config, text);
  EXPECT_THAT(parsed.rows, ElementsAre("string '1' | string '2'"));
  EXPECT_EQ(
      ParseInReads(**MakeCsvParser(config, Texts({"a", "b"})), text, 64).rows,
      parsed.rows);
}

// --- Against another reader.

CsvConfig RandomConfig(Random& random) {
  CsvConfig config;
  CsvDialect& dialect = config.dialect;
  dialect.delimiter = ",;|\t"[random.Uniform(4)];
  if (random.Uniform(4) == 0) dialect.quote = '\'';
  if (random.Uniform(8) == 0) dialect.quote = std::nullopt;
  if (dialect.quote.has_value() && random.Bernoulli(0.3)) {
    dialect.escape = CsvEscape::kBackslash;
  }
  if (random.Bernoulli(0.3)) dialect.comment = '#';
  dialect.trim = random.Bernoulli(0.3);
  config.flexible = true;
  config.record_bytes_max = random.Bernoulli(0.3) ? 12 : 1'000;
  return config;
}

std::string CellText(const PlainCell& cell) {
  if (cell.text.empty() && !cell.is_quoted) return "null";
  return absl::StrCat("string '", absl::CHexEscape(cell.text), "'");
}

TEST(CsvFormatTest, ReadsWhatASimplerReaderReads) {
  Random random = TestRandom();
  for (int round = 0; round < 3'000; ++round) {
    const CsvConfig config = RandomConfig(random);
    const std::string text =
        RandomCsv(random, 1 + random.Uniform(12), config.dialect);
    const ParsedText parsed = Parse(config, Texts({"a", "b", "c"}), text);
    std::vector<std::string> rows;
    std::vector<uint64_t> bad_lines;
    for (const PlainRecord& record :
         ReadPlainCsv(text, config.dialect, config.record_bytes_max)) {
      if (!record.is_good || !IsUtf8(record.value)) {
        bad_lines.push_back(record.line);
        continue;
      }
      std::vector<PlainCell> cells = record.cells;
      cells.resize(3);
      rows.push_back(absl::StrCat(CellText(cells[0]), " | ", CellText(cells[1]),
                                  " | ", CellText(cells[2])));
    }
    std::vector<uint64_t> lines;
    for (const ParseError& error : parsed.errors) lines.push_back(error.line);
    ASSERT_EQ(parsed.rows, rows) << absl::CHexEscape(text);
    ASSERT_EQ(lines, bad_lines) << absl::CHexEscape(text);
  }
}

TEST(CsvFormatTest, WhereItIsCutChangesNothing) {
  Random random = TestRandom();
  for (int round = 0; round < 300; ++round) {
    CsvConfig config = RandomConfig(random);
    config.header = random.Bernoulli(0.3);
    const Schema schema = config.header ? Schema() : Texts({"a", "b", "c"});
    const std::string text =
        RandomCsv(random, 1 + random.Uniform(12), config.dialect);
    ParsedText whole = Parse(config, schema, text);
    for (ParseError& error : whole.errors) error.invalid_text.clear();
    for (size_t bytes = 1; bytes <= text.size(); ++bytes) {
      ParsedText pieces =
          ParseInReads(**MakeCsvParser(config, schema), text, bytes);
      for (ParseError& error : pieces.errors) error.invalid_text.clear();
      ASSERT_EQ(pieces, whole)
          << "reads of " << bytes << ": " << absl::CHexEscape(text);
    }
  }
}

}  // namespace
}  // namespace penstock::core
