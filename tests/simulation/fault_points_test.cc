// Crashes at named places: of the worker, of the controller, of both, each time
// with a proof that it was there. See tests/simulation/README.md.
#include "client/controller/controller.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/world.h"
#include "tests/support/fake_database.h"
#include "tests/support/fake_filesystem.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::simulation {
namespace {

using client::FaultPoint;

// The edges of a step's life and of a checkpoint, in their order.
enum class Place {
  kFlushed,
  kResultReceived,
  kBeforeJournal,
  kJournalUnanswered,
  kAfterJournal,
  kBeforeRelease,
  kReleased,
  kAfterRelease,
  kOneShardCommitted,
  kAllShardsCommitted,
  kAllCommitted,
  kReplaying,
  kBeforePrepare,
  kAfterPrepare,
  kCheckpointUnanswered,
  kAfterCheckpointStored,
  kAfterCommitCheckpoint,
};
constexpr Place kPlaces[] = {
    Place::kFlushed,
    Place::kResultReceived,
    Place::kBeforeJournal,
    Place::kJournalUnanswered,
    Place::kAfterJournal,
    Place::kBeforeRelease,
    Place::kReleased,
    Place::kAfterRelease,
    Place::kOneShardCommitted,
    Place::kAllShardsCommitted,
    Place::kAllCommitted,
    Place::kReplaying,
    Place::kBeforePrepare,
    Place::kAfterPrepare,
    Place::kCheckpointUnanswered,
    Place::kAfterCheckpointStored,
    Place::kAfterCommitCheckpoint,
};

enum class Side { kWorker, kController, kBoth };
enum class Sink { kFake, kFakeCommitter, kFile, kFilePower };

std::string NameOf(Place place) {
  switch (place) {
    case Place::kFlushed:
      return "Flushed";
    case Place::kResultReceived:
      return "ResultReceived";
    case Place::kBeforeJournal:
      return "BeforeJournal";
    case Place::kJournalUnanswered:
      return "JournalUnanswered";
    case Place::kAfterJournal:
      return "AfterJournal";
    case Place::kBeforeRelease:
      return "BeforeRelease";
    case Place::kReleased:
      return "Released";
    case Place::kAfterRelease:
      return "AfterRelease";
    case Place::kOneShardCommitted:
      return "OneShardCommitted";
    case Place::kAllShardsCommitted:
      return "AllShardsCommitted";
    case Place::kAllCommitted:
      return "AllCommitted";
    case Place::kReplaying:
      return "Replaying";
    case Place::kBeforePrepare:
      return "BeforePrepare";
    case Place::kAfterPrepare:
      return "AfterPrepare";
    case Place::kCheckpointUnanswered:
      return "CheckpointUnanswered";
    case Place::kAfterCheckpointStored:
      return "AfterCheckpointStored";
    case Place::kAfterCommitCheckpoint:
      return "AfterCommitCheckpoint";
  }
  return "";
}

std::string NameOf(Side side) {
  switch (side) {
    case Side::kWorker:
      return "Worker";
    case Side::kController:
      return "Controller";
    case Side::kBoth:
      return "Both";
  }
  return "";
}

std::string NameOf(Sink sink) {
  switch (sink) {
    case Sink::kFake:
      return "Fake";
    case Sink::kFakeCommitter:
      return "FakeCommitter";
    case Sink::kFile:
      return "File";
    case Sink::kFilePower:
      return "FilePower";
  }
  return "";
}

// The controller's own fault point there; nullopt: the place is recognised by
// how far everybody is.
std::optional<FaultPoint> HookOf(Place place) {
  switch (place) {
    case Place::kResultReceived:
      return FaultPoint::kResultReceived;
    case Place::kBeforeJournal:
      return FaultPoint::kBeforeJournal;
    case Place::kAfterJournal:
      return FaultPoint::kAfterJournal;
    case Place::kBeforeRelease:
      return FaultPoint::kBeforeRelease;
    case Place::kAfterRelease:
      return FaultPoint::kAfterRelease;
    case Place::kBeforePrepare:
      return FaultPoint::kBeforePrepare;
    case Place::kAfterPrepare:
      return FaultPoint::kAfterPrepare;
    case Place::kAfterCheckpointStored:
      return FaultPoint::kAfterCheckpointStored;
    case Place::kAfterCommitCheckpoint:
      return FaultPoint::kAfterCommitCheckpoint;
    case Place::kFlushed:
    case Place::kJournalUnanswered:
    case Place::kReleased:
    case Place::kOneShardCommitted:
    case Place::kAllShardsCommitted:
    case Place::kAllCommitted:
    case Place::kReplaying:
    case Place::kCheckpointUnanswered:
      return std::nullopt;
  }
  return std::nullopt;
}

// How far everybody is. Counts are exclusive.
struct Facts {
  // The worker.
  core::ConnectorState state = core::ConnectorState::kOpened;
  bool end_of_input = false;
  core::Step made = 0;
  core::Step released = 0;
  core::Step completed = 0;
  core::Step checkpointed = 0;
  // The target: the shard that is furthest, and the one that is least far.
  core::Step most = 0;
  core::Step least = 0;
  // The store.
  core::Step journaled = 0;
  core::Step base = 0;
  // What the controller knows of the store.
  core::Step known_journaled = 0;
  core::Step known_base = 0;
};

// nullopt: there is no connector, or no controller that leads.
std::optional<Facts> LookAt(World& world) {
  const auto status = world.Status();
  const ControllerLife* const life = world.controller();
  const auto& connectors = world.store_disk().state.connectors;
  const auto found = connectors.find(kConnector);
  if (!status.has_value() || life == nullptr || life->controller == nullptr ||
      found == connectors.end()) {
    return std::nullopt;
  }
  const client::ControllerSnapshot snapshot = life->controller->Snapshot();
  const std::vector<core::Step> progress = world.Progress();
  if (snapshot.connectors.empty() || progress.empty()) return std::nullopt;
  const auto [least, most] =
      std::minmax_element(progress.begin(), progress.end());
  const client::StoredConnector& stored = found->second;
  return Facts{.state = status->state,
               .end_of_input = status->end_of_input,
               .made = status->made_steps,
               .released = status->released_steps,
               .completed = status->completed_steps,
               .checkpointed = status->checkpointed_steps,
               .most = *most,
               .least = *least,
               .journaled = stored.journal.empty()
                                ? stored.base_steps
                                : stored.journal.back().step + 1,
               .base = stored.base_steps,
               .known_journaled = snapshot.connectors[0].journaled_steps,
               .known_base = snapshot.connectors[0].checkpointed_steps};
}

// What makes this the place: for those that are recognised, all there is; for
// the controller's own points, the proof.
bool IsAt(Place place, const Facts& facts) {
  switch (place) {
    case Place::kFlushed:
      // The result is made, and has perhaps not even arrived.
      return facts.made > facts.journaled;
    case Place::kResultReceived:
    case Place::kBeforeJournal:
      return facts.made > facts.journaled &&
             facts.known_journaled == facts.journaled;
    case Place::kJournalUnanswered:
      return facts.journaled > facts.known_journaled;
    case Place::kAfterJournal:
    case Place::kBeforeRelease:
      return facts.journaled > facts.released && facts.most <= facts.released;
    case Place::kReleased:
      return facts.released > facts.most;
    case Place::kAfterRelease:
      return facts.released > facts.base;
    case Place::kOneShardCommitted:
      return facts.most > facts.least && facts.completed < facts.most &&
             facts.released >= facts.most;
    case Place::kAllShardsCommitted:
      return facts.least > facts.completed;
    case Place::kAllCommitted:
      return facts.end_of_input && facts.journaled > facts.base &&
             facts.completed == facts.journaled &&
             facts.made == facts.journaled;
    case Place::kReplaying:
      return facts.state == core::ConnectorState::kReplaying;
    case Place::kBeforePrepare:
      return facts.journaled > facts.base && facts.known_base == facts.base;
    case Place::kAfterPrepare:
      // Lifted, and not yet stored.
      return facts.least > facts.base && facts.completed > facts.base;
    case Place::kCheckpointUnanswered:
      return facts.base > facts.known_base && facts.checkpointed < facts.base;
    case Place::kAfterCheckpointStored:
      return facts.base > facts.checkpointed && facts.least >= facts.base;
    case Place::kAfterCommitCheckpoint:
      return facts.base > 0 && facts.checkpointed == facts.base;
  }
  return false;
}

bool IsOfCheckpoint(Place place) { return place >= Place::kBeforePrepare; }
// There is but one such moment in a run.
bool IsOfEnd(Place place) { return place == Place::kAllCommitted; }

struct Case {
  Place place;
  Side side;
  Sink sink;
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const Place place : kPlaces) {
    for (const Side side : {Side::kWorker, Side::kController, Side::kBoth}) {
      for (const Sink sink :
           {Sink::kFake, Sink::kFakeCommitter, Sink::kFile, Sink::kFilePower}) {
        // Only a worker's machine has a disk to lose.
        if (sink == Sink::kFilePower && side == Side::kController) continue;
        cases.push_back({place, side, sink});
      }
    }
  }
  return cases;
}

