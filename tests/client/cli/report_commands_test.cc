#include "client/cli/report_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace penstock::client {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

core::ConnectorStatus Status(uint64_t records) {
  core::ConnectorStatus status;
  status.name = "orders";
  status.instance = "one";
  status.extended_total = {.records = records, .bytes = records * 10};
  return status;
}

TEST(TopTableTest, RatesAreWhatRoseBetweenTwoLooks) {
  const std::string table =
      TopTable({Status(100)}, {Status(300)}, absl::Seconds(2));
  EXPECT_THAT(table, ContainsRegex(" 100 +1.00 k +300 "));
}

TEST(TopTableTest, AConnectorThatWasOpenedAgainHasNoRate) {
  core::ConnectorStatus before = Status(100);
  before.instance = "another";
  EXPECT_THAT(TopTable({before}, {Status(7)}, absl::Seconds(1)),
              ContainsRegex(" - +- +7 "));
}

TEST(TopTableTest, TheFirstBlockerSaysWhy) {
  core::ConnectorStatus status = Status(1);
  status.blockers.push_back({.text = "step 3 is not released"});
  EXPECT_THAT(TopTable({}, {status}, absl::Seconds(1)),
              HasSubstr("step 3 is not released"));
}

TEST(TopTableTest, HealthComesBeforeBlockers) {
  core::ConnectorStatus status = Status(1);
  status.health = {.condition = core::Condition::kDegraded,
                   .reason = "the disk is full"};
  status.blockers.push_back({.text = "step 3 is not released"});
  const std::string table = TopTable({}, {status}, absl::Seconds(1));
  EXPECT_THAT(table, HasSubstr("DEGRADED"));
  EXPECT_THAT(table, HasSubstr("the disk is full"));
  EXPECT_THAT(table, Not(HasSubstr("not released")));
}

TEST(BlockersTest, AShardIsSaidByItsNumber) {
  const absl::Time now = absl::FromUnixSeconds(1000);
  core::ConnectorStatus status = Status(1);
  status.blockers.push_back({.kind = core::Blocker::Kind::kUnfinishedStep,
                             .step = 2,
                             .shard = std::nullopt,
                             .since = now - absl::Seconds(7)});
  status.blockers.push_back({.kind = core::Blocker::Kind::kUnflushedShard,
                             .step = 2,
                             .shard = core::ShardIndex{1},
                             .since = now - absl::Seconds(7)});
  EXPECT_EQ(BlockersOf(status, now),
            "unfinished_step at step 2 for 7s; "
            "unflushed_shard of shard 1 at step 2 for 7s");
}

}  // namespace
}  // namespace penstock::client
