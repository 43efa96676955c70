#include "core/registry/schema_registry.h"

#include "core/base/error.h"
#include "core/base/secret_text.h"
#include "core/base/status_macros.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>
#include <simdjson.h>

#include <algorithm>
#include <set>
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

// As one piece of a path.
std::string EscapeUrl(absl::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
        c == '_' || c == '~') {
      escaped += c;
    } else {
      absl::StrAppend(
          &escaped, "%",
          absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return escaped;
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
      .body_bytes_max = 4 * kSchemaTextBytesMax};
  ASSIGN_OR_RETURN(request.password, ResolveText(config.password, environment));
  ASSIGN_OR_RETURN(request.bearer_token,
                   ResolveText(config.bearer_token, environment));
  if (!config.ca_file.empty()) {
    RETURN_IF_ERROR(environment.paths.Check(environment.files, config.ca_file));
    request.ca_file = config.ca_file;
  }
  return std::make_unique<SchemaRegistry>(std::move(request));
}

// Those of a schema, some of which are still being got.
struct SchemaRegistry::Task {
  RegisteredSchema schema;
  size_t bytes = 0;
  std::set<SchemaReference> done;
  // From the schema down to the one being got.
  std::vector<SchemaReference> open;

  absl::Status Count(const std::string& text) {
    bytes += text.size();
    if (bytes <= kSchemaTextBytesMax) return absl::OkStatus();
    return MakeError(Reason::UNAVAILABLE,
                     absl::StrCat("the schema and what it refers to have more "
                                  "than ",
                                  kSchemaTextBytesMax, " bytes"));
  }
};

absl::StatusOr<RegistryAnswer> SchemaRegistry::Get(
    const std::string& path, const std::string& what,
    const std::stop_token& stop) const {
  HttpRequest request = request_;
  request.url += path;
  const absl::StatusOr<HttpResponse> response = HttpGet(request, stop);
  if (HasReason(response.status(), Reason::INVALID_CONFIG)) {
    // It says nothing of the schema: messages wait for a better URL.
    return MakeError(Reason::UNAVAILABLE, response.status().message());
  }
  if (!response.ok()) return response.status();
  return ReadRegistryAnswer(what, response->status, response->body);
}

absl::StatusOr<RegisteredSchema> SchemaRegistry::Fetch(
    uint32_t id, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(RegistryAnswer answer,
                   Get(absl::StrCat("/schemas/ids/", id),
                       absl::StrCat("schema ", id), stop));
  Task task;
  task.schema.text = std::move(answer.text);
  task.schema.type = std::move(answer.type);
  RETURN_IF_ERROR(task.Count(task.schema.text));
  RETURN_IF_ERROR(AddReferences(answer.references, task, stop));
  return std::move(task.schema);
}

absl::Status SchemaRegistry::AddReferences(
    const std::vector<SchemaReference>& references, Task& task,
    const std::stop_token& stop) const {
  for (SchemaReference one : references) {
    // Avro knows types by the names that they have themselves.
    if (task.schema.type == "AVRO") one.name.clear();
    if (task.done.contains(one)) continue;
    const std::string what =
        absl::StrCat("version ", one.version, " of '", one.subject, "'");
    if (std::find(task.open.begin(), task.open.end(), one) != task.open.end()) {
      return MakeError(
          Reason::UNAVAILABLE,
          absl::StrCat("the schema refers to itself, by way of ", what));
    }
    if (task.open.size() + task.done.size() >= kReferencesMax) {
      return MakeError(Reason::UNAVAILABLE,
                       absl::StrCat("the schema refers to more than ",
                                    kReferencesMax, " others"));
    }
    task.open.push_back(one);
    absl::StatusOr<RegistryAnswer> answer =
        Get(absl::StrCat("/subjects/", EscapeUrl(one.subject), "/versions/",
                         one.version),
            what, stop);
    RETURN_IF_ERROR(answer.status());
    if (answer->type != task.schema.type) {
      return MakeError(
          Reason::UNAVAILABLE,
          absl::StrCat("the schema refers to ", what, ", which is of type ",
                       answer->type, ", not ", task.schema.type));
    }
    RETURN_IF_ERROR(task.Count(answer->text));
    RETURN_IF_ERROR(AddReferences(answer->references, task, stop));
    task.open.pop_back();
    task.schema.references.push_back(
        {.name = one.name, .text = std::move(answer->text)});
    task.done.insert(std::move(one));
  }
  return absl::OkStatus();
}

absl::StatusOr<RegistryAnswer> ReadRegistryAnswer(absl::string_view name,
                                                  int status,
                                                  absl::string_view body) {
  const std::string what = absl::StrCat("get ", name, ": ");
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
        // A schema, a subject, a version.
        (code == 40403 || code == 40401 || code == 40402);
    if (is_known) {
      return MakeError(
          Reason::NOT_FOUND,
          absl::StrCat("it has no ", name,
                       "; register it there, or, if "
                       "the message is damaged, add the number to "
                       "`bad_schema_ids` of the format's registry: its "
                       "messages are bad records then"));
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
  RegistryAnswer read{.text = std::string(schema)};
  const absl::string_view type = TextOf(answer, "schemaType");
  if (!type.empty()) read.type = std::string(type);
  simdjson::dom::array references;
  if (answer["references"].get_array().get(references) == simdjson::SUCCESS) {
    for (const simdjson::dom::element element : references) {
      simdjson::dom::object one;
      uint64_t version = 0;
      if (element.get_object().get(one) != simdjson::SUCCESS ||
          TextOf(one, "subject").empty() ||
          one["version"].get_uint64().get(version) != simdjson::SUCCESS) {
        return MakeError(
            Reason::UNAVAILABLE,
            absl::StrCat(what, "a reference has no subject and version"));
      }
      read.references.push_back({.name = std::string(TextOf(one, "name")),
                                 .subject = std::string(TextOf(one, "subject")),
                                 .version = version});
    }
  }
  return read;
}

}  // namespace penstock::core
