#include "client/controller/step_numbers.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

TEST(StepNumbersTest, GivesOutNothingThatIsNotReserved) {
  StepNumbers numbers(40, 10);
  EXPECT_FALSE(numbers.HasNext());
  ASSERT_EQ(numbers.TakeReservation(), 50u);
  EXPECT_FALSE(numbers.HasNext());
  numbers.OnReserved(50);
  ASSERT_TRUE(numbers.HasNext());
  EXPECT_EQ(numbers.next(), 40u);
}

TEST(StepNumbersTest, StartsAboveEveryNumberThatWasEverReserved) {
  StepNumbers numbers(1024, 1024);
  numbers.OnReserved(*numbers.TakeReservation());
  EXPECT_EQ(numbers.next(), 1024u);
}

TEST(StepNumbersTest, ANumberIsAskedAgainUntilItIsLeft) {
  StepNumbers numbers(0, 10);
  numbers.OnReserved(*numbers.TakeReservation());
  EXPECT_EQ(numbers.next(), 0u);
  EXPECT_EQ(numbers.next(), 0u);
  numbers.Leave();
  EXPECT_EQ(numbers.next(), 1u);
}

TEST(StepNumbersTest, ReservesTheNextBlockWhenHalfIsGone) {
  StepNumbers numbers(0, 10);
  numbers.OnReserved(*numbers.TakeReservation());
  EXPECT_EQ(numbers.TakeReservation(), std::nullopt);
  for (int i = 0; i < 5; ++i) numbers.Leave();
  EXPECT_EQ(numbers.TakeReservation(), 20u);
  EXPECT_EQ(numbers.TakeReservation(), std::nullopt) << "one at a time";
  numbers.OnReserved(20);
  for (int i = 0; i < 15; ++i) numbers.Leave();
  EXPECT_FALSE(numbers.HasNext());
}

TEST(StepNumbersTest, ABlockOfNoneIsOneOfOne) {
  StepNumbers numbers(0, 0);
  EXPECT_EQ(numbers.TakeReservation(), 1u);
}

}  // namespace
}  // namespace penstock::client
