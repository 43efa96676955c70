// Text with references to secrets: `${env:NAME}` and `${file:/path}`.
#pragma once

#include "core/base/filesystem.h"
#include "core/base/path_policy.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>
#include <vector>

namespace penstock::core {

// A piece of such a text. A plain value.
struct SecretPart {
  enum class Kind { kLiteral, kEnvironment, kFile };
  Kind kind = Kind::kLiteral;
  // The text itself, a variable's name or a path.
  std::string text;
  friend bool operator==(const SecretPart&, const SecretPart&) = default;
};

// Cuts `text` up. "$" and "{" by themselves are literal.
// Errors: INVALID_CONFIG: a "${" that begins no reference. Quotes nothing.
absl::StatusOr<std::vector<SecretPart>> ParseSecretText(absl::string_view text);

// What `part` stands for; of a file its bytes without one newline at the end.
// Errors: INVALID_CONFIG: the variable is not set, or the file is longer than
// 64 KiB; PATH_NOT_ALLOWED; those of FileSystem.
absl::StatusOr<std::string> ResolveSecretPart(const SecretPart& part,
                                              FileSystem& files,
                                              const PathPolicy& paths);

}  // namespace penstock::core
