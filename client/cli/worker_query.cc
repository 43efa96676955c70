#include "client/cli/worker_query.h"

#include "client/cli/await.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <google/protobuf/util/json_util.h>

#include <iostream>
#include <utility>

namespace penstock::client {

absl::StatusOr<std::unique_ptr<Client>> ConnectTo(const WorkerTarget& worker) {
  ClientOptions options;
  options.channel.insecure = worker.insecure;
  options.channel.tls = worker.tls;
  return Client::Connect(worker.target, options);
}

absl::StatusOr<std::vector<core::ConnectorStatus>> QueryConnectors(
    Client& client, const std::string& name) {
  core::Control& control = client.control();
  std::vector<std::string> names = {name};
  if (name.empty()) {
    ASSIGN_OR_RETURN(const std::vector<core::ConnectorStatus> listed,
                     Await<std::vector<core::ConnectorStatus>>(
                         [&](auto reply) { control.List(std::move(reply)); }));
    names.clear();
    for (const core::ConnectorStatus& status : listed) {
      names.push_back(status.name);
    }
  }
  std::vector<core::ConnectorStatus> statuses;
  for (const std::string& each : names) {
    absl::StatusOr<core::ConnectorStatus> status = Await<core::ConnectorStatus>(
        [&](auto reply) { control.Get(each, std::move(reply)); });
    // One that went away since it was listed is not missed.
    if (name.empty() &&
        core::HasReason(status.status(), core::Reason::NO_SUCH_CONNECTOR)) {
      continue;
    }
    RETURN_IF_ERROR(status.status());
    statuses.push_back(*std::move(status));
  }
  return statuses;
}

CliExit FailToAsk(const absl::Status& status, const WorkerTarget& worker) {
  std::cerr << "asking the worker at " << worker.target << ": "
            << status.message();
  if (CliExitOf(status) == CliExit::kUnreachable) {
    std::cerr << "; is it running there? `penstock doctor --worker "
              << worker.target << "` looks closer";
  }
  std::cerr << "\n";
  return CliExitOf(status);
}

std::string JsonOf(const google::protobuf::Message& message, bool pretty) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = pretty;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  return status.ok() ? json : std::string(status.message());
}

}  // namespace penstock::client
