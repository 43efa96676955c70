#include "core/connector/replaying.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/connector/state_machine.h"
#include "core/contract/command.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/time/time.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::core {

absl::Status ReplayRunner::CheckRequest(const ReplayRequest& request) const {
  const StepResult& result = request.result;
  const auto* replay = std::get_if<Resume::Replay>(&result.resume.kind());
  if (replay == nullptr || !result.hash.has_value()) {
    return MakeError(Reason::INVALID_REQUEST,
                     absl::StrCat("replaying step ", result.step,
                                  ": its journaled result has no ",
                                  replay == nullptr ? "replay" : "hash"),
                     {{"step", absl::StrCat(result.step)}});
  }
  if (replay->hash != result.hash->value) {
    return MakeError(
        Reason::INVALID_REQUEST,
        absl::StrCat("replaying step ", result.step,
                     ": its journaled result names two different hashes"),
        {{"step", absl::StrCat(result.step)}});
  }
  return absl::OkStatus();
}

const Resume::Replay& ReplayRunner::journaled() const {
  return std::get<Resume::Replay>(request_.result.resume.kind());
}

void ReplayRunner::Ask(ReplayCall call) {
  const Step step = call.request.result.step;
  if (is_active()) {
    CHECK_EQ(step, running_step());
    return state_.Join(replies_, std::move(call.reply));
  }
  if (failure_.has_value() && failure_->first == step) {
    return state_.Answer(std::move(call.reply), failure_->second);
  }
  if (state_.is_open && !state_.is_exactly_once()) {
    return state_.Answer(
        std::move(call.reply),
        MakeError(Reason::UNSUPPORTED,
                  absl::StrCat(
                      "replaying step ", step, ": the connector runs at level ",
                      LevelName(state_.level), ", which replays nothing")));
  }
  auto asked = state_.ledger.AskReplay(step, call.request.previous_steps);
  if (asked.ok() && asked->has_value()) {
    return state_.Answer(std::move(call.reply), **asked);
  }
  absl::Status legal = state_.CheckVerb(ReaderVerb::kReplay);
  if (!legal.ok()) return state_.Answer(std::move(call.reply), legal);
  if (!asked.ok()) return state_.Answer(std::move(call.reply), asked.status());
  absl::Status valid = CheckRequest(call.request);
  if (!valid.ok()) return state_.Answer(std::move(call.reply), valid);

  request_ = std::move(call.request);
  replies_.push_back(std::move(call.reply));
  closed_seen_ = false;
  skipped_ = false;
  stage_ = Stage::kWaiting;
  state_.MoveTo(ConnectorState::kReplaying);
}

void ReplayRunner::OnReplayed(FlushedStep flushed) {
  if (stage_ == Stage::kReading) {
    flushed_ = std::move(flushed);
    return;
  }
  state_.consumer->CountDiscarded(flushed.amount.records);
}

void ReplayRunner::OnSkipped() { skipped_ = stage_ == Stage::kSkipping; }

absl::StatusOr<Work> ReplayRunner::Advance() {
  wake_at_ = absl::InfiniteFuture();
  switch (stage_) {
    case Stage::kNone:
      return Work::kIdle;
    case Stage::kWaiting:
      return AdvanceWaiting();
    case Stage::kSkipping:
    case Stage::kReading:
      return AdvanceReading();
    case Stage::kPushing:
      return AdvancePushing();
  }
  return Work::kIdle;
}

absl::StatusOr<Work> ReplayRunner::AdvanceWaiting() {
  const Step step = running_step();
  const bool is_held = state_.outlet->events().AllHold(step);
  // The budget wakes when the last byte left it.
  if (!is_held && state_.outlet->budget().usage() > 0) return Work::kIdle;
  closed_seen_ = false;
  asked_at_ = state_.clock.SteadyNow();
  if (is_held) {
    stage_ = Stage::kSkipping;
    state_.consumer->BeginSkip();
    state_.reader->Request(SkipCommand{.metadata = journaled().seek});
  } else {
    stage_ = Stage::kReading;
    state_.consumer->BeginReplay();
    state_.reader->Request(ReplayCommand{.metadata = journaled().seek,
                                         .data = journaled().replay});
  }
  return Work::kAgain;
}

