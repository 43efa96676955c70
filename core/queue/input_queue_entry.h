// What goes into an InputQueue, and what comes out.
#pragma once

#include "core/record/buffer_size.h"
#include "core/record/record_batch.h"
#include "core/record/step_hash.h"

#include <absl/time/time.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::core {

// Seed type: `InputQueueEntry`. A plain value, moved through the queue.
template <typename Aux = std::monostate, typename Buffer = RecordBatch>
struct InputQueueEntry {
  // Records to flush; nullopt: this entry only carries what follows.
  std::optional<Buffer> buffer = std::nullopt;
  // Wall-clock time at which the data came in from the outside. Fresh for
  // every entry.
  absl::Time timestamp = absl::InfinitePast();
  // Start a transaction, with this label if there is one, before the buffer is
  // flushed, unless one is in progress.
  std::optional<std::optional<std::string>> start_transaction = std::nullopt;
  // Commit the transaction after the buffer was flushed, if one is in progress.
  bool commit_transaction = false;
  // Where the data came from: belongs to the buffer as a whole.
  Aux aux = {};
};

// What one flush took out.
template <typename Aux = std::monostate>
struct FlushResult {
  BufferSize total;
  // Over the flushed buffers; present iff the consumer gives a hasher.
  std::optional<StepHash> hash;
  // Timestamp and aux of every entry taken, in order.
  std::vector<std::pair<absl::Time, Aux>> aux;
  // The consumer did not admit the next buffer, which is still queued.
  bool blocked = false;
  // The flush ended because it committed a transaction.
  bool transaction_committed = false;
};

}  // namespace penstock::core
