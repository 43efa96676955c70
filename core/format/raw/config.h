// What can be set of the format "raw".
#pragma once

#include "core/contract/component.h"

#include <absl/strings/string_view.h>

#include <cstddef>

namespace penstock::core {

struct RawConfig final : ComponentConfig {
  // Longest record, line end not counted. From 1.
  size_t record_bytes_max = size_t{16} << 20;

  // All of an input is one record, rather than each of its lines.
  bool is_blob = false;

  absl::string_view type() const override { return "raw"; }
};

}  // namespace penstock::core
