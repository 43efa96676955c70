#include "client/controller/sqlite_store.h"

#include "client/controller/apply_transaction.h"
#include "client/controller/serial_store.h"
#include "client/controller/sqlite_database.h"
#include "client/controller/sqlite_file.h"
#include "client/controller/sqlite_lock_holder.h"
#include "client/controller/sqlite_rows.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/log.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <span>
#include <utility>

namespace penstock::client {
namespace {

using core::MakeError;
using core::Reason;

// The connection and what is done with it, one call after the other.
class SqliteBackend final : public StoreBackend {
 public:
  SqliteBackend(std::string path, SqliteStoreOptions options,
                std::unique_ptr<SqliteDatabase> database)
      : path_(std::move(path)),
        options_(std::move(options)),
        random_(core::SeededFromEntropy()),
        database_(std::move(database)) {}

  absl::StatusOr<StoredPipeline> TakeLeadership() override;
  absl::StatusOr<uint64_t> ReadEpoch() override;
  absl::Status Commit(std::span<const Request> requests,
                      std::span<absl::Status> verdicts) override;

 private:
  absl::StatusOr<StoredPipeline> ReadAll();
  // As Commit, but leaves a transaction open when it fails.
  absl::Status TryCommit(std::span<const Request> requests,
                         std::span<absl::Status> verdicts);
  absl::Status Connected();
  // Begins a transaction and locks. Errors: STATE_DAMAGED if the files are no
  // longer those that were opened.
  absl::Status BeginTransaction();
  // Ends the transaction. Errors: it did not take place, or is not durable.
  absl::Status FinishTransaction(const StoreHeader& header);
  void Abort();

  const std::string path_;
  const SqliteStoreOptions options_;
  core::Random random_;

