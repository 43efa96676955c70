// One thread, one virtual clock, many processes: the machine that a simulation
// runs on. See tests/simulation/README.md.
#pragma once

#include "core/base/random.h"
#include "tests/support/fake_clock.h"
#include "tests/support/manual_executor.h"

#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock::simulation {

// A process: an executor that can be stopped or killed.
struct Process {
  std::string name;
  std::unique_ptr<core::ManualExecutor> executor;
  // SIGSTOP: nothing of it runs until it is woken.
  bool frozen = false;
  uint64_t tasks_run = 0;
};

// Picks the next task of a random process at random; when there is none, moves
// the clock to the next timer.
//
// Threads: confined to the test's thread. Bound: processes are kept for ever,
// dead ones are empty.
class Scheduler {
 public:
  explicit Scheduler(uint64_t seed) : random_(seed) {}

  Process& NewProcess(std::string name);
  // Drops everything that the process was to do. The caller destroys its
  // objects first.
  static void Kill(Process& process) { process.executor->DropAll(); }

  // Runs one task, or moves the clock to the next timer but not beyond
  // `until`. False: nothing happens before `until`, where the clock is now.
  bool Step(absl::Time until);

  absl::Time now() const { return clock_.SteadyNow(); }
  core::Random& random() { return random_; }
  // Who ran how many tasks, for a failure's message.
  std::string Describe() const;

 private:
  core::FakeClock clock_;
  core::Random random_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace penstock::simulation
