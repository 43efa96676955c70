// Workers, controllers, disks and a network in one virtual machine.
// See tests/simulation/README.md; checks INV-1, 2, 3, 4, 7 and 8.
#pragma once

#include "client/controller/controller.h"
#include "core/base/path_policy.h"
#include "core/base/random.h"
#include "core/connector/registry.h"
#include "server/dispatch/dispatcher.h"
#include "tests/simulation/lane.h"
#include "tests/simulation/network.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/slow_executor.h"
#include "tests/support/fake_database.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/fake_state_store.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::simulation {

// One life of a worker process.
struct WorkerLife {
  Process* process = nullptr;
  std::string address;
  // Shared with: the other lives on it, messages to them.
  std::shared_ptr<Host> host;
  // Of the transactional target.
  std::unique_ptr<SlowExecutor> commit_executor;
  std::unique_ptr<core::Registry> registry;
  std::unique_ptr<server::Dispatcher> dispatcher;
};

// A worker of the pipeline, whichever process that is just now.
struct WorkerSlot {
  // Where it may be found; the controller knows all of them.
  std::vector<std::string> addresses;
  std::shared_ptr<Host> host;
  // Null while it is dead.
  std::unique_ptr<WorkerLife> life;
  absl::Time starts = absl::InfiniteFuture();
};

// One life of a controller process.
struct ControllerLife {
  Process* process = nullptr;
  std::unique_ptr<client::FakeStateStore> store;
  // By worker.
  std::vector<std::unique_ptr<core::Control>> controls;
  std::shared_ptr<client::Controller> controller;
  // What the pipeline file said when it started: index into Plan::specs.
  size_t spec = 0;
  std::optional<absl::Status> ended;
};

// What happened in a world.
struct Outcome {
  // Empty: everything held.
  std::string violation;
  uint64_t connectors = 0;
  uint64_t workers = 0;
  // How often a worker was started at another address than before.
  uint64_t moves = 0;
  uint64_t events = 0;
  uint64_t kills = 0;
  uint64_t freezes = 0;
  uint64_t power_losses = 0;
  uint64_t full_disks = 0;
  // Events at which a write was beyond its deadline.
  uint64_t overdue = 0;
  // The input was changed under journaled steps; and that was noticed.
  uint64_t tampers = 0;
  uint64_t mismatches = 0;
  // Replayed steps that were read again, and that were only skipped.
  uint64_t replayed = 0;
  uint64_t already_held = 0;
  // Specifications that took effect with steps to replay, and at a clean
  // checkpoint.
  uint64_t specs_at_once = 0;
  uint64_t specs_clean = 0;
  // At least once: lines that are there more than once.
  uint64_t doubled = 0;
  // Different dead letters, at the end.
  uint64_t letters = 0;
  // Connectors that a controller found alive and went on with.
  uint64_t adopted = 0;
  absl::Duration virtual_time;
};

// The machine: it restarts what died, checks every event, and does by itself
// nothing that hurts.
//
// Threads: confined to the test's thread.
class World final : public Witness {
 public:
  // Told at each of a controller's fault points; it may crash what it wants.
  using FaultHook = std::function<void(client::FaultPoint)>;

  explicit World(Plan plan);
  ~World() override;

  // Before the first controller is started.
  void SetFaultHook(FaultHook hook) { fault_hook_ = std::move(hook); }
  // The workers and the first controller.
  void Start();

  // Lets everybody run for `duration` of virtual time, then restarts what died
  // and ends what was superseded. False: a violation.
  bool RunFor(absl::Duration duration);
  // Until `condition` holds after an event, at most for `duration`. Returns:
  // whether it holds and nothing was violated.
  bool RunUntil(const std::function<bool()>& condition,
                absl::Duration duration);
  // The controller ended well: everything is delivered and checkpointed, and
  // none that was stopped has woken and taken the next epoch since then.
  bool Finished() const;
  // Runs a controller once more, as a person would: nothing may come of it.
  void RunControllerAgain();
  void CheckComplete();
  // Into the outcome, at the end: what the checkers found.
  void SumUp();

  // --- What hurts. A killed process is started again after `restart_after`; a
  // worker at any of its addresses.
  void KillWorker(absl::Duration restart_after, size_t worker = 0);
  void KillController(absl::Duration restart_after);
  // For hooks, which run inside a process: nothing of it runs any more, and it
  // is killed after this event. `power`: its machine goes, too.
  void CrashWorkerHere(core::Random* power);
  void CrashControllerHere();
  // SIGSTOP. Another is started at once; a worker on another host, which knows
  // no fence.
  void FreezeWorker(size_t worker = 0);
  void FreezeController();
  // Wakes each that is stopped, with probability `p` each.
  void Wake(core::Random& random, double p);
  void WakeAll();
  void WakeController(size_t index);
  // From now on commits are slow no more.
  void CommitAtOnce() { commit_delay_max_ = absl::ZeroDuration(); }
  // While they are held, none is started.
  void HoldControllers(bool hold) { controllers_held_ = hold; }
  // Of all workers' machines, with the data disk. Kills every worker.
  void LosePower(core::FakeFileSystem::Unsynced unsynced, core::Random& random,
                 absl::Duration restart_after);
  // From the next controller on the pipeline file says this.
  void EditSpec(size_t index) { spec_ = index; }
  // Changes the first connector's input under a step that is journaled and
  // would be replayed. False: there is none. Requires: no worker runs, but
  // perhaps stopped ones. The controller must end with an error for a person,
  // who then restores the input; or else nobody read it again.
  bool TamperWithInput(core::Random& random);

