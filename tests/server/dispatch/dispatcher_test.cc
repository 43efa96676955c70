#include "server/dispatch/dispatcher.h"

#include "core/base/error.h"
#include "core/connector/lanes.h"
#include "tests/server/dispatch/dispatcher_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using core::Answer;
using core::CommandHeader;
using core::HasReason;
using core::Nothing;
using core::Reason;

class DispatcherTest : public DispatcherFixture {};

// The connector is busy when the old controller's command comes, so that the
// release it carries is answered late, and the command handed over later still.
TEST_F(DispatcherTest, ACommandBehindItsReleaseDoesNotActAfterATakeover) {
  Open(5);
  CommandHeader old = Header(5);
  old.released_steps = 0;
  CommandHeader taker = Header(6);
  taker.released_steps = 0;
  Answer<Nothing> paused;
  std::optional<size_t> seen_at_takeover;
  dispatcher_->Release(old, [&](const absl::Status&) {
    dispatcher_->Pause(old, paused.Callback());
    dispatcher_->Release(taker, [&](const absl::Status& status) {
      EXPECT_OK(status);
      seen_at_takeover = harness_.source.commands().size();
    });
  });
  executor().RunUntilIdle();
  EXPECT_TRUE(paused.came());
  EXPECT_EQ(harness_.source.commands().size(), seen_at_takeover);
}

TEST_F(DispatcherTest, MemoryThatWouldOverflowIsRefused) {
  Open(5);
  core::OpenRequest request = harness_.request;
  request.fence = FenceOf(5);
  request.spec.name = "other";
  request.spec.limits.memory_max = UINT64_MAX - (uint64_t{1} << 20);
  Answer<core::OpenReply> answer;
  dispatcher_->Open(request, answer.Callback());
  executor().RunUntilIdle();
  EXPECT_THAT(answer.status(), HasReason(Reason::MEMORY_REFUSED));
}

// Both are counted beyond the life of the connector, and of each other.
TEST_F(DispatcherTest, WhatFailsForGoodIsCounted) {
  harness_.request.spec.limits.memory_max = UINT64_MAX;
  const Answer<core::OpenReply> refused = StartOpen(5);
  executor().RunUntilIdle();
  EXPECT_THAT(refused.status(), HasReason(Reason::MEMORY_REFUSED));
  EXPECT_EQ(dispatcher_->failures().opens, 1u);
  harness_.request.spec.limits.memory_max = uint64_t{1} << 30;
  Open(5);
  EXPECT_EQ(dispatcher_->failures().connectors, 0u);
  harness_.source.ReportError(
      true, core::MakeError(Reason::POSITION_EXPIRED, "it is gone"), "seek");
  executor().RunUntilIdle();
  // Who asks for one connector has its errors; metrics, drains and watches,
  // which look all the time, do not carry them about.
  Answer<core::ConnectorStatus> got;
  dispatcher_->Get("connector", got.Callback());
  EXPECT_THAT(got->errors, testing::Not(testing::IsEmpty()));
  ASSERT_THAT(dispatcher_->Statuses(), testing::SizeIs(1));
  EXPECT_THAT(dispatcher_->Statuses()[0].errors, testing::IsEmpty());
  EXPECT_GT(dispatcher_->Statuses()[0].error_count, 0u);
  Answer<core::DisconnectReply> deleted;
  dispatcher_->Delete(Header(5), {}, deleted.Callback());
  executor().RunUntilIdle();
  EXPECT_TRUE(deleted.came());
  EXPECT_THAT(dispatcher_->Statuses(), testing::IsEmpty());
  EXPECT_EQ(dispatcher_->failures().connectors, 1u);
  EXPECT_EQ(dispatcher_->failures().opens, 1u);
  // That the worker goes away is no failure.
  dispatcher_->Shutdown();
  EXPECT_THAT(StartOpen(5).status(), HasReason(Reason::SHUTTING_DOWN));
  EXPECT_EQ(dispatcher_->failures().opens, 1u);
}

