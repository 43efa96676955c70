#include "core/format/infer/infer.h"

#include "core/base/error.h"
#include "core/format/csv/csv_encoder.h"
#include "core/format/csv/csv_format.h"
#include "core/format/json/json_format.h"
#include "core/format/msgpack/msgpack_encoder.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "tests/core/format/parse_text.h"
#include "tests/core/format/parsed_rows.h"
#include "tests/core/format/random_rows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using namespace std::string_literals;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// "a tinyint, b varchar?": `?` where null may be.
std::string ColumnsText(const std::vector<Column>& columns) {
  return absl::StrJoin(columns, ", ", [](std::string* to, const Column& of) {
    absl::StrAppend(to, of.name, " ", ColumnTypeText(of),
                    of.nullable ? "?" : "");
    if (of.type == SqlType::kStruct) {
      absl::StrAppend(to, "(", ColumnsText(of.children), ")");
    }
  });
}

InferredInput Infer(absl::string_view text, const InferOptions& options = {}) {
  const absl::StatusOr<InferredInput> input = InferInput(text, options);
  EXPECT_OK(input.status());
  return input.ok() ? *input : InferredInput();
}

std::unique_ptr<Parser> ParserOf(const InferredInput& input) {
  if (input.format == "csv") return *MakeCsvParser(input.csv, input.schema);
  if (input.format == "json") {
    return *MakeJsonParser(JsonConfig(), input.schema);
  }
  if (input.format == "msgpack") {
    return *MakeMsgpackParser(MsgpackConfig(), input.schema);
  }
  return *MakeNdjsonParser(NdjsonConfig(), input.schema);
}

struct GoldenCase {
  std::string name;
  std::string text;
  // Format, then columns.
  std::string expected;

  friend std::ostream& operator<<(std::ostream& out, const GoldenCase& of) {
    return out << of.name;
  }
};

class InferGoldenTest : public testing::TestWithParam<GoldenCase> {};

TEST_P(InferGoldenTest, IsGuessed) {
  const InferredInput input = Infer(GetParam().text);
  EXPECT_EQ(absl::StrCat(input.format, ": ", ColumnsText(input.schema.columns)),
            GetParam().expected)
      << absl::StrJoin(input.notes, "\n");
  EXPECT_EQ(input.bad, 0u);
  if (input.schema.IsEmpty()) return;
  const ParsedText parsed = ParseWhole(*ParserOf(input), GetParam().text);
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_EQ(parsed.record_count, input.records);
}

// Of one column "a" in CSV with an "id" before it.
GoldenCase CsvOf(std::string name, const std::vector<std::string>& values,
                 const std::string& expected) {
  std::string text = "id,a\n";
  for (const std::string& value : values)
    absl::StrAppend(&text, "1,", value, "\n");
  return {std::move(name), text, absl::StrCat("csv: id tinyint, a ", expected)};
}

GoldenCase JsonOf(std::string name, const std::vector<std::string>& values,
                  const std::string& expected) {
  std::string text;
  for (const std::string& value : values) {
    absl::StrAppend(&text, R"({"id":1,"a":)", value, "}\n");
  }
  return {std::move(name), text,
          absl::StrCat("ndjson: id tinyint, a ", expected)};
}

