// The thorough way to tell what is wrong with a line.
#pragma once

#include "core/format/ndjson/json_token.h"
#include "core/format/ndjson/key_path.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::core {

// What is wrong with a document, and where.
struct JsonProblem {
  JsonFault fault = JsonFault::kNone;
  // Of the byte that is wrong, from the document's first byte.
  size_t position = 0;
  // "expected a value, found 'N'".
  std::string description;
  // Path of the value that is wrong or in which it is: "geo.tags[2]"; empty: in
  // no member or element.
  std::string field;
  // What to do about it; may be empty.
  std::string suggestion;
};

// Checks one document byte by byte; its verdict is the format's definition.
// Used for lines that the StructuralWalker does not call good, and for those
// too long for it.
//
// Owner:   a Check call. Threads: thread-compatible.
// Bound:   kJsonDepthMax levels; nothing recursive.
class LineChecker {
 public:
  // Tells `key`, if there is one, what it sees.
  // Lifetime: `text` and `key` outlive this.
  // Requires: text.size() < 2^32.
  explicit LineChecker(absl::string_view text, KeyTracker* key = nullptr)
      : text_(text), key_(key) {}

  // Whether `text` is exactly one JSON value. Once per object.
  JsonProblem Check();

 private:
  // A container that is open, and where the walk is in it.
  struct Level {
    bool is_array = false;
    // The element that is being read, or the member's raw name.
    size_t index = 0;
    absl::string_view name;
    KeyTracker::Member member = KeyTracker::Member::kElsewhere;
  };

  bool CheckUtf8();
  bool CheckDocument();
  // Each reads what its name says from at_ on; false: problem_ says why not.
  bool ReadValue(bool& opened);
  bool ReadContainerBegin();
  bool ReadMemberName();
  bool ReadScalar();
  bool ReadString();
  bool ReadNumber();
  bool ReadLiteral(absl::string_view literal);
  // Reads what follows a value: commas and ends, until another value must come
  // (at_ is then there) or the document is over.
  bool ReadAfterValue(bool& document_over);
  void CloseLevel();

  void SkipBlanks() {
    while (at_ < text_.size() && IsJsonBlank(text_[at_])) ++at_;
  }
  bool NextIs(char c) const { return at_ < text_.size() && text_[at_] == c; }
  // Always false.
  bool Fail(JsonFault fault, size_t position, std::string description,
            absl::string_view suggestion = "");
  bool FailExpecting(absl::string_view what);
  std::string Field() const;

  const absl::string_view text_;
  KeyTracker* const key_;
  size_t at_ = 0;
  std::vector<Level> levels_;
  JsonProblem problem_;
};

}  // namespace penstock::core