absl::StatusOr<Work> ReplayRunner::AdvanceReading() {
  if (skipped_) {
    std::move(state_.outlet->Register(running_step())).Resolve();
    ++state_.already_held_steps;
    Finish(ReplayReply{.amount = {}, .already_held = true});
    return Work::kAgain;
  }
  if (flushed_.has_value()) {
    FlushedStep flushed = *std::move(flushed_);
    flushed_.reset();
    absl::Status equal = Verify(flushed);
    if (!equal.ok()) {
      state_.consumer->CountDiscarded(flushed.amount.records);
      return equal;
    }
    StartPushing(std::move(flushed));
    return Work::kAgain;
  }
  if (!state_.is_reader_closed()) {
    wake_at_ = state_.clock.SteadyNow() + kReaderCheck;
    return Work::kIdle;
  }
  // Its last words may have come just before.
  if (!std::exchange(closed_seen_, true)) return Work::kAgain;
  return MakeError(Reason::CONNECTOR_FAILED,
                   absl::StrCat("replaying step ", running_step(),
                                ": the source closed; reopen the connector"));
}

absl::Status ReplayRunner::Verify(const FlushedStep& flushed) const {
  const StepHash expected = *request_.result.hash;
  const StepHash actual = {.value = flushed.hash,
                           .count = flushed.amount.records};
  if (actual == expected) return absl::OkStatus();
  const auto hex = [](uint64_t hash) { return absl::StrFormat("%016x", hash); };
  return MakeError(
      Reason::REPLAY_MISMATCH,
      absl::StrCat("replaying step ", running_step(), ": the journal has ",
                   expected.count, " records with hash ", hex(expected.value),
                   ", the source gave ", actual.count, " with hash ",
                   hex(actual.value),
                   "; nothing of it was written: the input has changed"),
      {{"step", absl::StrCat(running_step())},
       {"expected_count", absl::StrCat(expected.count)},
       {"actual_count", absl::StrCat(actual.count)},
       {"expected_hash", hex(expected.value)},
       {"actual_hash", hex(actual.value)}});
}

void ReplayRunner::StartPushing(FlushedStep flushed) {
  uint64_t bytes = 0;
  for (const RecordBatch& batch : flushed.batches) {
    bytes += state_.consumer->Estimate(batch);
  }
  for (const BadRecord& bad : flushed.bad_records) bytes += bad.MemoryBytes();
  if (bytes > 0) {
    flushed.reservation = state_.outlet->budget().ForceReserve(bytes);
  }
  SortCanonically(flushed.batches);
  SortCanonically(flushed.bad_records);
  request_.result.amount = flushed.amount;
  runner_.Begin(*state_.outlet, running_step(), std::move(flushed));
  stage_ = Stage::kPushing;
}

absl::StatusOr<Work> ReplayRunner::AdvancePushing() {
  switch (runner_.Push(state_.lanes)) {
    case StepRunner::Progress::kAgain:
      return Work::kAgain;
    case StepRunner::Progress::kYield:
      return Work::kYield;
    case StepRunner::Progress::kDone:
      break;
  }
  if (runner_.End().flow == Flow::kFatal) {
    return state_.outlet->handoff()->fatal();
  }
  state_.Measure(Timing::kReplayedStep, asked_at_);
  Finish(ReplayReply{.amount = request_.result.amount, .already_held = false});
  return Work::kAgain;
}

void ReplayRunner::Finish(const ReplayReply& answer) {
  const Step step = running_step();
  state_.NoteStep(request_.result);
  state_.ledger.AddReplayed(step, answer);
  state_.outlet->SetReleased(step + 1);
  // It may have failed meanwhile, for good.
  if (state_.state == ConnectorState::kReplaying) {
    state_.MoveTo(ConnectorState::kReplayed);
  }
  Reply(answer);
}

void ReplayRunner::Fail(const absl::Status& cause) {
  const bool goes_on = flushed_.has_value() || runner_.is_running();
  if (!is_active() || goes_on) return;
  failure_.emplace(running_step(), FailedBecause(cause));
  Reply(failure_->second);
}

void ReplayRunner::Close() {
  if (!is_active()) return;
  if (flushed_.has_value()) {
    state_.consumer->CountDiscarded(flushed_->amount.records);
  }
  if (runner_.is_running()) {
    state_.consumer->CountDiscarded(runner_.Abandon());
  }
  Reply(MakeError(
      Reason::CANCELLED,
      absl::StrCat("replaying step ", running_step(),
                   ": the connector was disconnected; nothing was replayed")));
}

void ReplayRunner::Reply(const absl::StatusOr<ReplayReply>& reply) {
  stage_ = Stage::kNone;
  flushed_.reset();
  state_.changed = true;
  for (ReplyTo<ReplayReply>& to : std::exchange(replies_, {}))
    state_.Answer(std::move(to), reply);
}

}  // namespace penstock::core
