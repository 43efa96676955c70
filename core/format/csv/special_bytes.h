// Finds the bytes of a text that mean something in CSV, many at a time.
#pragma once

#include "core/contract/parser.h"
#include "core/format/csv/config.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>

namespace penstock::core {

// At the beginning of an input it stands for nothing.
inline constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

// From how many bytes on a record without end is given up. A parser sees as
// many of each, whatever a source leaves out (Parser::RecordBytesMax).
constexpr size_t CsvOpenBytesMax(size_t record_bytes_max) {
  return record_bytes_max + Parser::kFramingBytesMax;
}

// Gives the offsets of delimiters, quotes, CR, LF and, where they escape,
// backslashes, one after the other: 64 bytes become one word of bits, and some
// of those words a list of offsets, so that the bytes between them cost next to
// nothing and no branch depends on where they are.
//
// Owner:    a scanner or splitter. Threads: thread-compatible.
// Lifetime: the text outlives its use.
// Bound:    the offsets of one window.
class CsvSpecialBytes {
 public:
  enum class Fields { kFound, kPassedOver };

  // `fields`: whether delimiters and CR are looked for.
  CsvSpecialBytes(const CsvDialect& dialect, Fields fields);

  // How far it came in a window: what is left of its offsets.
  struct Place {
    const uint32_t* next = nullptr;
    const uint32_t* end = nullptr;
    // Behind the window, and how many there were before and with it.
    uint32_t window_end = 0;
    uint32_t windows = 0;
  };

  // Starts over at the beginning of `text`. Requires: text.size() < 2^32.
  void Begin(absl::string_view text) {
    text_ = text;
    place_ = {};
  }

  // The next one, which is passed then; text.size() if there is none.
  uint32_t Next() { return NextFrom(place_); }

  // The same from a place of one's own, which GoTo makes this one's.
  // Inline always: it runs for every field.
  [[gnu::always_inline]] uint32_t NextFrom(Place& place) {
    if (place.next == place.end) [[unlikely]] {
      place = FindWindow(place.window_end);
    }
    return *place.next++;
  }
  const Place& place() const { return place_; }
  void GoTo(const Place& place) { place_ = place; }

  // Goes back to a place from before; the next one is the first from `at` on.
  void GoBack(const Place& place, uint32_t at);

 private:
  static constexpr uint32_t kWordBytes = 64;
  static constexpr uint32_t kWindowBytes = 1024;
  // How many offsets may be written behind those that there are.
  static constexpr uint32_t kSpare = 8;
  static constexpr int kSoughtMax = 5;

  // Writes the offsets of words to `to`: `base` plus the place in `bytes`.
  // Requires: `size` is a multiple of kWordBytes.
  // Returns: behind the last one.
  using Index = uint32_t* (*)(const char* bytes, size_t size,
                              const char* sought, uint32_t base, uint32_t* to);
  // What this processor does best.
  static Index IndexFor(int sought);

  // The first window from `begin` on that has some in it; behind the last one
  // one with the text's end. Requires: begin is that of a word.
  Place FindWindow(uint32_t begin);

  // Each once.
  char sought_[kSoughtMax] = {};
  Index index_ = nullptr;
  absl::string_view text_;
  Place place_;
  // So many windows were found; the offsets are the last one's.
  uint32_t windows_ = 0;
  uint32_t offsets_[kWindowBytes + kSpare];
};

}  // namespace penstock::core
