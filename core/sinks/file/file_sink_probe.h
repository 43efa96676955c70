// A look at where a file sink would write.
#pragma once

#include "core/contract/component.h"
#include "core/contract/ft_model.h"
#include "core/record/schema.h"

#include <absl/status/status.h>

#include <optional>

namespace penstock::core {

// Whether the directory, or the nearest one above it that exists, is allowed,
// is one, and may be written to. Makes nothing. Blocks: as the disk does.
// Errors: PATH_NOT_ALLOWED, PERMISSION_DENIED, INVALID_CONFIG (something else
// stands there), the file system's own.
absl::Status ProbeFileSink(const ComponentConfig& config,
                           std::optional<FtModel> level, const Schema& schema,
                           const Environment& environment);

}  // namespace penstock::core