INSTANTIATE_TEST_SUITE_P(
    Fields, InferGoldenTest,
    testing::Values(
        CsvOf("ZerosInFrontAreText", {"007", "12"}, "varchar"),
        CsvOf("APlusIsText", {"+1", "2"}, "varchar"),
        CsvOf("LeastTinyint", {"-128", "127"}, "tinyint"),
        CsvOf("BeyondTinyint", {"128", "0"}, "smallint"),
        CsvOf("BeyondSmallint", {"-32769", "0"}, "integer"),
        CsvOf("BeyondInteger", {"2147483648", "0"}, "bigint"),
        CsvOf("GreatestBigint", {"9223372036854775807"}, "bigint"),
        CsvOf("BeyondBigint", {"9223372036854775808", "-5"}, "decimal(19, 0)"),
        CsvOf("APointThatADoubleKeeps", {"0.5", "3"}, "double"),
        CsvOf("ZerosAtTheEndAreDecimals", {"1.50", "3"}, "decimal(3, 2)"),
        CsvOf("MoreDigitsThanADouble", {"0.12345678901234567890"},
              "decimal(21, 20)"),
        CsvOf("BigAndAPoint", {"9007199254740993", "0.5"}, "decimal(17, 1)"),
        CsvOf("AnExponentMayBeACode", {"1E5", "2"}, "varchar"),
        CsvOf("WhatADoublePrints", {"1e-07", "1e+20"}, "double"),
        CsvOf("SpecialsBesideNumbers", {"NaN", "-Infinity", "0.5"}, "double"),
        CsvOf("SpecialsAloneAreText", {"NaN", "NaN"}, "varchar"),
        CsvOf("Booleans", {"true", "FALSE"}, "boolean"),
        CsvOf("BooleansAndNumbers", {"true", "1"}, "varchar"),
        CsvOf("Dates", {"2026-01-31", "infinity"}, "date"),
        CsvOf("DatesAndTimestamps", {"2026-01-31", "2026-01-31 10:00:00"},
              "varchar"),
        CsvOf("NoSuchDay", {"2026-02-30"}, "varchar"),
        CsvOf("Times", {"23:59:59.5"}, "time(6)"),
        CsvOf("HoursAndMinutesMayBeMinutes", {"23:59"}, "varchar"),
        CsvOf("FineTimestamps", {"2026-01-31T10:00:00.123456789"},
              "timestamp(9)"),
        CsvOf("Moments", {"2026-01-31T10:00:00+02", "2026-01-31 10:00:00Z"},
              "timestamptz(6)"),
        CsvOf("Uuids", {"00112233-4455-6677-8899-aabbccddeeff"}, "uuid"),
        CsvOf("UuidsWithoutHyphens", {"00112233445566778899aabbccddeeff"},
              "varchar"),
        CsvOf("UuidsThatWouldPrintOtherwise",
              {"00112233-4455-6677-8899-AABBCCDDEEFF"}, "varchar"),
        CsvOf("BytesThatWouldPrintOtherwise", {"\\xDEADBEEF"}, "varchar"),
        CsvOf("Bytes", {"\\x00ff", "\\x"}, "varbinary"),
        CsvOf("NoBytes", {"\\x"}, "varchar"),
        CsvOf("Base64IsText", {"AAEC"}, "varchar"),
        CsvOf("EmptyIsNull", {"", "5"}, "tinyint?"),
        CsvOf("EmptyTextIsNot", {"\"\"", "5"}, "varchar"),
        CsvOf("AToken", {"\\N", "5"}, "tinyint?")),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Objects, InferGoldenTest,
    testing::Values(
        JsonOf("TextOfDigitsIsText", {R"("5")", R"("6")"}, "varchar"),
        JsonOf("NumbersAndText", {"5", R"("5")"}, "variant"),
        JsonOf("BooleansAndNull", {"true", "null"}, "boolean?"),
        JsonOf("OneIsWrittenSo", {"1.0", "2.5"}, "double"),
        JsonOf("JsonExponents", {"1e5", "2E-3"}, "double"),
        JsonOf("MinusZero", {"-0", "1"}, "double"),
        JsonOf("JsonBeyondBigint", {"9223372036854775808"}, "decimal(19, 0)"),
        JsonOf("Escapes", {R"("\u0032026-01-31")"}, "date"),
        JsonOf("Arrays", {"[1,null]", "[300]", "[]"}, "array(smallint)"),
        JsonOf("EmptyArrays", {"[]"}, "variant"),
        JsonOf("ArraysAndNumbers", {"[1]", "1"}, "variant"),
        JsonOf("Structs", {R"({"x":1,"y":"t"})", R"({"x":2.5})"},
               "struct(2)(x double, y varchar?)"),
        JsonOf("NumbersAreNoNames", {R"({"1":true,"20":null})"},
               "map(varchar, boolean)"),
        JsonOf("EmptyNamesAreNone", {R"({"":1,"b":2})"},
               "map(varchar, tinyint)"),
        JsonOf("EmptyObjects", {"{}"}, "variant"),
        JsonOf("OnlyNulls", {"null"}, "variant?"),
        GoldenCase{"OfEqualNamesEachCounts", R"({"a":1,"a":null})",
                   "ndjson: a tinyint?"},
        GoldenCase{"Missing", "{\"a\":1}\n{\"b\":2}\n",
                   "ndjson: a tinyint?, b tinyint?"},
        GoldenCase{"OverLines", "{\n \"a\":\n1}\n{\"a\":2}", "json: a tinyint"},
        GoldenCase{"AnArray", R"([{"a":1},{"a":2}])", "json: a tinyint"},
        GoldenCase{"AMark", "\xef\xbb\xbf{\"a\":1}\n", "ndjson: a tinyint"},
        GoldenCase{"NoObjects", "[1,2]\n[3]\n", "raw: "},
        GoldenCase{"Plain", "hello\nworld\n", "raw: "},
        GoldenCase{"Packed",
                   "\x82\xa1"
                   "a\xca\x3f\x80\x00\x00\xa1"
                   "b\xc4\x01z"s,
                   "msgpack: a real, b varbinary"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Dialects, InferGoldenTest,
    testing::Values(
        GoldenCase{"Tabs", "id\tat\n1\tx, y\n2\tz, w\n",
                   "csv: id tinyint, at varchar"},
        GoldenCase{"Semicolons", "id;n\n1;1,5\n2;2,5\n",
                   "csv: id tinyint, n varchar"},
        GoldenCase{"Pipes", "1|a\n2|b\n", "csv: c1 tinyint, c2 varchar"},
        GoldenCase{"NoHeader", "1,ann\n2,bob\n", "csv: c1 tinyint, c2 varchar"},
        GoldenCase{"AllText", "name,city\nann,paris\n",
                   "csv: name varchar, city varchar"},
        GoldenCase{"AllTextThatIsNoName", "x y,z\na b,c\n",
                   "csv: c1 varchar, c2 varchar"},
        GoldenCase{"QuotedLines", "id,t\n1,\"a\nb,\"\"c\"\"\"\n",
                   "csv: id tinyint, t varchar"},
        GoldenCase{"Backslashes", "id,t\n1,\"a\\\"b\"\n2,\"c\\\"\"\n",
                   "csv: id tinyint, t varchar"},
        GoldenCase{"BareQuotes", "id,t\n1,5\" disk\n2,3\" disk\n",
                   "csv: id tinyint, t varchar"},
        GoldenCase{"Comments", "# made, by, hand\nid,t\n1,a\n# more\n2,b\n",
                   "csv: id tinyint, t varchar"},
        GoldenCase{"BlanksBeforeQuotes", "id, t\n1, \"a, b\"\n2, \"c\"\n",
                   "csv: id tinyint, t varchar"},
        GoldenCase{"CrLf", "id,t\r\n1,a\r\n", "csv: id tinyint, t varchar"}),
    [](const auto& test) { return test.param.name; });

TEST(InferTest, AWidenedColumnSaysWhy) {
  const InferredInput input = Infer("id,zip\n1,12345\n2,12345\n3,007\n");
  EXPECT_THAT(input.notes,
              ElementsAre(AllOf(HasSubstr("zip: varchar"),
                                HasSubstr("2 integers ('12345' in record 1)"),
                                HasSubstr("1 text ('007' in record 3)"))));
}

TEST(InferTest, OfAPartNothingIsSure) {
  InferOptions options;
  options.is_whole = false;
  const InferredInput input = Infer("id,n,d\n1,5,1.50\n2,6,2.50\n3,", options);
  EXPECT_EQ(ColumnsText(input.schema.columns),
            "id bigint?, n bigint?, d decimal?");
  EXPECT_EQ(input.records, 2u);
  EXPECT_FALSE(input.is_whole);
}

TEST(InferTest, MoreRecordsThanAreLookedAtAreAPart) {
  InferOptions options;
  options.records_max = 1;
  EXPECT_FALSE(Infer("id,n\n1,2\n3,4\n", options).is_whole);
}

TEST(InferTest, BadRecordsAreCountedAndSayNothing) {
  std::string text = "id,n\n";
  for (int i = 0; i < 20; ++i) absl::StrAppend(&text, "1,2\n");
  const InferredInput input = Infer(text + "x\n1,\xff\n");
  EXPECT_EQ(input.bad, 2u);
  EXPECT_EQ(ColumnsText(input.schema.columns), "id tinyint, n tinyint");
}

TEST(InferTest, FieldsWithoutANameOfTheirOwnAreLeftOut) {
  const InferredInput input = Infer("a,b,b,\n1,2,3,4\n");
  EXPECT_EQ(ColumnsText(input.schema.columns), "a tinyint");
  EXPECT_THAT(input.notes, SizeIs(3));
}

TEST(InferTest, WhatNoTypeTakesIsLeftOut) {
  // {a: 1, b: an extension}, {a: 2, b: 3}.
  const InferredInput input = Infer(
      "\x82\xa1"
      "a\x01\xa1"
      "b\xd4\x05z\x82\xa1"
      "a\x02\xa1"
      "b\x03");
  EXPECT_EQ(ColumnsText(input.schema.columns), "a tinyint");
  EXPECT_THAT(input.notes, Contains(HasSubstr("b: left out")));
}

TEST(InferTest, MembersBeyondThePlacesLookedAtAreTold) {
  std::string inner = "{";
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&inner, i == 0 ? "" : ",", "\"n", i, "\":1");
  }
  inner += "}";
  std::string text = "{\"a\":{";
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", "\"m", i, "\":", inner);
  }
  const InferredInput input = Infer(text + "},\"b\":1}\n");
  ASSERT_THAT(input.schema.columns, SizeIs(1));
  EXPECT_THAT(input.notes, Contains(HasSubstr("1 members were left out")));
}

