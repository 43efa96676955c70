// The format "avro", proto and core.
#pragma once

#include "core/connector/requests.h"
#include "core/format/avro/config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/components.h"
#include "proto/wire/violations.h"

#include <absl/strings/string_view.h>

namespace penstock::wire {

// `path`: of the format.
ConfigPtr AvroFromProto(const v1::AvroFormat& spec,
                        const core::ConnectorLimits& limits,
                        absl::string_view path, Violations& violations);
v1::AvroFormat AvroToProto(const core::AvroConfig& config);

}  // namespace penstock::wire
