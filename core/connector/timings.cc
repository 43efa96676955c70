#include "core/connector/timings.h"

#include "core/handoff/shard_snapshot.h"

namespace penstock::core {

Timings::Timings()
    : histograms_{Histogram(kSecondBounds), Histogram(kSecondBounds),
                  Histogram(kSecondBounds), Histogram(kSecondBounds),
                  Histogram(kSecondBounds), Histogram(kSecondBounds)} {}

void Timings::Record(Timing what, absl::Duration time) {
  MutexLock lock(mu_);
  histograms_[static_cast<size_t>(what)].Record(absl::ToDoubleSeconds(time));
}

Histogram Timings::Of(Timing what) const {
  MutexLock lock(mu_);
  return histograms_[static_cast<size_t>(what)];
}

}  // namespace penstock::core
