#include "core/format/protobuf/protobuf_time.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/time/time.h>

#include <cstdlib>

namespace penstock::core {
namespace {

constexpr int32_t kNanosPerSecond = 1'000'000'000;

// With 0, 3, 6 or 9 digits.
void PrintFraction(int32_t nanos, std::string& to) {
  if (nanos == 0) return;
  if (nanos % 1'000'000 == 0) {
    absl::StrAppendFormat(&to, ".%03d", nanos / 1'000'000);
  } else if (nanos % 1'000 == 0) {
    absl::StrAppendFormat(&to, ".%06d", nanos / 1'000);
  } else {
    absl::StrAppendFormat(&to, ".%09d", nanos);
  }
}

}  // namespace

bool IsProtobufTimestamp(int64_t seconds, int32_t nanos) {
  constexpr int64_t kSecondsMin = -62'135'596'800;
  constexpr int64_t kSecondsMax = 253'402'300'799;
  return seconds >= kSecondsMin && seconds <= kSecondsMax && nanos >= 0 &&
         nanos < kNanosPerSecond;
}

void PrintProtobufTimestamp(int64_t seconds, int32_t nanos, std::string& to) {
  to += absl::FormatTime("%E4Y-%m-%dT%H:%M:%S", absl::FromUnixSeconds(seconds),
                         absl::UTCTimeZone());
  PrintFraction(nanos, to);
  to += 'Z';
}

bool PrintProtobufDuration(int64_t seconds, int32_t nanos, std::string& to) {
  constexpr int64_t kSecondsMax = 315'576'000'000;
  const bool is_within = seconds >= -kSecondsMax && seconds <= kSecondsMax &&
                         nanos > -kNanosPerSecond && nanos < kNanosPerSecond;
  const bool has_two_signs =
      (seconds < 0 && nanos > 0) || (seconds > 0 && nanos < 0);
  if (!is_within || has_two_signs) return false;
  if (seconds < 0 || nanos < 0) to += '-';
  absl::StrAppend(&to, std::abs(seconds));
  PrintFraction(std::abs(nanos), to);
  to += 's';
  return true;
}

}  // namespace penstock::core
