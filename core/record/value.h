// One typed column value of a record: 16 bytes, exact, a view where it is long.
#pragma once

#include "core/base/check.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::core {

// What a Value holds. In memory only: the numbers are neither stored nor sent.
// 32 bits, so that nothing of a Value is padding: it is copied in two moves,
// and not byte by byte around a gap.
enum class ValueKind : uint32_t {
  kNull,
  kBool,
  kInt64,        // every signed integer width
  kUint64,       // every unsigned integer width
  kDouble,       // real and double
  kDecimal,      // the literal, digit for digit
  kString,       // UTF-8
  kBinary,       // any bytes
  kDate,         // days since 1970-01-01
  kTime,         // nanoseconds since midnight
  kTimestamp,    // microseconds (and nanoseconds of them), no zone
  kTimestamptz,  // the same, in UTC
  kUuid,         // 16 bytes, most significant first
  kArray,        // elements
  kMap,          // keys and values, alternating
  kStruct,       // fields in schema order
  kVariant,      // JSON text, byte for byte as it came
};

// "null", "bool", "int64" ...
absl::string_view ValueKindName(ValueKind kind);

// A column value. Small kinds are held, long ones are views.
//
// Threads:  thread-compatible; trivially copyable.
// Lifetime: views (decimal, string, binary, uuid, array, map, struct, variant)
//           live as long as the block or arena they were made over, that is,
//           as long as the record's batch.
// Errors:   reading a value as another kind than its own is a broken invariant
//           (CHECK).
// Bound:    a view is shorter than 4 GiB, or holds fewer than 2^32 values.
class Value {
 public:
  // Dates and timestamps that SQL calls infinity and -infinity.
  static constexpr int64_t kInfinity = INT64_MAX;
  static constexpr int64_t kMinusInfinity = INT64_MIN;

  // Null.
  constexpr Value() = default;

  static constexpr Value Null() { return Value(); }
  static constexpr Value Bool(bool value) {
    Value made(ValueKind::kBool);
    made.payload_.boolean = value;
    return made;
  }
  static constexpr Value Int64(int64_t value) {
    return Value(ValueKind::kInt64, value);
  }
  static constexpr Value Uint64(uint64_t value) {
    Value made(ValueKind::kUint64);
    made.payload_.uint64 = value;
    return made;
  }
  static constexpr Value Double(double value) {
    Value made(ValueKind::kDouble);
    made.payload_.real = value;
    return made;
  }
  // Shape: [+-]digits[.digits][e[+-]digits], or NaN, Infinity, -Infinity. The
  // scale is what the text says ("1.50" has scale 2); nothing is normalised.
  static Value Decimal(absl::string_view literal) {
    return Value(ValueKind::kDecimal, literal);
  }
  static Value String(absl::string_view text) {
    return Value(ValueKind::kString, text);
  }
  static Value Binary(absl::string_view bytes) {
    return Value(ValueKind::kBinary, bytes);
  }
  static constexpr Value Date(int64_t days) {
    return Value(ValueKind::kDate, days);
  }
  // Requires: 0 <= nanos <= 24 h (SQL allows 24:00:00).
  static Value Time(int64_t nanos) {
    CHECK(nanos >= 0 && nanos <= kNanosPerDay) << nanos;
    return Value(ValueKind::kTime, nanos);
  }
  // The moment `micros` plus `nanos` after 1970-01-01 00:00.
  // Requires: nanos < 1,000.
  static Value Timestamp(int64_t micros, uint32_t nanos = 0) {
    return Value(ValueKind::kTimestamp, micros, nanos);
  }
  static Value Timestamptz(int64_t micros, uint32_t nanos = 0) {
    return Value(ValueKind::kTimestamptz, micros, nanos);
  }
  // Requires: bytes.size() == 16.
  static Value Uuid(absl::string_view bytes) {
    CHECK_EQ(bytes.size(), kUuidBytes);
    return Value(ValueKind::kUuid, bytes);
  }
  static Value Array(std::span<const Value> elements) {
    return Value(ValueKind::kArray, elements);
  }
  // Requires: keys and values alternate, so an even number.
  static Value Map(std::span<const Value> keys_and_values) {
    CHECK_EQ(keys_and_values.size() % 2, size_t{0});
    return Value(ValueKind::kMap, keys_and_values);
  }
  static Value Struct(std::span<const Value> fields) {
    return Value(ValueKind::kStruct, fields);
  }
  static Value Variant(absl::string_view json) {
    return Value(ValueKind::kVariant, json);
  }

  ValueKind kind() const { return kind_; }
  bool is_null() const { return kind_ == ValueKind::kNull; }

