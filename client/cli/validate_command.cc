#include "client/cli/validate_command.h"

#include "client/cli/asked_worker.h"
#include "client/cli/text_table.h"
#include "client/pipeline_file.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/wire/spec.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>

#include <iostream>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

std::string Json(absl::string_view text) {
  std::string json;
  core::AppendJsonString(text, json);
  return json;
}

// What a connector is, in one line.
std::string Summary(const core::ConnectorSpec& spec) {
  return absl::StrCat(spec.source == nullptr ? "-" : spec.source->type(),
                      " -> ", spec.sink == nullptr ? "-" : spec.sink->type(),
                      ", ", spec.shards, " shard(s), ",
                      core::LevelName(spec.level), ", at most ",
                      spec.limits.memory_max >> 20, " MiB of memory");
}

// The workers that are asked, each connected to once.
class Workers {
 public:
  Workers(const ValidateOptions& options, const PipelineFile& pipeline)
      : options_(options), pipeline_(pipeline) {}

  absl::StatusOr<v1::ValidateConnectorResponse> Ask(size_t connector) {
    std::vector<std::string> targets = {options_.worker.target};
    if (targets.front().empty() && !pipeline_.workers.empty()) {
      targets = pipeline_.workers[pipeline_.placement[connector]].addresses;
    }
    absl::StatusOr<v1::ValidateConnectorResponse> response =
        core::MakeError(core::Reason::UNAVAILABLE, "no address");
    // The first one that answers.
    for (const std::string& target : targets) {
      response = AskOne(target, connector);
      if (CliExitOf(response.status()) != CliExit::kUnreachable) break;
    }
    return response;
  }
  // Whom the last question went to.
  const WorkerTarget& last() const { return last_; }

 private:
  absl::StatusOr<v1::ValidateConnectorResponse> AskOne(
      const std::string& address, size_t connector) {
    last_ = options_.worker;
    last_.target = address;
    if (!last_.tls.enabled()) last_.tls = pipeline_.tls;
    std::unique_ptr<AskedWorker>& worker = asked_[address];
    if (worker == nullptr) {
      ASSIGN_OR_RETURN(worker, AskedWorker::Find(last_));
    }
    v1::ValidateConnectorRequest request;
    *request.mutable_spec() =
        wire::SpecToProto(pipeline_.connectors[connector]);
    request.set_probe(options_.probe);
    return worker->client().ValidateConnector(request);
  }

  const ValidateOptions& options_;
  const PipelineFile& pipeline_;
  std::map<std::string, std::unique_ptr<AskedWorker>> asked_;
  WorkerTarget last_;
};

void PrintFindings(const core::ConnectorSpec& spec,
                   const v1::ValidateConnectorResponse& response) {
  std::cout << "  " << spec.name << ": " << Summary(spec) << "\n";
  TextTable table({"PHASE", "OF", "OUTCOME", "REASON", "MESSAGE"});
  for (const v1::ValidationFinding& finding : response.findings()) {
    table.Add({ShortName(finding.phase()),
               finding.target() == v1::CONNECTOR_TYPE_KIND_UNSPECIFIED
                   ? "whole"
                   : ShortName(finding.target()),
               ShortName(finding.outcome()), finding.reason(),
               finding.message()});
  }
  std::cout << table.ToString();
  if (!response.level_reason().empty()) {
    std::cout << "  level " << ShortName(response.level()) << ": "
              << response.level_reason() << "\n";
  }
}

// Whether something outside could not be reached, the more urgent code.
CliExit ExitOf(const v1::ValidateConnectorResponse& response) {
  CliExit exit = CliExit::kOk;
  for (const v1::ValidationFinding& finding : response.findings()) {
    if (finding.outcome() != v1::VALIDATION_OUTCOME_FAILED) continue;
    const auto reason = core::ParseReason(finding.reason());
    const bool unreachable =
        reason == core::Reason::UNAVAILABLE || reason == core::Reason::DEADLINE;
    if (unreachable) return CliExit::kUnreachable;
    exit = CliExit::kUsage;
  }
  return exit;
}

CliExit Probe(const ValidateOptions& options, const PipelineFile& pipeline) {
  Workers workers(options, pipeline);
  CliExit exit = CliExit::kOk;
  for (size_t i = 0; i < pipeline.connectors.size(); ++i) {
    const core::ConnectorSpec& spec = pipeline.connectors[i];
    const auto response = workers.Ask(i);
    if (!response.ok()) return FailToAsk(response.status(), workers.last());
    if (options.format == "json") {
      std::cout << "{\"connector\":" << Json(spec.name)
                << ",\"result\":" << JsonOf(*response, /*pretty=*/false) << "}"
                << std::endl;
    } else {
      PrintFindings(spec, *response);
    }
    const CliExit one = ExitOf(*response);
    if (exit != CliExit::kUnreachable && one != CliExit::kOk) exit = one;
  }
  return exit;
}

}  // namespace

CliExit RunValidate(const ValidateOptions& options) {
  const auto pipeline =
      LoadPipelineFile(core::PosixFileSystem(), options.pipeline_file);
  if (!pipeline.ok()) {
    std::cerr << pipeline.status().message() << "\n";
    return CliExit::kUsage;
  }
  const bool as_json = options.format == "json";
  if (!as_json) {
    std::cout << options.pipeline_file << ": OK, pipeline '" << pipeline->name
              << "' with " << pipeline->connectors.size() << " connector(s)\n";
  }
  if (options.probe || !options.worker.target.empty()) {
    return Probe(options, *pipeline);
  }
  for (const core::ConnectorSpec& spec : pipeline->connectors) {
    if (as_json) {
      std::cout << "{\"connector\":" << Json(spec.name) << ",\"spec\":"
                << JsonOf(wire::SpecToProto(spec), /*pretty=*/false) << "}\n";
    } else {
      std::cout << "  " << spec.name << ": " << Summary(spec) << "\n";
    }
  }
  std::cout << std::flush;
  return CliExit::kOk;
}

}  // namespace penstock::client
