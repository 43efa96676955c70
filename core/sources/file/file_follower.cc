#include "core/sources/file/file_follower.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace penstock::core {

FileFollower::FileFollower(const Environment& environment, FileTable& files,
                           Options options)
    : environment_(environment), files_(files), options_(options) {}

void FileFollower::BeginSearch() {
  ++search_;
  now_ = environment_.clock.SteadyNow();
}

void FileFollower::Look(const FoundFile& found) {
  KnownFile* const known = files_.AtPath(found.path);
  if (known != nullptr && IsStillThere(*known, found)) return;
  Identify(found);
}

bool FileFollower::IsStillThere(KnownFile& file, const FoundFile& found) {
  const FileStat& stat = found.stat;
  if (file.inode == 0) {
    const absl::StatusOr<bool> holds = IsAtItsPath(file);
    if (!holds.ok()) {
      Note(holds.status());
      file.seen_in = search_;
      return true;
    }
    if (!*holds) {
      files_.Lose(file, now_);
      return false;
    }
    files_.SetInode(file, stat.device, stat.inode);
  } else if (file.inode != stat.inode || file.device != stat.device) {
    files_.Lose(file, now_);
    return false;
  }
  file.seen_in = search_;
  const bool is_shorter = file.is_compressed ? stat.size < file.seen_size
                                             : stat.size < file.position.end;
  if (is_shorter) {
    LoseContent(file, file.seen_size);
    return false;
  }
  if (stat.size != file.seen_size || stat.mtime != file.seen_mtime) {
    Queue(file, stat);
  }
  return true;
}

absl::StatusOr<bool> FileFollower::IsAtItsPath(KnownFile& file) {
  const absl::StatusOr<OpenFile> opened = OpenFile::Open(
      environment_.files, file.position.path, options_.compression);
  if (HasReason(opened.status(), Reason::NOT_FOUND)) return false;
  if (!opened.ok()) return opened.status();
  file.is_compressed = opened->is_compressed();
  // How long a compressed one is whoever reads it finds out.
  FilePosition position = file.position;
  if (file.is_compressed) {
    // It could not be read when its end was noted, which was none of what it
    // decodes to.
    if (position.end > 0 && position.fingerprint.bytes == 0) return false;
    position.end = 0;
  }
  const absl::Status status = CheckPosition(opened->content(), position);
  if (HasReason(status, Reason::POSITION_EXPIRED)) return false;
  RETURN_IF_ERROR(status);
  return true;
}

void FileFollower::NoteLoss(KnownFile& file, absl::string_view what) {
  // Of a compressed one nobody knows how much there was. After a start only
  // how long it was when it was found is known.
  const uint64_t size = std::max(file.seen_size, file.position.length);
  if (file.is_compressed || size <= file.position.end ||
      std::exchange(file.is_loss_said, true)) {
    return;
  }
  const uint64_t bytes = size - file.position.end;
  news_.losses.push_back(MakeError(
      Reason::POSITION_EXPIRED,
      absl::StrCat(file.position.path, " was ", what, " when ", bytes,
                   " bytes behind byte ", file.position.end,
                   " had not been read; they are lost, unless a copy of the "
                   "file turns up"),
      {{"path", file.position.path}, {"bytes", absl::StrCat(bytes)}}));
}

void FileFollower::NoteRewritten(KnownFile& file) {
  LoseContent(file, file.seen_size_before);
}

void FileFollower::LoseContent(KnownFile& file, uint64_t seen_size) {
  file.seen_size = seen_size;
  NoteLoss(file, "cut off or written anew");
  file.reading.reset();
  files_.SetInode(file, 0, 0);
  files_.Lose(file, environment_.clock.SteadyNow());
}

void FileFollower::Identify(const FoundFile& found) {
  if (found.stat.size == 0 || IsAnotherName(found)) return;
  const absl::Status status = TryIdentify(found);
  // Between the search and now it may have gone.
  if (!status.ok() && !HasReason(status, Reason::NOT_FOUND)) Note(status);
}

bool FileFollower::IsAnotherName(const FoundFile& found) {
  KnownFile* const same = files_.WithInode(found.stat.device, found.stat.inode);
  if (same == nullptr || same->is_lost()) return false;
  const absl::StatusOr<FileStat> there =
      environment_.files.Stat(same->position.path);
  if (there.ok() && there->device == found.stat.device &&
      there->inode == found.stat.inode) {
    return true;
  }
  files_.Lose(*same, now_);
  return false;
}

