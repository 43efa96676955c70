// Configuration of the dead-letter output `file`.
#pragma once

#include "core/contract/component.h"

#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>

namespace penstock::core {

struct DeadLetterFileConfig final : ComponentConfig {
  absl::string_view type() const override { return "file"; }

  // A directory, made if need be; connectors may share it. Required.
  std::string path;
  // A file that has grown by this much goes on in a new part.
  uint64_t file_bytes_max = uint64_t{64} << 20;
  // No new part is begun while the connector's files there have so many bytes.
  uint64_t total_bytes_max = uint64_t{1} << 30;
};

}  // namespace penstock::core