TEST_F(DispatcherTest, ShutdownAnswersWhoeverWaits) {
  Open(5);
  const Answer<core::QueueReply> queue = Queue(Header(5), absl::Hours(1));
  EXPECT_FALSE(queue.came());
  Answer<core::DisconnectReply> deleted;
  dispatcher_->Delete(Header(5), {.deadline = absl::Hours(1)},
                      deleted.Callback());
  dispatcher_->Shutdown();
  EXPECT_TRUE(queue.came());
  EXPECT_TRUE(deleted.came());
  EXPECT_THAT(Queue(Header(5), absl::ZeroDuration()).status(),
              HasReason(Reason::SHUTTING_DOWN));
  EXPECT_THAT(StartOpen(5).status(), HasReason(Reason::SHUTTING_DOWN));
  dispatcher_->Shutdown();
}

// What the open waits for does not answer.
TEST_F(DispatcherTest, DeleteGivesUpAnOpenThatIsUnderWay) {
  core::ManualExecutor io;
  MakeDispatcher(io);
  const Answer<core::OpenReply> open = StartOpen(5);
  const auto run = [&] {
    while (executor().RunOne()) {
    }
  };
  for (run(); dispatcher_->Statuses().empty(); run()) {
    ASSERT_TRUE(io.RunOne());
  }
  CommandHeader header = Header(5);
  header.ref.instance.clear();
  Answer<core::DisconnectReply> deleted;
  dispatcher_->Delete(header, {.deadline = absl::Seconds(5)},
                      deleted.Callback());
  run();
  ASSERT_TRUE(deleted.came());
  EXPECT_OK(deleted.status());
  EXPECT_THAT(open.status(), HasReason(Reason::CANCELLED));
  EXPECT_THAT(dispatcher_->Statuses(), testing::IsEmpty());
  EXPECT_EQ(dispatcher_->memory_committed(), 0u);
  EXPECT_FALSE(dispatcher_->StatusOf("connector").has_value());
  io.RunUntilIdle();
  run();
  EXPECT_FALSE(harness_.source.has_reader());
  EXPECT_EQ(open.count(), 1);
  dispatcher_ = nullptr;
}

TEST_F(DispatcherTest, DestructionAnswersAnOpenThatWaitsForItsTakeover) {
  const Answer<core::OpenReply> open = StartOpen(5);
  EXPECT_FALSE(open.came());
  dispatcher_.reset();
  EXPECT_THAT(open.status(), HasReason(Reason::SHUTTING_DOWN));
  executor().RunUntilIdle();
  EXPECT_EQ(open.count(), 1);
}

// The drain begins while the epoch of an open that was admitted is made
// durable.
TEST_F(DispatcherTest, OpenThatWasBeingAdmittedIsRefusedByADrain) {
  const Answer<core::OpenReply> open = StartOpen(5);
  EXPECT_FALSE(open.came());
  bool drained = false;
  dispatcher_->Drain(absl::Seconds(1),
                     [&](const std::vector<core::DrainedConnector>& all) {
                       EXPECT_THAT(all, testing::IsEmpty());
                       drained = true;
                     });
  executor().RunUntilIdle();
  EXPECT_TRUE(drained);
  EXPECT_THAT(open.status(), HasReason(Reason::SHUTTING_DOWN));
  EXPECT_THAT(dispatcher_->Statuses(), testing::IsEmpty());
  EXPECT_EQ(dispatcher_->memory_committed(), 0u);
}

// Whichever task a drain comes before: the open is answered with an error, or
// its connector is disconnected by the drain.
TEST_F(DispatcherTest, OpenIsRefusedOrDrainedWhereverADrainBegins) {
  for (int tasks = 0; tasks < 20; ++tasks) {
    SCOPED_TRACE(tasks);
    MakeDispatcher();
    const Answer<core::OpenReply> open =
        StartOpen(5u + static_cast<uint64_t>(tasks));
    for (int i = 0; i < tasks; ++i) executor().RunOne();
    std::vector<std::string> drained;
    dispatcher_->Drain(absl::Seconds(1),
                       [&](const std::vector<core::DrainedConnector>& all) {
                         for (const auto& one : all) {
                           drained.push_back(one.connector);
                         }
                       });
    executor().RunUntilIdle();
    ASSERT_TRUE(open.came());
    if (open.get().ok()) {
      EXPECT_THAT(drained, testing::ElementsAre("connector"));
    }
    for (const core::ConnectorStatus& status : dispatcher_->Statuses()) {
      EXPECT_EQ(status.state, core::ConnectorState::kClosed);
    }
  }
}

