#include "client/controller/connector_session.h"

#include "client/controller/verdict.h"
#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "proto/wire/connection_error.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::client {
namespace {

// Where an error says "later" and not when.
constexpr absl::Duration kRetryDelay = absl::Milliseconds(100);
// How seldom a connector is opened again that could not be opened.
constexpr absl::Duration kMendDelayMax = absl::Minutes(1);

}  // namespace

ConnectorSession::ConnectorSession(const PipelineConnector& configured,
                                   StoredConnector stored,
                                   core::Control& worker,
                                   ControllerContext& context,
                                   StoreCommitter& store, SessionHost& host)
    : configured_(configured),
      worker_(worker),
      context_(context),
      store_(store),
      host_(host),
      spec_bytes_(std::move(stored.spec_bytes)),
      opened_(stored.opened),
      open_number_(stored.open_number),
      user_paused_(stored.user_paused),
      journal_(stored.base_steps, std::move(stored.position),
               std::move(stored.journal)),
      numbers_(stored.reserved_steps, context.options.step_block),
      backoff_(context.random),
      away_backoff_(context.random, Backoff::kAwayDelayMax),
      reopen_backoff_(context.random),
      mend_backoff_(context.random, kMendDelayMax),
      reopen_timer_(context.tasks),
      queue_timer_(context.tasks),
      release_timer_(context.tasks),
      commit_timer_(context.tasks),
      gate_timer_(context.tasks),
      status_timer_(context.tasks),
      status_delay_(context.options.status_interval),
      made_steps_(journal_.journaled_steps()) {
  progress_.name = configured.name;
}

absl::string_view ConnectorSession::StateName(State state) {
  switch (state) {
    case State::kIdle:
      return "idle";
    case State::kAdopting:
      return "adopting";
    case State::kWaiting:
      return "waiting";
    case State::kReserving:
    case State::kDeleting:
    case State::kOpening:
    case State::kStoring:
      return "opening";
    case State::kReplaying:
    case State::kConfirming:
      return "replaying";
    case State::kHeld:
      return "held";
    case State::kRunning:
      return "running";
    case State::kClosed:
      return "closed";
    case State::kFailed:
      return "failed";
  }
  return "";
}

absl::string_view ConnectorSession::ConditionName(core::Condition condition) {
  switch (condition) {
    case core::Condition::kOk:
      return "OK";
    case core::Condition::kDegraded:
      return "DEGRADED";
    case core::Condition::kStalled:
      return "STALLED";
    case core::Condition::kNeedsConfig:
      return "NEEDS_CONFIG";
    case core::Condition::kFatal:
      return "FATAL";
  }
  return "";
}

ConnectorProgress ConnectorSession::Progress() const {
  ConnectorProgress progress = progress_;
  progress.state = std::string(StateName(state_));
  if (user_paused_ && IsOpen()) progress.state = "paused";
  progress.journaled_steps = journal_.journaled_steps();
  progress.made_steps = std::max(now_.made_steps, progress.journaled_steps);
  progress.checkpointed_steps = journal_.base_steps();
  // PrepareCheckpoint released what was checkpointed, too.
  progress.released_steps =
      std::max({progress.released_steps, now_.released_steps,
                progress.checkpointed_steps});
  // The worker may know of steps whose results are still on their way here.
  progress.completed_steps =
      std::min(std::max(progress.completed_steps, progress.checkpointed_steps),
               progress.made_steps);
  progress.end_of_input = now_.at_end;
  progress.bad_records = bad_records_before_;
  progress.bad_records += bad_records_;
  if (IsOpen() && IsJournalFull()) {
    progress.health =
        "STALLED: the journal is full until a checkpoint is "
        "taken";
  }
  return progress;
}

core::CommandHeader ConnectorSession::Header() const {
  return {.fence = context_.fence,
          .ref = {.connector = name(), .instance = now_.instance},
          .released_steps = std::nullopt,
          .request_id = ""};
}

