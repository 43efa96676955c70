#include "client/cli/multiset_check.h"

#include "core/base/check.h"
#include "core/base/checksum.h"

#include <algorithm>

namespace penstock::client {
namespace {

constexpr int kOffsetBits = 48;
constexpr uint64_t kOffsetMask = (uint64_t{1} << kOffsetBits) - 1;

}  // namespace

void MultisetCheck::AddInput(uint32_t partition, uint64_t offset,
                             absl::string_view record) {
  CHECK_LT(partition, uint32_t{1} << 16);
  CHECK_LE(offset, kOffsetMask);
  partitions_ = std::max(partitions_, partition + 1);
  entries_.push_back({core::Checksum64(record),
                      (uint64_t{partition} << kOffsetBits) | offset});
}

void MultisetCheck::EndInput() {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) {
              return a.hash != b.hash ? a.hash < b.hash : a.place < b.place;
            });
  used_.assign(entries_.size(), 0);
  BeginShard();
}

void MultisetCheck::BeginShard() { last_.assign(partitions_, 0); }

void MultisetCheck::AddOutput(const std::string& path, uint64_t offset,
                              absl::string_view record) {
  ++records_out_;
  const uint64_t hash = core::Checksum64(record);
  auto entry = std::lower_bound(
      entries_.begin(), entries_.end(), hash,
      [](const Entry& a, uint64_t wanted) { return a.hash < wanted; });
  if (entry == entries_.end() || entry->hash != hash) {
    ++foreign_;
    return Find(Finding::Kind::kForeign, path, offset);
  }
  // Equal records are interchangeable: they are used up in input order.
  const auto first = static_cast<size_t>(entry - entries_.begin());
  const size_t next = first + used_[first];
  if (next >= entries_.size() || entries_[next].hash != hash) {
    ++doubled_;
    return Find(Finding::Kind::kDoubled, path, offset);
  }
  ++used_[first];
  const uint64_t found = entries_[next].place;
  uint64_t& last = last_[found >> kOffsetBits];
  // Places are compared plus one, so that zero means "none yet".
  const uint64_t place = (found & kOffsetMask) + 1;
  if (place < last) {
    ++disordered_;
    return Find(Finding::Kind::kDisordered, path, offset);
  }
  last = place;
}

std::vector<MultisetCheck::Missing> MultisetCheck::Finish() const {
  std::vector<uint64_t> places;
  for (size_t first = 0; first < entries_.size();) {
    size_t end = first;
    while (end < entries_.size() &&
           entries_[end].hash == entries_[first].hash) {
      ++end;
    }
    for (size_t i = first + used_[first]; i < end; ++i) {
      places.push_back(entries_[i].place);
    }
    first = end;
  }
  std::sort(places.begin(), places.end());
  std::vector<Missing> missing;
  for (const uint64_t place : places) {
    missing.push_back(
        {static_cast<uint32_t>(place >> kOffsetBits), place & kOffsetMask});
  }
  return missing;
}

void MultisetCheck::Find(Finding::Kind kind, const std::string& path,
                         uint64_t offset) {
  if (findings_.size() < findings_max_) {
    findings_.push_back({kind, path, offset});
  }
}

}  // namespace penstock::client
