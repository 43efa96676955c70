// Reads resume metadata (seek JSON) that a source gave out earlier.
#pragma once

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// One JSON value inside resume metadata; knows the path that led to it, so
// that an error says what is wrong and where.
//
//   ASSIGN_OR_RETURN(ResumeInfo info, ParseResumeInfo(metadata));
//   ASSIGN_OR_RETURN(int64_t end, info.root()["offsets"]["end"].Int64());
//
// A missing member is no error before it is read: chains need no checks.
//
// Threads:  thread-compatible. Lifetime: as long as the ResumeInfo it is from.
// Errors:   MALFORMED_FRAME, quoting the state, the path and what is wrong.
class ResumeValue {
 public:
  // The member `name` of an object.
  ResumeValue operator[](absl::string_view name) const;

  // Present and not null.
  bool HasValue() const;

  // Exact: 64-bit integers never pass through a double; 1.0 is no integer.
  absl::StatusOr<int64_t> Int64() const;
  absl::StatusOr<uint64_t> Uint64() const;
  absl::StatusOr<bool> Bool() const;
  absl::StatusOr<std::string> String() const;
  // The elements of an array, in order. O(n).
  absl::StatusOr<std::vector<ResumeValue>> Elements() const;
  // The members of an object, in order. O(n).
  absl::StatusOr<std::vector<std::pair<std::string, ResumeValue>>> Members()
      const;

  // The error for a value that was read but makes no sense: `problem` is a
  // clause such as "is below 0".
  absl::Status Invalid(absl::string_view problem) const;

 private:
  friend class ResumeInfo;
  using Element = simdjson::simdjson_result<simdjson::dom::element>;

  ResumeValue(const std::string* text, std::string path, Element element)
      : text_(text), path_(std::move(path)), element_(element) {}
  template <typename T>
  absl::StatusOr<T> Get(absl::string_view expected) const;

  // Owned by the ResumeInfo.
  const std::string* text_;
  std::string path_;
  Element element_;
};

// Parsed resume metadata. Owner: whoever parsed it. Threads:
// thread-compatible. Move-only. Bound: about 8 times the text.
class ResumeInfo {
 public:
  ResumeInfo(ResumeInfo&&) noexcept;
  ResumeInfo& operator=(ResumeInfo&&) noexcept;
  ~ResumeInfo();

  // The whole value. Lifetime: this object's, also after it was moved.
  ResumeValue root() const;

 private:
  friend absl::StatusOr<ResumeInfo> ParseResumeInfo(absl::string_view);
  // Text and parser. Hidden, for the parser's layout depends on how simdjson
  // is configured where it is included.
  struct Document;
  explicit ResumeInfo(std::unique_ptr<Document> document);

  std::unique_ptr<Document> document_;
};

// Seed: `parse_resume_info`. Errors: MALFORMED_FRAME if `metadata` is no JSON:
// "unable to parse checkpointed connector state (checkpointed state: ...;
// parse error: ...)". The state is quoted up to 512 bytes.
absl::StatusOr<ResumeInfo> ParseResumeInfo(absl::string_view metadata);

}  // namespace penstock::core
