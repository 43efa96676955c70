// The format "protobuf", proto and core.
#pragma once

#include "core/connector/requests.h"
#include "core/format/protobuf/config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/components.h"
#include "proto/wire/violations.h"

#include <absl/strings/string_view.h>

namespace penstock::wire {

// `path`: of the format.
ConfigPtr ProtobufFromProto(const v1::ProtobufFormat& spec,
                            const core::ConnectorLimits& limits,
                            absl::string_view path, Violations& violations);
v1::ProtobufFormat ProtobufToProto(const core::ProtobufConfig& config);

}  // namespace penstock::wire