absl::Status FileFollower::TryIdentify(const FoundFile& found) {
  RETURN_IF_ERROR(environment_.paths.Check(environment_.files, found.path));
  ASSIGN_OR_RETURN(
      const OpenFile opened,
      OpenFile::Open(environment_.files, found.path, options_.compression));
  Content& content = opened.content();
  ASSIGN_OR_RETURN(const std::vector<KnownFile*> like, files_.Like(content));
  RETURN_IF_ERROR(CheckPathsOf(like));
  ASSIGN_OR_RETURN(KnownFile* const lost, FindLost(like, found, content));
  if (lost != nullptr) {
    Adopt(*lost, found, opened);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const FileFingerprint fingerprint,
                   ReadFingerprint(content, FileFingerprint::kBytesMax));
  if (options_.follows) {
    // Too little to know it by, as long as it is being compressed.
    const bool is_begun = !opened.is_certain() || fingerprint.bytes == 0 ||
                          (fingerprint.bytes < FileFingerprint::kBytesMax &&
                           content.DefectAtEnd().has_value());
    if (is_begun || MayBeCopy(like, opened, found)) {
      Wait(found);
      return absl::OkStatus();
    }
  }
  KnownFile& file =
      files_.Add({.path = found.path,
                  .fingerprint = fingerprint,
                  .length = opened.is_compressed() ? 0 : found.stat.size});
  Adopt(file, found, opened);
  return absl::OkStatus();
}

absl::Status FileFollower::CheckPathsOf(const std::vector<KnownFile*>& files) {
  for (KnownFile* const file : files) {
    if (file->is_lost() || file->inode != 0) continue;
    ASSIGN_OR_RETURN(const bool is_there, IsAtItsPath(*file));
    if (!is_there) files_.Lose(*file, now_);
  }
  return absl::OkStatus();
}

absl::StatusOr<KnownFile*> FileFollower::FindLost(
    const std::vector<KnownFile*>& like, const FoundFile& found,
    Content& content) {
  KnownFile* best = nullptr;
  for (KnownFile* const file : like) {
    if (!file->is_lost()) continue;
    const uint64_t end = file->position.end;
    ASSIGN_OR_RETURN(const uint64_t size, content.SizeUpTo(end));
    if (size < end) continue;
    if (file->inode == found.stat.inode && file->device == found.stat.device) {
      return file;
    }
    // Whoever is known by more is the better one.
    if (best == nullptr ||
        file->position.fingerprint.bytes > best->position.fingerprint.bytes) {
      best = file;
    }
  }
  return best;
}

bool FileFollower::MayBeCopy(const std::vector<KnownFile*>& like,
                             const OpenFile& opened, const FoundFile& found) {
  if (like.empty()) return false;
  if (opened.is_compressed()) return true;
  const auto it = waiting_.find(found.path);
  if (it == waiting_.end()) return true;
  const bool rests = it->second.size == found.stat.size &&
                     now_ - it->second.changed >= kCopyRest;
  return !rests && now_ - it->second.since < kCopyPatience;
}

void FileFollower::Wait(const FoundFile& found) {
  const auto [it, is_new] = waiting_.try_emplace(found.path);
  Waiting& waiting = it->second;
  if (is_new) waiting.since = now_;
  if (is_new || waiting.size != found.stat.size) waiting.changed = now_;
  waiting.size = found.stat.size;
  waiting.seen_in = search_;
}

void FileFollower::Adopt(KnownFile& file, const FoundFile& found,
                         const OpenFile& opened) {
  waiting_.erase(found.path);
  if (file.inode != found.stat.inode || file.device != found.stat.device) {
    file.reading.reset();
  }
  files_.SetPath(file, found.path);
  files_.SetInode(file, found.stat.device, found.stat.inode);
  file.is_compressed = opened.is_compressed();
  file.seen_in = search_;
  Queue(file, found.stat);
}

void FileFollower::Queue(KnownFile& file, const FileStat& stat) {
  file.is_loss_said = false;
  if (stat.size != file.seen_size) {
    file.seen_size_before = std::exchange(file.seen_size, stat.size);
  }
  file.seen_mtime = stat.mtime;
  news_.to_read.push_back(file.position.id);
}

FileFollower::News FileFollower::EndSearch(const absl::Status& problem) {
  files_.ForEach([this, &problem](KnownFile& file) {
    if (!file.is_lost() && file.seen_in != search_ && problem.ok()) {
      files_.Lose(file, now_);
    }
    if (file.is_lost()) LookAtLost(file);
  });
  Note(problem);
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (it->second.seen_in == search_) {
      ++it;
    } else {
      waiting_.erase(it++);
    }
  }
  news_.waiting = waiting_.size();
  return std::exchange(news_, {});
}

void FileFollower::LookAtLost(KnownFile& file) {
  if (!options_.follows) return;
  if (file.reading == nullptr) {
    if (now_ - file.lost_since >= kCloseAfter) {
      NoteLoss(file, "deleted or moved away");
    } else {
      ++news_.leaving;
    }
    if (now_ - file.lost_since >= kForgetAfter) {
      news_.to_forget.push_back(file.position.id);
    }
    return;
  }
  ++news_.leaving;
  const absl::StatusOr<FileStat> stat = file.reading->file.file().Stat();
  if (!stat.ok()) return Note(stat.status());
  if (stat->size != file.seen_size || stat->mtime != file.seen_mtime) {
    file.lost_since = now_;
    Queue(file, *stat);
  } else if (now_ - file.lost_since >= kCloseAfter) {
    file.reading->is_final = true;
    Queue(file, *stat);
  }
}

void FileFollower::Note(const absl::Status& problem) {
  if (news_.problem.ok()) news_.problem = problem;
}

}  // namespace penstock::core
