#include "core/format/ndjson/structural_walker.h"

#include "core/base/check.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace penstock::core {
namespace {

enum class Container : uint8_t { kObject, kArray };

// Texts are indexed in pieces, so room is made in steps.
constexpr size_t kCapacityMin = size_t{64} << 10;

// Decides what is plain to see of a number of at most 16 bytes: digits only, or
// digits with a point in between, perhaps with a sign before them. False: not
// plain to see. Requires: 16 readable bytes, 0 < size <= 16.
#ifdef __SSE2__
inline bool IsPlainNumber(const char* number, uint32_t size) {
  const __m128i bytes =
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(number));
  const __m128i value = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
  const __m128i is_digit =
      _mm_cmpeq_epi8(_mm_min_epu8(value, _mm_set1_epi8(9)), value);
  const auto digits = static_cast<uint32_t>(_mm_movemask_epi8(is_digit));
  const uint32_t sign = *number == '-' ? 1 : 0;
  // Bytes behind the sign that are no digits.
  const uint32_t others = ~digits & ((uint32_t{1} << size) - 1) & ~sign;
  const uint32_t unsigned_digits = digits >> sign;
  if ((unsigned_digits & 1) == 0) return false;
  const bool leading_zero =
      number[sign] == '0' && (unsigned_digits & 2) != 0 && size > sign + 1;
  if (leading_zero) return false;
  if (others == 0) return true;
  // More than one (std::has_single_bit counts bits, by a call).
  if ((others & (others - 1)) != 0) return false;
  const auto point = static_cast<uint32_t>(std::countr_zero(others));
  return number[point] == '.' && point + 1 < size;
}
#else
inline bool IsPlainNumber(const char* /*number*/, uint32_t /*size*/) {
  return false;
}
#endif

}  // namespace

StructuralWalker::StructuralWalker() = default;
StructuralWalker::~StructuralWalker() = default;

bool StructuralWalker::Index(absl::string_view text, size_t readable) {
  CHECK_LE(text.size(), std::min(kTextMax, readable));
  if (stage_ == nullptr) {
    CHECK_EQ(
        simdjson::get_active_implementation()->create_dom_parser_implementation(
            kCapacityMin, 1, stage_),
        simdjson::SUCCESS);
  }
  if (stage_->capacity() < text.size()) {
    const size_t capacity = std::bit_ceil(text.size());
    CHECK_EQ(stage_->allocate(capacity, 1), simdjson::SUCCESS);
  }
  const simdjson::error_code error =
      stage_->stage1(reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                     simdjson::stage1_mode::regular);
  // Blank lines only are EMPTY.
  if (error != simdjson::SUCCESS && error != simdjson::EMPTY) return false;
  // There is room for it: simdjson puts sentinels of its own there.
  stage_->structural_indexes[stage_->n_structural_indexes] =
      static_cast<uint32_t>(text.size());
  next_ = stage_->structural_indexes.get();
  text_ = text;
  wide_end_ = readable < 16 ? 0 : readable - 15;
  return true;
}

bool StructuralWalker::IsGood(uint32_t end, KeyTracker* key) {
  return key == nullptr ? Walk<false>(end, nullptr) : Walk<true>(end, key);
}