bool ConnectorSession::IsOpen() const {
  return state_ == State::kHeld || state_ == State::kRunning;
}

bool ConnectorSession::IsAtEnd() const {
  return state_ == State::kRunning && now_.at_end && !now_.queue_outstanding &&
         unjournaled_ == 0 && !LacksEndPosition();
}

bool ConnectorSession::LacksEndPosition() const {
  return now_.level.has_value() && !journal_.IsCutAtEnd() &&
         !now_.end_position_asked;
}

bool ConnectorSession::IsSettled() const {
  if (unjournaled_ > 0) return false;
  if (!IsOpen()) {
    return stopping_ || HasFailure() || state_ == State::kClosed;
  }
  if (now_.queue_outstanding) return false;
  if (!now_.level.has_value()) return now_.flushed_steps >= now_.made_steps;
  return !journal_.cut().has_value() &&
         now_.committed_steps >= journal_.base_steps();
}

bool ConnectorSession::IsCleanCut() const {
  return journal_.IsCutAtEnd() && unjournaled_ == 0 &&
         !now_.queue_outstanding &&
         now_.made_steps == journal_.journaled_steps();
}

bool ConnectorSession::IsJournalFull() const {
  return journal_.rows() >= context_.options.journal_rows_max ||
         journal_.bytes() >= context_.options.journal_bytes_max;
}

void ConnectorSession::StopQueueing() {
  stopping_ = true;
  // A life that ended waits in vain from now on.
  if (state_ == State::kWaiting || IsFailed()) reopen_timer_.Cancel();
  host_.OnProgress(*this);
}

void ConnectorSession::SetUserPaused(bool paused) {
  user_paused_ = paused;
  AdjustGate();
  host_.OnProgress(*this);
}

void ConnectorSession::OnError(const absl::Status& error, ScopedTimer& timer,
                               TaskScope::Task again) {
  const std::optional<absl::Status> cause = core::CauseOf(error);
  const absl::Status& status = cause.has_value() ? *cause : error;
  progress_.last_error = core::ErrorText(status);
  host_.OnProgress(*this);
  if (!IsOpen()) ShowTrouble(status);
  Verdict verdict = Judge(status);
  // What failed of it is over, whether or not it would go well now.
  if (cause.has_value() &&
      (verdict == Verdict::kAskAgain || verdict == Verdict::kAskLater)) {
    verdict = Verdict::kReopen;
  }
  switch (verdict) {
    case Verdict::kAskAgain:
      return timer.Set(wire::IsConnectionError(status) ? away_backoff_.Next()
                                                       : backoff_.Next(),
                       std::move(again));
    case Verdict::kAskLater:
      return timer.Set(core::GetRetryDelay(status).value_or(kRetryDelay),
                       std::move(again));
    case Verdict::kReopen:
      return Recover(status);
    case Verdict::kAskStore:
      return host_.OnFenced(status);
    case Verdict::kEnd:
      return Fail(status);
  }
}

void ConnectorSession::ShowTrouble(const absl::Status& status) {
  progress_.health = absl::StrCat(ConditionName(core::Condition::kDegraded),
                                  ": ", core::ErrorText(status));
}

void ConnectorSession::ReserveNumbers() {
  const std::optional<core::Step> reserved = numbers_.TakeReservation();
  if (!reserved.has_value()) return;
  StoreTransaction transaction;
  transaction.reserve_steps.push_back({name(), *reserved});
  // Whatever life it is then.
  store_.Commit(std::move(transaction), [this, reserved = *reserved] {
    numbers_.OnReserved(reserved);
    QueueNext();
  });
}

bool ConnectorSession::MayQueue() const {
  if (state_ != State::kRunning || stopping_ || now_.queue_outstanding ||
      queue_timer_.is_set() || !numbers_.HasNext() ||
      unjournaled_ >= context_.options.unjournaled_max) {
    return false;
  }
  if (IsJournalFull() && journal_.cut().has_value()) return false;
  // With an end in sight only a place to checkpoint at is still asked for.
  if (!now_.at_end && !IsChangingSpec()) return true;
  if (unjournaled_ > 0) return false;
  return now_.at_end ? LacksEndPosition() : !IsCleanCut();
}

