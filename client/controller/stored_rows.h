// What every store keeps, whatever it keeps it in: its rows and their
// checksums.
#pragma once

#include "client/controller/state_store.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace penstock::client {

// The one row that every transaction locks and asserts.
struct StoreHeader {
  std::string incarnation;
  uint64_t epoch = 0;
  // Drawn by the handle that took the epoch, so that not even a restored older
  // state lets two handles share one. Empty: nobody led yet.
  std::string leader;
  // Counts transactions: tells whether a COMMIT without answer took place.
  uint64_t commits = 0;
  // Sum of the checksums of all other rows: a row that was lost or went back to
  // an older content shows.
  uint64_t digest = 0;
};
uint64_t ChecksumOf(const StoreHeader& header);

// Of a connector without its journal.
uint64_t ChecksumOf(const std::string& name, const StoredConnector& connector);

// What a journal row holds beside its key.
struct StepRow {
  core::Step step = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;
  // 0: barrier, 1: seek, 2: replay.
  uint64_t resume_kind = 0;
  std::optional<std::string> seek;
  std::optional<std::string> replay;
  uint64_t resume_hash = 0;
  bool position_complete = true;
  std::optional<core::StepHash> hash;
  // Of each: nanoseconds, whether there is metadata, its length, itself.
  std::string watermarks;
  bool transaction_started = false;
  bool transaction_committed = false;
  std::optional<std::string> transaction_label;
  bool end_of_input = false;
  uint64_t stopped_because = 0;
  uint64_t skipped_records = 0;
};

// Rows of before `skipped_records` was stored have the checksum of none.
uint64_t ChecksumOf(const std::string& connector, const StepRow& row);

StepRow ToStepRow(const core::StepResult& result);
// Errors: STATE_DAMAGED.
absl::StatusOr<core::StepResult> FromStepRow(StepRow row);

// Puts a whole state together out of its rows, each compared with its checksum
// and all of them with the header.
//
// Owner: a scope. Threads: confined to it. Bound: the state.
// Errors: STATE_DAMAGED.
class RowCollector {
 public:
  // `checksum`: as it is stored. All connectors come before all steps.
  absl::Status AddConnector(const std::string& name, StoredConnector connector,
                            uint64_t checksum);
  absl::Status AddStep(const std::string& connector, StepRow row,
                       uint64_t checksum);
  // The connectors, their journals in order.
  absl::StatusOr<std::map<std::string, StoredConnector>> Finish(
      const StoreHeader& header) &&;

 private:
  std::map<std::string, StoredConnector> connectors_;
  uint64_t digest_ = 0;
};

absl::Status CheckConnector(const std::string& name,
                            const StoredConnector& connector,
                            uint64_t checksum);

// STATE_DAMAGED: `what` was found while the store was read.
absl::Status DamagedStore(absl::string_view what);
// As the digest of all rows says when it is not the header's.
absl::Status RowsAreMissing();

}  // namespace penstock::client
