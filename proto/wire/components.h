// The typed configurations of sources, formats, routes and sinks <-> the arms
// of their oneofs. A new type is a function and a case here.
#pragma once

#include "core/connector/requests.h"
#include "core/contract/component.h"
#include "proto/wire/violations.h"

#include <absl/strings/string_view.h>

#include <memory>

namespace penstock::v1 {
class DeadLetterSpec;
class FormatSpec;
class RouteSpec;
class SinkSpec;
class SourceSpec;
}  // namespace penstock::v1

namespace penstock::wire {

using ConfigPtr = std::shared_ptr<const core::ComponentConfig>;

// Each adds what is wrong below `path` and returns null if there is no arm that
// this version knows. `limits` are the connector's, resolved.
ConfigPtr SourceFromProto(const v1::SourceSpec& spec,
                          const core::ConnectorLimits& limits,
                          absl::string_view path, Violations& violations);
ConfigPtr FormatFromProto(const v1::FormatSpec& spec,
                          const core::ConnectorLimits& limits,
                          absl::string_view path, Violations& violations);
ConfigPtr RouteFromProto(const v1::RouteSpec& spec, absl::string_view path,
                         Violations& violations);
ConfigPtr SinkFromProto(const v1::SinkSpec& spec,
                        const core::ConnectorLimits& limits,
                        absl::string_view path, Violations& violations);
ConfigPtr DeadLetterFromProto(const v1::DeadLetterSpec& spec,
                              absl::string_view path, Violations& violations);
// Where the spec has no route: by key if the format has one.
// Requires: `format` was made by FormatFromProto.
ConfigPtr DefaultRoute(const core::ComponentConfig& format);

// Require: the types above.
v1::SourceSpec SourceToProto(const core::ComponentConfig& config);
v1::FormatSpec FormatToProto(const core::ComponentConfig& config);
v1::RouteSpec RouteToProto(const core::ComponentConfig& config);
v1::SinkSpec SinkToProto(const core::ComponentConfig& config);
v1::DeadLetterSpec DeadLetterToProto(const core::ComponentConfig& config);

}  // namespace penstock::wire
