#include "client/cli/progress_printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::client {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

ControllerSnapshot SnapshotWithBadRecords() {
  ControllerSnapshot snapshot;
  snapshot.connectors.resize(2);
  snapshot.connectors[0].bad_records = {.not_parsed = 2, .not_encoded = 1};
  snapshot.connectors[1].bad_records = {
      .not_parsed = 1, .refused = 4, .dead_letters = 3};
  return snapshot;
}

std::string LastWords(ProgressPrinter::Style style,
                      const ControllerSnapshot& snapshot) {
  ProgressPrinter printer(style, absl::UnixEpoch());
  testing::internal::CaptureStdout();
  printer.Finish(snapshot, 0, "done", absl::UnixEpoch() + absl::Seconds(1));
  return testing::internal::GetCapturedStdout();
}

TEST(ProgressPrinterTest, TheLastLineCountsBadRecords) {
  EXPECT_THAT(
      LastWords(ProgressPrinter::Style::kPlain, SnapshotWithBadRecords()),
      HasSubstr("bad records 8 (3 not parsed, 1 not encoded, 4 refused by the "
                "target; 3 dead letters)"));
}

TEST(ProgressPrinterTest, TheLastLineSaysThatThereWereNone) {
  EXPECT_THAT(LastWords(ProgressPrinter::Style::kPlain, {}),
              HasSubstr("bad records 0,"));
}

TEST(ProgressPrinterTest, TheEndAsJsonCountsBadRecords) {
  EXPECT_THAT(
      LastWords(ProgressPrinter::Style::kJson, SnapshotWithBadRecords()),
      HasSubstr("\"bad_records\":{\"total\":8,\"not_parsed\":3,"
                "\"not_encoded\":1,\"refused\":4,\"dead_letters\":3}"));
}

