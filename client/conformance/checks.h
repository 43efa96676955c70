// The checks of the conformance suite, by what they are about.
#pragma once

#include "client/conformance/subject.h"
#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <span>

namespace penstock::conformance {

// One promise of the protocol.
struct ConformanceCheck {
  // `rule/what`, where rule is a number of the protocol's rules.
  const char* name;
  // What holds, in one line.
  const char* promise;
  // OK, or what was wrong.
  absl::Status (*run)(Subject& subject);
  // Runs only against a server that may be killed (Subject::Kill).
  bool kills = false;
};

std::span<const ConformanceCheck> FenceChecks();
std::span<const ConformanceCheck> StepChecks();
std::span<const ConformanceCheck> ReplayChecks();
std::span<const ConformanceCheck> CheckpointChecks();
std::span<const ConformanceCheck> StateChecks();
std::span<const ConformanceCheck> WatchChecks();
std::span<const ConformanceCheck> SessionChecks();
std::span<const ConformanceCheck> KillChecks();

// An error that says `what` unless `holds`.
absl::Status Expect(bool holds, absl::string_view what);
// An error unless `status` has that reason.
absl::Status ExpectRefused(const absl::Status& status, core::Reason reason,
                           absl::string_view what);

}  // namespace penstock::conformance
