// Where the values of a stream of JSON begin and end.
// See core/format/README.md.
#pragma once

#include "core/format/ndjson/json_token.h"

#include <absl/strings/string_view.h>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::core {

// Walks over values that stand one behind the other, or in an array, and finds
// the end of each. It judges no value: it follows strings and brackets, and
// what may stand where only so far as to find the way back from a bad one.
//
// A unit is what one step takes:
//   ,  value      a further element of an array (blanks may stand anywhere)
//   [  value      its first element
//      value      a value by itself
//   ]  or  [ ]    an end
//   ,  or  [      a value is missing, if a comma or the wrong bracket follows
// Behind each unit the walk starts over, and knows nothing of what was before:
// so a stream can be entered there. That is why it is not counted whether an
// array was begun, and why an array inside of an array is told from one by
// itself: the first stands behind a comma or a bracket.
//
// A value ends
//   - an array or object with its last bracket; a bracket that closes the wrong
//     kind closes what was left open in between;
//   - before a ']' that closes nothing in it, behind such a '}';
//   - before a '{' or '[' that begins a line where no value may stand: a
//     bracket was forgotten there;
//   - a string with its quote, or before a line end;
//   - anything else before a blank, a quote, a comma or a bracket.
//
// Owner:   a splitter, or a Parse call. Threads: thread-compatible.
// Bound:   its own size, for any nesting.
class ValueScanner {
 public:
  enum class Kind : uint8_t {
    // A value, good or bad.
    kValue,
    // None, and none is missing.
    kNone,
    // None where one must come.
    kMissing,
  };

  // Goes on at text[at] until the unit ends. Returns where: at the byte behind
  // it. nullopt: not in `text`; the next call goes on at the next one's
  // beginning.
  // Requires: at < text.size().
  std::optional<size_t> Next(absl::string_view text, size_t at);

  // Whether nothing but blanks was seen since the last unit ended.
  bool IsBetween() const { return state_ == State::kBetween; }

  // Of the unit that ended last, or that the text's end cuts off.
  Kind kind() const { return kind_; }
  // Where its value begins in the text in which it does. Requires: kValue.
  size_t value_begin() const { return value_begin_; }

 private:
  enum class State : uint8_t {
    kBetween,
    kBehindOpen,
    kBehindComma,
    // In an array or object; in a string by itself; in what is neither.
    kNested,
    kString,
    kToken,
  };
  // What may stand next in an array or object, besides its end.
  enum class Expected : uint8_t { kValue, kName, kColon, kSeparator };

  // Each handles text[at_]. True: the unit ended, at_ is behind it.
  bool StepOutside();
  bool BeginValue();
  bool StepNested();
  bool PassString();
  bool Open(char bracket);
  bool Close(char bracket);
  void ExpectAfterScalar() {
    expected_ =
        expected_ == Expected::kName ? Expected::kColon : Expected::kSeparator;
  }
  bool TopIsObject() const {
    return depth_ > 0 && depth_ <= kJsonDepthMax && is_object_[depth_ - 1];
  }

  State state_ = State::kBetween;
  Kind kind_ = Kind::kNone;
  Expected expected_ = Expected::kValue;
  bool in_string_ = false;
  bool is_escaped_ = false;
  bool in_token_ = false;
  // The token is a byte that begins none: it ends before the next byte, too, so
  // that no byte ends two values.
  bool is_single_ = false;
  // Only blanks since the last line end.
  bool is_line_start_ = false;
  // Open brackets; of those beyond kJsonDepthMax the kind is not known.
  uint64_t depth_ = 0;
  std::bitset<kJsonDepthMax> is_object_;
  size_t value_begin_ = 0;

  // Of the call under way.
  absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace penstock::core
