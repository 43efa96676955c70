#include "core/sinks/postgres/array_shape.h"

#include "core/base/status_macros.h"
#include "core/contract/sink_error.h"
#include "core/sinks/postgres/value_check.h"

#include <absl/strings/str_cat.h>

#include <span>

namespace penstock::core {
namespace {

// MAXDIM of PostgreSQL.
constexpr size_t kDimensionsMax = 6;

absl::Status NoBox(const PgColumn& column) {
  return MakeRowRefused(absl::StrCat(
      "column \"", column.name,
      "\": an array in which parts differ in length or depth, or have no "
      "elements; PostgreSQL's arrays are boxes of up to six dimensions"));
}

absl::Status CheckPart(std::span<const Value> values, size_t dimension,
                       const PgColumn& column, ArrayShape& shape) {
  if (values.size() != shape.lengths[dimension]) return NoBox(column);
  const bool innermost = dimension + 1 == shape.lengths.size();
  for (const Value& value : values) {
    const bool is_part = value.kind() == ValueKind::kArray;
    if (innermost == is_part) return NoBox(column);
    if (value.is_null()) shape.has_null = true;
    if (!innermost) {
      RETURN_IF_ERROR(CheckPart(value.AsArray(), dimension + 1, column, shape));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureArray(const Value& value, const PgColumn& column,
                          ArrayShape& shape) {
  if (value.kind() != ValueKind::kArray) return WrongKind(value, column);
  shape = ArrayShape();
  std::span<const Value> part = value.AsArray();
  if (part.empty()) return absl::OkStatus();
  while (true) {
    if (shape.lengths.size() == kDimensionsMax || part.empty()) {
      return NoBox(column);
    }
    shape.lengths.push_back(part.size());
    if (part.front().kind() != ValueKind::kArray) break;
    part = part.front().AsArray();
  }
  return CheckPart(value.AsArray(), 0, column, shape);
}

}  // namespace penstock::core
