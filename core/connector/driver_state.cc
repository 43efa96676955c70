#include "core/connector/driver_state.h"

#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <utility>

namespace penstock::core {

absl::Status FailedBecause(const absl::Status& cause) {
  if (GetErrorInfo(cause).has_value()) return cause;
  return MakeError(
      Reason::CONNECTOR_FAILED,
      absl::StrCat("the connector failed: ", ErrorText(cause), "; reopen it"),
      {{"cause", std::string(cause.message())}});
}

absl::Status DriverState::CheckVerb(ReaderVerb verb) const {
  absl::Status legal = CheckTransition(state, verb, has_reader);
  if (legal.ok() || failure.ok()) return legal;
  return WithCause(legal, FailedBecause(failure));
}

void DriverState::MoveTo(ConnectorState next) {
  const ConnectorState previous = std::exchange(state, next);
  if (previous == next) return;
  changed = true;
  if (on_state) on_state(previous, next);
}

void DriverState::NoteStep(const StepResult& result) {
  position = result.resume;
  has_whole_position = result.position_complete || result.resume.IsBarrier();
  if (result.end_of_input) final_step_made = true;
  // Without a level there are no checkpoints to hold up, only flushes.
  if (result.resume.IsBarrier() && level.has_value()) {
    barriers.Begin(result.step, clock.Now());
  } else {
    barriers.End(result.step);
  }
  // A flush ends with the commit, so a start comes before it.
  if (result.transaction_committed) {
    transactions.End(result.step);
  } else if (result.transaction_started) {
    transactions.Begin(result.step, clock.Now());
  }
  health.Progress();
  changed = true;
}

void DriverState::NoteQueued(absl::Time asked_at) {
  Measure(Timing::kQueuedStep, asked_at);
  const absl::Time opened = std::exchange(opened_at, absl::InfinitePast());
  if (opened == absl::InfinitePast()) return;
  Measure(request.first_open ? Timing::kFirstOpen : Timing::kFailOver, opened);
}

void DriverState::Measure(Timing what, absl::Time since) const {
  if (runtime.timings == nullptr) return;
  runtime.timings->Record(what, clock.SteadyNow() - since);
}

}  // namespace penstock::core
