#include "client/controller/postgres_store.h"

#include "client/controller/apply_transaction.h"
#include "client/controller/postgres_rows.h"
#include "client/controller/postgres_schema.h"
#include "client/controller/serial_store.h"
#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using core::MakeError;
using core::PgConnection;
using core::Reason;

// How often a header that changed under us is read again.
constexpr int kAttemptsMax = 3;

absl::Status NotLeading(const StoreHeader& stored) {
  return MakeError(
      Reason::STALE_EPOCH,
      absl::StrCat("another controller took epoch ", stored.epoch));
}

// Owner: a serial store. Threads: confined to one thread at a time.
// Bound: the known rows of a leader.
class PostgresBackend final : public StoreBackend {
 public:
  explicit PostgresBackend(PostgresStoreOptions options)
      : options_(std::move(options)),
        random_(core::SeededFromEntropy()),
        link_(options_.place, "store") {}

  // Checks tables and header, and makes them if that is wanted.
  absl::Status Open() { return Finish(TryOpen()); }

  absl::StatusOr<StoredPipeline> TakeLeadership() override;
  absl::StatusOr<uint64_t> ReadEpoch() override;
  absl::Status Commit(std::span<const Request> requests,
                      std::span<absl::Status> verdicts) override;

 private:
  absl::Status TryOpen();
  absl::StatusOr<StoredPipeline> TryTakeLeadership();
  absl::StatusOr<uint64_t> TryReadEpoch();
  absl::Status TryCommit(std::span<const Request> requests,
                         std::span<absl::Status> verdicts);

  // Of the link's connection, which outlives it.
  absl::StatusOr<PostgresPipeline> Rows();
  // Takes the next epoch. Returns: the header that then stands.
  absl::StatusOr<StoreHeader> TakeEpoch();
  // After an answer was lost: no statement of before takes effect any more,
  // and what is known is what is there.
  absl::Status Settle();
  // From one snapshot. Errors: STALE_EPOCH: another leads.
  absl::Status ReadKnown(PostgresPipeline& rows);
  // What failed is given up; whoever comes next finds out what became of it.
  absl::Status Finish(const absl::Status& status);

  const PostgresStoreOptions options_;
  core::Random random_;
  PostgresLink link_;
  // Of the epoch this handle took; empty: none.
  std::string leader_;
  // Not set: the outcome of a call is unknown, or nothing was led.
  std::optional<KnownRows> known_;
};

absl::Status PostgresBackend::Finish(const absl::Status& status) {
  if (status.ok()) return status;
  link_.Drop();
  known_.reset();
  return link_.Explain(status);
}

absl::StatusOr<PostgresPipeline> PostgresBackend::Rows() {
  ASSIGN_OR_RETURN(PgConnection* const connection, link_.Use());
  return PostgresPipeline(
      *connection, options_.place.pipeline,
      {.clock = *options_.place.clock, .each = options_.place.call_deadline});
}

// ------------------------------------------------------------------ opening

absl::Status PostgresBackend::TryOpen() {
  ASSIGN_OR_RETURN(PgConnection* const connection, link_.Use());
  absl::Status checked = CheckPostgresTables(*connection, link_.Deadline());
  if (core::HasReason(checked, Reason::NOT_FOUND) &&
      options_.create_if_missing) {
    RETURN_IF_ERROR(MakePostgresTables(*connection, link_.Deadline()));
    checked = CheckPostgresTables(*connection, link_.Deadline());
  }
  RETURN_IF_ERROR(checked);
  ASSIGN_OR_RETURN(PostgresPipeline rows, Rows());
  ASSIGN_OR_RETURN(const std::optional<StoreHeader> found, rows.FindHeader());
  if (found.has_value()) return absl::OkStatus();
  if (!options_.create_if_missing) {
    return MakeError(Reason::NOT_FOUND,
                     absl::StrCat("there is no state of pipeline '",
                                  options_.place.pipeline, "'"));
  }
  StoreHeader header;
  header.incarnation = options_.incarnation.empty() ? core::RandomId(random_)
                                                    : options_.incarnation;
  return rows.InsertHeader(header);
}

// ------------------------------------------------------------------ leading

absl::StatusOr<StoredPipeline> PostgresBackend::TakeLeadership() {
  absl::StatusOr<StoredPipeline> taken = TryTakeLeadership();
  if (!taken.ok()) return Finish(taken.status());
  return taken;
}

absl::StatusOr<StoreHeader> PostgresBackend::TakeEpoch() {
  ASSIGN_OR_RETURN(PostgresPipeline rows, Rows());
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    ASSIGN_OR_RETURN(const StoreHeader from, rows.ReadHeader());
    StoreHeader to = from;
    ++to.epoch;
    ++to.commits;
    to.leader = core::RandomId(random_);
    ASSIGN_OR_RETURN(const bool replaced,
                     rows.ReplaceHeader(from, to, options_.lease_holder));
    if (replaced) return to;
    ASSIGN_OR_RETURN(const StoreHeader now, rows.ReadHeader());
    if (now.commits != from.commits) continue;
    return MakeError(Reason::STALE_EPOCH,
                     absl::StrCat("taking an epoch after ", from.epoch,
                                  ": another controller holds the lease"));
  }
  return MakeError(Reason::UNAVAILABLE,
                   "taking an epoch: the leading controller is at work");
}

