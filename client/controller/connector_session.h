// One connector as its controller drives it.
// See client/controller/README.md; upholds INV-1, INV-2, INV-3.
#pragma once

#include "client/controller/backoff.h"
#include "client/controller/connector_journal.h"
#include "client/controller/connector_life.h"
#include "client/controller/controller_context.h"
#include "client/controller/step_numbers.h"
#include "client/controller/store_committer.h"
#include "core/connector/control.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace penstock::client {

//   IDLE ─Start─▶ ADOPTING ─it agrees with the journal─▶ CONFIRMING …
//                   │ it does not, or is not there
//                   ▼
//                 WAITING ◀──────────── any error that means "reopen" ──┐
//                   │ backed off, nothing of it under way at the store  │
//                   ▼                                                   │
//   RESERVING (next writer, durably) ─▶ DELETING ─▶ OPENING ─▶          │
//   STORING (first open's position) ─▶ REPLAYING ─▶ CONFIRMING ─▶ HELD ─┤
//                                          (CommitCheckpoint)     │     │
//                                              Extend, unless     ▼     │
//                                              the user paused  RUNNING ┘
//   any ─Close─▶ CLOSED        any ─an error for a person─▶ FAILED
//   FAILED ─while it opened, of what may be mended outside─▶ WAITING
//
// A *life* is one pass through this; what an earlier life asked is ignored
// when it answers at last. The number of a Queue whose answer is given up so
// is never used again.
//
// Owner:     the controller. Threads: confined to its strand.
// Lifecycle: Start; ends by Close or Abandon.
// Bound:     one Queue, one Release, one CommitCheckpoint outstanding;
//            unjournaled_max results between arrival and journal; the journal.
class ConnectorSession {
 public:
  // What a checkpoint would take.
  struct CheckpointPlan {
    core::Step steps = 0;
    std::string position;
    std::string spec_bytes;
    // False: only flush (level none) or wake (at the end); nothing to store.
    bool stored = true;
  };

  // All outlive it.
  ConnectorSession(const PipelineConnector& configured, StoredConnector stored,
                   core::Control& worker, ControllerContext& context,
                   StoreCommitter& store, SessionHost& host);
  ConnectorSession(const ConnectorSession&) = delete;
  ConnectorSession& operator=(const ConnectorSession&) = delete;

  // What its worker is asked to compare with; Start: what came of that.
  core::DesiredConnector Desired() const;
  void Start(std::optional<core::Reconciliation> found);
  // No further Queue is sent, and a life that ends is the last one.
  void StopQueueing();
  // Requires: durable.
  void SetUserPaused(bool paused);
  // Looks a last time, then deletes the connector. `done` once the worker
  // answered, with its answer.
  void Close(absl::AnyInvocable<void(absl::Status)> done);
  // Ignores everything from now on.
  void Abandon();

  // The journal's word: once for each result given to SessionHost::Journal, in
  // order; AfterJournal when those of one transaction were all told.
  void OnJournaled(std::shared_ptr<const core::StepResult> result);
  void AfterJournal();

  // What there is to checkpoint, if anything. `at_end`: a Queue that waits for
  // data is worth a plan, too, for PrepareCheckpoint ends its wait.
  std::optional<CheckpointPlan> PlanCheckpoint(bool at_end);
  // `done` exactly once, on the strand: ready, or not in this life.
  void PrepareCheckpoint(core::Step steps, absl::Duration deadline,
                         absl::AnyInvocable<void(bool ready)> done);
  // Between these two the session is not reopened.
  void OnCheckpointStoring() { ++store_writes_; }
  void OnCheckpointStored(const CheckpointPlan& plan);
  // Of a plan that needed no store. Returns: whether it flushed something.
  bool OnFlushed(const CheckpointPlan& plan);

  const std::string& name() const { return configured_.name; }
  // Of the newest life that was ever begun; durable before its Open.
  uint64_t open_number() const { return open_number_; }
  // Changes when a life ends.
  uint64_t life() const { return life_; }
  ConnectorProgress Progress() const;
  // Rests in FAILED.
  bool IsFailed() const { return state_ == State::kFailed; }
  // Why it failed, for a person: from then on, also while it is tried again,
  // until it is open.
  const std::optional<absl::Status>& failure() const { return failure_; }
  bool HasFailure() const { return failure_.has_value(); }
  // End of input was reached, and all results up to it are journaled.
  bool IsAtEnd() const;
  // Nothing more is to be expected of it, as far as one can tell.
  bool IsDone() const { return IsAtEnd() || HasFailure(); }
  // Nothing is outstanding and nothing is left to checkpoint; or, once
  // queueing was stopped, nothing can be checkpointed.
  bool IsSettled() const;
  // For people: which steps an end leaves that were made and have no
  // checkpoint, and why; nullopt: none, or none that a checkpoint could have
  // taken.
  std::optional<std::string> LeftSteps() const;

 private:
  enum class State {
    kIdle,
    kAdopting,
    kWaiting,
    kReserving,
    kDeleting,
    kOpening,
    kStoring,
    kReplaying,
    kConfirming,
    kHeld,
    kRunning,
    kClosed,
    kFailed
  };
  // A connector without news is looked at that much more seldom.
  static constexpr int kQuietLooks = 8;

  static absl::string_view StateName(State state);
  static absl::string_view ConditionName(core::Condition condition);

