// Lines with declared columns: rows, bad records and their places, in one piece
// and however they are cut. Most of the texts are of errors seen in the field.
#include "core/format/ndjson/ndjson_format.h"
#include "tests/core/format/parse_text.h"
#include "tests/core/format/random_lines.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::unique_ptr<Parser> MakeParser(const Schema& schema,
                                   size_t record_bytes_max = 16 << 20) {
  NdjsonConfig config;
  config.record_bytes_max = record_bytes_max;
  return *MakeNdjsonParser(config, schema);
}

Schema One(SqlType type, bool nullable = true) {
  return {{{.name = "x", .type = type, .nullable = nullable}}};
}

// "tag record line byte field", one an error.
std::vector<std::string> ErrorsOf(const ParsedText& parsed) {
  std::vector<std::string> all;
  for (const ParseError& error : parsed.errors) {
    all.push_back(absl::StrCat(error.tag, " ", error.record_number, " ",
                               error.line, " ", error.byte_offset, " ",
                               error.field.value_or("-")));
  }
  return all;
}

struct TypedCase {
  std::string name;
  Schema schema;
  std::string text;
  std::vector<std::string> rows;
  std::vector<std::string> errors;
};

class TypedRowsTest : public testing::TestWithParam<TypedCase> {};

TEST_P(TypedRowsTest, AreTheSameInOnePieceAndByteByByte) {
  const TypedCase& c = GetParam();
  const std::unique_ptr<Parser> parser = MakeParser(c.schema);
  const ParsedText whole = ParseWhole(*parser, c.text);
  EXPECT_EQ(whole.rows, c.rows);
  EXPECT_EQ(ErrorsOf(whole), c.errors);
  EXPECT_EQ(ParseInReads(*parser->Fork(), c.text, 1), whole);
}

