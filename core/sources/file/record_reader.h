// Reads known files, a result at a time.
#pragma once

#include "core/contract/component.h"
#include "core/contract/consumer.h"
#include "core/contract/parse_error.h"
#include "core/contract/parser.h"
#include "core/record/record_batch.h"
#include "core/sources/file/config.h"
#include "core/sources/file/file_table.h"
#include "core/sources/file/open_file.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace penstock::core {

// Opens a file, checks that it is the one that is known, reads a block, has it
// parsed, and moves the file's place behind what came of it. One parser serves
// all files: it is told where it is.
//
// Owner:   a reader's tasks. Threads: thread-compatible. Blocks: as the disk
//          does.
// Bound:   FragmentReader's, for each file that is open; the parser.
class RecordReader {
 public:
  struct Options {
    FileCompression compression = FileCompression::kAuto;
    size_t block_bytes = 0;
    // Files may grow: what lacks its line end is not read yet.
    bool follows = false;
    // It comes through a pipe: what lacks its end waits until the writer has
    // closed (Reading::is_final), and what was read is not looked at again.
    bool is_stream = false;
  };
  struct Result {
    RecordBatch batch;
    std::vector<ParseError> errors;
    // Documents that say no change, and are no records.
    uint64_t passed = 0;
    // The place has moved, or there is something in here.
    bool has_moved = false;
    // There is nothing more now.
    bool at_end = false;
    // The file is not the one that it was: nothing was taken from it.
    bool is_rewritten = false;
  };

  // All outlive this.
  RecordReader(const Environment& environment, InputConsumer& consumer,
               FileTable& files, std::unique_ptr<Parser> parser,
               Options options);

  // Opens `file` at its path, unless it is open. Errors: PATH_NOT_ALLOWED;
  // POSITION_EXPIRED if it is another; those of the file.
  absl::Status Open(KnownFile& file);
  // Takes what was opened, if it is `file`.
  absl::Status Attach(KnownFile& file, OpenFile opened);
  // Takes what was opened and is known to be `file`.
  void Take(KnownFile& file, OpenFile opened);
  // One result. `limit`: the step that is replayed ends there. Requires: open.
  // Errors: POSITION_EXPIRED if the file ends before `limit`; INVALID_CONFIG if
  // the parser cannot use a file that begins so; the file's.
  absl::StatusOr<Result> Read(KnownFile& file, std::optional<uint64_t> limit);
  // Moves to `place`, which is taken for a boundary.
  void GoTo(KnownFile& file, const FilePosition& place);
  // Frees what is only kept for speed.
  void ReleaseMemory();

 private:
  // What can be read now, as one piece.
  absl::StatusOr<FragmentReader::Piece> NextPiece(
      KnownFile& file, std::optional<uint64_t> limit);
  // Whether more may come behind what is there.
  bool MayGrow(const KnownFile& file, std::optional<uint64_t> limit) const;
  bool PassesNuls() const { return options_.follows && parser_->IsText(); }
  // Many NUL bytes at the beginning of a text that is followed are no record: a
  // writer that went on at its old place left them when the file had been cut
  // off. True: there are some, and `result` says so.
  absl::StatusOr<bool> PassNuls(KnownFile& file, std::optional<uint64_t> limit,
                                Result& result);
  void Parse(KnownFile& file, FragmentReader::Piece& piece, Result& result);
  // What is wrong with the file's end.
  void AddDefect(const KnownFile& file, const Defect& defect, Result& result);
  void AddError(const KnownFile& file, ParseError error, Result& result);
  // A file that was shorter than a fingerprint when it was opened is known
  // better by what was read of it since: a position in a file that was empty
  // must not be good for any other.
  absl::Status LearnBeginning(KnownFile& file);
  void ReportTorn(KnownFile& file);

  const Environment environment_;
  InputConsumer& consumer_;
  FileTable& files_;
  const Options options_;

  std::unique_ptr<Parser> parser_;
  // The file that the parser is in.
  std::optional<uint32_t> parsing_;
  // The file of which it knows all that Parser::LearnPrologue tells.
  std::optional<uint32_t> prologue_of_;
  Blocks blocks_;
};

}  // namespace penstock::core
