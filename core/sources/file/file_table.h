// The files that a source knows.
#pragma once

#include "core/base/filesystem.h"
#include "core/sources/file/file_position.h"
#include "core/sources/file/fragment_reader.h"
#include "core/sources/file/open_file.h"

#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>
#include <absl/time/time.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// A file that is being read.
struct Reading {
  Reading(OpenFile opened, const Parser& parser, Blocks& blocks)
      : file(std::move(opened)), fragments(file.content(), parser, blocks) {}

  const OpenFile file;
  FragmentReader fragments;
  bool is_torn_reported = false;
  bool is_defect_reported = false;
  // Nothing more will be written: what lacks its line end is a record.
  bool is_final = false;
};

// A file that something was read of, or is about to be.
struct KnownFile {
  // Its number, where it was found last, what it is known by, and the place
  // behind all that was staged of it (`start` means nothing).
  FilePosition position;

  // On this host; 0 where unknown, as after a start.
  uint64_t device = 0;
  uint64_t inode = 0;
  bool is_compressed = false;
  // As it was when it was last queued for reading.
  uint64_t seen_size = 0;
  // And before it had another size: whether it is the same file since then only
  // its content tells.
  uint64_t seen_size_before = 0;
  absl::Time seen_mtime = absl::InfinitePast();
  // Where its path leads, if that is a symbolic link, and the inode for which
  // that was looked up (FileWatches).
  std::string link;
  uint64_t resolved_inode = 0;
  // The search that saw it last.
  uint64_t seen_in = 0;
  // Since when nothing has its path, or something else has; InfiniteFuture():
  // it is where its path says. Steady time.
  absl::Time lost_since = absl::InfiniteFuture();
  // What was not read of it, when it was lost, was counted.
  bool is_loss_said = false;
  // It waits for its turn to be read.
  bool is_queued = false;
  // Null: it is not open.
  std::unique_ptr<Reading> reading;

  bool is_lost() const { return lost_since != absl::InfiniteFuture(); }
};

// By number, by path, by inode, and by what their content begins with.
//
// Owner:   a reader's tasks. Threads: thread-compatible.
// Bound:   about 400 bytes a file, and whoever opens them bounds the open ones.
class FileTable {
 public:
  // Numbers are given from `next_id` on.
  explicit FileTable(uint32_t next_id) : next_id_(next_id) {}

  // A file that was known before. Requires: its number is below next_id() and
  // not in use.
  KnownFile& Restore(FilePosition position);
  // A new one, with the next number.
  KnownFile& Add(FilePosition position);
  void Forget(uint32_t id);

  // Null: no such file. Lifetime: until Forget.
  KnownFile* Find(uint32_t id);
  // That has its home there and is not lost.
  KnownFile* AtPath(const std::string& path);
  KnownFile* WithInode(uint64_t device, uint64_t inode);
  // Those whose fingerprint is the one that `content` has over as many bytes,
  // of all that have one; ascending by number.
  absl::StatusOr<std::vector<KnownFile*>> Like(Content& content);

  // Every change of what files are found by.
  void SetPath(KnownFile& file, std::string path);
  void SetInode(KnownFile& file, uint64_t device, uint64_t inode);
  void SetFingerprint(KnownFile& file, const FileFingerprint& fingerprint);
  // Nothing has its path any more, or something else has.
  void Lose(KnownFile& file, absl::Time now);

  void ForEach(absl::FunctionRef<void(KnownFile&)> visit);
  uint32_t next_id() const { return next_id_; }
  // After a replay: others have given out numbers up to there.
  void RaiseNextId(uint32_t next_id) {
    if (next_id > next_id_) next_id_ = next_id;
  }
  size_t size() const { return files_.size(); }

 private:
  KnownFile& Insert(FilePosition position);
  // Each: unless another is found there by now.
  void UnlinkPath(const KnownFile& file);
  void UnlinkInode(const KnownFile& file);

  using Ids = std::vector<uint32_t>;

  // Pointers into it stay good.
  std::map<uint32_t, KnownFile> files_;
  uint32_t next_id_;
  absl::flat_hash_map<std::string, uint32_t> by_path_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, uint32_t> by_inode_;
  // NUL bytes and bytes behind them that were looked at.
  using Extent = std::pair<uint64_t, uint64_t>;

  // By how much was looked at, then by its hash.
  std::map<Extent, absl::flat_hash_map<uint64_t, Ids>> by_beginning_;
};

}  // namespace penstock::core
