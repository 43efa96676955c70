// Every type, there and back, in both forms of COPY.
#include "tests/core/sinks/postgres/postgres_fixture.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct TypeCase {
  std::string name;
  // Of the column.
  std::string type;
  Column declared;
  Value value;
  // As the server prints it.
  std::string printed;
};
std::ostream& operator<<(std::ostream& out, const TypeCase& test) {
  return out << test.name;
}

Column Of(SqlType type) { return {.name = "c", .type = type}; }
Column ArrayOf(SqlType type) {
  return {.name = "c",
          .type = SqlType::kArray,
          .children = {{.name = "element", .type = type}}};
}

class PostgresTypeTest : public PostgresSinkTest,
                         public testing::WithParamInterface<TypeCase> {
 protected:
  void SetUp() override {
    PostgresSinkTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Run("CREATE TYPE mood AS ENUM ('sad', 'happy');"
        "CREATE DOMAIN cents AS numeric(10,2) CHECK (VALUE >= 0);"
        "CREATE DOMAIN prices AS cents[]");
  }
};

TEST_P(PostgresTypeTest, IsExactInBinary) {
  Run(absl::StrCat("CREATE TABLE t (c ", GetParam().type, ")"));
  const auto writer = Start(Schema{{GetParam().declared}});
  ASSERT_OK(writer->Write({0, 1}, {{{GetParam().value}}, {{Value::Null()}}}));
  EXPECT_THAT(Query("SELECT c::text FROM t"),
              ElementsAre(GetParam().printed, "(null)"));
}

// A column of a type whose binary form is not known makes the row text.
TEST_P(PostgresTypeTest, IsExactInText) {
  Run(absl::StrCat("CREATE TABLE t (c ", GetParam().type, ", host inet)"));
  Column host = Of(SqlType::kVarchar);
  host.name = "host";
  const auto writer = Start(Schema{{GetParam().declared, host}});
  ASSERT_OK(
      writer->Write({0, 1}, {{{GetParam().value, Value::String("10.0.0.1")}},
                             {{Value::Null(), Value::String("::1/64")}}}));
  EXPECT_THAT(Query("SELECT c::text, host FROM t"),
              ElementsAre(absl::StrCat(GetParam().printed, "|10.0.0.1"),
                          "(null)|::1/64"));
}

constexpr std::array kInts = {Value::Int64(1), Value::Null(), Value::Int64(-3)};
const std::array kTexts = {Value::String("a \"b\""), Value::String("NULL"),
                           Value::String("\\{,}"), Value::Null()};
const std::array kDecimals = {Value::Decimal("1.5"), Value::Decimal("20.00")};
constexpr std::array kLeft = {Value::Int64(1), Value::Int64(2)};
constexpr std::array kRight = {Value::Int64(3), Value::Int64(4)};
const std::array kBox = {Value::Array(kLeft), Value::Array(kRight)};
const Column kBoxColumn = {.name = "c",
                           .type = SqlType::kArray,
                           .children = {ArrayOf(SqlType::kInteger)}};
const std::string kLatin =
    "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xC3\xA9</a>";
constexpr int64_t kDayMicros = 86'400'000'000;
Column Named(Column column, std::string name) {
  column.name = std::move(name);
  return column;
}
const Column kStructColumn = {
    .name = "c",
    .type = SqlType::kStruct,
    .children = {Named(Of(SqlType::kBigint), "a \"b\""),
                 Named(Of(SqlType::kDecimal), "d"),
                 Named(Of(SqlType::kTimestamptz), "at"),
                 Named(Of(SqlType::kVarchar), "n")}};
