#include "core/format/value_text/value_print.h"

#include "core/format/value_text/value_text.h"
#include "core/record/schema.h"
#include "core/record/value_arena.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace penstock::core {
namespace {

std::string Printed(const Value& value) {
  std::string text = "<";
  PrintValue(value, text);
  return text.substr(1);
}

// What a column of `type` makes of the value's text.
Value ReadBack(SqlType type, const Value& value, ValueArena& arena) {
  const Column column = {.name = "c", .type = type, .precision = 9};
  Value read;
  const std::string text = Printed(value);
  EXPECT_EQ(ParseValueText(column, arena.Copy(text), arena, read),
            ValueFault::kNone)
      << text;
  return read;
}

TEST(ValuePrintTest, TextIsThatOfSql) {
  EXPECT_EQ(Printed(Value::Bool(true)), "true");
  EXPECT_EQ(Printed(Value::Int64(INT64_MIN)), "-9223372036854775808");
  EXPECT_EQ(Printed(Value::Uint64(UINT64_MAX)), "18446744073709551615");
  EXPECT_EQ(Printed(Value::Double(0.1)), "0.1");
  EXPECT_EQ(Printed(Value::Double(-1e300)), "-1e+300");
  EXPECT_EQ(Printed(Value::Double(std::numeric_limits<double>::infinity())),
            "Infinity");
  EXPECT_EQ(Printed(Value::Decimal("1.50")), "1.50");
  EXPECT_EQ(Printed(Value::Variant("{\"a\": 1}")), "{\"a\": 1}");
  EXPECT_EQ(Printed(Value::Binary(absl::string_view("\0\xff", 2))), "\\x00ff");
  EXPECT_EQ(Printed(Value::Uuid("0123456789abcdef")),
            "30313233-3435-3637-3839-616263646566");
  EXPECT_EQ(Printed(Value::Date(19'782)), "2024-02-29");
  EXPECT_EQ(Printed(Value::Date(-719'529)), "0002-12-31 BC");
  EXPECT_EQ(Printed(Value::Date(Value::kMinusInfinity)), "-infinity");
  EXPECT_EQ(Printed(Value::Time(86'400'000'000'000)), "24:00:00");
  EXPECT_EQ(Printed(Value::Time(1'000'000)), "00:00:00.001");
  EXPECT_EQ(Printed(Value::Timestamp(-1, 5)), "1969-12-31 23:59:59.999999005");
  EXPECT_EQ(Printed(Value::Timestamptz(0)), "1970-01-01 00:00:00Z");
  EXPECT_EQ(Printed(Value::Timestamptz(-719'529 * int64_t{86'400'000'000})),
            "0002-12-31 00:00:00Z BC");
  EXPECT_EQ(Printed(Value::Timestamp(Value::kInfinity)), "infinity");
}

TEST(ValuePrintTest, DoublesAreReadBack) {
  Random random = TestRandom();
  ValueArena arena;
  for (int round = 0; round < 20'000; ++round) {
    const auto real = std::bit_cast<double>(random.Next64());
    if (std::isnan(real)) continue;
    const Value value = Value::Double(real);
    ASSERT_EQ(ReadBack(SqlType::kDouble, value, arena), value) << real;
  }
}

TEST(ValuePrintTest, MomentsAreReadBack) {
  Random random = TestRandom();
  ValueArena arena;
  for (int round = 0; round < 20'000; ++round) {
    const auto micros =
        static_cast<int64_t>(random.Next64()) >> random.Uniform(40);
    // Text has years of at least one: from 4713 BC the others do, too.
    if (micros < -210'863'520'000'000'000) continue;
    const auto nanos = static_cast<uint32_t>(random.Uniform(1'000));
    const Value local = Value::Timestamp(micros, nanos);
    ASSERT_EQ(ReadBack(SqlType::kTimestamp, local, arena), local);
    const Value moment = Value::Timestamptz(micros, nanos);
    ASSERT_EQ(ReadBack(SqlType::kTimestamptz, moment, arena), moment);
    const Value day = Value::Date(micros / 86'400'000'000);
    ASSERT_EQ(ReadBack(SqlType::kDate, day, arena), day);
    const Value time =
        Value::Time(static_cast<int64_t>(random.Uniform(86'400'000'000'001)));
    ASSERT_EQ(ReadBack(SqlType::kTime, time, arena), time);
  }
}

TEST(ValuePrintTest, BytesAreReadBack) {
  Random random = TestRandom();
  ValueArena arena;
  for (int round = 0; round < 2'000; ++round) {
    std::string bytes;
    for (int i = 0; i < 16; ++i) {
      bytes += static_cast<char>(random.Uniform(256));
    }
    const Value uuid = Value::Uuid(bytes);
    ASSERT_EQ(ReadBack(SqlType::kUuid, uuid, arena), uuid);
    // A value views its bytes.
    const std::string part = bytes.substr(0, random.Uniform(10));
    const Value binary = Value::Binary(part);
    ASSERT_EQ(ReadBack(SqlType::kVarbinary, binary, arena).AsBinary(),
              binary.AsBinary());
  }
}

}  // namespace
}  // namespace penstock::core
