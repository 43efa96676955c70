#include "core/connector/lanes.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>
#include <vector>

namespace penstock::core {
namespace {

TEST(LanesTest, KeepsTheOrderOfEachLane) {
  Lanes lanes;
  lanes.Push(OrderedCall(ExtendCall{[](const absl::Status&) {}}));
  lanes.Push(OrderedCall(PauseCall{[](const absl::Status&) {}}));
  const std::vector<OrderedCall> taken = lanes.TakeAll().ordered;
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<ExtendCall>(taken[0]));
  EXPECT_TRUE(std::holds_alternative<PauseCall>(taken[1]));
  EXPECT_TRUE(lanes.TakeAll().ordered.empty());
}

TEST(LanesTest, SaysWithoutALockWhetherAnImmediateCommandWaits) {
  Lanes lanes;
  EXPECT_FALSE(lanes.HasImmediate());
  lanes.Push(OrderedCall(PauseCall{[](const absl::Status&) {}}));
  EXPECT_FALSE(lanes.HasImmediate());
  lanes.Push(ImmediateCall(
      DrainCall{DrainScope::kWorker, [](const absl::Status&) {}}));
  EXPECT_TRUE(lanes.HasImmediate());
  EXPECT_EQ(lanes.TakeImmediate().size(), 1u);
  EXPECT_FALSE(lanes.HasImmediate());
}

TEST(LanesTest, IsBounded) {
  Lanes lanes;
  for (size_t i = 0; i < Lanes::kCallsMax; ++i) {
    lanes.Push(OrderedCall(PauseCall{[](const absl::Status&) {}}));
  }
  absl::Status answer;
  lanes.Push(OrderedCall(
      PauseCall{[&answer](const absl::Status& status) { answer = status; }}));
  EXPECT_THAT(answer, HasReason(Reason::BUDGET_EXCEEDED));
  EXPECT_TRUE(GetRetryDelay(answer).has_value());
  // The other lane is not concerned.
  lanes.Push(ImmediateCall(
      DrainCall{DrainScope::kWorker, [](const absl::Status&) {}}));
  EXPECT_TRUE(lanes.HasImmediate());
}

TEST(LanesTest, ASupersedeRefusesTheOrderedCallsBeforeIt) {
  Lanes lanes;
  absl::Status old = absl::OkStatus();
  lanes.Push(OrderedCall(
      PauseCall{[&old](const absl::Status& status) { old = status; }}));
  lanes.Push(ImmediateCall(SupersedeCall{[](const absl::Status&) {}}));
  lanes.Push(OrderedCall(ExtendCall{[](const absl::Status&) {}}));
  EXPECT_THAT(old, HasReason(Reason::SUPERSEDED));
  const Lanes::Calls calls = lanes.TakeAll();
  EXPECT_EQ(calls.immediate.size(), 1u);
  ASSERT_EQ(calls.ordered.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<ExtendCall>(calls.ordered[0]));
}

TEST(LanesTest, AFullLaneTakesASupersede) {
  Lanes lanes;
  for (size_t i = 0; i < Lanes::kCallsMax; ++i) {
    lanes.Push(ImmediateCall(
        DrainCall{DrainScope::kWorker, [](const absl::Status&) {}}));
  }
  absl::Status refused = absl::OkStatus();
  lanes.Push(ImmediateCall(
      SupersedeCall{[&](const absl::Status& status) { refused = status; }}));
  EXPECT_OK(refused);
  EXPECT_EQ(lanes.TakeImmediate().size(), Lanes::kCallsMax + 1);
}

}  // namespace
}  // namespace penstock::core
