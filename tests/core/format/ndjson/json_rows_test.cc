#include "core/format/ndjson/json_rows.h"

#include "core/format/ndjson/structural_walker.h"
#include "tests/core/format/random_lines.h"
#include "tests/core/format/row_text.h"
#include "tests/support/test_rng.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::HasSubstr;

// A row, or why there is none: "wrong_type a: ...".
std::string Outcome(RowReader& reader, bool good) {
  if (good) return RowText(reader.row());
  const ParseError error = reader.TakeError();
  return absl::StrCat(error.tag, " ", error.field.value_or("-"), ": ",
                      error.description);
}

// What both ways of reading make of a line; they must agree.
std::string Read(RowReader& reader, const std::string& line) {
  ValueArena arena;
  const std::string scanned =
      Outcome(reader, ReadScannedRow(reader, line, arena));
  // The line is not the first of its text, nor the last.
  const std::string text = "[0]\n" + line + "\n[1]\n";
  StructuralWalker walker;
  if (!walker.Index(text, text.size())) {
    ADD_FAILURE() << "no good line: " << line;
    return "";
  }
  walker.SkipTo(4);
  const bool has_escapes = line.find('\\') != std::string::npos;
  EXPECT_EQ(Outcome(reader, ReadIndexedRow(reader, text.data(), 4,
                                           walker.place(), has_escapes, arena)),
            scanned)
      << line;
  return scanned;
}

std::string Read(const Schema& schema, const std::string& line) {
  RowReader reader(schema);
  return Read(reader, line);
}

// One column "a".
std::string ReadOne(Column column, const std::string& json) {
  column.name = "a";
  return Read(Schema{{column}}, "{\"a\":" + json + "}");
}

Schema Orders() {
  return {{{.name = "id", .type = SqlType::kBigint, .nullable = false},
           {.name = "name", .type = SqlType::kVarchar},
           {.name = "price",
            .type = SqlType::kDecimal,
            .precision = 5,
            .scale = 2}}};
}

TEST(RowReaderTest, MembersGoToTheirColumns) {
  EXPECT_EQ(Read(Orders(), R"({"price":1.50,"id":7,"name":"pump"})"),
            "int64 7 | string 'pump' | decimal 1.50");
}

TEST(RowReaderTest, MissingIsNullAndNullIsNull) {
  EXPECT_EQ(Read(Orders(), R"({"id":7,"name":null})"), "int64 7 | null | null");
}

TEST(RowReaderTest, NullWhereNoneMayBeIsAnError) {
  EXPECT_EQ(Read(Orders(), R"({"id":null})"),
            "null_value id: column id (bigint): is null or missing, at byte 6 "
            "of the record");
  EXPECT_EQ(Read(Orders(), R"( {"name":"x"})"),
            "null_value id: column id (bigint): is null or missing, at byte 1 "
            "of the record");
}

TEST(RowReaderTest, UnknownMembersArePassedOver) {
  EXPECT_EQ(
      Read(Orders(), R"({"x":{"id":[1,{"id":2}]},"id":7,"y":[[],{}],"z":"}"})"),
      "int64 7 | null | null");
}

TEST(RowReaderTest, OfEqualNamesTheLastCounts) {
  RowReader reader(Orders());
  EXPECT_EQ(Read(reader, R"({"id":1,"id":2,"name":"a","name":null})"),
            "int64 2 | null | null");
  // Whatever stood before it.
  EXPECT_EQ(Read(reader, R"({"id":"x","price":"y","id":2,"price":3})"),
            "int64 2 | null | decimal 3");
  EXPECT_EQ(Read(reader, R"({"id":null,"id":2})"), "int64 2 | null | null");
  EXPECT_THAT(Read(reader, R"({"id":2,"id":"x"})"),
              HasSubstr("'x' is no number"));
  EXPECT_THAT(Read(reader, R"({"id":"x","id":"y"})"),
              HasSubstr("'y' is no number"));
}

TEST(RowReaderTest, OfManyErrorsTheFirstIsTold) {
  EXPECT_THAT(Read(Orders(), R"({"price":"p","id":"i"})"),
              HasSubstr("column price (decimal(5, 2)): 'p' is no number"));
}

TEST(RowReaderTest, ARecordThatIsNoObjectHasNoColumns) {
  for (const char* line : {"[1]", "7", "\"a\"", "null", "true"}) {
    EXPECT_EQ(Read(Orders(), line),
              "wrong_type -: the record is no object, so it has no columns, "
              "at byte 0 of the record");
  }
}

