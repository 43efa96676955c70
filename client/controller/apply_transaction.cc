#include "client/controller/apply_transaction.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <optional>
#include <string>

namespace penstock::client {
namespace {

using core::MakeError;
using core::Reason;

// Applies the changes of one transaction until one is refused.
// Owner: a scope.
class Applier {
 public:
  Applier(StoreRows& rows, absl::Status& verdict)
      : rows_(rows), verdict_(verdict) {}

  absl::Status Apply(const StoreTransaction& transaction);

 private:
  // nullopt: there is none, which is the verdict.
  absl::StatusOr<std::optional<StoredConnector>> Find(const std::string& name) {
    ASSIGN_OR_RETURN(std::optional<StoredConnector> connector,
                     rows_.ReadConnector(name));
    if (!connector.has_value()) {
      verdict_ = MakeError(
          Reason::NO_SUCH_CONNECTOR,
          absl::StrCat("storing: there is no connector '", name, "'"));
    }
    return connector;
  }
  // Calls `change(connector)` and writes what it made of it, unless it refused.
  template <typename Change>
  absl::Status Update(const std::string& name, Change change) {
    if (!verdict_.ok()) return absl::OkStatus();
    ASSIGN_OR_RETURN(std::optional<StoredConnector> connector, Find(name));
    if (!connector.has_value()) return absl::OkStatus();
    RETURN_IF_ERROR(change(*connector));
    if (!verdict_.ok()) return absl::OkStatus();
    return rows_.WriteConnector(name, *connector);
  }
  absl::Status Refuse(const std::string& name, absl::string_view why) {
    verdict_ = MakeError(Reason::INVALID_REQUEST,
                         absl::StrCat("storing connector '", name, "': ", why));
    return absl::OkStatus();
  }

  absl::Status Add(const StoreTransaction::AddConnector& add);
  absl::Status Journal(const StoreTransaction::JournalStep& row);
  absl::Status TakeCheckpoint(const StoreTransaction::Checkpoint& checkpoint);

  StoreRows& rows_;
  absl::Status& verdict_;
};

absl::Status Applier::Add(const StoreTransaction::AddConnector& add) {
  if (!verdict_.ok()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::optional<StoredConnector> stored,
                   rows_.ReadConnector(add.connector));
  StoredConnector connector;
  if (stored.has_value()) {
    connector = *std::move(stored);
    if (connector.opened && connector.spec_bytes != add.spec_bytes) {
      verdict_ = MakeError(Reason::ALREADY_EXISTS,
                           absl::StrCat("adding connector '", add.connector,
                                        "': it is there with another spec"));
      return absl::OkStatus();
    }
  } else {
    connector.base_steps = add.base_steps;
    connector.reserved_steps = add.base_steps;
  }
  connector.spec_bytes = add.spec_bytes;
  return rows_.WriteConnector(add.connector, connector);
}

absl::Status Applier::Journal(const StoreTransaction::JournalStep& row) {
  if (!verdict_.ok()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<StoredConnector> connector,
                   Find(row.connector));
  if (!connector.has_value()) return absl::OkStatus();
  if (row.result.step < connector->base_steps ||
      row.result.step >= connector->reserved_steps) {
    return Refuse(row.connector,
                  absl::StrCat("step ", row.result.step,
                               " is below base or was never reserved"));
  }
  absl::Status inserted = rows_.InsertStep(row.connector, row.result);
  if (!core::HasReason(inserted, Reason::ALREADY_EXISTS)) return inserted;
  verdict_ = std::move(inserted);
  return absl::OkStatus();
}

absl::Status Applier::TakeCheckpoint(
    const StoreTransaction::Checkpoint& checkpoint) {
  return Update(
      checkpoint.connector, [&](StoredConnector& connector) -> absl::Status {
        if (checkpoint.base_steps < connector.base_steps ||
            checkpoint.base_steps > connector.reserved_steps) {
          return Refuse(checkpoint.connector,
                        "a checkpoint goes back, or above what was reserved");
        }
        ASSIGN_OR_RETURN(
            const bool is_any_left,
            rows_.TrimSteps(checkpoint.connector, checkpoint.base_steps));
        if (connector.spec_bytes != checkpoint.spec_bytes && is_any_left) {
          return Refuse(checkpoint.connector,
                        "the spec changes under journaled steps");
        }
        connector.base_steps = checkpoint.base_steps;
        connector.position = checkpoint.position;
        connector.spec_bytes = checkpoint.spec_bytes;
        return absl::OkStatus();
      });
}

absl::Status Applier::Apply(const StoreTransaction& transaction) {
  for (const auto& add : transaction.add_connectors) {
    RETURN_IF_ERROR(Add(add));
  }
  for (const auto& change : transaction.reserve_steps) {
    RETURN_IF_ERROR(Update(change.connector, [&](StoredConnector& connector) {
      connector.reserved_steps =
          std::max(connector.reserved_steps, change.reserved_steps);
      return absl::OkStatus();
    }));
  }
  for (const auto& change : transaction.reserve_writers) {
    RETURN_IF_ERROR(Update(change.connector, [&](StoredConnector& connector) {
      connector.open_number =
          std::max(connector.open_number, change.open_number);
      return absl::OkStatus();
    }));
  }
  for (const auto& change : transaction.opened) {
    RETURN_IF_ERROR(Update(change.connector, [&](StoredConnector& connector) {
      connector.opened = true;
      connector.position = change.position;
      return absl::OkStatus();
    }));
  }
  for (const auto& row : transaction.journal) RETURN_IF_ERROR(Journal(row));
  for (const auto& checkpoint : transaction.checkpoints) {
    RETURN_IF_ERROR(TakeCheckpoint(checkpoint));
  }
  for (const auto& change : transaction.replace_specs) {
    RETURN_IF_ERROR(Update(change.connector, [&](StoredConnector& connector) {
      connector.spec_bytes = change.spec_bytes;
      return absl::OkStatus();
    }));
  }
  for (const auto& change : transaction.user_paused) {
    RETURN_IF_ERROR(Update(change.connector, [&](StoredConnector& connector) {
      connector.user_paused = change.paused;
      return absl::OkStatus();
    }));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyTransaction(StoreRows& rows,
                              const StoreTransaction& transaction,
                              absl::Status& verdict) {
  return Applier(rows, verdict).Apply(transaction);
}

absl::Status OtherContent(const std::string& connector, core::Step step) {
  return MakeError(
      Reason::ALREADY_EXISTS,
      absl::StrCat("journaling step ", step, " of connector '", connector,
                   "': it is there with other content"));
}

}  // namespace penstock::client
