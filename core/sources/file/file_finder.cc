#include "core/sources/file/file_finder.h"

#include "core/base/error.h"

#include <absl/status/statusor.h>

#include <algorithm>
#include <tuple>

namespace penstock::core {

FileFinder::FileFinder(FileSystem& files, PathPattern pattern, FileOrder order,
                       const PathPolicy* paths)
    : files_(files),
      paths_(paths),
      pattern_(std::move(pattern)),
      order_(order) {}

void FileFinder::Begin() {
  places_.assign(1, Place{.directory = pattern_.root(), .part = 0, .depth = 0});
  names_.clear();
  entered_.clear();
  found_.clear();
  looked_.clear();
  problem_ = absl::OkStatus();
}

bool FileFinder::Step() {
  if (names_.empty() && !places_.empty()) {
    Place next = std::move(places_.back());
    places_.pop_back();
    Enter(std::move(next));
  }
  for (size_t i = 0; i < kNamesPerStep && !names_.empty(); ++i) {
    Visit(current_, names_.front());
    names_.pop_front();
  }
  return names_.empty() && places_.empty();
}

void FileFinder::Enter(Place place) {
  current_ = std::move(place);
  const PathPattern::Part& part = PartOf(current_);
  looked_.push_back({.directory = current_.directory,
                     .name = part.has_wildcard ? "" : part.text});
  if (!part.has_wildcard) {
    names_.push_back(part.text);
    return;
  }
  if (part.is_any_directories) {
    const absl::StatusOr<FileStat> stat = files_.Stat(current_.directory);
    if (!stat.ok()) return Note(stat.status());
    const Entered here = {
        .part = current_.part, .device = stat->device, .inode = stat->inode};
    if (!entered_.insert(here).second) return;
  }
  absl::StatusOr<std::vector<std::string>> names =
      files_.List(current_.directory);
  if (!names.ok()) return Note(names.status());
  // The same names once more, for what stands behind the `**`.
  if (part.is_any_directories && !IsLast(current_)) {
    places_.push_back({.directory = current_.directory,
                       .part = current_.part + 1,
                       .depth = current_.depth});
  }
  for (std::string& name : *names) {
    // As `*`, it leaves hidden ones out.
    const bool matches =
        part.is_any_directories ? name[0] != '.' : part.Matches(name);
    if (matches) names_.push_back(std::move(name));
  }
}

void FileFinder::Visit(const Place& place, const std::string& name) {
  std::string path =
      place.directory == "." ? name : JoinPath(place.directory, name);
  const absl::StatusOr<FileStat> stat = files_.Stat(path);
  if (!stat.ok()) return Note(stat.status());
  const bool is_any = PartOf(place).is_any_directories;
  if (stat->type == FileType::kRegular && IsLast(place)) {
    found_.push_back({.path = std::move(path), .stat = *stat});
  } else if (stat->type == FileType::kDirectory) {
    if (place.depth >= kDepthMax || (IsLast(place) && !is_any)) return;
    if (is_any && paths_ != nullptr &&
        HasReason(paths_->Check(files_, path), Reason::PATH_NOT_ALLOWED)) {
      return;
    }
    places_.push_back({.directory = std::move(path),
                       .part = is_any ? place.part : place.part + 1,
                       .depth = place.depth + 1});
  }
}

void FileFinder::Note(const absl::Status& status) {
  if (problem_.ok() && !HasReason(status, Reason::NOT_FOUND)) problem_ = status;
}

std::vector<FoundFile> FileFinder::Take() {
  std::sort(found_.begin(), found_.end(),
            [this](const FoundFile& a, const FoundFile& b) {
              if (order_ == FileOrder::kModified) {
                return std::tie(a.stat.mtime, a.path) <
                       std::tie(b.stat.mtime, b.path);
              }
              return a.path < b.path;
            });
  return std::exchange(found_, {});
}

std::vector<FoundFile> FileFinder::FindAll() {
  Begin();
  while (!Step()) {
  }
  return Take();
}

}  // namespace penstock::core
