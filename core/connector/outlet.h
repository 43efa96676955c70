// The output side of one connector, from the handoff to the target.
// See core/connector/README.md; upholds INV-1, INV-4, INV-6, INV-9.
#pragma once

#include "core/base/clock.h"
#include "core/base/executor.h"
#include "core/base/mutex.h"
#include "core/connector/requests.h"
#include "core/connector/waker.h"
#include "core/contract/dead_letter.h"
#include "core/contract/output_endpoint.h"
#include "core/contract/output_target.h"
#include "core/contract/row_encoder.h"
#include "core/handoff/ack_tracker.h"
#include "core/handoff/budget.h"
#include "core/handoff/delivery.h"
#include "core/handoff/refused_rows.h"
#include "core/handoff/router.h"
#include "core/handoff/shard_queues.h"
#include "core/handoff/shard_worker.h"
#include "core/handoff/sink_handoff.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// What a shard, or an endpoint by itself, reported.
struct SinkEvent {
  enum class Kind { kProgress, kRetry, kHeldBack, kRecovered, kFatal, kError };
  Kind kind = Kind::kProgress;
  ShardIndex shard = 0;
  // kRetry, kHeldBack, kFatal, kError.
  absl::Status error = {};
  // kRetry, kHeldBack: a steady time.
  absl::Time next_attempt = {};
  // kError: its tag, and whether the endpoint called it fatal.
  std::string tag = {};
  bool fatal = false;
};

// Records what shard workers report, for the driver.
// Owner:   SinkParts. Threads: thread-safe.
// Bound:   `kEventsMax`, whatever an endpoint says while the driver has no
//          turn; beyond it one more, and two for each shard: the first fatal
//          error, and whether it is in trouble now. Errors that are not fatal
//          are then left out. Progress is one event, and of each shard the
//          newest.
class SinkEvents final : public ShardObserver {
 public:
  static constexpr size_t kEventsMax = 256;

  // `progress`: of each shard at open; empty below exactly-once.
  SinkEvents(std::vector<Step> progress, std::shared_ptr<Waker> waker);

  void OnProgress(ShardIndex shard, Step steps) override;
  void OnRetry(ShardIndex shard, const absl::Status& error,
               absl::Time next_attempt) override;
  void OnHeldBack(ShardIndex shard, const absl::Status& reason,
                  absl::Time next_attempt) override;
  void OnRecovered(ShardIndex shard) override;
  void OnFatal(ShardIndex shard, const absl::Status& error) override;
  void OnEndpointError(ShardIndex shard, bool fatal, absl::Status error,
                       absl::string_view tag);

  // In the order they came.
  std::vector<SinkEvent> TakeAll() ABSL_LOCKS_EXCLUDED(mu_);
  // Whether every shard's progress is above `step`. False without shards.
  bool AllHold(Step step) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Put(SinkEvent event) ABSL_LOCKS_EXCLUDED(mu_);
  void Keep(SinkEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<Waker> waker_;
  mutable Mutex mu_;
  std::vector<SinkEvent> events_ ABSL_GUARDED_BY(mu_);
  // One of `events_` is progress.
  bool has_progress_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Step> progress_ ABSL_GUARDED_BY(mu_);
};

// What shard workers use until they have stopped.
// Shared by: the outlet, the stop under way, the task that closes the target
// and snapshots. Members die in reverse: endpoints before their target.
struct SinkParts {
  SinkParts() = default;
  SinkParts(const SinkParts&) = delete;
  SinkParts& operator=(const SinkParts&) = delete;
  // Blocks: for I/O if CloseLate was called.
  ~SinkParts();

  // Destroys the endpoints, closes the target. Blocks: for I/O. Once.
  absl::Status Close();
  // Leaves Close to the last holder: a call of an endpoint is still running.
  void CloseLate() { close_late_ = true; }

  std::unique_ptr<OutputTarget> target;
  // Per shard its writers, connected.
  std::vector<std::vector<std::unique_ptr<OutputEndpoint>>> endpoints;
  // At which a chunk is sealed: the limit, or less if the endpoints or, below
  // exactly-once, the batches take no more. Constant once there are queues.
  uint64_t chunk_bytes = 0;
  std::unique_ptr<RefusedRows> refused_rows;
  // Per shard; empty: rows that are left out are not kept.
  std::vector<std::unique_ptr<DeadLetterOutput>> dead_letters;
  std::unique_ptr<ShardQueues> queues;
  std::unique_ptr<SinkEvents> events;

