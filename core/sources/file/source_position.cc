#include "core/sources/file/source_position.h"

#include "core/base/checksum.h"
#include "core/base/status_macros.h"
#include "core/contract/parse_resume_info.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <limits>
#include <optional>
#include <utility>

namespace penstock::core {
namespace {

constexpr uint64_t kVersion = 2;
constexpr uint64_t kChangeVersion = 3;

absl::StatusOr<uint32_t> ReadId(const ResumeValue& value) {
  ASSIGN_OR_RETURN(const uint64_t id, value.Uint64());
  if (id > std::numeric_limits<uint32_t>::max()) {
    return value.Invalid("is above 2^32-1");
  }
  return static_cast<uint32_t>(id);
}

absl::StatusOr<uint64_t> ReadDigest(const ResumeValue& value) {
  ASSIGN_OR_RETURN(const std::string text, value.String());
  const std::optional<uint64_t> digest = ParseHex64(text);
  if (!digest.has_value()) return value.Invalid("is not 16 hex digits");
  return *digest;
}

absl::StatusOr<SourcePosition> ParseOne(const ResumeValue& root) {
  SourcePosition position{.next_id = 1};
  ASSIGN_OR_RETURN(FilePosition file, FilePosition::FromValue(root, {}));
  position.files.push_back(std::move(file));
  return position;
}

absl::Status ParseFiles(const ResumeValue& value, SourcePosition& position) {
  ASSIGN_OR_RETURN(const auto files, value.Elements());
  position.files.reserve(files.size());
  for (const ResumeValue& from : files) {
    ASSIGN_OR_RETURN(const uint32_t id, ReadId(from["id"]));
    if (id >= position.next_id) return from["id"].Invalid("is not below next");
    if (!position.files.empty() && id <= position.files.back().id) {
      return from["id"].Invalid("is not above the one before");
    }
    ASSIGN_OR_RETURN(FilePosition file, FilePosition::FromValue(from, {"id"}));
    file.id = id;
    position.files.push_back(std::move(file));
  }
  return absl::OkStatus();
}

absl::Status ParseGone(const ResumeValue& value, SourcePosition& position) {
  ASSIGN_OR_RETURN(const auto gone, value.Elements());
  for (const ResumeValue& from : gone) {
    ASSIGN_OR_RETURN(const uint32_t id, ReadId(from));
    if (!position.gone.empty() && id <= position.gone.back()) {
      return from.Invalid("is not above the one before");
    }
    position.gone.push_back(id);
  }
  return absl::OkStatus();
}

}  // namespace

std::string SourcePosition::ToJson() const {
  std::string json =
      absl::StrCat("{\"version\":", is_change ? kChangeVersion : kVersion,
                   ",\"next\":", next_id);
  if (is_change) absl::StrAppend(&json, ",\"before\":\"", Hex64(before), "\"");
  json += is_change ? ",\"read\":[" : ",\"files\":[";
  for (const FilePosition& file : files) {
    if (&file != &files.front()) json += ',';
    absl::StrAppend(&json, "{\"id\":", file.id, ",");
    file.AppendMembers(json);
    json += '}';
  }
  if (is_change) {
    absl::StrAppend(&json, "],\"gone\":[", absl::StrJoin(gone, ","));
  }
  json += "]}";
  return json;
}

absl::StatusOr<SourcePosition> SourcePosition::Parse(absl::string_view json) {
  ASSIGN_OR_RETURN(const ResumeInfo info, ParseResumeInfo(json));
  const ResumeValue root = info.root();
  if (!root["version"].HasValue()) return ParseOne(root);
  ASSIGN_OR_RETURN(const uint64_t version, root["version"].Uint64());
  if (version != kVersion && version != kChangeVersion) {
    return root["version"].Invalid("is of a newer program");
  }
  SourcePosition position{.is_change = version == kChangeVersion};
  ASSIGN_OR_RETURN(position.next_id, ReadId(root["next"]));
  if (!position.is_change) {
    RETURN_IF_ERROR(CheckMembers(root, {"version", "next", "files"}));
    RETURN_IF_ERROR(ParseFiles(root["files"], position));
    return position;
  }
  RETURN_IF_ERROR(
      CheckMembers(root, {"version", "next", "before", "read", "gone"}));
  ASSIGN_OR_RETURN(position.before, ReadDigest(root["before"]));
  RETURN_IF_ERROR(ParseFiles(root["read"], position));
  RETURN_IF_ERROR(ParseGone(root["gone"], position));
  return position;
}

}  // namespace penstock::core
