// Rows in ClickHouse's binary formats. See core/format/README.md.
#pragma once

#include "core/contract/row_encoder.h"
#include "core/format/clickhouse/clickhouse_type.h"
#include "core/record/schema.h"

#include <absl/status/statusor.h>

#include <memory>
#include <vector>

namespace penstock::core {

enum class ClickHouseLayout {
  // Row by row, without a header: the values in the table's order.
  kRowBinary,
  // A block a chunk, column by column; each says its columns' names and types,
  // and blocks concatenate.
  kNative,
};

// `types`: of the table's columns, in the order of the schema; none: those of
// ClickHouseTypeOf.
// Errors: INVALID_CONFIG without columns, or where values of one are not
// written to its type. The encoder's: ROW_REFUSED for a value that does not fit
// (nothing is rounded), INTERNAL for another number of columns.
absl::StatusOr<std::unique_ptr<RowEncoder>> MakeClickHouseEncoder(
    ClickHouseLayout layout, const Schema& schema,
    std::vector<ClickHouseType> types = {});

}  // namespace penstock::core
