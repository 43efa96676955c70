#include "server/dispatch/orphans.h"

#include <algorithm>
#include <optional>

namespace penstock::server {
namespace {

// How often is looked: a share of the shortest timeout, within these.
constexpr int kLooks = 8;
constexpr absl::Duration kLookMin = absl::Milliseconds(10);
constexpr absl::Duration kLookMax = absl::Seconds(5);

}  // namespace

void Orphans::Watch(const core::Connector& connector) {
  const absl::Duration timeout = TimeoutOf(connector);
  core::MutexLock lock(mu_);
  noted_ = std::min(noted_, timeout);
  // A task looks often enough, or nothing is to be looked for.
  if (timeout >= shortest_) return;
  Schedule(timeout);
}

void Orphans::Schedule(absl::Duration shortest) {
  shortest_ = shortest;
  executor_.ScheduleAfter(std::clamp(shortest / kLooks, kLookMin, kLookMax),
                          [weak = weak_from_this(), chain = ++chain_] {
                            if (const auto self = weak.lock())
                              self->Look(chain);
                          });
}

void Orphans::Look(uint64_t chain) {
  {
    core::MutexLock lock(mu_);
    if (chain != chain_) return;
    noted_ = absl::InfiniteDuration();
  }
  const core::Clock& clock = executor_.clock();
  absl::Duration shortest = absl::InfiniteDuration();
  for (const auto& connector : table_->All()) {
    const absl::Duration timeout = TimeoutOf(*connector);
    if (timeout == absl::InfiniteDuration()) continue;
    shortest = std::min(shortest, timeout);
    const std::optional<absl::Time> since =
        fences_->UnheardSince(connector->pipeline());
    if (!since.has_value()) continue;
    const absl::Duration unheard = clock.SteadyNow() - *since;
    if (unheard < timeout) continue;
    connector->Orphan(
        clock.Now() - unheard,
        [fences = fences_, pipeline = connector->pipeline(), since] {
          return fences->UnheardSince(pipeline) == since;
        });
  }
  core::MutexLock lock(mu_);
  // One that was opened meanwhile began another.
  if (chain != chain_) return;
  // Or left it at this task, which may not have seen it.
  shortest = std::min(shortest, noted_);
  shortest_ = absl::InfiniteDuration();
  if (shortest != absl::InfiniteDuration()) Schedule(shortest);
}

}  // namespace penstock::server
