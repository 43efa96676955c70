// Dead letters as lines of JSON in files of a directory.
// See README.md beside it; upholds INV-11.
#pragma once

#include "core/base/filesystem.h"
#include "core/contract/component.h"
#include "core/contract/dead_letter.h"
#include "core/sinks/dead_letter_file/config.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace penstock::core {

// Nobody ever adds to a file of another open: neither a stopped process that
// wakes nor one that starts meets what the other writes, and a line that a
// crash cut short stays the last one of its file.
//
// Owner, Threads: as DeadLetterOutput.
// Lifecycle: no file is made before the first letter.
// Bound:     1 MiB and one letter of memory; on the disk total_bytes_max and,
//            for each shard, file_bytes_max.
class DeadLetterFile final : public DeadLetterOutput {
 public:
  // `files` outlives it.
  DeadLetterFile(const DeadLetterFileConfig& config, DeadLetterOpen open,
                 FileSystem& files);

  // Errors: STORAGE_FULL: the disk, or total_bytes_max, is full, and nothing
  // is half written; it may be tried again. IO_ERROR; the next call begins a
  // new file.
  absl::Status Write(std::span<const DeadLetter> letters) override;

 private:
  // Appends buffer_ to a file that has room.
  absl::Status Flush();
  absl::Status Append();
  absl::Status Sync();
  absl::Status BeginFile();
  absl::Status CheckRoom();

  const DeadLetterFileConfig config_;
  const DeadLetterOpen open_;
  FileSystem& files_;
  std::string buffer_;
  // Null: the next letter begins one.
  std::unique_ptr<File> file_;
  std::string path_;
  // Whole lines in file_.
  uint64_t size_ = 0;
  uint32_t next_part_ = 0;
};

// `letter` as one line of JSON with its newline, appended to `to`.
void AppendDeadLetter(const DeadLetterOpen& open, const DeadLetter& letter,
                      std::string& to);

// The factory that is registered under "file". Makes the directory.
// Blocks: for I/O. Errors: PATH_NOT_ALLOWED and those of the file system.
absl::StatusOr<std::unique_ptr<DeadLetterOutput>> MakeDeadLetterFile(
    const ComponentConfig& config, const DeadLetterOpen& open,
    const Environment& environment);

}  // namespace penstock::core
