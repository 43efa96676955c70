#include "client/cli/multiset_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::client {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// One input file whose records are these, and shards that hold those.
MultisetCheck Check(const std::vector<std::string>& input,
                    const std::vector<std::vector<std::string>>& shards) {
  MultisetCheck check(10);
  uint64_t offset = 0;
  for (const std::string& record : input) {
    check.AddInput(0, offset, record);
    offset += record.size() + 1;
  }
  check.EndInput();
  for (const auto& shard : shards) {
    check.BeginShard();
    uint64_t at = 0;
    for (const std::string& record : shard) {
      check.AddOutput("out", at, record);
      at += record.size() + 1;
    }
  }
  return check;
}

TEST(MultisetCheckTest, EqualMultisetsInOrderHaveNoFindings) {
  const auto check = Check({"a", "b", "c", "a"}, {{"a", "a"}, {"b", "c"}});
  EXPECT_THAT(check.findings(), IsEmpty());
  EXPECT_THAT(check.Finish(), IsEmpty());
  EXPECT_EQ(check.records_out(), 4u);
}

TEST(MultisetCheckTest, AMissingRecordIsNamedByItsPlace) {
  const auto check = Check({"aa", "b", "c"}, {{"aa", "c"}});
  ASSERT_THAT(check.Finish(), SizeIs(1));
  EXPECT_EQ(check.Finish()[0].offset, 3u);
}

TEST(MultisetCheckTest, OneOfTwoEqualRecordsMissingIsSeen) {
  const auto check = Check({"a", "a"}, {{"a"}});
  EXPECT_THAT(check.Finish(), SizeIs(1));
}

TEST(MultisetCheckTest, ADoubledRecordIsSeenAlsoInAnotherShard) {
  const auto check = Check({"a", "b"}, {{"a", "b"}, {"a"}});
  EXPECT_EQ(check.doubled(), 1u);
  ASSERT_THAT(check.findings(), SizeIs(1));
  EXPECT_EQ(check.findings()[0].kind, Finding::Kind::kDoubled);
}

TEST(MultisetCheckTest, ARecordThatNoInputHasIsForeign) {
  const auto check = Check({"a"}, {{"a", "x"}});
  EXPECT_EQ(check.foreign(), 1u);
}

TEST(MultisetCheckTest, SwappedRecordsInOneShardAreOutOfOrder) {
  EXPECT_EQ(Check({"a", "b"}, {{"b", "a"}}).disordered(), 1u);
}

TEST(MultisetCheckTest, ShardsAreOrderedEachForItself) {
  EXPECT_EQ(Check({"a", "b"}, {{"b"}, {"a"}}).disordered(), 0u);
}

TEST(MultisetCheckTest, ManyEqualRecordsTakeLinearTime) {
  const std::vector<std::string> many(200'000, "same");
  EXPECT_THAT(Check(many, {many}).Finish(), IsEmpty());
}

}  // namespace
}  // namespace penstock::client
