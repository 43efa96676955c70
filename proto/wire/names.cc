#include "proto/wire/names.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <cstddef>

namespace penstock::wire {
namespace {

bool HasLength(absl::string_view text, size_t min, size_t max) {
  return text.size() >= min && text.size() <= max;
}

bool IsAlnum(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c));
}

}  // namespace

bool IsName(absl::string_view text) {
  return HasLength(text, 1, 128) && IsAlnum(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return IsAlnum(c) || c == '.' || c == '_' || c == '-';
         });
}

bool IsNonce(absl::string_view text) {
  return HasLength(text, 8, 64) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isprint(static_cast<unsigned char>(c));
         });
}

bool IsIncarnation(absl::string_view text) {
  return HasLength(text, 8, 64) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlnum(c) || c == '_' || c == '-'; });
}

}  // namespace penstock::wire
