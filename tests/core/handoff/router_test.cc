#include "core/handoff/router.h"

#include "core/record/key_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace penstock::core {
namespace {

Record Keyed(absl::string_view key, uint32_t partition) {
  Record record;
  record.key = key;
  record.meta.key_hash = KeyHash(key);
  record.meta.has_key_hash = true;
  record.meta.partition = partition;
  return record;
}

Record Keyless(uint32_t partition) {
  Record record;
  record.meta.partition = partition;
  return record;
}

TEST(KeyHashRouterTest, AKeyGoesToOneShardWhateverItsPartition) {
  const KeyHashRouter router;
  EXPECT_EQ(router.Route(Keyed("a", 1), 16), router.Route(Keyed("a", 2), 16));
}

// Pinned: a replayed step must reach the shards that it reached first.
TEST(KeyHashRouterTest, FormulasNeverChange) {
  const KeyHashRouter router;
  // FNV-1a of "a" is 0xaf63dc4c8601ec8c.
  EXPECT_EQ(router.Route(Keyed("a", 0), 7), 0xaf63dc4c8601ec8cu % 7);
  EXPECT_EQ(router.Route(Keyless(3), 7), (3 * 0x9E3779B97F4A7C15u) % 7);
  EXPECT_EQ(PartitionRouter().Route(Keyed("a", 3), 7),
            (3 * 0x9E3779B97F4A7C15u) % 7);
}

TEST(KeyHashRouterTest, KeylessRecordsOfAPartitionStayTogether) {
  const KeyHashRouter router;
  EXPECT_EQ(router.Route(Keyless(5), 16), router.Route(Keyless(5), 16));
  std::set<ShardIndex> shards;
  for (uint32_t partition = 0; partition < 64; ++partition) {
    shards.insert(router.Route(Keyless(partition), 16));
  }
  EXPECT_GT(shards.size(), 8u) << "partitions spread";
}

TEST(RouterTest, AShardIsTheRemainderWhateverTheirNumber) {
  for (uint32_t shards = 1; shards <= 70; ++shards) {
    for (const uint64_t hash : {uint64_t{0}, uint64_t{12'345'678'901},
                                KeyHash("customer-42"), UINT64_MAX}) {
      ASSERT_EQ(ShardOfHash(hash, shards), hash % shards);
    }
  }
}

TEST(RouterTest, EveryShardIsReachedAndNoOther) {
  const KeyHashRouter router;
  std::set<ShardIndex> shards;
  for (int i = 0; i < 1'000; ++i) {
    const ShardIndex shard = router.Route(Keyed(std::to_string(i), 0), 16);
    ASSERT_LT(shard, 16u);
    shards.insert(shard);
  }
  EXPECT_EQ(shards.size(), 16u);
}

TEST(PartitionRouterTest, KeysDoNotMatter) {
  const PartitionRouter router;
  EXPECT_EQ(router.Route(Keyed("a", 1), 16), router.Route(Keyed("b", 1), 16));
}

}  // namespace
}  // namespace penstock::core