// The grammar of RFC 8259 as a state machine; a label is a state. Each index is
// checked against `end` before the byte there is looked at, so that a broken
// line cannot run into the next one.
template <bool kHasKey>
bool StructuralWalker::Walk(uint32_t end, KeyTracker* key) {
  const char* const text = text_.data();
  const uint32_t* next = next_;
  std::array<Container, kJsonDepthMax + 1> open;
  uint32_t depth = 0;
  KeyTracker::Member member = KeyTracker::Member::kElsewhere;
  uint32_t at = *next++;
  if (text[at] == '{') goto object_begin;
  if (text[at] == '[') goto array_begin;
  if (!ScalarIsGood(at, std::min(*next, end))) return false;
  goto done;

object_begin:
  if (++depth > kJsonDepthMax) return false;
  open[depth] = Container::kObject;
  at = *next;
  if (at >= end) return false;
  if (text[at] == '}') {
    ++next;
    goto object_end;
  }
object_member : {
  const uint32_t name = *next++;
  if (name >= end || text[name] != '"') return false;
  const uint32_t colon = *next++;
  if (colon >= end || text[colon] != ':') return false;
  if constexpr (kHasKey) member = key->OnMember(depth, NameAt(name, colon));
}
  at = *next++;
  if (at >= end) return false;
  if (text[at] == '{') {
    if constexpr (kHasKey) key->OnObject(member);
    goto object_begin;
  }
  if (text[at] == '[') goto array_begin;
  if (text[at] != '"' && !ScalarIsGood(at, *next)) return false;
  if constexpr (kHasKey) {
    if (member == KeyTracker::Member::kKey) key->OnKey(ScalarAt(at, *next), at);
  }
object_next:
  at = *next++;
  if (at >= end) return false;
  if (text[at] == ',') goto object_member;
  if (text[at] != '}') return false;
object_end:
  if constexpr (kHasKey) key->OnObjectEnd(depth);
container_end:
  if (--depth == 0) goto done;
  if (open[depth] == Container::kObject) goto object_next;
  goto array_next;

array_begin:
  if (++depth > kJsonDepthMax) return false;
  open[depth] = Container::kArray;
  at = *next;
  if (at >= end) return false;
  if (text[at] == ']') {
    ++next;
    goto container_end;
  }
array_value:
  at = *next++;
  if (at >= end) return false;
  if (text[at] == '{') goto object_begin;
  if (text[at] == '[') goto array_begin;
  if (text[at] != '"' && !ScalarIsGood(at, *next)) return false;
array_next:
  at = *next++;
  if (at >= end) return false;
  if (text[at] == ',') goto array_value;
  if (text[at] != ']') return false;
  goto container_end;

done:
  next_ = next;
  return *next >= end;
}

template <size_t kSize>
bool StructuralWalker::LiteralIsGood(const char (&literal)[kSize],
                                     uint32_t begin, uint32_t next) const {
  constexpr size_t kLength = kSize - 1;
  const size_t size = next - begin;
  if (size < kLength) return false;
  const char* const found = text_.data() + begin;
  // Of a size known here it is no call.
  if (std::memcmp(found, literal, kLength) != 0) return false;
  return size == kLength || IsJsonBlank({found + kLength, size - kLength});
}

// A scalar begins at `begin`; nothing but white space follows it before `next`,
// if it is good.
inline bool StructuralWalker::ScalarIsGood(uint32_t begin,
                                           uint32_t next) const {
  switch (text_[begin]) {
    case '"':
      // It ends, in the text and on its line: stage 1 saw to that. What could
      // follow it has an index of its own.
      return true;
    case 't':
      return LiteralIsGood("true", begin, next);
    case 'f':
      return LiteralIsGood("false", begin, next);
    case 'n':
      return LiteralIsGood("null", begin, next);
    default:
      return NumberIsGood(begin, next);
  }
}

inline bool StructuralWalker::NumberIsGood(uint32_t begin,
                                           uint32_t next) const {
  const uint32_t size = next - begin;
  if (size <= 16 && begin < wide_end_ &&
      IsPlainNumber(text_.data() + begin, size)) [[likely]] {
    return true;
  }
  const absl::string_view rest = text_.substr(begin, size);
  const JsonNumber number = ReadJsonNumber(rest);
  return number.fault == JsonFault::kNone &&
         IsJsonBlank(rest.substr(number.size));
}

inline absl::string_view StructuralWalker::ScalarAt(uint32_t begin,
                                                    uint32_t next) const {
  absl::string_view scalar = text_.substr(begin, next - begin);
  while (IsJsonBlank(scalar.back())) scalar.remove_suffix(1);
  return scalar;
}

inline absl::string_view StructuralWalker::NameAt(uint32_t begin,
                                                  uint32_t colon) const {
  uint32_t end = colon;
  while (text_[end - 1] != '"') --end;
  return text_.substr(begin + 1, end - begin - 2);
}

}  // namespace penstock::core
