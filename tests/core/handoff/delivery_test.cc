#include "core/handoff/delivery.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace penstock::core {
namespace {

TEST(CheckDeliveryTest, TheDefaultsAreGood) {
  EXPECT_OK(CheckDelivery(DeliveryOptions()));
}

// Each makes one field of the defaults wrong.
struct Wrong {
  const char* name;
  void (*change)(DeliveryOptions&);
  const char* field;
};
class WrongDeliveryTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongDeliveryTest, IsRefusedByName) {
  DeliveryOptions options;
  GetParam().change(options);
  const absl::Status status = CheckDelivery(options);
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("field"),
            std::string("delivery.") + GetParam().field);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongDeliveryTest,
    ::testing::Values(
        Wrong{"NoDeadline",
              [](auto& o) { o.write_deadline = absl::ZeroDuration(); },
              "write_deadline"},
        Wrong{"EndlessDeadline",
              [](auto& o) { o.write_deadline = absl::InfiniteDuration(); },
              "write_deadline"},
        Wrong{"NoRows", [](auto& o) { o.batch_rows_max = 0; },
              "batch_rows_max"},
        Wrong{"NoBytes", [](auto& o) { o.batch_bytes_max = 0; },
              "batch_bytes_max"},
        Wrong{"NegativeLinger",
              [](auto& o) { o.batch_linger = absl::Seconds(-1); },
              "batch_linger"},
        Wrong{"EndlessLinger",
              [](auto& o) { o.batch_linger = absl::InfiniteDuration(); },
              "batch_linger"},
        Wrong{"NoWrites", [](auto& o) { o.writes_in_flight_max = 0; },
              "writes_in_flight_max"},
        Wrong{"NoBackOff",
              [](auto& o) { o.retry.initial = absl::ZeroDuration(); },
              "retry.backoff_initial"},
        Wrong{"MaximumBelowTheFirst",
              [](auto& o) { o.retry.max = absl::Milliseconds(99); },
              "retry.backoff_max"},
        Wrong{"EndlessBackOff",
              [](auto& o) { o.retry.max = absl::InfiniteDuration(); },
              "retry.backoff_max"},
        Wrong{"ShrinkingBackOff", [](auto& o) { o.retry.multiplier = 0.99; },
              "retry.multiplier"},
        Wrong{"MultiplierIsNoNumber",
              [](auto& o) { o.retry.multiplier = std::nan(""); },
              "retry.multiplier"},
        Wrong{"TooMuchJitter", [](auto& o) { o.retry.jitter = 1.01; },
              "retry.jitter"},
        Wrong{"Breaker",
              [](auto& o) { o.breaker.consecutive_failures_max = 0; },
              "breaker.consecutive_failures_max"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace penstock::core