class FaultPointTest : public testing::TestWithParam<Case> {
 protected:
  static constexpr int kCrashes = 3;

  // One run that crashes at the first moments of the place.
  void RunOnce(uint64_t seed) {
    Plan plan = QuietPlan(seed, GetParam().sink >= Sink::kFile,
                          GetParam().sink == Sink::kFakeCommitter);
    if (IsOfCheckpoint(GetParam().place)) {
      plan.checkpoint_interval = absl::Milliseconds(20);
    }
    World world(std::move(plan));
    core::Random random(seed);
    random_ = &random;
    world_ = &world;
    crashes_ = 0;
    const std::optional<FaultPoint> hook = HookOf(GetParam().place);
    world.SetFaultHook([this, hook](FaultPoint point) {
      // One that another crash left behind proves nothing.
      if (point == hook && crashes_ < kCrashes && IsThere()) CrashInHook();
    });
    world.Start();
    if (GetParam().place == Place::kReplaying) LeaveStepsToReplay();
    while (!hook.has_value() && crashes_ < kCrashes &&
           world.RunUntil([this] { return IsThere(); }, absl::Minutes(1))) {
      Crash();
    }
    ASSERT_TRUE(
        world.RunUntil([&] { return world.Finished(); }, absl::Minutes(1)))
        << world.violation() << world.Describe();
    world.CheckComplete();
    EXPECT_EQ(world.violation(), "");
    EXPECT_GE(crashes_, Wanted());
  }

