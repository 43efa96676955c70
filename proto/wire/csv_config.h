// The configuration of the format "csv" <-> its message.
#pragma once

#include "proto/wire/components.h"

namespace penstock::core {
struct CsvConfig;
}  // namespace penstock::core

namespace penstock::v1 {
class CsvFormat;
}  // namespace penstock::v1

namespace penstock::wire {

// Adds what is wrong below `path`, the format's.
ConfigPtr CsvFromProto(const v1::CsvFormat& spec,
                       const core::ConnectorLimits& limits,
                       absl::string_view path, Violations& violations);
v1::CsvFormat CsvToProto(const core::CsvConfig& config);

}  // namespace penstock::wire
