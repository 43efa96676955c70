// Who may take a pipeline's next epoch, and until when.
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <string>

namespace penstock::client {

struct LeaseState {
  bool ours = false;
  // Who holds it, or held it last.
  std::string controller;
  // The last epoch that was taken.
  uint64_t epoch = 0;
  // Until it ends, by the store's clock; zero: it has ended.
  absl::Duration left;
  // The same moment for people, by the store's clock.
  std::string until;
};

// A lease lives where the state does and ends by that clock, so that the clocks
// of controllers do not matter. It says who should lead; that nobody else does
// any harm is the epoch's business.
//
// Owner:   whoever elects. Threads: thread-safe; callbacks run on any thread,
//          at most once, and none begins after destruction.
// Blocks:  never.
// Errors:  as StateStore; UNAVAILABLE: perhaps it was done.
class Lease {
 public:
  using Reply = absl::AnyInvocable<void(absl::StatusOr<LeaseState>)>;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  virtual ~Lease() = default;
  // Takes it if it is ours, is free, or has ended.
  virtual void Acquire(Reply reply) = 0;
  // Prolongs it if it is ours, ended or not.
  virtual void Renew(Reply reply) = 0;
  // Frees it if it is ours.
  virtual void Release(Done done) = 0;
  // How long it lasts from each Acquire or Renew.
  virtual absl::Duration lasts() const = 0;
};

}  // namespace penstock::client
