// What is shown of a connector: GetConnector, ListConnectors, the watches.
#pragma once

#include "core/connector/requests.h"
#include "core/contract/parse_error.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

namespace penstock::v1 {
class Connector;
class ConnectorSummary;
class ErrorEntry;
class GetConnectorRequest;
class GetConnectorResponse;
class Health;
class ParseErrorSample;
class ShardProgress;
}  // namespace penstock::v1

namespace penstock::wire {

// Shape: texts are cut at 8 KiB (in a summary 1 KiB), lists at the lengths that
// the proto comments state.
v1::Health HealthToProto(const core::ConnectorStatus& status);
v1::ErrorEntry ToProto(const core::ErrorEntry& entry);
v1::ParseErrorSample ToProto(const core::ParseError& error);
v1::Connector ConnectorToProto(const core::ConnectorStatus& status);
v1::ConnectorSummary SummaryToProto(const core::ConnectorStatus& status);
// Picks the errors that `request` asks for, newest first, below 1 MiB.
// Errors: INVALID_REQUEST.
absl::StatusOr<v1::GetConnectorResponse> GetResponseToProto(
    const core::ConnectorStatus& status,
    const v1::GetConnectorRequest& request);

absl::StatusOr<core::ErrorEntry> FromProto(const v1::ErrorEntry& entry);
core::ParseError FromProto(const v1::ParseErrorSample& sample);
// Everything the response says. `errors` come newest first.
absl::StatusOr<core::ConnectorStatus> FromProto(
    const v1::GetConnectorResponse& response);
// What a summary says; the rest stays as it is by default. `retained_steps`
// has the first one only.
absl::StatusOr<core::ConnectorStatus> FromProto(
    const v1::ConnectorSummary& summary);

}  // namespace penstock::wire
