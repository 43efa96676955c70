// What is wrong with a configuration or a request, field by field.
// See proto/wire/README.md.
#pragma once

#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <string>
#include <vector>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace penstock::wire {

// google.rpc.BadRequest.FieldViolation as a value.
struct FieldViolation {
  // Path from the request or file: `connectors[0].sink.file.path`.
  std::string field;
  // What is wrong and what would be right, for people.
  std::string description;
  // UPPER_SNAKE name of the rule: one of those below. May be empty.
  std::string reason;

  friend bool operator==(const FieldViolation&,
                         const FieldViolation&) = default;
};

inline constexpr absl::string_view kRequired = "REQUIRED";
inline constexpr absl::string_view kOutOfRange = "OUT_OF_RANGE";
inline constexpr absl::string_view kMalformed = "MALFORMED";
inline constexpr absl::string_view kUnknownField = "UNKNOWN_FIELD";
inline constexpr absl::string_view kUnknownValue = "UNKNOWN_VALUE";
inline constexpr absl::string_view kUnspecified = "UNSPECIFIED";
inline constexpr absl::string_view kUnsupportedField = "UNSUPPORTED";
inline constexpr absl::string_view kContradiction = "CONTRADICTION";

// Collects violations.
// Threads: thread-compatible.
// Bound:   keeps the first 100, counts all.
class Violations {
 public:
  static constexpr size_t kKeptMax = 100;

  void Add(std::string field, std::string description,
           absl::string_view reason);
  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  const std::vector<FieldViolation>& kept() const { return kept_; }

  // OK if there are none. Otherwise an error of `reason` whose message says
  // the first and how many there are, with metadata "field" and all that were
  // kept; UNSUPPORTED instead of `reason` if every one is kUnsupportedField.
  absl::Status ToStatus(core::Reason reason) const;

 private:
  std::vector<FieldViolation> kept_;
  size_t count_ = 0;
  size_t unsupported_count_ = 0;
};

// Attaches violations to an error (StatusToProto makes a BadRequest of them).
// OK statuses are returned unchanged.
absl::Status WithViolations(absl::Status status,
                            const std::vector<FieldViolation>& violations);
// Empty: none, or the payload does not decode.
std::vector<FieldViolation> GetViolations(const absl::Status& status);

// Adds kUnknownField for every field in `message` and below that this program
// does not know, named by the path of its message and its number: `sink.#17`.
// `path` is the message's own; empty for the root.
void AddUnknownFields(const google::protobuf::Message& message,
                      absl::string_view path, Violations& violations);

// "`path`.`name`", or `name` if `path` is empty.
std::string JoinPath(absl::string_view path, absl::string_view name);

}  // namespace penstock::wire
