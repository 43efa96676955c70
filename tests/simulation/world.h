// Workers, controllers, disks and a network in one virtual machine, driven by
// one seed through faults to the end.
// See tests/simulation/README.md; checks INV-1, 2, 3, 4, 7 and 8.
#pragma once

#include "client/controller/controller.h"
#include "core/base/path_policy.h"
#include "core/connector/registry.h"
#include "server/dispatch/dispatcher.h"
#include "tests/simulation/checkers.h"
#include "tests/simulation/network.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/scheduler.h"
#include "tests/support/fake_database.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/fake_state_store.h"

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::simulation {

// One life of a worker process.
struct WorkerLife {
  Process* process = nullptr;
  // Where this life keeps its fence; the next life on the same host has it,
  // too. Shared by: the lives on one host.
  std::shared_ptr<core::FakeFileSystem> state_disk;
  std::unique_ptr<core::Registry> registry;
  std::unique_ptr<server::Dispatcher> dispatcher;
};

// One life of a controller process.
struct ControllerLife {
  Process* process = nullptr;
  std::unique_ptr<client::FakeStateStore> store;
  std::unique_ptr<SimulatedControl> control;
  std::shared_ptr<client::Controller> controller;
  std::optional<absl::Status> ended;
};

// How a run ended.
struct Outcome {
  // Empty: everything held.
  std::string violation;
  uint64_t events = 0;
  uint64_t kills = 0;
  uint64_t freezes = 0;
  uint64_t power_losses = 0;
  uint64_t recoveries = 0;
  absl::Duration virtual_time;
};

// Threads: confined to the test's thread.
class World {
 public:
  explicit World(Plan plan);
  ~World();

  // Runs faults, then peace, until everything is delivered and checkpointed or
  // something is wrong.
  Outcome Run();

 private:
  void StartWorker(std::shared_ptr<core::FakeFileSystem> state_disk);
  void KillWorker(std::unique_ptr<WorkerLife>& life);
  void StartController();
  static void KillController(std::unique_ptr<ControllerLife>& life);

  // Lets faults happen at this moment.
  void Trouble();
  void FreezeWorker();
  void FreezeController();
  void WakeSomebody();
  void LosePower();
  void MakePeace();
  // Restarts what died; ends what was superseded.
  void Tend();
  // Runs for `duration` of virtual time. False: a violation.
  bool RunFor(absl::Duration duration);
  void Check();
  bool Finished() const;

  const Plan plan_;
  Scheduler scheduler_;
  core::Random faults_;
  Network network_;
  core::PathPolicy paths_;
  // What outlives every process: the input, the file sink's directory, the
  // transactional target, the controller's store.
  core::FakeFileSystem data_disk_;
  core::FakeDatabase database_;
  client::FakeStoreDisk store_disk_;
  Checkers checkers_;

  std::unique_ptr<WorkerLife> worker_;
  std::unique_ptr<ControllerLife> controller_;
  std::shared_ptr<core::FakeFileSystem> state_disk_;
  // Stopped processes that may wake.
  std::vector<std::unique_ptr<WorkerLife>> frozen_workers_;
  std::vector<std::unique_ptr<ControllerLife>> frozen_controllers_;
  absl::Time worker_starts_ = absl::InfiniteFuture();
  absl::Time controller_starts_ = absl::InfiniteFuture();
  absl::Time network_heals_ = absl::InfiniteFuture();
  bool peace_ = false;
  Outcome outcome_;
};

}  // namespace penstock::simulation
