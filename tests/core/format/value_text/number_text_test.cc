#include "core/format/value_text/number_text.h"

#include "core/base/random.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

namespace penstock::core {
namespace {

// "7", "7u", or the fault as a number in brackets.
std::string IntegerOf(absl::string_view text, SqlType type) {
  Value value;
  const ValueFault fault = ParseInteger(text, type, value);
  if (fault != ValueFault::kNone) {
    EXPECT_TRUE(value.is_null());
    return absl::StrCat("[", static_cast<int>(fault), "]");
  }
  return value.kind() == ValueKind::kInt64
             ? absl::StrCat(value.AsInt64())
             : absl::StrCat(value.AsUint64(), "u");
}

std::string Fault(ValueFault fault) {
  return absl::StrCat("[", static_cast<int>(fault), "]");
}

struct WidthCase {
  std::string name;
  SqlType type;
  std::string min;
  std::string below;
  std::string max;
  std::string above;
  std::string suffix;
};

class IntegerWidthTest : public testing::TestWithParam<WidthCase> {};

TEST_P(IntegerWidthTest, HoldsItsRangeAndNothingElse) {
  const WidthCase& c = GetParam();
  EXPECT_EQ(IntegerOf(c.min, c.type), c.min + c.suffix);
  EXPECT_EQ(IntegerOf(c.max, c.type), c.max + c.suffix);
  EXPECT_EQ(IntegerOf(c.below, c.type), Fault(ValueFault::kOutOfRange));
  EXPECT_EQ(IntegerOf(c.above, c.type), Fault(ValueFault::kOutOfRange));
  // The same numbers in other words.
  EXPECT_EQ(IntegerOf(c.max + ".00", c.type), c.max + c.suffix);
  EXPECT_EQ(IntegerOf(c.max + "0e-1", c.type), c.max + c.suffix);
  EXPECT_EQ(IntegerOf(c.above + ".0", c.type), Fault(ValueFault::kOutOfRange));
  EXPECT_EQ(IntegerOf(c.min + ".0", c.type), c.min + c.suffix);
  EXPECT_EQ(IntegerOf(c.below + "e0", c.type), Fault(ValueFault::kOutOfRange));
}

INSTANTIATE_TEST_SUITE_P(
    All, IntegerWidthTest,
    testing::Values(WidthCase{"Tinyint", SqlType::kTinyint, "-128", "-129",
                              "127", "128", ""},
                    WidthCase{"Smallint", SqlType::kSmallint, "-32768",
                              "-32769", "32767", "32768", ""},
                    WidthCase{"Integer", SqlType::kInteger, "-2147483648",
                              "-2147483649", "2147483647", "2147483648", ""},
                    WidthCase{"Bigint", SqlType::kBigint,
                              "-9223372036854775808", "-9223372036854775809",
                              "9223372036854775807", "9223372036854775808", ""},
                    WidthCase{"TinyintUnsigned", SqlType::kTinyintUnsigned, "0",
                              "-1", "255", "256", "u"},
                    WidthCase{"SmallintUnsigned", SqlType::kSmallintUnsigned,
                              "0", "-1", "65535", "65536", "u"},
                    WidthCase{"IntegerUnsigned", SqlType::kIntegerUnsigned, "0",
                              "-1", "4294967295", "4294967296", "u"},
                    WidthCase{"BigintUnsigned", SqlType::kBigintUnsigned, "0",
                              "-1", "18446744073709551615",
                              "18446744073709551616", "u"}),
    [](const auto& test) { return test.param.name; });

struct FormCase {
  std::string name;
  std::string text;
  std::string expected;
};

class IntegerFormTest : public testing::TestWithParam<FormCase> {};

TEST_P(IntegerFormTest, IsWhatItsValueIs) {
  EXPECT_EQ(IntegerOf(GetParam().text, SqlType::kBigint), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, IntegerFormTest,
    testing::Values(
        FormCase{"Plus", "+7", "7"}, FormCase{"MinusZero", "-0", "0"},
        FormCase{"LeadingZeros", "007", "7"},
        FormCase{"ManyLeadingZeros", std::string(500, '0') + "7", "7"},
        FormCase{"Exponent", "12e3", "12000"},
        FormCase{"ExponentMovesThePoint", "1.25e2", "125"},
        FormCase{"NegativeExponent", "-500e-2", "-5"},
        FormCase{"ZeroWithAnyExponent", "0.0e-999999999999", "0"},
        FormCase{"Fraction", "1.5", Fault(ValueFault::kNotInteger)},
        FormCase{"SmallFraction", "1e-30", Fault(ValueFault::kNotInteger)},
        FormCase{"Huge", "8100000000000000000000017",
                 Fault(ValueFault::kOutOfRange)},
        FormCase{"HugeExponent", "1e999999999999",
                 Fault(ValueFault::kOutOfRange)},
        FormCase{"NotANumber", "NaN", Fault(ValueFault::kNotInteger)},
        FormCase{"Nothing", "", Fault(ValueFault::kNotNumber)},
        FormCase{"Minus", "-", Fault(ValueFault::kNotNumber)},
        FormCase{"TwoSigns", "--1", Fault(ValueFault::kNotNumber)},
        FormCase{"Blank", " 1", Fault(ValueFault::kNotNumber)},
        FormCase{"BlankBehind", "1 ", Fault(ValueFault::kNotNumber)},
        FormCase{"Letters", "12a", Fault(ValueFault::kNotNumber)},
        FormCase{"Hexadecimal", "0x10", Fault(ValueFault::kNotNumber)},
        FormCase{"Separators", "1_000", Fault(ValueFault::kNotNumber)},
        FormCase{"Nul", std::string("1\0", 2), Fault(ValueFault::kNotNumber)},
        FormCase{"PointAlone", "1.", Fault(ValueFault::kNotNumber)},
        FormCase{"ExponentAlone", "1e", Fault(ValueFault::kNotNumber)}),
    [](const auto& test) { return test.param.name; });

TEST(IntegerTest, EveryIntegerComesBack) {
  Random random = TestRandom();
  for (int i = 0; i < 100'000; ++i) {
    // Of every size.
    const uint64_t bits = random.Next64() >> random.Uniform(64);
    const auto number = static_cast<int64_t>(bits);
    ASSERT_EQ(IntegerOf(absl::StrCat(number), SqlType::kBigint),
              absl::StrCat(number));
    ASSERT_EQ(IntegerOf(absl::StrCat(bits), SqlType::kBigintUnsigned),
              absl::StrCat(bits, "u"));
  }
}

// A number in decimal form, with an exponent here and there.
std::string RandomNumber(Random& random) {
  std::string text = random.Uniform(2) == 0 ? "-" : "";
  const auto digits = [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      text.push_back(static_cast<char>('0' + random.Uniform(10)));
    }
  };
  digits(1 + random.Uniform(random.Uniform(4) == 0 ? 25 : 5));
  if (random.Uniform(2) == 0) {
    text.push_back('.');
    digits(1 + random.Uniform(20));
  }
  if (random.Uniform(2) == 0) {
    absl::StrAppend(&text, "e", static_cast<int>(random.Uniform(80)) - 40);
  }
  return text;
}

// The C library's, which rounds correctly too, are the model.
TEST(FloatTest, EveryNumberIsTheNearest) {
  Random random = TestRandom();
  for (int i = 0; i < 100'000; ++i) {
    const std::string text = RandomNumber(random);
    Value value;
    ASSERT_EQ(ParseDouble(text, value), ValueFault::kNone) << text;
    ASSERT_EQ(std::bit_cast<uint64_t>(value.AsDouble()),
              std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr)))
        << text;
    const float nearest = std::strtof(text.c_str(), nullptr);
    const ValueFault fault = ParseReal(text, value);
    if (std::isinf(nearest)) {
      ASSERT_EQ(fault, ValueFault::kOutOfRange) << text;
      continue;
    }
    ASSERT_EQ(fault, ValueFault::kNone) << text;
    ASSERT_EQ(std::bit_cast<uint64_t>(value.AsDouble()),
              std::bit_cast<uint64_t>(double{nearest}))
        << text;
  }
}

