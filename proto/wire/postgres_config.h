// The configuration of the postgres sink <-> its message.
#pragma once

#include "core/connector/requests.h"
#include "proto/wire/components.h"
#include "proto/wire/violations.h"

#include <absl/strings/string_view.h>

namespace penstock::core {
struct PostgresSinkConfig;
}  // namespace penstock::core
namespace penstock::v1 {
class PostgresSink;
}  // namespace penstock::v1

namespace penstock::wire {

// As SinkFromProto; `path` is the sink's.
ConfigPtr PostgresFromProto(const v1::PostgresSink& spec,
                            const core::ConnectorLimits& limits,
                            absl::string_view path, Violations& violations);
v1::PostgresSink PostgresToProto(const core::PostgresSinkConfig& config);

}  // namespace penstock::wire