// Ten seconds in, 2 MB of 10 MB are done, and 20 kB of LF.
std::string Line(ProgressPrinter::Style style, uint64_t input_bytes) {
  ControllerSnapshot snapshot = SnapshotWithBadRecords();
  snapshot.phase = ControllerPhase::kRunning;
  snapshot.connectors[0].amount = {.records = 20'000, .bytes = 2'000'000};
  snapshot.connectors[0].made_steps = 4;
  ProgressPrinter printer(style, absl::UnixEpoch());
  printer.SetInputBytes(input_bytes);
  testing::internal::CaptureStdout();
  printer.Show(snapshot, absl::UnixEpoch() + absl::Seconds(10));
  return testing::internal::GetCapturedStdout();
}

// A lease that was lost and is ours again: the next controller counts anew.
TEST(ProgressPrinterTest, WhatEarlierReignsDidIsPartOfTheTotals) {
  ControllerSnapshot first;
  first.connectors.resize(1);
  first.connectors[0].amount = {.records = 20'000, .bytes = 2'000'000};
  ControllerSnapshot second;
  second.connectors.resize(1);
  ProgressPrinter printer(ProgressPrinter::Style::kJson, absl::UnixEpoch());
  testing::internal::CaptureStdout();
  printer.Show(first, absl::UnixEpoch() + absl::Seconds(10));
  printer.EndReign(first);
  printer.Show(second, absl::UnixEpoch() + absl::Seconds(20));
  second.connectors[0].amount = {.records = 5, .bytes = 500};
  printer.Show(second, absl::UnixEpoch() + absl::Seconds(30));
  printer.EndReign(second);
  printer.Finish({}, 0, "stopped", absl::UnixEpoch() + absl::Seconds(40));
  const std::string lines = testing::internal::GetCapturedStdout();
  EXPECT_THAT(lines, HasSubstr("\"records\":20000,\"bytes\":2000000,"
                               "\"bytes_per_second\":0,"));
  EXPECT_THAT(lines, HasSubstr("\"records\":20005,\"bytes\":2000500,"
                               "\"bytes_per_second\":50,"));
  EXPECT_THAT(lines, HasSubstr("\"outcome\":\"stopped\""));
  EXPECT_THAT(lines.substr(lines.find("\"outcome\"")),
              HasSubstr("\"records\":20005,"));
}

TEST(ProgressPrinterTest, ALineSaysRateTimeLeftAndBadRecords) {
  for (const ProgressPrinter::Style style :
       {ProgressPrinter::Style::kPlain, ProgressPrinter::Style::kLive}) {
    EXPECT_THAT(Line(style, 10'000'000),
                AllOf(HasSubstr("20%)"), HasSubstr("B/s  about 39s left"),
                      HasSubstr("  bad 8  ")));
    EXPECT_THAT(Line(style, 0), Not(AnyOf(HasSubstr("left"), HasSubstr("%"))));
  }
  EXPECT_EQ(Line(ProgressPrinter::Style::kLive, 0).substr(0, 4), "\r\033[K");
}

TEST(ProgressPrinterTest, AProgressObjectHasAKnownShape) {
  const std::string rest =
      "\"epoch\":0,\"seconds\":10.000,\"records\":20000,\"bytes\":2000000,"
      "\"bytes_per_second\":200000,\"step\":4,\"released\":0,"
      "\"completed\":0,\"checkpointed\":0,\"recoveries\":0,\"adopted\":0,"
      "\"not_adopted\":{},"
      "\"bad_records\":{\"total\":8,\"not_parsed\":3,\"not_encoded\":1,"
      "\"refused\":4,\"dead_letters\":3},\"health\":\"OK\"";
  EXPECT_EQ(Line(ProgressPrinter::Style::kJson, 10'000'000),
            "{\"event\":\"progress\",\"phase\":\"running\"," + rest +
                ",\"input_bytes\":10000000,\"seconds_left\":39.5}\n");
  EXPECT_EQ(Line(ProgressPrinter::Style::kJson, 0),
            "{\"event\":\"progress\",\"phase\":\"running\"," + rest +
                ",\"input_bytes\":null,\"seconds_left\":null}\n");
}

TEST(ProgressPrinterTest, TheEndAsJsonSaysWhyWhatLivedWasReopened) {
  ControllerSnapshot snapshot;
  snapshot.connectors.resize(4);
  snapshot.connectors[0].adopted = true;
  snapshot.connectors[1].not_adopted = "other_state";
  snapshot.connectors[2].not_adopted = "no_such_connector";
  snapshot.connectors[3].not_adopted = "no_such_connector";
  EXPECT_THAT(LastWords(ProgressPrinter::Style::kJson, snapshot),
              HasSubstr("\"adopted\":1,\"not_adopted\":"
                        "{\"no_such_connector\":2,\"other_state\":1},"));
}

std::string Standby(ProgressPrinter::Style style) {
  ProgressPrinter printer(style, absl::UnixEpoch());
  LeaseState lease;
  lease.controller = "host:12";
  lease.epoch = 7;
  lease.left = absl::Milliseconds(4250);
  lease.until = "2026-11-30T10:00:00.000Z";
  testing::internal::CaptureStdout();
  printer.ShowStandby(lease, absl::UnixEpoch());
  // Nothing new, and too soon.
  printer.ShowStandby(lease, absl::UnixEpoch());
  return testing::internal::GetCapturedStdout();
}

TEST(ProgressPrinterTest, StandbySaysWhoLeadsAndUntilWhen) {
  EXPECT_EQ(Standby(ProgressPrinter::Style::kPlain),
            "standing by: host:12 leads (epoch 7); its lease ends at "
            "2026-11-30T10:00:00.000Z unless it renews it\n");
  EXPECT_EQ(Standby(ProgressPrinter::Style::kJson),
            "{\"event\":\"standby\",\"leader\":\"host:12\",\"epoch\":7,"
            "\"lease_until\":\"2026-11-30T10:00:00.000Z\","
            "\"lease_left_seconds\":4.250}\n");
}

}  // namespace
}  // namespace penstock::client
