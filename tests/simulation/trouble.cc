#include "tests/simulation/trouble.h"

#include "client/controller/controller.h"
#include "core/base/error.h"
#include "tests/support/fake_database.h"
#include "tests/support/fake_filesystem.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <optional>

namespace penstock::simulation {
namespace {

using core::MakeError;
using core::Reason;

// After that many ends nothing new comes of going on.
constexpr int kEndsMax = 3;

}  // namespace

void Trouble::Moment() {
  const FaultRates& rates = world_.plan().faults;
  if (world_.scheduler().now() >= network_heals_) {
    world_.network().SetFaults({.delay_max = world_.plan().delay_max});
    network_heals_ = absl::InfiniteFuture();
  }
  HitProcesses(rates);
  HitNetwork(rates);
  HitStore(rates);
  HitTarget(rates);
  HitDisk(rates);
  if (rates.edit_spec > 0) EditSpec(rates);
}

void Trouble::End() {
  world_.network().SetFaults({.delay_max = world_.plan().delay_max});
  world_.database().HealAll();
  world_.data_disk().SetCapacity(std::nullopt);
  world_.CommitAtOnce();
  world_.WakeAll();
}

void Trouble::HitProcesses(const FaultRates& rates) {
  if (random_.Bernoulli(rates.kill_worker)) KillWorker();
  if (random_.Bernoulli(rates.kill_controller)) world_.KillController(AWhile());
  if (random_.Bernoulli(rates.kill_both)) {
    KillWorker();
    world_.KillController(AWhile());
  }
  if (random_.Bernoulli(rates.power_loss)) LosePower();
  if (random_.Bernoulli(rates.freeze_worker)) world_.FreezeWorker(AWorker());
  if (random_.Bernoulli(rates.freeze_controller)) world_.FreezeController();
  if (random_.Bernoulli(rates.wake)) world_.Wake(random_, 0.5);
}

void Trouble::EditSpec(const FaultRates& rates) {
  if (!random_.Bernoulli(rates.edit_spec)) return;
  world_.EditSpec(random_.Uniform(world_.plan().specs.size()));
  if (random_.Bernoulli(0.8)) world_.KillController(AWhile());
  if (random_.Bernoulli(0.3)) KillWorker();
}

size_t Trouble::AWorker() {
  const uint32_t workers = world_.plan().workers;
  return workers == 1 ? 0 : random_.Uniform(workers);
}

void Trouble::KillWorker() {
  const size_t worker = AWorker();
  world_.KillWorker(AWhile(), worker);
  // The first connector's input, which nobody may be reading.
  if (worker == 0 && random_.Bernoulli(world_.plan().faults.tamper)) {
    world_.TamperWithInput(random_);
  }
}

void Trouble::LosePower() {
  const auto unsynced = random_.Bernoulli(0.5)
                            ? core::FakeFileSystem::Unsynced::kLost
                            : core::FakeFileSystem::Unsynced::kRandomPrefix;
  world_.LosePower(unsynced, random_, AWhile());
}

void Trouble::HitNetwork(const FaultRates& rates) {
  if (!random_.Bernoulli(rates.bad_network)) return;
  world_.network().SetFaults(
      {.lose = 0.3 * random_.Double(),
       .repeat = 0.3 * random_.Double(),
       .delay_max = absl::Milliseconds(200) * random_.Double(),
       .late = 0.1 * random_.Double()});
  network_heals_ =
      world_.scheduler().now() + absl::Seconds(5) * random_.Double();
}

void Trouble::HitStore(const FaultRates& rates) {
  ControllerLife* const life = world_.controller();
  if (life == nullptr || !random_.Bernoulli(rates.store_trouble)) return;
  if (random_.Bernoulli(0.5)) {
    life->store->LoseAnswers(1);
  } else {
    life->store->FailNext(1, MakeError(Reason::UNAVAILABLE, "store is away"));
  }
}

void Trouble::HitTarget(const FaultRates& rates) {
  if (!random_.Bernoulli(rates.target_trouble)) return;
  using Operation = core::FakeDatabase::Operation;
  constexpr Operation kOperations[] = {Operation::kOpen, Operation::kBatchStart,
                                       Operation::kPush, Operation::kBatchEnd,
                                       Operation::kCommit};
  const Operation operation = kOperations[random_.Uniform(5)];
  if (random_.Bernoulli(0.5)) {
    world_.database().LoseNextAnswer(operation);
  } else {
    world_.database().FailNext(
        operation, MakeError(Reason::UNAVAILABLE, "target is away"));
  }
}

void Trouble::HitDisk(const FaultRates& rates) {
  const absl::Time now = world_.scheduler().now();
  if (now >= disk_heals_) {
    world_.data_disk().SetCapacity(std::nullopt);
    disk_heals_ = absl::InfiniteFuture();
  }
  if (rates.full_disk == 0 || !disk_random_.Bernoulli(rates.full_disk)) return;
  ++world_.outcome().full_disks;
  world_.data_disk().SetCapacity(
      disk_random_.Bernoulli(0.5) ? 0 : disk_random_.Uniform(200'000));
  disk_heals_ = now + absl::Seconds(2) * disk_random_.Double();
}

SeedOutcome RunSeed(uint64_t seed) {
  World world(DrawPlan(seed));
  Trouble trouble(world, seed ^ 0x9e3779b97f4a7c15u);
  world.Start();
  const absl::Time latest = world.scheduler().now() + world.plan().trouble;
  int ends = 0;
  while (world.scheduler().now() < latest && world.RunFor(kMoment)) {
    if (world.Finished()) {
      if (++ends == kEndsMax) break;
      world.RunControllerAgain();
    }
    trouble.Moment();
  }
  trouble.End();
  const absl::Time peace = world.scheduler().now();
  SeedOutcome seed_outcome;
  if (world.violation().empty()) {
    const bool ended =
        world.RunUntil([&] { return world.Finished(); }, kPeaceMax);
    seed_outcome.peace = world.scheduler().now() - peace;
    if (ended) {
      world.CheckComplete();
    } else {
      world.checkers().Violate(absl::StrCat("no end within ",
                                            absl::FormatDuration(kPeaceMax),
                                            " of peace; ", world.Describe()));
    }
  }
  world.SumUp();
  seed_outcome.outcome = world.outcome();
  return seed_outcome;
}

}  // namespace penstock::simulation
