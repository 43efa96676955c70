// A connection string as a configuration holds it: with references to secrets.
#pragma once

#include "core/base/filesystem.h"
#include "core/base/path_policy.h"
#include "core/pg/conninfo.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

namespace penstock::core {

// INVALID_CONFIG, quoting nothing: `text` is no connection string, or a secret
// stands in it as plain text, where it would be stored and shown (INV-10).
absl::Status CheckPgUrl(absl::string_view text);

// Resolves the references. One that is the whole text is taken as it stands;
// one within it is escaped as its place needs.
// Errors: as CheckPgUrl, ResolveSecretPart and Conninfo::Parse.
absl::StatusOr<Conninfo> ResolvePgUrl(absl::string_view text, FileSystem& files,
                                      const PathPolicy& paths);

}  // namespace penstock::core
