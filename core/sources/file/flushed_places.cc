#include "core/sources/file/flushed_places.h"

#include "core/base/check.h"
#include "core/base/checksum.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::core {
namespace {

// What stands around a path: names of members and numbers.
constexpr size_t kMembersBytes = 224;

// Beside all files there is little room; beside a change, whose watermarks are
// no longer than itself, for half of a result and something to spare.
constexpr size_t kMovedBesideAllMax = size_t{32} << 10;
constexpr size_t kMovedAloneMax = size_t{120} << 10;

// As JSON, in which one byte of a path may take six.
size_t QuotedBytes(const std::string& text) {
  size_t bytes = text.size();
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      bytes += 5;
    } else if (c == '"' || c == '\\') {
      ++bytes;
    }
  }
  return bytes;
}

// Of a file's place, without the range that led to it.
uint64_t DigestOf(const FilePosition& file) {
  FilePosition place = file;
  place.start = place.end;
  std::string text = absl::StrCat(file.id, ":");
  place.AppendMembers(text);
  return Checksum64(text);
}

}  // namespace

FlushedPlaces::FlushedPlaces(const SourcePosition& position, Options options)
    : options_(options) {
  CHECK(!position.is_change);
  Follow(position);
}

size_t FlushedPlaces::BytesOf(const FilePosition& file) {
  return kMembersBytes + QuotedBytes(file.path);
}

size_t FlushedPlaces::MovedBytesMax() const {
  return bytes_ > kWholeBytesMax ? kMovedAloneMax : kMovedBesideAllMax;
}

void FlushedPlaces::Put(FilePosition file) {
  bytes_ += BytesOf(file);
  digest_ ^= DigestOf(file);
  const auto [place, is_new] = files_.try_emplace(file.id);
  if (!is_new) {
    bytes_ -= BytesOf(place->second);
    digest_ ^= DigestOf(place->second);
  }
  place->second = std::move(file);
}

bool FlushedPlaces::Erase(uint32_t id) {
  const auto file = files_.find(id);
  if (file == files_.end()) return false;
  bytes_ -= BytesOf(file->second);
  digest_ ^= DigestOf(file->second);
  files_.erase(file);
  gone_.insert(id);
  return true;
}

void FlushedPlaces::EndRanges() {
  for (const uint32_t id : std::exchange(read_, {})) {
    const auto file = files_.find(id);
    if (file != files_.end()) file->second.start = file->second.end;
  }
}

std::vector<FilePosition> FlushedPlaces::Flush(std::vector<Moved> taken,
                                               uint32_t next_id) {
  const bool was_large = bytes_ > kWholeBytesMax;
  before_ = digest_;
  gone_.clear();
  EndRanges();
  std::set<uint32_t> leaving = std::exchange(leaving_, {});
  std::vector<FilePosition> moved;
  std::map<uint32_t, uint64_t> starts;
  for (Moved& one : taken) {
    const uint32_t id = one.file.id;
    if (one.is_forgotten) {
      // What the step took from it is to be replayed: it leaves with the next.
      if (starts.count(id) > 0) {
        leaving_.insert(id);
      } else if (Erase(id)) {
        one.file.start = one.file.end;
        moved.push_back(std::move(one.file));
      }
      continue;
    }
    const auto before = files_.find(id);
    const uint64_t here = before == files_.end() ? 0 : before->second.end;
    one.file.start = starts.try_emplace(id, here).first->second;
    read_.insert(id);
    Put(std::move(one.file));
  }
  moved.reserve(moved.size() + starts.size());
  for (const auto& [id, start] : starts) moved.push_back(files_[id]);
  if (moved.empty()) {
    // There may be no step, which would have to say that they left.
    leaving_ = std::move(leaving);
  } else {
    for (const uint32_t id : leaving) Erase(id);
  }
  next_id_ = next_id;
  // What was taken was allowed by what there was before.
  is_change_ = was_large || bytes_ > kWholeBytesMax;
  return moved;
}

void FlushedPlaces::Follow(const SourcePosition& step) {
  before_ = digest_;
  EndRanges();
  leaving_.clear();
  gone_.clear();
  if (!step.is_change) {
    files_.clear();
    bytes_ = 0;
    digest_ = 0;
  }
  for (const uint32_t id : step.gone) Erase(id);
  for (const FilePosition& file : step.files) {
    if (file.start != file.end) read_.insert(file.id);
    Put(file);
  }
  next_id_ = step.next_id;
  is_change_ = step.is_change;
}

SourcePosition FlushedPlaces::Whole() const {
  SourcePosition position{.next_id = next_id_};
  position.files.reserve(files_.size());
  for (const auto& [id, file] : files_) position.files.push_back(file);
  return position;
}

SourcePosition FlushedPlaces::LastChange() const {
  SourcePosition change{
      .next_id = next_id_, .is_change = true, .before = before_};
  for (const uint32_t id : read_) change.files.push_back(files_.at(id));
  change.gone.assign(gone_.begin(), gone_.end());
  return change;
}

std::string FlushedPlaces::ToJson() const {
  if (options_.is_single) {
    CHECK_EQ(files_.size(), size_t{1});
    return files_.begin()->second.ToJson();
  }
  return (is_change_ ? LastChange() : Whole()).ToJson();
}

std::optional<Resume::Change> FlushedPlaces::ChangeOf(
    bool whole_is_asked) const {
  if (!is_change_) return std::nullopt;
  Resume::Change change;
  if (whole_is_asked) change.whole = Whole().ToJson();
  return change;
}

}  // namespace penstock::core
