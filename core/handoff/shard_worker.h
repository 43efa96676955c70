// Writes one shard: waits for StepEnd and Release, writes whole steps,
// commits, confirms. See core/handoff/README.md; upholds INV-1, INV-4, INV-7.
#pragma once

#include "core/base/executor.h"
#include "core/contract/ft_model.h"
#include "core/contract/output_endpoint.h"
#include "core/contract/output_target.h"
#include "core/handoff/breaker.h"
#include "core/handoff/delivery.h"
#include "core/handoff/row_isolation.h"
#include "core/handoff/shard_queues.h"
#include "core/handoff/shard_snapshot.h"
#include "core/record/step.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Hears what a shard worker meets. Threads: any; records and returns.
class ShardObserver {
 public:
  virtual ~ShardObserver() = default;
  // Progress in the target moved to `steps` (exclusive count). Exactly-once
  // only; before the acks of those steps resolve.
  virtual void OnProgress(ShardIndex shard, Step steps) = 0;
  // A write failed and is tried again at `next_attempt`, a steady time; or, at
  // InfiniteFuture(), its deadline has passed and it has not returned.
  virtual void OnRetry(ShardIndex shard, const absl::Status& error,
                       absl::Time next_attempt) = 0;
  // A write waits for the target's circuit breaker, at least until
  // `next_attempt`, a steady time; or, at InfiniteFuture(), for what becomes of
  // another write. `reason`: the shard's own last error, or what is known.
  virtual void OnHeldBack(ShardIndex shard, const absl::Status& reason,
                          absl::Time next_attempt) = 0;
  // Writes succeed again after OnRetry or OnHeldBack.
  virtual void OnRecovered(ShardIndex shard) = 0;
  // The shard is broken for good; what it held has failed. At most once.
  virtual void OnFatal(ShardIndex shard, const absl::Status& error) = 0;
};

struct ShardWorkerOptions {
  ShardIndex shard = 0;
  std::optional<FtModel> level;
  // What the frames consist of: rows go to PushBuffer, messages to PushKey.
  FrameKind frames = FrameKind::kConcatenated;
  // Count of steps the target held at open (exactly-once).
  Step progress = 0;
  Step released = 0;
  DeliveryOptions delivery;
  uint64_t random_seed = 0;
  // One commit covers whole steps up to this many bytes, at least one step.
  uint64_t commit_bytes_max = uint64_t{32} << 20;
  // Bytes pushed in one task, at least one frame. 0: each frame is a task of
  // its own, so that a simulation may stop between any two.
  uint64_t push_bytes_max = uint64_t{1} << 20;
  // Of the target; null: none. Attempts wait for it until Stop is called.
  // Shared by: the shards of a connector.
  std::shared_ptr<Breaker> breaker;
  // Below exactly-once: a random part of every batch id, of this open alone.
  std::string run_id;
  RefusedRowOptions refused_rows;
};

// Where a shard worker writes to.
struct ShardSink {
  // Connected; each writes one batch at a time. Exactly-once: one.
  std::vector<OutputEndpoint*> endpoints;
  OutputCommitter* committer = nullptr;
  // Keeps the two, the queue and the observer alive.
  // Shared by: the worker, until it has stopped and no call is running.
  std::shared_ptr<const void> keep_alive;
};

struct ShardStopReport {
  // Released steps whose commit was not confirmed; below exactly-once those
  // whose write was begun and not confirmed. Ascending.
  std::vector<Step> unconfirmed;
  // Steps dropped because they were not released; below exactly-once those
  // that were not written in time. Ascending.
  std::vector<Step> dropped;
  // Calls of an endpoint that had not returned by the deadline. Each keeps its
  // thread, and `keep_alive`, until it does: until then nothing may be closed.
  uint32_t calls_running = 0;
};

// A resumable task on the I/O executor, none while there is nothing to do.
// Exactly-once: takes chunks at once and holds them, in their leases, until
// StepEnd and Release; then BatchStart, PushBuffer…, BatchEnd,
// Committer().Commit, and only then the acks. Each of these calls is a task of
// its own (pushes up to `push_bytes_max`), so that a scheduler may interleave
// or stop them. What follows holds for each endpoint by itself:
//
//   FREE ─items, release─▶ WRITING ─committed─▶ FREE       fatal ─▶ BROKEN
//                          ▲     │ retryable; deadline    (the whole shard)
//                          └─────┴──▶ WAITING
//
// A deadline that passes between two calls fails the attempt. A call that runs
// beyond it cannot be taken back: the observer hears of it, `writes_overdue`
// counts it, and whatever it answers in the end counts.
//
// A retryable answer of BatchEnd or Commit says nothing about the outcome. The
// worker then writes exactly the same range with the same bytes again, never a
// longer one, for as long as it takes: an exactly-once endpoint whose progress
// is already at the end of that range knows that it was its own write, because
// nobody else passes its fence (OutputEndpoint).
//
// Owner:     the connector, until Stop's callback. Its tasks hold it weakly:
//            dropped earlier it ends after the calls that are running, and the
//            callbacks it was given are then destroyed without being called.
// Threads:   thread-safe.
// Lifecycle: Start, …, Stop (its callback ends it). No call begins after
//            Stop's callback, and a batch then unfinished is abandoned: the
//            endpoint is not called again. A call that is running then is
//            reported (calls_running).
// Bound:     holds what the budget admitted; one write for each endpoint.
class ShardWorker {
 public:
  // What `sink` names, `queue` and `observer` outlive Stop's callback and the
  // calls that run then. `io` outlives everything. Sets the queue's `on_items`.
  static std::shared_ptr<ShardWorker> Create(ShardWorkerOptions options,
                                             ShardSink sink, ShardQueue& queue,
                                             Executor& io,
                                             ShardObserver& observer);
  virtual ~ShardWorker() = default;

  // Nothing is received before. Once.
  virtual void Start() = 0;
  // Steps below `count` may be committed. Monotone: a lower one has no effect.
  virtual void SetReleased(Step count) = 0;
  // Raises this shard's progress in the target to at least `steps`, once
  // nothing below is held (PrepareCheckpoint); below exactly-once: flushes
  // what is held. `done` exactly once; retried until it succeeds.
  // Requires: exactly-once: each step below `steps` that there is or will be
  // had its StepEnd queued. Errors: RELEASE_AHEAD above the released count
  // (nothing may become visible before it was journaled); CANCELLED by Stop;
  // what broke the shard.
  virtual void Lift(Step steps,
                    absl::AnyInvocable<void(absl::Status)> done) = 0;
  // Drops unreleased steps at once; released ones may commit until
  // `deadline` from now. `done` exactly once, by the deadline, whatever an
  // endpoint does. Once.
  // A commit that is answered later changes nothing any more; its frames, and
  // their leases, live until then.
  virtual void Stop(absl::Duration deadline,
                    absl::AnyInvocable<void(ShardStopReport)> done) = 0;
  virtual ShardSnapshot Snapshot() const = 0;
};

}  // namespace penstock::core