TEST_F(DispatcherTest, ADrainedConnectorIsCompleteIfNothingIsLeft) {
  Open(5);
  std::optional<std::vector<core::DrainedConnector>> drained;
  dispatcher_->Drain(absl::Seconds(1),
                     [&](auto all) { drained = std::move(all); });
  executor().RunUntilIdle();
  ASSERT_TRUE(drained.has_value());
  ASSERT_THAT(*drained, testing::SizeIs(1));
  EXPECT_EQ(drained->front().instance, instance_);
  EXPECT_TRUE(drained->front().IsComplete());
}

TEST_F(DispatcherTest, ADrainTellsWhatWasReadAndNeverQueued) {
  Open(5);
  harness_.source.AppendNumbered("k", 3);
  executor().RunUntilIdle();
  std::optional<std::vector<core::DrainedConnector>> drained;
  dispatcher_->Drain(absl::Seconds(1),
                     [&](auto all) { drained = std::move(all); });
  executor().Advance(absl::Seconds(2));
  ASSERT_TRUE(drained.has_value());
  EXPECT_EQ(drained->front().unqueued.records, 3u);
  EXPECT_FALSE(drained->front().IsComplete());
}

TEST_F(DispatcherTest, OneConnectorIsDrainedByItsControllerOnly) {
  Open(5);
  harness_.source.AppendNumbered("k", 3);
  executor().RunUntilIdle();
  Answer<core::DrainedConnector> stale;
  dispatcher_->DrainConnector(Header(4), absl::Seconds(1), stale.Callback());
  executor().RunUntilIdle();
  EXPECT_THAT(stale.status(), HasReason(Reason::STALE_EPOCH));
  Answer<core::DrainedConnector> drained;
  dispatcher_->DrainConnector(Header(5), absl::Seconds(1), drained.Callback());
  executor().RunUntilIdle();
  EXPECT_FALSE(drained.came()) << "its controller may still queue";
  executor().Advance(absl::Seconds(4));
  ASSERT_OK(drained.status());
  EXPECT_EQ(drained->unqueued.records, 3u);
  EXPECT_FALSE(drained->IsComplete());
  EXPECT_FALSE(dispatcher_->draining()) << "others may be opened";
  EXPECT_EQ(dispatcher_->StatusOf("connector")->state,
            core::ConnectorState::kClosed);
}

// Whoever took over commands the connector, and does not lose it to a drain of
// the epoch before.
TEST_F(DispatcherTest, ADrainOfOneConnectorEndsWithItsEpoch) {
  Open(5);
  harness_.source.AppendNumbered("k", 3);
  executor().RunUntilIdle();
  Answer<core::DrainedConnector> drained;
  dispatcher_->DrainConnector(Header(5), absl::Minutes(1), drained.Callback());
  Answer<Nothing> own;
  dispatcher_->Extend(Header(5), own.Callback());
  executor().RunUntilIdle();
  EXPECT_THAT(own.status(), HasReason(Reason::ILLEGAL_TRANSITION));
  EXPECT_FALSE(drained.came());
  Answer<Nothing> extended;
  dispatcher_->Extend(Header(6), extended.Callback());
  executor().RunUntilIdle();
  EXPECT_OK(extended.status());
  executor().Advance(absl::Seconds(1));
  EXPECT_THAT(drained.status(), HasReason(Reason::SUPERSEDED))
      << "at once, not at its deadline";
  executor().Advance(absl::Minutes(2));
  EXPECT_EQ(dispatcher_->StatusOf("connector")->state,
            core::ConnectorState::kRunning);
  const Answer<core::QueueReply> queue = Queue(Header(6), absl::ZeroDuration());
  executor().RunUntilIdle();
  ASSERT_OK(queue.status());
  ASSERT_NE(queue->result, nullptr);
  EXPECT_EQ(queue->result->amount.records, 3u);
}

