// Times and durations between absl and google.protobuf.
#pragma once

#include <absl/time/time.h>

#include <optional>

namespace google::protobuf {
class Duration;
class Timestamp;
}  // namespace google::protobuf

namespace penstock::wire {

// Rounded towards zero to nanoseconds; beyond protobuf's range (years 1 to
// 9999, +-10,000 years): the nearest end of it.
google::protobuf::Timestamp TimeToProto(absl::Time time);
google::protobuf::Duration DurationToProto(absl::Duration duration);

// nullopt: out of protobuf's range, or signs or nanoseconds are wrong.
std::optional<absl::Time> TimeFromProto(
    const google::protobuf::Timestamp& time);
std::optional<absl::Duration> DurationFromProto(
    const google::protobuf::Duration& duration);

}  // namespace penstock::wire
