// What one seed does to a world: faults at random, then peace, then the end.
#pragma once

#include "core/base/random.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/world.h"

#include <absl/time/time.h>

#include <cstdint>

namespace penstock::simulation {

// Lets a plan's faults happen. Threads: confined to the test's thread.
class Trouble {
 public:
  // `world` outlives it.
  Trouble(World& world, uint64_t seed)
      : world_(world), random_(seed), disk_random_(seed + 1) {}

  // A moment of the world has passed: each fault may come.
  void Moment();
  // Takes back what is broken still.
  void End();

 private:
  void HitProcesses(const FaultRates& rates);
  void HitNetwork(const FaultRates& rates);
  void HitStore(const FaultRates& rates);
  void HitTarget(const FaultRates& rates);
  void HitDisk(const FaultRates& rates);
  void EditSpec(const FaultRates& rates);
  void KillWorker();
  void LosePower();
  // One of them.
  size_t AWorker();
  // Until what was killed is there again: mostly at once.
  absl::Duration AWhile() {
    return (random_.Bernoulli(0.7) ? absl::Milliseconds(20)
                                   : absl::Seconds(1)) *
           random_.Double();
  }

  World& world_;
  core::Random random_;
  // Apart, so that older seeds keep the faults they had.
  core::Random disk_random_;
  absl::Time disk_heals_ = absl::InfiniteFuture();
  absl::Time network_heals_ = absl::InfiniteFuture();
};

// How long everything may take once there are no faults any more: README.md has
// the sum.
inline constexpr absl::Duration kPeaceMax = absl::Seconds(45);

struct SeedOutcome {
  Outcome outcome;
  // From the last fault to the end.
  absl::Duration peace;
};

// The whole life of one seed, until everything is delivered and checkpointed or
// something is wrong.
SeedOutcome RunSeed(uint64_t seed);

}  // namespace penstock::simulation
