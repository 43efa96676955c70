#include "core/format/ndjson/key_path.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/ndjson/json_token.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <utility>

namespace penstock::core {

absl::StatusOr<KeyPath> KeyPath::Parse(absl::string_view text) {
  std::vector<std::string> names = absl::StrSplit(text, '.');
  if (std::any_of(names.begin(), names.end(),
                  [](const std::string& name) { return name.empty(); })) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("key \"", text,
                     "\" has an empty member name; write names separated by "
                     "single dots, as in user.id"),
        {{"field", "key"}});
  }
  return KeyPath(std::move(names));
}

absl::StatusOr<std::optional<KeyPath>> KeyPath::ParseIfAny(
    const std::optional<std::string>& text) {
  if (!text.has_value()) return std::optional<KeyPath>();
  ASSIGN_OR_RETURN(KeyPath key, Parse(*text));
  return std::optional<KeyPath>(std::move(key));
}

bool KeyPath::UnescapedIs(absl::string_view raw, absl::string_view name) {
  return HasBackslash(raw) && JsonUnescape(raw) == name;
}

}  // namespace penstock::core
