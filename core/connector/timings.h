// How long what every connector does has taken.
// See core/connector/README.md.
#pragma once

#include "core/base/mutex.h"
#include "core/handoff/histogram.h"

#include <absl/base/thread_annotations.h>
#include <absl/time/time.h>

#include <array>
#include <cstddef>

namespace penstock::core {

enum class Timing {
  // From the request to the source until the step is made: read, hashed,
  // routed, encoded.
  kQueuedStep,
  kReplayedStep,
  // From Open until the first new step is made: of a connector that begins,
  // and of one that goes on where another ended (fail-over).
  kFirstOpen,
  kFailOver,
  // From Drain until both ends are closed, of one connector.
  kConnectorDrain,
  kWorkerDrain,
};
inline constexpr size_t kTimings = 6;

// Of all connectors of a process, so that they outlive each of them.
//
// Owner:   the dispatcher. Shared by: connectors.
// Threads: thread-safe. One short lock a step, none a record.
// Bound:   kTimings histograms.
class Timings {
 public:
  Timings();
  void Record(Timing what, absl::Duration time) ABSL_LOCKS_EXCLUDED(mu_);
  Histogram Of(Timing what) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::array<Histogram, kTimings> histograms_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
