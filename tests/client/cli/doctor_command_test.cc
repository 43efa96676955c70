#include "client/cli/doctor_command.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

using Outcome = Diagnosis::Outcome;

TEST(DoctorTest, ClocksThatAgreeAreGood) {
  const Diagnosis found =
      DiagnoseClock(absl::Milliseconds(-300), absl::Milliseconds(2));
  EXPECT_EQ(found.outcome, Outcome::kGood);
  EXPECT_EQ(found.remedy, "");
}

TEST(DoctorTest, WhatTheAnswersWayMayExplainIsGood) {
  EXPECT_EQ(DiagnoseClock(absl::Seconds(3), absl::Seconds(4)).outcome,
            Outcome::kGood);
}

TEST(DoctorTest, ClocksSecondsApartAreDoubtful) {
  const Diagnosis found =
      DiagnoseClock(absl::Seconds(20), absl::ZeroDuration());
  EXPECT_EQ(found.outcome, Outcome::kDoubtful);
  EXPECT_EQ(found.seen, "20s ahead of this host");
}

TEST(DoctorTest, ClocksMinutesApartAreBadAndThereIsARemedy) {
  const Diagnosis found =
      DiagnoseClock(absl::Minutes(-5), absl::ZeroDuration());
  EXPECT_EQ(found.outcome, Outcome::kBad);
  EXPECT_NE(found.remedy, "");
}

}  // namespace
}  // namespace penstock::client
