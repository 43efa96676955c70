#include "core/format/clickhouse/clickhouse_encoder.h"

#include "core/format/csv/csv_format.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/record/block.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::HasSubstr;

std::vector<ClickHouseType> Types(const std::vector<std::string>& names) {
  std::vector<ClickHouseType> types;
  for (const std::string& name : names) {
    auto type = ParseClickHouseType(name);
    EXPECT_OK(type.status());
    types.push_back(*std::move(type));
  }
  return types;
}

std::unique_ptr<RowEncoder> Make(ClickHouseLayout layout, const Schema& schema,
                                 const std::vector<std::string>& types = {}) {
  auto encoder = MakeClickHouseEncoder(layout, schema, Types(types));
  EXPECT_OK(encoder.status());
  return *std::move(encoder);
}

std::string Hex(absl::string_view bytes) {
  return absl::BytesToHexString(bytes);
}

// The bytes of rows that must all be taken.
std::string Encode(RowEncoder& encoder,
                   const std::vector<std::vector<Value>>& rows) {
  FrameBuffer out;
  for (const std::vector<Value>& row : rows) {
    EXPECT_OK(encoder.Encode(Record{.row = row}, out));
  }
  if (encoder.AsColumnar() != nullptr) {
    const size_t held = encoder.AsColumnar()->BufferedBytes();
    EXPECT_OK(encoder.AsColumnar()->FinishChunk(out));
    EXPECT_LE(out.size(), held);
    EXPECT_EQ(encoder.AsColumnar()->BufferedBytes(), 0u);
  }
  return std::string(out.view());
}

struct SingleCase {
  std::string name;
  Column column;
  // Of the table; empty: the column's own.
  std::string type;
  Value value;
  std::string hex;

  friend std::ostream& operator<<(std::ostream& out, const SingleCase& one) {
    return out << one.name;
  }
};

class ClickHouseValueTest : public testing::TestWithParam<SingleCase> {};

TEST_P(ClickHouseValueTest, HasTheBytesThatClickHouseReads) {
  Column column = GetParam().column;
  column.name = "c";
  column.nullable = false;
  std::vector<std::string> types;
  if (!GetParam().type.empty()) types = {GetParam().type};
  EXPECT_EQ(Hex(Encode(*Make(ClickHouseLayout::kRowBinary, {{column}}, types),
                       {{GetParam().value}})),
            GetParam().hex);
}

const std::string& Uuid() {
  static const std::string& uuid = *new std::string(
      absl::HexStringToBytes("00112233445566778899aabbccddeeff"));
  return uuid;
}

const std::string& LongText() {
  static const std::string& text = *new std::string(130, '-');
  return text;
}

Column Decimal(uint32_t precision, int32_t scale) {
  return {.type = SqlType::kDecimal, .precision = precision, .scale = scale};
}

