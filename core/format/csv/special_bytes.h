// Finds the bytes of a text that mean something in CSV, many at a time.
#pragma once

#include "core/contract/parser.h"
#include "core/format/csv/config.h"

#include <absl/strings/string_view.h>

#include <bit>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace penstock::core {

// At the beginning of an input it stands for nothing.
inline constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

// From how many bytes on a record without end is given up. A parser sees as
// many of each, whatever a source leaves out (Parser::RecordBytesMax).
constexpr size_t CsvOpenBytesMax(size_t record_bytes_max) {
  return record_bytes_max + Parser::kFramingBytesMax;
}

// Gives the offsets of delimiters, quotes, CR, LF and, where they escape,
// backslashes, one after the other: 64 bytes become one word of bits, so that
// the bytes between them cost next to nothing.
//
// Owner:    a scanner or splitter. Threads: thread-compatible.
// Lifetime: the text outlives its use.
class CsvSpecialBytes {
 public:
  enum class Fields { kFound, kPassedOver };

  // `fields`: whether delimiters and CR are looked for.
  CsvSpecialBytes(const CsvDialect& dialect, Fields fields) {
    Seek('\n');
    Seek(dialect.quote.value_or('\n'));
    if (fields == Fields::kFound) {
      Seek('\r');
      Seek(dialect.delimiter);
    }
    if (dialect.escape == CsvEscape::kBackslash) {
      while (count_ < kSoughtMax) Seek('\\');
    }
  }

  // How far it came.
  struct Place {
    // Of the word that is looked at, and its bits that are left.
    uint32_t base = 0;
    uint64_t bits = 0;
  };

  // Starts over at the beginning of `text`. Requires: text.size() < 2^32.
  void Begin(absl::string_view text) {
    text_ = text;
    place_ = {.base = 0, .bits = text.empty() ? 0 : BitsAt(0)};
  }

  // The next one, which is passed then; text.size() if there is none.
  uint32_t Next() { return NextFrom(place_); }

  // The same from a place of one's own, which GoTo makes this one's.
  // Inline always: it runs for every field.
  [[gnu::always_inline]] uint32_t NextFrom(Place& place) const {
    if (place.bits == 0 && !FindWord(place)) {
      return static_cast<uint32_t>(text_.size());
    }
    const auto bit = static_cast<uint32_t>(std::countr_zero(place.bits));
    place.bits &= place.bits - 1;
    return place.base + bit;
  }
  const Place& place() const { return place_; }
  void GoTo(const Place& place) { place_ = place; }

 private:
  static constexpr uint32_t kWordBytes = 64;

  // Goes on to a word with some in it. False: there is none.
  [[gnu::noinline]] bool FindWord(Place& place) const {
    do {
      if (text_.size() - place.base <= kWordBytes) {
        place.base = static_cast<uint32_t>(text_.size());
        return false;
      }
      place.base += kWordBytes;
      place.bits = BitsAt(place.base);
    } while (place.bits == 0);
    return true;
  }

  // Requires: begin < text_.size().
  uint64_t BitsAt(uint32_t begin) const {
    const size_t left = text_.size() - begin;
    if (left >= kWordBytes) return BitsOf(text_.data() + begin);
    char last[kWordBytes] = {};
    std::memcpy(last, text_.data() + begin, left);
    return BitsOf(last) & ((uint64_t{1} << left) - 1);
  }

  uint64_t BitsOf(const char* bytes) const {
    switch (count_) {
      case 2:
        return BitsOf<2>(bytes);
      case 4:
        return BitsOf<4>(bytes);
      default:
        return BitsOf<kSoughtMax>(bytes);
    }
  }

#ifdef __SSE2__
  using Sought = __m128i;

  void Seek(char byte) { sought_[count_++] = _mm_set1_epi8(byte); }

  template <int kCount>
  uint64_t BitsOf(const char* bytes) const {
    uint64_t bits = 0;
    for (uint32_t part = 0; part < kWordBytes; part += 16) {
      const __m128i all =
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + part));
      __m128i found = _mm_cmpeq_epi8(all, sought_[0]);
      for (int i = 1; i < kCount; ++i) {
        found = _mm_or_si128(found, _mm_cmpeq_epi8(all, sought_[i]));
      }
      const auto mask = static_cast<uint32_t>(_mm_movemask_epi8(found));
      bits |= uint64_t{mask} << part;
    }
    return bits;
  }
#else
  using Sought = char;

  void Seek(char byte) { sought_[count_++] = byte; }

  template <int kCount>
  uint64_t BitsOf(const char* bytes) const {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < kWordBytes; ++i) {
      bool found = false;
      for (int k = 0; k < kCount; ++k) found |= bytes[i] == sought_[k];
      bits |= uint64_t{found} << i;
    }
    return bits;
  }
#endif

  static constexpr int kSoughtMax = 5;
  Sought sought_[kSoughtMax] = {};
  int count_ = 0;
  absl::string_view text_;
  Place place_;
};

}  // namespace penstock::core
