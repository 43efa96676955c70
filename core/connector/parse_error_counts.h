// Bad records by what is wrong with them.
#pragma once

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace penstock::core {

// Owner: whoever counts. Threads: thread-compatible. Bound: kTagsMax tags, the
// rest share "other": each is a series in every scrape.
class ParseErrorCounts {
 public:
  static constexpr size_t kTagsMax = 16;

  void Add(absl::string_view tag) {
    auto found = by_tag_.find(tag);
    if (found == by_tag_.end()) {
      const bool is_other = tag.empty() || by_tag_.size() >= kTagsMax;
      found = by_tag_.try_emplace(is_other ? "other" : std::string(tag)).first;
    }
    ++found->second;
  }
  // Tags that occurred.
  const std::map<std::string, uint64_t, std::less<>>& by_tag() const {
    return by_tag_;
  }

 private:
  std::map<std::string, uint64_t, std::less<>> by_tag_;
};

}  // namespace penstock::core
