#include "core/registry/schema_registry.h"

#include "core/base/error.h"
#include "core/base/secret_text.h"
#include "core/base/status_macros.h"
#include "core/format/avro/avro_schema.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>
#include <simdjson.h>

#include <string_view>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

absl::StatusOr<std::string> ResolveText(const std::string& text,
                                        const Environment& environment) {
  ASSIGN_OR_RETURN(const std::vector<SecretPart> parts, ParseSecretText(text));
  std::string resolved;
  for (const SecretPart& part : parts) {
    ASSIGN_OR_RETURN(
        const std::string one,
        ResolveSecretPart(part, environment.files, environment.paths));
    resolved += one;
  }
  if (resolved.find_first_of("\r\n") != std::string::npos) {
    return MakeError(Reason::INVALID_CONFIG,
                     "a secret of the schema registry has a line end in it");
  }
  return resolved;
}

// The text of a member; empty if there is none.
absl::string_view TextOf(const simdjson::dom::object& of,
                         std::string_view name) {
  std::string_view text;
  if (of[name].get_string().get(text) != simdjson::SUCCESS) return "";
  return {text.data(), text.size()};
}

}  // namespace

absl::StatusOr<std::unique_ptr<SchemaSource>> SchemaRegistry::Make(
    const SchemaRegistryConfig& config, const Environment& environment) {
  HttpRequest request{
      .url = std::string(absl::StripSuffix(config.url, "/")),
      .accept = "application/vnd.schemaregistry.v1+json, application/json",
      .username = config.username,
      .timeout = config.timeout,
      // The schema is text in JSON: escaped it is longer.
      .body_bytes_max = 4 * AvroSchema::kTextBytesMax};
  ASSIGN_OR_RETURN(request.password, ResolveText(config.password, environment));
  ASSIGN_OR_RETURN(request.bearer_token,
                   ResolveText(config.bearer_token, environment));
  if (!config.ca_file.empty()) {
    RETURN_IF_ERROR(environment.paths.Check(environment.files, config.ca_file));
    request.ca_file = config.ca_file;
  }
  return std::make_unique<SchemaRegistry>(std::move(request));
}

absl::StatusOr<std::string> SchemaRegistry::Fetch(uint32_t id,
                                                  const std::stop_token& stop) {
  HttpRequest request = request_;
  absl::StrAppend(&request.url, "/schemas/ids/", id);
  const absl::StatusOr<HttpResponse> response = HttpGet(request, stop);
  if (HasReason(response.status(), Reason::INVALID_CONFIG)) {
    // It says nothing of the schema: messages wait for a better URL.
    return MakeError(Reason::UNAVAILABLE, response.status().message());
  }
  if (!response.ok()) return response.status();
  return ReadRegistryAnswer(id, response->status, response->body);
}

absl::StatusOr<std::string> ReadRegistryAnswer(uint32_t id, int status,
                                               absl::string_view body) {
  const std::string what = absl::StrCat("get schema ", id, ": ");
  simdjson::dom::parser parser;
  simdjson::dom::object answer;
  const bool is_object =
      parser.parse(body.data(), body.size()).get_object().get(answer) ==
      simdjson::SUCCESS;
  if (status == 401 || status == 403) {
    return MakeError(Reason::UNAUTHENTICATED,
                     absl::StrCat(what, "the registry does not let us in (",
                                  status, "); look at its user and password"));
  }
  if (status == 404) {
    // Also what is no registry answers so, but not in its words.
    uint64_t code = 0;
    const bool is_known =
        is_object &&
        answer["error_code"].get_uint64().get(code) == simdjson::SUCCESS &&
        code == 40403;
    if (is_known) {
      return MakeError(
          Reason::NOT_FOUND,
          absl::StrCat("it has none of this number; register it there, or, if "
                       "the message is damaged, read on behind it: another "
                       "connector name with `start: OFFSETS`"));
    }
    return MakeError(Reason::UNAVAILABLE,
                     absl::StrCat(what,
                                  "404, as no registry answers for a "
                                  "schema it has not; look at `url`"));
  }
  if (status != 200) {
    return MakeError(Reason::UNAVAILABLE,
                     absl::StrCat(what, "the registry answers ", status, " ",
                                  is_object ? TextOf(answer, "message") : ""));
  }
  const absl::string_view schema = is_object ? TextOf(answer, "schema") : "";
  if (schema.empty()) {
    return MakeError(
        Reason::UNAVAILABLE,
        absl::StrCat(what, "the answer has no `schema`; look at `url`"));
  }
  const absl::string_view type = TextOf(answer, "schemaType");
  if (!type.empty() && type != "AVRO") {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("schema ", id, " is of type ", type, ", must be AVRO"));
  }
  return std::string(schema);
}

}  // namespace penstock::core
