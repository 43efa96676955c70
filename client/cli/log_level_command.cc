#include "client/cli/log_level_command.h"

#include "client/client.h"

#include <absl/status/statusor.h>

#include <iostream>
#include <memory>

namespace penstock::client {

CliExit RunLogLevel(const WorkerTarget& worker, const std::string& level) {
  ClientOptions options;
  options.channel.insecure = worker.insecure;
  options.channel.tls = worker.tls;
  const auto client = Client::Connect(worker.target, options);
  absl::StatusOr<std::string> answer = client.status();
  if (client.ok()) {
    answer = level.empty() ? (*client)->GetLogLevel()
                           : (*client)->SetLogLevel(level);
  }
  if (!answer.ok()) {
    std::cerr << "the log of the worker at " << worker.target << ": "
              << answer.status().message() << "\n";
    return CliExitOf(answer.status());
  }
  if (level.empty()) {
    std::cout << *answer << "\n";
  } else {
    std::cout << level << " (before: " << *answer << ")\n";
  }
  return CliExit::kOk;
}

}  // namespace penstock::client