 private:
  bool close_late_ = false;
};
using ShardWorkers = std::vector<std::shared_ptr<ShardWorker>>;

// Owner:     the driver. Threads: confined to its strand.
// Lifecycle: Start, steps, Stop or destruction, which drops everything that is
//            uncommitted at once.
// Bound:     the budget, plus one step in Replay.
class Outlet {
 public:
  struct Options {
    std::optional<FtModel> level;
    ConnectorLimits limits;
    RouteKind route = RouteKind::kKeyHash;
    EncodePolicy encode_policy = EncodePolicy::kSkip;
    // Whether rows that the target refuses are left out.
    bool skip_refused_rows = false;
    Step base_steps = 0;
    // Of each shard at open; empty below exactly-once.
    std::vector<Step> progress;
    uint64_t random_seed = 0;
    DeliveryOptions delivery;
  };
  // `parts` lacks only its queues. `io` and `clock` outlive everything.
  Outlet(Options options, std::shared_ptr<SinkParts> parts,
         std::unique_ptr<RowEncoder> encoder,
         std::shared_ptr<InflightBudget> budget, std::shared_ptr<Waker> waker,
         Executor& io, const Clock& clock);
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  ~Outlet();

  // Null after DropHandoff.
  Handoff* handoff() { return handoff_.get(); }
  InflightBudget& budget() { return *budget_; }
  AckTracker& tracker() { return *tracker_; }
  // `staged_at`: of its oldest record; InfiniteFuture(): nobody knows.
  StepHandle Register(Step step,
                      absl::Time staged_at = absl::InfiniteFuture()) {
    return AckTracker::Register(tracker_, step, staged_at);
  }
  SinkEvents& events() { return *parts_->events; }

  // Whether acks, the budget or a queue moved since this was asked last.
  bool TakeMoved() { return moved_->exchange(false); }
  // Counts how often room was made in the budget.
  uint64_t room_events() const { return room_events_->load(); }

  // Sends what is parked, below exactly-once also what is old. Returns when to
  // come again; InfiniteFuture(): when something moved.
  absl::Time Relieve();
  size_t parked_total() const;
  // Tells the shards, if that is more than before.
  void SetReleased(Step count);
  // Raises every shard's progress; `done` once per shard, on any thread.
  void Lift(Step steps, std::function<void(ShardIndex, absl::Status)> done);
  // What is not sealed and sent by now is dropped, its acks fail.
  void DropHandoff() { handoff_.reset(); }
  // Stops every shard; `done` once per shard, on any thread. Once.
  void Stop(absl::Duration deadline,
            std::function<void(ShardIndex, ShardStopReport)> done);
  // Lets go of what is stopped, for the task that closes the target.
  std::shared_ptr<SinkParts> TakeParts();

  uint32_t shards() const { return static_cast<uint32_t>(workers_->size()); }
  // For snapshots from other threads.
  const std::shared_ptr<InflightBudget>& shared_budget() const {
    return budget_;
  }
  const std::shared_ptr<AckTracker>& shared_tracker() const { return tracker_; }
  const std::shared_ptr<SinkParts>& parts() const { return parts_; }
  std::shared_ptr<const ShardWorkers> workers() const { return workers_; }

 private:
  const std::optional<FtModel> level_;
  const Clock& clock_;
  // Shared by: everyone named at SinkParts. Null after TakeParts.
  std::shared_ptr<SinkParts> parts_;
  // Shared by: leases, wherever they end.
  const std::shared_ptr<InflightBudget> budget_;
  // Shared by: step handles, wherever they end.
  std::shared_ptr<AckTracker> tracker_;
  // Shared by: this and snapshots.
  std::shared_ptr<ShardWorkers> workers_;
  std::unique_ptr<Handoff> handoff_;
  // Shared by: this and late callbacks.
  const std::shared_ptr<std::atomic<bool>> moved_;
  const std::shared_ptr<std::atomic<uint64_t>> room_events_;
  Step released_ = 0;
  bool stopped_ = false;
};

}  // namespace penstock::core
