#include "tests/support/kafka_broker.h"
#include "tests/support/kafka_client.h"
#include "tests/support/kafka_mock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

auto HasValue(const std::string& value) {
  return Field(&KafkaRecord::value, Optional(value));
}

TEST(KafkaMockTest, WhatWasWrittenIsReadInOrder) {
  KafkaMock mock;
  mock.CreateTopic("t", 2);
  WriteKafka(mock.bootstrap(), "t",
             {{.partition = 1, .value = "b"},
              {.partition = 0, .value = "a"},
              {.partition = 1, .value = "c"}});
  EXPECT_THAT(ReadKafka(mock.bootstrap(), "t"),
              ElementsAre(HasValue("a"), HasValue("b"), HasValue("c")));
}

TEST(KafkaMockTest, InjectedErrorIsSurvivedByARetry) {
  KafkaMock mock;
  mock.CreateTopic("t", 1);
  mock.FailNext(KafkaRequest::kProduce,
                RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
  WriteKafka(mock.bootstrap(), "t", {{.value = "a"}});
  EXPECT_THAT(ReadKafka(mock.bootstrap(), "t"), ElementsAre(HasValue("a")));
}

TEST(KafkaBrokerTest, KeepsWhatItHasThroughAKill) {
  PENSTOCK_NEED_KAFKA();
  KafkaBroker broker;
  CreateKafkaTopic(broker.bootstrap(), "t", 1);
  EXPECT_THAT(ReadKafka(broker.bootstrap(), "t"), IsEmpty());
  WriteKafka(broker.bootstrap(), "t",
             {{.key = "k", .value = std::nullopt, .headers = {{"h", "v"}}},
              {.key = std::nullopt, .value = ""}});
  broker.Kill();
  broker.Start();
  const std::vector<KafkaRecord> found = ReadKafka(broker.bootstrap(), "t");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key, "k");
  EXPECT_EQ(found[0].value, std::nullopt);
  EXPECT_THAT(found[0].headers,
              ElementsAre(Pair("h", Optional(std::string("v")))));
  EXPECT_EQ(found[1].key, std::nullopt);
  EXPECT_EQ(found[1].value, "");
}

}  // namespace
}  // namespace penstock::core