  bool AsBool() const {
    Require(ValueKind::kBool);
    return payload_.boolean;
  }
  int64_t AsInt64() const {
    Require(ValueKind::kInt64);
    return payload_.int64;
  }
  uint64_t AsUint64() const {
    Require(ValueKind::kUint64);
    return payload_.uint64;
  }
  double AsDouble() const {
    Require(ValueKind::kDouble);
    return payload_.real;
  }
  absl::string_view AsDecimal() const {
    Require(ValueKind::kDecimal);
    return text();
  }
  absl::string_view AsString() const {
    Require(ValueKind::kString);
    return text();
  }
  absl::string_view AsBinary() const {
    Require(ValueKind::kBinary);
    return text();
  }
  // Days since 1970-01-01.
  int64_t AsDate() const {
    Require(ValueKind::kDate);
    return payload_.int64;
  }
  // Nanoseconds since midnight.
  int64_t AsTime() const {
    Require(ValueKind::kTime);
    return payload_.int64;
  }
  // Microseconds since the epoch; `nanos()` is what is finer.
  int64_t AsTimestamp() const {
    Require(ValueKind::kTimestamp);
    return payload_.int64;
  }
  int64_t AsTimestamptz() const {
    Require(ValueKind::kTimestamptz);
    return payload_.int64;
  }
  // Nanoseconds after the microsecond of a timestamp: 0 .. 999.
  uint32_t nanos() const {
    CHECK(kind_ == ValueKind::kTimestamp || kind_ == ValueKind::kTimestamptz)
        << ValueKindName(kind_);
    return size_;
  }
  // 16 bytes.
  absl::string_view AsUuid() const {
    Require(ValueKind::kUuid);
    return text();
  }
  std::span<const Value> AsArray() const {
    Require(ValueKind::kArray);
    return values();
  }
  // Keys at even, their values at odd places.
  std::span<const Value> AsMap() const {
    Require(ValueKind::kMap);
    return values();
  }
  std::span<const Value> AsStruct() const {
    Require(ValueKind::kStruct);
    return values();
  }
  // JSON text.
  absl::string_view AsVariant() const {
    Require(ValueKind::kVariant);
    return text();
  }

  // Same kind and same representation, all the way down: a NaN equals itself,
  // 0.0 differs from -0.0, and the decimals 1.0 and 1.00 differ, as do the
  // int64 1 and the uint64 1. This is the identity that exactness is tested
  // with, not SQL's comparison.
  friend bool operator==(const Value& a, const Value& b);

 private:
  static constexpr size_t kUuidBytes = 16;
  static constexpr int64_t kNanosPerDay = 86'400'000'000'000;

  constexpr explicit Value(ValueKind kind) : kind_(kind) {}
  constexpr Value(ValueKind kind, int64_t value) : kind_(kind) {
    payload_.int64 = value;
  }
  Value(ValueKind kind, int64_t micros, uint32_t nanos)
      : size_(nanos), kind_(kind) {
    CHECK_LT(nanos, 1'000u);
    payload_.int64 = micros;
  }
  // Inline always: it runs for every value, and one that is made out of line is
  // written in parts and read back as a whole, which waits.
  [[gnu::always_inline]] Value(ValueKind kind, absl::string_view text)
      : size_(static_cast<uint32_t>(text.size())), kind_(kind) {
    if (text.size() > size_t{UINT32_MAX}) [[unlikely]]
      FailSize(text.size());
    payload_.bytes = text.data();
  }
  Value(ValueKind kind, std::span<const Value> values)
      : size_(static_cast<uint32_t>(values.size())), kind_(kind) {
    if (values.size() > size_t{UINT32_MAX}) [[unlikely]] {
      FailSize(values.size());
    }
    payload_.values = values.data();
  }
  // A view that is beyond its bound: a broken invariant.
  [[noreturn]] static void FailSize(size_t size);

  void Require(ValueKind kind) const {
    CHECK(kind_ == kind) << "read as " << ValueKindName(kind) << ", is "
                         << ValueKindName(kind_);
  }
  absl::string_view text() const { return {payload_.bytes, size_}; }
  std::span<const Value> values() const { return {payload_.values, size_}; }

  union Payload {
    int64_t int64;
    uint64_t uint64;
    double real;
    bool boolean;
    const char* bytes;
    const Value* values;
  };
  Payload payload_ = {.int64 = 0};
  // Length of a view; nanoseconds of a timestamp; otherwise 0.
  uint32_t size_ = 0;
  ValueKind kind_ = ValueKind::kNull;
};
static_assert(sizeof(Value) == 16);

}  // namespace penstock::core