INSTANTIATE_TEST_SUITE_P(
    All, ClickHouseValueTest,
    testing::Values(
        SingleCase{
            "Bool", {.type = SqlType::kBoolean}, "", Value::Bool(true), "01"},
        SingleCase{
            "Int8", {.type = SqlType::kTinyint}, "", Value::Int64(-2), "fe"},
        SingleCase{"Int32",
                   {.type = SqlType::kInteger},
                   "",
                   Value::Int64(0x01020304),
                   "04030201"},
        SingleCase{"UInt64",
                   {.type = SqlType::kBigintUnsigned},
                   "",
                   Value::Uint64(UINT64_MAX),
                   "ffffffffffffffff"},
        SingleCase{"Float32",
                   {.type = SqlType::kReal},
                   "",
                   Value::Double(1.5),
                   "0000c03f"},
        SingleCase{"Float64",
                   {.type = SqlType::kDouble},
                   "",
                   Value::Double(-2),
                   "00000000000000c0"},
        SingleCase{"Decimal32", Decimal(9, 2), "", Value::Decimal("-1.5"),
                   "6affffff"},
        SingleCase{"Decimal64", Decimal(18, 3), "", Value::Decimal("0.012e1"),
                   "7800000000000000"},
        SingleCase{"Decimal64OfAnExponent", Decimal(18, 3), "",
                   Value::Decimal("1.5e2"), "f049020000000000"},
        SingleCase{"Decimal64BelowOne", Decimal(18, 5), "",
                   Value::Decimal("0.00120"), "7800000000000000"},
        SingleCase{"Decimal128", Decimal(38, 0), "",
                   Value::Decimal("18446744073709551616"),
                   "00000000000000000100000000000000"},
        SingleCase{"Decimal256", Decimal(76, 0), "", Value::Decimal("-1"),
                   std::string(64, 'f')},
        SingleCase{"DecimalOfAnInteger",
                   {.type = SqlType::kInteger},
                   "Decimal(9, 1)",
                   Value::Int64(7),
                   "46000000"},
        SingleCase{"DecimalAsText",
                   {.type = SqlType::kDecimal},
                   "",
                   Value::Decimal("1.50"),
                   "04312e3530"},
        SingleCase{"Text", {}, "", Value::String("h\xc3\xa9"), "0368c3a9"},
        SingleCase{"LongText",
                   {},
                   "",
                   Value::String(LongText()),
                   "8201" + Hex(LongText())},
        SingleCase{"Binary",
                   {.type = SqlType::kVarbinary},
                   "",
                   Value::Binary(absl::string_view("\0\xff", 2)),
                   "0200ff"},
        SingleCase{"Date32",
                   {.type = SqlType::kDate},
                   "",
                   Value::Date(-1),
                   "ffffffff"},
        SingleCase{"Date",
                   {.type = SqlType::kDate},
                   "Date",
                   Value::Date(65'535),
                   "ffff"},
        SingleCase{"Time",
                   {.type = SqlType::kTime},
                   "",
                   Value::Time(3'600'000'000'000),
                   "0830313a30303a3030"},
        SingleCase{"DateTime",
                   {.type = SqlType::kTimestamptz},
                   "DateTime",
                   Value::Timestamptz(2'000'000),
                   "02000000"},
        SingleCase{"DateTime64",
                   {.type = SqlType::kTimestamp, .precision = 6},
                   "",
                   Value::Timestamp(-1),
                   "ffffffffffffffff"},
        SingleCase{"DateTime64OfNanoseconds",
                   {.type = SqlType::kTimestamptz, .precision = 9},
                   "",
                   Value::Timestamptz(1, 2),
                   "ea03000000000000"},
        SingleCase{"DateTime64OfMilliseconds",
                   {.type = SqlType::kTimestamptz},
                   "DateTime64(3, 'UTC')",
                   Value::Timestamptz(-1'500'000),
                   "24faffffffffffff"},
        SingleCase{"Uuid",
                   {.type = SqlType::kUuid},
                   "",
                   Value::Uuid(Uuid()),
                   "7766554433221100ffeeddccbbaa9988"},
        SingleCase{"Variant",
                   {.type = SqlType::kVariant},
                   "",
                   Value::Variant("[1]"),
                   "035b315d"}),
    [](const testing::TestParamInfo<SingleCase>& test) {
      return test.param.name;
    });

// Columns of every shape.
Schema Shapes() {
  return {{{.name = "n", .type = SqlType::kSmallint},
           {.name = "t", .nullable = false},
           {.name = "a",
            .type = SqlType::kArray,
            .nullable = false,
            .children = {{.name = "element", .type = SqlType::kTinyint}}},
           {.name = "m",
            .type = SqlType::kMap,
            .nullable = false,
            .children = {{.name = "key"},
                         {.name = "value",
                          .type = SqlType::kTinyint,
                          .nullable = false}}},
           {.name = "s",
            .type = SqlType::kStruct,
            .nullable = false,
            .children = {
                {.name = "x", .type = SqlType::kTinyint, .nullable = false},
                {.name = "y"}}}}};
}

struct Rows {
  std::vector<Value> elements = {Value::Int64(1), Value()};
  std::vector<Value> pairs = {Value::String("k"), Value::Int64(2)};
  std::vector<Value> fields = {Value::Int64(3), Value::String("z")};
  std::vector<std::vector<Value>> rows = {
      {Value::Int64(258), Value::String("ab"), Value::Array(elements),
       Value::Map(pairs), Value::Struct(fields)},
      {Value(), Value::String(""), Value::Array({}), Value::Map({}),
       Value::Struct(fields)}};
};

TEST(ClickHouseEncoderTest, RowBinaryHasRowAfterRow) {
  EXPECT_EQ(
      Hex(Encode(*Make(ClickHouseLayout::kRowBinary, Shapes()), Rows().rows)),
      // A value that may be null has a byte before it, 1 for null.
      "000201"
      "026162"
      "02000101"
      "01016b02"
      "0300017a"
      // The second row.
      "01"
      "00"
      "00"
      "00"
      "0300017a");
}

TEST(ClickHouseEncoderTest, NativeHasColumnAfterColumn) {
  const auto text = [](absl::string_view of) {
    return absl::StrCat(absl::string_view("\0", of.empty() ? 1 : 0),
                        std::string(1, static_cast<char>(of.size())), of);
  };
  const std::string expected = absl::StrCat(
      "\x05\x02", text("n"), text("Nullable(Int16)"),
      absl::HexStringToBytes("0001"
                             "02010000"),
      text("t"), text("String"), absl::HexStringToBytes("02616200"), text("a"),
      text("Array(Nullable(Int8))"),
      absl::HexStringToBytes("02000000000000000200000000000000"
                             "0001"
                             "0100"),
      text("m"), text("Map(String, Int8)"),
      absl::HexStringToBytes("01000000000000000100000000000000"
                             "016b"
                             "02"),
      text("s"), text("Tuple(Int8, Nullable(String))"),
      absl::HexStringToBytes("0303"
                             "0000"
                             "017a017a"));
  EXPECT_EQ(
      Hex(Encode(*Make(ClickHouseLayout::kNative, Shapes()), Rows().rows)),
      Hex(expected));
}

TEST(ClickHouseEncoderTest, ARefusedRowLeavesNothingBehind) {
  const Rows rows;
  const std::unique_ptr<RowEncoder> encoder =
      Make(ClickHouseLayout::kNative, Shapes());
  FrameBuffer out;
  ASSERT_OK(encoder->Encode(Record{.row = rows.rows[0]}, out));
  const size_t held = encoder->AsColumnar()->BufferedBytes();
  const std::vector<Value> too_large = {Value::Int64(3), Value::Int64(1'000)};
  std::vector<Value> bad = rows.rows[0];
  bad[2] = Value::Array(too_large);
  EXPECT_THAT(
      encoder->Encode(Record{.row = bad}, out),
      StatusIs(absl::StatusCode::kInvalidArgument, HasReason("ROW_REFUSED")));
  EXPECT_EQ(encoder->AsColumnar()->BufferedBytes(), held);
  ASSERT_OK(encoder->Encode(Record{.row = rows.rows[1]}, out));
  ASSERT_OK(encoder->AsColumnar()->FinishChunk(out));
  EXPECT_EQ(Hex(out.view()),
            Hex(Encode(*Make(ClickHouseLayout::kNative, Shapes()), rows.rows)));
}

TEST(ClickHouseEncoderTest, AnEmptyChunkIsNoBlock) {
  EXPECT_EQ(Encode(*Make(ClickHouseLayout::kNative, Shapes()), {}), "");
}

struct RefusedCase {
  std::string name;
  std::string type;
  Column column;
  Value value;

  friend std::ostream& operator<<(std::ostream& out, const RefusedCase& one) {
    return out << one.name;
  }
};

class ClickHouseRefusalTest : public testing::TestWithParam<RefusedCase> {};

TEST_P(ClickHouseRefusalTest, SaysWhatDoesNotFit) {
  Column column = GetParam().column;
  column.name = "c";
  const auto encoder =
      Make(ClickHouseLayout::kRowBinary, {{column}}, {GetParam().type});
  FrameBuffer out;
  const std::vector<Value> row = {GetParam().value};
  const absl::Status status = encoder->Encode(Record{.row = row}, out);
  EXPECT_THAT(status, HasReason("ROW_REFUSED"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().type));
}

INSTANTIATE_TEST_SUITE_P(
    All, ClickHouseRefusalTest,
    testing::Values(
        RefusedCase{"Null", "Int8", {.type = SqlType::kTinyint}, Value()},
        RefusedCase{
            "TooLarge", "Int8", {.type = SqlType::kInteger}, Value::Int64(128)},
        RefusedCase{
            "Negative", "UInt8", {.type = SqlType::kInteger}, Value::Int64(-1)},
        RefusedCase{"TooManyDecimals",
                    "Decimal(9, 2)",
                    {.type = SqlType::kDecimal},
                    Value::Decimal("1.005")},
        RefusedCase{"TooManyDigits",
                    "Decimal(3, 2)",
                    {.type = SqlType::kDecimal},
                    Value::Decimal("10")},
        RefusedCase{"NoNumber",
                    "Decimal(3, 2)",
                    {.type = SqlType::kDecimal},
                    Value::Decimal("NaN")},
        RefusedCase{"TooFine",
                    "DateTime64(3)",
                    {.type = SqlType::kTimestamp},
                    Value::Timestamp(1)},
        RefusedCase{"NoWholeSecond",
                    "DateTime",
                    {.type = SqlType::kTimestamp},
                    Value::Timestamp(1'500'000)},
        RefusedCase{
            "TooEarly", "Date", {.type = SqlType::kDate}, Value::Date(-1)},
        RefusedCase{"Infinity",
                    "Date32",
                    {.type = SqlType::kDate},
                    Value::Date(Value::kInfinity)},
        RefusedCase{"NoFloat",
                    "Float32",
                    {.type = SqlType::kDouble},
                    Value::Double(0.1)},
        RefusedCase{"OtherKind",
                    "Int8",
                    {.type = SqlType::kTinyint},
                    Value::String("1")}),
    [](const testing::TestParamInfo<RefusedCase>& test) {
      return test.param.name;
    });

TEST(ClickHouseTypeTest, ColumnsHaveTypesThatKeepEveryValue) {
  std::vector<std::string> names;
  for (const Column& column : Shapes().columns) {
    names.push_back(ClickHouseTypeOf(column)->name);
  }
  EXPECT_THAT(names, testing::ElementsAre(
                         "Nullable(Int16)", "String", "Array(Nullable(Int8))",
                         "Map(String, Int8)", "Tuple(Int8, Nullable(String))"));
  EXPECT_EQ(ClickHouseTypeOf(
                {.name = "c", .type = SqlType::kTimestamptz, .precision = 6})
                ->name,
            "Nullable(DateTime64(6, 'UTC'))");
}

TEST(ClickHouseTypeTest, UnknownTypesAreRefused) {
  for (const char* name :
       {"", "Int", "Nullable", "Nullable(Array(Int8))", "Array(", "Map(String)",
        "Decimal(77, 0)", "Decimal(3, 4)", "DateTime64(10)", "Array()",
        "LowCardinality(String)"}) {
    EXPECT_THAT(ParseClickHouseType(name).status(), HasReason("INVALID_CONFIG"))
        << name;
  }
  EXPECT_EQ(
      ParseClickHouseType("Tuple(a Int8, b Array(String))")->children.size(),
      2u);
}

TEST(ClickHouseTypeTest, AColumnThatDoesNotFitItsTypeIsRefused) {
  EXPECT_THAT(MakeClickHouseEncoder(ClickHouseLayout::kNative,
                                    {{{.name = "c", .type = SqlType::kDouble}}},
                                    Types({"Int8"}))
                  .status(),
              HasReason("INVALID_CONFIG"));
}

// Whichever format a row came in, the same bytes leave.
std::string ThroughParser(Parser& parser, absl::string_view text,
                          ClickHouseLayout layout, const Schema& schema) {
  auto block = std::make_shared<Block>(text.size() + 64);
  std::memcpy(block->data(), text.data(), text.size());
  const ParseResult result =
      parser.Parse({.block = std::move(block),
                    .size = static_cast<uint32_t>(text.size()),
                    .is_last = true});
  EXPECT_TRUE(result.errors.empty());
  const std::unique_ptr<RowEncoder> encoder = Make(layout, schema);
  FrameBuffer out;
  for (size_t i = 0; i < result.batch.record_count(); ++i) {
    EXPECT_OK(encoder->Encode(result.batch.At(i), out));
  }
  if (encoder->AsColumnar() != nullptr) {
    EXPECT_OK(encoder->AsColumnar()->FinishChunk(out));
  }
  EXPECT_LE(out.size(), encoder->EstimateBytes(result.batch.size().records,
                                               result.batch.size().bytes));
  return std::string(out.view());
}

class ClickHouseSourcesTest : public testing::TestWithParam<ClickHouseLayout> {
};

TEST_P(ClickHouseSourcesTest, EveryFormatGivesTheSameRows) {
  const Schema schema = {
      {{.name = "id", .type = SqlType::kBigint, .nullable = false},
       {.name = "price", .type = SqlType::kDecimal, .precision = 9, .scale = 2},
       {.name = "at", .type = SqlType::kTimestamptz, .precision = 6},
       {.name = "note"}}};
  const std::string ndjson = ThroughParser(
      **MakeNdjsonParser(NdjsonConfig{}, schema),
      "{\"id\":1,\"price\":\"12.5\",\"at\":\"2026-01-31T23:59:59.5Z\","
      "\"note\":\"x\"}\n{\"id\":2}\n",
      GetParam(), schema);
  EXPECT_FALSE(ndjson.empty());
  EXPECT_EQ(Hex(ThroughParser(**MakeCsvParser(CsvConfig{}, schema),
                              "1,12.5,2026-01-31T23:59:59.5Z,x\n2,,,\n",
                              GetParam(), schema)),
            Hex(ndjson));
  EXPECT_EQ(
      Hex(ThroughParser(**MakeMsgpackParser(MsgpackConfig{}, schema),
                        "\x84\xa2id\x01\xa5price\xa4"
                        "12.5\xa2"
                        "at\xb6"
                        "2026-01-31T23:59:59.5Z\xa4note\xa1x\x81\xa2id\x02",
                        GetParam(), schema)),
      Hex(ndjson));
}

INSTANTIATE_TEST_SUITE_P(
    All, ClickHouseSourcesTest,
    testing::Values(ClickHouseLayout::kRowBinary, ClickHouseLayout::kNative),
    [](const testing::TestParamInfo<ClickHouseLayout>& test) {
      return test.param == ClickHouseLayout::kNative ? "Native" : "RowBinary";
    });

}  // namespace
}  // namespace penstock::core
