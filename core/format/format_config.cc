#include "core/format/format_config.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>

namespace penstock::core {

absl::Status CheckFormatType(const ComponentConfig& config,
                             absl::string_view type) {
  if (config.type() == type) return absl::OkStatus();
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("make format ", type, ": the configuration is one of ",
                   config.type()));
}

absl::Status CheckRecordBytesMax(size_t record_bytes_max,
                                 absl::string_view type) {
  if (record_bytes_max > 0) return absl::OkStatus();
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("format ", type, ": record_bytes_max is 0; set at least 1"),
      {{"field", "record_bytes_max"}});
}

}  // namespace penstock::core
