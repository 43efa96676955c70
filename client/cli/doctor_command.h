// The command `penstock doctor`.
#pragma once

#include "client/cli/exit_code.h"
#include "client/cli/worker_query.h"
#include "core/connector/connector_status.h"

#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <string>
#include <vector>

namespace penstock::client {

struct DoctorOptions {
  // With one, its workers and its store are looked at. Empty: only `worker`.
  std::string pipeline_file;
  WorkerTarget worker;
  std::string format = "table";
};

// One thing that was looked at.
struct Diagnosis {
  enum class Outcome { kGood, kDoubtful, kBad };
  // What, in a word or two.
  std::string what;
  Outcome outcome = Outcome::kGood;
  // What was seen.
  std::string seen;
  // What to do; empty if it is good.
  std::string remedy;
};

// How far two clocks may be apart before it is doubtful, and bad: leases, TLS
// and the times in logs are by the clock; data is not.
Diagnosis DiagnoseClock(absl::Duration worker_ahead, absl::Duration round_trip);

// Whether it works, and if not, why and where to look: FAILED and what needs
// another configuration is bad, what tries again or does not move is doubtful.
Diagnosis DiagnoseConnector(const core::ConnectorStatus& status);

// What to do where nobody answers, by what gRPC and TLS say of it: something
// else may listen there, or speak another way.
std::string RemedyOfSilence(absl::string_view said);

// Looks at what a pipeline needs around it, and says what to do: the file, the
// store, and of each worker whether it can be reached, by what, its version,
// its clock, its memory, and the health of the connectors there (with a file:
// its own). Changes nothing. Exit codes: 0 all is good (or
// doubtful), 4 a worker cannot be reached, 1 something else is bad.
CliExit RunDoctor(const DoctorOptions& options);

}  // namespace penstock::client
