// The controller, the worker, or both die at each fault point, again and
// again: every record arrives once.
#include "tests/client/controller/controller_fixture.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <string>
#include <tuple>

namespace penstock::client {
namespace {

using core::IsOk;

enum class Victim { kController, kWorker, kBoth };

std::string VictimName(Victim victim) {
  switch (victim) {
    case Victim::kController:
      return "Controller";
    case Victim::kWorker:
      return "Worker";
    case Victim::kBoth:
      return "Both";
  }
  return "";
}

std::string PointName(FaultPoint point) {
  switch (point) {
    case FaultPoint::kResultReceived:
      return "ResultReceived";
    case FaultPoint::kBeforeJournal:
      return "BeforeJournal";
    case FaultPoint::kAfterJournal:
      return "AfterJournal";
    case FaultPoint::kBeforeRelease:
      return "BeforeRelease";
    case FaultPoint::kAfterRelease:
      return "AfterRelease";
    case FaultPoint::kBeforePrepare:
      return "BeforePrepare";
    case FaultPoint::kAfterPrepare:
      return "AfterPrepare";
    case FaultPoint::kAfterCheckpointStored:
      return "AfterCheckpointStored";
    case FaultPoint::kAfterCommitCheckpoint:
      return "AfterCommitCheckpoint";
  }
  return "";
}

using CrashParam = std::tuple<FaultPoint, Victim>;

class ControllerCrashTest : public ControllerTest,
                            public ::testing::WithParamInterface<CrashParam> {};

TEST_P(ControllerCrashTest, EveryRecordArrivesOnce) {
  const auto [point, victim] = GetParam();
  options_.checkpoint_interval = absl::Milliseconds(30);
  options_.queue_wait = absl::Milliseconds(10);
  AddConnector(400, "a");
  AddConnector(250, "b");
  int passes = 0;
  int crashes = 0;
  hook_ = [&, point = point, victim = victim](FaultPoint at,
                                              const std::string&) {
    // Not at every passage, or nothing would ever get on.
    if (at != point || ++passes % 5 != 2 || crashes >= 20) return;
    ++crashes;
    if (victim != Victim::kWorker) Crash();
    if (victim != Victim::kController) worker_.Restart();
  };
  for (int run = 0; run < 60; ++run) {
    Start();
    store_->SetDelay(absl::Milliseconds(3));
    ASSERT_TRUE(
        RunUntil([&] { return end_.has_value() || controller_ == nullptr; }));
    if (end_.has_value()) break;
  }
  ASSERT_TRUE(end_.has_value());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_GE(crashes, 1) << "the fault point was never passed";
  ExpectExactlyOnce("a");
  ExpectExactlyOnce("b");
  EXPECT_TRUE(Stored("a").journal.empty());
  EXPECT_TRUE(Stored("b").journal.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Points, ControllerCrashTest,
    ::testing::Combine(
        ::testing::Values(FaultPoint::kResultReceived,
                          FaultPoint::kBeforeJournal, FaultPoint::kAfterJournal,
                          FaultPoint::kBeforeRelease, FaultPoint::kAfterRelease,
                          FaultPoint::kBeforePrepare, FaultPoint::kAfterPrepare,
                          FaultPoint::kAfterCheckpointStored,
                          FaultPoint::kAfterCommitCheckpoint),
        ::testing::Values(Victim::kController, Victim::kWorker, Victim::kBoth)),
    [](const ::testing::TestParamInfo<CrashParam>& param) {
      return PointName(std::get<0>(param.param)) +
             VictimName(std::get<1>(param.param));
    });

}  // namespace
}  // namespace penstock::client
