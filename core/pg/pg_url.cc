#include "core/pg/pg_url.h"

#include "core/base/error.h"
#include "core/base/secret_text.h"
#include "core/base/status_macros.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_replace.h>

#include <string>
#include <vector>

namespace penstock::core {
namespace {

// Stands for a reference while the text around it is looked at.
constexpr absl::string_view kPlaceholder = "penstock0reference";

bool IsUrl(absl::string_view text) {
  return absl::StartsWith(text, "postgresql://") ||
         absl::StartsWith(text, "postgres://");
}

std::string EscapeInUrl(absl::string_view value) {
  std::string escaped;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte)) {
      escaped.push_back(c);
    } else {
      absl::StrAppendFormat(&escaped, "%%%02X", byte);
    }
  }
  return escaped;
}

// Within quotes as well as without.
std::string EscapeInPairs(absl::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == '\'' ||
        absl::ascii_isspace(static_cast<unsigned char>(c))) {
      escaped.push_back('\\');
    }
    escaped.push_back(c);
  }
  return escaped;
}

}  // namespace

absl::Status CheckPgUrl(absl::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<SecretPart> parts, ParseSecretText(text));
  if (parts.size() == 1 && parts[0].kind != SecretPart::Kind::kLiteral) {
    return absl::OkStatus();
  }
  std::string shape;
  for (const SecretPart& part : parts) {
    const bool literal = part.kind == SecretPart::Kind::kLiteral;
    // A zero is no part of any reference's surroundings that matters below.
    absl::StrAppend(&shape,
                    literal ? absl::string_view(part.text) : kPlaceholder);
  }
  // A port may be a reference, too.
  ASSIGN_OR_RETURN(
      const Conninfo conninfo,
      Conninfo::Parse(shape, parts.size() > 1 ? Conninfo::Ports::kAny
                                              : Conninfo::Ports::kNumbers));
  for (const std::string& secret : conninfo.secrets()) {
    if (secret == kPlaceholder) continue;
    return MakeError(Reason::INVALID_CONFIG,
                     "postgresql: the connection string has a password in "
                     "plain text, which would be stored and shown; write a "
                     "reference in its place: ${env:NAME} or ${file:/path}");
  }
  return absl::OkStatus();
}

absl::StatusOr<Conninfo> ResolvePgUrl(absl::string_view text, FileSystem& files,
                                      const PathPolicy& paths) {
  RETURN_IF_ERROR(CheckPgUrl(text));
  ASSIGN_OR_RETURN(const std::vector<SecretPart> parts, ParseSecretText(text));
  std::string resolved;
  for (const SecretPart& part : parts) {
    ASSIGN_OR_RETURN(const std::string value,
                     ResolveSecretPart(part, files, paths));
    const bool as_it_stands =
        parts.size() == 1 || part.kind == SecretPart::Kind::kLiteral;
    absl::StrAppend(&resolved, as_it_stands  ? value
                               : IsUrl(text) ? EscapeInUrl(value)
                                             : EscapeInPairs(value));
  }
  return Conninfo::Parse(resolved);
}

}  // namespace penstock::core
