#include "client/cli/progress_printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::client {
namespace {

using ::testing::HasSubstr;

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
