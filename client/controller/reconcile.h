// Brings the stored connectors and the configured ones together, when a
// controller starts. Upholds INV-3.
#pragma once

#include "client/controller/controller.h"
#include "client/controller/state_store.h"

#include <absl/status/statusor.h>

namespace penstock::client {

// What the store has to take before any connector is opened; `stored` becomes
// what it is then, with every configured connector in it. One whose new
// specification waits for a clean checkpoint keeps the old one: its session
// sees the difference. What is stored and no longer configured is kept.
// Errors: INVALID_CONFIG for a change without `options.check_spec_change`, and
// whatever that says.
absl::StatusOr<StoreTransaction> Reconcile(const ControllerOptions& options,
                                           StoredPipeline& stored);

}  // namespace penstock::client
