// The one Queue that may be outstanding, from its wait to its result.
// See core/connector/README.md; upholds INV-2, INV-5, INV-8.
#pragma once

#include "core/connector/consumer.h"
#include "core/connector/driver_state.h"
#include "core/connector/lanes.h"
#include "core/connector/queue_wait.h"
#include "core/connector/requests.h"
#include "core/connector/step_runner.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace penstock::core {

// How a part of the driver went on.
enum class Work {
  kIdle,   // it waits, or has nothing to do
  kAgain,  // something happened: look at everything again
  kYield,  // others of the executor should have a turn first
};

//   NONE ─Ask─▶ WAITING ─room and cause─▶ READING ─Extended─▶ PUSHING
//     ▲            │ no step                 │ nothing flushed   │ EndStep
//     └────────────┴──────(WAITING again)◀───┘                   │
//     └──────────────────────result retained, replied────────────┘
//
// WAITING holds no lane: other commands pass it. READING waits for the reader,
// which mostly answers inside the call. PUSHING never waits.
//
// Owner:   the driver. Threads: confined to its strand.
// Bound:   one step; as many replies that joined it as a lane has calls.
class QueueRunner {
 public:
  // `state` outlives this.
  explicit QueueRunner(DriverState& state) : state_(state) {}

  // Rule 3: joins the one that is outstanding, answers, or begins to wait.
  void Ask(QueueCall call);
  bool is_active() const { return stage_ != Stage::kNone; }
  // It holds the ordered lane.
  bool has_begun() const {
    return stage_ == Stage::kReading || stage_ == Stage::kPushing;
  }
  std::optional<Step> running_step() const;
  // A Queue that waits is answered now: a step from what is staged, or none.
  void Interrupt() { interrupted_ = true; }
  // A Queue that waits is answered SUPERSEDED.
  void Supersede();
  void OnExtended(FlushedStep flushed);

  // Errors: what ends the connector; Fail then answers the Queue.
  absl::StatusOr<Work> Advance();
  // Steady time at which to Advance without being woken.
  absl::Time WakeAt() const { return wake_at_; }

  // The connector failed: a Queue without its records, or whose step failed, is
  // answered with `cause`. What the reader answered before goes on to its
  // result.
  void Fail(const absl::Status& cause);
  // The connector closes: a waiting Queue makes no step, a begun step is
  // abandoned.
  void Close();
  // It waits because room is missing.
  bool lacks_room() const { return lacks_room_; }

 private:
  enum class Stage { kNone, kWaiting, kReading, kPushing };

  bool HasRoom() const;
  absl::Status NoRoom() const;
  absl::StatusOr<Work> AdvanceWaiting();
  absl::Status StartReading();
  absl::StatusOr<Work> AdvanceReading();
  // The reader is closed. In peace: below exactly-once one last, empty step.
  // Errors: it did not close in peace.
  absl::Status EndWithoutReader();
  // Whether what the reader flushed makes a step.
  bool MakesStep(const FlushedStep& flushed) const;
  absl::Status CheckResume(const FlushedStep& flushed) const;
  absl::Status StartPushing(FlushedStep flushed);
  StepResult MakeResult(FlushedStep& flushed) const;
  StopReason StoppedBecause(const FlushedStep& flushed) const;
  absl::StatusOr<Work> AdvancePushing();
  void ReplyNoStep(NoStepReason reason);
  void ReplyError(const absl::Status& error);
  void Reply(const absl::StatusOr<QueueReply>& reply);

  DriverState& state_;
  Stage stage_ = Stage::kNone;
  QueueRequest request_;
  QueueTerms terms_;
  std::vector<ReplyTo<QueueReply>> replies_;
  bool interrupted_ = false;
  bool lacks_room_ = false;
  absl::Time wake_at_ = absl::InfiniteFuture();

  StopReason cause_ = StopReason::kMinMet;
  // Room events seen when the first buffer found no room; nullopt: it did not
  // happen. Until there is another, trying again is in vain.
  std::optional<uint64_t> blocked_at_;
  uint64_t room_events_before_ = 0;
  // The answer of the reader, until Advance takes it.
  std::optional<FlushedStep> flushed_;
  // The reader was seen closed: its answer may have come just before.
  bool closed_seen_ = false;
  // Steady time at which the reader was asked.
  absl::Time asked_at_ = absl::InfinitePast();
  StepRunner runner_;
  std::optional<StepResult> result_;
  // The connector failed while the records of this step were at hand.
  std::optional<absl::Status> failure_;
};

}  // namespace penstock::core
