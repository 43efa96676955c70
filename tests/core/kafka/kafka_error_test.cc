#include "core/kafka/kafka_error.h"

#include "core/kafka/kafka_handles.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

using testing::Optional;

TEST(KafkaErrorTest, BrokerThatIsAwayIsTriedAgain) {
  EXPECT_TRUE(IsKafkaRetryable(RD_KAFKA_RESP_ERR__TRANSPORT));
  EXPECT_TRUE(IsKafkaRetryable(RD_KAFKA_RESP_ERR__TIMED_OUT));
  EXPECT_TRUE(IsKafkaRetryable(RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION));
}

TEST(KafkaErrorTest, WhatAPersonMustMendIsNotTriedAgain) {
  EXPECT_FALSE(IsKafkaRetryable(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
  EXPECT_FALSE(IsKafkaRetryable(RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET));
  EXPECT_FALSE(IsKafkaRetryable(RD_KAFKA_RESP_ERR_PRODUCER_FENCED));
}

TEST(KafkaErrorTest, SaysWhatWasDoneAndKeepsTheName) {
  const absl::Status error =
      MakeKafkaError(RD_KAFKA_RESP_ERR__TRANSPORT, "read topic t");
  EXPECT_THAT(error, HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(std::string(error.message()),
              testing::StartsWith("kafka: read topic t: "));
  EXPECT_THAT(KafkaErrorOf(error), Optional(std::string("_TRANSPORT")));
  EXPECT_EQ(KafkaErrorOf(MakeError(Reason::INTERNAL, "x")), std::nullopt);
}

TEST(KafkaErrorTest, NewerProducerFences) {
  EXPECT_EQ(ReasonOfKafkaError(RD_KAFKA_RESP_ERR__FENCED),
            Reason::WRITER_FENCED);
  EXPECT_EQ(ReasonOfKafkaError(RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH),
            Reason::WRITER_FENCED);
}

TEST(KafkaErrorTest, NoErrorObjectIsOk) {
  EXPECT_OK(MakeKafkaError(nullptr, "nothing"));
}

TEST(KafkaErrorTest, ErrorObjectIsNamed) {
  const KafkaErrorHandle error(
      rd_kafka_error_new(RD_KAFKA_RESP_ERR__INVALID_ARG, "no %s", "group"));
  const absl::Status status = MakeKafkaError(error.get(), "begin");
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("begin: no group"));
}

}  // namespace
}  // namespace penstock::core
