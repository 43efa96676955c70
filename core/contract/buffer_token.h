// How a buffer is called in a target that drops what it was given before.
// See core/contract/README.md; upholds INV-2.
#pragma once

#include "core/contract/output_endpoint.h"
#include "core/contract/output_target.h"
#include "core/record/step.h"

#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

// Exactly-once: incarnation, connector, shard, step, chunk and the hash of
// `buffer`. Equal for equal bytes only; equal again after a crash and a replay.
// Costs one pass over `buffer`.
std::string BufferToken(const OutputOpen& open, ShardIndex shard, ChunkId id,
                        absl::string_view buffer);

}  // namespace penstock::core
