// A schema registry of a format, proto and core.
#pragma once

#include "core/format/schemas/registry_config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/violations.h"

#include <string>

namespace penstock::wire {

// `path`: of the registry. What CheckSchemaRegistry would say is left to it.
core::SchemaRegistryConfig SchemaRegistryFromProto(
    const v1::SchemaRegistry& spec, const std::string& path,
    Violations& violations);
v1::SchemaRegistry SchemaRegistryToProto(
    const core::SchemaRegistryConfig& config);

}  // namespace penstock::wire
