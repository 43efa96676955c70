#include "core/format/avro/avro_format.h"

#include "core/format/avro/avro_cursor.h"
#include "core/format/avro/avro_value.h"
#include "core/format/raw/config.h"
#include "tests/core/format/avro/avro_bytes.h"
#include "tests/core/format/parse_text.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<Parser> MakeParser(const std::string& schema,
                                   std::vector<Column> columns,
                                   EnvelopeConfig envelope = {},
                                   std::optional<std::string> key = {}) {
  AvroConfig config;
  config.schema = schema;
  config.envelope = std::move(envelope);
  config.key = std::move(key);
  return *MakeAvroParser(config, {std::move(columns)}, nullptr);
}

ParsedText Parse(const std::string& schema, std::vector<Column> columns,
                 const std::string& datum) {
  return ParseWhole(*MakeParser(schema, std::move(columns)), datum);
}

// The one field of a record, "v".
std::string RecordOf(const std::string& type) {
  return absl::StrCat(
      R"({"type":"record","name":"r","fields":[{"name":"v","type":)", type,
      "}]}");
}

// The example of the specification.
TEST(AvroParserTest, ReadsTheSpecificationsRecord) {
  const std::string schema =
      R"({"type":"record","name":"test","fields":[)"
      R"({"name":"a","type":"long"},{"name":"b","type":"string"}]})";
  const std::string datum =
      "\x36\x06"
      "foo";
  EXPECT_EQ(AvroBytes().Long(27).Text("foo").text(), datum);
  // By name: missing columns are null, other fields are passed over.
  const ParsedText parsed =
      Parse(schema, {{.name = "b"}, {.name = "c"}}, datum);
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_THAT(parsed.rows, ElementsAre("string 'foo' | null"));
  EXPECT_THAT(parsed.values(), ElementsAre(datum));
}

struct ValueCase {
  std::string name;
  std::string type;
  AvroBytes bytes;
  Column column;
  std::string row;

  friend std::ostream& operator<<(std::ostream& out, const ValueCase& one) {
    return out << one.name;
  }
};

class AvroValueTest : public testing::TestWithParam<ValueCase> {};

TEST_P(AvroValueTest, IsThatOfTheColumn) {
  const ParsedText parsed = Parse(RecordOf(GetParam().type),
                                  {GetParam().column}, GetParam().bytes.text());
  if (parsed.errors.empty()) {
    EXPECT_THAT(parsed.rows, ElementsAre(GetParam().row));
  } else {
    EXPECT_EQ(parsed.errors[0].tag, GetParam().row)
        << parsed.errors[0].description;
  }
}

Column Of(SqlType type, uint32_t precision = 0) {
  return {.name = "v", .type = type, .precision = precision};
}

INSTANTIATE_TEST_SUITE_P(
    Single, AvroValueTest,
    testing::Values(
        ValueCase{"Boolean", R"("boolean")", AvroBytes().Boolean(true),
                  Of(SqlType::kBoolean), "bool true"},
        ValueCase{"IntToBigint", R"("int")", AvroBytes().Long(-3),
                  Of(SqlType::kBigint), "int64 -3"},
        ValueCase{"LongToDouble", R"("long")", AvroBytes().Long(1 << 20),
                  Of(SqlType::kDouble), "double 1048576"},
        ValueCase{"LongToDecimal", R"("long")", AvroBytes().Long(INT64_MIN),
                  Of(SqlType::kDecimal), "decimal -9223372036854775808"},
        ValueCase{"LongIsTooLarge", R"("long")", AvroBytes().Long(40'000),
                  Of(SqlType::kSmallint), "out_of_range"},
        ValueCase{"FloatToDouble", R"("float")", AvroBytes().Float(0.5F),
                  Of(SqlType::kDouble), "double 0.5"},
        ValueCase{"FloatToText", R"("float")", AvroBytes().Float(0.1F),
                  Of(SqlType::kVarchar), "string '0.1'"},
        ValueCase{"DoubleToDecimal", R"("double")", AvroBytes().Float(2.25),
                  Of(SqlType::kDecimal), "decimal 2.25"},
        ValueCase{"StringToBytes", R"("string")", AvroBytes().Text("ab"),
                  Of(SqlType::kVarbinary), "binary 'ab'"},
        ValueCase{"BytesToText", R"("bytes")", AvroBytes().Text("ab"),
                  Of(SqlType::kVarchar), "string 'ab'"},
        ValueCase{"BytesAreNoText", R"("bytes")", AvroBytes().Text("\xff"),
                  Of(SqlType::kVarchar), "wrong_type"},
        ValueCase{"StringIsNoUtf8", R"("string")", AvroBytes().Text("\xff"),
                  Of(SqlType::kVarchar), "wrong_type"},
        ValueCase{"Enum", R"({"type":"enum","name":"e","symbols":["A","B"]})",
                  AvroBytes().Long(1), Of(SqlType::kVarchar), "string 'B'"},
        ValueCase{"Fixed", R"({"type":"fixed","name":"f","size":3})",
                  AvroBytes().Raw("xyz"), Of(SqlType::kVarbinary),
                  "binary 'xyz'"},
        ValueCase{"NullOfAUnion", R"(["null","long"])", AvroBytes().Long(0),
                  Of(SqlType::kBigint), "null"},
        ValueCase{"LongOfAUnion", R"(["null","long"])",
                  AvroBytes().Long(1).Long(9), Of(SqlType::kBigint),
                  "int64 9"}),
    [](const auto& test) { return test.param.name; });

std::string Logical(const std::string& type, const std::string& logical) {
  return absl::StrCat(R"({"type":")", type, R"(","logicalType":")", logical,
                      R"("})");
}

