// Which member of a document is the record's key, and how it is found.
#pragma once

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// Member names from the root object inwards. Constant, never empty.
class KeyPath {
 public:
  // Errors: INVALID_CONFIG for an empty path or an empty name in it.
  static absl::StatusOr<KeyPath> Parse(absl::string_view text);
  // That of a format's configuration, which may have none.
  static absl::StatusOr<std::optional<KeyPath>> ParseIfAny(
      const std::optional<std::string>& text);

  size_t size() const { return names_.size(); }
  // Those of `path`, none if there is none.
  static std::vector<std::string> NamesOf(const std::optional<KeyPath>& path) {
    return path.has_value() ? path->names_ : std::vector<std::string>();
  }
  // Whether a member name, as it stands between its quotes, is the one at
  // `index`. `has_escapes`: there may be a backslash in it.
  // Requires: index < size(); its escapes are good.
  bool NameIs(size_t index, absl::string_view raw, bool has_escapes) const {
    const std::string& name = names_[index];
    // What is escaped is longer than what it stands for.
    if (raw.size() <= name.size()) {
      return raw == name && (!has_escapes || !HasBackslash(name));
    }
    return has_escapes && UnescapedIs(raw, name);
  }

 private:
  explicit KeyPath(std::vector<std::string> names) : names_(std::move(names)) {}

  static bool HasBackslash(absl::string_view text) {
    return text.find('\\') != absl::string_view::npos;
  }
  static bool UnescapedIs(absl::string_view raw, absl::string_view name);

  std::vector<std::string> names_;
};

// Where a key stands in a text.
struct KeyToken {
  uint32_t begin = 0;
  uint32_t size = 0;
  // A string, number or boolean was found.
  bool found = false;
  // It is a string with a backslash in it.
  bool is_escaped = false;
};

// Follows a walk over one document and remembers the value at the path. Of
// members with the same name the last one counts, as it does for most readers
// of JSON. Arrays are not entered.
// Owner:    a walk. Threads: thread-compatible. Outlived by `path`.
// Requires: calls in the order of the document.
class KeyTracker {
 public:
  enum class Member { kElsewhere, kOnTheWay, kKey };

  // `has_escapes`: the document has a backslash, and its escapes are good.
  KeyTracker(const KeyPath& path, bool has_escapes)
      : path_(path), has_escapes_(has_escapes) {}

  // A member of an object at `depth` (the root has 1) has this raw name. What
  // it says must be told to OnObject or OnScalar if the value is one.
  Member OnMember(uint32_t depth, absl::string_view raw_name) {
    if (depth != matched_ + 1) return Member::kElsewhere;
    if (!path_.NameIs(matched_, raw_name, has_escapes_))
      return Member::kElsewhere;
    token_ = {};
    return depth == path_.size() ? Member::kKey : Member::kOnTheWay;
  }
  // The value of `member` is an object, which begins here.
  void OnObject(Member member) {
    if (member == Member::kOnTheWay) ++matched_;
  }
  // An object at `depth` ends.
  void OnObjectEnd(uint32_t depth) {
    if (matched_ > 0 && depth == matched_ + 1) --matched_;
  }
  // The value of a kKey member is `scalar`, which begins at `begin` in its
  // text. The key is a string's content, a number or boolean as it is written;
  // null is none. Requires: a good scalar.
  // It writes each field where it stays: as a struct that is returned they are
  // read back while they are still being stored, which takes longer than all
  // the rest.
  void OnKey(absl::string_view scalar, uint32_t begin) {
    const char first = scalar.front();
    if (first == 'n') return;
    const uint32_t quote = first == '"' ? 1 : 0;
    token_.begin = begin + quote;
    token_.size = static_cast<uint32_t>(scalar.size()) - 2 * quote;
    token_.found = true;
    token_.is_escaped = has_escapes_ && quote == 1 &&
                        scalar.find('\\') != absl::string_view::npos;
  }

  const KeyToken& token() const { return token_; }

 private:
  const KeyPath& path_;
  const bool has_escapes_;
  // How many names of the path led to the innermost object on it.
  uint32_t matched_ = 0;
  KeyToken token_;
};

}  // namespace penstock::core
