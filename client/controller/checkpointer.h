// Takes checkpoints of a pipeline's connectors. Upholds INV-1, INV-13.
#pragma once

#include "client/controller/backoff.h"
#include "client/controller/connector_session.h"
#include "client/controller/controller_context.h"
#include "client/controller/store_committer.h"

#include <absl/functional/any_invocable.h>

#include <cstdint>
#include <vector>

namespace penstock::client {

// A round: PrepareCheckpoint to every connector that has something new; one
// transaction takes those whose life then answered ready in time, the others
// keep their older checkpoint; CommitCheckpoint. One round at a time; they
// start on the interval and when somebody wants one.
//
//   idle ──interval, Want──▶ preparing ──all answered, or late──▶ storing
//    ▲                                      │ nobody is ready        │
//    └──────────────────────────────────────┴────────────────────────┘
//
// Owner:   the controller. Threads: confined to its strand.
// Bound:   prepare_deadline and a little for each round.
class Checkpointer {
 public:
  // `on_round`: a round with something to do ended; what waits for checkpoints
  // looks again.
  Checkpointer(ControllerContext& context, StoreCommitter& store,
               absl::AnyInvocable<void()> on_round)
      : context_(context),
        store_(store),
        on_round_(std::move(on_round)),
        backoff_(context.random),
        interval_timer_(context.tasks),
        deadline_timer_(context.tasks),
        again_timer_(context.tasks) {}

  // The sessions outlive it.
  void Start(std::vector<ConnectorSession*> sessions);
  // A round soon, and again with back-off until one stores something or finds
  // nothing to do.
  void Want();
  // The end is near: rounds also end the waiting of Queues.
  void SetAtEnd() { at_end_ = true; }
  void Stop();

 private:
  struct Entry {
    ConnectorSession* session;
    ConnectorSession::CheckpointPlan plan;
    // The life that answered.
    uint64_t life = 0;
    bool answered = false;
    bool ready = false;
  };
  void SetInterval();
  void BeginRoundAfter(absl::Duration delay);
  void BeginRound();
  void OnPrepared(uint64_t round, size_t index, bool ready);
  void StoreReady();
  void OnStored(const std::vector<Entry>& taken);
  void EndRound(bool found_work, bool moved);

  ControllerContext& context_;
  StoreCommitter& store_;
  absl::AnyInvocable<void()> on_round_;
  std::vector<ConnectorSession*> sessions_;
  bool at_end_ = false;
  // Somebody wants a round; the one under way is for somebody.
  bool wanted_ = false;
  bool serving_ = false;
  bool in_round_ = false;
  // Counts up; late answers name an older one.
  uint64_t round_ = 0;
  std::vector<Entry> entries_;
  Backoff backoff_;
  ScopedTimer interval_timer_;
  ScopedTimer deadline_timer_;
  ScopedTimer again_timer_;
};

}  // namespace penstock::client