TEST(RowReaderTest, ALineAfterABadOneIsReadAsIfItWereTheFirst) {
  RowReader reader(Orders());
  EXPECT_THAT(Read(reader, R"({"id":1,"name":"x","price":1.234})"),
              HasSubstr("more decimals"));
  EXPECT_EQ(Read(reader, R"({"id":7})"), "int64 7 | null | null");
}

TEST(RowReaderTest, EscapedNamesAreFound) {
  EXPECT_EQ(Read(Orders(), R"({"\u0069d":7,"na\u006de":"x"})"),
            "int64 7 | string 'x' | null");
}

TEST(RowReaderTest, TextIsUnescapedOnce) {
  const Column text{.type = SqlType::kVarchar};
  EXPECT_EQ(ReadOne(text, R"("\\u002f")"), "string '\\\\u002f'");
  EXPECT_EQ(ReadOne(text, R"("\\")"), "string '\\\\'");
  EXPECT_EQ(ReadOne(text, R"("a\nb\u0000")"), "string 'a\\nb\\x00'");
  EXPECT_EQ(ReadOne(text, R"("\ud83d\ude80")"),
            "string '\\xf0\\x9f\\x9a\\x80'");
  EXPECT_EQ(ReadOne(text, "\"\xf0\x9f\x9a\x80\""),
            "string '\\xf0\\x9f\\x9a\\x80'");
}

TEST(RowReaderTest, EveryTypeTakesItsEscapedText) {
  EXPECT_EQ(ReadOne({.type = SqlType::kDate}, R"("1970\u002d01-02")"),
            "date 1");
  EXPECT_EQ(ReadOne({.type = SqlType::kBigint}, R"("\u0031")"), "int64 1");
}

struct ReadCase {
  std::string name;
  Column column;
  std::string json;
  // The beginning of what comes of it.
  std::string expected;
};

class ReadOneTest : public testing::TestWithParam<ReadCase> {};

TEST_P(ReadOneTest, IsReadOrRefused) {
  EXPECT_THAT(ReadOne(GetParam().column, GetParam().json),
              testing::StartsWith(GetParam().expected));
}

constexpr uint32_t kNine = 9;

