// Columns that are filled from what is around a row.
#pragma once

#include "core/format/rows/envelope.h"
#include "core/record/schema.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::core {

// Where an EnvelopeConfig's columns are in the row. A plain value.
struct ChangeColumns {
  // Errors: INVALID_CONFIG, naming the field of the format `format`: the schema
  // has no such column, or of another type, or one that is not nullable (the
  // row itself has no such member); the envelope has no such thing.
  static absl::StatusOr<ChangeColumns> Make(const EnvelopeConfig& config,
                                            const Schema& schema,
                                            absl::string_view format);

  std::optional<uint32_t> op;
  std::optional<uint32_t> timestamp;
  std::optional<uint32_t> source;
  std::optional<uint32_t> before;
  SqlType timestamp_type = SqlType::kTimestamptz;
};

}  // namespace penstock::core
