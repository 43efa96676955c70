// The configuration of the kafka sink <-> its message.
#pragma once

#include "core/connector/requests.h"
#include "proto/wire/components.h"
#include "proto/wire/violations.h"

#include <absl/strings/string_view.h>

namespace penstock::core {
struct KafkaSinkConfig;
}  // namespace penstock::core
namespace penstock::v1 {
class KafkaSink;
}  // namespace penstock::v1

namespace penstock::wire {

// As SinkFromProto; `path` is the sink's.
ConfigPtr KafkaSinkFromProto(const v1::KafkaSink& spec, absl::string_view path,
                             Violations& violations);
v1::KafkaSink KafkaSinkToProto(const core::KafkaSinkConfig& config);

}  // namespace penstock::wire
