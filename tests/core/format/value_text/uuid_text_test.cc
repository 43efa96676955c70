#include "core/format/value_text/uuid_text.h"

#include "core/base/random.h"
#include "tests/support/test_rng.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

TEST(UuidTest, EveryUuidComesBack) {
  Random random = TestRandom();
  ValueArena arena;
  for (int i = 0; i < 1'000; ++i) {
    std::string bytes;
    for (int j = 0; j < 16; ++j) {
      bytes.push_back(static_cast<char>(random.Uniform(256)));
    }
    const std::string plain = absl::BytesToHexString(bytes);
    std::string grouped = plain;
    for (const size_t place : {20, 16, 12, 8}) grouped.insert(place, "-");
    for (const std::string& text :
         {plain, grouped, absl::AsciiStrToUpper(grouped)}) {
      Value value;
      ASSERT_EQ(ParseUuid(text, arena, value), ValueFault::kNone) << text;
      ASSERT_EQ(value.AsUuid(), bytes) << text;
    }
  }
}

TEST(UuidTest, NoOtherByteIsADigit) {
  const std::string good = "01234567-89ab-cdef-0123-456789abcdef";
  ValueArena arena;
  for (size_t place = 0; place < good.size(); ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      const bool is_hyphen = good[place] == '-';
      const bool fits =
          is_hyphen ? c == '-'
                    : absl::ascii_isxdigit(static_cast<unsigned char>(c));
      std::string text = good;
      text[place] = c;
      Value value;
      ASSERT_EQ(ParseUuid(text, arena, value) == ValueFault::kNone, fits)
          << place << " " << byte;
    }
  }
}

class NoUuidTest : public testing::TestWithParam<const char*> {};

TEST_P(NoUuidTest, IsRefused) {
  ValueArena arena;
  Value value;
  EXPECT_EQ(ParseUuid(GetParam(), arena, value), ValueFault::kNotUuid);
  EXPECT_TRUE(value.is_null());
}

INSTANTIATE_TEST_SUITE_P(
    All, NoUuidTest,
    testing::Values("", "0123456789abcdef0123456789abcde",
                    "0123456789abcdef0123456789abcdef0",
                    "{01234567-89ab-cdef-0123-456789abcdef}",
                    "0123456-789ab-cdef-0123-456789abcdef",
                    "0123456789ab-cdef-0123-4567-89abcdef"));

}  // namespace
}  // namespace penstock::core
