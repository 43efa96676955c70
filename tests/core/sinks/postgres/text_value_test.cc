#include "core/sinks/postgres/text_value.h"

#include "core/record/value.h"

#include <gtest/gtest.h>

namespace penstock::core {
namespace {

TEST(TextValueTest, DatesOfEveryEra) {
  EXPECT_EQ(DateText(0), "1970-01-01");
  EXPECT_EQ(DateText(-719'162), "0001-01-01");
  EXPECT_EQ(DateText(-719'163), "0001-12-31 BC");
  EXPECT_EQ(DateText(2'932'897), "10000-01-01");
  EXPECT_EQ(DateText(Value::kInfinity), "infinity");
  EXPECT_EQ(DateText(Value::kMinusInfinity), "-infinity");
}

TEST(TextValueTest, TimesToTheMicrosecond) {
  EXPECT_EQ(TimeText(0), "00:00:00.000000");
  EXPECT_EQ(TimeText(86'400'000'000), "24:00:00.000000");
  EXPECT_EQ(TimestampText(-1, "+00"), "1969-12-31 23:59:59.999999+00");
  EXPECT_EQ(TimestampText(-719'163 * int64_t{86'400'000'000} + 1, ""),
            "0001-12-31 00:00:00.000001 BC");
  EXPECT_EQ(TimestampText(Value::kMinusInfinity, "+00"), "-infinity");
}

}  // namespace
}  // namespace penstock::core
