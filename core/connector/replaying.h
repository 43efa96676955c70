// The Replay that is running, from its turn to its verified end.
// See core/connector/README.md; upholds INV-2, INV-3, INV-6.
#pragma once

#include "core/connector/consumer.h"
#include "core/connector/driver_state.h"
#include "core/connector/lanes.h"
#include "core/connector/queueing.h"
#include "core/connector/requests.h"
#include "core/connector/step_runner.h"
#include "core/contract/resume.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <optional>
#include <utility>
#include <vector>

namespace penstock::core {

//   NONE ─Ask─▶ WAITING ─all shards hold it─▶ SKIPPING ─Skipped──────────┐
//     ▲            └─nothing in flight─▶ READING ─Replayed, equal─▶ PUSHING
//     └───────────────made, released, replied────────────────────────────┘
//
// It holds the ordered lane from Ask to the end. Nothing reaches the handoff
// before count and hash were found equal (INV-3).
//
// Owner:   the driver. Threads: confined to its strand.
// Bound:   one step, which is admitted whole when nothing else is in flight.
class ReplayRunner {
 public:
  // `state` outlives this.
  explicit ReplayRunner(DriverState& state) : state_(state) {}

  // Rule 6: joins the one that runs, answers, or begins.
  // Requires: none runs, or it runs this step.
  void Ask(ReplayCall call);
  bool is_active() const { return stage_ != Stage::kNone; }
  // Requires: active.
  Step running_step() const { return request_.result.step; }
  void OnReplayed(FlushedStep flushed);
  void OnSkipped();

  // Errors: what ends the connector; Fail then answers the Replay.
  absl::StatusOr<Work> Advance();
  // Steady time at which to Advance without being woken.
  absl::Time WakeAt() const { return wake_at_; }

  // As QueueRunner's.
  void Fail(const absl::Status& cause);
  void Close();

 private:
  enum class Stage { kNone, kWaiting, kSkipping, kReading, kPushing };

  absl::Status CheckRequest(const ReplayRequest& request) const;
  const Resume::Replay& journaled() const;
  absl::StatusOr<Work> AdvanceWaiting();
  absl::StatusOr<Work> AdvanceReading();
  absl::Status Verify(const FlushedStep& flushed) const;
  void StartPushing(FlushedStep flushed);
  absl::StatusOr<Work> AdvancePushing();
  // The step is made, released and answered.
  void Finish(const ReplayReply& answer);
  void Reply(const absl::StatusOr<ReplayReply>& reply);

  DriverState& state_;
  Stage stage_ = Stage::kNone;
  ReplayRequest request_;
  std::vector<ReplyTo<ReplayReply>> replies_;
  // The answer of the reader, until Advance takes it.
  std::optional<FlushedStep> flushed_;
  bool skipped_ = false;
  // The reader was seen closed: its answer may have come just before.
  bool closed_seen_ = false;
  // Steady time at which the reader was asked.
  absl::Time asked_at_ = absl::InfinitePast();
  StepRunner runner_;
  absl::Time wake_at_ = absl::InfiniteFuture();
  // The Replay that ended the connector, for those who ask again.
  std::optional<std::pair<Step, absl::Status>> failure_;
};

}  // namespace penstock::core
