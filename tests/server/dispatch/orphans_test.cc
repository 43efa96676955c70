// Rule 13: what becomes of connectors whose controller is gone.
#include "server/dispatch/orphans.h"

#include "core/base/error.h"
#include "tests/server/dispatch/dispatcher_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using core::Answer;
using core::Condition;
using core::ConnectorState;
using core::HasReason;
using core::Nothing;
using core::Reason;

constexpr absl::Duration kTimeout = absl::Seconds(30);

class OrphansTest : public DispatcherFixture {
 protected:
  OrphansTest() { harness_.request.spec.orphan_timeout = kTimeout; }

  core::ConnectorStatus Status() { return *dispatcher_->StatusOf("connector"); }
  // Opens, extends, and is not heard of again.
  void OpenAndVanish() {
    Open(5);
    heard_ = executor().clock().Now();
    executor().Advance(kTimeout + absl::Seconds(5));
  }
  Answer<Nothing> Extend(uint64_t epoch) {
    Answer<Nothing> done;
    dispatcher_->Extend(Header(epoch), done.Callback());
    executor().RunUntilIdle();
    return done;
  }
  std::shared_ptr<const void> Lead(uint64_t epoch) {
    std::shared_ptr<const void> reign;
    dispatcher_->Lead(
        FenceOf(epoch), [] {},
        [&](auto begun) {
          if (begun.ok()) reign = *std::move(begun);
        });
    executor().RunUntilIdle();
    EXPECT_NE(reign, nullptr);
    return reign;
  }

  // When the last command came.
  absl::Time heard_;
};

TEST_F(OrphansTest, WithoutAControllerItPausesAndSaysSinceWhen) {
  Open(5);
  const absl::Time heard = executor().clock().Now();
  executor().Advance(kTimeout - absl::Seconds(1));
  EXPECT_EQ(Status().state, ConnectorState::kRunning);
  EXPECT_EQ(Status().orphaned_since, std::nullopt);
  executor().Advance(absl::Seconds(6));
  const core::ConnectorStatus status = Status();
  EXPECT_EQ(status.state, ConnectorState::kPaused);
  EXPECT_EQ(status.orphaned_since, heard);
  EXPECT_EQ(status.health.condition, Condition::kStalled);
  EXPECT_THAT(status.health.reason, testing::StartsWith("orphaned: "));
}

TEST_F(OrphansTest, NothingIsReadMeanwhile) {
  OpenAndVanish();
  harness_.source.AppendNumbered("k", 3);
  executor().Advance(absl::Hours(1));
  EXPECT_EQ(Status().queued.records, 0u);
}

TEST_F(OrphansTest, TheNextCommandEndsIt) {
  OpenAndVanish();
  harness_.source.AppendNumbered("k", 3);
  const Answer<core::QueueReply> queue = Queue(Header(5), absl::Seconds(1));
  executor().Advance(absl::Seconds(2));
  ASSERT_OK(queue.status());
  ASSERT_NE(queue->result, nullptr);
  EXPECT_EQ(queue->result->amount.records, 3u);
  EXPECT_EQ(Status().state, ConnectorState::kRunning);
  EXPECT_EQ(Status().orphaned_since, std::nullopt);
  EXPECT_EQ(Status().health.condition, Condition::kOk);
}

TEST_F(OrphansTest, ItIsOrphanedAgain) {
  OpenAndVanish();
  Queue(Header(5), absl::ZeroDuration());
  executor().RunUntilIdle();
  EXPECT_EQ(Status().state, ConnectorState::kRunning);
  executor().Advance(kTimeout + absl::Seconds(5));
  EXPECT_EQ(Status().state, ConnectorState::kPaused);
}

TEST_F(OrphansTest, WhoeverTakesOverEndsItToo) {
  OpenAndVanish();
  const Answer<core::QueueReply> queue = Queue(Header(6), absl::ZeroDuration());
  executor().RunUntilIdle();
  EXPECT_OK(queue.status());
  EXPECT_EQ(Status().state, ConnectorState::kRunning);
}