void ConnectorSession::QueueNext() {
  if (state_ != State::kRunning || stopping_) return;
  ReserveNumbers();
  if (IsJournalFull() && journal_.cut().has_value()) host_.WantCheckpoint();
  if (!MayQueue()) return;
  if (now_.at_end || IsChangingSpec() || IsJournalFull()) {
    now_.checkpoint_requested = true;
  }
  now_.end_position_asked = now_.at_end;
  SendQueue();
}

void ConnectorSession::SendQueue() {
  now_.queue_outstanding = true;
  now_.asked_step = numbers_.next();
  core::CommandHeader header = Header();
  header.released_steps = journal_.journaled_steps();
  core::QueueRequest request;
  request.step = *now_.asked_step;
  request.previous_steps = now_.made_steps;
  request.wait = stopping_ ? absl::ZeroDuration() : context_.options.queue_wait;
  request.checkpoint_requested = now_.checkpoint_requested;
  worker_.Queue(std::move(header), request,
                InThisLife(&ConnectorSession::OnQueued));
}

void ConnectorSession::OnQueued(absl::StatusOr<core::QueueReply> reply) {
  if (!reply.ok()) {
    if (stopping_ && Judge(reply.status()) == Verdict::kAskLater) {
      now_.queue_outstanding = false;
      return host_.OnProgress(*this);
    }
    return OnError(reply.status(), queue_timer_, [this] { SendQueue(); });
  }
  now_.queue_outstanding = false;
  if (reply->result != nullptr) return OnResult(std::move(reply->result));
  if (reply->no_step.has_value()) return OnNoStep(*reply->no_step);
  Recover(core::MakeError(core::Reason::INTERNAL,
                          "an answer to Queue holds neither step nor reason"));
}

void ConnectorSession::OnNoStep(const core::NoStep& no_step) {
  if (no_step.end_of_input) now_.at_end = true;
  std::optional<absl::Duration> delay;
  switch (no_step.reason) {
    case core::NoStepReason::kWaitOver:
      backoff_.Reset();
      break;
    case core::NoStepReason::kEndOfInput:
      backoff_.Reset();
      now_.at_end = true;
      break;
    case core::NoStepReason::kPaused:
      now_.end_position_asked = false;
      delay = user_paused_ ? context_.options.queue_wait : backoff_.Next();
      break;
    case core::NoStepReason::kInterrupted:
      now_.end_position_asked = false;  // That was no answer.
      // Once is a checkpoint; again and again is a worker that drains.
      if (now_.was_interrupted) delay = backoff_.Next();
      break;
  }
  now_.was_interrupted = no_step.reason == core::NoStepReason::kInterrupted;
  host_.OnProgress(*this);
  if (delay.has_value() && !stopping_) {
    return queue_timer_.Set(*delay, [this] { QueueNext(); });
  }
  QueueNext();
}

void ConnectorSession::OnResult(
    std::shared_ptr<const core::StepResult> result) {
  if (result->step != now_.asked_step) {
    return Recover(core::MakeError(
        core::Reason::INTERNAL,
        absl::StrCat("Queue ", *now_.asked_step, " was answered with step ",
                     result->step)));
  }
  if (!context_.Pass(FaultPoint::kResultReceived, name())) return;
  backoff_.Reset();
  fruitless_recoveries_ = 0;
  numbers_.Leave();
  now_.asked_step.reset();
  now_.was_interrupted = false;
  now_.made_steps = result->step + 1;
  made_steps_ = now_.made_steps;
  progress_.amount += result->amount;
  const absl::Duration soon = context_.options.status_interval;
  if (std::exchange(status_delay_, soon) > soon) {
    status_timer_.Set(soon, [this] { LookUpStatus(); });
  }
  if (result->end_of_input) now_.at_end = true;
  if (!result->resume.IsBarrier() &&
      (result->position_complete || result->full_position.has_value())) {
    now_.checkpoint_requested = false;
  }
  if (IsExactlyOnce()) {
    ++unjournaled_;
    ++store_writes_;
    host_.Journal(*this, std::move(result));
  } else {
    // What comes after the checkpoint is read again, never replayed.
    journal_.Note(*result);
    SendRelease();
  }
  if (context_.tasks.closed()) return;
  host_.OnProgress(*this);
  QueueNext();
}

