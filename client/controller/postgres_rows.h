// How the controller's state stands in PostgreSQL's rows.
#pragma once

#include "client/controller/apply_transaction.h"
#include "client/controller/state_store.h"
#include "client/controller/stored_rows.h"
#include "core/base/clock.h"
#include "core/pg/pg_connection.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace penstock::client {

// What a leading handle knows of the rows without asking: nobody else changes
// them while it leads. A plain value.
// Bound: 48 bytes for each journaled step; specifications and positions.
struct KnownRows {
  StoreHeader header;
  // Without their journals.
  std::map<std::string, StoredConnector> connectors;
  // Of each connector with journaled steps: their checksums.
  std::map<std::string, std::map<core::Step, uint64_t>> steps;
};

// Changes to known rows, not yet written. It may be copied as a place to come
// back to.
// Owner: a scope. Lifetime: `known` outlives it.
// Bound: what the transactions hold, once more as JSON.
class PostgresChange final : public StoreRows {
 public:
  explicit PostgresChange(const KnownRows& known)
      : known_(&known), digest_(known.header.digest) {}

  absl::StatusOr<std::optional<StoredConnector>> ReadConnector(
      const std::string& name) override;
  absl::Status WriteConnector(const std::string& name,
                              const StoredConnector& connector) override;
  absl::Status InsertStep(const std::string& connector,
                          const core::StepResult& result) override;
  absl::StatusOr<bool> TrimSteps(const std::string& connector,
                                 core::Step steps) override;

  // The header that goes with it.
  StoreHeader header() const;
  // What is to be written, as arrays of JSON; each may be "[]".
  std::string TrimsJson() const;
  std::string ConnectorsJson() const;
  std::string StepsJson() const;
  // It was written. Requires: `known` is what it was made for.
  void ApplyTo(KnownRows& known) &&;

 private:
  struct AddedStep {
    uint64_t checksum = 0;
    // A row as JSON. Shared by: the copies of this change; constant.
    std::shared_ptr<const std::string> json;
  };
  // Of a row that is there, in `known_` or in this.
  std::optional<uint64_t> ChecksumOfStep(const std::string& connector,
                                         core::Step step) const;
  core::Step TrimmedOf(const std::string& connector) const;

  const KnownRows* known_;
  uint64_t digest_;
  std::map<std::string, StoredConnector> connectors_;
  std::map<std::string, std::map<core::Step, AddedStep>> added_;
  // Rows of `known_` below are removed.
  std::map<std::string, core::Step> trimmed_;
};

// The rows of one pipeline, over a connection: the statements.
//
// Shape:   numbers unsigned; JSON and MessagePack as bytea, byte for byte.
// Owner:   a scope. Threads: confined to the connection's thread.
// Errors:  STATE_DAMAGED; as PgConnection.
class PostgresPipeline {
 public:
  struct Deadlines {
    const core::Clock& clock;
    // Of each statement.
    absl::Duration each;
    absl::Time Next() const { return clock.SteadyNow() + each; }
  };
  PostgresPipeline(core::PgConnection& connection, const std::string& name,
                   Deadlines deadlines)
      : connection_(connection), name_(name), deadlines_(deadlines) {}

  // nullopt: there is no such pipeline.
  absl::StatusOr<std::optional<StoreHeader>> FindHeader();
  // As FindHeader; without one: STATE_DAMAGED.
  absl::StatusOr<StoreHeader> ReadHeader();
  // Makes header and lease, unless there are any. Errors also: STATE_DAMAGED if
  // there are other rows, which a header is missing to.
  absl::Status InsertHeader(const StoreHeader& header);
  // Replaces `from` by `to` iff it still is the header and, unless `holder` is
  // empty, the lease is `holder`'s. Returns: whether it did.
  absl::StatusOr<bool> ReplaceHeader(const StoreHeader& from,
                                     const StoreHeader& to,
                                     const std::string& holder);
  // Writes `change` iff `from` still is the header. Returns: whether it did.
  // One statement: it locks, asserts and writes by itself on the server, so
  // that there is no moment at which its client could be stopped and hold a
  // lock, or go on with an assertion that no longer holds.
  absl::StatusOr<bool> Write(const StoreHeader& from,
                             const PostgresChange& change);

  // A transaction with one snapshot, in which nothing is written, around what
  // follows. After an error the connection is to be given up.
  absl::Status BeginSnapshot();
  absl::Status EndSnapshot();
  // Everything but the content of the steps. The digest is compared.
  absl::StatusOr<KnownRows> ReadKnown(const StoreHeader& header);
  // The connectors with their journals, in order.
  absl::StatusOr<std::map<std::string, StoredConnector>> ReadConnectors(
      const KnownRows& known);

 private:
  // What is asked of the journal at once: so many rows, and no other row beyond
  // kJournalBytesMax.
  struct StepPage {
    absl::string_view columns;
    int rows_max = 1;
    // What a row counts for, in SQL.
    absl::string_view bytes_of_row = " 0";
  };
  // Calls `take(connector, step, checksum, row)` with each row of the journal,
  // page by page.
  template <typename Take>
  absl::Status ForEachStep(const StepPage& page_of, Take take);

  core::PgConnection& connection_;
  const std::string& name_;
  const Deadlines deadlines_;
};

}  // namespace penstock::client
