// Where a source stands in a file, and which file that is.
#pragma once

#include "core/sources/file/content.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>

namespace penstock::core {

// Knows a file by the beginning of its content: also under another name, on
// another host, and grown.
struct FileFingerprint {
  static constexpr uint64_t kBytesMax = 4096;

  // How many bytes were looked at: kBytesMax, or all there were, or had been
  // read by then.
  uint64_t bytes = 0;
  // XXH3-64 over them.
  uint64_t hash = 0;

  friend bool operator==(const FileFingerprint&,
                         const FileFingerprint&) = default;
};

// Over the first `bytes` bytes; over fewer if there are fewer.
// Errors: those of the file.
absl::StatusOr<FileFingerprint> ReadFingerprint(Content& content,
                                                uint64_t bytes);

// The seek JSON of the source, version 1:
//   {"path":"/a.log","fingerprint":{"bytes":4096,"xxh3":"00...0f"},
//    "length":9,"start":0,"end":5,"records":2,"lines":2}
// without white space, in this order. All are exact 64-bit integers.
struct FilePosition {
  // As configured. For people: the fingerprint decides which file it is.
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

  std::string ToJson() const;
  // Errors: MALFORMED_FRAME, naming the member that is missing, wrong or
  // unknown: a position with more in it means something that this version does
  // not know.
  static absl::StatusOr<FilePosition> Parse(absl::string_view json);

  friend bool operator==(const FilePosition&, const FilePosition&) = default;
};

// Whether `content` is the one that `position` was taken in, and still has all
// up to its end; it may have grown. Errors: POSITION_EXPIRED, saying what was
// expected and what was found; those of the file.
absl::Status CheckPosition(Content& content, const FilePosition& position);

}  // namespace penstock::core
