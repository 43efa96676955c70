#include "client/controller/store_committer.h"

#include "client/controller/backoff.h"
#include "core/base/error.h"
#include "core/base/log.h"

#include <utility>

namespace penstock::client {

// Shared by: the call under way and the timer of the next.
struct StoreCommitter::Attempt {
  Attempt(StoreTransaction used_transaction, Committed used_committed,
          core::Random& random)
      : transaction(std::move(used_transaction)),
        committed(std::move(used_committed)),
        backoff(random) {}

  const StoreTransaction transaction;
  Committed committed;
  Backoff backoff;
};

void StoreCommitter::Commit(StoreTransaction transaction, Committed committed) {
  Try(std::make_shared<Attempt>(std::move(transaction), std::move(committed),
                                context_.random));
}

void StoreCommitter::Try(std::shared_ptr<Attempt> attempt) {
  StoreTransaction copy = attempt->transaction;
  store_.Commit(context_.fence.epoch, std::move(copy),
                context_.tasks.Wrap([this, attempt](absl::Status status) {
                  if (status.ok()) return attempt->committed();
                  if (!core::HasReason(status, core::Reason::UNAVAILABLE) &&
                      !core::HasReason(status, core::Reason::STORAGE_FULL)) {
                    return on_error_(std::move(status));
                  }
                  LOG(WARNING).With("pipeline", context_.fence.pipeline)
                      << "committing again: " << core::ErrorText(status);
                  context_.tasks.PostAfter(attempt->backoff.Next(),
                                           [this, attempt] { Try(attempt); });
                }));
}

}  // namespace penstock::client
