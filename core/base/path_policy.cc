#include "core/base/path_policy.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace penstock::core {
namespace {

absl::Status NotAllowed(absl::string_view path, absl::string_view resolved,
                        absl::string_view why,
                        const std::vector<std::string>& roots) {
  return MakeError(
      Reason::PATH_NOT_ALLOWED,
      absl::StrCat("open ", path, ": it ", why, "; allowed is what lies below ",
                   absl::StrJoin(roots, ", "),
                   ": use a path there, or start the worker with another "
                   "--allow-path"),
      {{"path", std::string(path)}, {"resolved", std::string(resolved)}});
}

bool IsBelow(absl::string_view path, absl::string_view root) {
  if (!absl::ConsumePrefix(&path, root)) return false;
  return path.empty() || path.front() == '/' || root == "/";
}

// Whether `directory` has an entry `name`, be it a link that leads nowhere.
absl::StatusOr<bool> HasEntry(FileSystem& fs, absl::string_view directory,
                              absl::string_view name) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(directory));
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A path without links. nullopt: it cannot be told where it leads.
absl::StatusOr<std::optional<std::string>> Resolve(FileSystem& fs,
                                                   absl::string_view path) {
  // The names of `path` that do not exist, from the last to the first.
  std::vector<absl::string_view> missing;
  absl::string_view prefix = path;
  while (true) {
    absl::StatusOr<std::string> real = fs.RealPath(prefix);
    if (real.ok()) {
      if (!missing.empty()) {
        ASSIGN_OR_RETURN(const bool dangling,
                         HasEntry(fs, *real, missing.back()));
        if (dangling) return std::nullopt;
      }
      std::string resolved = *std::move(real);
      for (auto name = missing.rbegin(); name != missing.rend(); ++name) {
        resolved = JoinPath(resolved, *name);
      }
      return resolved;
    }
    if (!HasReason(real.status(), Reason::NOT_FOUND)) return real.status();
    const absl::string_view name = BaseNameOf(prefix);
    const absl::string_view parent = DirectoryOf(prefix);
    if (name == ".." || parent == prefix) return std::nullopt;
    if (name != ".") missing.push_back(name);
    prefix = parent;
  }
}

}  // namespace

PathPolicy::PathPolicy(std::vector<std::string> roots)
    : roots_(std::move(roots)) {}

absl::Status PathPolicy::Check(FileSystem& fs, absl::string_view path) const {
  if (path.empty()) {
    return MakeError(Reason::INVALID_CONFIG, "the path is empty");
  }
  if (path.find('\0') != absl::string_view::npos) {
    return MakeError(Reason::INVALID_CONFIG, "the path has a NUL byte in it");
  }
  if (roots_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<std::string> resolved, Resolve(fs, path),
                   _ << "while resolving " << path);
  if (!resolved.has_value()) {
    return NotAllowed(path, "", "cannot be resolved", roots_);
  }
  for (const std::string& root : roots_) {
    // A root that does not exist allows nothing that exists, but a sink may
    // still make it.
    ASSIGN_OR_RETURN(const std::optional<std::string> real_root,
                     Resolve(fs, root), _ << "while resolving root " << root);
    if (real_root.has_value() && IsBelow(*resolved, *real_root)) {
      return absl::OkStatus();
    }
  }
  return NotAllowed(path, *resolved, absl::StrCat("is ", *resolved), roots_);
}

}  // namespace penstock::core
