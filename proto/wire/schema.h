// v1::SchemaSpec <-> core::Schema: checks and defaults of declared columns.
#pragma once

#include "core/record/schema.h"
#include "proto/wire/violations.h"

#include <absl/strings/string_view.h>

namespace penstock::v1 {
class SchemaSpec;
}  // namespace penstock::v1

namespace penstock::wire {

// Adds what is wrong below `path` (`connectors[0].schema`).
// Ensures: without violations there is at least one column, names are unique
// among neighbours, children are those of their type, precision and scale are
// in the range of theirs, and SchemaToProto of the result, read again, gives an
// equal result.
core::Schema SchemaFromProto(const v1::SchemaSpec& spec, absl::string_view path,
                             Violations& violations);
// Every default written out.
v1::SchemaSpec SchemaToProto(const core::Schema& schema);

}  // namespace penstock::wire