  // Wraps a method as the callback of a command of this life.
  template <typename... Args>
  auto InThisLife(void (ConnectorSession::*method)(Args...)) {
    return context_.tasks.Wrap([this, life = life_, method](auto&&... args) {
      if (life != life_) return;
      (this->*method)(std::forward<decltype(args)>(args)...);
    });
  }
  // The same for what runs on the strand already.
  template <typename F>
  auto IfThisLife(F f) {
    return [this, life = life_, f = std::move(f)]() mutable {
      if (life == life_) f();
    };
  }

  // connector_session_adopt.cc: the short path to one that lives already.
  bool MayLive() const;
  void LookForLiving();
  void OnLookedForLiving(absl::StatusOr<core::ConnectorStatus> status);
  void OnLivingTaken(absl::Status status);
  void OnTakenLookedAt(absl::StatusOr<core::ConnectorStatus> status);
  void FetchNext();
  void OnFetched(absl::StatusOr<core::QueueReply> reply);
  // It is asked again a few times, or the long path is taken.
  void OnAdoptError(const absl::Status& error, TaskScope::Task again);
  // Told and counted, unless nothing was left that could have been adopted.
  void DoNotAdopt(const absl::Status& why);
  absl::Status CheckLiving(const core::ConnectorStatus& status) const;

  // connector_session_open.cc: the one path to a living connector.
  void EndLife();
  void Recover(const absl::Status& why);
  void WaitToReopen(absl::Duration delay);
  void ReopenIfReady();
  void Reserve();
  void Delete();
  void OnDeleted(absl::StatusOr<core::DisconnectReply> reply);
  void BeginOpen();
  void SendOpen();
  void OnOpened(absl::StatusOr<core::OpenReply> reply);
  void StoreOpened(std::string position);
  void ReplayNext();
  void OnReplayed(absl::StatusOr<core::ReplayReply> reply);
  void OnConfirmed();
  void AdjustGate();
  void SendGate();
  void OnGate(absl::Status status);
  bool WantsOpenGate() const;

  // connector_session_end.cc: no further, for good or until a person came.
  void Fail(const absl::Status& status);
  void OnLastStatus(absl::StatusOr<core::ConnectorStatus> status);
  void DeleteAtLast();

  // connector_session.cc: the loop.
  core::CommandHeader Header() const;
  bool IsOpen() const;
  // `error` with a cause (core::CauseOf) is judged by that: the connector had
  // failed of it before it was asked.
  void OnError(const absl::Status& error, ScopedTimer& timer,
               TaskScope::Task again);
  // In Progress, until the worker says otherwise.
  void ShowTrouble(const absl::Status& status);
  void QueueNext();
  void ReserveNumbers();
  bool MayQueue() const;
  void SendQueue();
  void OnQueued(absl::StatusOr<core::QueueReply> reply);
  void OnNoStep(const core::NoStep& no_step);
  void OnResult(std::shared_ptr<const core::StepResult> result);
  void OnPrepared(absl::StatusOr<core::PrepareCheckpointReply> reply);
  void SendRelease();
  void OnReleased(absl::Status status);
  void SendCommitCheckpoint();
  void OnCheckpointCommitted(absl::Status status);
  bool IsChangingSpec() const { return spec_bytes_ != configured_.spec_bytes; }
  // The step everything could be checkpointed at is the newest.
  bool IsCleanCut() const;
  // The last step is none to checkpoint at, and one more was not asked for.
  bool LacksEndPosition() const;
  bool IsExactlyOnce() const;
  bool IsJournalFull() const;
  void LookUpStatus();
  void OnStatus(absl::StatusOr<core::ConnectorStatus> status);
  void CountBadRecords(const core::ConnectorStatus& status);

  const PipelineConnector& configured_;
  core::Control& worker_;
  ControllerContext& context_;
  StoreCommitter& store_;
  SessionHost& host_;

  // Durable, as far as known.
  std::string spec_bytes_;
  bool opened_;
  uint64_t open_number_;
  bool user_paused_;
  ConnectorJournal journal_;
  StepNumbers numbers_;

  State state_ = State::kIdle;
  uint64_t life_ = 0;
  bool stopping_ = false;
  bool backed_off_ = false;
  // Journal rows and checkpoints of this connector at the store.
  size_t store_writes_ = 0;
  size_t unjournaled_ = 0;

  ConnectorLife now_;
  // Of a PrepareCheckpoint under way.
  absl::AnyInvocable<void(bool)> prepare_done_;

  Backoff backoff_;
  Backoff away_backoff_;
  // Back to its start only when a checkpoint was stored: a connector that opens
  // and replays well and then fails, again and again, is no better for it.
  Backoff reopen_backoff_;
  // Of one that failed while it was opened.
  Backoff mend_backoff_;
  ScopedTimer reopen_timer_;
  ScopedTimer queue_timer_;
  ScopedTimer release_timer_;
  ScopedTimer commit_timer_;
  ScopedTimer gate_timer_;
  ScopedTimer status_timer_;
  // Until the next look; grows while looks find no news.
  absl::Duration status_delay_;
  uint32_t fruitless_recoveries_ = 0;
  std::optional<absl::Status> failure_;
  // Last step + 1 that any life made.
  core::Step made_steps_;
  // Closed when everything was checkpointed that can be.
  bool was_settled_ = false;
  absl::AnyInvocable<void(absl::Status)> close_done_;
  // What `counted_instance_` counted, and all before it.
  std::string counted_instance_;
  BadRecords bad_records_;
  BadRecords bad_records_before_;
  ConnectorProgress progress_;
};

}  // namespace penstock::client
