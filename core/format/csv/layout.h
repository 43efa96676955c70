// Which field of a record is which column.
#pragma once

#include "core/format/csv/config.h"
#include "core/record/schema.h"

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Numbers of fields, from 0. A plain value.
struct CsvLayout {
  // How many fields a record has; nullopt: that is not known.
  std::optional<uint32_t> fields;
  // The field of each column, in the order of the schema.
  std::vector<uint32_t> columns;
  // The field that is the key.
  std::optional<uint32_t> key;

  // How many fields have to be looked at; at least 1.
  uint32_t FieldsUsed() const;
};

// Without a header: the order of the schema. Errors: INVALID_CONFIG if there is
// no such key.
absl::StatusOr<CsvLayout> LayoutByOrder(const CsvConfig& config,
                                        const Schema& schema);
// By the names in the header; names that are no column are passed over.
// Errors: INVALID_CONFIG if a column or the key has no name there, or two.
absl::StatusOr<CsvLayout> LayoutByNames(const CsvConfig& config,
                                        const Schema& schema,
                                        const std::vector<std::string>& names);

}  // namespace penstock::core
