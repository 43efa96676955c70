// Who may call what (rule 16).
// See server/security/README.md.
#pragma once

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::server {

// Neither operator nor controller includes the other: who drives pipelines need
// not be able to empty the worker, nor the other way round.
enum class Role : uint8_t {
  // Looks at everything but payloads and results. What is said of bad records
  // quotes them, though, cut down: that is part of health and errors.
  kObserver = 1,
  // What an observer may; and what concerns the worker as a whole.
  kOperator = 2,
  // What an observer may; and commands to connectors.
  kController = 4,
};

// "observer", "operator", "controller". Lifetime: static storage.
absl::string_view RoleName(Role role);

// A set of roles. A plain value.
class RoleSet {
 public:
  constexpr RoleSet() = default;
  constexpr RoleSet(Role role)  // NOLINT(google-explicit-constructor): a set
      : bits_(static_cast<uint8_t>(role)) {}  // of one
  static constexpr RoleSet All() { return RoleSet(7); }

  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool Meets(RoleSet other) const {
    return (bits_ & other.bits_) != 0;
  }
  constexpr RoleSet operator|(RoleSet other) const {
    return RoleSet(static_cast<uint8_t>(bits_ | other.bits_));
  }
  // "operator or controller".
  std::string ToString() const;
  friend bool operator==(RoleSet, RoleSet) = default;

 private:
  explicit constexpr RoleSet(uint8_t bits) : bits_(bits) {}
  uint8_t bits_ = 0;
};

// Any of the result may call `method` ("/package.Service/Method").
// Ensures: empty, so nobody may, for a method that the table does not name.
RoleSet RolesFor(absl::string_view method);

// What --role says: `ROLE=NAME`, NAME being a subject alternative name of a
// certificate, or `*`: everybody. A plain value.
struct RoleGrant {
  Role role = Role::kObserver;
  std::string name;
};
// Errors: INVALID_CONFIG.
absl::StatusOr<RoleGrant> ParseRoleGrant(absl::string_view text);

// The roles of a caller whose certificate has `names`.
RoleSet RolesOf(const std::vector<RoleGrant>& grants,
                const std::vector<std::string>& names);

}  // namespace penstock::server
