#include "server/security/role.h"

#include "core/base/error.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace penstock::server {
namespace {

constexpr Role kRoles[] = {Role::kObserver, Role::kOperator, Role::kController};
constexpr absl::string_view kEverybody = "*";

struct MethodRoles {
  const char* method;
  RoleSet roles;
};

// A step's records are no observer's business. Whoever lets the worker look
// outside (ValidateConnector) makes it use its secrets, as an Open does, so
// that is for who may open.
constexpr MethodRoles kMethods[] = {
    {"/grpc.health.v1.Health/Check", RoleSet::All()},
    {"/grpc.health.v1.Health/Watch", RoleSet::All()},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
     RoleSet::All()},
    {"/penstock.v1.ConnectorService/ListConnectorTypes", RoleSet::All()},
    {"/penstock.v1.ConnectorService/DescribeConnectorType", RoleSet::All()},
    {"/penstock.v1.ConnectorService/ListConnectors", RoleSet::All()},
    {"/penstock.v1.ConnectorService/GetConnector", RoleSet::All()},
    {"/penstock.v1.ConnectorService/ValidateConnector", Role::kController},
    {"/penstock.v1.ConnectorService/OpenConnector", Role::kController},
    {"/penstock.v1.ConnectorService/UpdateConnector", Role::kController},
    {"/penstock.v1.ConnectorService/DeleteConnector", Role::kController},
    {"/penstock.v1.ConnectorService/ExecuteCommand", Role::kController},
    {"/penstock.v1.ControlService/Replay", Role::kController},
    {"/penstock.v1.ControlService/Extend", Role::kController},
    {"/penstock.v1.ControlService/Pause", Role::kController},
    {"/penstock.v1.ControlService/Queue", Role::kController},
    {"/penstock.v1.ControlService/ReadStepPart", Role::kController},
    {"/penstock.v1.ControlService/Release", Role::kController},
    {"/penstock.v1.ControlService/PrepareCheckpoint", Role::kController},
    {"/penstock.v1.ControlService/CommitCheckpoint", Role::kController},
    {"/penstock.v1.ControlService/Disconnect", Role::kController},
    {"/penstock.v1.ControlService/Session", Role::kController},
    {"/penstock.v1.ControlService/Drain", Role::kOperator},
    {"/penstock.v1.OperationsService/GetLogLevel", RoleSet::All()},
    {"/penstock.v1.OperationsService/SetLogLevel", Role::kOperator},
    {"/penstock.v1.WatchService/Watch", RoleSet::All()},
    {"/penstock.v1.WatchService/WatchCompletion", RoleSet::All()},
    {"/penstock.v1.WatchService/WatchCheckpoint", RoleSet::All()},
    {"/penstock.v1.WatchService/WatchHealth", RoleSet::All()},
};

std::optional<Role> ParseRole(absl::string_view name) {
  for (const Role role : kRoles) {
    if (name == RoleName(role)) return role;
  }
  return std::nullopt;
}

}  // namespace

absl::string_view RoleName(Role role) {
  switch (role) {
    case Role::kObserver:
      return "observer";
    case Role::kOperator:
      return "operator";
    case Role::kController:
      return "controller";
  }
  return "unknown";
}

std::string RoleSet::ToString() const {
  std::string text;
  for (const Role role : kRoles) {
    if (!Meets(role)) continue;
    absl::StrAppend(&text, text.empty() ? "" : " or ", RoleName(role));
  }
  return text.empty() ? "none" : text;
}

RoleSet RolesFor(absl::string_view method) {
  static const auto& roles = *new absl::flat_hash_map<std::string, RoleSet>([] {
    absl::flat_hash_map<std::string, RoleSet> table;
    for (const MethodRoles& each : kMethods) table[each.method] = each.roles;
    return table;
  }());
  const auto found = roles.find(method);
  return found == roles.end() ? RoleSet() : found->second;
}

absl::StatusOr<RoleGrant> ParseRoleGrant(absl::string_view text) {
  const size_t equals = text.find('=');
  if (equals != absl::string_view::npos && equals + 1 < text.size()) {
    if (const auto role = ParseRole(text.substr(0, equals))) {
      return RoleGrant{*role, std::string(text.substr(equals + 1))};
    }
  }
  return core::MakeError(
      core::Reason::INVALID_CONFIG,
      absl::StrCat("reading --role `", text,
                   "`: give observer=NAME, operator=NAME or controller=NAME, "
                   "NAME being a subject alternative name of a certificate, or "
                   "* for everybody"),
      {{"field", "role"}});
}

RoleSet RolesOf(const std::vector<RoleGrant>& grants,
                const std::vector<std::string>& names) {
  RoleSet roles;
  for (const RoleGrant& grant : grants) {
    if (grant.name == kEverybody ||
        std::find(names.begin(), names.end(), grant.name) != names.end()) {
      roles = roles | grant.role;
    }
  }
  return roles;
}

}  // namespace penstock::server
