// A StateStore whose calls are carried out one after the other by a backend
// that may block.
#pragma once

#include "client/controller/state_store.h"
#include "core/base/executor.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace penstock::client {

// What a store of one kind does. Errors are those that StateStore names.
// Owner:   a serial store. Threads: confined to one thread at a time.
// Blocks:  as the disk or the network does.
class StoreBackend {
 public:
  struct Request {
    uint64_t epoch = 0;
    StoreTransaction transaction;
  };

  virtual ~StoreBackend() = default;
  virtual absl::StatusOr<StoredPipeline> TakeLeadership() = 0;
  virtual absl::StatusOr<uint64_t> ReadEpoch() = 0;
  // Commits the requests in their order, in one transaction; one that is
  // refused touches no other. Fills in each one's verdict, which is OK at first
  // and of which there are as many. An error: nothing is known to be committed,
  // and it is the verdict of each that has none of its own.
  virtual absl::Status Commit(std::span<const Request> requests,
                              std::span<absl::Status> verdicts) = 0;
};

// Work is done on `executor`, several Commits that wait at once. `executor`
// outlives the store and should have a thread of its own. Destruction answers
// what has not begun with CANCELLED, naming the store as `name` does; what is
// under way ends by itself.
std::unique_ptr<StateStore> MakeSerialStore(
    std::unique_ptr<StoreBackend> backend, core::Executor& executor,
    std::string name);

// The verdict on a Commit of another epoch than the stored one.
absl::Status StaleEpoch(uint64_t ours, uint64_t stored);

}  // namespace penstock::client
