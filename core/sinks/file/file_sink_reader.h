// Reads what a file sink has committed: for `penstock verify`, tests, and any
// reader that must not see more.
#pragma once

#include "core/base/filesystem.h"
#include "core/compress/decoder.h"
#include "core/contract/output_target.h"
#include "core/contract/parser.h"
#include "core/sinks/file/committed_data.h"
#include "core/sinks/file/manifest.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Gives the lines of one shard in the order in which they were written.
// Threads: confined to one thread at a time. Blocks: as the disk does.
// Bound:   two blocks of 1 MiB, or the longest line, at most `line_bytes_max`.
class FileSinkLines {
 public:
  // The next line without its newline; false: there is no more. A last line
  // without newline counts. Lifetime: `line` until the next call.
  // Errors: STATE_DAMAGED (a file is missing, ends early or cannot be
  // decompressed), RECORD_TOO_LARGE, those of FileSystem; then there is no next
  // call.
  absl::StatusOr<bool> Next(absl::string_view& line);

  // The next records without a gap, as many as are whole by `splitter`, with
  // all that stands around them; at the end whatever is left. Otherwise as
  // Next. Requires: whoever asks so for a shard always does.
  absl::StatusOr<bool> NextRecords(Splitter& splitter,
                                   absl::string_view& records);
  struct Place {
    std::string path;
    uint64_t offset = 0;
  };
  // Where byte `at` of what NextRecords gave last stands, as path() and
  // offset() say it.
  Place PlaceAt(uint64_t at) const;

  // Of what Next gave last: the file's path, and where in it the line begins,
  // in bytes as they were before they were compressed.
  const std::string& path() const { return line_path_; }
  uint64_t offset() const { return line_offset_; }

 private:
  friend class FileSinkReader;
  FileSinkLines(FileSystem& files, std::string directory,
                std::vector<CommittedData> parts, size_t line_bytes_max);
  // Adds bytes behind those not consumed; false: there are none.
  absl::StatusOr<bool> Fill();
  absl::Status OpenPart();
  // Adds bytes of the part being read to `to`; none at its end.
  absl::Status ReadPart(std::string& to);
  absl::Status ReadBlock(std::string& to);
  absl::Status DecodeBlock(std::string& to);
  void MarkLine();

  FileSystem& files_;
  const std::string directory_;
  const std::vector<CommittedData> parts_;
  const size_t line_bytes_max_;

  // Index of the part being read, and how far.
  size_t part_ = 0;
  uint64_t part_offset_ = 0;
  std::string path_;
  std::unique_ptr<File> file_;
  // Of a part that is compressed, and what it has not yet taken.
  std::unique_ptr<Decoder> decoder_;
  std::string encoded_;
  size_t decoded_ = 0;

  std::string block_;
  size_t consumed_ = 0;
  // Where block_[consumed_] stands among all bytes of the shard.
  uint64_t line_start_ = 0;
  // Where parts begin among them, from the one that the line is in.
  struct Start {
    uint64_t at = 0;
    std::string path;
  };
  std::deque<Start> starts_;
  std::string line_path_;
  uint64_t line_offset_ = 0;
  // As line_start_, of what NextRecords gave last.
  uint64_t given_start_ = 0;
};

// A snapshot of the committed state.
// Threads: thread-compatible. Lifetime: `files` outlives it and its lines.
class FileSinkReader {
 public:
  // Finds the highest complete manifest, then looks for a higher writer, and
  // starts over if there is one. Writes nothing, waits for nothing.
  // Errors: NOT_FOUND: no directory; PROGRESS_LOST: no manifest in it;
  // STATE_DAMAGED, UNSUPPORTED, those of FileSystem.
  static absl::StatusOr<FileSinkReader> Open(FileSystem& files,
                                             absl::string_view directory);

  const ManifestHeader& header() const { return header_; }
  // By shard; empty below exactly-once.
  const std::vector<Step>& progress() const { return state_.progress; }
  // False: a higher writer has claimed the directory and has not taken over.
  // It is at work, or was cut short. What the last commit shows may then
  // disappear, to be written again by that writer.
  bool settled() const { return settled_; }

  // How many shards have, or had, data: at least header().shards.
  uint32_t shards() const;
  struct DataFile {
    // Where it stood when this was called.
    std::string path;
    uint64_t committed_bytes = 0;
    Compression compression = Compression::kNone;
  };
  // In the order in which they are to be read. Errors: those of FileSystem.
  absl::StatusOr<std::vector<DataFile>> Files(ShardIndex shard) const;
  // The committed lines of `shard`, over all its files.
  FileSinkLines Lines(ShardIndex shard,
                      size_t line_bytes_max = size_t{64} << 20) const;

 private:
  FileSinkReader(FileSystem& files, std::string directory)
      : files_(&files), directory_(std::move(directory)) {}

  // Adds what is in segments to the front of state_.data.
  absl::Status Unseal();
  std::vector<CommittedData> DataOf(ShardIndex shard) const;

  FileSystem* files_;
  std::string directory_;
  ManifestHeader header_;
  // Without segments. Bound: as many files as there are.
  CommittedState state_;
  bool settled_ = true;
};

}  // namespace penstock::core
