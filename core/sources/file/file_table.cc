#include "core/sources/file/file_table.h"

#include "core/base/check.h"
#include "core/base/checksum.h"
#include "core/base/status_macros.h"

#include <algorithm>
#include <array>

namespace penstock::core {

KnownFile& FileTable::Restore(FilePosition position) {
  CHECK_LT(position.id, next_id_);
  return Insert(std::move(position));
}

KnownFile& FileTable::Add(FilePosition position) {
  position.id = next_id_++;
  return Insert(std::move(position));
}

KnownFile& FileTable::Insert(FilePosition position) {
  const uint32_t id = position.id;
  const auto [it, is_new] = files_.try_emplace(id);
  CHECK(is_new) << "two files of number " << id;
  KnownFile& file = it->second;
  const FileFingerprint fingerprint = position.fingerprint;
  file.position = std::move(position);
  file.position.fingerprint = {};
  SetFingerprint(file, fingerprint);
  by_path_[file.position.path] = id;
  return file;
}

void FileTable::Forget(uint32_t id) {
  KnownFile* const file = Find(id);
  if (file == nullptr) return;
  SetFingerprint(*file, {});
  UnlinkPath(*file);
  UnlinkInode(*file);
  files_.erase(id);
}

void FileTable::UnlinkPath(const KnownFile& file) {
  const auto path = by_path_.find(file.position.path);
  if (path != by_path_.end() && path->second == file.position.id) {
    by_path_.erase(path);
  }
}

void FileTable::UnlinkInode(const KnownFile& file) {
  const auto inode = by_inode_.find({file.device, file.inode});
  if (inode != by_inode_.end() && inode->second == file.position.id) {
    by_inode_.erase(inode);
  }
}

KnownFile* FileTable::Find(uint32_t id) {
  const auto it = files_.find(id);
  return it == files_.end() ? nullptr : &it->second;
}

KnownFile* FileTable::AtPath(const std::string& path) {
  const auto it = by_path_.find(path);
  return it == by_path_.end() ? nullptr : Find(it->second);
}

KnownFile* FileTable::WithInode(uint64_t device, uint64_t inode) {
  const auto it = by_inode_.find({device, inode});
  return it == by_inode_.end() ? nullptr : Find(it->second);
}

absl::StatusOr<std::vector<KnownFile*>> FileTable::Like(Content& content) {
  std::vector<KnownFile*> like;
  if (by_beginning_.empty()) return like;
  std::array<char, FileFingerprint::kBytesMax> beginning;
  ASSIGN_OR_RETURN(size_t got, content.Peek(0, beginning));
  uint64_t nuls = 0;
  if (got > 0 && beginning[0] == '\0') {
    ASSIGN_OR_RETURN(nuls, content.CountNuls());
    ASSIGN_OR_RETURN(got, content.Peek(nuls, beginning));
  }
  for (auto it = by_beginning_.lower_bound({nuls, 0});
       it != by_beginning_.end() && it->first <= Extent{nuls, got}; ++it) {
    const auto size = static_cast<size_t>(it->first.second);
    const auto found = it->second.find(Checksum64({beginning.data(), size}));
    if (found == it->second.end()) continue;
    for (const uint32_t id : found->second) like.push_back(Find(id));
  }
  std::sort(like.begin(), like.end(), [](const auto* a, const auto* b) {
    return a->position.id < b->position.id;
  });
  return like;
}

void FileTable::SetPath(KnownFile& file, std::string path) {
  UnlinkPath(file);
  file.position.path = std::move(path);
  file.lost_since = absl::InfiniteFuture();
  by_path_[file.position.path] = file.position.id;
}

void FileTable::SetInode(KnownFile& file, uint64_t device, uint64_t inode) {
  UnlinkInode(file);
  file.device = device;
  file.inode = inode;
  if (inode != 0) by_inode_[{device, inode}] = file.position.id;
}

void FileTable::SetFingerprint(KnownFile& file,
                               const FileFingerprint& fingerprint) {
  FileFingerprint& known = file.position.fingerprint;
  if (known == fingerprint) return;
  if (known.bytes > 0) {
    const auto by_hash = by_beginning_.find({known.nuls, known.bytes});
    Ids& ids = by_hash->second[known.hash];
    ids.erase(std::remove(ids.begin(), ids.end(), file.position.id), ids.end());
    if (ids.empty()) by_hash->second.erase(known.hash);
    if (by_hash->second.empty()) by_beginning_.erase(by_hash);
  }
  known = fingerprint;
  if (known.bytes > 0) {
    by_beginning_[{known.nuls, known.bytes}][known.hash].push_back(
        file.position.id);
  }
}

void FileTable::Lose(KnownFile& file, absl::Time now) {
  if (file.is_lost()) return;
  file.lost_since = now;
  // It keeps its inode, by which it may be found elsewhere.
  UnlinkPath(file);
}

void FileTable::ForEach(absl::FunctionRef<void(KnownFile&)> visit) {
  for (auto& [id, file] : files_) visit(file);
}

}  // namespace penstock::core
