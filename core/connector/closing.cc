#include "core/connector/closing.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/contract/command.h"
#include "core/contract/output_target.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace penstock::core {

Closer::Closer(DriverState& state)
    : state_(state), answers_(std::make_shared<Mailbox<Answer>>(state.waker)) {
  reply_.connector = state.request.spec.name;
}

void Closer::Ask(DisconnectCall call) {
  CHECK(state_.state == ConnectorState::kClosed);
  if (stage_ == Stage::kDone)
    return state_.Answer(std::move(call.reply), reply_);
  state_.Join(replies_, std::move(call.reply));
  if (stage_ == Stage::kNone) Begin(call.request.deadline);
}

void Closer::Begin(absl::Duration deadline) {
  stage_ = Stage::kSending;
  deadline_ =
      state_.clock.SteadyNow() + std::max(deadline, absl::ZeroDuration());
  DestroyReader();
  if (state_.outlet == nullptr) {
    target_is_closed_ = true;
    stage_ = Stage::kClosing;
    return;
  }
  // Below exactly-once what is not sealed may still be written, too.
  (void)state_.outlet->handoff()->FlushTerminal();
}

void Closer::DestroyReader() {
  if (state_.reader == nullptr) {
    reader_is_gone_ = true;
    return;
  }
  state_.reader->Request(DisconnectCommand{});
  // Its destructor joins threads; its consumer outlives it.
  state_.runtime.io.Schedule(
      [consumer = state_.consumer, source = std::move(state_.source),
       reader = std::move(state_.reader), answers = answers_]() mutable {
        reader.reset();
        source.reset();
        answers->Put(Answer{});
      });
}

Work Closer::Advance() {
  wake_at_ = absl::InfiniteFuture();
  for (Answer& answer : answers_->TakeAll()) {
    if (answer.stopped.has_value()) {
      --shards_left_;
      unconfirmed_.insert(answer.stopped->unconfirmed.begin(),
                          answer.stopped->unconfirmed.end());
      calls_running_ += answer.stopped->calls_running;
    } else if (answer.closed.has_value()) {
      target_is_closed_ = true;
      if (!answer.closed->ok()) {
        state_.health.AddError("close", false, ErrorText(*answer.closed));
      }
    } else {
      reader_is_gone_ = true;
    }
  }
  switch (stage_) {
    case Stage::kNone:
    case Stage::kDone:
      return Work::kIdle;
    case Stage::kSending:
      (void)state_.outlet->Relieve();
      if (state_.outlet->parked_total() > 0 &&
          state_.clock.SteadyNow() < deadline_) {
        wake_at_ = deadline_;
        return Work::kIdle;
      }
      StopShards();
      return Work::kAgain;
    case Stage::kStopping:
      if (shards_left_ > 0) return Work::kIdle;
      CloseTarget();
      return Work::kAgain;
    case Stage::kClosing:
      if (!reader_is_gone_ || !target_is_closed_) return Work::kIdle;
      Finish();
      return Work::kAgain;
  }
  return Work::kIdle;
}

void Closer::StopShards() {
  stage_ = Stage::kStopping;
  // A step that was abandoned, and what could not be sent, fails now.
  state_.outlet->DropHandoff();
  shards_left_ = state_.outlet->shards();
  const absl::Duration left =
      std::max(deadline_ - state_.clock.SteadyNow(), absl::ZeroDuration());
  state_.outlet->Stop(
      left, [answers = answers_](ShardIndex /*shard*/, ShardStopReport report) {
        answers->Put(Answer{.stopped = std::move(report), .closed = {}});
      });
}

void Closer::CloseTarget() {
  stage_ = Stage::kClosing;
  if (calls_running_ > 0) {
    state_.health.AddError(
        "close", false,
        absl::StrCat("closing the sink: ", calls_running_,
                     " writes have not returned; each keeps a thread, and the "
                     "target is closed only when they do"));
    // The last holder closes: on an I/O thread, if it is this one.
    state_.runtime.io.Schedule(
        [parts = state_.outlet->TakeParts()] { parts->CloseLate(); });
    target_is_closed_ = true;
    return;
  }
  state_.runtime.io.Schedule(
      [parts = state_.outlet->TakeParts(), answers = answers_] {
        answers->Put(Answer{.stopped = {}, .closed = parts->Close()});
      });
}

void Closer::Finish() {
  stage_ = Stage::kDone;
  if (state_.draining.has_value()) {
    state_.Measure(*state_.draining == DrainScope::kWorker
                       ? Timing::kWorkerDrain
                       : Timing::kConnectorDrain,
                   state_.drain_at);
  }
  const Step released = state_.ledger.released_steps();
  for (const Step step : state_.ledger.unfinished_steps()) {
    const bool may_be_committed = state_.is_exactly_once()
                                      ? step < released
                                      : unconfirmed_.contains(step);
    (may_be_committed ? reply_.unconfirmed_steps : reply_.dropped_steps)
        .push_back(step);
  }
  state_.changed = true;
  for (auto& to : std::exchange(replies_, {}))
    state_.Answer(std::move(to), reply_);
}

void Closer::Drop(const absl::Status& error) {
  for (auto& to : std::exchange(replies_, {})) {
    state_.Answer(std::move(to), error);
  }
}

}  // namespace penstock::core
