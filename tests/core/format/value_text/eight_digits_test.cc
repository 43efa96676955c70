#include "core/format/value_text/eight_digits.h"

#include "core/base/random.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace penstock::core {
namespace {

// The same, a character at a time.
std::optional<EightDigits> ReadSlowly(absl::string_view text) {
  EightDigits read;
  bool has_point = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.' && !has_point && i > 0 && i + 1 < text.size()) {
      has_point = true;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    read.digits = read.digits * 10 + static_cast<uint32_t>(text[i] - '0');
    if (has_point) ++read.decimals;
  }
  return read;
}

std::string Show(const std::optional<EightDigits>& read) {
  if (!read.has_value()) return "none";
  return absl::StrCat(read->digits, "/", read->decimals);
}

TEST(EightDigitsTest, ReadsAsOneDigitAtATimeDoes) {
  Random random(7);
  for (int i = 0; i < 300'000; ++i) {
    // Exactly as many bytes as the text has, so that no byte beside it is read.
    const std::string text = [&] {
      std::string made(random.Uniform(8) + 1, '0');
      for (char& c : made) {
        const uint64_t kind = random.Uniform(24);
        c = static_cast<char>('0' + random.Uniform(10));
        if (kind == 0) c = '.';
        if (kind == 1) c = static_cast<char>(random.Uniform(256));
      }
      return made;
    }();
    ASSERT_EQ(Show(ReadEightDigits(text)), Show(ReadSlowly(text))) << text;
  }
}

TEST(EightDigitsTest, EveryByteThatIsNoDigitIsRefusedInEveryPlace) {
  for (size_t place = 0; place < 8; ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = "99999999";
      text[place] = static_cast<char>(byte);
      ASSERT_EQ(Show(ReadEightDigits(text)), Show(ReadSlowly(text))) << text;
    }
  }
}

}  // namespace
}  // namespace penstock::core