TEST_F(DispatcherTest, ADrainOfTheWorkerOutlastsATakeover) {
  Open(5);
  harness_.source.AppendNumbered("k", 3);
  executor().RunUntilIdle();
  bool drained = false;
  dispatcher_->Drain(absl::Seconds(1), [&](const auto&) { drained = true; });
  Answer<Nothing> extended;
  dispatcher_->Extend(Header(6), extended.Callback());
  executor().RunUntilIdle();
  EXPECT_THAT(extended.status(), HasReason(Reason::SHUTTING_DOWN));
  executor().Advance(absl::Seconds(4));
  EXPECT_TRUE(drained);
  EXPECT_EQ(dispatcher_->StatusOf("connector")->state,
            core::ConnectorState::kClosed);
}

// Else it ends behind what it stands on.
TEST_F(DispatcherTest, AConnectorDoesNotOutliveItsDispatcherForADrain) {
  Open(5);
  harness_.source.AppendNumbered("k", 3);
  executor().RunUntilIdle();
  const std::weak_ptr<core::Connector> connector =
      dispatcher_->Find("connector");
  ASSERT_FALSE(connector.expired());
  dispatcher_->Drain(absl::Minutes(1), [](const auto&) {});
  Answer<core::DrainedConnector> drained;
  dispatcher_->DrainConnector(Header(5), absl::Minutes(1), drained.Callback());
  executor().RunUntilIdle();
  dispatcher_->Shutdown();
  EXPECT_TRUE(connector.expired());
}

TEST_F(DispatcherTest, AConnectorThatIsDeletedWhileItDrainsHasEnded) {
  Open(5);
  harness_.source.AppendNumbered("k", 3);
  executor().RunUntilIdle();
  std::optional<std::vector<core::DrainedConnector>> drained;
  dispatcher_->Drain(absl::Minutes(1),
                     [&](auto all) { drained = std::move(all); });
  executor().RunUntilIdle();
  EXPECT_FALSE(drained.has_value()) << "its controller may still queue";
  Answer<core::DisconnectReply> deleted;
  dispatcher_->Delete(Header(5), {}, deleted.Callback());
  executor().Advance(absl::Seconds(3));
  ASSERT_OK(deleted.status());
  ASSERT_TRUE(drained.has_value()) << "at once, not at its deadline";
  EXPECT_EQ(drained->front().instance, instance_);
  EXPECT_TRUE(drained->front().reply.ok());
}

// What it has left nobody knows, so nobody may call it complete.
TEST_F(DispatcherTest, AConnectorThatCannotBeDisconnectedIsNotDrained) {
  Open(5);
  // As many as it lets wait.
  for (size_t i = 0; i < core::Lanes::kCallsMax; ++i) {
    dispatcher_->Find("connector")->Disconnect({}, [](auto) {});
  }
  std::optional<std::vector<core::DrainedConnector>> drained;
  dispatcher_->Drain(absl::Seconds(1),
                     [&](auto all) { drained = std::move(all); });
  executor().RunUntilIdle();
  ASSERT_TRUE(drained.has_value());
  ASSERT_THAT(*drained, testing::SizeIs(1));
  EXPECT_EQ(drained->front().connector, "connector");
  EXPECT_FALSE(drained->front().reply.ok());
  EXPECT_FALSE(drained->front().IsComplete());
}

// A process dies: its tasks never run, what it owned is freed all the same.
TEST_F(DispatcherTest, NothingOutlivesADispatcherWithCallsOutstanding) {
  Open(5);
  const std::weak_ptr<core::Connector> connector =
      dispatcher_->Find("connector");
  const Answer<core::QueueReply> queue = Queue(Header(5), absl::Hours(1));
  CommandHeader releasing = Header(5);
  releasing.released_steps = 0;
  Answer<Nothing> commit;
  dispatcher_->CommitCheckpoint(releasing, {}, commit.Callback());
  Answer<core::DisconnectReply> deleted;
  dispatcher_->Delete(Header(5), {}, deleted.Callback());
  executor().DropAll();
  dispatcher_.reset();
  executor().DropAll();
  EXPECT_TRUE(connector.expired());
}

}  // namespace
}  // namespace penstock::server
