#include "core/record/value.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace penstock::core {

absl::string_view ValueKindName(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNull:
      return "null";
    case ValueKind::kBool:
      return "bool";
    case ValueKind::kInt64:
      return "int64";
    case ValueKind::kUint64:
      return "uint64";
    case ValueKind::kDouble:
      return "double";
    case ValueKind::kDecimal:
      return "decimal";
    case ValueKind::kString:
      return "string";
    case ValueKind::kBinary:
      return "binary";
    case ValueKind::kDate:
      return "date";
    case ValueKind::kTime:
      return "time";
    case ValueKind::kTimestamp:
      return "timestamp";
    case ValueKind::kTimestamptz:
      return "timestamptz";
    case ValueKind::kUuid:
      return "uuid";
    case ValueKind::kArray:
      return "array";
    case ValueKind::kMap:
      return "map";
    case ValueKind::kStruct:
      return "struct";
    case ValueKind::kVariant:
      return "variant";
  }
  return "unknown";
}

void Value::FailSize(size_t size) {
  CHECK(false) << "a value of " << size << " bytes or values";
  std::abort();
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind_ != b.kind_) return false;
  switch (a.kind_) {
    case ValueKind::kNull:
      return true;
    case ValueKind::kBool:
      return a.payload_.boolean == b.payload_.boolean;
    case ValueKind::kInt64:
    case ValueKind::kDate:
    case ValueKind::kTime:
    case ValueKind::kTimestamp:
    case ValueKind::kTimestamptz:
      return a.payload_.int64 == b.payload_.int64 && a.size_ == b.size_;
    case ValueKind::kUint64:
      return a.payload_.uint64 == b.payload_.uint64;
    case ValueKind::kDouble:
      return std::bit_cast<uint64_t>(a.payload_.real) ==
             std::bit_cast<uint64_t>(b.payload_.real);
    case ValueKind::kDecimal:
    case ValueKind::kString:
    case ValueKind::kBinary:
    case ValueKind::kUuid:
    case ValueKind::kVariant:
      return a.text() == b.text();
    case ValueKind::kArray:
    case ValueKind::kMap:
    case ValueKind::kStruct:
      return std::ranges::equal(a.values(), b.values());
  }
  return false;
}

}  // namespace penstock::core
