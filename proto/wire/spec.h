// v1::ConnectorSpec <-> core::ConnectorSpec: defaults, checks, typed
// configurations of sources, formats, routes and sinks.
#pragma once

#include "core/connector/requests.h"
#include "proto/wire/violations.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>

namespace penstock::v1 {
class ConnectorSpec;
}  // namespace penstock::v1

namespace penstock::wire {

// Version of every format, encoder and router there is so far.
inline constexpr uint32_t kComponentVersion = 1;

// Checks `spec` and writes every default out. Fields that the core has no
// counterpart for are kUnsupportedField where they ask for anything but the
// default. `path` is where the spec stands (`connectors[0]`, `spec`).
// Ensures: without violations, SpecToProto of the result, read again, gives
// an equal result; a level that was not given is exactly-once.
core::ConnectorSpec SpecFromProto(const v1::ConnectorSpec& spec,
                                  absl::string_view path,
                                  Violations& violations);
// Errors: INVALID_CONFIG or UNSUPPORTED, with all violations.
absl::StatusOr<core::ConnectorSpec> SpecFromProto(
    const v1::ConnectorSpec& spec, absl::string_view path = "spec");

// The resolved spec. Requires: every component has one of the types in
// spec.proto, as SpecFromProto makes them.
v1::ConnectorSpec SpecToProto(const core::ConnectorSpec& spec);

// The resolved spec serialised: what checkpoints store (`spec_bytes`).
// Ensures: equal specs give equal bytes, also those that came as a message.
std::string SpecToBytes(const core::ConnectorSpec& spec);
std::string SpecToBytes(const v1::ConnectorSpec& resolved);
// Errors: STATE_DAMAGED if the bytes do not parse; as SpecFromProto.
absl::StatusOr<core::ConnectorSpec> SpecFromBytes(absl::string_view spec_bytes);

// ConnectorSpec hash of OpenConnectorResponse: 8 bytes over `spec_bytes`.
std::string SpecHash(absl::string_view spec_bytes);

}  // namespace penstock::wire
