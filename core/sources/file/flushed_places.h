// Where the last step left off, in every file.
#pragma once

#include "core/contract/resume.h"
#include "core/sources/file/source_position.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
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
  // While all files take no more, as BytesOf says, every step's result holds
  // them, of its 256 KiB; then each step holds what it changed.
  static constexpr size_t kWholeBytesMax = size_t{160} << 10;

  struct Options {
    // There is one file, for ever, and positions are written in version 1.
    bool is_single = false;
  };
  FlushedPlaces(const SourcePosition& position, Options options);

  // A step ends when it took from so many files that their positions take this
  // much: of each there is a watermark, too.
  size_t MovedBytesMax() const;

  // A step took these, in this order. Returns: the files it forgot, and those
  // it read from, each with the range; of each a watermark has to be said, so
  // that there is a step even if it has no records.
  std::vector<FilePosition> Flush(std::vector<Moved> taken, uint32_t next_id);
  // A step was replayed or skipped. Requires: a change is one behind this.
  void Follow(const SourcePosition& step);

  // What the last step did: with how to go on behind it, or a change.
  std::string ToJson() const;
  // nullopt: ToJson() is whole. Costs as much as there are files if the whole
  // place is asked for, and nothing else here does.
  std::optional<Resume::Change> ChangeOf(bool whole_is_asked) const;

  // Of where every file is by now, whatever led there.
  uint64_t digest() const { return digest_; }

  // About what `file` takes in a step's result.
  static size_t BytesOf(const FilePosition& file);

 private:
  void Put(FilePosition file);
  // Returns: whether it was known.
  bool Erase(uint32_t id);
  // The next step begins where the last one ended.
  void EndRanges();
  SourcePosition Whole() const;
  SourcePosition LastChange() const;

  const Options options_;
  // By number, as the last step left them, with what it took from them.
  std::map<uint32_t, FilePosition> files_;
  // BytesOf all of them.
  size_t bytes_ = 0;
  uint64_t digest_ = 0;
  // As it was before the last step.
  uint64_t before_ = 0;
  // Of these: the last step read from them.
  std::set<uint32_t> read_;
  // Of these: forgotten in the last step, which had read from them.
  std::set<uint32_t> leaving_;
  // That the last step knew no more.
  std::set<uint32_t> gone_;
  // The last step's JSON is a change.
  bool is_change_ = false;
  uint32_t next_id_ = 0;
};

}  // namespace penstock::core
