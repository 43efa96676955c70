#include "core/format/value_text/binary_text.h"

#include "core/base/random.h"
#include "tests/support/test_rng.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

TEST(BinaryTest, EveryBytesComeBackFromBothForms) {
  Random random = TestRandom();
  ValueArena arena;
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes;
    for (uint64_t n = random.Uniform(70); n > 0; --n) {
      bytes.push_back(static_cast<char>(random.Uniform(256)));
    }
    const std::string hex = absl::StrCat("\\x", absl::BytesToHexString(bytes));
    std::string base64;
    absl::Base64Escape(bytes, &base64);
    for (const std::string& text : {hex, base64}) {
      Value value;
      ASSERT_EQ(ParseBinary(text, 0, arena, value), ValueFault::kNone) << text;
      ASSERT_EQ(value, Value::Binary(bytes)) << text;
    }
  }
}

// A text that is taken is the one that its bytes are written as.
TEST(BinaryTest, OneTextIsOneValue) {
  constexpr absl::string_view kAlphabet = "AQgwB+/=-_ \n";
  ValueArena arena;
  for (const char a : kAlphabet) {
    for (const char b : kAlphabet) {
      for (const char c : kAlphabet) {
        for (const char d : kAlphabet) {
          const std::string text = {a, b, c, d};
          Value value;
          if (ParseBinary(text, 0, arena, value) != ValueFault::kNone) {
            ASSERT_TRUE(value.is_null());
            continue;
          }
          std::string again;
          absl::Base64Escape(value.AsBinary(), &again);
          ASSERT_EQ(again, text);
        }
      }
    }
  }
}

struct BinaryCase {
  std::string name;
  std::string text;
  uint32_t bytes_max;
  ValueFault fault;
};

class BinaryTextTest : public testing::TestWithParam<BinaryCase> {};

TEST_P(BinaryTextTest, IsReadOrRefused) {
  ValueArena arena;
  Value value;
  EXPECT_EQ(ParseBinary(GetParam().text, GetParam().bytes_max, arena, value),
            GetParam().fault);
  EXPECT_EQ(value.is_null(), GetParam().fault != ValueFault::kNone);
}

constexpr ValueFault kNotBinary = ValueFault::kNotBinary;

INSTANTIATE_TEST_SUITE_P(
    All, BinaryTextTest,
    testing::Values(BinaryCase{"NoBytes", "", 0, ValueFault::kNone},
                    BinaryCase{"NoBytesInHex", "\\x", 0, ValueFault::kNone},
                    BinaryCase{"CapitalHex", "\\xABCDEF", 3, ValueFault::kNone},
                    BinaryCase{"OddHex", "\\xabc", 0, kNotBinary},
                    BinaryCase{"NoHex", "\\xag", 0, kNotBinary},
                    BinaryCase{"CapitalPrefix", "\\Xab", 0, kNotBinary},
                    BinaryCase{"HexOfCStyle", "0xabc", 0, kNotBinary},
                    BinaryCase{"LongHex", "\\xabcdef", 2, ValueFault::kTooLong},
                    BinaryCase{"JustFits", "AAAA", 3, ValueFault::kNone},
                    BinaryCase{"PaddingCountsNot", "AA==", 1,
                               ValueFault::kNone},
                    BinaryCase{"LongBase64", "AAAA", 2, ValueFault::kTooLong},
                    BinaryCase{"WithoutPadding", "AA", 0, kNotBinary},
                    BinaryCase{"PaddingOnly", "====", 0, kNotBinary},
                    BinaryCase{"ThreeOfPadding", "A===", 0, kNotBinary},
                    BinaryCase{"PaddingInside", "AA==AAAA", 0, kNotBinary},
                    BinaryCase{"ForUrls", "-_-_", 0, kNotBinary},
                    BinaryCase{"LineEnd", "AAAA\n", 0, kNotBinary},
                    BinaryCase{"Text", "hello!!!", 0, kNotBinary}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace penstock::core
