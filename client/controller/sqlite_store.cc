#include "client/controller/sqlite_store.h"

#include "client/controller/sqlite_database.h"
#include "client/controller/sqlite_file.h"
#include "client/controller/sqlite_rows.h"
#include "client/controller/sqlite_transaction.h"
#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/base/strand.h"

#include <absl/strings/str_cat.h>

#include <deque>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::client {
namespace {

using core::MakeError;
using core::Reason;

// Commits that wait are joined into one transaction, at most this many.
constexpr size_t kGroupMax = 64;

absl::Status Stale(uint64_t ours, uint64_t stored) {
  return MakeError(
      Reason::STALE_EPOCH,
      absl::StrCat("committing in epoch ", ours,
                   ": another controller leads (epoch ", stored, ")"));
}

// The connection and what is done with it, one call after the other.
// Owner: shared by the store and its task under way. Threads: the queue is
//        thread-safe, all else is confined to the strand.
class SqliteWorker final : public std::enable_shared_from_this<SqliteWorker> {
 public:
  struct Lead {
    StateStore::Reply<StoredPipeline> reply;
  };
  struct Commit {
    uint64_t epoch = 0;
    StoreTransaction transaction;
    StateStore::Done done;
  };
  struct Read {
    StateStore::Reply<uint64_t> reply;
  };
  using Call = std::variant<Lead, Commit, Read>;

  SqliteWorker(std::string path, SqliteStoreOptions options,
               std::unique_ptr<SqliteDatabase> database,
               core::Executor& executor)
      : path_(std::move(path)),
        options_(std::move(options)),
        random_(core::SeededFromEntropy()),
        strand_(executor),
        database_(std::move(database)) {}

  void Add(Call call) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      core::MutexLock lock(mu_);
      calls_.push_back(std::move(call));
    }
    strand_.Post([self = shared_from_this()] { self->RunNext(); });
  }
  // What has not begun is answered, and nothing begins any more.
  void CancelAll() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Takes the first call, and the Commits right behind it if it is one.
  std::vector<Call> Take() ABSL_LOCKS_EXCLUDED(mu_);
  void RunNext();

  absl::StatusOr<StoredPipeline> TakeLeadership();
  absl::StatusOr<StoredPipeline> ReadAll();
  absl::StatusOr<uint64_t> ReadEpoch();
  void CommitGroup(std::vector<Call> group);
  // Fills in each one's own verdict. An error: nothing was committed.
  absl::Status TryCommitGroup(std::vector<Call>& group,
                              std::vector<absl::Status>& verdicts);
  absl::Status Connected();
  // Begins a transaction and locks. Errors: STATE_DAMAGED if the files are no
  // longer those that were opened.
  absl::Status BeginTransaction();
  // Ends the transaction. Errors: it did not take place, or is not durable.
  absl::Status FinishTransaction(const SqliteHeader& header);
  void Abort();

  const std::string path_;
  const SqliteStoreOptions options_;
  core::Random random_;
  core::Strand strand_;

  core::Mutex mu_;
  std::deque<Call> calls_ ABSL_GUARDED_BY(mu_);

  // Null after an I/O error: connected again before the next use.
  std::unique_ptr<SqliteDatabase> database_;
  // Of the epoch this handle took; empty: none.
  std::string leader_;
};

void SqliteWorker::CancelAll() {
  std::deque<Call> calls;
  {
    core::MutexLock lock(mu_);
    calls.swap(calls_);
  }
  strand_.Close();
  const absl::Status cancelled = MakeError(
      Reason::CANCELLED,
      absl::StrCat("using the store ", path_, ": it is being closed"));
  for (Call& call : calls) {
    if (auto* commit = std::get_if<Commit>(&call)) commit->done(cancelled);
    if (auto* lead = std::get_if<Lead>(&call)) lead->reply(cancelled);
    if (auto* read = std::get_if<Read>(&call)) read->reply(cancelled);
  }
}

std::vector<SqliteWorker::Call> SqliteWorker::Take() {
  std::vector<Call> taken;
  core::MutexLock lock(mu_);
  while (!calls_.empty() && taken.size() < kGroupMax) {
    const bool joins = std::holds_alternative<Commit>(calls_.front());
    if (!taken.empty() && !joins) break;
    taken.push_back(std::move(calls_.front()));
    calls_.pop_front();
    if (!joins) break;
  }
  return taken;
}

