#include "core/format/csv/special_bytes.h"

#include "core/base/check.h"

#include <algorithm>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace penstock::core {
namespace {

constexpr size_t kWordBytes = 64;
constexpr uint64_t kLastBit = uint64_t{1} << 63;

// How many places are written at once, needed or not.
constexpr int AtOnce(int sought) { return sought > 2 ? 8 : 2; }

// Appends the places of the bits, some at once: no branch depends on where they
// are, and hardly any on how many there are.
template <int kAtOnce>
[[gnu::always_inline]] inline uint32_t* AddOffsets(uint64_t bits, uint32_t base,
                                                   uint32_t* to) {
  while (bits != 0) {
    uint32_t* const end = to + __builtin_popcountll(bits);
    for (int i = 0; i < kAtOnce; ++i) {
      // Where none is left it is the last bit, which nobody will look at.
      *to++ = base + static_cast<uint32_t>(__builtin_ctzll(bits | kLastBit));
      bits &= bits - 1;
    }
    if (bits == 0) to = end;
  }
  return to;
}

#ifdef __x86_64__

// What each processor of this kind has.
template <int kCount>
uint32_t* IndexAny(const char* bytes, size_t size, const char* sought,
                   uint32_t base, uint32_t* to) {
  __m128i each[kCount];
  for (int i = 0; i < kCount; ++i) each[i] = _mm_set1_epi8(sought[i]);
  for (size_t at = 0; at < size; at += kWordBytes) {
    uint64_t bits = 0;
    for (size_t part = 0; part < kWordBytes; part += 16) {
      const __m128i all =
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + at + part));
      __m128i found = _mm_cmpeq_epi8(all, each[0]);
      for (int i = 1; i < kCount; ++i) {
        found = _mm_or_si128(found, _mm_cmpeq_epi8(all, each[i]));
      }
      const auto mask = static_cast<uint32_t>(_mm_movemask_epi8(found));
      bits |= uint64_t{mask} << part;
    }
    to = AddOffsets<AtOnce(kCount)>(bits, base + static_cast<uint32_t>(at), to);
  }
  return to;
}

// The same with registers of twice the size, and what counts bits.
#define PENSTOCK_AVX2 gnu::target("avx2,bmi,bmi2,popcnt")

template <int kCount>
[[PENSTOCK_AVX2]] uint32_t* IndexAvx2(const char* bytes, size_t size,
                                      const char* sought, uint32_t base,
                                      uint32_t* to) {
  __m256i each[kCount];
  for (int i = 0; i < kCount; ++i) each[i] = _mm256_set1_epi8(sought[i]);
  for (size_t at = 0; at < size; at += kWordBytes) {
    uint64_t bits = 0;
    for (size_t part = 0; part < kWordBytes; part += 32) {
      const __m256i all = _mm256_loadu_si256(
          reinterpret_cast<const __m256i*>(bytes + at + part));
      __m256i found = _mm256_cmpeq_epi8(all, each[0]);
      for (int i = 1; i < kCount; ++i) {
        found = _mm256_or_si256(found, _mm256_cmpeq_epi8(all, each[i]));
      }
      const auto mask = static_cast<uint32_t>(_mm256_movemask_epi8(found));
      bits |= uint64_t{mask} << part;
    }
    to = AddOffsets<AtOnce(kCount)>(bits, base + static_cast<uint32_t>(at), to);
  }
  return to;
}

template <int kCount>
auto BestIndex() {
  static const bool has_avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  return has_avx2 ? IndexAvx2<kCount> : IndexAny<kCount>;
}

#else

template <int kCount>
uint32_t* IndexAny(const char* bytes, size_t size, const char* sought,
                   uint32_t base, uint32_t* to) {
  for (size_t at = 0; at < size; at += kWordBytes) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < kWordBytes; ++i) {
      bool found = false;
      for (int k = 0; k < kCount; ++k) found |= bytes[at + i] == sought[k];
      bits |= uint64_t{found} << i;
    }
    to = AddOffsets<AtOnce(kCount)>(bits, base + static_cast<uint32_t>(at), to);
  }
  return to;
}

template <int kCount>
auto BestIndex() {
  return IndexAny<kCount>;
}

#endif

}  // namespace

CsvSpecialBytes::CsvSpecialBytes(const CsvDialect& dialect, Fields fields) {
  int count = 0;
  const auto seek = [&](char byte) { sought_[count++] = byte; };
  seek('\n');
  seek(dialect.quote.value_or('\n'));
  if (fields == Fields::kFound) {
    seek('\r');
    seek(dialect.delimiter);
  }
  if (dialect.escape == CsvEscape::kBackslash) {
    while (count < kSoughtMax) seek('\\');
  }
  index_ = IndexFor(count);
}

CsvSpecialBytes::Index CsvSpecialBytes::IndexFor(int sought) {
  switch (sought) {
    case 2:
      return BestIndex<2>();
    case 4:
      return BestIndex<4>();
    default:
      CHECK_EQ(sought, kSoughtMax);
      return BestIndex<kSoughtMax>();
  }
}

CsvSpecialBytes::Place CsvSpecialBytes::FindWindow(uint32_t begin) {
  const auto size = static_cast<uint32_t>(text_.size());
  uint32_t* end = offsets_;
  while (end == offsets_ && begin < size) {
    const uint32_t left = std::min(kWindowBytes, size - begin);
    const uint32_t words = left - left % kWordBytes;
    end = index_(text_.data() + begin, words, sought_, begin, end);
    begin += words;
    if (words == left) continue;
    // What stands behind the text is not of it.
    char last[kWordBytes] = {};
    std::memcpy(last, text_.data() + begin, left - words);
    uint32_t* const behind = index_(last, sizeof(last), sought_, begin, end);
    while (end < behind && *end < size) ++end;
    begin = size;
  }
  if (end == offsets_) *end++ = size;
  return {
      .next = offsets_, .end = end, .window_end = begin, .windows = ++windows_};
}

void CsvSpecialBytes::GoBack(const Place& place, uint32_t at) {
  if (place.windows == windows_) {
    place_ = place;
    return;
  }
  // The offsets are those of a later window by now.
  place_ = {.window_end = at - at % kWordBytes};
  while (NextFrom(place_) < at) {
  }
  --place_.next;
}

}  // namespace penstock::core
