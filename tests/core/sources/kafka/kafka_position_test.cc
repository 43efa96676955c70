#include "core/sources/kafka/kafka_position.h"

#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

KafkaPosition Two() {
  KafkaPosition position;
  position.Add("orders", 1, 4);
  position.Add("orders", 0, 17);
  position.Add("a\"b", 3, 0);
  KafkaRange& first = *position.Find("orders", 0);
  first.end = 23;
  first.last = {.offset = 21, .timestamp_ms = -5};
  return position;
}

TEST(KafkaPositionTest, IsWrittenInTheOrderOfTopicsAndPartitions) {
  EXPECT_EQ(Two().ToJson(),
            R"({"version":2,"topics":[)"
            R"({"topic":"orders","ranges":[[0,17,23,2,-5],[1,4,4]]},)"
            R"({"topic":"a\"b","ranges":[[3,0,0]]}]})");
}

TEST(KafkaPositionTest, IsReadAsItWasWritten) {
  ASSERT_OK_AND_ASSIGN(const KafkaPosition again,
                       KafkaPosition::Parse(Two().ToJson()));
  EXPECT_EQ(again, Two());
}

TEST(KafkaPositionTest, TheFirstTopicsPartitionsKeepTheirNumbers) {
  EXPECT_EQ(KafkaPosition::IdOf(0, 7), 7u);
  const uint32_t id = KafkaPosition::IdOf(1, 3);
  KafkaPosition position = Two();
  EXPECT_EQ(position.TopicOf(id), "a\"b");
  EXPECT_EQ(position.At(id).partition, 3);
}

TEST(KafkaPositionTest, MostPartitionsFitIntoAStepsResult) {
  KafkaPosition position;
  for (int i = 0; i < static_cast<int>(KafkaPosition::kPartitionsMax); ++i) {
    position.Add("t", i, int64_t{1} << 60);
    position.Find("t", i)->last = {.offset = (int64_t{1} << 60) - 1'000,
                                   .timestamp_ms = 1'764'547'200'000};
  }
  EXPECT_LE(position.ToJson().size(), size_t{384} << 10);
}

TEST(KafkaPositionTest, OfTheVersionBeforeIsRead) {
  ASSERT_OK_AND_ASSIGN(
      const KafkaPosition position,
      KafkaPosition::Parse(R"({"version":1,"topics":[{"topic":"orders",)"
                           R"("ranges":[[0,17,23]]}]})"));
  EXPECT_EQ(position.Find("orders", 0)->end, 23);
  EXPECT_FALSE(position.Find("orders", 0)->last.has_value());
}

class BadPositionTest : public testing::TestWithParam<std::string> {};

TEST_P(BadPositionTest, IsRefused) {
  EXPECT_THAT(KafkaPosition::Parse(GetParam()),
              HasReason(Reason::MALFORMED_FRAME));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadPositionTest,
    testing::Values(
        "", "null", "{}", R"({"version":0,"topics":[]})",
        R"({"version":3,"topics":[]})",
        R"({"version":2,"topics":[{"topic":"t","ranges":[[0,0,1,1]]}]})",
        R"({"version":2,"topics":[{"topic":"t","ranges":[[0,0,1,0,9]]}]})",
        R"({"version":2,"topics":[{"topic":"t","ranges":[[0,0,1,2,9]]}]})",
        R"({"version":1,"topics":[],"more":1})",
        R"({"version":1,"topics":[{"topic":"t"}]})",
        R"({"version":1,"topics":[{"topic":"t","ranges":[[0,1]]}]})",
        R"({"version":1,"topics":[{"topic":"t","ranges":[[0,-1,1]]}]})",
        R"({"version":1,"topics":[{"topic":"t","ranges":[[0,2,1]]}]})",
        R"({"version":1,"topics":[{"topic":"t","ranges":[[1,0,0],[0,0,0]]}]})",
        R"({"version":1,"topics":[{"topic":"t","ranges":[]},)"
        R"({"topic":"t","ranges":[]}]})"));

}  // namespace
}  // namespace penstock::core