  const Plan& plan() const { return plan_; }
  Scheduler& scheduler() { return scheduler_; }
  Network& network() { return network_; }
  core::FakeDatabase& database() { return database_; }
  core::FakeFileSystem& data_disk() { return data_disk_; }
  client::FakeStoreDisk& store_disk() { return store_disk_; }
  // The first one. Null while it is dead.
  WorkerLife* worker() { return workers_.front().life.get(); }
  ControllerLife* controller() { return controller_.get(); }
  const std::vector<std::unique_ptr<WorkerLife>>& frozen_workers() const {
    return frozen_workers_;
  }
  const std::vector<std::unique_ptr<ControllerLife>>& frozen_controllers()
      const {
    return frozen_controllers_;
  }
  // How each woken controller that was superseded ended.
  const std::vector<absl::Status>& superseded() const { return superseded_; }
  // Of the first connector.
  Checkers& checkers() { return lanes_.front()->checkers(); }
  // Of any; empty: everything holds.
  const std::string& violation() const { return violation_; }
  Outcome& outcome() { return outcome_; }

  // --- What is there.
  // Of the first connector on its living worker; nullopt: there is none.
  std::optional<core::ConnectorStatus> Status() const;
  // Of the first connector, as Lane.
  std::vector<core::Step> Progress() { return lanes_.front()->Progress(); }
  std::vector<std::vector<std::string>> Lines() {
    return lanes_.front()->Lines();
  }
  // How the last controller that a person had to decide on ended.
  const std::optional<absl::Status>& mismatch() const { return mismatch_; }
  // Who runs and how far everybody is, for a failure's message.
  std::string Describe();

  // Witness.
  void OnResult(const core::ConnectorRef& ref,
                const core::StepResult& result) override;
  void OnReplayed(const Process& worker, const core::ConnectorRef& ref,
                  core::Step step, const core::ReplayReply& reply) override;
  void OnStaleEpoch(uint64_t epoch, uint64_t epoch_before) override;

 private:
  struct Tamper {
    core::Step step = 0;
    // Before it was changed.
    std::string input;
    // Who had opened the target last.
    std::optional<core::Writer> writer;
  };

  void StartWorker(WorkerSlot& slot);
  // For the other lives of the slot.
  std::string AddressFor(const WorkerSlot& slot);
  std::unique_ptr<core::Control> Dial(const WorkerSlot& slot, Process& client);
  void StartController();
  client::ControllerOptions OptionsOfController();
  void End(std::unique_ptr<WorkerLife>& life);
  void End(std::unique_ptr<ControllerLife>& life);
  void CrashWhatWasHit();
  void Tend();
  void TendController();
  void OnMismatch(const absl::Status& ended);
  void OnDatabaseCommit(Lane& lane, core::ShardIndex shard,
                        const core::FakeDatabase::Transaction& commit);
  void Violate(const std::string& what) { checkers().Violate(what); }
  Lane* Find(const std::string& connector) const;
  bool Step(absl::Time until);
  // After each event; and once in a moment.
  void Check();
  void CheckSlowly();
  // Every connector, also those of workers that woke again.
  void ForEachAwake(
      const std::function<void(Lane&, const core::ConnectorStatus&)>& look)
      const;

  const Plan plan_;
  Scheduler scheduler_;
  Network network_;
  absl::Duration commit_delay_max_;
  core::PathPolicy paths_;
  // What outlives every process: inputs, the file sinks' directories, the
  // transactional target, the controller's store.
  core::FakeFileSystem data_disk_;
  core::FakeDatabase database_;
  client::FakeStoreDisk store_disk_;
  std::string violation_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  // Of the data disk, when CheckSlowly looked last.
  uint64_t operations_seen_ = 0;
  FaultHook fault_hook_;
  // What the pipeline file says: index into Plan::specs.
  size_t spec_ = 0;

  // The connectors go to them by turns.
  std::vector<WorkerSlot> workers_;
  std::unique_ptr<ControllerLife> controller_;
  // Stopped processes that may wake, or have woken.
  std::vector<std::unique_ptr<WorkerLife>> frozen_workers_;
  std::vector<std::unique_ptr<ControllerLife>> frozen_controllers_;
  std::vector<absl::Status> superseded_;
  absl::Time controller_starts_ = absl::InfiniteFuture();
  bool controllers_held_ = false;
  bool worker_hit_ = false;
  core::Random* power_hit_ = nullptr;
  bool controller_hit_ = false;
  std::optional<Tamper> tamper_;
  std::optional<absl::Status> mismatch_;
  Outcome outcome_;
};

}  // namespace penstock::simulation