TEST_F(OrphansTest, AStaleCommandEndsNothing) {
  OpenAndVanish();
  const Answer<core::QueueReply> queue = Queue(Header(4), absl::ZeroDuration());
  executor().RunUntilIdle();
  EXPECT_THAT(queue.status(), HasReason(Reason::STALE_EPOCH));
  EXPECT_EQ(Status().state, ConnectorState::kPaused);
  EXPECT_NE(Status().orphaned_since, std::nullopt);
}

TEST_F(OrphansTest, WhoSawItPausedMayExtendItOnce) {
  OpenAndVanish();
  EXPECT_OK(Extend(5).status());
  EXPECT_EQ(Status().state, ConnectorState::kRunning);
  EXPECT_THAT(Extend(5).status(), HasReason(Reason::ILLEGAL_TRANSITION));
}

TEST_F(OrphansTest, APauseStaysAPause) {
  OpenAndVanish();
  Answer<Nothing> paused;
  dispatcher_->Pause(Header(5), paused.Callback());
  executor().RunUntilIdle();
  EXPECT_OK(paused.status());
  EXPECT_EQ(Status().state, ConnectorState::kPaused);
  EXPECT_EQ(Status().orphaned_since, std::nullopt);
  // For as long as its controller wants it.
  executor().Advance(absl::Hours(1));
  EXPECT_EQ(Status().orphaned_since, std::nullopt);
  EXPECT_OK(Extend(5).status());
}

// Its turn comes only now: it was behind a step, and so was what came to be
// known of its controller.
TEST_F(OrphansTest, APauseThatWaitedStaysAPause) {
  Open(5);
  harness_.source.HoldAnswers(true);
  harness_.source.AppendNumbered("k", 3);
  executor().RunUntilIdle();
  const auto step = Queue(Header(5), absl::ZeroDuration());
  Answer<Nothing> paused;
  dispatcher_->Pause(Header(5), paused.Callback());
  executor().Advance(kTimeout + absl::Seconds(5));
  ASSERT_FALSE(paused.came());
  ASSERT_NE(Status().orphaned_since, std::nullopt);
  harness_.source.AnswerHeld();
  executor().RunUntilIdle();
  EXPECT_OK(step.status());
  EXPECT_OK(paused.status());
  EXPECT_EQ(Status().state, ConnectorState::kPaused);
  EXPECT_EQ(Status().orphaned_since, std::nullopt);
  Answer<Nothing> released;
  core::CommandHeader header = Header(5);
  header.released_steps = 0;
  dispatcher_->Release(std::move(header), released.Callback());
  executor().RunUntilIdle();
  EXPECT_OK(released.status());
  EXPECT_EQ(Status().state, ConnectorState::kPaused);
}

TEST_F(OrphansTest, WhoIsHeardBeforeItsTurnComesKeepsItRunning) {
  Open(5);
  std::shared_ptr<const void> reign;
  bool was_judged = false;
  // The connector is busy with this answer while it is judged.
  core::CommandHeader header = Header(5);
  header.released_steps = 0;
  dispatcher_->Release(std::move(header), [&](const absl::Status& released) {
    EXPECT_OK(released);
    executor().Advance(kTimeout + absl::Seconds(5));
    was_judged = true;
    reign = Lead(5);
  });
  executor().RunUntilIdle();
  ASSERT_TRUE(was_judged);
  EXPECT_EQ(Status().state, ConnectorState::kRunning);
  EXPECT_EQ(Status().orphaned_since, std::nullopt);
}

