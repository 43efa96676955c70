#include "client/cli/worker_query.h"

#include "client/cli/await.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <iostream>
#include <memory>
#include <utility>

namespace penstock::client {
namespace {

constexpr char kUrlPrefix[] = "type.googleapis.com";

// Knows the details of a status by the names of the originals, whose shapes
// status.proto has. A detail of a type that is not known here is shown as if it
// were empty: its name is there, and all that stands around it.
//
// Owner: a scope.
class DetailResolver final : public google::protobuf::util::TypeResolver {
 public:
  google::protobuf::util::Status ResolveMessageType(
      const std::string& type_url, google::protobuf::Type* type) override {
    const std::string url =
        absl::StrReplaceAll(type_url, {{"/google.rpc.", "/penstock.v1."}});
    if (known_->ResolveMessageType(url, type).ok()) return {};
    return known_->ResolveMessageType(
        absl::StrCat(kUrlPrefix, "/google.protobuf.Empty"), type);
  }
  google::protobuf::util::Status ResolveEnumType(
      const std::string& type_url, google::protobuf::Enum* type) override {
    return known_->ResolveEnumType(type_url, type);
  }

 private:
  const std::unique_ptr<google::protobuf::util::TypeResolver> known_{
      google::protobuf::util::NewTypeResolverForDescriptorPool(
          kUrlPrefix, google::protobuf::DescriptorPool::generated_pool())};
};

}  // namespace

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
  DetailResolver resolver;
  std::string json;
  const auto status = google::protobuf::util::BinaryToJsonString(
      &resolver,
      absl::StrCat(kUrlPrefix, "/", message.GetDescriptor()->full_name()),
      message.SerializeAsString(), &json, options);
  return status.ok() ? json : std::string(status.message());
}

}  // namespace penstock::client
