#include "client/conformance/suite.h"

#include "core/base/clock.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

namespace penstock::conformance {

absl::Status Expect(bool holds, absl::string_view what) {
  if (holds) return absl::OkStatus();
  return absl::FailedPreconditionError(what);
}

absl::Status ExpectRefused(const absl::Status& status, core::Reason reason,
                           absl::string_view what) {
  if (core::HasReason(status, reason)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what, ": expected ", core::ReasonName(reason), ", got ",
                   status.ok() ? "success" : core::ErrorText(status)));
}

std::vector<const ConformanceCheck*> AllConformanceChecks() {
  std::vector<const ConformanceCheck*> all;
  for (const auto checks :
       {FenceChecks(), StepChecks(), ReplayChecks(), CheckpointChecks(),
        SessionChecks(), WatchChecks(), StateChecks(), KillChecks()}) {
    for (const ConformanceCheck& check : checks) all.push_back(&check);
  }
  return all;
}

std::vector<CheckOutcome> RunConformance(
    Subject& subject, absl::string_view filter,
    const std::vector<LineFault>& faults,
    const std::function<void(const CheckOutcome&)>& on_outcome) {
  const core::Clock& clock = core::RealClock();
  std::vector<CheckOutcome> outcomes;
  for (const LineFault fault : faults) {
    for (const ConformanceCheck* check : AllConformanceChecks()) {
      if (!absl::StrContains(check->name, filter)) continue;
      if (check->kills && (fault != LineFault::kNone || !subject.may_kill())) {
        continue;
      }
      subject.SetLine(fault, outcomes.size());
      const absl::Time begin = clock.SteadyNow();
      CheckOutcome outcome{
          .check = check, .fault = fault, .status = check->run(subject)};
      outcome.took = clock.SteadyNow() - begin;
      on_outcome(outcome);
      outcomes.push_back(std::move(outcome));
    }
  }
  return outcomes;
}

}  // namespace penstock::conformance