TEST_F(OrphansTest, ADrainIsNotUndone) {
  Open(5);
  harness_.source.AppendNumbered("k", 3);
  executor().Advance(kTimeout + absl::Seconds(5));
  EXPECT_NE(Status().orphaned_since, std::nullopt);
  dispatcher_->Drain(absl::Seconds(30), [](const auto&) {});
  Queue(Header(5), absl::ZeroDuration());
  executor().RunUntilIdle();
  EXPECT_EQ(Status().state, ConnectorState::kPaused);
  EXPECT_EQ(Status().orphaned_since, std::nullopt);
}

TEST_F(OrphansTest, AQueueThatWaitsIsAnswered) {
  Open(5);
  const Answer<core::QueueReply> queue = Queue(Header(5), absl::Hours(1));
  executor().Advance(kTimeout + absl::Seconds(5));
  ASSERT_OK(queue.status());
  EXPECT_EQ(queue->no_step->reason, core::NoStepReason::kPaused);
}

TEST_F(OrphansTest, ASessionIsAController) {
  Open(5);
  std::shared_ptr<const void> reign = Lead(5);
  executor().Advance(absl::Hours(1));
  EXPECT_EQ(Status().state, ConnectorState::kRunning);
  const absl::Time left = executor().clock().Now();
  reign.reset();
  executor().Advance(kTimeout + absl::Seconds(5));
  EXPECT_EQ(Status().state, ConnectorState::kPaused);
  EXPECT_EQ(Status().orphaned_since, left);
}

TEST_F(OrphansTest, ACommandToAnyConnectorOfThePipelineIsEnough) {
  Open(5);
  for (int i = 0; i < 10; ++i) {
    executor().Advance(kTimeout / 2);
    core::CommandHeader other = Header(5);
    other.ref.connector = "other";
    dispatcher_->Extend(std::move(other), [](const absl::Status&) {});
  }
  EXPECT_EQ(Status().state, ConnectorState::kRunning);
}

TEST_F(OrphansTest, TheWorkerHasADefault) {
  orphan_timeout_ = absl::Minutes(5);
  MakeDispatcher();
  harness_.request.spec.orphan_timeout.reset();
  Open(5);
  executor().Advance(absl::Minutes(4));
  EXPECT_EQ(Status().state, ConnectorState::kRunning);
  executor().Advance(absl::Minutes(2));
  EXPECT_EQ(Status().state, ConnectorState::kPaused);
}

TEST_F(OrphansTest, OfItselfItIsNever) {
  harness_.request.spec.orphan_timeout.reset();
  Open(5);
  executor().Advance(absl::Hours(1000));
  EXPECT_EQ(Status().state, ConnectorState::kRunning);
}

TEST_F(OrphansTest, AnUpdateMakesItShorter) {
  harness_.request.spec.orphan_timeout = absl::Hours(10);
  Open(5);
  core::UpdateRequest update{.spec = harness_.request.spec,
                             .spec_bytes = "shorter",
                             .check = [](auto) { return absl::OkStatus(); }};
  update.spec.orphan_timeout = kTimeout;
  core::CommandHeader header = Header(5);
  header.request_id = "r";
  Answer<core::UpdateReply> updated;
  dispatcher_->Update(std::move(header), std::move(update), updated.Callback());
  executor().RunUntilIdle();
  ASSERT_OK(updated.status());
  executor().Advance(kTimeout + absl::Seconds(5));
  EXPECT_EQ(Status().state, ConnectorState::kPaused);
}

// Does nothing but say its timeout, and hear that it is an orphan.
class FakeOrphan final : public core::Connector {
 public:
  std::function<std::optional<absl::Duration>()> timeout;
  bool is_orphaned = false;

