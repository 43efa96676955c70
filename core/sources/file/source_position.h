// Where a source stands in all of its files, and what a step did to it.
#pragma once

#include "core/sources/file/file_position.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::core {

// The seek JSON of a source of many files, version 2:
//   {"version":2,"next":8,"files":[{"id":7,"path":"/a.log",...}]}
// without white space, in this order; a file's members are those of
// FilePosition behind its number. Version 1 is a bare FilePosition: file 0 of a
// source of one.
//
// A step's JSON holds all files that are known behind the step: those that it
// read from with the range, the others with an empty one. So it suffices to
// replay the step and to go on behind it.
//
// Where that would be too long for each step, a step has version 3, a change:
//   {"version":3,"next":8,"before":"9e107d9d372bb682",
//    "read":[{"id":7,"path":"/a.log",...}],"gone":[2,5]}
// only the files that it read from, and the numbers of those that are known no
// more. It is good behind the step before it, which the digest of the whole
// place before it tells, and nowhere to begin.
// See deploy/adr/2026-11-30-positions-of-many-files.md.
struct SourcePosition {
  // Ascending by id.
  std::vector<FilePosition> files;
  // Above all numbers that were ever given to a file.
  uint32_t next_id = 0;
  // All other files that are known stay as they are, but for those `gone`.
  bool is_change = false;
  // Ascending. None of `files`.
  std::vector<uint32_t> gone;
  // Of a change: FlushedPlaces::digest() just before it.
  uint64_t before = 0;

  std::string ToJson() const;
  // Errors: MALFORMED_FRAME, as FilePosition::Parse.
  static absl::StatusOr<SourcePosition> Parse(absl::string_view json);

  friend bool operator==(const SourcePosition&,
                         const SourcePosition&) = default;
};

}  // namespace penstock::core
