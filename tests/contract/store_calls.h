// Calls of a StateStore as functions, and what to give them, for tests.
#pragma once

#include "client/controller/state_store.h"
#include "tests/support/manual_executor.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>

namespace penstock::client {

// Calls, and runs the executor until the answer is there.
absl::StatusOr<StoredPipeline> Lead(core::ManualExecutor& executor,
                                    StateStore& store);
absl::Status Commit(core::ManualExecutor& executor, StateStore& store,
                    uint64_t epoch, StoreTransaction transaction);
absl::StatusOr<uint64_t> EpochOf(core::ManualExecutor& executor,
                                 StateStore& store);

// A result with every field set to something.
core::StepResult FullResult(core::Step step);
// A transaction that adds connector "c" and reserves numbers below 1000.
StoreTransaction AddConnectorC();

}  // namespace penstock::client
