// The types of ClickHouse's columns, as far as rows are written to them.
#pragma once

#include "core/record/schema.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::core {

enum class ClickHouseKind : uint8_t {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,  // booleans, too
  kUint16,
  kUint32,
  kUint64,
  kFloat32,
  kFloat64,
  kDecimal,
  kString,
  kDate,        // days, 16 bits
  kDate32,      // days, 32 bits
  kDateTime,    // seconds, 32 bits
  kDateTime64,  // 10^-precision seconds, 64 bits
  kUuid,
  kArray,
  kMap,
  kTuple,
};

// A plain value.
struct ClickHouseType {
  ClickHouseKind kind = ClickHouseKind::kString;
  // Nullable(...). No array, map or tuple is.
  bool nullable = false;
  // Decimal: digits in all, 1 to 76. DateTime64: decimals of a second, 0 to 9.
  uint32_t precision = 0;
  // Decimal: digits behind the point.
  uint32_t scale = 0;
  // Array: the element; map: key, then value; tuple: the fields.
  std::vector<ClickHouseType> children = {};
  // As ClickHouse spells it, which a Native block says of each column.
  std::string name;
};

// The type that keeps every value of the column: Int32, Decimal(12, 2),
// DateTime64(6, 'UTC'), Array(Nullable(String)) ... A decimal without a
// precision, and a time of day, is a String, as is a variant.
// Errors: INVALID_CONFIG for more than 76 digits or a negative scale.
absl::StatusOr<ClickHouseType> ClickHouseTypeOf(const Column& column);

// Reads a type as a server names it ("Nullable(DateTime64(3))"). Its time zone
// changes nothing of what is written. Errors: INVALID_CONFIG for one that is
// not known here.
absl::StatusOr<ClickHouseType> ParseClickHouseType(absl::string_view text);

// Whether values of `column` can be written to `type`.
// Errors: INVALID_CONFIG.
absl::Status CheckClickHouseColumn(const Column& column,
                                   const ClickHouseType& type);

// What a value takes at most, in either form, besides the text that came.
// Requires: CheckClickHouseColumn.
size_t ClickHouseFixedBytes(const Column& column, const ClickHouseType& type);

}  // namespace penstock::core
