// One message's optional fields, checked and defaulted.
// See proto/wire/README.md.
#pragma once

#include "proto/wire/proto_time.h"
#include "proto/wire/violations.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>
#include <google/protobuf/duration.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace penstock::wire {

// Saturates far above what any machine has, so that sums do not wrap.
inline constexpr uint64_t kBytesMax = uint64_t{1} << 56;

// The optional field `name` of `message`.
#define PENSTOCK_GIVEN(message, name) \
  ((message).has_##name() ? std::optional((message).name()) : std::nullopt)

// Reads the fields of one message, named below `path`.
//
// Threads:  thread-compatible. Lifetime: `violations` outlives it.
class FieldReader {
 public:
  FieldReader(std::string path, Violations& violations)
      : path_(std::move(path)), violations_(violations) {}

  // Each `given`: the field's value, nullopt if the message has none; returns
  // what holds.
  uint64_t Number(absl::string_view name, std::optional<uint64_t> given,
                  uint64_t by_default, uint64_t min, uint64_t max) {
    if (!given.has_value()) return by_default;
    if (*given >= min && *given <= max) return *given;
    const std::string range = max == kBytesMax || max == UINT64_MAX
                                  ? absl::StrCat("at least ", min)
                                  : absl::StrCat("from ", min, " to ", max);
    Add(name, absl::StrCat("is ", *given, ", must be ", range), kOutOfRange);
    return by_default;
  }

  double Real(absl::string_view name, std::optional<double> given,
              double by_default, double min, double max) {
    if (!given.has_value()) return by_default;
    // Written so that NaN is refused, too.
    if (*given >= min && *given <= max) return *given;
    Add(name, absl::StrCat("is ", *given, ", must be from ", min, " to ", max),
        kOutOfRange);
    return by_default;
  }

  absl::Duration Time(absl::string_view name,
                      std::optional<google::protobuf::Duration> given,
                      absl::Duration by_default,
                      absl::Duration min = absl::ZeroDuration(),
                      absl::Duration max = absl::InfiniteDuration()) {
    if (!given.has_value()) return by_default;
    const std::optional<absl::Duration> value = DurationFromProto(*given);
    if (value.has_value() && *value >= min && *value <= max) return *value;
    std::string range = "a time span that is not negative";
    if (max != absl::InfiniteDuration()) {
      range = absl::StrCat("a time span from ", absl::FormatDuration(min),
                           " to ", absl::FormatDuration(max));
    }
    Add(name, absl::StrCat("must be ", range), kOutOfRange);
    return by_default;
  }

  // A field that this version has only the default of.
  template <typename T>
  void OnlyDefault(absl::string_view name, const std::optional<T>& given,
                   const T& by_default) {
    if (!given.has_value() || *given == by_default) return;
    Add(name, "cannot be changed in this version; leave it out",
        kUnsupportedField);
  }

  void Add(absl::string_view name, std::string description,
           absl::string_view reason) {
    violations_.Add(Path(name), std::move(description), reason);
  }
  std::string Path(absl::string_view name) const {
    return JoinPath(path_, name);
  }
  Violations& violations() { return violations_; }

 private:
  const std::string path_;
  Violations& violations_;
};

}  // namespace penstock::wire
