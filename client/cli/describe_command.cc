#include "client/cli/describe_command.h"

#include "client/cli/asked_worker.h"
#include "client/cli/text_table.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "proto/penstock/v1/connector.pb.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <google/protobuf/descriptor.h>

#include <iostream>
#include <memory>
#include <vector>

namespace penstock::client {
namespace {

constexpr size_t kWidth = 80;

// A level that depends on the configuration is unspecified.
std::string LevelText(const v1::ConnectorType& type) {
  return type.level_max() == v1::DELIVERY_LEVEL_UNSPECIFIED
             ? "depends"
             : ShortName(type.level_max());
}

void PrintTypes(const v1::ListConnectorTypesResponse& response) {
  TextTable table({"TYPE", "LEVEL", "WHAT IT IS"});
  for (const v1::ConnectorType& type : response.types()) {
    table.Add({absl::StrCat(ShortName(type.kind()), ".", type.name()),
               LevelText(type), type.summary()});
  }
  std::cout << table.ToString()
            << "\nOne of them, with its fields: penstock describe TYPE\n";
}

void PrintType(const v1::DescribeConnectorTypeResponse& response) {
  std::cout << ShortName(response.type().kind()) << "."
            << response.type().name() << ": " << response.type().summary()
            << "\n"
            << "level: " << LevelText(response.type())
            << "; can: " << absl::StrJoin(response.capabilities(), ", ")
            << "; message: " << response.config_message() << "\n";
  for (const v1::ConfigField& field : response.fields()) {
    std::cout << "\n" << field.name() << " (" << TypeText(field.type());
    if (field.required()) std::cout << ", required";
    if (field.secret()) std::cout << ", secret";
    std::cout << "; change: " << ChangeText(field.change()) << ")\n"
              << Wrapped(field.description(), kWidth, 4);
  }
}

// The type that `name` means among those there are.
absl::StatusOr<v1::ConnectorType> Choose(
    const v1::ListConnectorTypesResponse& listed, const std::string& name) {
  std::vector<const v1::ConnectorType*> found;
  std::vector<std::string> known;
  for (const v1::ConnectorType& type : listed.types()) {
    const std::string full =
        absl::StrCat(ShortName(type.kind()), ".", type.name());
    known.push_back(full);
    if (full == name || type.name() == name) found.push_back(&type);
  }
  if (found.size() == 1) return *found.front();
  if (!found.empty()) {
    known.clear();
    for (const v1::ConnectorType* type : found) {
      known.push_back(absl::StrCat(ShortName(type->kind()), ".", type->name()));
    }
  }
  return core::MakeError(
      core::Reason::INVALID_CONFIG,
      absl::StrCat("'", name, "' ",
                   found.empty() ? "is no type" : "is of several kinds",
                   "; there are: ", absl::StrJoin(known, ", ")));
}

absl::Status Describe(const DescribeOptions& options, Client& client) {
  ASSIGN_OR_RETURN(const v1::ListConnectorTypesResponse listed,
                   client.ListConnectorTypes());
  const bool as_json = options.format == "json";
  if (options.type.empty()) {
    if (as_json) {
      std::cout << JsonOf(listed, /*pretty=*/false) << std::endl;
    } else {
      PrintTypes(listed);
    }
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const v1::ConnectorType type, Choose(listed, options.type));
  v1::DescribeConnectorTypeRequest request;
  request.set_kind(type.kind());
  request.set_name(type.name());
  ASSIGN_OR_RETURN(const v1::DescribeConnectorTypeResponse response,
                   client.DescribeConnectorType(request));
  if (options.format == "schema") {
    std::cout << response.config_schema();
  } else if (as_json) {
    std::cout << JsonOf(response, /*pretty=*/false) << std::endl;
  } else {
    PrintType(response);
  }
  return absl::OkStatus();
}

}  // namespace

std::string TypeText(const std::string& type) {
  const auto* const pool = google::protobuf::DescriptorPool::generated_pool();
  if (const auto* values = pool->FindEnumTypeByName(type)) {
    std::vector<std::string> names;
    // The first one stands for none of them.
    for (int i = 1; i < values->value_count(); ++i) {
      names.push_back(wire::ShortEnumName(*values->value(i)));
    }
    return absl::StrCat("one of ", absl::StrJoin(names, ", "));
  }
  if (type == "google.protobuf.Duration") return "duration, such as 100ms";
  if (pool->FindMessageTypeByName(type) != nullptr) return "mapping";
  if (type == "string") return "text";
  if (type == "bool") return "boolean";
  if (type == "double" || type == "float") return "number";
  if (absl::StrContains(type, "int")) return "integer";
  return type;
}

std::string ChangeText(v1::ChangeClass change) {
  switch (change) {
    case v1::CHANGE_CLASS_REPLAY_SAFE:
      return "at once";
    case v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT:
      return "clean checkpoint";
    case v1::CHANGE_CLASS_NEEDS_RESET:
      return "never";
    default:
      return ShortName(change);
  }
}

CliExit RunDescribe(const DescribeOptions& options) {
  const auto worker = AskedWorker::Find(options.worker);
  if (!worker.ok()) return FailToAsk(worker.status(), options.worker);
  const absl::Status outcome = Describe(options, (*worker)->client());
  if (core::HasReason(outcome, core::Reason::INVALID_CONFIG)) {
    std::cerr << "penstock describe: " << outcome.message() << "\n";
    return CliExit::kUsage;
  }
  return outcome.ok() ? CliExit::kOk : FailToAsk(outcome, options.worker);
}

}  // namespace penstock::client
