// The connectors that come with Penstock.
#pragma once

#include "core/connector/registry.h"
#include "core/sources/file/file_source.h"
#include "server/admin/worker_metrics.h"

namespace penstock::server {

// Registers every source, format and sink, explicitly: what is not named here
// does not exist. What `files` names outlives the registry.
void RegisterBuiltinConnectors(core::Registry& registry,
                               const core::FileServices& files);

// What each of those sources may measure of itself, by its name there.
SourceMeasures BuiltinSourceMeasures();

}  // namespace penstock::server