const std::array kStruct = {Value::Int64(INT64_MIN), Value::Decimal("+01.50"),
                            Value::Timestamptz(19'782 * kDayMicros + 1),
                            Value::Null()};
const Column kMapColumn = {
    .name = "c",
    .type = SqlType::kMap,
    .children = {Of(SqlType::kInteger), ArrayOf(SqlType::kVarbinary)}};
const std::array kBytes = {Value::Binary(absl::string_view("\0\xff", 2)),
                           Value::Null()};
const std::array kMap = {Value::Int64(7), Value::Array(kBytes), Value::Int64(8),
                         Value::Array({})};
constexpr std::array kDoubles = {Value::Double(0.1), Value::Double(1e22),
                                 Value::Null()};
const Column kStructsColumn = {
    .name = "c",
    .type = SqlType::kArray,
    .children = {{.name = "element",
                  .type = SqlType::kStruct,
                  .children = {Named(Of(SqlType::kVariant), "v")}}}};
const std::array kInner = {Value::Variant(R"({"x": 1.0})")};
const std::array kStructs = {Value::Struct(kInner), Value::Null()};

INSTANTIATE_TEST_SUITE_P(
    All, PostgresTypeTest,
    testing::Values(
        TypeCase{"Bool", "bool", Of(SqlType::kBoolean), Value::Bool(true),
                 "true"},
        TypeCase{"Smallint", "int2", Of(SqlType::kSmallint),
                 Value::Int64(-32768), "-32768"},
        TypeCase{"Integer", "int4", Of(SqlType::kInteger),
                 Value::Int64(INT32_MIN), "-2147483648"},
        TypeCase{"Bigint", "int8", Of(SqlType::kBigint),
                 Value::Int64(INT64_MIN), "-9223372036854775808"},
        TypeCase{"WiderInteger", "int8", Of(SqlType::kIntegerUnsigned),
                 Value::Uint64(4'294'967'295), "4294967295"},
        TypeCase{"BigintUnsigned", "numeric", Of(SqlType::kBigintUnsigned),
                 Value::Uint64(UINT64_MAX), "18446744073709551615"},
        TypeCase{"Real", "float4", Of(SqlType::kReal), Value::Double(0.1f),
                 "0.1"},
        TypeCase{"Double", "float8", Of(SqlType::kDouble), Value::Double(0.1),
                 "0.1"},
        TypeCase{"DoubleNan", "float8", Of(SqlType::kDouble),
                 Value::Double(std::numeric_limits<double>::quiet_NaN()),
                 "NaN"},
        TypeCase{"DoubleInfinity", "float8", Of(SqlType::kDouble),
                 Value::Double(-INFINITY), "-Infinity"},
        TypeCase{"DoubleTiny", "float8", Of(SqlType::kDouble),
                 Value::Double(5e-324), "5e-324"},
        TypeCase{"NumericLong", "numeric", Of(SqlType::kDecimal),
                 Value::Decimal("-12345678901234567890123456789.000000012340"),
                 "-12345678901234567890123456789.000000012340"},
        TypeCase{"NumericNan", "numeric", Of(SqlType::kDecimal),
                 Value::Decimal("NaN"), "NaN"},
        TypeCase{"NumericInfinity", "numeric", Of(SqlType::kDecimal),
                 Value::Decimal("Infinity"), "Infinity"},
        TypeCase{"NumericMinusInfinity", "numeric", Of(SqlType::kDecimal),
                 Value::Decimal("-Infinity"), "-Infinity"},
        TypeCase{"NumericExponent", "numeric", Of(SqlType::kDecimal),
                 Value::Decimal("1.50e-7"), "0.000000150"},
        TypeCase{"NumericOfScale", "numeric(6,2)", Of(SqlType::kDecimal),
                 Value::Decimal("1234.5000"), "1234.50"},
        TypeCase{"Domain", "cents", Of(SqlType::kDecimal),
                 Value::Decimal("0.07"), "0.07"},
        TypeCase{"Text", "text", Of(SqlType::kVarchar),
                 Value::String("tab\t, line\n, \\N, \r, \xE2\x82\xAC"),
                 "tab\t, line\n, \\N, \r, \xE2\x82\xAC"},
        TypeCase{"TextEmpty", "text", Of(SqlType::kVarchar), Value::String(""),
                 ""},
        TypeCase{"Varchar", "varchar(3)", Of(SqlType::kVarchar),
                 Value::String("\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"),
                 "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"},
        TypeCase{"Name", "name", Of(SqlType::kVarchar), Value::String("pg"),
                 "pg"},
        TypeCase{"Xml", "xml", Of(SqlType::kVarchar), Value::String("<a/>"),
                 "<a/>"},
        TypeCase{"Enum", "mood", Of(SqlType::kVarchar), Value::String("happy"),
                 "happy"},
        TypeCase{"XmlOfAnotherEncoding", "xml", Of(SqlType::kVarchar),
                 Value::String(kLatin), kLatin},
        TypeCase{"Interval", "interval", Of(SqlType::kVarchar),
                 Value::String("1 day 2 hours"), "P1DT2H"},
        TypeCase{"IntervalOfSeconds", "interval(3)", Of(SqlType::kVarchar),
                 Value::String("1 day 00:00:01.250000"), "P1DT1.25S"},
        TypeCase{"IntervalIso", "interval", Of(SqlType::kVarchar),
                 Value::String("PT1.000001S"), "PT1.000001S"},
        TypeCase{"IntervalWords", "interval", Of(SqlType::kVarchar),
                 Value::String("1.5 Secs ago"), "PT-1.5S"},
        TypeCase{"Timetz", "timetz(3)", Of(SqlType::kVarchar),
                 Value::String("12:34:56.125+02"), "12:34:56.125+02"},
        TypeCase{"OneByteChar", "\"char\"", Of(SqlType::kVarchar),
                 Value::String("x"), "x"},
        TypeCase{"CharOfOtherLength", "char(5)", Of(SqlType::kVarchar),
                 Value::String("ab"), "ab"},
        TypeCase{"NumericOfNegativeScale", "numeric(5,-2)",
                 Of(SqlType::kDecimal), Value::Decimal("12300"), "12300"},
        TypeCase{"NumericZeroOfNegativeScale", "numeric(5,-2)",
                 Of(SqlType::kDecimal), Value::Decimal("0.00"), "0"},
        TypeCase{"Json", "json", Of(SqlType::kVariant),
                 Value::Variant(R"({"b": 1.0, "a":[]})"),
                 R"({"b": 1.0, "a":[]})"},
        TypeCase{"Jsonb", "jsonb", Of(SqlType::kVariant),
                 Value::Variant(R"({"b": 1.0, "a":[]})"),
                 R"({"a": [], "b": 1.0})"},
        TypeCase{"StructIntoJson", "json", kStructColumn,
                 Value::Struct(kStruct),
                 R"({"a \"b\"":-9223372036854775808,"d":1.50,"at":)"
                 R"("2024-02-29 00:00:00.000001+00","n":null})"},
        TypeCase{"StructIntoJsonb", "jsonb", kStructColumn,
                 Value::Struct(kStruct),
                 R"({"d": 1.50, "n": null, "at": )"
                 R"("2024-02-29 00:00:00.000001+00", )"
                 R"("a \"b\"": -9223372036854775808})"},
        TypeCase{"MapIntoJson", "json", kMapColumn, Value::Map(kMap),
                 R"({"7":["\\x00ff",null],"8":[]})"},
        TypeCase{"ArrayIntoJson", "json", ArrayOf(SqlType::kDouble),
                 Value::Array(kDoubles), "[0.1,1e+22,null]"},
        TypeCase{"ArrayOfStructsIntoJson", "json", kStructsColumn,
                 Value::Array(kStructs), R"([{"v":{"x": 1.0}},null])"},
        TypeCase{"Bytea", "bytea", Of(SqlType::kVarbinary),
                 Value::Binary(absl::string_view("\0\\\xff", 3)), "\\x005cff"},
        TypeCase{"Uuid", "uuid", Of(SqlType::kUuid),
                 Value::Uuid("0123456789abcdef"),
                 "30313233-3435-3637-3839-616263646566"},
        TypeCase{"Date", "date", Of(SqlType::kDate), Value::Date(19'782),
                 "2024-02-29"},
        TypeCase{"DateBc", "date", Of(SqlType::kDate), Value::Date(-735'160),
                 "0044-03-15 BC"},
        TypeCase{"DateInfinity", "date", Of(SqlType::kDate),
                 Value::Date(Value::kInfinity), "infinity"},
        TypeCase{"DateMinusInfinity", "date", Of(SqlType::kDate),
                 Value::Date(Value::kMinusInfinity), "-infinity"},
        TypeCase{"Time", "time", Of(SqlType::kTime),
                 Value::Time(45'296'000'001'000), "12:34:56.000001"},
        TypeCase{"TimeMidnight", "time", Of(SqlType::kTime),
                 Value::Time(86'400'000'000'000), "24:00:00"},
        TypeCase{"Timestamp", "timestamp", Of(SqlType::kTimestamp),
                 Value::Timestamp(19'782 * kDayMicros + 1),
                 "2024-02-29 00:00:00.000001"},
        TypeCase{"TimestampBc", "timestamp", Of(SqlType::kTimestamp),
                 Value::Timestamp(-735'160 * kDayMicros),
                 "0044-03-15 00:00:00 BC"},
        TypeCase{"TimestampInfinity", "timestamp", Of(SqlType::kTimestamp),
                 Value::Timestamp(Value::kMinusInfinity), "-infinity"},
        TypeCase{"Timestamptz", "timestamptz", Of(SqlType::kTimestamptz),
                 Value::Timestamptz(-1), "1969-12-31 23:59:59.999999+00"},
        TypeCase{"TimestamptzInfinity", "timestamptz",
                 Of(SqlType::kTimestamptz),
                 Value::Timestamptz(Value::kInfinity), "infinity"},
        TypeCase{"IntegerArray", "int4[]", ArrayOf(SqlType::kInteger),
                 Value::Array(kInts), "{1,NULL,-3}"},
        TypeCase{"EmptyArray", "int4[]", ArrayOf(SqlType::kInteger),
                 Value::Array({}), "{}"},
        TypeCase{"TextArray", "text[]", ArrayOf(SqlType::kVarchar),
                 Value::Array(kTexts), R"({"a \"b\"","NULL","\\{,}",NULL})"},
        TypeCase{"DomainOverArrayOfDomains", "prices",
                 ArrayOf(SqlType::kDecimal), Value::Array(kDecimals),
                 "{1.50,20.00}"},
        TypeCase{"Box", "int4[]", kBoxColumn, Value::Array(kBox),
                 "{{1,2},{3,4}}"}),
    [](const testing::TestParamInfo<TypeCase>& test) {
      return test.param.name;
    });

struct RefusedValue {
  std::string name;
  std::string type;
  Column declared;
  Value value;
  std::string says;
};
std::ostream& operator<<(std::ostream& out, const RefusedValue& test) {
  return out << test.name;
}

class PostgresRefusedValueTest
    : public PostgresSinkTest,
      public testing::WithParamInterface<RefusedValue> {};

// What the server would change, or refuse, is refused by itself beforehand.
TEST_P(PostgresRefusedValueTest, IsRefusedBeforeItIsSent) {
  Run(absl::StrCat("CREATE TABLE t (c ", GetParam().type, ")"));
  const auto writer = Start(Schema{{GetParam().declared}});
  const absl::Status refused = writer->Push({0, 1}, {{{GetParam().value}}});
  EXPECT_THAT(refused, HasReason(Reason::ROW_REFUSED));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(GetParam().says));
}

const std::string kLongName(64, 'n');
const std::array kIntervals = {Value::String("PT1.5S")};
const std::array kNan = {Value::Int64(1), Value::Decimal("NaN"), Value::Null(),
                         Value::Null()};
const std::array kTwice = {Value::Int64(1), Value::Null(), Value::Int64(1),
                           Value::Null()};
const std::array kNullKey = {Value::Null(), Value::Null()};
const std::array kRagged = {Value::Array(kLeft), Value::Array(kInts)};

INSTANTIATE_TEST_SUITE_P(
    All, PostgresRefusedValueTest,
    testing::Values(
        RefusedValue{"NulByte", "text", Of(SqlType::kVarchar),
                     Value::String(absl::string_view("a\0b", 3)),
                     "a NUL byte at 1"},
        RefusedValue{"InvalidUtf8", "text", Of(SqlType::kVarchar),
                     Value::String("caf\xE9"), "not UTF-8"},
        RefusedValue{"TooLong", "varchar(3)", Of(SqlType::kVarchar),
                     Value::String("abc "), "4 characters, above its 3"},
        RefusedValue{"FinerThanTheScale", "numeric(6,2)", Of(SqlType::kDecimal),
                     Value::Decimal("1.005"), "more than 2 digits"},
        RefusedValue{"FinerThanTheColumn", "timestamp(3)",
                     Of(SqlType::kTimestamp), Value::Timestamp(1),
                     "more than 3 decimals"},
        RefusedValue{"Nanoseconds", "timestamp", Of(SqlType::kTimestamp),
                     Value::Timestamp(0, 1), "more than 6 decimals"},
        RefusedValue{"OutOfRange", "int2", Of(SqlType::kSmallint),
                     Value::Int64(32768), "32768 is not within"},
        RefusedValue{"DateTooFar", "date", Of(SqlType::kDate),
                     Value::Date(int64_t{1} << 40), "beyond"},
        RefusedValue{"OtherKind", "int4", Of(SqlType::kInteger),
                     Value::String("1"), "of kind string"},
        RefusedValue{"FinerScaleThanTens", "numeric(5,-2)",
                     Of(SqlType::kDecimal), Value::Decimal("12340"),
                     "more than -2 digits"},
        RefusedValue{"BlankThatIsPadding", "char(5)", Of(SqlType::kVarchar),
                     Value::String("ab "), "a blank at the end"},
        RefusedValue{"MoreThanOneByte", "\"char\"", Of(SqlType::kVarchar),
                     Value::String("xy"), "2 bytes, above its 1"},
        RefusedValue{"LongName", "name", Of(SqlType::kVarchar),
                     Value::String(kLongName), "64 bytes, above its 63"},
        RefusedValue{"FinerThanTheInterval", "interval(2)",
                     Of(SqlType::kVarchar), Value::String("PT1.125S"),
                     "more than 2 decimals"},
        RefusedValue{"NanosecondsOfAnInterval", "interval",
                     Of(SqlType::kVarchar), Value::String("00:00:00.0000001"),
                     "more than 6 decimals"},
        RefusedValue{"FractionOfAMonth", "interval", Of(SqlType::kVarchar),
                     Value::String("0.3 months"), "another unit than seconds"},
        RefusedValue{"FractionOfAYear", "interval", Of(SqlType::kVarchar),
                     Value::String("P0.3Y"), "another unit than seconds"},
        RefusedValue{"FractionOfAMicrosecond", "interval",
                     Of(SqlType::kVarchar), Value::String("0.5 us"),
                     "another unit than seconds"},
        RefusedValue{"FinerThanTheTimetz", "timetz(3)", Of(SqlType::kVarchar),
                     Value::String("12:34:56.1234+02"), "more than 3 decimals"},
        RefusedValue{"FinerThanTheRange", "tstzrange", Of(SqlType::kVarchar),
                     Value::String("[2024-02-29 12:00:00.0000001+00,)"),
                     "more than 6 decimals"},
        RefusedValue{"ElementFinerThanTheInterval", "interval(0)[]",
                     ArrayOf(SqlType::kVarchar), Value::Array(kIntervals),
                     "more than 0 decimals"},
        RefusedValue{"NumberThatJsonHasNot", "jsonb", kStructColumn,
                     Value::Struct(kNan), "NaN is no number in JSON"},
        RefusedValue{"KeyThatIsTwiceThere", "json", kMapColumn,
                     Value::Map(kTwice), "twice there"},
        RefusedValue{"KeyThatIsNull", "json", kMapColumn, Value::Map(kNullKey),
                     "of kind null"},
        RefusedValue{"RaggedArray", "int4[]", kBoxColumn, Value::Array(kRagged),
                     "boxes"}),
    [](const testing::TestParamInfo<RefusedValue>& test) {
      return test.param.name;
    });

}  // namespace
}  // namespace penstock::core
