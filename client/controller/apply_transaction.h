// One StoreTransaction, applied to the rows of a store of whatever kind.
#pragma once

#include "client/controller/state_store.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <optional>
#include <string>

namespace penstock::client {

// The rows that a transaction reads and changes. Implemented by each store.
// Threads: confined to the store's.
// Errors:  the store's own trouble, and STATE_DAMAGED.
class StoreRows {
 public:
  virtual ~StoreRows() = default;

  // A connector without its journal; nullopt: there is none.
  virtual absl::StatusOr<std::optional<StoredConnector>> ReadConnector(
      const std::string& name) = 0;
  // Inserts or replaces it; its `journal` is not looked at.
  virtual absl::Status WriteConnector(const std::string& name,
                                      const StoredConnector& connector) = 0;
  // Inserts a row of the journal. OK without effect if there is one with the
  // same content; ALREADY_EXISTS if there is another.
  virtual absl::Status InsertStep(const std::string& connector,
                                  const core::StepResult& result) = 0;
  // Removes the connector's rows below `steps`. Returns: whether any is left.
  virtual absl::StatusOr<bool> TrimSteps(const std::string& connector,
                                         core::Step steps) = 0;
};

// Applies `transaction` to `rows`. What contradicts the stored state goes into
// `verdict`, as StoreTransaction says; the caller then undoes what was done so
// far. Errors: those of `rows`.
absl::Status ApplyTransaction(StoreRows& rows,
                              const StoreTransaction& transaction,
                              absl::Status& verdict);

// The verdict on a row whose step is there with other content.
absl::Status OtherContent(const std::string& connector, core::Step step);

}  // namespace penstock::client
