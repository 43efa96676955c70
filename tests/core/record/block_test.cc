#include "core/record/block.h"

#include "core/base/thread.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

TEST(BlockPoolTest, GivesStandardBlocks) {
  BlockPool pool({.block_bytes = 128});
  EXPECT_EQ(pool.Get()->capacity(), 128u);
  EXPECT_EQ(pool.Get(128)->capacity(), 128u);
}

TEST(BlockPoolTest, GivesALargerBlockOfItsOwnToALargerRecord) {
  BlockPool pool({.block_bytes = 128});
  EXPECT_EQ(pool.Get(129)->capacity(), 129u);
}

TEST(BlockPoolTest, RecyclesABlockWhenItsLastHolderIsGone) {
  BlockPool pool({.block_bytes = 128});
  BlockRef first = pool.Get();
  const char* const memory = first->data();
  BlockRef second_holder = first;
  first.reset();
  EXPECT_NE(pool.Get()->data(), memory);
  second_holder.reset();
  // Two are idle now; the one returned last comes first.
  EXPECT_EQ(pool.Get()->data(), memory);
}

TEST(BlockPoolTest, DoesNotRecycleLargerBlocks) {
  BlockPool pool({.block_bytes = 128});
  pool.Get(1000).reset();
  EXPECT_EQ(pool.Get()->capacity(), 128u);
}

TEST(BlockPoolTest, KeepsAtMostSoManyIdleBlocks) {
  BlockPool pool({.block_bytes = 128, .idle_max = 2});
  std::vector<BlockRef> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(pool.Get());
  EXPECT_EQ(pool.idle_count(), 0u);
  blocks.clear();
  EXPECT_EQ(pool.idle_count(), 2u);
  blocks.push_back(pool.Get());
  EXPECT_EQ(pool.idle_count(), 1u);
}

TEST(BlockPoolTest, BlocksMayOutliveThePool) {
  auto pool = std::make_unique<BlockPool>(BlockPool::Options{});
  BlockRef block = pool->Get();
  pool.reset();
  std::memset(block->data(), 1, block->capacity());
  block.reset();
}

TEST(BlockPoolTest, ManyThreadsTakeAndReturn) {
  BlockPool pool({.block_bytes = 64, .idle_max = 4});
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (char id = 0; id < 4; ++id) {
      threads.push_back(
          std::make_unique<Thread>("pool", [&pool, id](std::stop_token) {
            for (int i = 0; i < 2000; ++i) {
              const BlockRef block = pool.Get();
              std::memset(block->data(), id, block->capacity());
              for (size_t j = 0; j < block->capacity(); ++j) {
                ASSERT_EQ(block->data()[j], id);
              }
            }
          }));
    }
    for (const auto& thread : threads) thread->Join();
  }
  EXPECT_EQ(pool.Get()->capacity(), 64u);
}

using BlockPoolDeathTest = testing::Test;

TEST(BlockPoolDeathTest, BlocksHaveASize) {
  EXPECT_DEATH(BlockPool({.block_bytes = 0}), "check failed");
}

}  // namespace
}  // namespace penstock::core
