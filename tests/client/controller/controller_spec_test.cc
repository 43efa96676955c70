// A changed specification: what it waits for, and crashes on its way.
#include "core/base/error.h"
#include "tests/client/controller/controller_fixture.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <ostream>
#include <string>

namespace penstock::client {
namespace {

using core::ControlVerb;
using core::HasReason;
using core::IsOk;
using core::MakeError;
using core::Reason;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ControllerSpecTest : public ControllerTest {
 protected:
  // Behind a '#' stands what may change at once, as FakeControl has it.
  void AllowChanges() {
    options_.check_spec_change = [](const std::string& from,
                                    const std::string& to) {
      const auto steps = [](const std::string& spec) {
        return spec.substr(0, spec.find('#'));
      };
      return steps(from) == steps(to) ? TakesEffect::kAtOnce
                                      : TakesEffect::kAtCleanCheckpoint;
    };
  }
  // Then crashes. If positions are not `complete`, that of the first step is
  // the only one to checkpoint at.
  void RunThreeSteps(bool complete = true) {
    options_.checkpoint_interval = absl::ZeroDuration();
    AddConnector(10).ends = false;
    Start();
    ASSERT_TRUE(RunUntil([&] { return Progress().released_steps == 1; }));
    Outside().positions_complete = complete;
    AddRecords(20);
    worker_.LookAgain();
    ASSERT_TRUE(RunUntil([&] { return Progress().released_steps == 3; }));
    Crash();
    options_.connectors[0].spec_bytes = "new spec of c";
  }
};

TEST_F(ControllerSpecTest, AChangedSpecIsRefusedUnlessItMayChange) {
  RunThreeSteps();
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u);
}

TEST_F(ControllerSpecTest, ARefusalIsPassedOn) {
  RunThreeSteps();
  options_.check_spec_change = [](const std::string& from,
                                  const std::string& to) {
    return MakeError(Reason::INVALID_CONFIG,
                     absl::StrCat("from '", from, "' to '", to, "'"));
  };
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(std::string(end_->message()),
              ::testing::HasSubstr("from 'spec of c' to 'new spec of c'"));
}

TEST_F(ControllerSpecTest, JournaledStepsAreReplayedWithTheSpecTheyHad) {
  RunThreeSteps();
  AllowChanges();
  Start();
  ASSERT_TRUE(RunUntil([&] { return Stored().spec_bytes == "new spec of c"; }));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kReplay), 3u);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kExtend), 1u)
      << "the old spec reads no further";
  EXPECT_EQ(Stored().base_steps, 3u);
  AddRecords(10);
  Outside().ends = true;
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
  const auto opens = CallsOf(ControlVerb::kOpen);
  ASSERT_THAT(opens, SizeIs(3));
  EXPECT_EQ(opens[1].open->spec_bytes, "spec of c");
  EXPECT_EQ(opens[2].open->spec_bytes, "new spec of c");
  EXPECT_EQ(opens[2].open->base_steps, 3u);
}

TEST_F(ControllerSpecTest, WithoutACleanCutTheOldSpecReadsUntilThereIsOne) {
  RunThreeSteps(/*complete=*/false);
  AllowChanges();
  Start();
  ASSERT_TRUE(RunUntil([&] { return Stored().spec_bytes == "new spec of c"; }));
  EXPECT_GT(Stored().base_steps, 3u);
  AddRecords(10);
  Outside().ends = true;
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
}

TEST_F(ControllerSpecTest, ASpecThatWasNeverOpenedMayChangeFreely) {
  AddConnector(30);
  worker_.SetAway(true);
  Start();
  RunFor(absl::Seconds(5));
  options_.connectors[0].spec_bytes = "new spec of c";
  worker_.SetAway(false);
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(Stored().spec_bytes, "new spec of c");
}

TEST_F(ControllerSpecTest, ACleanCheckpointTakesTheNewSpecAtOnce) {
  AddConnector(30);
  Start();
  ASSERT_TRUE(RunToEnd());
  options_.connectors[0].spec_bytes = "new spec of c";
  AllowChanges();
  AddRecords(10);
  Start();
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
  const auto opens = CallsOf(ControlVerb::kOpen);
  ASSERT_THAT(opens, SizeIs(2));
  EXPECT_EQ(opens[1].open->spec_bytes, "new spec of c");
}

TEST_F(ControllerSpecTest, WhatChangesNoStepIsTakenWithTheJournalAsItIs) {
  RunThreeSteps();
  AllowChanges();
  options_.connectors[0].spec_bytes = "spec of c#more memory";
  Start();
  AddRecords(10);
  Outside().ends = true;
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
  EXPECT_EQ(worker_.CountOf(ControlVerb::kReplay), 3u);
  const auto opens = CallsOf(ControlVerb::kOpen);
  ASSERT_THAT(opens, SizeIs(2));
  EXPECT_EQ(opens[1].open->spec_bytes, "spec of c#more memory");
  EXPECT_EQ(opens[1].open->base_steps, 0u);
  EXPECT_EQ(Stored().spec_bytes, "spec of c#more memory");
}

