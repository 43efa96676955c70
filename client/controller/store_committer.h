// Commits to the store, again and again until the outcome is known.
// Upholds INV-7.
#pragma once

#include "client/controller/controller_context.h"
#include "client/controller/state_store.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <cstdint>
#include <memory>

namespace penstock::client {

// A transaction whose answer was lost, or that found no room, is committed
// again as it is: the store makes that harmless. Any other error ends the
// controller, because it says that another one leads, that the state is
// damaged, or that we are wrong.
//
// Owner:   the controller. Threads: confined to its strand.
// Bound:   what callers have outstanding.
class StoreCommitter {
 public:
  using Committed = absl::AnyInvocable<void()>;

  // `on_error`: the store's last word; called at most once for each Commit.
  StoreCommitter(ControllerContext& context, StateStore& store,
                 absl::AnyInvocable<void(absl::Status)> on_error)
      : context_(context), store_(store), on_error_(std::move(on_error)) {}

  // Calls `committed` on the strand once it is durable.
  void Commit(StoreTransaction transaction, Committed committed);

 private:
  struct Attempt;
  void Try(std::shared_ptr<Attempt> attempt);

  ControllerContext& context_;
  StateStore& store_;
  absl::AnyInvocable<void(absl::Status)> on_error_;
};

}  // namespace penstock::client
