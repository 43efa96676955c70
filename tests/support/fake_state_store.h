// A StateStore in memory: what is committed outlives the controller's crash,
// what is under way may or may not.
#pragma once

#include "client/controller/state_store.h"
#include "core/base/executor.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>

namespace penstock::client {

// The durable side; shared by the handles of all controllers, dead or alive.
// Threads: thread-compatible.
struct FakeStoreDisk {
  StoredPipeline state{
      .incarnation = "incarnation-1", .epoch = 0, .connectors = {}};
  uint64_t commits = 0;
  // The most that one of them journaled of replays.
  uint64_t journal_bytes_max = 0;
  void Count(const StoreTransaction& transaction);
};

// Applies one transaction, all or nothing, exactly as StoreTransaction says.
absl::Status ApplyTransaction(const StoreTransaction& transaction,
                              StoredPipeline& state);

// One controller's handle. Calls are carried out one after the other; each
// takes effect at one moment and answers at a later one, so that a crash
// between leaves it committed and unanswered.
//
// Owner:     the test. Threads: confined to the executor's thread.
// Lifecycle: destruction drops what has not taken effect and every answer.
class FakeStateStore final : public StateStore {
 public:
  FakeStateStore(core::Executor& executor, FakeStoreDisk& disk);
  ~FakeStateStore() override;

  void TakeLeadership(Reply<StoredPipeline> reply) override;
  void Commit(uint64_t epoch, StoreTransaction transaction, Done done) override;
  void ReadEpoch(Reply<uint64_t> reply) override;

  // From now on each call takes this long until it takes effect, and as long
  // again until it answers.
  void SetDelay(absl::Duration delay);
  // The next `count` calls have no effect and answer `status`.
  void FailNext(int count, absl::Status status);
  // The next `count` calls take effect and answer UNAVAILABLE.
  void LoseAnswers(int count);
  // Nothing takes effect until it is lifted.
  void Hold(bool hold);
  // Calls that have not answered yet.
  size_t pending() const;

 private:
  // Shared by: the handle and its tasks in the executor.
  struct Handle;
  std::shared_ptr<Handle> handle_;
};

}  // namespace penstock::client
