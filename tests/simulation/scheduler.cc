#include "tests/simulation/scheduler.h"

#include <algorithm>
#include <utility>

namespace penstock::simulation {

Process& Scheduler::NewProcess(std::string name) {
  auto process = std::make_unique<Process>();
  process->name = std::move(name);
  process->executor = std::make_unique<core::ManualExecutor>(clock_);
  process->executor->SetPick(
      [this](size_t ready) { return random_.Uniform(ready); });
  processes_.push_back(std::move(process));
  return *processes_.back();
}

bool Scheduler::Step(absl::Time until) {
  ++steps_;
  std::vector<Process*> ready;
  absl::Time next = absl::InfiniteFuture();
  for (const auto& process : processes_) {
    if (process->frozen) continue;
    if (process->executor->ready_count() > 0) ready.push_back(process.get());
    next = std::min(next, process->executor->NextTimer());
  }
  if (!ready.empty()) {
    ready[random_.Uniform(ready.size())]->executor->RunOne();
    return true;
  }
  const absl::Time to = std::min(next, until);
  if (to > clock_.SteadyNow()) clock_.Advance(to - clock_.SteadyNow());
  return next <= until;
}

}  // namespace penstock::simulation