  // Null after an I/O error: connected again before the next use.
  std::unique_ptr<SqliteDatabase> database_;
  // Of the epoch this handle took; empty: none.
  std::string leader_;
};

absl::Status SqliteBackend::Connected() {
  if (database_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(database_, ConnectSqliteFile(path_, options_));
  return absl::OkStatus();
}

absl::Status SqliteBackend::BeginTransaction() {
  RETURN_IF_ERROR(Connected());
  const absl::Status begun = database_->Execute("BEGIN IMMEDIATE");
  if (!begun.ok()) return NameLockHolder(path_, begun);
  // What is written into a file without a name is lost with the process.
  const std::string log = absl::StrCat(path_, "-wal");
  if (!database_->HasMoved() && core::PosixFileSystem().Stat(log).ok()) {
    return absl::OkStatus();
  }
  return MakeError(Reason::STATE_DAMAGED,
                   absl::StrCat("using the store ", path_,
                                ": it or its -wal file was moved, replaced or "
                                "deleted while it was in use; put it back and "
                                "start again"));
}

void SqliteBackend::Abort() {
  if (database_ == nullptr || !database_->InTransaction()) return;
  if (!database_->Execute("ROLLBACK").ok()) database_ = nullptr;
}

absl::Status SqliteBackend::FinishTransaction(const StoreHeader& header) {
  const absl::Status status = database_->Execute("COMMIT");
  if (status.ok()) return status;
  LOG(WARNING).With("path", path_)
      << "a commit failed: " << core::ErrorText(status);
  // Whether it took place is found out by reading, through a new connection,
  // which believes nothing that is in this one's memory.
  Abort();
  database_ = nullptr;
  RETURN_IF_ERROR(Connected());
  // Nothing of the log is trusted to be durable after an error: what is in it
  // is written to the database and synced there.
  ASSIGN_OR_RETURN(const std::string busy,
                   database_->Query("PRAGMA wal_checkpoint(TRUNCATE)"));
  if (busy != "0") return status;
  ASSIGN_OR_RETURN(const StoreHeader stored, ReadHeader(*database_));
  if (stored.commits == header.commits && stored.leader == header.leader) {
    return absl::OkStatus();
  }
  return status;
}

absl::StatusOr<StoredPipeline> SqliteBackend::TakeLeadership() {
  const absl::Status taken = [&]() -> absl::Status {
    RETURN_IF_ERROR(BeginTransaction());
    ASSIGN_OR_RETURN(StoreHeader header, ReadHeader(*database_));
    ++header.epoch;
    ++header.commits;
    header.leader = core::RandomId(random_);
    RETURN_IF_ERROR(UpdateHeader(*database_, header));
    RETURN_IF_ERROR(FinishTransaction(header));
    leader_ = header.leader;
    return absl::OkStatus();
  }();
  if (!taken.ok()) {
    Abort();
    return taken;
  }
  // The epoch goes from the log into the file: should the log be lost, no
  // older controller leads again.
  RETURN_IF_ERROR(database_->Query("PRAGMA wal_checkpoint(TRUNCATE)"));
  RETURN_IF_ERROR(database_->Execute("BEGIN"));
  absl::StatusOr<StoredPipeline> pipeline = ReadAll();
  Abort();
  return pipeline;
}

// Everything from one snapshot, made after the epoch was committed.
absl::StatusOr<StoredPipeline> SqliteBackend::ReadAll() {
  ASSIGN_OR_RETURN(const StoreHeader header, ReadHeader(*database_));
  if (header.leader != leader_) {
    return MakeError(Reason::STALE_EPOCH,
                     absl::StrCat("reading the store ", path_,
                                  ": another controller took epoch ",
                                  header.epoch, " meanwhile"));
  }
  StoredPipeline pipeline;
  pipeline.incarnation = header.incarnation;
  pipeline.epoch = header.epoch;
  ASSIGN_OR_RETURN(pipeline.connectors, ReadConnectors(*database_, header));
  return pipeline;
}

absl::StatusOr<uint64_t> SqliteBackend::ReadEpoch() {
  RETURN_IF_ERROR(Connected());
  ASSIGN_OR_RETURN(const StoreHeader header, ReadHeader(*database_));
  return header.epoch;
}

absl::Status SqliteBackend::Commit(std::span<const Request> requests,
                                   std::span<absl::Status> verdicts) {
  absl::Status status = TryCommit(requests, verdicts);
  if (!status.ok()) {
    Abort();
    if (core::HasReason(status, Reason::IO_ERROR)) database_ = nullptr;
  }
  return status;
}

absl::Status SqliteBackend::TryCommit(std::span<const Request> requests,
                                      std::span<absl::Status> verdicts) {
  RETURN_IF_ERROR(BeginTransaction());
  ASSIGN_OR_RETURN(StoreHeader header, ReadHeader(*database_));
  bool changed = false;
  for (size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    if (leader_.empty() || header.leader != leader_ ||
        header.epoch != request.epoch) {
      verdicts[i] = StaleEpoch(request.epoch, header.epoch);
      continue;
    }
    // A transaction of its own inside, so that one refusal touches no other.
    RETURN_IF_ERROR(database_->Execute("SAVEPOINT one"));
    uint64_t digest = header.digest;
    absl::Status& verdict = verdicts[i];
    SqliteRows rows(*database_, digest);
    RETURN_IF_ERROR(ApplyTransaction(rows, request.transaction, verdict));
    if (verdict.ok()) {
      header.digest = digest;
      changed = true;
    } else {
      RETURN_IF_ERROR(database_->Execute("ROLLBACK TO one"));
    }
    RETURN_IF_ERROR(database_->Execute("RELEASE one"));
  }
  if (!changed) {
    Abort();
    return absl::OkStatus();
  }
  ++header.commits;
  RETURN_IF_ERROR(UpdateHeader(*database_, header));
  return FinishTransaction(header);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateStore>> MakeSqliteStore(
    const std::string& path, const SqliteStoreOptions& options,
    core::Executor& executor) {
  absl::StatusOr<std::unique_ptr<SqliteDatabase>> database =
      OpenSqliteFile(path, options);
  if (core::HasReason(database.status(), Reason::NOT_FOUND) &&
      options.create_if_missing) {
    const absl::Status created = CreateSqliteFile(path, options);
    // Made by somebody else meanwhile: then that one is opened.
    if (!created.ok() && !core::HasReason(created, Reason::ALREADY_EXISTS)) {
      return created;
    }
    database = OpenSqliteFile(path, options);
  }
  RETURN_IF_ERROR(database);
  return MakeSerialStore(
      std::make_unique<SqliteBackend>(path, options, *std::move(database)),
      executor, path);
}

}  // namespace penstock::client
