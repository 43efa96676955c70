// Hints for a source that follows files: when to look before it is time to.
#pragma once

#include "core/base/directory_events.h"
#include "core/base/filesystem.h"
#include "core/sources/file/file_finder.h"
#include "core/sources/file/file_table.h"

#include <absl/time/time.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace penstock::core {

// Watches the directories that a search looked into, and those where symbolic
// links lead that it found. What is done with files is up to searches alone:
// here is only told whether one may wait.
//
// Owner:   a reader's tasks. Threads: thread-compatible; `on_change` is called
//          on another thread, also shortly after this is destroyed. Blocks: as
//          the disk does.
// Bound:   kPlacesMax places.
class FileWatches {
 public:
  static constexpr size_t kPlacesMax = 1024;
  // Files that are not known yet and may be links, each looked at in each
  // search.
  static constexpr size_t kUnknownMax = 256;
  // After which each is asked for anew: its path may lead elsewhere.
  static constexpr absl::Duration kRenewAfter = absl::Seconds(5);

  // `events` null: there are no hints. All outlive this.
  FileWatches(FileSystem& files, DirectoryEvents* events)
      : files_(files), events_(events) {}

  void BeginSearch();
  // `known`: what is found there, or null.
  void Note(const FoundFile& found, KnownFile* known);
  // `on_change` is called when something happens at one of the places.
  void EndSearch(const FileFinder& finder, absl::Time now,
                 const std::function<void()>& on_change);

  // Whatever happens to what the last search looked at, there will be a hint,
  // and that was so when the search began.
  bool AreComplete() const { return are_complete_ && were_complete_; }
  size_t watched() const { return watches_.size(); }
  // Places of the last search that nobody watches.
  size_t unwatched() const { return unwatched_; }

 private:
  // A directory, and a name in it; empty: all of them.
  using Place = std::pair<std::string, std::string>;

  void Want(Place place);
  // Where `path` leads, if not to a name in its own directory.
  std::string LinkOf(const std::string& path);

  FileSystem& files_;
  DirectoryEvents* const events_;

  std::map<Place, std::unique_ptr<DirectoryEvents::Watch>> watches_;
  absl::Time renewed_ = absl::InfinitePast();
  size_t unwatched_ = 0;
  bool are_complete_ = false;
  bool were_complete_ = false;

  // Of the search that runs.
  std::set<Place> wanted_;
  size_t unwanted_ = 0;
  size_t links_ = 0;
  size_t unknown_ = 0;
  // The directory that was resolved last, and to what.
  std::pair<std::string, std::string> resolved_;
};

}  // namespace penstock::core
