// What types of source, format, route and sink a worker has, by reflection.
#pragma once

#include "core/connector/registry.h"
#include "core/contract/component.h"
#include "proto/penstock/v1/connector.pb.h"

#include <absl/status/statusor.h>

#include <vector>

namespace penstock::server {

// The types of `kind`, or all. A type is an arm of the oneof of its kind, so
// that nothing is listed by hand.
// Lifetime: `registry` and `environment` are used within the call only.
std::vector<v1::ConnectorType> ListTypes(const core::Registry& registry,
                                         const core::Environment& environment,
                                         v1::ConnectorTypeKind kind);

// Errors: INVALID_REQUEST (no such kind); NOT_FOUND, naming those there are.
absl::StatusOr<v1::DescribeConnectorTypeResponse> DescribeType(
    const core::Registry& registry, const core::Environment& environment,
    const v1::DescribeConnectorTypeRequest& request);

}  // namespace penstock::server
