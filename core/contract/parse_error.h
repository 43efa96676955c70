// A bad record: data about data, never a Status.
#pragma once

#include "core/record/record_batch.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Seed type: `ParseError` (of the format layer). Positions are those of the
// bad record.
struct ParseError {
  // Short, snake_case, of a small fixed set per format: a metric label.
  std::string tag;
  // What it was read from, for people: a file's path. Filled in by the source;
  // empty where unknown.
  std::string input;
  std::string description;
  // 1-based, good and bad records counted; 0 where unknown.
  uint64_t record_number = 0;
  // 1-based physical line; 0 where unknown.
  uint64_t line = 0;
  // Offset in the source of the bad record's first byte.
  uint64_t byte_offset = 0;
  // The field path that was wrong, if one was.
  std::optional<std::string> field;
  // The record's text, cut to 4,096 bytes at a UTF-8 boundary.
  std::string invalid_text;
  // What to do about it, if there is something.
  std::string suggestion;

  // About what it takes.
  uint64_t MemoryBytes() const;
};

// What is kept of `errors`, which a source met in `partition`.
std::vector<BadRecord> ToBadRecords(uint32_t partition,
                                    const std::vector<ParseError>& errors);

}  // namespace penstock::core
