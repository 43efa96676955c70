// How far each shard is, in the database that has its rows. See
// core/sinks/postgres/README.md; upholds INV-1 and INV-7.
#pragma once

#include "core/contract/output_target.h"
#include "core/pg/pg_connection.h"
#include "core/record/step.h"
#include "core/sinks/postgres/table_name.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// One row a shard: who writes, and the count of steps that the shard holds. It
// is moved in the transaction of the rows themselves, by its last statement.
//
// Threads: thread-compatible; constant once made.
class ProgressTable {
 public:
  ProgressTable(TableName name, OutputOpen open);

  // If it is missing.
  absl::Status Create(PgConnection& connection, absl::Time deadline) const;

  // Takes no lock and changes nothing: what Take would refuse, before anybody
  // is disturbed. An absent table is as one without rows.
  absl::Status Check(PgConnection& connection, absl::Time deadline) const;
  // In one transaction: makes `open`'s writer that of every shard, and returns
  // how far each is; nullopt: another session holds the rows or makes them.
  // Sessions of lower writers are to be ended, then try again.
  // Errors: as OutputTarget::Open.
  absl::StatusOr<std::optional<std::vector<Step>>> Take(
      PgConnection& connection, absl::Time deadline) const;

  // Compare-and-set, within the transaction of the rows: from `steps.begin` to
  // `steps.end`. False: the row is not ours, or not at `steps.begin`.
  absl::StatusOr<bool> Move(PgConnection& connection, ShardIndex shard,
                            StepRange steps, absl::Time deadline) const;
  // Where `shard` is, if it is still ours. Commits a write of its own on the
  // row: a count that a COMMIT without an answer has left may be visible before
  // it is at the standbys that commits wait for, and this one is behind it.
  // Requires: `connection` is in no transaction.
  // Errors: as Explain.
  absl::StatusOr<Step> Confirm(PgConnection& connection, ShardIndex shard,
                               absl::Time deadline) const;
  // Why Move, from `expected`, or Confirm did not find the row.
  // Errors: WRITER_FENCED, FOREIGN_PROGRESS, PROGRESS_LOST; PROGRESS_AHEAD or
  // PROGRESS_BEHIND where somebody has changed the count; UNAVAILABLE: it is
  // there by now. Never OK.
  absl::Status Explain(PgConnection& connection, ShardIndex shard,
                       std::optional<Step> expected, absl::Time deadline) const;

  // The statement that makes it, for people.
  std::string CreateSql() const;
  const TableName& name() const { return name_; }

 private:
  struct Row {
    uint32_t shard = 0;
    std::string incarnation;
    Writer writer;
    Step steps = 0;
    // How many there were when the writer took them.
    uint32_t shards = 0;
  };
  absl::StatusOr<std::vector<Row>> ReadRows(PgConnection& connection,
                                            absl::string_view suffix,
                                            absl::Time deadline) const;
  absl::Status CheckRow(const Row& row) const;
  absl::Status CheckRows(const std::vector<Row>& rows) const;
  // That each shard's row is there, and that there may be so many now.
  absl::Status CheckShards(const std::vector<Row>& rows) const;
  absl::Status CheckReshard(const std::vector<Row>& rows) const;
  absl::StatusOr<std::optional<std::vector<Step>>> TakeRows(
      PgConnection& connection, absl::Time deadline) const;
  absl::Status Lost() const;
  // Of kMine.
  std::vector<PgParam> Mine(ShardIndex shard) const;

  const TableName name_;
  const OutputOpen open_;
};

}  // namespace penstock::core
