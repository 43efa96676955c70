// A look at the table that a postgres sink would write to.
#pragma once

#include "core/contract/component.h"
#include "core/contract/ft_model.h"
#include "core/record/schema.h"

#include <absl/status/status.h>

#include <optional>

namespace penstock::core {

// Connects, compares the columns, asks what this role may do with the table
// and, in exactly-once, with the progress table. Writes and locks nothing; ends
// nobody's session. Blocks: for I/O, at most 15 s.
// Errors: as PostgresSink::Open but for progress, which it does not look at.
absl::Status ProbePostgresSink(const ComponentConfig& config,
                               std::optional<FtModel> level,
                               const Schema& schema,
                               const Environment& environment);

}  // namespace penstock::core