INSTANTIATE_TEST_SUITE_P(
    All, TypedRowsTest,
    testing::Values(
        TypedCase{"IntegerBeyondItsColumn",
                  {{{.name = "id", .type = SqlType::kBigint},
                    {.name = "n", .type = SqlType::kBigint}}},
                  "{\"id\":1,\"n\":5}\n"
                  "{\"id\":2,\"n\":8100000000000000000000017}\n"
                  "{\"id\":3,\"n\":-6}\n",
                  {"int64 1 | int64 5", "int64 3 | int64 -6"},
                  {"out_of_range 2 2 15 n"}},
        TypedCase{"LongIntegersAreExactWhereTheyFit",
                  {{{.name = "d", .type = SqlType::kDecimal},
                    {.name = "u", .type = SqlType::kBigintUnsigned},
                    {.name = "t"}}},
                  "{\"d\":8100000000000000000000017,"
                  "\"u\":18446744073709551615,\"t\":9007199254740993}\n",
                  {"decimal 8100000000000000000000017 | "
                   "uint64 18446744073709551615 | string '9007199254740993'"},
                  {}},
        TypedCase{"BareNanIsNoJsonAndTheTextNanIsText",
                  One(SqlType::kVarchar),
                  "{\"x\":NaN}\n{\"x\":-Infinity}\n{\"x\":\"NaN\"}\n"
                  "{\"x\":nan}\n{\"x\":1e400}\n{\"x\":1.5}\n",
                  {"string 'NaN'", "string '1.5'"},
                  {"syntax 1 1 0 x", "syntax 2 2 10 x", "syntax 4 4 38 x",
                   "out_of_range 5 5 48 x"}},
        TypedCase{"TheTextNanIsADouble",
                  One(SqlType::kDouble),
                  "{\"x\":\"NaN\"}\n{\"x\":\"-Infinity\"}\n{\"x\":\"\"}\n",
                  {"double nan", "double -inf"},
                  {"wrong_type 3 3 30 x"}},
        TypedCase{
            "ASurrogatePairIsOneCharacter",
            One(SqlType::kVarchar),
            "{\"x\":\"\\ud83d\\ude80\"}\n"
            "{\"x\":\"\xf0\x9f\x9a\x80\"}\n"
            "{\"x\":\"\\ud83d!\"}\n{\"x\":\"\\ude80\"}\n"
            "{\"x\":\"\\ude80\\ud83d\"}\n",
            {"string '\\xf0\\x9f\\x9a\\x80'", "string '\\xf0\\x9f\\x9a\\x80'"},
            {"invalid_unicode 3 3 34 x", "invalid_unicode 4 4 50 x",
             "invalid_unicode 5 5 65 x"}},
        TypedCase{"BadUtf8CostsItsLineOnly",
                  One(SqlType::kVarchar),
                  "{\"x\":\"caf\xe9 ok\"}\n{\"x\":\"\xe2\x82\"}\n"
                  "{\"x\":\"\xc0\xaf\"}\n{\"x\":\"\xed\xa0\x80\"}\n"
                  "{\"x\":\"fine\"}\n",
                  {"string 'fine'"},
                  {"invalid_utf8 1 1 0 -", "invalid_utf8 2 2 16 -",
                   "invalid_utf8 3 3 27 -", "invalid_utf8 4 4 38 -"}},
        TypedCase{"TextIsUnescapedOnce",
                  One(SqlType::kVarchar),
                  "{\"x\":\"\\\\u002f\"}\n{\"x\":\"\\\\\"}\n"
                  "{\"x\":\"a\\nb\"}\n{\"x\":\"{\\\"k\\\":\\\"v\\\\n\\\"}\"}\n",
                  {"string '\\\\u002f'", "string '\\\\'", "string 'a\\nb'",
                   "string '{\\\"k\\\":\\\"v\\\\n\\\"}'"},
                  {}},
        TypedCase{"TheLastLineNeedsNoLineEnd",
                  One(SqlType::kInteger),
                  "{\"x\":1}\n{\"x\":2}\n{\"x\":3}",
                  {"int64 1", "int64 2", "int64 3"},
                  {}},
        TypedCase{"BlankLinesCountAsLinesOnly",
                  One(SqlType::kInteger),
                  "{\"x\":1}\n\n \t \n\r\n{\"x\":\"a\"}\r\n{\"x\":2}\r\n",
                  {"int64 1", "int64 2"},
                  {"wrong_type 2 5 15 x"}},
        TypedCase{"TrailingDataIsAnErrorOfItsLine",
                  One(SqlType::kInteger),
                  "{\"x\":5}{\"x\":6}\n{\"x\":7} x\n{\"x\":8}\n",
                  {"int64 8"},
                  {"trailing_data 1 1 0 -", "trailing_data 2 2 15 -"}},
        TypedCase{"DeepNestingInAnUnknownMemberIsAnError",
                  One(SqlType::kInteger),
                  "{\"skip\":" + std::string(100'000, '[') +
                      std::string(100'000, ']') + "}\n{\"x\":1}\n",
                  {"int64 1"},
                  {"too_deep 1 1 0 skip" +
                   [] {
                     std::string path;
                     while (path.size() <= 252) path += "[0]";
                     return path;
                   }() +
                   "..."}},
        TypedCase{"AnEscapedNulIsACharacter",
                  One(SqlType::kVarchar),
                  std::string("{\"x\":\"a\\u0000z\"}\n{\"x\":\"a\0b\"}\n\0\n"
                              "{\"x\":\"ok\"}\n",
                              42),
                  {"string 'a\\x00z'", "string 'ok'"},
                  {"syntax 2 2 17 x", "syntax 3 3 29 -"}},
        TypedCase{"OfEqualNamesTheLastCounts",
                  One(SqlType::kInteger),
                  "{\"x\":1,\"x\":2}\n{\"x\":1,\"\\u0078\":3}\n"
                  "{\"x\":\"a\",\"x\":4}\n{\"x\":5,\"x\":null}\n",
                  {"int64 2", "int64 3", "int64 4", "null"},
                  {}},
        TypedCase{"ARecordWithoutMembers",
                  One(SqlType::kInteger, false),
                  "{}\n[1]\n7\n{\"x\":0}\n",
                  {"int64 0"},
                  {"null_value 1 1 0 x", "wrong_type 2 2 3 -",
                   "wrong_type 3 3 7 -"}}),
    [](const auto& test) { return test.param.name; });

TEST(TypedRowsTest, ManyEqualLinesAreEqualRowsWhateverIsReadAtOnce) {
  const Schema schema{{{.name = "left"}, {.name = "right"}}};
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += R"({"left":"one","right":"two"})"
            "\n";
  for (size_t bytes = 1; bytes <= 256; ++bytes) {
    const std::unique_ptr<Parser> parser = MakeParser(schema);
    const ParsedText parsed = ParseInReads(*parser, text, bytes);
    ASSERT_THAT(parsed.rows, SizeIs(300)) << bytes;
    ASSERT_THAT(parsed.rows, Each("string 'one' | string 'two'")) << bytes;
  }
}

TEST(TypedRowsTest, TheBytesOfARecordStayAsTheyAre) {
  const std::string text = "{ \"x\" : 1.0 , \"y\":[1]}\n{\"x\":2}\n";
  const ParsedText plain = ParseWhole(*MakeParser({}), text);
  const ParsedText typed =
      ParseWhole(*MakeParser(One(SqlType::kInteger)), text);
  EXPECT_EQ(typed.records, plain.records);
  EXPECT_EQ(typed.hash, plain.hash);
  EXPECT_THAT(typed.rows, ElementsAre("int64 1", "int64 2"));
  EXPECT_THAT(plain.rows, ElementsAre("", ""));
}

TEST(TypedRowsTest, ABadValueIsToldInFull) {
  const ParsedText parsed = ParseWhole(*MakeParser(One(SqlType::kInteger)),
                                       "{\"x\":1}\n{\"x\":12.5}\n");
  ASSERT_THAT(parsed.errors, SizeIs(1));
  const ParseError& error = parsed.errors[0];
  EXPECT_EQ(error.description,
            "column x (integer): '12.5' is no integer, at byte 5 of the "
            "record");
  EXPECT_EQ(error.invalid_text, "{\"x\":12.5}");
  EXPECT_EQ(error.record_number, 2u);
  EXPECT_EQ(error.line, 2u);
  EXPECT_EQ(error.byte_offset, 8u);
  EXPECT_EQ(error.field, "x");
}

TEST(TypedRowsTest, KeysComeWithRows) {
  NdjsonConfig config;
  config.key = "user.id";
  const std::unique_ptr<Parser> parser =
      *MakeNdjsonParser(config, One(SqlType::kInteger));
  const ParsedText parsed = ParseWhole(
      *parser, "{\"x\":1,\"user\":{\"id\":\"u\"}}\n{\"user\":{},\"x\":2}\n");
  EXPECT_THAT(parsed.keys(), ElementsAre("u", "(none)"));
  EXPECT_THAT(parsed.rows, ElementsAre("int64 1", "int64 2"));
}

// Longer than what is indexed at once, and than what is indexed at all.
TEST(TypedRowsTest, LongLinesHaveRowsToo) {
  const Schema schema{{{.name = "x", .type = SqlType::kInteger},
                       {.name = "t", .type = SqlType::kVarchar}}};
  std::string text = "{\"x\":1}\n";
  for (const size_t size : {100'000u, 2'000'000u}) {
    absl::StrAppend(&text, "{\"t\":\"", std::string(size, 't'),
                    "\\n\",\"x\":", size, "}\n{\"x\":2}\n");
  }
  const ParsedText parsed = ParseWhole(*MakeParser(schema), text);
  ASSERT_THAT(parsed.rows, SizeIs(5));
  EXPECT_EQ(parsed.rows[1],
            "int64 100000 | string '" + std::string(100'000, 't') + "\\n'");
  EXPECT_EQ(parsed.rows[2], "int64 2 | null");
  EXPECT_EQ(parsed.rows[3],
            "int64 2000000 | string '" + std::string(2'000'000, 't') + "\\n'");
  EXPECT_EQ(parsed.rows[4], "int64 2 | null");
}

TEST(TypedRowsTest, AForkKnowsTheColumns) {
  const std::unique_ptr<Parser> parser = MakeParser(One(SqlType::kInteger));
  EXPECT_THAT(ParseWhole(*parser->Fork(), "{\"x\":1}\n").rows,
              ElementsAre("int64 1"));
}

}  // namespace
}  // namespace penstock::core
