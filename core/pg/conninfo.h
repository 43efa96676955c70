// Connection strings: checked before use, and what in them is secret.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// A connection string, `postgresql://…` or `key=value …`, that libpq can read.
// A plain value; what it does not say comes from libpq's environment
// variables, service and password files.
class Conninfo {
 public:
  // Errors: INVALID_CONFIG, which quotes nothing of `text`: wrongly quoted
  // text may have its password anywhere.
  static absl::StatusOr<Conninfo> Parse(absl::string_view text) {
    return Parse(text, Ports::kNumbers);
  }
  // kAny: for text whose port is not known yet.
  enum class Ports { kNumbers, kAny };
  static absl::StatusOr<Conninfo> Parse(absl::string_view text, Ports ports);

  const std::string& text() const { return text_; }
  // What the string says, or empty.
  std::string Get(absl::string_view keyword) const;
  // The passwords that the string says.
  const std::vector<std::string>& secrets() const { return secrets_; }
  // `message` with every secret of the string blotted out (INV-10).
  std::string Redact(absl::string_view message) const;

 private:
  std::string text_;
  std::vector<std::pair<std::string, std::string>> values_;
  std::vector<std::string> secrets_;
};

}  // namespace penstock::core
