// When a Queue that waits begins its step, and when it gives up.
// See core/connector/README.md; `protocol.md` rule 3.
#pragma once

#include "core/connector/consumer.h"
#include "core/connector/requests.h"
#include "core/record/buffer_size.h"

#include <absl/time/time.h>

namespace penstock::core {

// A Queue's terms, with the connector's defaults filled in. Times are steady.
struct QueueTerms {
  // Either begins the step.
  BufferSize minimum;
  absl::Duration linger;
  // When `wait` is over.
  absl::Time deadline;
  bool checkpoint_requested = false;
};
QueueTerms TermsOf(const QueueRequest& request, const ConnectorLimits& limits,
                   absl::Time now);

// What the decision depends on beside the terms.
struct QueueFacts {
  absl::Time now;
  StagedInput staged;
  // The reader is paused: nothing more comes, what is staged is drained.
  bool paused = false;
  // Another command, which came meanwhile, wants an answer now.
  bool interrupted = false;
  // There is room for a step: in the budget and among those outstanding.
  bool room = true;
  // A step with end of input was made already.
  bool final_step_made = false;
};

struct QueueDecision {
  enum class Kind { kWait, kBegin, kNoStep, kNoRoom };
  Kind kind = Kind::kWait;
  // kBegin: why, if nothing else stops the step.
  StopReason cause = StopReason::kWaitOver;
  // kNoStep.
  NoStepReason reason = NoStepReason::kWaitOver;
  // kWait: when to decide again if nothing is heard; InfiniteFuture(): then.
  absl::Time again = absl::InfiniteFuture();
};

// Pure: the same facts give the same decision.
//
//   a minimum is met, end of input, linger is over, a step or a checkpoint is
//   asked for, or something is staged and nobody may wait: begin if there is
//   room; without room wait for it, at most until the deadline
//   otherwise: wait for data, at most until the deadline
QueueDecision DecideQueue(const QueueTerms& terms, const QueueFacts& facts);

}  // namespace penstock::core
