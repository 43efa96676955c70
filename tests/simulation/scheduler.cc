#include "tests/simulation/scheduler.h"

#include <absl/strings/str_cat.h>

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
  std::vector<Process*> ready;
  absl::Time next = absl::InfiniteFuture();
  for (const auto& process : processes_) {
    if (process->frozen) continue;
    if (process->executor->ready_count() > 0) ready.push_back(process.get());
    next = std::min(next, process->executor->NextTimer());
  }
  if (!ready.empty()) {
    Process& chosen = *ready[random_.Uniform(ready.size())];
    ++chosen.tasks_run;
    chosen.executor->RunOne();
    return true;
  }
  const absl::Time to = std::min(next, until);
  if (to > clock_.SteadyNow()) clock_.Advance(to - clock_.SteadyNow());
  return next <= until;
}

std::string Scheduler::Describe() const {
  std::string text = absl::StrCat("at ", absl::FormatTime(clock_.SteadyNow()));
  for (const auto& process : processes_) {
    if (process->tasks_run == 0) continue;
    absl::StrAppend(&text, ", ", process->name, " ", process->tasks_run);
  }
  return text;
}

}  // namespace penstock::simulation
