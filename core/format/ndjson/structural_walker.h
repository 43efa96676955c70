// The fast way to tell that a line is good JSON.
#pragma once

#include "core/format/ndjson/json_token.h"
#include "core/format/ndjson/key_path.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace simdjson::internal {
class dom_parser_implementation;
}  // namespace simdjson::internal

namespace penstock::core {

// Finds with simdjson's first stage, for many lines at once, where every brace,
// bracket, colon, comma and scalar begins, and walks each line's over the
// grammar. It builds nothing, converts no number and unescapes no string, which
// makes it twice as fast as the second stage of simdjson.
//
//   walker.Index(text)          text = whole lines
//   for each line, in order:    walker.IsGood(line end, ...), walker.SkipTo
//
// It has no false positives: what it calls good is good. What it does not call
// good, a LineChecker judges.
//
// Owner:     a parser. Threads: thread-compatible.
// Bound:     4 bytes per byte of the longest text indexed, at most kTextMax.
// Source:    Langdale, Lemire: "Parsing Gigabytes of JSON per Second", VLDB
//            Journal 28(6), 2019; the interface is that of simdjson 3.0.
class StructuralWalker {
 public:
  // Longest text that can be indexed.
  static constexpr size_t kTextMax = size_t{1} << 20;

  StructuralWalker();
  ~StructuralWalker();

  // Makes `text` the text of the calls below; the walk stands at its beginning.
  // `readable`: bytes that may be read from text.data() on, for speed.
  // False: somewhere in it there is bad UTF-8, or a string that does not end on
  // its line, or a control character in a string; nothing may follow then but
  // another Index.
  // Requires: whole lines, text.size() <= min(kTextMax, readable). Lifetime:
  // `text` outlives the walk.
  [[nodiscard]] bool Index(absl::string_view text, size_t readable);

  // Whether the line up to `end`, at whose beginning the walk stands, is blank.
  bool IsBlank(uint32_t end) const { return *next_ >= end; }

  // Whether that line is exactly one JSON value. Tells `key`, if there is one,
  // what it sees. It does not look into escapes: if there are any, whoever
  // calls has looked.
  // Requires: not blank; no line before it in the text ends in a backslash.
  // Ensures: on true the walk stands behind the line.
  [[nodiscard]] bool IsGood(uint32_t end, KeyTracker* key);

  // Where the walk stands: the next index, and all behind it, of the text.
  // Lifetime: until the next Index.
  const uint32_t* place() const { return next_; }

  // Moves the walk to the line that begins at `begin`, at or behind where it
  // stands.
  void SkipTo(uint32_t begin) {
    while (*next_ < begin) ++next_;
  }

 private:
  template <bool kHasKey>
  bool Walk(uint32_t end, KeyTracker* key);
  bool ScalarIsGood(uint32_t begin, uint32_t next) const;
  bool NumberIsGood(uint32_t begin, uint32_t next) const;
  template <size_t kSize>
  bool LiteralIsGood(const char (&literal)[kSize], uint32_t begin,
                     uint32_t next) const;
  absl::string_view ScalarAt(uint32_t begin, uint32_t next) const;
  absl::string_view NameAt(uint32_t begin, uint32_t colon) const;

  std::unique_ptr<simdjson::internal::dom_parser_implementation> stage_;
  absl::string_view text_;
  // Where 16 bytes may still be read at once: below this.
  size_t wide_end_ = 0;
  // The next structural index; the last is followed by text_.size().
  const uint32_t* next_ = nullptr;
};

}  // namespace penstock::core