 private:
  int Wanted() const { return IsOfEnd(GetParam().place) ? 1 : 2; }

  bool IsThere() {
    const auto facts = LookAt(*world_);
    return facts.has_value() && IsAt(GetParam().place, *facts);
  }

  void CrashInHook() {
    ++crashes_;
    if (GetParam().side != Side::kController) {
      world_->CrashWorkerHere(GetParam().sink == Sink::kFilePower ? random_
                                                                  : nullptr);
    }
    if (GetParam().side != Side::kWorker) world_->CrashControllerHere();
  }

  void Crash() {
    ++crashes_;
    if (GetParam().side != Side::kController) {
      if (GetParam().sink == Sink::kFilePower) {
        world_->LosePower(core::FakeFileSystem::Unsynced::kRandomPrefix,
                          *random_, absl::ZeroDuration());
      } else {
        world_->KillWorker(absl::ZeroDuration());
      }
    }
    if (GetParam().side != Side::kWorker) {
      world_->KillController(absl::ZeroDuration());
    }
  }

  void LeaveStepsToReplay() {
    ASSERT_TRUE(world_->RunUntil(
        [this] {
          const auto facts = LookAt(*world_);
          return facts.has_value() && facts->journaled >= 4 &&
                 facts->journaled > facts->least;
        },
        absl::Minutes(1)));
    world_->KillWorker(absl::ZeroDuration());
  }

  World* world_ = nullptr;
  core::Random* random_ = nullptr;
  int crashes_ = 0;
};

TEST_P(FaultPointTest, EachRecordIsDeliveredExactlyOnce) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ASSERT_NO_FATAL_FAILURE(RunOnce(seed));
  }
}

INSTANTIATE_TEST_SUITE_P(AllPlaces, FaultPointTest,
                         testing::ValuesIn(AllCases()),
                         [](const testing::TestParamInfo<Case>& test) {
                           return absl::StrCat(NameOf(test.param.place), "Of",
                                               NameOf(test.param.side), "With",
                                               NameOf(test.param.sink));
                         });

// After everything journaled was committed, nothing is read a second time.
TEST(CommittedStepsTest, WhatEveryShardHoldsIsSkipped) {
  World world(QuietPlan(1, /*file_sink=*/false, /*separate_committer=*/false));
  world.Start();
  ASSERT_TRUE(world.RunUntil(
      [&] {
        const auto facts = LookAt(world);
        return facts.has_value() && IsAt(Place::kAllCommitted, *facts) &&
               facts->least == facts->journaled;
      },
      absl::Minutes(1)));
  const size_t rows =
      world.store_disk().state.connectors.at(kConnector).journal.size();
  world.KillWorker(absl::ZeroDuration());
  ASSERT_TRUE(
      world.RunUntil([&] { return world.Finished(); }, absl::Minutes(1)));
  world.CheckComplete();
  EXPECT_EQ(world.violation(), "");
  EXPECT_EQ(world.outcome().replayed, 0u);
  EXPECT_EQ(world.outcome().already_held, rows);
}

// A round of checkpoints gives up before its answer is given up; when that is,
// somebody must want another round. Nothing else tells the controller, at the
// end of the input, that the connector is gone.
TEST(LostAnswerTest, AWorkerMayDieWithThePrepareOfTheEnd) {
  World world(QuietPlan(1, /*file_sink=*/false, /*separate_committer=*/false));
  bool target_is_away = true;
  world.database().SetHook([&](const core::FakeDatabase::Call& call)
                               -> std::optional<core::FakeDatabase::Fault> {
    if (!target_is_away ||
        call.operation != core::FakeDatabase::Operation::kBatchEnd) {
      return std::nullopt;
    }
    return core::FakeDatabase::Fault{
        .status = core::MakeError(core::Reason::UNAVAILABLE, "away")};
  });
  int prepares = 0;
  world.SetFaultHook([&](FaultPoint point) {
    if (point == FaultPoint::kBeforePrepare) ++prepares;
  });
  world.Start();
  ASSERT_TRUE(world.RunUntil([&] { return prepares > 0; }, absl::Minutes(1)));
  ASSERT_TRUE(world.RunFor(absl::Seconds(1)));
  world.KillWorker(absl::ZeroDuration());
  target_is_away = false;
  EXPECT_TRUE(
      world.RunUntil([&] { return world.Finished(); }, absl::Minutes(1)));
  EXPECT_GT(prepares, 1);
  EXPECT_EQ(world.violation(), "");
}

}  // namespace
}  // namespace penstock::simulation