INSTANTIATE_TEST_SUITE_P(
    Numbers, ReadOneTest,
    testing::Values(
        ReadCase{"Bigint",
                 {.type = SqlType::kBigint},
                 "9007199254740993",
                 "int64 9007199254740993"},
        ReadCase{"BigintAsText",
                 {.type = SqlType::kBigint},
                 "\"9007199254740993\"",
                 "int64 9007199254740993"},
        ReadCase{
            "WholeNumber", {.type = SqlType::kInteger}, "1.0e2", "int64 100"},
        ReadCase{"Fraction",
                 {.type = SqlType::kInteger},
                 "1.5",
                 "wrong_type a: column a (integer): '1.5' is no integer"},
        ReadCase{"BeyondBigint",
                 {.type = SqlType::kBigint},
                 "8100000000000000000000017",
                 "out_of_range a: column a (bigint): "
                 "'8100000000000000000000017' is beyond the range"},
        ReadCase{"BeyondBigintAsDecimal",
                 {.type = SqlType::kDecimal},
                 "8100000000000000000000017",
                 "decimal 8100000000000000000000017"},
        ReadCase{"BeyondBigintAsText",
                 {.type = SqlType::kVarchar},
                 "8100000000000000000000017",
                 "string '8100000000000000000000017'"},
        ReadCase{"TrueIsNoNumber",
                 {.type = SqlType::kBigint},
                 "true",
                 "wrong_type a: column a (bigint): 'true' is no number"},
        ReadCase{"Unsigned",
                 {.type = SqlType::kBigintUnsigned},
                 "18446744073709551615",
                 "uint64 18446744073709551615"},
        ReadCase{"Double",
                 {.type = SqlType::kDouble},
                 "0.1",
                 "double 0.10000000000000001"},
        ReadCase{"DoubleBeyond",
                 {.type = SqlType::kDouble},
                 std::string(400, '9'),
                 "out_of_range a: "},
        ReadCase{
            "NanAsText", {.type = SqlType::kDouble}, "\"NaN\"", "double nan"},
        ReadCase{"Real",
                 {.type = SqlType::kReal},
                 "0.1",
                 "double 0.10000000149011612"},
        ReadCase{"Decimal",
                 {.type = SqlType::kDecimal},
                 "-1.500e3",
                 "decimal -1.500e3"},
        ReadCase{"ObjectAsNumber",
                 {.type = SqlType::kDouble},
                 "{\"x\":1}",
                 "wrong_type a: column a (double): '{\"x\":1}' is no single "
                 "value"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Others, ReadOneTest,
    testing::Values(
        ReadCase{"Boolean", {.type = SqlType::kBoolean}, "true", "bool true"},
        ReadCase{"BooleanAsText",
                 {.type = SqlType::kBoolean},
                 "\"false\"",
                 "bool false"},
        ReadCase{"OneIsNotTrue",
                 {.type = SqlType::kBoolean},
                 "1",
                 "wrong_type a: column a (boolean): '1' is neither"},
        ReadCase{
            "TrueAsText", {.type = SqlType::kVarchar}, "true", "string 'true'"},
        ReadCase{"ArrayAsText",
                 {.type = SqlType::kVarchar},
                 "[1]",
                 "wrong_type a: column a (varchar): '[1]' is no single value"},
        ReadCase{"TooLong",
                 {.type = SqlType::kVarchar, .precision = 2},
                 "\"abc\"",
                 "out_of_range a: column a (varchar(2)): 'abc' is "
                 "longer"},
        ReadCase{"Binary",
                 {.type = SqlType::kVarbinary},
                 R"("\\x00ff")",
                 "binary '\\x00\\xff'"},
        // Both would be base64.
        ReadCase{"NumberIsNoBinary",
                 {.type = SqlType::kVarbinary},
                 "1234",
                 "wrong_type a: column a (varbinary): '1234' is no text"},
        ReadCase{"TrueIsNoBinary",
                 {.type = SqlType::kVarbinary},
                 "true",
                 "wrong_type a: "},
        ReadCase{"Date",
                 {.type = SqlType::kDate},
                 "\"0044-03-15 BC\"",
                 "date -735160"},
        ReadCase{"NumberIsNoTimestamp",
                 {.type = SqlType::kTimestamptz, .precision = kNine},
                 "1769817600",
                 "wrong_type a: column a (timestamptz(9)): '1769817600' is no "
                 "text"},
        ReadCase{"Timestamptz",
                 {.type = SqlType::kTimestamptz, .precision = kNine},
                 "\"1970-01-01T00:00:00.000001002Z\"",
                 "timestamptz 1 +2"},
        ReadCase{"Time",
                 {.type = SqlType::kTime, .precision = kNine},
                 "\"00:00:01\"",
                 "time 1000000000"},
        ReadCase{"NumberIsNoUuid",
                 {.type = SqlType::kUuid},
                 "12345678901234567890123456789012",
                 "wrong_type a: "},
        ReadCase{"Uuid",
                 {.type = SqlType::kUuid},
                 "\"00112233-4455-6677-8899-aabbccddeeff\"",
                 "uuid 00112233445566778899aabbccddeeff"},
        ReadCase{"Null", {.type = SqlType::kUuid}, "null", "null"}),
    [](const auto& test) { return test.param.name; });

Column Variant() { return {.type = SqlType::kVariant}; }
Column ArrayOf(Column element) {
  element.name = "element";
  return {.type = SqlType::kArray, .children = {element}};
}
Column MapOf(Column key, Column value) {
  key.name = "key";
  key.nullable = false;
  value.name = "value";
  return {.type = SqlType::kMap, .children = {key, value}};
}
Column StructOf(std::vector<Column> fields) {
  return {.type = SqlType::kStruct, .children = std::move(fields)};
}
const Column kBigint{.type = SqlType::kBigint};
const Column kRequired{.type = SqlType::kBigint, .nullable = false};

INSTANTIATE_TEST_SUITE_P(
    Nested, ReadOneTest,
    testing::Values(
        ReadCase{"VariantKeepsEveryByte", Variant(),
                 R"({ "b" : [ 1.0, "\u0061" ] , "b":{}  })",
                 R"(variant '{ \"b\" : [ 1.0, \"\\u0061\" ] , \"b\":{}  }')"},
        ReadCase{"VariantOfANumber", Variant(), "1e2", "variant '1e2'"},
        ReadCase{"VariantOfAString", Variant(), R"("x\"")",
                 R"(variant '\"x\\\"\"')"},
        ReadCase{"VariantNull", Variant(), "null", "null"},
        ReadCase{"EmptyArray", ArrayOf(kBigint), "[ ]", "array []"},
        ReadCase{"Array", ArrayOf(kBigint), "[1, null ,\"3\"]",
                 "array [int64 1, null, int64 3]"},
        ReadCase{"ArrayOfArrays", ArrayOf(ArrayOf(kBigint)), "[[1],[],[2,3]]",
                 "array [array [int64 1], array [], array [int64 2, int64 3]]"},
        ReadCase{"NullInAnArray", ArrayOf(kRequired), "[1,null]",
                 "null_value a[1]: column a[1] (bigint): is null or missing"},
        ReadCase{"BadElement", ArrayOf(ArrayOf(kBigint)), "[[1],[2,[3]],[4]]",
                 "wrong_type a[1][1]: column a[1][1] (bigint): '[3]' is no "
                 "single value"},
        ReadCase{"NoArray", ArrayOf(kBigint), "{\"0\":1}",
                 "wrong_type a: column a (array(bigint)): '{\"0\":1}' is no "
                 "array"},
        ReadCase{"EmptyMap", MapOf(kBigint, kBigint), "{}", "map {}"},
        ReadCase{"Map", MapOf({.type = SqlType::kVarchar}, kBigint),
                 R"({"x":1,"\u0079":null})",
                 "map {string 'x': int64 1, string 'y': null}"},
        ReadCase{"MapWithTypedKeys", MapOf({.type = SqlType::kDate}, kBigint),
                 R"({"1970-01-02":1})", "map {date 1: int64 1}"},
        ReadCase{"LastOfEqualKeysCounts", MapOf(kBigint, kBigint),
                 R"({"1":1,"2":2,"01":3,"1":4,"3":5})",
                 "map {int64 2: int64 2, int64 1: int64 4, int64 3: int64 5}"},
        ReadCase{"BadKey", MapOf(kBigint, kBigint), R"({"1":1,"x":2})",
                 "wrong_type a.key: column a.key (bigint): 'x' is no number"},
        ReadCase{"BadValueInAMap", MapOf(kBigint, kBigint), R"({"7":"x"})",
                 "wrong_type a.7: column a.7 (bigint): 'x' is no number"},
        ReadCase{"NoMap", MapOf(kBigint, kBigint), "[]",
                 "wrong_type a: column a (map(bigint, bigint)): '[]' is no "
                 "object"},
        ReadCase{"Struct",
                 StructOf({{.name = "x", .type = SqlType::kBigint},
                           {.name = "y", .type = SqlType::kDate}}),
                 R"({"y":"1970-01-01","z":0,"x":1,"x":2})",
                 "struct (int64 2, date 0)"},
        ReadCase{"MissingInAStruct",
                 StructOf({{.name = "x",
                            .type = SqlType::kBigint,
                            .nullable = false}}),
                 "{}", "null_value a.x: column a.x (bigint): is null"},
        ReadCase{"NoStruct",
                 StructOf({{.name = "x", .type = SqlType::kBigint}}), "7",
                 "wrong_type a: column a (struct(1)): '7' is no object"},
        ReadCase{
            "Deep",
            ArrayOf(StructOf({{.name = "m",
                               .type = SqlType::kMap,
                               .children = {{.name = "key", .nullable = false},
                                            {.name = "value",
                                             .type = SqlType::kDate}}}})),
            R"([{"m":{"k":"1970-01-02"}},{"m":{"l":"x"}}])",
            "wrong_type a[1].m.l: column a[1].m.l (date): 'x' is no "
            "date"}),
    [](const auto& test) { return test.param.name; });

TEST(RowReaderTest, AMapOfManyKeysKeepsTheLastOfEach) {
  std::string json = "{";
  for (int i = 0; i < 1'000; ++i) {
    absl::StrAppend(&json, i == 0 ? "" : ",", "\"k", i % 300, "\":", i);
  }
  json += "}";
  std::string expected = "map {";
  for (int i = 700; i < 1'000; ++i) {
    absl::StrAppend(&expected, i == 700 ? "" : ", ", "string 'k", i % 300,
                    "': int64 ", i);
  }
  EXPECT_EQ(ReadOne(MapOf({.type = SqlType::kVarchar}, kBigint), json),
            expected + "}");
}

TEST(RowReaderTest, DeepUnknownMembersArePassedOver) {
  const std::string deep = std::string(250, '[') + "1" + std::string(250, ']');
  EXPECT_EQ(Read(Orders(), "{\"x\":" + deep + ",\"id\":1}"),
            "int64 1 | null | null");
}

// Names that RandomJson gives its members, as variants: each is what stands
// there, so that all text is where it should be.
TEST(RowReaderTest, RandomLinesAreReadTheSameBothWays) {
  const Schema schema{{{.name = "a", .type = SqlType::kVariant},
                       {.name = "b", .type = SqlType::kVarchar},
                       {.name = "k", .type = SqlType::kDouble}}};
  RowReader reader(schema);
  Random random = TestRandom();
  for (int round = 0; round < 2'000; ++round) {
    Read(reader, RandomJson(random, 4));
  }
}

}  // namespace
}  // namespace penstock::core
