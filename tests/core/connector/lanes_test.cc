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
  const std::vector<OrderedCall> taken = lanes.TakeOrdered();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<ExtendCall>(taken[0]));
  EXPECT_TRUE(std::holds_alternative<PauseCall>(taken[1]));
  EXPECT_TRUE(lanes.TakeOrdered().empty());
}

TEST(LanesTest, SaysWithoutALockWhetherAnImmediateCommandWaits) {
  Lanes lanes;
  EXPECT_FALSE(lanes.HasImmediate());
  lanes.Push(OrderedCall(PauseCall{[](const absl::Status&) {}}));
  EXPECT_FALSE(lanes.HasImmediate());
  lanes.Push(ImmediateCall(DrainCall{[](const absl::Status&) {}}));
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
  lanes.Push(ImmediateCall(DrainCall{[](const absl::Status&) {}}));
  EXPECT_TRUE(lanes.HasImmediate());
}

}  // namespace
}  // namespace penstock::core
