#include "core/sinks/postgres/binary_value.h"

#include "core/base/status_macros.h"
#include "core/contract/sink_error.h"
#include "core/sinks/postgres/array_shape.h"
#include "core/sinks/postgres/binary_field.h"
#include "core/sinks/postgres/numeric.h"
#include "core/sinks/postgres/value_check.h"

#include <absl/strings/str_cat.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace penstock::core {
namespace {

constexpr char kJsonbVersion = 1;

void AppendBytes(absl::string_view bytes, FrameBuffer& out) {
  AppendBig(static_cast<uint32_t>(bytes.size()), out);
  out.Append(bytes);
}

template <typename T>
absl::Status AppendInteger(const Value& value, FrameBuffer& out) {
  int64_t integer = 0;
  RETURN_IF_ERROR(ReadInteger(value, std::numeric_limits<T>::min(),
                              std::numeric_limits<T>::max(), integer));
  AppendField(static_cast<std::make_unsigned_t<T>>(integer), out);
  return absl::OkStatus();
}

absl::Status AppendFloat(const Value& value, FrameBuffer& out) {
  const double real = value.AsDouble();
  const auto narrow = static_cast<float>(real);
  if (static_cast<double>(narrow) != real && !std::isnan(real)) {
    return MakeRowRefused(absl::StrCat("the number ", real, " is no real"));
  }
  AppendField(std::bit_cast<uint32_t>(narrow), out);
  return absl::OkStatus();
}

absl::Status AppendDecimal(const PgColumn& column, const Value& value,
                           FrameBuffer& out) {
  switch (value.kind()) {
    case ValueKind::kDecimal:
      return AppendNumeric(value.AsDecimal(), column.scale, out);
    case ValueKind::kInt64:
      return AppendNumeric(absl::StrCat(value.AsInt64()), column.scale, out);
    case ValueKind::kUint64:
      return AppendNumeric(absl::StrCat(value.AsUint64()), column.scale, out);
    default:
      return WrongKind(value, column);
  }
}

absl::Status AppendDate(const Value& value, FrameBuffer& out) {
  const int64_t days = value.AsDate();
  int64_t moved = 0;
  if (days == Value::kInfinity) {
    moved = INT32_MAX;
  } else if (days == Value::kMinusInfinity) {
    moved = INT32_MIN;
  } else if (days < INT32_MIN || days >= INT32_MAX ||
             days - kPgEpochDays <= INT32_MIN) {
    return MakeRowRefused("a date beyond what PostgreSQL holds");
  } else {
    moved = days - kPgEpochDays;
  }
  AppendField(static_cast<uint32_t>(static_cast<int32_t>(moved)), out);
  return absl::OkStatus();
}

absl::Status AppendTimestamp(const PgColumn& column, const Value& value,
                             FrameBuffer& out) {
  int64_t micros = 0;
  RETURN_IF_ERROR(ReadTimestamp(value, column, micros));
  const bool infinite =
      micros == Value::kInfinity || micros == Value::kMinusInfinity;
  if (!infinite) {
    if (micros <= INT64_MIN + kPgEpochMicros) {
      return MakeRowRefused("a timestamp beyond what PostgreSQL holds");
    }
    micros -= kPgEpochMicros;
  }
  AppendField(static_cast<uint64_t>(micros), out);
  return absl::OkStatus();
}

ValueKind KindOf(PgLayout layout) {
  switch (layout) {
    case PgLayout::kBool:
      return ValueKind::kBool;
    case PgLayout::kInt2:
    case PgLayout::kInt4:
    case PgLayout::kInt8:
      return ValueKind::kInt64;
    case PgLayout::kFloat4:
    case PgLayout::kFloat8:
      return ValueKind::kDouble;
    case PgLayout::kNumeric:
      return ValueKind::kDecimal;
    case PgLayout::kText:
    case PgLayout::kOther:
      return ValueKind::kString;
    case PgLayout::kJson:
    case PgLayout::kJsonb:
      return ValueKind::kVariant;
    case PgLayout::kBytea:
      return ValueKind::kBinary;
    case PgLayout::kUuid:
      return ValueKind::kUuid;
    case PgLayout::kDate:
      return ValueKind::kDate;
    case PgLayout::kTime:
      return ValueKind::kTime;
    case PgLayout::kTimestamp:
      return ValueKind::kTimestamp;
    case PgLayout::kTimestamptz:
      return ValueKind::kTimestamptz;
  }
  return ValueKind::kString;
}

bool IsInteger(ValueKind kind) {
  return kind == ValueKind::kInt64 || kind == ValueKind::kUint64;
}

absl::Status AppendScalar(const PgColumn& column, const Value& value,
                          FrameBuffer& out) {
  const ValueKind kind = KindOf(column.layout);
  const bool may_be_integer =
      kind == ValueKind::kInt64 || kind == ValueKind::kDecimal;
  if (value.kind() != kind && !(may_be_integer && IsInteger(value.kind()))) {
    return WrongKind(value, column);
  }
  switch (column.layout) {
    case PgLayout::kBool:
      AppendField(static_cast<uint8_t>(value.AsBool() ? 1 : 0), out);
      return absl::OkStatus();
    case PgLayout::kInt2:
      return AppendInteger<int16_t>(value, out);
    case PgLayout::kInt4:
      return AppendInteger<int32_t>(value, out);
    case PgLayout::kInt8:
      return AppendInteger<int64_t>(value, out);
    case PgLayout::kFloat4:
      return AppendFloat(value, out);
    case PgLayout::kFloat8:
      AppendField(std::bit_cast<uint64_t>(value.AsDouble()), out);
      return absl::OkStatus();
    case PgLayout::kNumeric:
      return AppendDecimal(column, value, out);
    case PgLayout::kText:
      return AppendBinaryBytes(column, value.AsString(), out);
    case PgLayout::kJson:
    case PgLayout::kJsonb:
      return AppendBinaryBytes(column, value.AsVariant(), out);
    case PgLayout::kBytea:
      return AppendBinaryBytes(column, value.AsBinary(), out);
    case PgLayout::kUuid:
      AppendBytes(value.AsUuid(), out);
      return absl::OkStatus();
    case PgLayout::kDate:
      return AppendDate(value, out);
    case PgLayout::kTime: {
      int64_t micros = 0;
      RETURN_IF_ERROR(ReadTime(value, column, micros));
      AppendField(static_cast<uint64_t>(micros), out);
      return absl::OkStatus();
    }
    case PgLayout::kTimestamp:
    case PgLayout::kTimestamptz:
      return AppendTimestamp(column, value, out);
    case PgLayout::kOther:
      break;
  }
  return WrongKind(value, column);
}

absl::Status AppendElements(const PgColumn& column,
                            std::span<const Value> values, size_t depth,
                            FrameBuffer& out) {
  for (const Value& value : values) {
    if (depth > 1) {
      RETURN_IF_ERROR(AppendElements(column, value.AsArray(), depth - 1, out));
    } else if (value.is_null()) {
      AppendNullField(out);
    } else {
      RETURN_IF_ERROR(AppendScalar(column, value, out));
    }
  }
  return absl::OkStatus();
}

// Source: array_recv in src/backend/utils/adt/arrayfuncs.c of PostgreSQL 15.
absl::Status AppendArray(const PgColumn& column, const Value& value,
                         FrameBuffer& out) {
  ArrayShape shape;
  RETURN_IF_ERROR(MeasureArray(value, column, shape));
  const size_t at = out.size();
  AppendBig<uint32_t>(0, out);
  AppendBig(static_cast<uint32_t>(shape.lengths.size()), out);
  AppendBig<uint32_t>(shape.has_null ? 1 : 0, out);
  AppendBig<uint32_t>(column.element_oid, out);
  for (const size_t length : shape.lengths) {
    AppendBig(static_cast<uint32_t>(length), out);
    AppendBig<uint32_t>(1, out);  // The first index.
  }
  if (!shape.lengths.empty()) {
    RETURN_IF_ERROR(
        AppendElements(column, value.AsArray(), shape.lengths.size(), out));
  }
  const size_t bytes = out.size() - at - 4;
  StoreBig(static_cast<uint32_t>(bytes), out.Reserve(0) - (out.size() - at));
  return absl::OkStatus();
}

}  // namespace

absl::Status AppendBinaryValue(const PgColumn& column, const Value& value,
                               FrameBuffer& out) {
  if (value.is_null()) {
    AppendNullField(out);
    return absl::OkStatus();
  }
  if (!column.is_array) return AppendScalar(column, value, out);
  return AppendArray(column, value, out);
}

absl::Status AppendBinaryBytes(const PgColumn& column, absl::string_view bytes,
                               FrameBuffer& out) {
  if (column.layout != PgLayout::kBytea) {
    RETURN_IF_ERROR(CheckText(bytes, column));
  }
  if (column.layout != PgLayout::kJsonb) {
    AppendBytes(bytes, out);
    return absl::OkStatus();
  }
  AppendBig(static_cast<uint32_t>(bytes.size() + 1), out);
  out.PushBack(kJsonbVersion);
  out.Append(bytes);
  return absl::OkStatus();
}

}  // namespace penstock::core