absl::StatusOr<StoredPipeline> PostgresBackend::TryTakeLeadership() {
  known_.reset();
  leader_.clear();
  ASSIGN_OR_RETURN(const StoreHeader header, TakeEpoch());
  leader_ = header.leader;
  ASSIGN_OR_RETURN(PostgresPipeline rows, Rows());
  RETURN_IF_ERROR(ReadKnown(rows));
  StoredPipeline pipeline;
  pipeline.incarnation = header.incarnation;
  pipeline.epoch = header.epoch;
  ASSIGN_OR_RETURN(pipeline.connectors, rows.ReadConnectors(*known_));
  RETURN_IF_ERROR(rows.EndSnapshot());
  return pipeline;
}

absl::Status PostgresBackend::ReadKnown(PostgresPipeline& rows) {
  RETURN_IF_ERROR(rows.BeginSnapshot());
  ASSIGN_OR_RETURN(const StoreHeader header, rows.ReadHeader());
  if (header.leader != leader_) return NotLeading(header);
  ASSIGN_OR_RETURN(known_, rows.ReadKnown(header));
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PostgresBackend::ReadEpoch() {
  absl::StatusOr<uint64_t> epoch = TryReadEpoch();
  // Reading changes nothing that is known.
  if (!epoch.ok()) link_.Drop();
  return epoch.ok() ? epoch : link_.Explain(epoch.status());
}

absl::StatusOr<uint64_t> PostgresBackend::TryReadEpoch() {
  ASSIGN_OR_RETURN(PostgresPipeline rows, Rows());
  ASSIGN_OR_RETURN(const StoreHeader header, rows.ReadHeader());
  return header.epoch;
}

// --------------------------------------------------------------- committing

// A statement that was sent over a connection that was lost may still be on its
// way. It asserts the count of commits: once that has moved on, it has taken
// effect or never will.
absl::Status PostgresBackend::Settle() {
  ASSIGN_OR_RETURN(PostgresPipeline rows, Rows());
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    ASSIGN_OR_RETURN(const StoreHeader from, rows.ReadHeader());
    if (from.leader != leader_) return NotLeading(from);
    StoreHeader to = from;
    ++to.commits;
    ASSIGN_OR_RETURN(const bool replaced, rows.ReplaceHeader(from, to, ""));
    if (!replaced) continue;
    RETURN_IF_ERROR(ReadKnown(rows));
    return rows.EndSnapshot();
  }
  return MakeError(Reason::UNAVAILABLE,
                   "finding out what became of a lost call: its header "
                   "changes all the time");
}

absl::Status PostgresBackend::Commit(std::span<const Request> requests,
                                     std::span<absl::Status> verdicts) {
  absl::Status status = TryCommit(requests, verdicts);
  if (status.ok()) return status;
  // What was judged, was judged by what is no longer known.
  std::fill(verdicts.begin(), verdicts.end(), absl::OkStatus());
  return Finish(status);
}

absl::Status PostgresBackend::TryCommit(std::span<const Request> requests,
                                        std::span<absl::Status> verdicts) {
  if (leader_.empty()) {
    return MakeError(Reason::STALE_EPOCH,
                     "committing: this controller took no epoch");
  }
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    if (!known_.has_value()) {
      RETURN_IF_ERROR(Settle());
    }
    PostgresChange change(*known_);
    bool changed = false;
    for (size_t i = 0; i < requests.size(); ++i) {
      const Request& request = requests[i];
      verdicts[i] = absl::OkStatus();
      if (request.epoch != known_->header.epoch) {
        verdicts[i] = StaleEpoch(request.epoch, known_->header.epoch);
        continue;
      }
      PostgresChange with = change;
      RETURN_IF_ERROR(ApplyTransaction(with, request.transaction, verdicts[i]));
      if (!verdicts[i].ok()) continue;
      change = std::move(with);
      changed = true;
    }
    if (!changed) return absl::OkStatus();
    ASSIGN_OR_RETURN(PostgresPipeline rows, Rows());
    ASSIGN_OR_RETURN(const bool written, rows.Write(known_->header, change));
    if (written) {
      std::move(change).ApplyTo(*known_);
      return absl::OkStatus();
    }
    // Somebody else leads, or a statement of ours came late.
    known_.reset();
  }
  return MakeError(Reason::UNAVAILABLE,
                   "committing: the header changes all the time");
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateStore>> MakePostgresStore(
    const PostgresStoreOptions& options, core::Executor& executor) {
  auto backend = std::make_unique<PostgresBackend>(options);
  RETURN_IF_ERROR(backend->Open());
  return MakeSerialStore(std::move(backend), executor, options.place.name());
}

}  // namespace penstock::client
