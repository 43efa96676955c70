// Finds the files that a pattern names now.
#pragma once

#include "core/base/filesystem.h"
#include "core/base/path_policy.h"
#include "core/sources/file/config.h"
#include "core/sources/file/path_pattern.h"

#include <absl/status/status.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

struct FoundFile {
  std::string path;
  FileStat stat;
};

// Walks the directories, a few names at a time, so that whoever has many files
// holds back nobody (INV-13).
//
// Owner:   a file source. Threads: thread-compatible.
// Bound:   the names of a directory, what it found, and the numbers of the
//          directories below a `**`: each is looked into once, by whichever of
//          its names comes first, so that a circle of links ends. Nothing
//          deeper than kDepthMax is looked into.
class FileFinder {
 public:
  static constexpr size_t kDepthMax = 32;
  // What one Step looks at.
  static constexpr size_t kNamesPerStep = 1024;

  // `files` and `paths` outlive this. A `**` passes over directories that
  // `paths` does not allow: a link must not lead it through the whole machine.
  // Null: everything is allowed. Whoever opens a file checks it himself.
  FileFinder(FileSystem& files, PathPattern pattern, FileOrder order,
             const PathPolicy* paths = nullptr);

  // Starts a new search.
  void Begin();
  // Goes on; true: the search is over. Blocks: as the disk does, for at most
  // one directory and kNamesPerStep names.
  bool Step();
  // After a search: what it found, plain files only, in order.
  std::vector<FoundFile> Take();
  // What the search looked at: names in directories, or, where the name is
  // empty, all that are in one.
  struct Looked {
    std::string directory;
    std::string name;
  };
  const std::vector<Looked>& looked() const { return looked_; }
  // All at once.
  std::vector<FoundFile> FindAll();
  // After a search: the first directory or name that could not be looked at;
  // one that is not there is no problem.
  const absl::Status& problem() const { return problem_; }

 private:
  // A directory to look into, for the part of the pattern that names in it are
  // to match.
  struct Place {
    std::string directory;
    size_t part = 0;
    size_t depth = 0;
  };

  void Enter(Place place);
  // Looks at `name` in `place`.
  void Visit(const Place& place, const std::string& name);
  void Note(const absl::Status& status);
  const PathPattern::Part& PartOf(const Place& place) const {
    return pattern_.parts()[place.part];
  }
  bool IsLast(const Place& place) const {
    return place.part + 1 == pattern_.parts().size();
  }

  FileSystem& files_;
  const PathPolicy* const paths_;
  const PathPattern pattern_;
  const FileOrder order_;

  std::vector<Place> places_;
  // The names of one place that are still to be looked at.
  Place current_;
  std::deque<std::string> names_;
  // Directories that a part of the pattern, a `**`, was entered with.
  struct Entered {
    size_t part = 0;
    uint64_t device = 0;
    uint64_t inode = 0;
    friend auto operator<=>(const Entered&, const Entered&) = default;
  };
  std::set<Entered> entered_;
  std::vector<FoundFile> found_;
  std::vector<Looked> looked_;
  absl::Status problem_;
};

}  // namespace penstock::core