void SqliteWorker::RunNext() {
  std::vector<Call> calls = Take();
  if (calls.empty()) return;
  if (auto* lead = std::get_if<Lead>(&calls[0])) {
    return lead->reply(TakeLeadership());
  }
  if (auto* read = std::get_if<Read>(&calls[0])) {
    return read->reply(ReadEpoch());
  }
  CommitGroup(std::move(calls));
}

absl::Status SqliteWorker::Connected() {
  if (database_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(database_, ConnectSqliteFile(path_, options_));
  return absl::OkStatus();
}

absl::Status SqliteWorker::BeginTransaction() {
  RETURN_IF_ERROR(Connected());
  RETURN_IF_ERROR(database_->Execute("BEGIN IMMEDIATE"));
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

void SqliteWorker::Abort() {
  if (database_ == nullptr || !database_->InTransaction()) return;
  if (!database_->Execute("ROLLBACK").ok()) database_ = nullptr;
}

absl::Status SqliteWorker::FinishTransaction(const SqliteHeader& header) {
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
  ASSIGN_OR_RETURN(const SqliteHeader stored, ReadHeader(*database_));
  if (stored.commits == header.commits && stored.leader == header.leader) {
    return absl::OkStatus();
  }
  return status;
}

absl::StatusOr<StoredPipeline> SqliteWorker::TakeLeadership() {
  const absl::Status taken = [&]() -> absl::Status {
    RETURN_IF_ERROR(BeginTransaction());
    ASSIGN_OR_RETURN(SqliteHeader header, ReadHeader(*database_));
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
absl::StatusOr<StoredPipeline> SqliteWorker::ReadAll() {
  ASSIGN_OR_RETURN(const SqliteHeader header, ReadHeader(*database_));
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

absl::StatusOr<uint64_t> SqliteWorker::ReadEpoch() {
  RETURN_IF_ERROR(Connected());
  ASSIGN_OR_RETURN(const SqliteHeader header, ReadHeader(*database_));
  return header.epoch;
}

void SqliteWorker::CommitGroup(std::vector<Call> group) {
  std::vector<absl::Status> verdicts(group.size());
  const absl::Status status = TryCommitGroup(group, verdicts);
  if (!status.ok()) {
    Abort();
    // SQLite's own trouble is everybody's; what is one's own stays so.
    for (absl::Status& verdict : verdicts) {
      if (verdict.ok()) verdict = status;
    }
    if (core::HasReason(status, Reason::IO_ERROR)) database_ = nullptr;
  }
  for (size_t i = 0; i < group.size(); ++i) {
    std::get<Commit>(group[i]).done(std::move(verdicts[i]));
  }
}

absl::Status SqliteWorker::TryCommitGroup(std::vector<Call>& group,
                                          std::vector<absl::Status>& verdicts) {
  RETURN_IF_ERROR(BeginTransaction());
  ASSIGN_OR_RETURN(SqliteHeader header, ReadHeader(*database_));
  bool changed = false;
  for (size_t i = 0; i < group.size(); ++i) {
    const Commit& commit = std::get<Commit>(group[i]);
    if (leader_.empty() || header.leader != leader_ ||
        header.epoch != commit.epoch) {
      verdicts[i] = Stale(commit.epoch, header.epoch);
      continue;
    }
    // A transaction of its own inside, so that one refusal touches no other.
    RETURN_IF_ERROR(database_->Execute("SAVEPOINT one"));
    uint64_t digest = header.digest;
    absl::Status& verdict = verdicts[i];
    RETURN_IF_ERROR(
        ApplyTransaction(*database_, commit.transaction, digest, verdict));
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

class SqliteStore final : public StateStore {
 public:
  explicit SqliteStore(std::shared_ptr<SqliteWorker> worker)
      : worker_(std::move(worker)) {}
  ~SqliteStore() override { worker_->CancelAll(); }

  void TakeLeadership(Reply<StoredPipeline> reply) override {
    worker_->Add(SqliteWorker::Lead{std::move(reply)});
  }
  void Commit(uint64_t epoch, StoreTransaction transaction,
              Done done) override {
    worker_->Add(
        SqliteWorker::Commit{epoch, std::move(transaction), std::move(done)});
  }
  void ReadEpoch(Reply<uint64_t> reply) override {
    worker_->Add(SqliteWorker::Read{std::move(reply)});
  }

 private:
  const std::shared_ptr<SqliteWorker> worker_;
};

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
  return std::make_unique<SqliteStore>(std::make_shared<SqliteWorker>(
      path, options, *std::move(database), executor));
}

}  // namespace penstock::client
