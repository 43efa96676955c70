#include "client/cli/doctor_command.h"

#include <absl/strings/match.h>
#include <gtest/gtest.h>

#include <string>

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

TEST(DoctorTest, WhoeverHangsUpIsNotToldToBeStarted) {
  const auto has = [](absl::string_view said, absl::string_view word) {
    return absl::StrContains(RemedyOfSilence(said), word);
  };
  EXPECT_TRUE(has("UNAVAILABLE: ipv4:127.0.0.1:7070: Socket closed", "TLS"));
  EXPECT_TRUE(has("Hostname Verification Check failed.", "--tls-name"));
  EXPECT_TRUE(has("Failed parsing HTTP/2", "admin port"));
  EXPECT_TRUE(has("Connection refused", "Start it there"));
}

core::ConnectorStatus Status(core::ConnectorState state,
                             core::Condition condition) {
  core::ConnectorStatus status;
  status.name = "orders";
  status.state = state;
  status.health = {.condition = condition, .reason = "no route to db"};
  return status;
}

TEST(DoctorTest, AConnectorThatWorksIsGood) {
  core::ConnectorStatus status =
      Status(core::ConnectorState::kRunning, core::Condition::kOk);
  status.health.reason = "";
  const Diagnosis found = DiagnoseConnector(status);
  EXPECT_EQ(found.outcome, Outcome::kGood);
  EXPECT_EQ(found.seen, "RUNNING, OK");
  EXPECT_EQ(found.remedy, "");
}

TEST(DoctorTest, AConnectorThatTriesAgainIsDoubtfulAndSaysWhy) {
  const Diagnosis found = DiagnoseConnector(
      Status(core::ConnectorState::kRunning, core::Condition::kDegraded));
  EXPECT_EQ(found.outcome, Outcome::kDoubtful);
  EXPECT_EQ(found.seen, "RUNNING, DEGRADED: no route to db");
  EXPECT_NE(found.remedy.find("penstock errors orders"), std::string::npos);
}

TEST(DoctorTest, AConnectorThatFailedIsBadWhateverItsHealth) {
  core::ConnectorStatus status =
      Status(core::ConnectorState::kFailed, core::Condition::kOk);
  status.health.reason = "";
  status.first_error = "REPLAY_MISMATCH: other records";
  const Diagnosis found = DiagnoseConnector(status);
  EXPECT_EQ(found.outcome, Outcome::kBad);
  EXPECT_NE(found.seen.find("REPLAY_MISMATCH"), std::string::npos);
}

TEST(DoctorTest, AConnectorThatNeedsAnotherConfigurationIsBad) {
  EXPECT_EQ(DiagnoseConnector(Status(core::ConnectorState::kRunning,
                                     core::Condition::kNeedsConfig))
                .outcome,
            Outcome::kBad);
}

}  // namespace
}  // namespace penstock::client
