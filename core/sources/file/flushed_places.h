// Where the last step left off, in every file.
#pragma once

#include "core/sources/file/source_position.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace penstock::core {

// What travels with a buffer through the InputQueue.
struct Moved {
  // Where its file was when the buffer had been taken from it.
  FilePosition file;
  // No buffer: the file is to be forgotten.
  bool is_forgotten = false;
};

// Owner:   a reader. Threads: thread-compatible.
// Bound:   about 300 bytes for each file that is known.
class FlushedPlaces {
 public:
  // Of all files that a source may know, as BytesOf says: every step's result
  // holds them, and has at most 256 KiB.
  static constexpr size_t kBytesMax = size_t{160} << 10;
  // What a step took from so many files that their positions take this much
  // ends it: of each there is a watermark, too.
  static constexpr size_t kMovedBytesMax = size_t{32} << 10;

  struct Options {
    // There is one file, for ever, and positions are written in version 1.
    bool is_single = false;
  };
  FlushedPlaces(const SourcePosition& position, Options options);

  // A step took these, in this order. Returns: the files it read from, each
  // with the range.
  std::vector<FilePosition> Flush(std::vector<Moved> taken, uint32_t next_id);
  // A step was replayed or skipped.
  void Follow(const SourcePosition& step);
  // What the last step did, and how to go on behind it.
  std::string ToJson() const;

  // About what `file` takes in a step's result.
  static size_t BytesOf(const FilePosition& file);

 private:
  const Options options_;
  // By number, as the last step left them, with what it took from them.
  std::map<uint32_t, FilePosition> files_;
  // Of these: forgotten in the last step, which had read from them.
  std::set<uint32_t> leaving_;
  uint32_t next_id_ = 0;
};

}  // namespace penstock::core
