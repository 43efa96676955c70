#include "core/connector/waker.h"

#include "core/base/strand.h"
#include "tests/support/manual_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace penstock::core {
namespace {

class WakerTest : public testing::Test {
 protected:
  ManualExecutor executor_;
  std::shared_ptr<Strand> strand_ = std::make_shared<Strand>(executor_);
  int runs_ = 0;
};

TEST_F(WakerTest, ManyWakesAreOneRun) {
  Waker waker(strand_, [&] { ++runs_; });
  waker.Wake();
  waker.Wake();
  executor_.RunUntilIdle();
  EXPECT_EQ(runs_, 1);
}

TEST_F(WakerTest, WakeDuringARunLooksAgainWithoutAnotherRun) {
  Waker* self = nullptr;
  int looks = 0;
  Waker waker(strand_, [&] {
    ++runs_;
    self->Begin();
    do {
      if (++looks == 1) self->Wake();
    } while (self->End());
  });
  self = &waker;
  waker.Wake();
  executor_.RunUntilIdle();
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(looks, 2);
}

TEST_F(WakerTest, WakesAgainAfterItsRun) {
  Waker* self = nullptr;
  Waker waker(strand_, [&] {
    ++runs_;
    self->Begin();
    EXPECT_FALSE(self->End());
  });
  self = &waker;
  waker.Wake();
  executor_.RunUntilIdle();
  waker.Wake();
  executor_.RunUntilIdle();
  EXPECT_EQ(runs_, 2);
}

TEST_F(WakerTest, YieldLetsOthersOfTheExecutorRunFirst) {
  Waker* self = nullptr;
  int others = 0;
  Waker waker(strand_, [&] {
    self->Begin();
    if (++runs_ == 1) {
      self->EndAndPost();
      return;
    }
    EXPECT_EQ(others, 1);
    EXPECT_FALSE(self->End());
  });
  self = &waker;
  waker.Wake();
  executor_.Schedule([&] { ++others; });
  executor_.RunUntilIdle();
  EXPECT_EQ(runs_, 2);
}

}  // namespace
}  // namespace penstock::core