// By way of a double it would be rounded twice, the second time upwards.
TEST(FloatTest, ARealIsRoundedOnce) {
  Value value;
  ASSERT_EQ(ParseReal("1.00000017881393432617187499", value),
            ValueFault::kNone);
  EXPECT_EQ(value.AsDouble(), double{0x1.000002p0f});
}

TEST(FloatTest, TheLargestIsTakenAndWhatRoundsBeyondIsNot) {
  Value value;
  EXPECT_EQ(ParseDouble("1.7976931348623157e308", value), ValueFault::kNone);
  EXPECT_EQ(value.AsDouble(), std::numeric_limits<double>::max());
  EXPECT_EQ(ParseDouble("1.7976931348623159e308", value),
            ValueFault::kOutOfRange);
  EXPECT_EQ(ParseDouble("-1e400", value), ValueFault::kOutOfRange);
  EXPECT_EQ(ParseDouble(std::string(400, '9'), value), ValueFault::kOutOfRange);
  EXPECT_EQ(ParseReal("3.4028235e38", value), ValueFault::kNone);
  EXPECT_EQ(value.AsDouble(), double{std::numeric_limits<float>::max()});
  EXPECT_EQ(ParseReal("3.4028236e38", value), ValueFault::kOutOfRange);
  EXPECT_EQ(ParseReal("1e39", value), ValueFault::kOutOfRange);
}

