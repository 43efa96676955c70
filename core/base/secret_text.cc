#include "core/base/secret_text.h"

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <cstddef>
#include <optional>

namespace penstock::core {
namespace {

constexpr size_t kSecretBytesMax = size_t{64} << 10;

absl::Status Malformed() {
  return MakeError(Reason::INVALID_CONFIG,
                   "\"${\" begins a reference to a secret, which is "
                   "${env:NAME} or ${file:/path}");
}

}  // namespace

absl::StatusOr<std::vector<SecretPart>> ParseSecretText(
    absl::string_view text) {
  std::vector<SecretPart> parts;
  while (!text.empty()) {
    const size_t begin = text.find("${");
    if (begin != 0) {
      const absl::string_view literal = text.substr(0, begin);
      parts.push_back({.text = std::string(literal)});
      text.remove_prefix(literal.size());
      continue;
    }
    const size_t end = text.find('}');
    if (end == absl::string_view::npos) return Malformed();
    absl::string_view reference = text.substr(2, end - 2);
    text.remove_prefix(end + 1);
    SecretPart::Kind kind = SecretPart::Kind::kEnvironment;
    if (absl::ConsumePrefix(&reference, "file:")) {
      kind = SecretPart::Kind::kFile;
    } else if (!absl::ConsumePrefix(&reference, "env:")) {
      return Malformed();
    }
    if (reference.empty()) return Malformed();
    parts.push_back({.kind = kind, .text = std::string(reference)});
  }
  return parts;
}

absl::StatusOr<std::string> ResolveSecretPart(const SecretPart& part,
                                              FileSystem& files,
                                              const PathPolicy& paths) {
  switch (part.kind) {
    case SecretPart::Kind::kLiteral:
      return part.text;
    case SecretPart::Kind::kEnvironment: {
      std::optional<std::string> value = GetEnv(part.text);
      if (value.has_value()) return *std::move(value);
      return MakeError(
          Reason::INVALID_CONFIG,
          absl::StrCat("the environment of this process has no variable ",
                       part.text, ", to which a secret refers"));
    }
    case SecretPart::Kind::kFile:
      break;
  }
  RETURN_IF_ERROR(paths.Check(files, part.text))
  << "while reading a secret";
  ASSIGN_OR_RETURN(std::string value, files.ReadFile(part.text),
                   _ << "while reading a secret");
  if (value.size() > kSecretBytesMax) {
    return MakeError(Reason::INVALID_CONFIG,
                     absl::StrCat("a secret refers to ", part.text,
                                  ", which is longer than 64 KiB"));
  }
  if (!value.empty() && value.back() == '\n') value.pop_back();
  return value;
}

}  // namespace penstock::core
