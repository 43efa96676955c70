#include "core/handoff/delivery.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

namespace penstock::core {
namespace {

absl::Status Refuse(absl::string_view field, absl::string_view problem) {
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("checking how to deliver: ", field, " ", problem),
      {{"field", absl::StrCat("delivery.", field)}});
}

absl::Status CheckRetry(const RetryPolicy& retry) {
  if (retry.initial <= absl::ZeroDuration()) {
    return Refuse("retry.backoff_initial", "must be above 0");
  }
  if (retry.max < retry.initial || retry.max == absl::InfiniteDuration()) {
    return Refuse("retry.backoff_max",
                  "must be finite, and at least retry.backoff_initial");
  }
  // Written so that NaN is refused, too.
  if (!(retry.multiplier >= 1 && retry.multiplier <= 1e6)) {
    return Refuse("retry.multiplier", "must be from 1 to 1,000,000");
  }
  if (!(retry.jitter >= 0 && retry.jitter <= 1)) {
    return Refuse("retry.jitter", "must be from 0 to 1");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckDelivery(const DeliveryOptions& options) {
  if (options.write_deadline <= absl::ZeroDuration() ||
      options.write_deadline == absl::InfiniteDuration()) {
    return Refuse("write_deadline", "must be above 0 and finite");
  }
  if (options.batch_rows_max == 0) {
    return Refuse("batch_rows_max", "must be above 0");
  }
  if (options.batch_bytes_max == 0) {
    return Refuse("batch_bytes_max", "must be above 0");
  }
  if (options.batch_linger < absl::ZeroDuration() ||
      options.batch_linger == absl::InfiniteDuration()) {
    return Refuse("batch_linger", "must not be negative, and be finite");
  }
  if (options.writes_in_flight_max == 0u) {
    return Refuse("writes_in_flight_max", "must be above 0");
  }
  RETURN_IF_ERROR(CheckRetry(options.retry));
  return Breaker::Check(options.breaker);
}

}  // namespace penstock::core
