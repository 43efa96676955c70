#include "proto/wire/proto_time.h"

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <cstdint>

namespace penstock::wire {
namespace {

// Source: google/protobuf/{duration,timestamp}.proto.
constexpr int64_t kDurationSecondsMax = 315'576'000'000;
constexpr int64_t kTimestampSecondsMin = -62'135'596'800;
constexpr int64_t kTimestampSecondsMax = 253'402'300'799;
constexpr int32_t kNanosMax = 999'999'999;

}  // namespace

google::protobuf::Duration DurationToProto(absl::Duration duration) {
  google::protobuf::Duration result;
  const absl::Duration limit = absl::Seconds(kDurationSecondsMax);
  duration = std::clamp(duration, -limit, limit);
  absl::Duration rest;
  result.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  result.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  return result;
}

google::protobuf::Timestamp TimeToProto(absl::Time time) {
  google::protobuf::Timestamp result;
  time = std::clamp(time, absl::FromUnixSeconds(kTimestampSecondsMin),
                    absl::FromUnixSeconds(kTimestampSecondsMax) +
                        absl::Nanoseconds(kNanosMax));
  // Floor, so that nanoseconds count forward, also before 1970.
  const int64_t seconds = absl::ToUnixSeconds(time);
  result.set_seconds(seconds);
  result.set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  return result;
}

std::optional<absl::Time> TimeFromProto(
    const google::protobuf::Timestamp& time) {
  if (time.seconds() < kTimestampSecondsMin ||
      time.seconds() > kTimestampSecondsMax || time.nanos() < 0 ||
      time.nanos() > kNanosMax) {
    return std::nullopt;
  }
  return absl::FromUnixSeconds(time.seconds()) +
         absl::Nanoseconds(time.nanos());
}

std::optional<absl::Duration> DurationFromProto(
    const google::protobuf::Duration& duration) {
  const int64_t seconds = duration.seconds();
  const int32_t nanos = duration.nanos();
  if (seconds < -kDurationSecondsMax || seconds > kDurationSecondsMax ||
      nanos < -kNanosMax || nanos > kNanosMax) {
    return std::nullopt;
  }
  if ((seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0)) {
    return std::nullopt;
  }
  return absl::Seconds(seconds) + absl::Nanoseconds(nanos);
}

}  // namespace penstock::wire
