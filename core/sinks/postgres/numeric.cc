#include "core/sinks/postgres/numeric.h"

#include "core/contract/sink_error.h"
#include "core/sinks/postgres/binary_field.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::core {
namespace {

constexpr uint16_t kPositive = 0x0000;
constexpr uint16_t kNegative = 0x4000;
constexpr uint16_t kNan = 0xC000;
constexpr uint16_t kInfinity = 0xD000;
constexpr uint16_t kMinusInfinity = 0xF000;
// A base-10000 digit is four of ours.
constexpr int64_t kGroup = 4;
// NUMERIC_DSCALE_MAX, and the documented limit before the point.
constexpr int64_t kScaleMax = 16'383;
constexpr int64_t kWholeDigitsMax = 131'072;

void AppendSpecial(uint16_t sign, FrameBuffer& out) {
  AppendBig<uint32_t>(8, out);
  AppendBig<uint16_t>(0, out);
  AppendBig<uint16_t>(0, out);
  AppendBig<uint16_t>(sign, out);
  AppendBig<uint16_t>(0, out);
}

// A literal taken apart; digits are those of `whole`, then of `fraction`.
struct Literal {
  bool negative = false;
  absl::string_view whole;
  absl::string_view fraction;
  int64_t exponent = 0;

  size_t size() const { return whole.size() + fraction.size(); }
  int Digit(size_t i) const {
    return (i < whole.size() ? whole[i] : fraction[i - whole.size()]) - '0';
  }
};

absl::string_view TakeDigits(absl::string_view& text) {
  size_t digits = 0;
  while (digits < text.size() &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[digits]))) {
    ++digits;
  }
  const absl::string_view taken = text.substr(0, digits);
  text.remove_prefix(digits);
  return taken;
}

bool Parse(absl::string_view text, Literal& literal) {
  literal.negative = absl::ConsumePrefix(&text, "-");
  if (!literal.negative) absl::ConsumePrefix(&text, "+");
  literal.whole = TakeDigits(text);
  if (absl::ConsumePrefix(&text, ".")) literal.fraction = TakeDigits(text);
  if (literal.size() == 0) return false;
  if (absl::ConsumePrefix(&text, "e") || absl::ConsumePrefix(&text, "E")) {
    const bool down = absl::ConsumePrefix(&text, "-");
    if (!down) absl::ConsumePrefix(&text, "+");
    const absl::string_view digits = TakeDigits(text);
    int32_t exponent = 0;
    if (!absl::SimpleAtoi(digits, &exponent)) return false;
    literal.exponent = down ? -exponent : exponent;
  }
  return text.empty();
}

absl::Status TooLarge(absl::string_view literal) {
  return MakeRowRefused(absl::StrCat(
      "the decimal ", literal.substr(0, 40), literal.size() > 40 ? "..." : "",
      " has more digits than numeric holds: 131072 before and "
      "16383 after the point"));
}

}  // namespace

absl::Status AppendNumeric(absl::string_view text, std::optional<int> scale,
                           FrameBuffer& out) {
  if (text == "NaN") return AppendSpecial(kNan, out), absl::OkStatus();
  if (text == "Infinity") {
    return AppendSpecial(kInfinity, out), absl::OkStatus();
  }
  if (text == "-Infinity") {
    return AppendSpecial(kMinusInfinity, out), absl::OkStatus();
  }
  Literal literal;
  if (!Parse(text, literal)) {
    return MakeRowRefused(
        absl::StrCat("\"", text.substr(0, 40), "\" is no decimal"));
  }
  // Significant digits are [first, end); the point stands before digit
  // `point`, which may lie outside of them on either side.
  size_t first = 0;
  size_t end = literal.size();
  while (first < end && literal.Digit(first) == 0) ++first;
  while (end > first && literal.Digit(end - 1) == 0) --end;
  const int64_t point =
      static_cast<int64_t>(literal.whole.size()) + literal.exponent;
  const int64_t dscale =
      std::max<int64_t>(0, static_cast<int64_t>(literal.size()) - point);
  const bool is_zero = first == end;
  const int64_t whole_digits =
      is_zero ? 0 : point - static_cast<int64_t>(first);
  if (dscale > kScaleMax || whole_digits > kWholeDigitsMax) {
    return TooLarge(text);
  }
  if (!is_zero && scale.has_value() &&
      static_cast<int64_t>(end) - point > *scale) {
    return MakeRowRefused(absl::StrCat(
        "the decimal ", text.substr(0, 40), " has more than ", *scale,
        " digits after the point, which is what the column keeps"));
  }
  // Index of the base-10000 digit that holds digit i: rounded down.
  const auto group_of = [point](int64_t i) {
    const int64_t before = point - i - 1;
    return before >= 0 ? before / kGroup : -((-before + kGroup - 1) / kGroup);
  };
  const int64_t weight = is_zero ? 0 : group_of(static_cast<int64_t>(first));
  const int64_t lowest = is_zero ? 1 : group_of(static_cast<int64_t>(end) - 1);
  const auto groups = static_cast<size_t>(weight - lowest + 1);
  const size_t bytes = 8 + 2 * groups;
  char* const at = out.Reserve(4 + bytes);
  StoreBig(static_cast<uint32_t>(bytes), at);
  StoreBig(static_cast<uint16_t>(groups), at + 4);
  StoreBig(static_cast<uint16_t>(weight), at + 6);
  StoreBig(literal.negative && !is_zero ? kNegative : kPositive, at + 8);
  StoreBig(static_cast<uint16_t>(dscale), at + 10);
  size_t digit = first;
  for (size_t group = 0; group < groups; ++group) {
    // The place, counted from the point, of the group's first digit.
    const int64_t top = (weight - static_cast<int64_t>(group) + 1) * kGroup;
    uint16_t value = 0;
    for (int64_t place = top; place > top - kGroup; --place) {
      value = static_cast<uint16_t>(value * 10);
      if (digit < end && point - static_cast<int64_t>(digit) == place) {
        value = static_cast<uint16_t>(value + literal.Digit(digit++));
      }
    }
    StoreBig(value, at + 12 + 2 * group);
  }
  out.Commit(4 + bytes);
  return absl::OkStatus();
}

}  // namespace penstock::core
