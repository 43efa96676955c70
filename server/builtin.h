// The connectors that come with Penstock.
#pragma once

#include "core/connector/registry.h"

namespace penstock::server {

// Registers every source, format and sink, explicitly: what is not named here
// does not exist.
void RegisterBuiltinConnectors(core::Registry& registry);

}  // namespace penstock::server
