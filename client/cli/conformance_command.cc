#include "client/cli/conformance_command.h"

#include "client/channel.h"
#include "client/conformance/suite.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/json_text.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using conformance::AllConformanceChecks;
using conformance::CheckOutcome;
using conformance::ConformanceCheck;
using conformance::InputText;
using conformance::LineFault;
using conformance::RunConformance;
using conformance::Subject;

// A directory with the input of the checks.
// Lifecycle: what it made itself it removes.
class Workplace {
 public:
  static absl::StatusOr<std::unique_ptr<Workplace>> Make(
      const std::string& given, const std::string& run) {
    const char* const tmp = std::getenv("TMPDIR");
    std::string path = given.empty()
                           ? absl::StrCat(tmp == nullptr ? "/tmp" : tmp,
                                          "/penstock-conformance-", run)
                           : given;
    core::FileSystem& files = core::PosixFileSystem();
    RETURN_IF_ERROR(files.CreateDirectories(path));
    auto workplace = std::unique_ptr<Workplace>(
        new Workplace(std::move(path), given.empty()));
    RETURN_IF_ERROR(core::WriteFileDurably(
        files, workplace->path() + "/input.ndjson", InputText()));
    return workplace;
  }
  ~Workplace() {
    if (!is_ours_) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  const std::string& path() const { return path_; }

 private:
  Workplace(std::string path, bool is_ours)
      : path_(std::move(path)), is_ours_(is_ours) {}

  const std::string path_;
  const bool is_ours_;
};

std::string Json(absl::string_view text) {
  std::string json;
  core::AppendJsonString(text, json);
  return json;
}

void Print(const CheckOutcome& outcome, bool as_json) {
  const double seconds = absl::ToDoubleSeconds(outcome.took);
  if (as_json) {
    std::cout << "{\"check\":" << Json(outcome.check->name)
              << ",\"faults\":" << Json(LineFaultName(outcome.fault))
              << ",\"promise\":" << Json(outcome.check->promise)
              << ",\"kept\":" << (outcome.status.ok() ? "true" : "false")
              << ",\"seconds\":" << absl::StrFormat("%.3f", seconds)
              << ",\"found\":" << Json(outcome.status.message()) << "}"
              << std::endl;
    return;
  }
  std::cout << absl::StrFormat(
      "%-7s %-22s %-6s %s (%.2f s)\n", outcome.status.ok() ? "kept" : "BROKEN",
      outcome.check->name, LineFaultName(outcome.fault), outcome.check->promise,
      seconds);
  if (!outcome.status.ok()) {
    std::cout << "        " << outcome.status.message() << "\n";
  }
  std::cout << std::flush;
}

void List(bool as_json) {
  for (const ConformanceCheck* check : AllConformanceChecks()) {
    if (as_json) {
      std::cout << "{\"check\":" << Json(check->name)
                << ",\"promise\":" << Json(check->promise) << "}\n";
    } else {
      std::cout << absl::StrFormat("%-22s %s\n", check->name, check->promise);
    }
  }
}

std::vector<LineFault> FaultsOf(const ConformanceOptions& options) {
  const auto all = conformance::AllLineFaults();
  const auto one = conformance::ParseLineFault(options.faults);
  if (one.has_value()) return {*one};
  return {all.begin(), all.end()};
}

absl::Status RunShell(const std::string& command) {
  const int code = std::system(command.c_str());
  if (code == 0) return absl::OkStatus();
  return core::MakeError(core::Reason::INVALID_CONFIG,
                         absl::StrCat("killing the server by `", command,
                                      "`: it ended with ", code),
                         {{"field", "--kill"}});
}

absl::StatusOr<CliExit> TryRun(const ConformanceOptions& options) {
  core::Random random(core::SeededFromEntropy());
  const std::string run = core::RandomId(random).substr(0, 12);
  ASSIGN_OR_RETURN(const auto workplace,
                   Workplace::Make(options.directory, run));
  ChannelOptions channel_options;
  channel_options.insecure = options.insecure;
  channel_options.tls = options.tls;
  ASSIGN_OR_RETURN(const auto channel,
                   MakeChannel(options.target, channel_options));
  Subject::Place place{.directory = workplace->path(), .run = run, .kill = {}};
  if (!options.kill_command.empty()) {
    place.kill = [&options] { return RunShell(options.kill_command); };
  }
  Subject subject(channel, std::move(place));
  const bool as_json = options.format == "json";
  size_t broken = 0;
  const auto outcomes = RunConformance(subject, options.only, FaultsOf(options),
                                       [&](const CheckOutcome& outcome) {
                                         if (!outcome.status.ok()) ++broken;
                                         Print(outcome, as_json);
                                       });
  if (outcomes.empty()) {
    return core::MakeError(core::Reason::INVALID_CONFIG,
                           absl::StrCat("reading --only `", options.only,
                                        "`: no check has that in its name; "
                                        "--list shows them"),
                           {{"field", "--only"}});
  }
  if (as_json) {
    std::cout << "{\"checks\":" << outcomes.size() << ",\"broken\":" << broken
              << "}" << std::endl;
  } else {
    std::cout << outcomes.size() << " checks, " << broken << " broken\n";
  }
  return broken == 0 ? CliExit::kOk : CliExit::kVerifyFailed;
}

}  // namespace

CliExit RunConformanceSuite(const ConformanceOptions& options) {
  if (options.list) {
    List(options.format == "json");
    return CliExit::kOk;
  }
  const absl::StatusOr<CliExit> exit = TryRun(options);
  if (exit.ok()) return *exit;
  std::cerr << exit.status().message() << "\n";
  return CliExitOf(exit.status());
}

}  // namespace penstock::client
