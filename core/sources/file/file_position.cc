#include "core/sources/file/file_position.h"

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"
#include "core/contract/parse_resume_info.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace penstock::core {
namespace {

// Offsets of records are signed.
constexpr uint64_t kOffsetMax = std::numeric_limits<int64_t>::max();

absl::Status CheckMembers(const ResumeValue& object,
                          const std::set<std::string>& known) {
  ASSIGN_OR_RETURN(const auto members, object.Members());
  for (const auto& [name, value] : members) {
    if (!known.contains(name)) {
      return value.Invalid("is unknown to this version");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> ReadOffset(const ResumeValue& value) {
  ASSIGN_OR_RETURN(const uint64_t offset, value.Uint64());
  if (offset > kOffsetMax) return value.Invalid("is above 2^63-1");
  return offset;
}

absl::StatusOr<FileFingerprint> ParseFingerprint(const ResumeValue& value) {
  FileFingerprint fingerprint;
  RETURN_IF_ERROR(CheckMembers(value, {"bytes", "xxh3"}));
  ASSIGN_OR_RETURN(fingerprint.bytes, value["bytes"].Uint64());
  if (fingerprint.bytes > FileFingerprint::kBytesMax) {
    return value["bytes"].Invalid(
        absl::StrCat("is above ", FileFingerprint::kBytesMax));
  }
  ASSIGN_OR_RETURN(const std::string text, value["xxh3"].String());
  const std::optional<uint64_t> hash = ParseHex64(text);
  if (!hash.has_value()) return value["xxh3"].Invalid("is not 16 hex digits");
  fingerprint.hash = *hash;
  return fingerprint;
}

absl::Status Expired(const FilePosition& position, absl::string_view problem) {
  return MakeError(
      Reason::POSITION_EXPIRED,
      absl::StrCat("go on in ", position.path, " at byte ", position.end, ": ",
                   problem,
                   "; put the file back as it was, or start anew: another "
                   "connector name, another directory for its sink"),
      {{"path", position.path}, {"position", absl::StrCat(position.end)}});
}

}  // namespace

absl::StatusOr<FileFingerprint> ReadFingerprint(Content& content,
                                                uint64_t bytes) {
  std::array<char, FileFingerprint::kBytesMax> beginning;
  const uint64_t wanted = std::min(bytes, FileFingerprint::kBytesMax);
  ASSIGN_OR_RETURN(const size_t got,
                   content.ReadBeginning(std::span<char>(beginning).first(
                       static_cast<size_t>(wanted))));
  return FileFingerprint{.bytes = got,
                         .hash = Checksum64({beginning.data(), got})};
}

std::string FilePosition::ToJson() const {
  std::string json = "{\"path\":";
  AppendJsonString(path, json);
  absl::StrAppend(
      &json, ",\"fingerprint\":{\"bytes\":", fingerprint.bytes, ",\"xxh3\":\"",
      Hex64(fingerprint.hash), "\"},\"length\":", length, ",\"start\":", start,
      ",\"end\":", end, ",\"records\":", records, ",\"lines\":", lines, "}");
  return json;
}

absl::StatusOr<FilePosition> FilePosition::Parse(absl::string_view json) {
  ASSIGN_OR_RETURN(const ResumeInfo info, ParseResumeInfo(json));
  const ResumeValue root = info.root();
  RETURN_IF_ERROR(CheckMembers(root, {"path", "fingerprint", "length", "start",
                                      "end", "records", "lines"}));
  FilePosition position;
  ASSIGN_OR_RETURN(position.path, root["path"].String());
  ASSIGN_OR_RETURN(position.fingerprint, ParseFingerprint(root["fingerprint"]));
  ASSIGN_OR_RETURN(position.length, ReadOffset(root["length"]));
  ASSIGN_OR_RETURN(position.start, ReadOffset(root["start"]));
  ASSIGN_OR_RETURN(position.end, ReadOffset(root["end"]));
  ASSIGN_OR_RETURN(position.records, ReadOffset(root["records"]));
  ASSIGN_OR_RETURN(position.lines, ReadOffset(root["lines"]));
  if (position.end < position.start) {
    return root["end"].Invalid("is below start");
  }
  return position;
}

absl::Status CheckPosition(Content& content, const FilePosition& position) {
  ASSIGN_OR_RETURN(const uint64_t size, content.SizeUpTo(position.end));
  if (size < position.end) {
    return Expired(
        position,
        absl::StrCat("the file had ", std::max(position.length, position.end),
                     " bytes and has ", size,
                     " now: it was cut off or replaced"));
  }
  ASSIGN_OR_RETURN(const FileFingerprint found,
                   ReadFingerprint(content, position.fingerprint.bytes));
  if (found != position.fingerprint) {
    return Expired(position,
                   absl::StrCat("its first ", position.fingerprint.bytes,
                                " bytes had the fingerprint ",
                                Hex64(position.fingerprint.hash), " and have ",
                                Hex64(found.hash), " now (", found.bytes,
                                " bytes): it was rewritten or replaced"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::core
