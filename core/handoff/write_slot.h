// One of a shard worker's writers and what it is busy with.
// See core/handoff/README.md.
#pragma once

#include "core/base/strand.h"
#include "core/handoff/breaker.h"
#include "core/handoff/retry.h"
#include "core/handoff/shard_backlog.h"
#include "core/handoff/shard_writer.h"

#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace penstock::core {

// Owner:   the shard worker. Threads: confined to its strand.
// Bound:   one batch.
struct WriteSlot {
  WriteSlot(std::unique_ptr<ShardWriter> its_writer, const Backoff& its_backoff)
      : writer(std::move(its_writer)), backoff(its_backoff) {}

  std::unique_ptr<ShardWriter> writer;
  // The batch, from its first attempt to its confirmation; null: free.
  // Shared by: this, the writer and a commit that is not answered.
  std::shared_ptr<ShardWrite> write;
  std::string id;
  Backoff backoff;
  // Counts attempts and waits: a timer that was due before it could be
  // cancelled finds another number.
  uint64_t turn = 0;
  absl::Time attempt_began;
  // Of the attempt under way.
  Breaker::Permit permit;
  bool waits_for_breaker = false;
  // The last attempt failed, or is overdue.
  bool in_trouble = false;
  // The deadline of the attempt under way has passed.
  bool is_overdue = false;
  // Set while it waits for the next attempt.
  Strand::TimerId retry_timer = Strand::TimerId::kNone;
  // Set while an attempt is under way and not overdue.
  Strand::TimerId deadline_timer = Strand::TimerId::kNone;
};

}  // namespace penstock::core