TEST_F(ControllerSpecTest, AChangeMayBeTakenBackBeforeItTookEffect) {
  RunThreeSteps();
  AllowChanges();
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().replayed_steps == 2; }));
  options_.connectors[0].spec_bytes = "spec of c";
  Outside().ends = true;
  Start();
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
  for (const auto& open : CallsOf(ControlVerb::kOpen)) {
    EXPECT_EQ(open.open->spec_bytes, "spec of c");
  }
}

TEST_F(ControllerSpecTest, AStopMidwayLeavesTheChangeToTheNextRun) {
  RunThreeSteps(/*complete=*/false);
  AllowChanges();
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().replayed_steps == 3; }));
  controller_->Stop();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, core::HasReason(core::Reason::NOT_COMPLETED));
  Outside().ends = true;
  AddRecords(10);
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  ExpectExactlyOnce();
  EXPECT_EQ(Stored().spec_bytes, "new spec of c");
}

TEST_F(ControllerSpecTest, APausedConnectorChangesWithoutReading) {
  RunThreeSteps();
  disk_.state.connectors["c"].user_paused = true;
  AllowChanges();
  Start();
  ASSERT_TRUE(RunUntil([&] { return Stored().spec_bytes == "new spec of c"; }));
  RunFor(absl::Seconds(10));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kExtend), 1u);
  EXPECT_EQ(Progress().state, "paused");
  EXPECT_EQ(CallsOf(ControlVerb::kOpen).back().open->spec_bytes,
            "new spec of c");
}

// ------------------------------------------------- a crash between any two
// tasks

struct CrashCase {
  std::string name;
  std::string new_spec;
  bool kill_controller = true;
  bool kill_worker = false;
  // Which way the file is when the crashed run is begun again.
  std::string last_spec;
  bool positions_complete = true;
};
std::ostream& operator<<(std::ostream& out, const CrashCase& param) {
  return out << param.name;
}

class ControllerSpecCrashTest
    : public ControllerSpecTest,
      public ::testing::WithParamInterface<CrashCase> {
 protected:
  // Changes the specification with steps in the journal, crashes after `tasks`
  // tasks, and goes on to the end. Returns: whether there were so many.
  bool RunWithCrashAfter(int tasks) {
    const CrashCase& param = GetParam();
    RunThreeSteps(param.positions_complete);
    AllowChanges();
    options_.checkpoint_interval = absl::Milliseconds(2);
    Outside().ends = true;
    AddRecords(25);
    options_.connectors[0].spec_bytes = param.new_spec;
    Start();
    store_->SetDelay(absl::Milliseconds(1));
    int done = 0;
    const bool was_there =
        RunUntil([&] { return end_.has_value() || done++ == tasks; }) &&
        !end_.has_value();
    if (!was_there) return false;
    if (param.kill_worker) worker_.Restart();
    if (param.kill_controller) {
      options_.connectors[0].spec_bytes = param.last_spec;
      Start();
    }
    EXPECT_TRUE(RunToEnd());
    EXPECT_THAT(end_.value_or(absl::UnknownError("no end")), IsOk());
    ExpectExactlyOnce();
    EXPECT_EQ(Stored().spec_bytes, options_.connectors[0].spec_bytes);
    EXPECT_THAT(Stored().journal, IsEmpty());
    return true;
  }
  // A world without a past.
  void StartOver() {
    Crash();
    options_.connectors.clear();
    worker_.Restart();
    outside_ = {};
    disk_ = {};
  }
};

// FakeControl hashes each step with the specification it was made with and
// refuses another one where something is left to replay.
TEST_P(ControllerSpecCrashTest, EveryRecordArrivesOnce) {
  int crashes = 0;
  while (RunWithCrashAfter(crashes)) {
    ASSERT_FALSE(HasFailure()) << "crash after task " << crashes;
    ++crashes;
    StartOver();
  }
  EXPECT_GT(crashes, 50) << "the change was over too soon";
  EXPECT_THAT(*end_, IsOk());
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ControllerSpecCrashTest,
    ::testing::Values(CrashCase{.name = "Controller",
                                .new_spec = "new spec of c",
                                .last_spec = "new spec of c"},
                      CrashCase{.name = "Worker",
                                .new_spec = "new spec of c",
                                .kill_controller = false,
                                .kill_worker = true},
                      CrashCase{.name = "Both",
                                .new_spec = "new spec of c",
                                .kill_worker = true,
                                .last_spec = "new spec of c"},
                      CrashCase{.name = "TakenBack",
                                .new_spec = "new spec of c",
                                .last_spec = "spec of c"},
                      CrashCase{.name = "ChangedOnceMore",
                                .new_spec = "new spec of c",
                                .kill_worker = true,
                                .last_spec = "third spec of c"},
                      CrashCase{.name = "WithoutACleanCut",
                                .new_spec = "new spec of c",
                                .last_spec = "new spec of c",
                                .positions_complete = false},
                      CrashCase{.name = "AtOnce",
                                .new_spec = "spec of c#a",
                                .last_spec = "spec of c#a"},
                      CrashCase{.name = "AtOnceThenClean",
                                .new_spec = "spec of c#a",
                                .kill_worker = true,
                                .last_spec = "new spec of c#b"}),
    [](const ::testing::TestParamInfo<CrashCase>& param) {
      return param.param.name;
    });

}  // namespace
}  // namespace penstock::client
