// Configuration of the `file` sink.
#pragma once

#include "core/contract/component.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::core {

struct FileSinkConfig final : ComponentConfig {
  absl::string_view type() const override { return "file"; }

  // A directory, made if need be. One connector's, nobody else's. Required.
  std::string path;
  // The largest buffer that PushBuffer takes: above the largest record
  // (16 MiB) as any encoder of ours may blow it up.
  size_t buffer_bytes_max = size_t{64} << 20;
  // A manifest that has grown by this much goes on in a new part.
  uint64_t manifest_bytes_max = uint64_t{16} << 20;
};

}  // namespace penstock::core