TEST(InferTest, MembersOfARecordWhoseNamesAreNoTextAreTold) {
  // {a: 1, 7: 2}.
  InferOptions options;
  options.format = "msgpack";
  const InferredInput input = Infer(
      "\x82\xa1"
      "a\x01\x07\x02",
      options);
  EXPECT_EQ(ColumnsText(input.schema.columns), "a tinyint");
  EXPECT_THAT(input.notes, Contains(HasSubstr("1 members were left out")));
}

TEST(InferTest, TheNameAndTheCallerSayTheFormat) {
  InferOptions options;
  options.name = "dir/words.csv.gz";
  EXPECT_EQ(Infer("a\nb\n", options).format, "csv");
  options.format = "raw";
  EXPECT_EQ(Infer("a\nb\n", options).format, "raw");
}

TEST(InferTest, WhatItIsToldItDoesNotGuess) {
  InferOptions options;
  options.delimiter = ',';
  options.header = false;
  EXPECT_EQ(ColumnsText(Infer("a;b,c\n1;2,3\n", options).schema.columns),
            "c1 varchar, c2 varchar");
}

TEST(InferTest, NothingAndUtf16AreRefused) {
  EXPECT_THAT(InferInput("", {}).status(), HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(InferInput("\xff\xfe"
                         "a",
                         {})
                  .status(),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(InferTest, MembersWithoutEndBecomeAMapAndNoMore) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    absl::StrAppend(&text, R"({"m":{"user)", i, R"(":{"n":)", i, "}}}\n");
  }
  const InferredInput input = Infer(text);
  ASSERT_THAT(input.schema.columns, SizeIs(1));
  EXPECT_EQ(ColumnTypeText(input.schema.columns[0]), "map(varchar, struct(1))");
}

TEST(InferTest, ARecordOfManyMembersHasNoMoreColumnsThanASchema) {
  std::string text = "{\"a\":1";
  for (int i = 0; i < 2'000; ++i) absl::StrAppend(&text, ",\"b", i, "\":[{}]");
  const InferredInput input = Infer(text + "}\n");
  // One, 499 of two each, and one of which the inside has no place.
  EXPECT_THAT(input.schema.columns, SizeIs(501));
  EXPECT_THAT(ParseWhole(*ParserOf(input), text + "}\n").errors, IsEmpty());
}

TEST(InferTest, WhatIsDeeperThanASchemaIsKeptAsItStands) {
  const std::string text = absl::StrCat(R"({"a":)", std::string(40, '['),
                                        std::string(40, ']'), "}\n");
  const InferredInput input = Infer(text);
  EXPECT_THAT(ColumnsText(input.schema.columns),
              HasSubstr("array(array(variant))"));
  EXPECT_THAT(ParseWhole(*ParserOf(input), text).errors, IsEmpty());
}

void ExpectEachRecordFits(const std::string& text, const char* format,
                          size_t rows) {
  InferOptions options;
  options.format = format;
  const InferredInput input = Infer(text, options);
  EXPECT_EQ(input.bad, 0u) << text;
  if (input.schema.IsEmpty()) return;
  const ParsedText parsed = ParseWhole(*ParserOf(input), text);
  ASSERT_THAT(parsed.errors, IsEmpty()) << text << "\n"
                                        << ColumnsText(input.schema.columns);
  EXPECT_EQ(parsed.record_count, rows - (input.csv.header ? 1 : 0));
}

TEST(InferPropertyTest, WhatIsInferredOfRowsTakesThem) {
  Random random = TestRandom();
  for (int run = 0; run < PropertyRuns(150); ++run) {
    const Schema schema = RandomSchema(random, 5, 3);
    MsgpackEncoder packer(schema, FrameKind::kConcatenated);
    FrameBuffer packed;
    std::string lines;
    ValueArena arena;
    const size_t rows = 1 + random.Uniform(12);
    for (size_t i = 0; i < rows; ++i) {
      const std::vector<Value> row = RandomRow(random, schema, arena);
      ASSERT_OK(packer.Encode(Record{.row = row}, packed));
      absl::StrAppend(&lines, RowJson(schema, row), "\n");
    }
    ExpectEachRecordFits(std::string(packed.view()), "msgpack", rows);
    ExpectEachRecordFits(lines, "ndjson", rows);
    ExpectEachRecordFits(lines, "json", rows);
  }
}

TEST(InferPropertyTest, WhatIsInferredOfFieldsTakesThem) {
  Random random = TestRandom();
  for (int run = 0; run < PropertyRuns(150); ++run) {
    const Schema schema = RandomSchema(random, 5, 0);
    CsvConfig config;
    config.keep_blank_lines = true;
    CsvEncoder encoder(config, schema.columns.size());
    FrameBuffer frame;
    ValueArena arena;
    const size_t rows = 1 + random.Uniform(12);
    for (size_t i = 0; i < rows; ++i) {
      const std::vector<Value> row = RandomRow(random, schema, arena);
      ASSERT_OK(encoder.Encode(Record{.value = "", .row = row}, frame));
    }
    // Of one column blank lines are passed over.
    if (schema.columns.size() == 1) continue;
    ExpectEachRecordFits(std::string(frame.view()), "csv", rows);
  }
}

}  // namespace
}  // namespace penstock::core
