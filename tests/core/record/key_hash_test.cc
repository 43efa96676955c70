#include "core/record/key_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

// Test vectors of draft-eastlake-fnv; they decide which shard a key goes to.
TEST(KeyHashTest, HasThePublishedValues) {
  EXPECT_EQ(KeyHash(""), 0xcbf29ce484222325);
  EXPECT_EQ(KeyHash("a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(KeyHash("foobar"), 0x85944171f73967e8);
}

TEST(KeyHashTest, HasTheValuesOfAnIndependentImplementation) {
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes.push_back(static_cast<char>(i));
  EXPECT_EQ(KeyHash("customer-42"), 0x1e1b8c70eb18f59e);
  EXPECT_EQ(KeyHash(all_bytes), 0x4242dc5249c33625);
}

TEST(KeyHashTest, BytesAreUnsigned) {
  EXPECT_EQ(KeyHash("\xc3\xa9"), 0x0ac21707b7181e01);
}

TEST(KeyHashTest, NulBytesCount) {
  EXPECT_EQ(KeyHash(absl::string_view("\0", 1)), 0xaf63bd4c8601b7df);
}

}  // namespace
}  // namespace penstock::core
