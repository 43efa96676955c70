#include "core/connector/queueing.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/connector/backpressure.h"
#include "core/connector/state_machine.h"
#include "core/contract/command.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::core {

void QueueRunner::Ask(QueueCall call) {
  if (is_active()) {
    if (call.request.step == request_.step) {
      return state_.Join(replies_, std::move(call.reply));
    }
    state_.Answer(
        std::move(call.reply),
        MakeError(
            Reason::QUEUE_RUNNING,
            absl::StrCat("queueing step ", call.request.step, ": step ",
                         request_.step, " is being queued; ask for that again"),
            {{"running_step", absl::StrCat(request_.step)}}));
    return;
  }
  auto asked =
      state_.ledger.Ask(call.request.step, call.request.previous_steps);
  if (!asked.ok()) return state_.Answer(std::move(call.reply), asked.status());
  if (*asked != nullptr) {
    return state_.Answer(
        std::move(call.reply),
        QueueReply{.result = *std::move(asked), .no_step = {}});
  }
  absl::Status legal = state_.CheckVerb(ReaderVerb::kQueue);
  if (!legal.ok()) return state_.Answer(std::move(call.reply), legal);
  absl::Status room = state_.ledger.CheckRoom();
  if (!room.ok())
    return state_.Answer(std::move(call.reply),
                         WithRetryDelay(room, kRoomRetryDelay));

  request_ = call.request;
  terms_ = TermsOf(request_, state_.limits, state_.clock.SteadyNow());
  replies_.push_back(std::move(call.reply));
  interrupted_ = false;
  closed_seen_ = false;
  blocked_at_.reset();
  stage_ = Stage::kWaiting;
}

std::optional<Step> QueueRunner::running_step() const {
  if (!is_active()) return std::nullopt;
  return request_.step;
}

absl::StatusOr<Work> QueueRunner::Advance() {
  wake_at_ = absl::InfiniteFuture();
  lacks_room_ = false;
  switch (stage_) {
    case Stage::kNone:
      return Work::kIdle;
    case Stage::kWaiting:
      return AdvanceWaiting();
    case Stage::kReading:
      return AdvanceReading();
    case Stage::kPushing:
      return AdvancePushing();
  }
  return Work::kIdle;
}

bool QueueRunner::HasRoom() const {
  const Outlet& outlet = *state_.outlet;
  if (blocked_at_ == outlet.room_events()) return false;
  return state_.outlet->tracker().outstanding() <
             state_.limits.steps_outstanding_max &&
         state_.outlet->budget().MayBegin();
}

absl::Status QueueRunner::NoRoom() const {
  const size_t outstanding = state_.outlet->tracker().outstanding();
  if (outstanding >= state_.limits.steps_outstanding_max) {
    return WithRetryDelay(
        MakeError(Reason::STEPS_OUTSTANDING,
                  absl::StrCat("queueing step ", request_.step, ": ",
                               outstanding, " steps are not completed; ",
                               "release them, or wait for the sink"),
                  {{"outstanding", absl::StrCat(outstanding)}}),
        kRoomRetryDelay);
  }
  InflightBudget& budget = state_.outlet->budget();
  return WithRetryDelay(
      MakeError(Reason::BUDGET_EXCEEDED,
                absl::StrCat("queueing step ", request_.step, ": ",
                             budget.usage(), " of ", budget.limit(),
                             " bytes are in flight; release steps, or wait ",
                             "for the sink"),
                {{"inflight_bytes", absl::StrCat(budget.usage())},
                 {"inflight_bytes_max", absl::StrCat(budget.limit())}}),
      kRoomRetryDelay);
}

absl::StatusOr<Work> QueueRunner::AdvanceWaiting() {
  // The last words of a reader that closed may have come just before.
  const bool is_closed = state_.is_reader_closed();
  if (is_closed && !std::exchange(closed_seen_, true)) return Work::kAgain;
  QueueFacts facts;
  facts.now = state_.clock.SteadyNow();
  facts.staged = state_.consumer->WatchStaged(terms_.minimum);
  facts.paused = state_.state == ConnectorState::kPaused;
  facts.interrupted = interrupted_;
  facts.room = HasRoom();
  // Another step, an empty one, may have to say where the end is; again, to a
  // controller that lost what the last one said.
  facts.final_step_made =
      state_.final_step_made &&
      (state_.has_whole_position || !request_.checkpoint_requested);
  const QueueDecision decision = DecideQueue(terms_, facts);
  switch (decision.kind) {
    case QueueDecision::Kind::kBegin:
      if (state_.on_callers_thread &&
          facts.staged.queued.bytes > kCallersThreadBytes) {
        return Work::kYield;
      }
      cause_ = decision.cause;
      RETURN_IF_ERROR(StartReading());
      return Work::kAgain;
    case QueueDecision::Kind::kNoStep:
      ReplyNoStep(decision.reason);
      return Work::kAgain;
    case QueueDecision::Kind::kNoRoom:
      ReplyError(NoRoom());
      return Work::kAgain;
    case QueueDecision::Kind::kWait:
      break;
  }
  if (is_closed) {
    RETURN_IF_ERROR(EndWithoutReader());
    return Work::kAgain;
  }
  lacks_room_ = !facts.room;
  wake_at_ = std::min(decision.again, facts.now + kReaderCheck);
  return Work::kIdle;
}

