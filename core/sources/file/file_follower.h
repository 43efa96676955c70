// Compares what a search found with the files that are known.
#pragma once

#include "core/contract/component.h"
#include "core/sources/file/config.h"
#include "core/sources/file/file_finder.h"
#include "core/sources/file/file_table.h"
#include "core/sources/file/open_file.h"

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::core {

// Tells, search by search, which files are to be read: new ones, and those
// that grew. Keeps up with files that are renamed, replaced, cut off and
// written anew, deleted, copied, or compressed:
//
//   found at a path            is
//   the inode known there      the same file; cut off or written anew if it is
//                              shorter than what was read, or its beginning is
//                              another (which the reader sees when it reads)
//   another                    a file that was lost, if it begins like that and
//                              has all that was read of it; else
//                              nothing yet, while it begins like one that is
//                              still there: a copy being made, whose original
//                              will be lost soon (compressed ones: always;
//                              others: until they rest for kCopyRest, but not
//                              longer than kCopyPatience); else
//                              a new one
//   an empty file              nothing yet: there is nothing to know it by
//
// A lost file that is open is read on until nothing was added for kCloseAfter.
//
// Owner:   a reader's tasks. Threads: thread-compatible. Blocks: as the disk
//          does.
// Bound:   FileTable's; the paths of files that wait.
class FileFollower {
 public:
  struct Options {
    FileCompression compression = FileCompression::kAuto;
    // False: there is one search, and nothing is waited for.
    bool follows = true;
  };
  // What came of a search.
  struct News {
    // Numbers of files that are to be read, in order.
    std::vector<uint32_t> to_read;
    // That were lost so long ago that they can be forgotten.
    std::vector<uint32_t> to_forget;
    // What will never be read.
    std::vector<absl::Status> losses;
    // Why a file could not be looked at; the next search tries again.
    absl::Status problem;
    // Files of which is not known yet what they are.
    size_t waiting = 0;
    // Files that were lost a short while ago, or are lost and still open: only
    // time tells what becomes of them.
    size_t leaving = 0;
  };

  static constexpr absl::Duration kCopyRest = absl::Seconds(1);
  static constexpr absl::Duration kCopyPatience = absl::Seconds(60);
  static constexpr absl::Duration kCloseAfter = absl::Seconds(5);
  static constexpr absl::Duration kForgetAfter = absl::Minutes(10);

  // `files` outlives this.
  FileFollower(const Environment& environment, FileTable& files,
               Options options);

  void BeginSearch();
  void Look(const FoundFile& found);
  // `problem`: the search's own; then what was not found may still be there.
  News EndSearch(const absl::Status& problem);

  // Its beginning is another: what was read of it is not there any more. The
  // next search finds what is.
  void NoteRewritten(KnownFile& file);

 private:
  // A file that may be a copy, or is not whole.
  struct Waiting {
    absl::Time since;
    absl::Time changed;
    uint64_t size = 0;
    uint64_t seen_in = 0;
  };

  // Whether `file`, whose path is found's, is what was found.
  bool IsStillThere(KnownFile& file, const FoundFile& found);
  // Whether what its path names is `file`, by its content.
  absl::StatusOr<bool> IsAtItsPath(KnownFile& file);
  // `found` is at no known file's path.
  void Identify(const FoundFile& found);
  absl::Status TryIdentify(const FoundFile& found);
  // Whether it is another name of a file that is there.
  bool IsAnotherName(const FoundFile& found);
  // Those of which is not known since the start whether they are where they
  // were: some are lost.
  absl::Status CheckPathsOf(const std::vector<KnownFile*>& files);
  // The lost file that this is, or null.
  absl::StatusOr<KnownFile*> FindLost(const std::vector<KnownFile*>& like,
                                      const FoundFile& found, Content& content);
  bool MayBeCopy(const std::vector<KnownFile*>& like, const OpenFile& opened,
                 const FoundFile& found);
  void Wait(const FoundFile& found);
  void Adopt(KnownFile& file, const FoundFile& found, const OpenFile& opened);
  void Queue(KnownFile& file, const FileStat& stat);
  // A file that has no path any more.
  void LookAtLost(KnownFile& file);
  // What it was is not there any more; when it was last seen there were
  // `seen_size` bytes.
  void LoseContent(KnownFile& file, uint64_t seen_size);
  // What was not read of a file that is lost, once.
  void NoteLoss(KnownFile& file, absl::string_view what);
  void Note(const absl::Status& problem);

  const Environment environment_;
  FileTable& files_;
  const Options options_;

  uint64_t search_ = 0;
  absl::Time now_;
  News news_;
  absl::flat_hash_map<std::string, Waiting> waiting_;
};

}  // namespace penstock::core
