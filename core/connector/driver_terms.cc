// What of a connector changes while it lives: that it has a controller, and its
// specification.
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/connector/backpressure.h"
#include "core/connector/driver.h"
#include "core/connector/state_machine.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <optional>
#include <utility>

namespace penstock::core {

void Driver::Serve(OrphanCall& call) {
  if (state_.state == ConnectorState::kRunning && call.still()) {
    StopReading();
    queue_.Interrupt();
    state_.orphaned_since = call.unheard_since;
    state_.health.SetOrphaned(
        absl::StrCat("orphaned: nothing is heard of a controller of pipeline '",
                     state_.request.fence.pipeline, "' since ",
                     absl::FormatTime(absl::RFC3339_sec, call.unheard_since,
                                      absl::UTCTimeZone()),
                     "; it reads on with the next command"));
    LOG(WARNING)
            .With("connector", state_.request.spec.name)
            .With("pipeline", state_.request.fence.pipeline)
        << "it pauses: nothing is heard of a controller";
    state_.MoveTo(ConnectorState::kPaused);
  }
  state_.Answer(std::move(call.reply), absl::OkStatus());
}

void Driver::EndOrphanhood() {
  if (!state_.orphaned_since.has_value()) return;
  state_.orphaned_since.reset();
  state_.health.SetOrphaned(std::nullopt);
  state_.changed = true;
  if (state_.state != ConnectorState::kPaused || state_.draining.has_value()) {
    return;
  }
  LOG(INFO).With("connector", state_.request.spec.name)
      << "a controller is heard again: it reads on";
  state_.was_orphaned = true;
  state_.reader->Request(ExtendCommand{});
  state_.MoveTo(ConnectorState::kRunning);
}

absl::Status Driver::TakeSpec(const UpdateRequest& request,
                              absl::string_view running) {
  RETURN_IF_ERROR(request.check(running));
  ASSIGN_OR_RETURN(const ConnectorLimits limits,
                   ResolveLimits(request.spec.limits, request.spec.shards));
  if (request.validate_only) return absl::OkStatus();
  // What `check` lets pass is looked up anew by each Queue.
  state_.limits.step_bytes = limits.step_bytes;
  state_.limits.step_bytes_max = limits.step_bytes_max;
  state_.limits.step_records_max = limits.step_records_max;
  state_.limits.step_linger = limits.step_linger;
  state_.limits.steps_outstanding_max = limits.steps_outstanding_max;
  return absl::OkStatus();
}

void Driver::Serve(UpdateCall& call) {
  UpdateReply reply;
  {
    MutexLock lock(published_mu_);
    reply.before = published_.spec_bytes;
  }
  absl::Status taken;
  if (!state_.is_open || state_.state == ConnectorState::kFailed ||
      state_.state == ConnectorState::kClosed) {
    taken = MakeError(
        Reason::ILLEGAL_TRANSITION,
        absl::StrCat("updating a connector: it is ", StateName(state_.state),
                     "; open it anew with the other specification"),
        {{"state", std::string(StateName(state_.state))}});
  } else {
    taken = TakeSpec(call.request, reply.before);
  }
  if (!call.request.validate_only) {
    MutexLock lock(published_mu_);
    published_.attempt = SpecAttempt{.spec_bytes = call.request.spec_bytes,
                                     .time = state_.clock.Now(),
                                     .result = taken};
    if (taken.ok()) {
      published_.spec_bytes = call.request.spec_bytes;
      published_.orphan_timeout = call.request.spec.orphan_timeout;
    }
  }
  state_.changed = true;
  if (!taken.ok()) return state_.Answer(std::move(call.reply), taken);
  state_.Answer(std::move(call.reply), std::move(reply));
}

std::optional<absl::Duration> Driver::orphan_timeout() const {
  MutexLock lock(published_mu_);
  return published_.orphan_timeout;
}

}  // namespace penstock::core
