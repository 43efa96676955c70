#include "core/format/schemas/registry_config.h"

#include "core/base/error.h"
#include "core/base/loopback.h"
#include "core/base/secret_text.h"

#include <absl/status/statusor.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

absl::Status Bad(absl::string_view path, absl::string_view field,
                 absl::string_view problem) {
  const std::string name = absl::StrCat(path, ".", field);
  return MakeError(Reason::INVALID_CONFIG, absl::StrCat(name, ": ", problem),
                   {{"field", name}});
}

// Of "host:8081/path" or "[::1]:8081".
absl::string_view HostOf(absl::string_view rest) {
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (absl::StartsWith(rest, "[")) return rest.substr(0, rest.find(']') + 1);
  return rest.substr(0, rest.find(':'));
}

// Of the same: whether what is behind the host is a port, or nothing.
bool HasGoodPort(absl::string_view rest) {
  const absl::string_view host = HostOf(rest);
  rest = rest.substr(host.size());
  rest = rest.substr(0, rest.find('/'));
  if (rest.empty()) return true;
  uint32_t port = 0;
  return absl::ConsumePrefix(&rest, ":") && absl::SimpleAtoi(rest, &port) &&
         port >= 1 && port <= 65'535;
}

// Nothing of it may stand in the configuration itself. It quotes nothing.
absl::Status CheckSecret(absl::string_view path, absl::string_view field,
                         const std::string& text) {
  const absl::StatusOr<std::vector<SecretPart>> parts = ParseSecretText(text);
  if (!parts.ok()) return Bad(path, field, parts.status().message());
  const bool is_plain =
      std::any_of(parts->begin(), parts->end(), [](const SecretPart& part) {
        return part.kind == SecretPart::Kind::kLiteral;
      });
  if (!is_plain) return absl::OkStatus();
  return Bad(path, field,
             "is in plain text; give ${env:NAME} or ${file:/path}");
}

}  // namespace

absl::Status CheckSchemaRegistry(const SchemaRegistryConfig& config,
                                 absl::string_view path) {
  absl::string_view rest = config.url;
  const bool is_tls = absl::ConsumePrefix(&rest, "https://");
  if (!is_tls && !absl::ConsumePrefix(&rest, "http://")) {
    return Bad(path, "url", "must begin with http:// or https://");
  }
  const absl::string_view host = HostOf(rest);
  if (host.empty() || rest.find_first_of(" \r\n\t@?#") != rest.npos) {
    return Bad(path, "url",
               "is no host, port and path; user and password have fields of "
               "their own");
  }
  if (!HasGoodPort(rest)) {
    return Bad(path, "url", "has a port that is none of 1 to 65535");
  }
  if (config.username.empty() != config.password.empty()) {
    return Bad(path, "password", "and username: give both or none");
  }
  if (config.username.find(':') != std::string::npos) {
    return Bad(path, "username", "has a colon, which none may have");
  }
  if (!config.username.empty() && !config.bearer_token.empty()) {
    return Bad(path, "bearer_token", "and username: give one of them");
  }
  for (const auto& [field, text] :
       {std::pair("password", &config.password),
        std::pair("bearer_token", &config.bearer_token)}) {
    if (absl::Status checked = CheckSecret(path, field, *text); !checked.ok()) {
      return checked;
    }
  }
  const bool has_secret =
      !config.password.empty() || !config.bearer_token.empty();
  if (has_secret && !is_tls && !IsLoopbackHost(host)) {
    return Bad(path, "url",
               "is plain http, which would show the password on its way; use "
               "https");
  }
  if (config.bad_schema_ids.size() > SchemaRegistryConfig::kBadSchemaIdsMax) {
    return Bad(
        path, "bad_schema_ids",
        absl::StrCat("has more than ", SchemaRegistryConfig::kBadSchemaIdsMax,
                     " numbers; read on behind so much damage: another "
                     "connector name with `start: OFFSETS`"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::core