void ConnectorSession::OnJournaled(
    std::shared_ptr<const core::StepResult> result) {
  --unjournaled_;
  --store_writes_;
  journal_.Append(std::move(result));
}

void ConnectorSession::AfterJournal() {
  host_.OnProgress(*this);
  if (state_ == State::kWaiting) return ReopenIfReady();
  if (!IsOpen()) return;
  SendRelease();
  if (context_.tasks.closed()) return;
  QueueNext();
  if (IsChangingSpec() && IsCleanCut()) host_.WantCheckpoint();
}

void ConnectorSession::SendRelease() {
  const core::Step steps = journal_.journaled_steps();
  if (now_.release_outstanding || now_.released_steps >= steps) return;
  if (!context_.Pass(FaultPoint::kBeforeRelease, name())) return;
  now_.release_outstanding = true;
  now_.release_asked = steps;
  core::CommandHeader header = Header();
  header.released_steps = steps;
  worker_.Release(std::move(header), InThisLife(&ConnectorSession::OnReleased));
}

void ConnectorSession::OnReleased(absl::Status status) {
  now_.release_outstanding = false;
  if (!status.ok()) {
    return OnError(status, release_timer_, [this] { SendRelease(); });
  }
  now_.released_steps = std::max(now_.released_steps, now_.release_asked);
  progress_.released_steps = now_.released_steps;
  if (!context_.Pass(FaultPoint::kAfterRelease, name())) return;
  host_.OnProgress(*this);
  SendRelease();
}

std::optional<ConnectorSession::CheckpointPlan>
ConnectorSession::PlanCheckpoint(bool at_end) {
  if (!IsOpen() || prepare_done_) return std::nullopt;
  CheckpointPlan wake{.steps = journal_.base_steps(),
                      .position = "",
                      .spec_bytes = "",
                      .stored = false};
  if (!now_.level.has_value()) {
    wake.steps = now_.made_steps;
    if (now_.flushed_steps < now_.made_steps) return wake;
  } else {
    if (!journal_.IsCutAtEnd()) now_.checkpoint_requested = true;
    // A specification that changes always finds one: without rows it was taken
    // at the start (reconcile.h), no Queue is sent at a clean cut, and so the
    // plan that takes the last rows away carries it.
    if (journal_.cut().has_value()) {
      const bool changes = IsChangingSpec() && IsCleanCut();
      return CheckpointPlan{
          .steps = journal_.cut()->steps,
          .position = journal_.cut()->position,
          .spec_bytes = changes ? configured_.spec_bytes : spec_bytes_,
          .stored = true};
    }
  }
  if (at_end && now_.queue_outstanding) return wake;
  return std::nullopt;
}

void ConnectorSession::PrepareCheckpoint(
    core::Step steps, absl::Duration deadline,
    absl::AnyInvocable<void(bool ready)> done) {
  CHECK(IsOpen());
  prepare_done_ = std::move(done);
  core::CommandHeader header = Header();
  header.released_steps = journal_.journaled_steps();
  worker_.PrepareCheckpoint(std::move(header),
                            {.steps = steps, .deadline = deadline},
                            InThisLife(&ConnectorSession::OnPrepared));
}