absl::Status QueueRunner::EndWithoutReader() {
  const StagedInput staged = state_.consumer->staged();
  if (!staged.end_of_input || staged.queued.records > 0) {
    return MakeError(
        Reason::CONNECTOR_FAILED,
        absl::StrCat(
            "queueing step ", request_.step, ": the source closed ",
            staged.end_of_input ? "with records left" : "without end of input",
            "; reopen the connector"),
        {{"queued_records", absl::StrCat(staged.queued.records)}});
  }
  if (state_.is_exactly_once() || !state_.has_whole_position) {
    // Only the reader could say how to replay even an empty step, or what the
    // whole place is: the change that the last step had is no position.
    state_.final_step_made = true;
    ReplyNoStep(NoStepReason::kEndOfInput);
    return absl::OkStatus();
  }
  flushed_.emplace();
  flushed_->end_of_input = true;
  flushed_->resume = state_.position;
  stage_ = Stage::kReading;
  return absl::OkStatus();
}

absl::Status QueueRunner::StartReading() {
  stage_ = Stage::kReading;
  asked_at_ = state_.clock.SteadyNow();
  closed_seen_ = false;
  if (state_.is_reader_closed()) return EndWithoutReader();
  room_events_before_ = state_.outlet->room_events();
  state_.consumer->BeginQueue(CapsOf(request_, state_.limits));
  state_.reader->Request(
      QueueCommand{.checkpoint_requested = request_.checkpoint_requested,
                   .step = request_.step});
  return absl::OkStatus();
}

void QueueRunner::Supersede() {
  if (stage_ != Stage::kWaiting) return;
  ReplyError(SupersededCall());
}

void QueueRunner::OnExtended(FlushedStep flushed) {
  if (stage_ == Stage::kReading) {
    flushed_ = std::move(flushed);
    return;
  }
  state_.consumer->CountDiscarded(flushed.amount.records);
}

absl::StatusOr<Work> QueueRunner::AdvanceReading() {
  if (!flushed_.has_value()) {
    if (!state_.is_reader_closed()) {
      wake_at_ = state_.clock.SteadyNow() + kReaderCheck;
      return Work::kIdle;
    }
    // Its answer may have come just before.
    if (!std::exchange(closed_seen_, true)) return Work::kAgain;
    RETURN_IF_ERROR(EndWithoutReader());
    return Work::kAgain;
  }
  FlushedStep flushed = *std::move(flushed_);
  flushed_.reset();
  if (MakesStep(flushed)) {
    RETURN_IF_ERROR(StartPushing(std::move(flushed)));
    return Work::kAgain;
  }
  if (failure_.has_value()) {
    ReplyError(absl::Status(*failure_));
    return Work::kAgain;
  }
  if (flushed.stopped_by_budget) {
    blocked_at_ = room_events_before_;
    stage_ = Stage::kWaiting;
    return Work::kAgain;
  }
  ReplyNoStep(NoStepReason::kWaitOver);
  return Work::kAgain;
}

bool QueueRunner::MakesStep(const FlushedStep& flushed) const {
  if (!flushed.amount.IsEmpty() || flushed.end_of_input) return true;
  if (!flushed.bad_records.empty()) return true;
  // Empty steps are made only to carry something. A position that moved without
  // records comes with a request for a step.
  if (request_.checkpoint_requested) return true;
  if (flushed.transaction_started || flushed.transaction_committed) return true;
  if (flushed.requested && !flushed.stopped_by_budget) return true;
  return !flushed.watermarks.empty();
}

absl::Status QueueRunner::CheckResume(const FlushedStep& flushed) const {
  if (!state_.is_exactly_once()) return absl::OkStatus();
  if (flushed.resume.has_value() &&
      flushed.resume->FaultTolerance() == FtModel::kExactlyOnce) {
    return absl::OkStatus();
  }
  return MakeError(Reason::INTERNAL,
                   absl::StrCat("queueing step ", request_.step,
                                ": the source gave no way to replay it; this ",
                                "is a bug of the source"));
}

