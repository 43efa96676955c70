#include "core/handoff/shard_queues.h"

#include "core/handoff/shard_sender.h"
#include "tests/core/handoff/handoff_fixtures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// An item that can be told from others by its step.
ShardItem Item(Step step) { return StepEnd{.step = step, .acks = {}}; }

Step StepOf(const ShardItem& item) { return std::get<StepEnd>(item).step; }

std::vector<Step> StepsOf(const std::vector<ShardItem>& items) {
  std::vector<Step> steps;
  for (const ShardItem& item : items) steps.push_back(StepOf(item));
  return steps;
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ShardQueueTest, ItemsLeaveInTheOrderTheyWereSent) {
  ShardQueue queue(3);
  // Twice around the ring.
  for (Step step = 0; step < 6; step += 2) {
    EXPECT_EQ(queue.TrySend(Item(step)), SendResult::kSent);
    EXPECT_EQ(queue.TrySend(Item(step + 1)), SendResult::kSent);
    EXPECT_EQ(StepOf(*queue.TryReceive()), step);
    EXPECT_EQ(StepOf(*queue.TryReceive()), step + 1);
  }
  EXPECT_FALSE(queue.TryReceive().has_value());
}

TEST(ShardQueueTest, AFullQueueLeavesTheItemUntouched) {
  const auto acks = std::make_shared<RecordingAckListener>();
  StepHandle handle(7, acks);
  ShardQueue queue(1);
  ASSERT_EQ(queue.TrySend(Item(1)), SendResult::kSent);
  StepEnd end{.step = 7, .acks = {}};
  end.acks.Push(handle.Share());
  ShardItem item = std::move(end);
  EXPECT_EQ(queue.TrySend(std::move(item)), SendResult::kFull);
  // NOLINTNEXTLINE(bugprone-use-after-move): a refused item is untouched
  EXPECT_EQ(std::get<StepEnd>(item).acks.size(), 1u);
  EXPECT_EQ(queue.full_events(), 1u);
  EXPECT_EQ(queue.size(), 1u);
}

TEST(ShardQueueTest, AClosedQueueDoesNotLookLikeAFullOne) {
  ShardQueue queue(1);
  ASSERT_EQ(queue.TrySend(Item(1)), SendResult::kSent);
  queue.Close();
  EXPECT_EQ(queue.TrySend(Item(2)), SendResult::kClosed);
  EXPECT_EQ(queue.full_events(), 0u);
  EXPECT_TRUE(queue.is_closed());
}

TEST(ShardQueueTest, AClosedQueueLeavesTheItemUntouched) {
  const auto acks = std::make_shared<RecordingAckListener>();
  StepHandle handle(7, acks);
  ShardQueue queue(1);
  queue.Close();
  EncodedChunk chunk;
  chunk.acks.Push(handle.Share());
  ShardItem item = std::move(chunk);
  EXPECT_EQ(queue.TrySend(std::move(item)), SendResult::kClosed);
  // NOLINTNEXTLINE(bugprone-use-after-move): a refused item is untouched
  std::move(std::get<EncodedChunk>(item).acks).Deliver();
  std::move(handle).Resolve();
  EXPECT_EQ(acks->Of(7), AckStatus::kDelivered);
}

TEST(ShardQueueTest, AClosedQueueCanBeDrained) {
  ShardQueue queue(2);
  ASSERT_EQ(queue.TrySend(Item(1)), SendResult::kSent);
  queue.Close();
  EXPECT_THAT(StepsOf(queue.ReceiveAll()), ElementsAre(1));
}

TEST(ShardQueueTest, ADroppedQueueFailsTheAcksAndReturnsTheLeasesInIt) {
  const auto acks = std::make_shared<RecordingAckListener>();
  const auto budget =
      std::make_shared<InflightBudget>(InflightBudget::Options{.limit = 100});
  StepHandle handle(7, acks);
  {
    ShardQueue queue(2);
    EncodedChunk chunk;
    chunk.acks.Push(handle.Share());
    chunk.lease = *budget->TryReserve(40);
    ASSERT_EQ(queue.TrySend(std::move(chunk)), SendResult::kSent);
    EXPECT_EQ(budget->usage(), 40u);
  }
  std::move(handle).Resolve();
  EXPECT_EQ(acks->Of(7), AckStatus::kFailed);
  EXPECT_EQ(budget->usage(), 0u);
}

TEST(ShardQueueTest, AReceivedItemLeavesNothingBehind) {
  const auto acks = std::make_shared<RecordingAckListener>();
  StepHandle handle(7, acks);
  ShardQueue queue(2);
  StepEnd end{.step = 7, .acks = {}};
  end.acks.Push(handle.Share());
  ASSERT_EQ(queue.TrySend(std::move(end)), SendResult::kSent);
  ShardItem item = *queue.TryReceive();
  std::move(std::get<StepEnd>(item).acks).Deliver();
  std::move(handle).Resolve();
  EXPECT_EQ(acks->Of(7), AckStatus::kDelivered);
}