void ConnectorSession::OnPrepared(
    absl::StatusOr<core::PrepareCheckpointReply> reply) {
  auto done = std::exchange(prepare_done_, nullptr);
  if (reply.ok() && !reply->ready && !reply->blockers.empty()) {
    progress_.last_error =
        absl::StrCat("not ready for a checkpoint: ", reply->blockers[0].text);
  }
  done(reply.ok() && reply->ready);
  if (context_.tasks.closed()) return;
  // The next round asks again.
  if (reply.ok() || Judge(reply.status()) == Verdict::kAskAgain ||
      Judge(reply.status()) == Verdict::kAskLater) {
    if (!reply.ok()) progress_.last_error = core::ErrorText(reply.status());
    // A round that gave up waiting takes no note of the answer, and while it
    // was awaited none could be planned: whoever wants one must want it again,
    // as does a full journal.
    host_.OnProgress(*this);
    if (IsChangingSpec() && IsCleanCut()) host_.WantCheckpoint();
    return QueueNext();
  }
  OnError(reply.status(), commit_timer_, [] {});
}

bool ConnectorSession::OnFlushed(const CheckpointPlan& plan) {
  if (!IsOpen() || now_.level.has_value() || plan.steps <= now_.flushed_steps) {
    return false;
  }
  now_.flushed_steps = plan.steps;
  reopen_backoff_.Reset();
  host_.OnProgress(*this);
  return true;
}

void ConnectorSession::OnCheckpointStored(const CheckpointPlan& plan) {
  --store_writes_;
  const bool spec_changed = plan.spec_bytes != spec_bytes_;
  spec_bytes_ = plan.spec_bytes;
  journal_.Trim({.steps = plan.steps, .position = plan.position});
  reopen_backoff_.Reset();
  host_.OnProgress(*this);
  if (state_ == State::kWaiting) return ReopenIfReady();
  if (!IsOpen()) return;
  if (spec_changed) {
    LOG(INFO).With("connector", name()) << "reopening with its new spec";
    EndLife();
    return WaitToReopen(absl::ZeroDuration());
  }
  SendCommitCheckpoint();
  QueueNext();
}

void ConnectorSession::SendCommitCheckpoint() {
  const core::Step steps = journal_.base_steps();
  if (now_.commit_outstanding) return;
  now_.commit_outstanding = true;
  now_.commit_asked = steps;
  worker_.CommitCheckpoint(
      Header(), {.steps = steps},
      InThisLife(&ConnectorSession::OnCheckpointCommitted));
}

void ConnectorSession::OnCheckpointCommitted(absl::Status status) {
  now_.commit_outstanding = false;
  if (!status.ok()) {
    return OnError(status, commit_timer_, [this] { SendCommitCheckpoint(); });
  }
  now_.committed_steps = now_.commit_asked;
  host_.OnProgress(*this);
  if (state_ == State::kConfirming) return OnConfirmed();
  if (!context_.Pass(FaultPoint::kAfterCommitCheckpoint, name())) return;
  if (now_.committed_steps < journal_.base_steps()) SendCommitCheckpoint();
}

void ConnectorSession::CountBadRecords(const core::ConnectorStatus& status) {
  if (status.instance != counted_instance_) return;
  bad_records_ = {.not_parsed = status.parse_errors,
                  .not_encoded = status.records_skipped,
                  .refused = status.records_refused,
                  .dead_letters = status.dead_letters};
}

void ConnectorSession::OnStatus(absl::StatusOr<core::ConnectorStatus> status) {
  const absl::Duration interval = context_.options.status_interval;
  status_delay_ = std::min(2 * status_delay_, kQuietLooks * interval);
  if (status.ok() && status->instance == now_.instance) {
    CountBadRecords(*status);
    if (progress_.completed_steps != status->completed_steps ||
        status->health.condition != core::Condition::kOk) {
      status_delay_ = interval;
    }
    progress_.completed_steps = status->completed_steps;
    progress_.health = std::string(ConditionName(status->health.condition));
    if (!status->health.reason.empty()) {
      absl::StrAppend(&progress_.health, ": ", status->health.reason);
    }
    host_.OnProgress(*this);
  }
  status_timer_.Set(status_delay_, [this] { LookUpStatus(); });
}

}  // namespace penstock::client
