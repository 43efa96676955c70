// What every format demands of its configuration.
#pragma once

#include "core/contract/component.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>

namespace penstock::core {

// Errors: INVALID_CONFIG unless `config` is one of the format `type`.
absl::Status CheckFormatType(const ComponentConfig& config,
                             absl::string_view type);
// Errors: INVALID_CONFIG for 0.
absl::Status CheckRecordBytesMax(size_t record_bytes_max,
                                 absl::string_view type);

// `config` as that of the format `type`, whose configuration Config is.
// Errors: as both above.
template <typename Config>
absl::StatusOr<const Config*> CheckFormatConfig(const ComponentConfig& config,
                                                absl::string_view type) {
  if (absl::Status ours = CheckFormatType(config, type); !ours.ok()) {
    return ours;
  }
  const auto* const format = static_cast<const Config*>(&config);
  absl::Status some = CheckRecordBytesMax(format->record_bytes_max, type);
  if (!some.ok()) return some;
  return format;
}

}  // namespace penstock::core
