// What `penstock run` says to a pipeline file that was edited after its
// connectors were opened.
#pragma once

#include "client/controller/controller.h"

#include <absl/status/statusor.h>

#include <string>

namespace penstock::client {

// For ControllerOptions::check_spec_change, between specifications as
// wire::SpecToBytes makes them. Logs each change that may take effect, and
// when.
// Errors: INVALID_CONFIG that names every field which may not change, with both
// values (secrets excepted), and what to do; STATE_DAMAGED, INVALID_CONFIG or
// UNSUPPORTED if one of them cannot be read.
absl::StatusOr<TakesEffect> CheckSpecChange(const std::string& before,
                                            const std::string& after);

}  // namespace penstock::client