  std::optional<absl::Duration> orphan_timeout() const override {
    return timeout();
  }
  void Orphan(absl::Time /*unheard_since*/,
              std::function<bool()> still) override {
    is_orphaned = still();
  }
  void Open(Reply<core::OpenReply> /*reply*/) override {}
  void Replay(core::ReplayRequest /*request*/,
              Reply<core::ReplayReply> /*reply*/) override {}
  void Extend(Done /*done*/) override {}
  void Pause(Done /*done*/) override {}
  void Queue(core::QueueRequest /*request*/,
             Reply<core::QueueReply> /*reply*/) override {}
  void Release(core::Step /*released_steps*/, Done /*done*/) override {}
  void PrepareCheckpoint(
      core::PrepareCheckpointRequest /*request*/,
      Reply<core::PrepareCheckpointReply> /*reply*/) override {}
  void CommitCheckpoint(core::CommitCheckpointRequest /*request*/,
                        Done /*done*/) override {}
  void Disconnect(core::DisconnectRequest /*request*/,
                  Reply<core::DisconnectReply> /*reply*/) override {}
  void GiveUpOpen() override {}
  void Supersede() override {}
  void Drain(core::DrainScope /*scope*/, Done /*done*/) override {}
  void Update(core::UpdateRequest /*request*/,
              Reply<core::UpdateReply> /*reply*/) override {}
  std::shared_ptr<const core::StepResult> Retained(
      core::Step /*step*/) const override {
    return nullptr;
  }
  core::ConnectorStatus Status() const override { return {}; }
  std::vector<core::ErrorEntry> Errors(size_t /*count*/) const override {
    return {};
  }
  core::ParseErrorCounts ParseErrors() const override { return {}; }
  const std::string& instance() const override { return name_; }
  const std::string& pipeline() const override { return name_; }
  std::shared_ptr<core::CountWatch> completed() const override {
    return nullptr;
  }
  std::shared_ptr<core::CountWatch> checkpointed() const override {
    return nullptr;
  }

 private:
  const std::string name_ = "pipeline";
};

TEST(OrphansLookTest, OneThatComesMeanwhileIsWatchedToo) {
  core::ManualExecutor executor;
  core::FakeFileSystem files;
  auto store = MakeFileFenceStore(files, "/state");
  ASSERT_OK(store->Load().status());
  const auto fences = std::make_shared<PipelineFences>(
      PipelineFences::Options(), std::move(store),
      std::map<std::string, FenceRecord>(), executor,
      [](const std::string& /*pipeline*/) {});
  fences->Enter(
      {.pipeline = "pipeline", .controller_id = "c", .epoch = 1, .nonce = "n"},
      [](const auto& pass) { EXPECT_OK(pass.status()); });
  executor.RunUntilIdle();
  const auto table = std::make_shared<ConnectorTable>(10, 1 << 20, 64);
  const auto orphans = std::make_shared<Orphans>(table, fences, executor,
                                                 absl::InfiniteDuration());
  const auto add = [&](const std::string& name,
                       const std::shared_ptr<FakeOrphan>& connector) {
    core::OpenRequest request;
    request.fence.pipeline = "pipeline";
    request.request_id = "open " + name;
    request.spec.name = name;
    request.spec.limits.memory_max = 1;
    ConnectorTable::Reply<core::OpenReply> reply = [](const auto&) {};
    ASSERT_OK(table->BeginOpen(request, reply).status());
    ASSERT_OK(table->SetConnector(name, connector));
    table->FinishOpen(name, core::OpenReply{});
    orphans->Watch(*connector);
  };
  const auto late = std::make_shared<FakeOrphan>();
  late->timeout = [] { return kTimeout; };
  const auto first = std::make_shared<FakeOrphan>();
  int asked = 0;
  // An update took its timeout away; it is asked, and the other one comes.
  first->timeout = [&]() -> std::optional<absl::Duration> {
    ++asked;
    if (asked == 1) return kTimeout;
    if (asked == 2) add("late", late);
    return std::nullopt;
  };
  add("first", first);
  executor.Advance(2 * kTimeout);
  EXPECT_GE(asked, 2);
  EXPECT_TRUE(late->is_orphaned);
  EXPECT_FALSE(first->is_orphaned);
}

}  // namespace
}  // namespace penstock::server