StopReason QueueRunner::StoppedBecause(const FlushedStep& flushed) const {
  const StepCaps caps = CapsOf(request_, state_.limits);
  if (flushed.end_of_input) return StopReason::kEndOfInput;
  if (flushed.transaction_committed) return StopReason::kTransaction;
  if (flushed.stopped_by_budget) return StopReason::kBlocked;
  if (flushed.amount.records >= caps.records) return StopReason::kBatchLimit;
  if (flushed.stopped_by_size || flushed.amount.bytes >= caps.bytes) {
    return StopReason::kByteLimit;
  }
  if (state_.position.IsBarrier() && flushed.resume.has_value() &&
      !flushed.resume->IsBarrier()) {
    return StopReason::kBarrierCleared;
  }
  return cause_;
}

StepResult QueueRunner::MakeResult(FlushedStep& flushed) const {
  StepResult result;
  result.step = request_.step;
  result.amount = flushed.amount;
  result.stopped_because = StoppedBecause(flushed);
  if (flushed.resume.has_value()) result.resume = *std::move(flushed.resume);
  result.position_complete = !result.resume.IsBarrier();
  if (auto change = result.resume.TakeChange()) {
    result.position_complete = false;
    result.full_position = std::move(change->whole);
  }
  if (state_.is_exactly_once()) {
    const auto& replay = std::get<Resume::Replay>(result.resume.kind());
    result.hash =
        StepHash{.value = replay.hash, .count = flushed.amount.records};
  }
  result.watermarks = std::move(flushed.watermarks);
  result.transaction_started = flushed.transaction_started;
  result.transaction_committed = flushed.transaction_committed;
  result.transaction_label = std::move(flushed.transaction_label);
  result.end_of_input = flushed.end_of_input;
  return result;
}

absl::Status QueueRunner::StartPushing(FlushedStep flushed) {
  absl::Status replayable = CheckResume(flushed);
  if (!replayable.ok()) {
    state_.consumer->CountDiscarded(flushed.amount.records);
    return replayable;
  }
  result_ = MakeResult(flushed);
  if (state_.is_exactly_once()) {
    SortCanonically(flushed.batches);
    SortCanonically(flushed.bad_records);
  }
  runner_.Begin(*state_.outlet, request_.step, std::move(flushed));
  stage_ = Stage::kPushing;
  return absl::OkStatus();
}

absl::StatusOr<Work> QueueRunner::AdvancePushing() {
  switch (runner_.Push(state_.lanes)) {
    case StepRunner::Progress::kAgain:
      return Work::kAgain;
    case StepRunner::Progress::kYield:
      return Work::kYield;
    case StepRunner::Progress::kDone:
      break;
  }
  const StepRunner::Ended ended = runner_.End();
  if (ended.flow == Flow::kFatal) return state_.outlet->handoff()->fatal();
  result_->skipped_records = ended.records_skipped;
  auto result = std::make_shared<const StepResult>(*std::move(result_));
  result_.reset();
  state_.NoteStep(*result);
  state_.ledger.Add(result);
  state_.NoteQueued(asked_at_);
  Reply(QueueReply{.result = std::move(result), .no_step = {}});
  return Work::kAgain;
}

void QueueRunner::Fail(const absl::Status& cause) {
  if (!is_active()) return;
  // The first cause is what it is told.
  if (!failure_.has_value()) failure_ = FailedBecause(cause);
  if (flushed_.has_value() || runner_.is_running()) return;
  ReplyError(absl::Status(*failure_));
}

void QueueRunner::Close() {
  if (!is_active()) return;
  if (stage_ == Stage::kWaiting) {
    return ReplyNoStep(NoStepReason::kInterrupted);
  }
  if (flushed_.has_value()) {
    state_.consumer->CountDiscarded(flushed_->amount.records);
  }
  if (runner_.is_running()) {
    state_.consumer->CountDiscarded(runner_.Abandon());
  }
  ReplyError(MakeError(
      Reason::CANCELLED,
      absl::StrCat("queueing step ", request_.step,
                   ": the connector was disconnected; no step was made")));
}

void QueueRunner::ReplyNoStep(NoStepReason reason) {
  Reply(QueueReply{
      .result = nullptr,
      .no_step = NoStep{.reason = reason,
                        .end_of_input = reason == NoStepReason::kEndOfInput}});
}

void QueueRunner::ReplyError(const absl::Status& error) { Reply(error); }

void QueueRunner::Reply(const absl::StatusOr<QueueReply>& reply) {
  stage_ = Stage::kNone;
  flushed_.reset();
  result_.reset();
  failure_.reset();
  state_.changed = true;
  for (ReplyTo<QueueReply>& to : std::exchange(replies_, {}))
    state_.Answer(std::move(to), reply);
}

}  // namespace penstock::core
