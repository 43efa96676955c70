// Where a source stands in a file, and which file that is.
#pragma once

#include "core/contract/parse_resume_info.h"
#include "core/sources/file/content.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <set>
#include <string>

namespace penstock::core {

// Knows a file by the beginning of its content: also under another name, on
// another host, and grown.
struct FileFingerprint {
  static constexpr uint64_t kBytesMax = 4096;

  // NUL bytes that the content begins with, and that are not looked at: they
  // would be the same for all files that were cut off while being written.
  uint64_t nuls = 0;
  // How many bytes were looked at: kBytesMax, or all there were, or had been
  // read by then.
  uint64_t bytes = 0;
  // XXH3-64 over them.
  uint64_t hash = 0;

  friend bool operator==(const FileFingerprint&,
                         const FileFingerprint&) = default;
};

// Over the first `bytes` bytes behind leading NULs; over fewer if there are
// fewer.
// Errors: those of the file.
absl::StatusOr<FileFingerprint> ReadFingerprint(Content& content,
                                                uint64_t bytes);

// Whether `content` begins as `fingerprint` says. Errors: those of the file.
absl::StatusOr<bool> HasBeginning(Content& content,
                                  const FileFingerprint& fingerprint);

// The seek JSON of a source of one file, version 1 (SourcePosition has the
// others):
//   {"path":"/a.log","fingerprint":{"bytes":4096,"xxh3":"00...0f"},
//    "length":9,"start":0,"end":5,"records":2,"lines":2}
// without white space, in this order; in the fingerprint `"nuls":N,` comes
// first unless it is 0. All are exact 64-bit integers.
struct FilePosition {
  // Of the file, among those of its source; also the partition of its records.
  // Not in version 1, where it is 0.
  uint32_t id = 0;
  // Where it was last. The fingerprint decides which file it is.
  std::string path;
  FileFingerprint fingerprint;
  // Bytes of the file when it was opened; 0 if it is compressed.
  uint64_t length = 0;
  // The step's bytes: [start, end).
  uint64_t start = 0;
  uint64_t end = 0;
  // Records, good and bad, and lines before `end`.
  uint64_t records = 0;
  uint64_t lines = 0;
  // The file ended there, inside of a record, which was bad: what comes behind
  // is the rest of it. Written as `"unfinished":true`, last, and only then.
  bool is_unfinished = false;

  std::string ToJson() const;
  // All but the braces and the id.
  void AppendMembers(std::string& json) const;
  // Errors: MALFORMED_FRAME, naming the member that is missing, wrong or
  // unknown: a position with more in it means something that this version does
  // not know.
  static absl::StatusOr<FilePosition> Parse(absl::string_view json);
  // `others`: members that may be there besides, and are the caller's.
  static absl::StatusOr<FilePosition> FromValue(
      const ResumeValue& value, const std::set<std::string>& others);

  friend bool operator==(const FilePosition&, const FilePosition&) = default;
};

// Refuses what is not `known` among the members of `object`.
// Errors: MALFORMED_FRAME.
absl::Status CheckMembers(const ResumeValue& object,
                          const std::set<std::string>& known);

// Whether `content` is the one that `position` was taken in, and still has all
// up to its end; it may have grown. Errors: POSITION_EXPIRED, saying what was
// expected and what was found; those of the file.
absl::Status CheckPosition(Content& content, const FilePosition& position);

}  // namespace penstock::core
