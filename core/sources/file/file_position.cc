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

absl::StatusOr<uint64_t> ReadOffset(const ResumeValue& value) {
  ASSIGN_OR_RETURN(const uint64_t offset, value.Uint64());
  if (offset > kOffsetMax) return value.Invalid("is above 2^63-1");
  return offset;
}

absl::StatusOr<FileFingerprint> ParseFingerprint(const ResumeValue& value) {
  FileFingerprint fingerprint;
  RETURN_IF_ERROR(CheckMembers(value, {"nuls", "bytes", "xxh3"}));
  if (value["nuls"].HasValue()) {
    ASSIGN_OR_RETURN(fingerprint.nuls, ReadOffset(value["nuls"]));
  }
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

absl::StatusOr<FileFingerprint> ReadFingerprint(Content& content,
                                                uint64_t bytes) {
  std::array<char, FileFingerprint::kBytesMax> beginning;
  const std::span<char> out = std::span<char>(beginning).first(
      static_cast<size_t>(std::min(bytes, FileFingerprint::kBytesMax)));
  FileFingerprint fingerprint;
  ASSIGN_OR_RETURN(size_t got, content.Peek(0, out));
  if (got > 0 && beginning[0] == '\0') {
    ASSIGN_OR_RETURN(fingerprint.nuls, content.CountNuls());
    ASSIGN_OR_RETURN(got, content.Peek(fingerprint.nuls, out));
  }
  fingerprint.bytes = got;
  fingerprint.hash = Checksum64({beginning.data(), got});
  return fingerprint;
}

absl::StatusOr<bool> HasBeginning(Content& content,
                                  const FileFingerprint& fingerprint) {
  std::array<char, FileFingerprint::kBytesMax + 1> beginning;
  // With the last NUL byte, if there is one.
  const size_t nul = fingerprint.nuls > 0 ? 1 : 0;
  const std::span<char> out = std::span<char>(beginning).first(
      static_cast<size_t>(fingerprint.bytes) + nul);
  ASSIGN_OR_RETURN(const size_t got, content.Peek(fingerprint.nuls - nul, out));
  if (got < out.size() || (nul > 0 && beginning[0] != '\0')) return false;
  return Checksum64({beginning.data() + nul, got - nul}) == fingerprint.hash;
}

std::string FilePosition::ToJson() const {
  std::string json = "{";
  AppendMembers(json);
  json += '}';
  return json;
}

void FilePosition::AppendMembers(std::string& json) const {
  json += "\"path\":";
  AppendJsonString(path, json);
  json += ",\"fingerprint\":{";
  if (fingerprint.nuls > 0) {
    absl::StrAppend(&json, "\"nuls\":", fingerprint.nuls, ",");
  }
  absl::StrAppend(&json, "\"bytes\":", fingerprint.bytes, ",\"xxh3\":\"",
                  Hex64(fingerprint.hash), "\"},\"length\":", length,
                  ",\"start\":", start, ",\"end\":", end,
                  ",\"records\":", records, ",\"lines\":", lines);
  if (is_unfinished) json += ",\"unfinished\":true";
}

absl::StatusOr<FilePosition> FilePosition::Parse(absl::string_view json) {
  ASSIGN_OR_RETURN(const ResumeInfo info, ParseResumeInfo(json));
  return FromValue(info.root(), {});
}

absl::StatusOr<FilePosition> FilePosition::FromValue(
    const ResumeValue& value, const std::set<std::string>& others) {
  std::set<std::string> known = {"path", "fingerprint", "length", "start",
                                 "end",  "records",     "lines",  "unfinished"};
  known.insert(others.begin(), others.end());
  RETURN_IF_ERROR(CheckMembers(value, known));
  FilePosition position;
  ASSIGN_OR_RETURN(position.path, value["path"].String());
  ASSIGN_OR_RETURN(position.fingerprint,
                   ParseFingerprint(value["fingerprint"]));
  ASSIGN_OR_RETURN(position.length, ReadOffset(value["length"]));
  ASSIGN_OR_RETURN(position.start, ReadOffset(value["start"]));
  ASSIGN_OR_RETURN(position.end, ReadOffset(value["end"]));
  ASSIGN_OR_RETURN(position.records, ReadOffset(value["records"]));
  ASSIGN_OR_RETURN(position.lines, ReadOffset(value["lines"]));
  if (value["unfinished"].HasValue()) {
    ASSIGN_OR_RETURN(position.is_unfinished, value["unfinished"].Bool());
  }
  if (position.end < position.start) {
    return value["end"].Invalid("is below start");
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
  ASSIGN_OR_RETURN(const bool is_same,
                   HasBeginning(content, position.fingerprint));
  if (is_same) return absl::OkStatus();
  ASSIGN_OR_RETURN(const FileFingerprint found,
                   ReadFingerprint(content, position.fingerprint.bytes));
  return Expired(position,
                 absl::StrCat("its first ", position.fingerprint.bytes,
                              " bytes had the fingerprint ",
                              Hex64(position.fingerprint.hash), " and have ",
                              Hex64(found.hash), " now (", found.bytes,
                              " bytes): it was rewritten or replaced"));
}

}  // namespace penstock::core
