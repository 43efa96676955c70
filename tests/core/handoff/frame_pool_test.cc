#include "core/handoff/frame_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace penstock::core {
namespace {

std::shared_ptr<FramePool> MakePool(size_t idle_max = 2) {
  return std::make_shared<FramePool>(
      FramePool::Options{.frame_bytes = 100, .idle_max = idle_max});
}

TEST(SealedFrameTest, ReturnsItsMemoryToThePool) {
  const auto pool = MakePool();
  const FrameBuffer other = pool->Take();
  FrameBuffer buffer = pool->Take();
  buffer.Append("abc");
  const char* const memory = buffer.view().data();
  {
    const SealedFrame frame(std::move(buffer), pool);
    EXPECT_EQ(frame.view(), "abc");
    EXPECT_EQ(pool->idle(), 0u);
  }
  EXPECT_EQ(pool->idle(), 1u);
  const FrameBuffer again = pool->Take();
  EXPECT_EQ(again.view().data(), memory);
  EXPECT_EQ(again.size(), 0u);
}

TEST(SealedFrameTest, ReturnsItsMemoryOnceHoweverItMoves) {
  const auto pool = MakePool();
  const FrameBuffer other = pool->Take();
  {
    SealedFrame first(pool->Take(), pool);
    SealedFrame second = std::move(first);
    SealedFrame third;
    third = std::move(second);
  }
  EXPECT_EQ(pool->out(), 1u);
  EXPECT_EQ(pool->idle(), 1u);
}

TEST(SealedFrameTest, AssignmentReturnsWhatWasHeld) {
  const auto pool = MakePool();
  const FrameBuffer other = pool->Take();
  SealedFrame frame(pool->Take(), pool);
  frame = SealedFrame();
  EXPECT_EQ(pool->out(), 1u);
}

TEST(SealedFrameTest, OutlivesTheHandoffThatOwnedThePool) {
  auto pool = MakePool();
  FrameBuffer buffer = pool->Take();
  buffer.Append("abc");
  const SealedFrame frame(std::move(buffer), pool);
  pool.reset();
  EXPECT_EQ(frame.view(), "abc");
}

TEST(SealedFrameTest, WithoutAPoolItFreesItsMemory) {
  FrameBuffer buffer(3);
  buffer.Append("abc");
  SealedFrame frame(std::move(buffer));
  EXPECT_EQ(frame.view(), "abc");
  frame = SealedFrame();
  EXPECT_EQ(frame.size(), 0u);
}

TEST(FramePoolTest, KeepsNoMoreThanItsBound) {
  const auto pool = MakePool(/*idle_max=*/2);
  const FrameBuffer other = pool->Take();
  FrameBuffer frames[3] = {pool->Take(), pool->Take(), pool->Take()};
  for (FrameBuffer& frame : frames) pool->Return(std::move(frame));
  EXPECT_EQ(pool->idle(), 2u);
}

TEST(FramePoolTest, KeepsNothingOnceNothingIsOut) {
  const auto pool = MakePool();
  FrameBuffer first = pool->Take();
  FrameBuffer second = pool->Take();
  pool->Return(std::move(first));
  EXPECT_EQ(pool->idle(), 1u);
  pool->Return(std::move(second));
  EXPECT_EQ(pool->idle(), 0u);
  EXPECT_EQ(pool->out(), 0u);
}

TEST(FramePoolTest, FreesABufferThatHasGrownFarBeyondItsSize) {
  const auto pool = MakePool();
  const FrameBuffer other = pool->Take();
  FrameBuffer grown = pool->Take();
  grown.Reserve(1'000);
  pool->Return(std::move(grown));
  EXPECT_EQ(pool->idle(), 0u);
}

}  // namespace
}  // namespace penstock::core
