#include "client/controller/serial_store.h"

#include "core/base/error.h"
#include "core/base/mutex.h"
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

// Commits that wait are joined into one transaction: at most this many, up to
// kJournalBytesMax.
constexpr size_t kGroupMax = 64;

uint64_t JournalBytes(const StoreTransaction& transaction) {
  uint64_t bytes = 0;
  for (const StoreTransaction::JournalStep& row : transaction.journal) {
    bytes += BytesOf(row.result);
  }
  return bytes;
}

// The backend and the calls that wait for it.
// Owner: shared by the store and its task under way. Threads: the queue is
//        thread-safe, the backend is confined to the strand.
class Worker final : public std::enable_shared_from_this<Worker> {
 public:
  struct Lead {
    StateStore::Reply<StoredPipeline> reply;
  };
  struct Commit {
    StoreBackend::Request request;
    StateStore::Done done;
  };
  struct Read {
    StateStore::Reply<uint64_t> reply;
  };
  using Call = std::variant<Lead, Commit, Read>;

  Worker(std::unique_ptr<StoreBackend> backend, core::Executor& executor,
         std::string name)
      : name_(std::move(name)),
        strand_(executor),
        backend_(std::move(backend)) {}

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
  void CommitGroup(std::vector<Call> calls);

  const std::string name_;
  core::Strand strand_;
  const std::unique_ptr<StoreBackend> backend_;

  core::Mutex mu_;
  std::deque<Call> calls_ ABSL_GUARDED_BY(mu_);
};

void Worker::CancelAll() {
  std::deque<Call> calls;
  {
    core::MutexLock lock(mu_);
    calls.swap(calls_);
  }
  strand_.Close();
  const absl::Status cancelled = MakeError(
      Reason::CANCELLED,
      absl::StrCat("using the store ", name_, ": it is being closed"));
  for (Call& call : calls) {
    if (auto* commit = std::get_if<Commit>(&call)) commit->done(cancelled);
    if (auto* lead = std::get_if<Lead>(&call)) lead->reply(cancelled);
    if (auto* read = std::get_if<Read>(&call)) read->reply(cancelled);
  }
}

std::vector<Worker::Call> Worker::Take() {
  std::vector<Call> taken;
  uint64_t bytes = 0;
  core::MutexLock lock(mu_);
  while (!calls_.empty() && taken.size() < kGroupMax) {
    const auto* const commit = std::get_if<Commit>(&calls_.front());
    const bool joins = commit != nullptr;
    if (joins) bytes += JournalBytes(commit->request.transaction);
    if (!taken.empty() && (!joins || bytes > kJournalBytesMax)) break;
    taken.push_back(std::move(calls_.front()));
    calls_.pop_front();
    if (!joins) break;
  }
  return taken;
}

void Worker::RunNext() {
  std::vector<Call> calls = Take();
  if (calls.empty()) return;
  if (auto* lead = std::get_if<Lead>(&calls[0])) {
    return lead->reply(backend_->TakeLeadership());
  }
  if (auto* read = std::get_if<Read>(&calls[0])) {
    return read->reply(backend_->ReadEpoch());
  }
  CommitGroup(std::move(calls));
}

void Worker::CommitGroup(std::vector<Call> calls) {
  std::vector<StoreBackend::Request> requests;
  requests.reserve(calls.size());
  for (Call& call : calls) {
    requests.push_back(std::move(std::get<Commit>(call).request));
  }
  std::vector<absl::Status> verdicts(calls.size());
  const absl::Status status = backend_->Commit(requests, verdicts);
  for (size_t i = 0; i < calls.size(); ++i) {
    // The store's own trouble is everybody's; what is one's own stays so.
    if (verdicts[i].ok()) verdicts[i] = status;
    std::get<Commit>(calls[i]).done(std::move(verdicts[i]));
  }
}

class SerialStore final : public StateStore {
 public:
  explicit SerialStore(std::shared_ptr<Worker> worker)
      : worker_(std::move(worker)) {}
  ~SerialStore() override { worker_->CancelAll(); }

  void TakeLeadership(Reply<StoredPipeline> reply) override {
    worker_->Add(Worker::Lead{std::move(reply)});
  }
  void Commit(uint64_t epoch, StoreTransaction transaction,
              Done done) override {
    worker_->Add(
        Worker::Commit{{epoch, std::move(transaction)}, std::move(done)});
  }
  void ReadEpoch(Reply<uint64_t> reply) override {
    worker_->Add(Worker::Read{std::move(reply)});
  }

 private:
  const std::shared_ptr<Worker> worker_;
};

}  // namespace

std::unique_ptr<StateStore> MakeSerialStore(
    std::unique_ptr<StoreBackend> backend, core::Executor& executor,
    std::string name) {
  return std::make_unique<SerialStore>(
      std::make_shared<Worker>(std::move(backend), executor, std::move(name)));
}

absl::Status StaleEpoch(uint64_t ours, uint64_t stored) {
  return MakeError(
      Reason::STALE_EPOCH,
      absl::StrCat("committing in epoch ", ours,
                   ": another controller leads (epoch ", stored, ")"));
}

}  // namespace penstock::client
