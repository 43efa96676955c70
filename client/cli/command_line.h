// The options and subcommands of `penstock`.
#pragma once

#include "client/cli/conformance_command.h"
#include "client/cli/describe_command.h"
#include "client/cli/doctor_command.h"
#include "client/cli/hand_commands.h"
#include "client/cli/infer_command.h"
#include "client/cli/inspect_commands.h"
#include "client/cli/report_commands.h"
#include "client/cli/run_command.h"
#include "client/cli/validate_command.h"
#include "client/cli/verify_command.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace penstock::client {

// Everything that can be said on the command line.
struct CommandLine {
  RunOptions run;
  VerifyOptions verify;
  InferCommandOptions infer;
  ValidateOptions validate;
  DescribeOptions describe;
  ReportOptions report;
  DoctorOptions doctor;
  WorkerTarget worker;
  std::string connector;
  std::string connectors_format = "table";
  std::string log_level;
  std::vector<std::string> watch_connectors;
  std::vector<std::string> watch_kinds;
  uint64_t watch_events_max = 0;
  HandOptions hand;
  DrainOptions drain;
  std::string completion_shell;
  ConformanceOptions conformance;
};

// The verb of a subcommand by which a person works the gates.
std::optional<HandVerb> HandVerbOf(const CLI::App& cli);

// For CLI::App::failure_message: what was not understood comes before what is
// missing, for mostly it stands in its place.
std::string UsageError(const CLI::App* cli, const CLI::Error& error);

// Declares all subcommands; parsing fills `line`, which outlives `cli`.
void AddCommands(CLI::App& cli, CommandLine& line);

}  // namespace penstock::client
