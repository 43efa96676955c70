// The configuration of the file sink <-> its message.
#pragma once

#include "core/connector/requests.h"
#include "proto/wire/components.h"
#include "proto/wire/violations.h"

#include <absl/strings/string_view.h>

namespace penstock::core {
struct FileSinkConfig;
}  // namespace penstock::core
namespace penstock::v1 {
class FileSink;
}  // namespace penstock::v1

namespace penstock::wire {

// As SinkFromProto; `path` is the sink's.
ConfigPtr FileSinkFromProto(const v1::FileSink& spec,
                            const core::ConnectorLimits& limits,
                            absl::string_view path, Violations& violations);
v1::FileSink FileSinkToProto(const core::FileSinkConfig& config);

}  // namespace penstock::wire
