// What can be set of the format "msgpack".
#pragma once

#include "core/contract/component.h"
#include "core/format/rows/envelope.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <optional>
#include <string>

namespace penstock::core {

struct MsgpackConfig final : ComponentConfig {
  // As NdjsonConfig's.
  std::optional<std::string> key;
  // Longest record. From 1.
  size_t record_bytes_max = size_t{16} << 20;
  // What is around the row; `key` is then looked for in the row.
  EnvelopeConfig envelope = {};

  absl::string_view type() const override { return "msgpack"; }
};

}  // namespace penstock::core
