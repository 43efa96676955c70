// How the sessions of a writer are called, so that the next one finds them.
#pragma once

#include "core/contract/output_target.h"
#include "core/record/step.h"

#include <absl/strings/string_view.h>

#include <optional>
#include <string>

namespace penstock::core {

// "penstock:<16 hex digits of the connector's identity>:"
std::string SessionPrefix(const OutputOpen& open);
// The application_name of `open`'s session for `shard`; nullopt: the one that
// opens. Shape: the prefix, epoch and open number in hexadecimal with a dot
// between, a colon, the shard in hexadecimal or "o". At most 63 bytes, which is
// all that the server keeps, for the shards that a specification may have.
std::string SessionName(const OutputOpen& open,
                        std::optional<ShardIndex> shard);
// The writer of a session with `prefix`; nullopt: not such a name.
std::optional<Writer> ParseSessionName(absl::string_view name,
                                       absl::string_view prefix);

}  // namespace penstock::core
