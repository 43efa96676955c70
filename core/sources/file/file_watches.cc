#include "core/sources/file/file_watches.h"

namespace penstock::core {

void FileWatches::BeginSearch() {
  wanted_.clear();
  unwanted_ = 0;
  links_ = 0;
  unknown_ = 0;
  resolved_ = {};
}

void FileWatches::Want(Place place) {
  if (wanted_.size() < kPlacesMax || wanted_.count(place) > 0) {
    wanted_.insert(std::move(place));
  } else {
    ++unwanted_;
  }
}

std::string FileWatches::LinkOf(const std::string& path) {
  const std::string directory(DirectoryOf(path));
  if (resolved_.first != directory) {
    resolved_ = {directory, files_.RealPath(directory).value_or("")};
  }
  const std::string real = files_.RealPath(path).value_or("");
  const bool is_link =
      real != JoinPath(resolved_.second, std::string(BaseNameOf(path)));
  return is_link ? real : "";
}

void FileWatches::Note(const FoundFile& found, KnownFile* known) {
  if (events_ == nullptr) return;
  std::string link;
  if (known == nullptr) {
    if (++unknown_ <= kUnknownMax) link = LinkOf(found.path);
  } else {
    if (known->resolved_inode != found.stat.inode) {
      known->link = LinkOf(found.path);
      known->resolved_inode = found.stat.inode;
    }
    link = known->link;
  }
  if (link.empty()) return;
  ++links_;
  Want({std::string(DirectoryOf(link)), std::string(BaseNameOf(link))});
}

void FileWatches::EndSearch(const FileFinder& finder, absl::Time now,
                            const std::function<void()>& on_change) {
  if (events_ == nullptr) return;
  for (const FileFinder::Looked& looked : finder.looked()) {
    Want({looked.directory, looked.name});
  }
  std::erase_if(watches_, [this](const auto& watch) {
    return wanted_.count(watch.first) == 0;
  });
  const bool renews = now - renewed_ >= kRenewAfter;
  if (renews) renewed_ = now;
  bool is_new = false;
  unwatched_ = unwanted_;
  for (const Place& place : wanted_) {
    const auto [it, is_added] = watches_.try_emplace(place);
    if (!is_added && !renews && it->second->IsAlive()) continue;
    is_new = is_new || is_added || !it->second->IsAlive();
    it->second = events_->WatchDirectory(place.first, place.second, on_change);
    if (it->second != nullptr) continue;
    watches_.erase(it);
    ++unwatched_;
  }
  were_complete_ = are_complete_ && !is_new;
  // A link may be made to lead elsewhere where nobody watches.
  are_complete_ = unwatched_ == 0 && links_ == 0 && unknown_ <= kUnknownMax;
}

}  // namespace penstock::core
