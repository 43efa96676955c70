#include "core/format/value_text/decimal_text.h"

#include "core/base/random.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace penstock::core {
namespace {

TEST(DecimalTest, EveryDigitIsKept) {
  for (const char* text :
       {"0", "-0.00", "1.50", "+1", "007.10", "1e2", "-12.5E-3",
        "123456789012345678901234567890.123456789012345678901234567890"}) {
    Value value;
    EXPECT_EQ(ParseDecimal(text, 0, 0, value), ValueFault::kNone) << text;
    EXPECT_EQ(value.AsDecimal(), text);
  }
}

TEST(DecimalTest, TheValueIsAViewOfTheText) {
  const std::string text = "12.50";
  Value value;
  ASSERT_EQ(ParseDecimal(text, 5, 2, value), ValueFault::kNone);
  EXPECT_EQ(value.AsDecimal().data(), text.data());
}

struct SpecialCase {
  std::string name;
  std::string text;
  std::string expected;
};

class SpecialDecimalTest : public testing::TestWithParam<SpecialCase> {};

TEST_P(SpecialDecimalTest, IsWrittenOneWay) {
  Value value;
  EXPECT_EQ(ParseDecimal(GetParam().text, 0, 0, value), ValueFault::kNone);
  EXPECT_EQ(value.AsDecimal(), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, SpecialDecimalTest,
    testing::Values(SpecialCase{"Nan", "nan", "NaN"},
                    SpecialCase{"Infinity", "infinity", "Infinity"},
                    SpecialCase{"PlusInf", "+Inf", "Infinity"},
                    SpecialCase{"MinusInf", "-inf", "-Infinity"}),
    [](const auto& test) { return test.param.name; });

TEST(DecimalTest, WithAPrecisionThereIsNanButNoInfinity) {
  Value value;
  EXPECT_EQ(ParseDecimal("NaN", 5, 2, value), ValueFault::kNone);
  EXPECT_EQ(value.AsDecimal(), "NaN");
  EXPECT_EQ(ParseDecimal("-Infinity", 5, 2, value), ValueFault::kOutOfRange);
}

class NoDecimalTest : public testing::TestWithParam<const char*> {};

TEST_P(NoDecimalTest, IsNoNumber) {
  Value value;
  EXPECT_EQ(ParseDecimal(GetParam(), 0, 0, value), ValueFault::kNotNumber);
  EXPECT_TRUE(value.is_null());
}

INSTANTIATE_TEST_SUITE_P(All, NoDecimalTest,
                         testing::Values("", "+", ".5", "5.", "1.e3", "1e",
                                         "1e+", "1.2.3", "0x1", "1,5", "1 ",
                                         " 1", "--1", "NaNs", "true"));

struct FitCase {
  std::string name;
  std::string text;
  uint32_t precision;
  int32_t scale;
  ValueFault fault;
};

class DecimalFitTest : public testing::TestWithParam<FitCase> {};

TEST_P(DecimalFitTest, CountsTheDigitsThatMatter) {
  const FitCase& c = GetParam();
  Value value;
  EXPECT_EQ(ParseDecimal(c.text, c.precision, c.scale, value), c.fault);
}

constexpr ValueFault kNone = ValueFault::kNone;
constexpr ValueFault kDigits = ValueFault::kTooManyDigits;
constexpr ValueFault kDecimals = ValueFault::kTooManyDecimals;

INSTANTIATE_TEST_SUITE_P(
    All, DecimalFitTest,
    testing::Values(FitCase{"Largest", "999.99", 5, 2, kNone},
                    FitCase{"OneDigitMore", "1000", 5, 2, kDigits},
                    FitCase{"OneDecimalMore", "0.001", 5, 2, kDecimals},
                    FitCase{"ZerosBehindAreFree", "999.99000", 5, 2, kNone},
                    FitCase{"ZerosBeforeAreFree", "000999.99", 5, 2, kNone},
                    FitCase{"ExponentCounts", "9.9999e2", 5, 2, kNone},
                    FitCase{"ExponentMakesDigits", "1e3", 5, 2, kDigits},
                    FitCase{"ExponentMakesDecimals", "1e-3", 5, 2, kDecimals},
                    FitCase{"ZeroFitsAnywhere", "0.000e-50", 1, 0, kNone},
                    FitCase{"AllDecimals", "0.99", 2, 2, kNone},
                    FitCase{"NoWholeDigits", "1.00", 2, 2, kDigits},
                    FitCase{"NoDecimals", "12", 2, 0, kNone},
                    FitCase{"WholeOnly", "12.0", 2, 0, kNone},
                    FitCase{"Anything", std::string(131'072, '9') + ".5", 0, 0,
                            kNone},
                    FitCase{"BeyondPostgresql", std::string(131'073, '9'), 0, 0,
                            ValueFault::kOutOfRange},
                    FitCase{"BehindPostgresql", "0." + std::string(16'384, '1'),
                            0, 0, ValueFault::kOutOfRange},
                    FitCase{"HugeExponent", "1e999999999999999999999", 0, 0,
                            ValueFault::kOutOfRange},
                    FitCase{"TinyExponent", "1e-999999999999999999999", 0, 0,
                            ValueFault::kOutOfRange}),
    [](const auto& test) { return test.param.name; });

// The model writes the number out without an exponent and counts.
TEST(DecimalTextTest, CountsAsOnPaper) {
  Random random = TestRandom();
  for (int i = 0; i < 20'000; ++i) {
    std::string whole;
    std::string fraction;
    // Zeros are as frequent as all others together.
    const auto digit = [&random] {
      return static_cast<char>(
          '0' + (random.Uniform(2) == 0 ? 0 : random.Uniform(10)));
    };
    for (uint64_t n = 1 + random.Uniform(8); n > 0; --n) whole += digit();
    for (uint64_t n = random.Uniform(8); n > 0; --n) fraction += digit();
    const int64_t exponent = random.UniformIn(-12, 12);
    std::string text = fraction.empty() ? whole : whole + "." + fraction;
    absl::StrAppend(&text, "e", exponent);

    std::string before = std::string(20, '0') + whole;
    std::string behind = fraction + std::string(20, '0');
    const auto moved = static_cast<size_t>(std::abs(exponent));
    if (exponent > 0) {
      before += behind.substr(0, moved);
      behind.erase(0, moved);
    } else {
      behind.insert(0, before.substr(before.size() - moved));
      before.erase(before.size() - moved);
    }
    before.erase(0, std::min(before.find_first_not_of('0'), before.size()));
    behind.erase(behind.find_last_not_of('0') + 1);

    const auto read = DecimalText::Read(text);
    ASSERT_TRUE(read.has_value()) << text;
    ASSERT_EQ(read->WholeDigits(), static_cast<int64_t>(before.size())) << text;
    ASSERT_EQ(read->Decimals(), static_cast<int64_t>(behind.size())) << text;
    ASSERT_EQ(read->IsZero(), before.empty() && behind.empty()) << text;
    if (!behind.empty() || before.size() > 18) continue;
    ASSERT_EQ(read->ToUint64(), before.empty() ? 0 : std::stoull(before))
        << text;
  }
}

}  // namespace
}  // namespace penstock::core
