#include "core/sources/file/path_pattern.h"

#include "core/base/filesystem.h"

#include <absl/strings/str_split.h>
#include <fnmatch.h>

#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kWildcards = "*?[";

std::string Unescape(absl::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

PathPattern::Part PartOf(absl::string_view text) {
  PathPattern::Part part;
  part.has_wildcard = PathPattern::IsPattern(text);
  part.is_any_directories = text == "**";
  part.text = part.has_wildcard ? std::string(text) : Unescape(text);
  return part;
}

}  // namespace

bool PathPattern::Part::Matches(const std::string& name) const {
  if (!has_wildcard) return name == text;
  return fnmatch(text.c_str(), name.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
}

bool PathPattern::IsPattern(absl::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (kWildcards.find(text[i]) != absl::string_view::npos) {
      return true;
    }
  }
  return false;
}

PathPattern::PathPattern(absl::string_view text)
    : root_(!text.empty() && text[0] == '/' ? "/" : ".") {
  for (const absl::string_view name :
       absl::StrSplit(text, '/', absl::SkipEmpty())) {
    parts_.push_back(PartOf(name));
  }
  if (parts_.empty()) parts_.push_back({});
  size_t plain = 0;
  while (plain + 1 < parts_.size() && !parts_[plain].has_wildcard) {
    root_ = JoinPath(root_, parts_[plain++].text);
  }
  parts_.erase(parts_.begin(),
               parts_.begin() + static_cast<std::ptrdiff_t>(plain));
}

}  // namespace penstock::core
