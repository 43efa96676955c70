// Whether a server keeps the promises of the protocol: named checks, one after
// the other.
#pragma once

#include "client/conformance/checks.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <functional>
#include <string>
#include <vector>

namespace penstock::conformance {

struct CheckOutcome {
  const ConformanceCheck* check = nullptr;
  // What the line did meanwhile.
  LineFault fault = LineFault::kNone;
  // OK, or what was wrong.
  absl::Status status;
  absl::Duration took;
};

// Every check there is, in the order of the rules' first mention.
std::vector<const ConformanceCheck*> AllConformanceChecks();

// Runs those whose name contains `filter`, over a line with each of `faults` in
// turn; those that kill over a sound line only, and only where they may. Calls
// `on_outcome` after each.
// Blocks: a call of a check at most kCheckCallMax.
std::vector<CheckOutcome> RunConformance(
    Subject& subject, absl::string_view filter,
    const std::vector<LineFault>& faults,
    const std::function<void(const CheckOutcome&)>& on_outcome);

}  // namespace penstock::conformance