TEST(FloatTest, TheSmallestAreTakenAndWhatIsSmallerIsZero) {
  Value value;
  EXPECT_EQ(ParseDouble("4.9406564584124654e-324", value), ValueFault::kNone);
  EXPECT_EQ(value.AsDouble(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(ParseDouble("1e-400", value), ValueFault::kNone);
  EXPECT_EQ(std::bit_cast<uint64_t>(value.AsDouble()), 0u);
  EXPECT_EQ(ParseDouble("-1e-400", value), ValueFault::kNone);
  EXPECT_EQ(std::bit_cast<uint64_t>(value.AsDouble()),
            std::bit_cast<uint64_t>(-0.0));
  EXPECT_EQ(ParseReal("1.401298464324817e-45", value), ValueFault::kNone);
  EXPECT_EQ(value.AsDouble(), double{std::numeric_limits<float>::denorm_min()});
  EXPECT_EQ(ParseReal("1e-60", value), ValueFault::kNone);
  EXPECT_EQ(std::bit_cast<uint64_t>(value.AsDouble()), 0u);
}

TEST(FloatTest, ZeroHasAnyExponent) {
  Value value;
  EXPECT_EQ(ParseDouble("0e999999999", value), ValueFault::kNone);
  EXPECT_EQ(value.AsDouble(), 0.0);
  EXPECT_EQ(ParseDouble("-0.0", value), ValueFault::kNone);
  EXPECT_TRUE(std::signbit(value.AsDouble()));
}

struct SpecialCase {
  std::string name;
  std::string text;
  double expected;
};

class SpecialFloatTest : public testing::TestWithParam<SpecialCase> {};

TEST_P(SpecialFloatTest, IsThatOfBothTypes) {
  Value value;
  EXPECT_EQ(ParseDouble(GetParam().text, value), ValueFault::kNone);
  EXPECT_EQ(value, Value::Double(GetParam().expected));
  EXPECT_EQ(ParseReal(GetParam().text, value), ValueFault::kNone);
  EXPECT_EQ(value, Value::Double(GetParam().expected));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

INSTANTIATE_TEST_SUITE_P(
    All, SpecialFloatTest,
    testing::Values(SpecialCase{"NaN", "NaN",
                                std::numeric_limits<double>::quiet_NaN()},
                    SpecialCase{"SmallNan", "nan",
                                std::numeric_limits<double>::quiet_NaN()},
                    SpecialCase{"Infinity", "Infinity", kInfinity},
                    SpecialCase{"PlusInf", "+inf", kInfinity},
                    SpecialCase{"MinusInfinity", "-INFINITY", -kInfinity}),
    [](const auto& test) { return test.param.name; });

class NoFloatTest : public testing::TestWithParam<const char*> {};

TEST_P(NoFloatTest, IsNoNumber) {
  Value value;
  EXPECT_EQ(ParseDouble(GetParam(), value), ValueFault::kNotNumber);
  EXPECT_EQ(ParseReal(GetParam(), value), ValueFault::kNotNumber);
  EXPECT_TRUE(value.is_null());
}

INSTANTIATE_TEST_SUITE_P(All, NoFloatTest,
                         testing::Values("", "-", "e5", ".5", "5.", "1e", "1e+",
                                         "1..2", "0x1p3", "nan(1)", "infin",
                                         "-nan", "1,5", " 1", "1f"));

}  // namespace
}  // namespace penstock::core
