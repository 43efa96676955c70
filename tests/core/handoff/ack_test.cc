#include "core/handoff/ack.h"

#include "tests/core/handoff/handoff_fixtures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class AckTest : public ::testing::Test {
 protected:
  std::shared_ptr<RecordingAckListener> listener_ =
      std::make_shared<RecordingAckListener>();
};

TEST_F(AckTest, ResolvesOnceOnTheLastDrop) {
  StepHandle handle(7, listener_);
  AckRef first = handle.Share();
  AckRef second = first;
  std::move(handle).Resolve();
  first = AckRef();
  EXPECT_THAT(listener_->acks, IsEmpty());
  second = AckRef();
  EXPECT_THAT(listener_->acks, ElementsAre(Pair(7, AckStatus::kDelivered)));
}

TEST_F(AckTest, ADroppedCloneCountsAsDelivered) {
  StepHandle handle(7, listener_);
  { const AckRef dropped = handle.Share(); }
  std::move(handle).Resolve();
  EXPECT_THAT(listener_->acks, ElementsAre(Pair(7, AckStatus::kDelivered)));
}

TEST_F(AckTest, AnyFailureFailsTheStep) {
  StepHandle handle(7, listener_);
  AckRef failing = handle.Share();
  failing.Fail();
  failing.Fail();
  failing = AckRef();
  { const AckRef delivered = handle.Share(); }
  std::move(handle).Resolve();
  EXPECT_THAT(listener_->acks, ElementsAre(Pair(7, AckStatus::kFailed)));
}

TEST_F(AckTest, AMovedFromRefHoldsNothing) {
  StepHandle handle(7, listener_);
  AckRef from = handle.Share();
  const AckRef to = std::move(from);
  EXPECT_TRUE(from.IsEmpty());  // NOLINT(bugprone-use-after-move): the subject
  EXPECT_FALSE(to.IsEmpty());
  EXPECT_EQ(to.step(), 7u);
}

TEST_F(AckTest, SelfAssignmentKeepsTheShare) {
  StepHandle handle(7, listener_);
  AckRef ref = handle.Share();
  const AckRef& same = ref;
  ref = same;
  std::move(handle).Resolve();
  EXPECT_THAT(listener_->acks, IsEmpty());
  EXPECT_EQ(ref.step(), 7u);
}

TEST_F(AckTest, TheListenerLivesAsLongAsAHandle) {
  const std::weak_ptr<AckListener> watched = listener_;
  StepHandle handle(7, std::move(listener_));
  AckRef last = handle.Share();
  std::move(handle).Resolve();
  EXPECT_FALSE(watched.expired());
  last = AckRef();
  EXPECT_TRUE(watched.expired());
}

TEST_F(AckTest, AStepHandleThatIsDroppedFails) {
  { const StepHandle handle(7, listener_); }
  EXPECT_THAT(listener_->acks, ElementsAre(Pair(7, AckStatus::kFailed)));
  EXPECT_THAT(listener_->made, IsEmpty());
}

TEST_F(AckTest, AStepHandleThatIsReplacedFails) {
  StepHandle handle(7, listener_);
  handle = StepHandle(8, listener_);
  EXPECT_THAT(listener_->acks, ElementsAre(Pair(7, AckStatus::kFailed)));
  std::move(handle).Resolve();
  EXPECT_EQ(listener_->Of(8), AckStatus::kDelivered);
}

TEST_F(AckTest, AMovedStepHandleFailsNothing) {
  StepHandle handle(7, listener_);
  StepHandle moved = std::move(handle);
  EXPECT_TRUE(handle.IsEmpty());  // NOLINT(bugprone-use-after-move): as above
  EXPECT_THAT(listener_->acks, IsEmpty());
  std::move(moved).Resolve();
  EXPECT_THAT(listener_->acks, ElementsAre(Pair(7, AckStatus::kDelivered)));
}

TEST_F(AckTest, ResolveSaysThatTheStepIsMadeBeforeItIsAcked) {
  StepHandle handle(7, listener_);
  AckRef share = handle.Share();
  std::move(handle).Resolve();
  EXPECT_THAT(listener_->made, ElementsAre(7));
  EXPECT_THAT(listener_->acks, IsEmpty());
}

TEST_F(AckTest, ASetThatIsDroppedFailsItsSteps) {
  StepHandle seven(7, listener_);
  StepHandle eight(8, listener_);
  {
    AckSet set;
    set.Push(seven.Share());
    set.Push(eight.Share());
    EXPECT_EQ(set.size(), 2u);
  }
  std::move(seven).Resolve();
  std::move(eight).Resolve();
  EXPECT_EQ(listener_->Of(7), AckStatus::kFailed);
  EXPECT_EQ(listener_->Of(8), AckStatus::kFailed);
}

TEST_F(AckTest, ADeliveredSetResolvesAsDelivered) {
  StepHandle handle(7, listener_);
  AckSet set;
  set.Push(handle.Share());
  std::move(handle).Resolve();
  std::move(set).Deliver();
  EXPECT_THAT(listener_->acks, ElementsAre(Pair(7, AckStatus::kDelivered)));
}

TEST_F(AckTest, AbsorbMovesWithoutResolving) {
  StepHandle handle(7, listener_);
  AckSet whole;
  {
    AckSet part;
    part.Push(handle.Share());
    part.Push(handle.Share());
    whole.Absorb(std::move(part));
  }
  std::move(handle).Resolve();
  EXPECT_EQ(whole.size(), 2u);
  EXPECT_THAT(listener_->acks, IsEmpty());
  std::move(whole).Deliver();
  EXPECT_EQ(listener_->Of(7), AckStatus::kDelivered);
}

TEST_F(AckTest, AMovedFromSetFailsNothing) {
  StepHandle handle(7, listener_);
  AckSet to;
  {
    AckSet from;
    from.Push(handle.Share());
    AckSet between = std::move(from);
    to = std::move(between);
  }
  std::move(handle).Resolve();
  std::move(to).Deliver();
  EXPECT_EQ(listener_->Of(7), AckStatus::kDelivered);
}

TEST_F(AckTest, ASetThatIsAssignedToFailsWhatItHeld) {
  StepHandle seven(7, listener_);
  StepHandle eight(8, listener_);
  AckSet set;
  set.Push(seven.Share());
  AckSet other;
  other.Push(eight.Share());
  set = std::move(other);
  std::move(seven).Resolve();
  EXPECT_EQ(listener_->Of(7), AckStatus::kFailed);
  std::move(set).Deliver();
  std::move(eight).Resolve();
  EXPECT_EQ(listener_->Of(8), AckStatus::kDelivered);
}

}  // namespace
}  // namespace penstock::core
