#include "client/cli/inspect_commands.h"

#include "client/cli/await.h"
#include "client/client.h"
#include "client/pipeline_file.h"
#include "core/base/filesystem.h"
#include "core/base/notification.h"
#include "core/connector/state_machine.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/penstock/v1/watch.pb.h"
#include "proto/wire/connector_status.h"
#include "proto/wire/spec.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <google/protobuf/util/json_util.h>

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

namespace penstock::client {
namespace {

// How long a signal waits for the event that is being printed.
constexpr absl::Duration kLastEventMax = absl::Seconds(2);

CliExit Fail(const absl::Status& status, const WorkerTarget& worker) {
  std::cerr << "asking the worker at " << worker.target << ": "
            << status.message();
  if (CliExitOf(status) == CliExit::kUnreachable) {
    std::cerr << "; is it running there?";
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

absl::StatusOr<std::unique_ptr<Client>> Connect(const WorkerTarget& worker) {
  ClientOptions options;
  options.channel.insecure = worker.insecure;
  return Client::Connect(worker.target, options);
}

void PrintTable(const std::vector<core::ConnectorStatus>& statuses) {
  std::cout << absl::StrFormat("%-24s %-16s %-10s %10s %10s %10s %10s %12s\n",
                               "CONNECTOR", "PIPELINE", "STATE", "MADE",
                               "RELEASED", "COMPLETED", "CHECKPT", "QUEUED");
  for (const core::ConnectorStatus& status : statuses) {
    std::cout << absl::StrFormat(
        "%-24s %-16s %-10s %10d %10d %10d %10d %12d\n", status.name,
        status.pipeline, std::string(core::StateName(status.state)),
        status.made_steps, status.released_steps, status.completed_steps,
        status.checkpointed_steps, status.queued.records);
  }
}

absl::StatusOr<v1::WatchRequest> RequestOf(
    const std::vector<std::string>& connectors,
    const std::vector<std::string>& kinds) {
  v1::WatchRequest request;
  for (const std::string& name : connectors) request.add_connectors(name);
  for (const std::string& kind : kinds) {
    v1::WatchKind value = v1::WATCH_KIND_UNSPECIFIED;
    if (!v1::WatchKind_Parse(
            absl::StrCat("WATCH_KIND_", absl::AsciiStrToUpper(kind)), &value)) {
      std::string known;
      const auto* descriptor = v1::WatchKind_descriptor();
      for (int i = 1; i < descriptor->value_count(); ++i) {
        absl::StrAppend(
            &known, i > 1 ? ", " : "",
            absl::AsciiStrToLower(descriptor->value(i)->name().substr(11)));
      }
      return absl::InvalidArgumentError(absl::StrCat(
          "reading --kind `", kind, "`: no such kind; one of ", known));
    }
    request.add_kinds(value);
  }
  return request;
}

}  // namespace

CliExit RunValidate(const std::string& pipeline_file) {
  const auto pipeline =
      LoadPipelineFile(core::PosixFileSystem(), pipeline_file);
  if (!pipeline.ok()) {
    std::cerr << pipeline.status().message() << "\n";
    return CliExit::kUsage;
  }
  std::cout << pipeline_file << ": OK, pipeline '" << pipeline->name
            << "' with " << pipeline->connectors.size() << " connector(s)\n";
  for (const core::ConnectorSpec& spec : pipeline->connectors) {
    std::cout << "  " << spec.name << ": "
              << (spec.source == nullptr ? "-" : spec.source->type()) << " -> "
              << (spec.sink == nullptr ? "-" : spec.sink->type()) << ", "
              << spec.shards << " shard(s), " << core::LevelName(spec.level)
              << ", at most " << (spec.limits.memory_max >> 20)
              << " MiB of memory\n";
  }
  return CliExit::kOk;
}

CliExit RunConnectors(const WorkerTarget& worker, const std::string& name,
                      const std::string& format) {
  auto client = Connect(worker);
  if (!client.ok()) return Fail(client.status(), worker);
  core::Control& control = (*client)->control();
  std::vector<core::ConnectorStatus> statuses;
  if (name.empty()) {
    auto listed = Await<std::vector<core::ConnectorStatus>>(
        [&](auto reply) { control.List(std::move(reply)); });
    if (!listed.ok()) return Fail(listed.status(), worker);
    statuses = *std::move(listed);
  } else {
    auto status = Await<core::ConnectorStatus>(
        [&](auto reply) { control.Get(name, std::move(reply)); });
    if (!status.ok()) return Fail(status.status(), worker);
    statuses.push_back(*std::move(status));
  }
  if (format == "json" || !name.empty()) {
    for (const core::ConnectorStatus& status : statuses) {
      std::cout << JsonOf(wire::ConnectorToProto(status), format != "json")
                << std::endl;
    }
  } else {
    PrintTable(statuses);
  }
  return CliExit::kOk;
}

CliExit RunWatch(const WorkerTarget& worker,
                 const std::vector<std::string>& connectors,
                 const std::vector<std::string>& kinds, uint64_t events_max) {
  const auto request = RequestOf(connectors, kinds);
  if (!request.ok()) {
    std::cerr << request.status().message() << "\n";
    return CliExit::kUsage;
  }
  auto client = Connect(worker);
  if (!client.ok()) return Fail(client.status(), worker);
  core::Notification ended;
  absl::Status outcome;
  uint64_t events = 0;
  const auto watch = (*client)->StartWatch(
      *request,
      [&](const v1::WatchEvent& event) {
        if (events_max > 0 && events == events_max) return;
        std::cout << JsonOf(event, /*pretty=*/false) << std::endl;
        if (++events == events_max) kill(getpid(), SIGTERM);
      },
      [&](absl::Status status) {
        outcome = std::move(status);
        ended.Notify();
      });
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  const timespec tick{.tv_sec = 0, .tv_nsec = 100'000'000};
  while (!ended.HasBeenNotified()) {
    if (sigtimedwait(&signals, nullptr, &tick) > 0) {
      watch->Cancel();
      if (ended.WaitForNotificationWithTimeout(kLastEventMax)) {
        return CliExit::kOk;
      }
      // Nobody reads what is printed: the stream cannot be waited for.
      _exit(static_cast<int>(CliExit::kInterrupted));
    }
  }
  return Fail(outcome, worker);
}

}  // namespace penstock::client
