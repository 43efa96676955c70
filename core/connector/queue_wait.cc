#include "core/connector/queue_wait.h"

#include <absl/time/time.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace penstock::core {
namespace {

using Kind = QueueDecision::Kind;

QueueDecision NoStepBecause(NoStepReason reason) {
  QueueDecision decision;
  decision.kind = Kind::kNoStep;
  decision.reason = reason;
  return decision;
}

QueueDecision WaitUntil(absl::Time again) {
  QueueDecision decision;
  decision.again = again;
  return decision;
}

// What wants the step to begin; nullopt: nothing yet. Requires: there is a step
// left to make.
std::optional<StopReason> CauseOf(const QueueTerms& terms,
                                  const QueueFacts& facts) {
  const StagedInput& staged = facts.staged;
  const bool has_data = staged.queued.records > 0;
  if (has_data && (staged.queued.records >= terms.minimum.records ||
                   staged.queued.bytes >= terms.minimum.bytes)) {
    return StopReason::kMinMet;
  }
  if (staged.end_of_input) {
    return StopReason::kEndOfInput;
  }
  if (has_data && facts.now >= staged.since + terms.linger) {
    return StopReason::kLinger;
  }
  // These make a step also without data, to carry a position.
  if (terms.checkpoint_requested || staged.step_requested) {
    return StopReason::kWaitOver;
  }
  const bool may_not_wait =
      facts.paused || facts.interrupted || facts.now >= terms.deadline;
  if (has_data && may_not_wait) return StopReason::kWaitOver;
  return std::nullopt;
}

}  // namespace

QueueTerms TermsOf(const QueueRequest& request, const ConnectorLimits& limits,
                   absl::Time now) {
  QueueTerms terms;
  terms.minimum.records =
      request.min_records == 0 ? UINT64_MAX : request.min_records;
  terms.minimum.bytes =
      request.min_bytes == 0 ? limits.step_bytes : request.min_bytes;
  // To wait for more than the step may take would be in vain.
  if (request.max_records != 0) {
    terms.minimum.records =
        std::min(terms.minimum.records, request.max_records);
  }
  terms.minimum.records =
      std::min(terms.minimum.records, limits.step_records_max);
  terms.minimum.bytes = std::min(terms.minimum.bytes, limits.step_bytes_max);
  // Nor does the source stage more than this, of which records are a part.
  terms.minimum.bytes =
      std::min(terms.minimum.bytes, limits.queued_bytes_max / 2);
  if (request.max_bytes != 0) {
    terms.minimum.bytes = std::min(terms.minimum.bytes, request.max_bytes);
  }
  terms.linger = request.linger.value_or(limits.step_linger);
  terms.deadline = now + request.wait;
  terms.checkpoint_requested = request.checkpoint_requested;
  return terms;
}

QueueDecision DecideQueue(const QueueTerms& terms, const QueueFacts& facts) {
  if (facts.staged.end_of_input && facts.staged.queued.records == 0 &&
      facts.final_step_made) {
    return NoStepBecause(NoStepReason::kEndOfInput);
  }
  const std::optional<StopReason> cause = CauseOf(terms, facts);
  const bool deadline_over = facts.now >= terms.deadline;
  if (cause.has_value()) {
    QueueDecision decision;
    decision.kind = Kind::kBegin;
    decision.cause = *cause;
    if (facts.room) return decision;
    if (facts.interrupted) {
      return NoStepBecause(facts.paused ? NoStepReason::kPaused
                                        : NoStepReason::kInterrupted);
    }
    if (!deadline_over) return WaitUntil(terms.deadline);
    decision.kind = Kind::kNoRoom;
    return decision;
  }
  if (facts.paused) return NoStepBecause(NoStepReason::kPaused);
  if (facts.interrupted) return NoStepBecause(NoStepReason::kInterrupted);
  if (deadline_over) return NoStepBecause(NoStepReason::kWaitOver);
  const bool has_data = facts.staged.queued.records > 0;
  return WaitUntil(
      has_data ? std::min(terms.deadline, facts.staged.since + terms.linger)
               : terms.deadline);
}

}  // namespace penstock::core
