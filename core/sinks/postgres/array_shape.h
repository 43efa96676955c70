// PostgreSQL's arrays are boxes: every part of a dimension is equally long.
#pragma once

#include "core/record/value.h"
#include "core/sinks/postgres/catalog.h"

#include <absl/status/status.h>

#include <cstddef>
#include <vector>

namespace penstock::core {

struct ArrayShape {
  // Of each dimension, outermost first; empty: an array without elements.
  std::vector<size_t> lengths;
  bool has_null = false;
};

// Errors: ROW_REFUSED: parts of different lengths or depths, an empty part of
// an array, a null in the place of a part, more than six dimensions.
absl::Status MeasureArray(const Value& value, const PgColumn& column,
                          ArrayShape& shape);

}  // namespace penstock::core
