#include "client/cli/inspect_commands.h"

#include "client/client.h"
#include "core/base/notification.h"
#include "core/connector/state_machine.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/penstock/v1/watch.pb.h"
#include "proto/wire/connector_status.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

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

CliExit RunConnectors(const WorkerTarget& worker, const std::string& name,
                      const std::string& format) {
  auto client = ConnectTo(worker);
  if (!client.ok()) return FailToAsk(client.status(), worker);
  const auto statuses = QueryConnectors(**client, name);
  if (!statuses.ok()) return FailToAsk(statuses.status(), worker);
  if (format == "json" || !name.empty()) {
    for (const core::ConnectorStatus& status : *statuses) {
      std::cout << JsonOf(wire::ConnectorToProto(status), format != "json")
                << std::endl;
    }
  } else {
    PrintTable(*statuses);
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
  auto client = ConnectTo(worker);
  if (!client.ok()) return FailToAsk(client.status(), worker);
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
  return FailToAsk(outcome, worker);
}

}  // namespace penstock::client
