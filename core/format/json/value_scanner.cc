#include "core/format/json/value_scanner.h"

#include "core/base/check.h"

namespace penstock::core {
namespace {

bool EndsToken(char c) {
  switch (c) {
    case ' ':
    case '\t':
    case '\r':
    case '\n':
    case '"':
    case ',':
    case ':':
    case '[':
    case ']':
    case '{':
    case '}':
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<size_t> ValueScanner::Next(absl::string_view text, size_t at) {
  DCHECK_LT(at, text.size());
  text_ = text;
  at_ = at;
  while (at_ < text_.size()) {
    bool ended = false;
    switch (state_) {
      case State::kBetween:
      case State::kBehindOpen:
      case State::kBehindComma:
        ended = StepOutside();
        break;
      case State::kNested:
        ended = StepNested();
        break;
      case State::kString:
        ended = PassString();
        break;
      case State::kToken:
        while (!is_single_ && at_ < text_.size() && !EndsToken(text_[at_])) {
          ++at_;
        }
        ended = at_ < text_.size();
        break;
    }
    if (!ended) continue;
    state_ = State::kBetween;
    return at_;
  }
  return std::nullopt;
}

bool ValueScanner::StepOutside() {
  const char c = text_[at_];
  if (IsJsonBlank(c)) {
    ++at_;
    return false;
  }
  if (state_ == State::kBetween) {
    kind_ = c == ']' ? Kind::kNone : Kind::kMissing;
    if (c == ',' || c == '[' || c == ']') {
      ++at_;
      state_ = c == ',' ? State::kBehindComma : State::kBehindOpen;
      return c == ']';
    }
    return BeginValue();
  }
  if (c == ']' && state_ == State::kBehindOpen) {
    ++at_;
    kind_ = Kind::kNone;
    return true;
  }
  // What is missing is missed before it.
  if (c == ',' || c == ']') return true;
  return BeginValue();
}

bool ValueScanner::BeginValue() {
  const char c = text_[at_];
  kind_ = Kind::kValue;
  value_begin_ = at_;
  if (c == '{' || c == '[') {
    state_ = State::kNested;
    depth_ = 0;
    in_string_ = in_token_ = is_line_start_ = false;
    expected_ = Expected::kValue;
    return Open(c);
  }
  ++at_;
  if (c == '"') {
    state_ = State::kString;
    in_string_ = true;
    is_escaped_ = false;
    return false;
  }
  state_ = State::kToken;
  is_single_ = c == '}' || c == ':';
  return false;
}

bool ValueScanner::StepNested() {
  if (in_string_) {
    PassString();
    return false;
  }
  const char c = text_[at_];
  if (IsJsonBlank(c)) {
    if (c == '\n') is_line_start_ = true;
    in_token_ = false;
    ++at_;
    return false;
  }
  if (c == '{' || c == '[') return Open(c);
  is_line_start_ = false;
  if (c == '}' || c == ']') return Close(c);
  ++at_;
  if (c == '"') {
    in_string_ = true;
    is_escaped_ = false;
    in_token_ = false;
    ExpectAfterScalar();
  } else if (c == ',') {
    in_token_ = false;
    expected_ = TopIsObject() ? Expected::kName : Expected::kValue;
  } else if (c == ':') {
    in_token_ = false;
    expected_ = Expected::kValue;
  } else if (!in_token_) {
    in_token_ = true;
    ExpectAfterScalar();
  }
  return false;
}

// True: it ended. A line end ends it, too, and is not passed.
bool ValueScanner::PassString() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      in_string_ = false;
      return true;
    }
    ++at_;
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (c == '\\') {
      is_escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      return true;
    }
  }
  return false;
}

bool ValueScanner::Open(char bracket) {
  if (is_line_start_ && expected_ != Expected::kValue) return true;
  ++at_;
  if (depth_ < kJsonDepthMax) is_object_[depth_] = bracket == '{';
  ++depth_;
  is_line_start_ = in_token_ = false;
  expected_ = TopIsObject() ? Expected::kName : Expected::kValue;
  return false;
}

bool ValueScanner::Close(char bracket) {
  in_token_ = false;
  uint64_t depth = depth_;
  if (depth <= kJsonDepthMax) {
    const bool is_object = bracket == '}';
    while (depth > 0 && is_object_[depth - 1] != is_object) --depth;
    // It closes nothing here: ']' may close the array around the value.
    if (depth == 0 && !is_object) return true;
    if (depth == 0) depth = 1;
  }
  ++at_;
  depth_ = depth - 1;
  expected_ = Expected::kSeparator;
  return depth_ == 0;
}

}  // namespace penstock::core
