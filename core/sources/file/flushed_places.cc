#include "core/sources/file/flushed_places.h"

#include "core/base/check.h"

#include <utility>

namespace penstock::core {
namespace {

// What stands around a path: names of members and numbers.
constexpr size_t kMembersBytes = 224;

}  // namespace

FlushedPlaces::FlushedPlaces(const SourcePosition& position, Options options)
    : options_(options) {
  Follow(position);
}

size_t FlushedPlaces::BytesOf(const FilePosition& file) {
  return kMembersBytes + file.path.size();
}

std::vector<FilePosition> FlushedPlaces::Flush(std::vector<Moved> taken,
                                               uint32_t next_id) {
  for (const uint32_t id : std::exchange(leaving_, {})) files_.erase(id);
  for (auto& [id, file] : files_) file.start = file.end;
  std::map<uint32_t, uint64_t> starts;
  for (Moved& one : taken) {
    const uint32_t id = one.file.id;
    if (one.is_forgotten) {
      // What the step took from it is to be replayed: it leaves with the next.
      if (starts.count(id) > 0) {
        leaving_.insert(id);
      } else {
        files_.erase(id);
      }
      continue;
    }
    const auto before = files_.find(id);
    const uint64_t here = before == files_.end() ? 0 : before->second.end;
    one.file.start = starts.try_emplace(id, here).first->second;
    files_.insert_or_assign(id, std::move(one.file));
  }
  next_id_ = next_id;
  std::vector<FilePosition> moved;
  moved.reserve(starts.size());
  for (const auto& [id, start] : starts) moved.push_back(files_[id]);
  return moved;
}

void FlushedPlaces::Follow(const SourcePosition& step) {
  files_.clear();
  leaving_.clear();
  for (const FilePosition& file : step.files) files_[file.id] = file;
  next_id_ = step.next_id;
}

std::string FlushedPlaces::ToJson() const {
  if (options_.is_single) {
    CHECK_EQ(files_.size(), size_t{1});
    return files_.begin()->second.ToJson();
  }
  SourcePosition position{.next_id = next_id_};
  position.files.reserve(files_.size());
  for (const auto& [id, file] : files_) position.files.push_back(file);
  return position.ToJson();
}

}  // namespace penstock::core
