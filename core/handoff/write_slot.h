// One of a shard worker's writers and what it is busy with.
// See core/handoff/README.md.
#pragma once

#include "core/base/rate_limit.h"
#include "core/base/strand.h"
#include "core/contract/dead_letter.h"
#include "core/handoff/breaker.h"
#include "core/handoff/refused_rows.h"
#include "core/handoff/retry.h"
#include "core/handoff/row_isolation.h"
#include "core/handoff/shard_backlog.h"
#include "core/handoff/shard_snapshot.h"
#include "core/handoff/shard_worker.h"
#include "core/handoff/shard_writer.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// Owner:   the shard worker. Threads: confined to its strand.
// Bound:   one batch.
struct WriteSlot {
  WriteSlot(std::unique_ptr<ShardWriter> its_writer, const Backoff& its_backoff)
      : writer(std::move(its_writer)), backoff(its_backoff) {}

  // What follows an attempt that did not fail.
  enum class Next {
    // The fate of the whole batch is decided.
    kConfirm,
    // Another attempt, at letters or at other rows.
    kTry,
  };

  // Whether letters come before anything else of the batch.
  bool OwesLetters() const;
  // Asks `breaker` (null: none) for an attempt at the target; letters need
  // none. Returns: when to ask again, if then `waits_for_breaker`.
  absl::Time Ask(Breaker* breaker, absl::Time steady_now);
  // Why it waits: the batch's own last error, or that of others.
  absl::Status HeldBack() const;
  // The next attempt is made whatever the breaker's state.
  void DoNotAsk(Breaker* breaker);
  // Begins to write what is to be written now, rows or letters. After
  // `stops_at` nobody waits for it any more.
  void Begin(const ShardWorkerOptions& options, absl::Time steady_now,
             absl::Time stops_at, ShardWriter::Done done);
  // What was to be done is done; or it met `error`, of kind kBadRow, and rows
  // are searched for as `options` say. An error breaks the shard.
  absl::StatusOr<Next> OnSuccess(ShardSnapshot& totals);
  absl::StatusOr<Next> OnRefusal(const absl::Status& error,
                                 const ShardWorkerOptions& options,
                                 RateLimit& log);
  // Adds the batch, whose fate is decided, to `totals` and to `counter`, if
  // there is one: rows that were left out count, too.
  void Count(RefusedRows* counter, ShardSnapshot& totals) const;
  // The batch is given up, or confirmed. Returns: it.
  std::shared_ptr<ShardWrite> TakeBatch();

  std::unique_ptr<ShardWriter> writer;
  // The batch, from its first attempt to its confirmation; null: free.
  // Shared by: this, the writer and a commit that is not answered.
  std::shared_ptr<ShardWrite> write;
  std::string id;
  // Null: the target has refused none of its rows.
  std::unique_ptr<RowIsolation> isolation;
  // Of records that could not be encoded; written before the batch. Views.
  std::vector<DeadLetter> letters;
  bool writes_letters = false;
  bool waits_for_letters = false;
  Backoff backoff;
  // Counts attempts and waits: a timer that was due before it could be
  // cancelled finds another number.
  uint64_t turn = 0;
  absl::Time attempt_began;
  // Of the attempt under way; none for letters, which go elsewhere.
  Breaker::Permit permit;
  bool waits_for_breaker = false;
  // The last attempt failed or is overdue, or the next one is held back.
  bool in_trouble = false;
  // Of the batch's last failed attempt; OK: none.
  absl::Status last_error;
  // The deadline of the attempt under way has passed.
  bool is_overdue = false;
  // Set while it waits for the next attempt.
  Strand::TimerId retry_timer = Strand::TimerId::kNone;
  // Set while an attempt is under way and not overdue.
  Strand::TimerId deadline_timer = Strand::TimerId::kNone;
};

}  // namespace penstock::core
