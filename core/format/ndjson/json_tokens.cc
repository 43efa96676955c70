#include "core/format/ndjson/json_tokens.h"

#include <algorithm>

namespace penstock::core {

absl::string_view ScannedTokens::TakeString() {
  const size_t begin = at_ + 1;
  size_t end = text_.find_first_of("\"\\", begin);
  // What a backslash stands before ends nothing.
  while (text_[end] == '\\') end = text_.find_first_of("\"\\", end + 2);
  at_ = end;
  Skip();
  return text_.substr(begin, end - begin);
}

absl::string_view ScannedTokens::TakeScalar() {
  const size_t begin = at_;
  at_ = std::min(text_.find_first_of(",]} \t\r\n", begin), text_.size());
  const absl::string_view scalar = text_.substr(begin, at_ - begin);
  SkipBlanks();
  return scalar;
}

absl::string_view ScannedTokens::TakeValue() {
  const size_t begin = at_;
  size_t depth = 0;
  size_t end = begin;
  do {
    switch (Peek()) {
      case '{':
      case '[':
        ++depth;
        end = at_ + 1;
        Skip();
        break;
      case '}':
      case ']':
        --depth;
        end = at_ + 1;
        Skip();
        break;
      case ',':
      case ':':
        Skip();
        break;
      case '"': {
        const absl::string_view content = TakeString();
        end = static_cast<size_t>(content.data() - text_.data()) +
              content.size() + 1;
        break;
      }
      default: {
        const absl::string_view scalar = TakeScalar();
        end = static_cast<size_t>(scalar.data() - text_.data()) + scalar.size();
      }
    }
  } while (depth > 0);
  return text_.substr(begin, end - begin);
}

}  // namespace penstock::core
