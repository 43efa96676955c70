// Which steps a connector has made, and the results it still keeps.
// See core/connector/README.md; upholds INV-2 (one Queue, one result).
#pragma once

#include "core/base/mutex.h"
#include "core/connector/requests.h"
#include "core/record/step.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace penstock::core {

// The numbers of a connector's steps and their retained results.
//
//   base ≤ released ≤ made        results in [released, made) are retained
//
// Owner:     the connector. Shared by: nobody; watchers read through it.
// Threads:   thread-safe. One writer, the driver; any number of readers.
// Bound:     `retained_bytes_max` plus one result, nothing is ever evicted:
//            the driver asks CheckRoom before it makes a step. The answers of
//            the last `kReplaysKept` replays.
class StepLedger {
 public:
  // All at one instant.
  struct Snapshot {
    Step made_steps = 0;
    Step released_steps = 0;
    // Ascending.
    std::vector<Step> retained_steps;
    uint64_t retained_bytes = 0;
  };
  struct Options {
    Step base_steps = 0;
    uint64_t retained_bytes_max = uint64_t{64} << 20;
  };
  using ResultPtr = std::shared_ptr<const StepResult>;

  // What a result may hold beside payloads (`protocol.md` rule 9): kept free
  // for the step that is made next.
  static constexpr uint64_t kResultBytes = uint64_t{256} << 10;
  static constexpr size_t kReplaysKept = 64;

  explicit StepLedger(Options options);

  // What asking for `step` means (rule 3's checks behind the running step):
  // its retained result; or null, that a new step may get this number.
  // Errors: STEP_RELEASED, STEP_GAP (never made and below the last step, or
  // `previous_steps` is not made_steps(): then both are in the metadata),
  // INVALID_REQUEST (kStepsMax).
  absl::StatusOr<ResultPtr> Ask(Step step, Step previous_steps) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // Rule 6's for Replay: the answer it got before; or nullopt: a new one.
  // Errors: as Ask.
  absl::StatusOr<std::optional<ReplayReply>> AskReplay(
      Step step, Step previous_steps) const ABSL_LOCKS_EXCLUDED(mu_);
  // Errors: RETAINED_FULL if one more result may not fit.
  absl::Status CheckRoom() const ABSL_LOCKS_EXCLUDED(mu_);

  // Requires: result->step >= made_steps().
  void Add(ResultPtr result) ABSL_LOCKS_EXCLUDED(mu_);
  // A replayed step is made and released in one; its result is not kept.
  // Requires: step >= made_steps(), nothing is retained.
  void AddReplayed(Step step, const ReplayReply& reply)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Frees the results below `released_steps`. A lower count than before has no
  // effect. Errors: RELEASE_AHEAD above made_steps(), without effect.
  absl::Status Release(Step released_steps) ABSL_LOCKS_EXCLUDED(mu_);

  // The steps below `completed_steps` are finished.
  void Complete(Step completed_steps) ABSL_LOCKS_EXCLUDED(mu_);
  // Made and not finished, ascending.
  std::vector<Step> unfinished_steps() const ABSL_LOCKS_EXCLUDED(mu_);

  // Last step + 1; the base if there was none.
  Step made_steps() const ABSL_LOCKS_EXCLUDED(mu_);
  Step released_steps() const ABSL_LOCKS_EXCLUDED(mu_);
  // Null: not retained.
  ResultPtr Retained(Step step) const ABSL_LOCKS_EXCLUDED(mu_);
  Snapshot snapshot() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Replayed {
    Step step = 0;
    ReplayReply reply;
  };

  ResultPtr Find(Step step) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // For a step below made_steps_ that is not retained.
  absl::Status Gone(Step step) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckChain(Step step, Step previous_steps) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;

  mutable Mutex mu_;
  Step made_steps_ ABSL_GUARDED_BY(mu_);
  Step released_steps_ ABSL_GUARDED_BY(mu_);
  // Ascending by step, all at or above released_steps_.
  std::deque<ResultPtr> retained_ ABSL_GUARDED_BY(mu_);
  uint64_t retained_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  // Ascending.
  std::deque<Step> unfinished_ ABSL_GUARDED_BY(mu_);
  std::deque<Replayed> replayed_ ABSL_GUARDED_BY(mu_);
};

// Memory that a result keeps: itself, positions, payload, watermarks, label.
uint64_t MemoryBytes(const StepResult& result);

}  // namespace penstock::core