INSTANTIATE_TEST_SUITE_P(
    Logical, AvroValueTest,
    testing::Values(
        ValueCase{"Date", Logical("int", "date"), AvroBytes().Long(-1),
                  Of(SqlType::kDate), "date -1"},
        ValueCase{"DateAsText", Logical("int", "date"), AvroBytes().Long(0),
                  Of(SqlType::kVarchar), "string '1970-01-01'"},
        ValueCase{"DateAsNumber", Logical("int", "date"), AvroBytes().Long(5),
                  Of(SqlType::kInteger), "int64 5"},
        ValueCase{"TimeMillis", Logical("int", "time-millis"),
                  AvroBytes().Long(1), Of(SqlType::kTime, 6), "time 1000000"},
        ValueCase{"TimeBeyondADay", Logical("long", "time-micros"),
                  AvroBytes().Long(86'400'000'001), Of(SqlType::kTime, 6),
                  "out_of_range"},
        ValueCase{"TimestampMicros", Logical("long", "timestamp-micros"),
                  AvroBytes().Long(-1), Of(SqlType::kTimestamptz, 6),
                  "timestamptz -1"},
        ValueCase{"MomentWithoutItsZone", Logical("long", "timestamp-millis"),
                  AvroBytes().Long(2), Of(SqlType::kTimestamp, 6),
                  "timestamp 2000"},
        ValueCase{"MomentIsTooFine", Logical("long", "timestamp-micros"),
                  AvroBytes().Long(1), Of(SqlType::kTimestamptz, 3),
                  "out_of_range"},
        ValueCase{"LocalHasNoZone", Logical("long", "local-timestamp-micros"),
                  AvroBytes().Long(1), Of(SqlType::kTimestamptz, 6),
                  "wrong_type"},
        ValueCase{"NanosAreKept", Logical("long", "timestamp-nanos"),
                  AvroBytes().Long(-1), Of(SqlType::kTimestamptz, 9),
                  "timestamptz -1 +999"},
        ValueCase{"DebeziumsTimestamp",
                  R"({"type":"long","connect.name":)"
                  R"("io.debezium.time.MicroTimestamp"})",
                  AvroBytes().Long(7), Of(SqlType::kTimestamp, 6),
                  "timestamp 7"},
        ValueCase{"Decimal",
                  R"({"type":"bytes","logicalType":"decimal","precision":9,)"
                  R"("scale":2})",
                  AvroBytes().Text("\xff\x38"), Of(SqlType::kDecimal),
                  "decimal -2.00"},
        ValueCase{"Uuid", R"({"type":"string","logicalType":"uuid"})",
                  AvroBytes().Text("00112233-4455-6677-8899-aabbccddeeff"),
                  Of(SqlType::kUuid), "uuid 00112233445566778899aabbccddeeff"},
        ValueCase{"AnUnknownOneIsNone", Logical("long", "no-such"),
                  AvroBytes().Long(4), Of(SqlType::kBigint), "int64 4"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Nested, AvroValueTest,
    testing::Values(
        // Two blocks, the second with its size in bytes.
        ValueCase{
            "Array",
            R"({"type":"array","items":"long"})",
            AvroBytes().Long(2).Long(1).Long(2).Long(-1).Long(1).Long(3).Long(
                0),
            {.name = "v",
             .type = SqlType::kArray,
             .children = {{.name = "element", .type = SqlType::kBigint}}},
            "array [int64 1, int64 2, int64 3]"},
        ValueCase{"Map",
                  R"({"type":"map","values":"boolean"})",
                  AvroBytes().Long(1).Text("7").Boolean(true).Long(0),
                  {.name = "v",
                   .type = SqlType::kMap,
                   .children = {{.name = "key",
                                 .type = SqlType::kInteger,
                                 .nullable = false},
                                {.name = "value", .type = SqlType::kBoolean}}},
                  "map {int64 7: bool true}"},
        ValueCase{
            "Struct",
            R"({"type":"record","name":"s","fields":[)"
            R"({"name":"x","type":"long"},{"name":"y","type":"string"}]})",
            AvroBytes().Long(5).Text("q"),
            {.name = "v",
             .type = SqlType::kStruct,
             .children = {{.name = "y"},
                          {.name = "x", .type = SqlType::kBigint}}},
            "struct (string 'q', int64 5)"},
        ValueCase{"RecordAsMap",
                  R"({"type":"record","name":"s","fields":[)"
                  R"({"name":"x","type":"long"}]})",
                  AvroBytes().Long(5),
                  {.name = "v",
                   .type = SqlType::kMap,
                   .children = {{.name = "key", .nullable = false},
                                {.name = "value", .type = SqlType::kBigint}}},
                  "map {string 'x': int64 5}"},
        ValueCase{"Variant",
                  R"({"type":"record","name":"s","fields":[)"
                  R"({"name":"x","type":["null","long"]},)"
                  R"({"name":"y","type":{"type":"array","items":"string"}},)"
                  R"({"name":"z","type":{"type":"map","values":)"
                  R"({"type":"int","logicalType":"date"}}}]})",
                  AvroBytes()
                      .Long(0)
                      .Long(1)
                      .Text("\"")
                      .Long(0)
                      .Long(1)
                      .Text("k")
                      .Long(0)
                      .Long(0),
                  Of(SqlType::kVariant),
                  R"(variant '{\"x\":null,\"y\":[\"\\\"\"],)"
                  R"(\"z\":{\"k\":\"1970-01-01\"}}')"},
        ValueCase{"VariantOfBytes", R"("bytes")", AvroBytes().Text("a"),
                  Of(SqlType::kVariant), "wrong_type"},
        ValueCase{"RecordIsNoNumber",
                  R"({"type":"record","name":"s","fields":[)"
                  R"({"name":"x","type":"long"}]})",
                  AvroBytes().Long(1), Of(SqlType::kBigint), "wrong_type"}),
    [](const auto& test) { return test.param.name; });

TEST(AvroDecimalTest, EveryDigitIsKept) {
  const auto print = [](absl::string_view bytes, uint32_t scale) {
    std::string text;
    return PrintAvroDecimal(bytes, scale, text) ? text : "(none)";
  };
  EXPECT_EQ(print("", 0), "0");
  EXPECT_EQ(print("", 3), "0.000");
  EXPECT_EQ(print("\x7f", 0), "127");
  EXPECT_EQ(print("\x80", 1), "-12.8");
  EXPECT_EQ(print("\xff", 4), "-0.0001");
  // 2^128 - 1, and -2^127.
  EXPECT_EQ(print(std::string(1, '\0') + std::string(16, '\xff'), 10),
            "34028236692093846346337460743.1768211455");
  EXPECT_EQ(print("\x80" + std::string(15, '\0'), 0),
            "-170141183460469231731687303715884105728");
  EXPECT_EQ(print(std::string(513, '\1'), 0), "(none)");
}

struct BadCase {
  std::string name;
  std::string schema;
  std::string datum;
  std::string tag;
  std::string description;

  friend std::ostream& operator<<(std::ostream& out, const BadCase& one) {
    return out << one.name;
  }
};

class BadAvroTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadAvroTest, IsABadRecordThatSaysWhere) {
  const ParsedText parsed =
      Parse(GetParam().schema, {{.name = "v"}}, GetParam().datum);
  ASSERT_THAT(parsed.tags(), ElementsAre(GetParam().tag));
  EXPECT_EQ(parsed.errors[0].description, GetParam().description);
  EXPECT_THAT(parsed.records, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadAvroTest,
    testing::Values(
        BadCase{"CutOff", RecordOf(R"("long")"), "\x80", "syntax",
                "the record ends inside of a value, at byte 0 of the record"},
        BadCase{"NumberTooLong", RecordOf(R"("long")"),
                std::string(10, '\xff') + "\1", "syntax",
                "a number has more bits than its type, at byte 0 of the "
                "record"},
        BadCase{"IntTooLarge", RecordOf(R"("int")"),
                AvroBytes().Long(int64_t{1} << 31).text(), "syntax",
                "a number has more bits than its type, at byte 0 of the "
                "record"},
        BadCase{"LengthTooLarge", RecordOf(R"("string")"),
                AvroBytes().Long(INT64_MAX).text(), "syntax",
                "a length is beyond what there is, at byte 0 of the record"},
        BadCase{"LengthNegative", RecordOf(R"("bytes")"),
                AvroBytes().Long(-1).text(), "syntax",
                "a length is beyond what there is, at byte 0 of the record"},
        BadCase{"Boolean", RecordOf(R"("boolean")"), "\2", "syntax",
                "a boolean is neither 0 nor 1, at byte 0 of the record"},
        BadCase{"Branch", RecordOf(R"(["null","long"])"),
                AvroBytes().Long(2).text(), "syntax",
                "a union has no such branch, at byte 0 of the record"},
        BadCase{"Symbol",
                RecordOf(R"({"type":"enum","name":"e","symbols":["A"]})"),
                AvroBytes().Long(1).text(), "syntax",
                "an enum has no such symbol, at byte 0 of the record"},
        BadCase{"TrailingData", RecordOf(R"("null")"), "x", "trailing_data",
                "the datum ends before the record does, at byte 0 of the "
                "record"},
        // Nothing, as often as may be.
        BadCase{"ManyNothings", RecordOf(R"({"type":"array","items":"null"})"),
                AvroBytes().Long(INT64_MAX).text(), "syntax",
                "more values than so many bytes can need, at byte 10 of the "
                "record"},
        BadCase{
            "MoreNothingsThanARowHasPlaceFor",
            RecordOf(R"({"type":"array","items":"null"})"),
            AvroBytes().Long(AvroCursor::kNothingsMax).Long(1).Long(0).text(),
            "syntax",
            "more values than so many bytes can need, at byte 3 of the "
            "record"},
        BadCase{"EndlessList",
                R"({"type":"record","name":"n","fields":[)"
                R"({"name":"next","type":["null","n"]}]})",
                std::string(1000, '\2'), "too_deep",
                "too many levels of records, arrays and maps, at byte 64 of "
                "the record"},
        BadCase{"NoRecord", R"("long")", AvroBytes().Long(1).text(),
                "wrong_type",
                "the record is no object, so it has no columns, at byte 0 of "
                "the record"}),
    [](const auto& test) { return test.param.name; });

TEST(AvroSchemaTest, ALogicalTypeOfAReferenceIsThatOfTheReferenceOnly) {
  const std::string schema =
      R"({"type":"record","name":"r","fields":[)"
      R"({"name":"a","type":{"type":"fixed","name":"f","size":1}},)"
      R"({"name":"b","type":{"type":"f","logicalType":"decimal","scale":1}},)"
      R"({"name":"c","type":"f"}]})";
  const ParsedText parsed = Parse(schema,
                                  {{.name = "a", .type = SqlType::kVarchar},
                                   {.name = "b", .type = SqlType::kVarchar},
                                   {.name = "c", .type = SqlType::kVarchar}},
                                  "!!!");
  EXPECT_THAT(parsed.rows,
              ElementsAre("string '!' | string '3.3' | string '!'"));
}

// Debezium's changes, by its own names of types.
TEST(AvroChangesTest, ADebeziumEnvelopeIsTakenApart) {
  const std::string row =
      R"({"type":"record","name":"Value","fields":[)"
      R"({"name":"id","type":"long"},{"name":"name","type":["null","string"],)"
      R"("default":null}]})";
  const std::string schema = absl::StrCat(
      R"({"type":"record","name":"Envelope","namespace":"s.t","fields":[)"
      R"({"name":"before","type":["null",)",
      row,
      R"(]},{"name":"after","type":["null","Value"]},{"name":"op",)"
      R"("type":"string"},{"name":"ts_ms","type":["null","long"]}]})");
  const std::unique_ptr<Parser> parser =
      MakeParser(schema,
                 {{.name = "id", .type = SqlType::kBigint, .nullable = false},
                  {.name = "name"},
                  {.name = "_op"},
                  {.name = "_at", .type = SqlType::kTimestamptz},
                  {.name = "_was", .type = SqlType::kVariant}},
                 {.kind = EnvelopeKind::kDebezium,
                  .op = "_op",
                  .timestamp = "_at",
                  .before = "_was"},
                 "id");
  const std::string update = AvroBytes()
                                 .Long(1)
                                 .Long(7)
                                 .Long(0)
                                 .Long(1)
                                 .Long(7)
                                 .Long(1)
                                 .Text("b")
                                 .Text("u")
                                 .Long(1)
                                 .Long(5)
                                 .text();
  const ParsedText parsed = ParseWhole(*parser, update);
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_THAT(parsed.rows,
              ElementsAre("int64 7 | string 'b' | string 'u' | timestamptz "
                          "5000 | variant '{\\\"id\\\":7,\\\"name\\\":null}'"));
  EXPECT_THAT(parsed.keys(), ElementsAre("7"));
  EXPECT_EQ(parsed.records[0].op, Op::kUpdate);
  EXPECT_THAT(parsed.values(), ElementsAre(update));
  const ParsedText deleted = ParseWhole(
      *parser,
      AvroBytes().Long(1).Long(7).Long(0).Long(0).Text("d").Long(0).text());
  EXPECT_EQ(deleted.records[0].op, Op::kDelete);
  const ParsedText bad =
      ParseWhole(*parser, AvroBytes().Long(0).Long(0).Text("d").Long(0).text());
  EXPECT_THAT(bad.tags(), ElementsAre("bin_envelope_err"));
}

TEST(AvroSchemaTest, NamesAreFoundInTheirNamespace) {
  EXPECT_OK(AvroSchema::Parse("string").status());
  EXPECT_OK(AvroSchema::Parse(R"("long")").status());
  EXPECT_OK(AvroSchema::Parse(
                R"({"type":"record","name":"a.b.R","fields":[)"
                R"({"name":"f","type":{"type":"fixed","name":"F","size":1}},)"
                R"({"name":"g","type":"F"},{"name":"h","type":"a.b.F"}]})")
                .status());
  const std::vector<std::string> bad = {
      "{",
      "[]",
      R"({"name":"x"})",
      R"("unknown")",
      R"(["null",["null"]])",
      R"({"type":"record","name":"r"})",
      R"({"type":"record","fields":[]})",
      R"({"type":"fixed","name":"f","size":-1})",
      R"({"type":"array"})",
      R"([{"type":"fixed","name":"f","size":1},)"
      R"({"type":"fixed","name":"f","size":1}])"};
  for (const std::string& schema : bad) {
    EXPECT_THAT(AvroSchema::Parse(schema).status(),
                HasReason(Reason::INVALID_CONFIG))
        << schema;
  }
  std::string deep = R"("long")";
  for (int i = 0; i < 100; ++i) {
    deep = absl::StrCat(R"({"type":"array","items":)", deep, "}");
  }
  EXPECT_THAT(AvroSchema::Parse(deep).status().message(),
              HasSubstr("more than 64 levels"));
}

TEST(AvroConfigTest, OneOfSchemaAndRegistryAndColumns) {
  AvroConfig config;
  EXPECT_THAT(CheckAvroConfig(config).message(),
              HasSubstr("one of schema and registry"));
  config.schema = "{";
  EXPECT_THAT(CheckAvroConfig(config).message(),
              HasSubstr("format.avro.schema"));
  config.schema = "string";
  EXPECT_OK(CheckAvroConfig(config));
  EXPECT_THAT(MakeAvroParser(config, {}, nullptr).status().message(),
              HasSubstr("no columns"));
  EXPECT_THAT(MakeAvroParser(RawConfig(), {}, nullptr).status(),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(AvroConfigTest, ARegistryIsCheckedBeforeItIsAsked) {
  const auto problem = [](SchemaRegistryConfig registry) {
    AvroConfig config;
    config.registry = std::move(registry);
    return std::string(CheckAvroConfig(config).message());
  };
  EXPECT_EQ(problem({.url = "http://registry:8081"}), "");
  EXPECT_EQ(
      problem(
          {.url = "https://r/path", .username = "u", .password = "${env:P}"}),
      "");
  EXPECT_EQ(problem({.url = "http://[::1]:8081", .bearer_token = "${env:T}"}),
            "");
  EXPECT_THAT(problem({.url = "registry:8081"}), HasSubstr("registry.url"));
  EXPECT_THAT(problem({.url = "http://u:p@r"}), HasSubstr("registry.url"));
  EXPECT_THAT(problem({.url = "http://"}), HasSubstr("registry.url"));
  EXPECT_THAT(problem({.url = "http://r:80811"}), HasSubstr("registry.url"));
  EXPECT_THAT(problem({.url = "http://r:/x"}), HasSubstr("registry.url"));
  EXPECT_THAT(problem({.url = "http://[::1]8081"}), HasSubstr("registry.url"));
  EXPECT_THAT(problem({.url = "https://r", .username = "u"}),
              HasSubstr("both or none"));
  EXPECT_THAT(problem({.url = "https://r",
                       .username = "u",
                       .password = "${env:P}",
                       .bearer_token = "${env:T}"}),
              HasSubstr("one of them"));
  EXPECT_THAT(problem({.url = "http://r", .bearer_token = "${env:T}"}),
              HasSubstr("use https"));
  const std::string plain =
      problem({.url = "https://r", .bearer_token = "hush"});
  EXPECT_THAT(plain, HasSubstr("plain text"));
  EXPECT_THAT(plain, testing::Not(HasSubstr("hush")));
}

TEST(AvroEncoderTest, RowsAreLinesOfJson) {
  const Schema schema = {
      {{.name = "a\"", .type = SqlType::kBigint},
       {.name = "b", .type = SqlType::kVarbinary},
       {.name = "c", .type = SqlType::kDouble},
       {.name = "d", .type = SqlType::kTimestamptz},
       {.name = "e",
        .type = SqlType::kMap,
        .children = {{.name = "key", .type = SqlType::kInteger},
                     {.name = "value",
                      .type = SqlType::kArray,
                      .children = {{.name = "element",
                                    .type = SqlType::kDecimal}}}}},
       {.name = "f",
        .type = SqlType::kStruct,
        .children = {{.name = "g", .type = SqlType::kVariant}}}}};
  const std::vector<Value> decimals = {Value::Decimal("1.50"),
                                       Value::Decimal("NaN"), Value()};
  const std::vector<Value> map = {Value::Int64(1), Value::Array(decimals)};
  const std::vector<Value> fields = {Value::Variant("[1]")};
  const std::vector<Value> row = {
      Value::Int64(-5),      Value::Binary("\x01"), Value::Double(1.0 / 0.0),
      Value::Timestamptz(1), Value::Map(map),       Value::Struct(fields)};
  AvroConfig config;
  config.schema = "string";
  const std::unique_ptr<RowEncoder> encoder =
      *MakeAvroEncoder(config, FrameKind::kConcatenated, schema);
  FrameBuffer out;
  ASSERT_OK(encoder->Encode(Record{.row = row}, out));
  EXPECT_EQ(out.view(),
            R"({"a\"":-5,"b":"\\x01","c":"Infinity",)"
            R"("d":"1970-01-01 00:00:00.000001Z","e":{"1":[1.50,"NaN",null]},)"
            R"("f":{"g":[1]}})"
            "\n");
}

}  // namespace
}  // namespace penstock::core
