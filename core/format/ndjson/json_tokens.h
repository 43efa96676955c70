// The tokens of a line that is known to be good, one after the other: by their
// indexes where there are some, otherwise byte by byte.
//
// Both classes have the same members and give the same tokens:
//   At         where the next token begins, from the line's first byte
//   Peek       its first byte
//   Skip       passes a brace, bracket, colon or comma
//   TakeString passes a string; what stands between its quotes, escapes and all
//   TakeScalar passes a number, true, false or null
//   TakeValue  passes a value of any kind; its text
// None is asked beyond the end of the line's value.
#pragma once

#include "core/format/ndjson/json_token.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>

namespace penstock::core {

// By indexes as StructuralWalker has them: of every brace, bracket, colon and
// comma and of where each scalar begins. Whatever follows the line in the text
// has indexes, too, or is the text's end, which has one.
//
// Threads: thread-compatible. Lifetime: a view of text and indexes.
class IndexedTokens {
 public:
  // The line begins at text[begin]; `next`: its first index.
  IndexedTokens(const char* text, uint32_t begin, const uint32_t* next)
      : text_(text), begin_(begin), next_(next) {}

  uint32_t At() const { return *next_ - begin_; }
  char Peek() const { return text_[*next_]; }
  void Skip() { ++next_; }

  absl::string_view TakeString() {
    const uint32_t begin = *next_++ + 1;
    // Only white space stands between the quote and the next index.
    uint32_t end = *next_ - 1;
    while (text_[end] != '"') --end;
    return {text_ + begin, end - begin};
  }

  absl::string_view TakeScalar() {
    const uint32_t begin = *next_++;
    uint32_t end = *next_;
    while (IsJsonBlank(text_[end - 1])) --end;
    return {text_ + begin, end - begin};
  }

  absl::string_view TakeValue() {
    const uint32_t begin = *next_;
    if (text_[begin] != '{' && text_[begin] != '[') return TakeScalar();
    uint32_t depth = 0;
    do {
      const char c = text_[*next_++];
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
    } while (depth > 0);
    return {text_ + begin, next_[-1] + 1 - begin};
  }

 private:
  const char* text_;
  uint32_t begin_;
  const uint32_t* next_;
};

// Byte by byte, which needs no memory.
//
// Threads: thread-compatible. Lifetime: a view of the text.
class ScannedTokens {
 public:
  // `text`: one good value, perhaps white space around it.
  explicit ScannedTokens(absl::string_view text) : text_(text) { SkipBlanks(); }

  uint32_t At() const { return static_cast<uint32_t>(at_); }
  char Peek() const { return text_[at_]; }
  void Skip() {
    ++at_;
    SkipBlanks();
  }
  absl::string_view TakeString();
  absl::string_view TakeScalar();
  absl::string_view TakeValue();

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && IsJsonBlank(text_[at_])) ++at_;
  }

  const absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace penstock::core