TEST(ShardQueueTest, ReceiveAllTakesEverythingInOrder) {
  ShardQueue queue(3);
  EXPECT_THAT(queue.ReceiveAll(), IsEmpty());
  ASSERT_EQ(queue.TrySend(Item(1)), SendResult::kSent);
  ASSERT_EQ(queue.TrySend(Item(2)), SendResult::kSent);
  (void)queue.TryReceive();
  ASSERT_EQ(queue.TrySend(Item(3)), SendResult::kSent);
  ASSERT_EQ(queue.TrySend(Item(4)), SendResult::kSent);
  EXPECT_THAT(StepsOf(queue.ReceiveAll()), ElementsAre(2, 3, 4));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(ShardQueueTest, ItemsAreSaidWhenTheQueueBecomesNonEmpty) {
  ShardQueue queue(3);
  int items = 0;
  queue.SetOnItems([&] { ++items; });
  ASSERT_EQ(queue.TrySend(Item(1)), SendResult::kSent);
  ASSERT_EQ(queue.TrySend(Item(2)), SendResult::kSent);
  EXPECT_EQ(items, 1);
  (void)queue.ReceiveAll();
  ASSERT_EQ(queue.TrySend(Item(3)), SendResult::kSent);
  EXPECT_EQ(items, 2);
}

TEST(ShardQueueTest, RoomIsSaidOnlyAfterARefusal) {
  ShardQueue queue(1);
  int rooms = 0;
  queue.SetOnRoom([&] { ++rooms; });
  ASSERT_EQ(queue.TrySend(Item(1)), SendResult::kSent);
  (void)queue.TryReceive();
  EXPECT_EQ(rooms, 0);
  ASSERT_EQ(queue.TrySend(Item(2)), SendResult::kSent);
  ASSERT_EQ(queue.TrySend(Item(3)), SendResult::kFull);
  (void)queue.ReceiveAll();
  EXPECT_EQ(rooms, 1);
  (void)queue.ReceiveAll();
  EXPECT_EQ(rooms, 1);
}

TEST(ShardQueueTest, TheRefusedItemMayBeSentInsideTheCallback) {
  ShardQueue queue(1);
  queue.SetOnRoom(
      [&] { EXPECT_EQ(queue.TrySend(Item(2)), SendResult::kSent); });
  ASSERT_EQ(queue.TrySend(Item(1)), SendResult::kSent);
  ASSERT_EQ(queue.TrySend(Item(2)), SendResult::kFull);
  EXPECT_EQ(StepOf(*queue.TryReceive()), 1u);
  EXPECT_EQ(queue.size(), 1u);
}

TEST(ShardQueuesTest, CloseAllClosesEachShard) {
  ShardQueues queues(2, 4);
  EXPECT_EQ(queues.size(), 2u);
  queues.CloseAll();
  EXPECT_EQ(queues.at(0).TrySend(Item(1)), SendResult::kClosed);
  EXPECT_EQ(queues.at(1).TrySend(Item(1)), SendResult::kClosed);
}

class ShardSenderTest : public ::testing::Test {
 protected:
  ShardQueues queues_{2, 1};
  ShardSender sender_{queues_};
};

TEST_F(ShardSenderTest, ParksWhatFindsNoRoom) {
  EXPECT_EQ(sender_.Send(0, Item(1)), SendResult::kSent);
  EXPECT_EQ(sender_.Send(0, Item(2)), SendResult::kFull);
  EXPECT_EQ(sender_.parked(0), 1u);
  EXPECT_EQ(sender_.parked(1), 0u);
  EXPECT_EQ(sender_.parked_total(), 1u);
  EXPECT_EQ(sender_.Relieve(), SendResult::kFull);
}

TEST_F(ShardSenderTest, NothingIsSentPastAParkedItem) {
  (void)sender_.Send(0, Item(1));
  (void)sender_.Send(0, Item(2));
  EXPECT_THAT(StepsOf(queues_.at(0).ReceiveAll()), ElementsAre(1));
  EXPECT_EQ(sender_.Send(0, Item(3)), SendResult::kFull) << "there was room";
  EXPECT_EQ(sender_.Relieve(), SendResult::kFull);
  EXPECT_THAT(StepsOf(queues_.at(0).ReceiveAll()), ElementsAre(2));
  EXPECT_EQ(sender_.Relieve(), SendResult::kSent);
  EXPECT_THAT(StepsOf(queues_.at(0).ReceiveAll()), ElementsAre(3));
}

TEST_F(ShardSenderTest, AFullShardHoldsBackNoOther) {
  for (const ShardIndex shard : {0, 1}) {
    (void)sender_.Send(shard, Item(1));
    (void)sender_.Send(shard, Item(2));
  }
  (void)queues_.at(1).ReceiveAll();
  EXPECT_EQ(sender_.Relieve(), SendResult::kFull);
  EXPECT_THAT(StepsOf(queues_.at(1).ReceiveAll()), ElementsAre(2));
  EXPECT_EQ(sender_.parked(0), 1u);
}

TEST_F(ShardSenderTest, AClosedShardDropsItsOwnAndGoesOnWithTheOthers) {
  const auto acks = std::make_shared<RecordingAckListener>();
  StepHandle handle(2, acks);
  StepEnd end{.step = 2, .acks = {}};
  end.acks.Push(handle.Share());
  (void)sender_.Send(0, Item(1));
  (void)sender_.Send(0, std::move(end));
  (void)sender_.Send(1, Item(1));
  (void)sender_.Send(1, Item(2));
  queues_.at(0).Close();
  (void)queues_.at(1).ReceiveAll();
  EXPECT_EQ(sender_.Relieve(), SendResult::kClosed);
  EXPECT_EQ(sender_.parked_total(), 0u);
  EXPECT_THAT(StepsOf(queues_.at(1).ReceiveAll()), ElementsAre(2));
  std::move(handle).Resolve();
  EXPECT_EQ(acks->Of(2), AckStatus::kFailed);
}

TEST_F(ShardSenderTest, DropLastKeepsOlderSteps) {
  (void)sender_.Send(0, Item(1));
  (void)sender_.Send(0, Item(2));
  (void)sender_.Send(0, Item(3));
  (void)sender_.Send(0, Item(3));
  sender_.DropLast(3);
  EXPECT_EQ(sender_.parked(0), 1u);
  EXPECT_EQ(sender_.parked_total(), 1u);
}

}  // namespace
}  // namespace penstock::core
