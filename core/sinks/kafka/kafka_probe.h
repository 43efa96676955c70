// A look at the topic that a kafka sink would write to.
#pragma once

#include "core/contract/component.h"
#include "core/contract/ft_model.h"
#include "core/record/schema.h"

#include <absl/status/status.h>

#include <optional>

namespace penstock::core {

// Connects and asks for the topic, as an open does first. It makes no topic,
// fences nobody and commits nothing; so it cannot tell whether writing is
// allowed, which a cluster says only to one who writes. Blocks: for I/O, at
// most 10 s and the 5 that its client's end may take. Errors: as
// KafkaSink::Open but for progress; PERMISSION_DENIED: of describing the topic.
absl::Status ProbeKafkaSink(const ComponentConfig& config,
                            std::optional<FtModel> level, const Schema& schema,
                            const Environment& environment);

}  // namespace penstock::core
