// What commands that look at a worker share: the connection, errors, JSON.
#pragma once

#include "client/cli/exit_code.h"
#include "client/client.h"
#include "core/connector/connector_status.h"
#include "proto/wire/config_schema.h"

#include <absl/status/statusor.h>
#include <google/protobuf/generated_enum_reflection.h>

#include <memory>
#include <string>
#include <vector>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace penstock::client {

// Which worker to ask.
struct WorkerTarget {
  std::string target = "127.0.0.1:7070";
  bool insecure = false;
  TlsFiles tls;
};

// Errors: as Client::Connect. Blocks: never.
absl::StatusOr<std::unique_ptr<Client>> ConnectTo(const WorkerTarget& worker);

// One connector in full, or all where `name` is empty. Blocks: until it
// answered, at most the calls' own deadlines.
absl::StatusOr<std::vector<core::ConnectorStatus>> QueryConnectors(
    Client& client, const std::string& name);

// Says on stderr what went wrong and, where nobody answers, what to do.
CliExit FailToAsk(const absl::Status& status, const WorkerTarget& worker);

// How a pipeline file would write an enum's value: `exactly_once`.
template <typename Enum>
std::string ShortName(Enum value) {
  const auto* const found =
      google::protobuf::GetEnumDescriptor<Enum>()->FindValueByNumber(value);
  return found == nullptr ? std::to_string(static_cast<int>(value))
                          : wire::ShortEnumName(*found);
}

// Field names as in the proto. `pretty`: over several lines.
std::string JsonOf(const google::protobuf::Message& message, bool pretty);

}  // namespace penstock::client
