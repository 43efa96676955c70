#include "core/sinks/kafka/config.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

KafkaSinkConfig Good() {
  KafkaSinkConfig config;
  config.topic = "orders";
  config.options["bootstrap.servers"] = "kafka:9092";
  return config;
}

std::string FieldOf(const KafkaSinkConfig& config) {
  const absl::Status checked = CheckKafkaSinkConfig(config);
  EXPECT_THAT(checked, HasReason(Reason::INVALID_CONFIG));
  const auto info = GetErrorInfo(checked);
  return info.has_value() ? info->metadata.at("field") : "";
}

TEST(KafkaSinkConfigTest, SmallestIsFine) {
  EXPECT_OK(CheckKafkaSinkConfig(Good()));
}

TEST(KafkaSinkConfigTest, TopicHasTheFormOfATopic) {
  KafkaSinkConfig config = Good();
  config.topic = "";
  EXPECT_EQ(FieldOf(config), "sink.kafka.topic");
  config.topic = "a/b";
  EXPECT_EQ(FieldOf(config), "sink.kafka.topic");
  config.topic = "..";
  EXPECT_EQ(FieldOf(config), "sink.kafka.topic");
  config.topic = std::string(250, 'a');
  EXPECT_EQ(FieldOf(config), "sink.kafka.topic");
  config.topic = "a.B_c-1";
  EXPECT_OK(CheckKafkaSinkConfig(config));
}

TEST(KafkaSinkConfigTest, NeedsToKnowWhereTheClusterIs) {
  KafkaSinkConfig config = Good();
  config.options.clear();
  EXPECT_EQ(FieldOf(config), "sink.kafka.options");
}

TEST(KafkaSinkConfigTest, WhatDeliveryRestsOnIsNotForTheUser) {
  KafkaSinkConfig config = Good();
  config.options["enable.idempotence"] = "false";
  EXPECT_EQ(FieldOf(config), "sink.kafka.options.enable.idempotence");
}

TEST(KafkaSinkConfigTest, QueueHasRoomForTheLargestMessage) {
  KafkaSinkConfig config = Good();
  config.options["message.max.bytes"] = "20000000";
  EXPECT_EQ(FieldOf(config), "sink.kafka.options.queue.buffering.max.kbytes");
  config.options["queue.buffering.max.kbytes"] = "20000";
  EXPECT_OK(CheckKafkaSinkConfig(config));
}

TEST(KafkaSinkConfigTest, TimesHaveLimits) {
  KafkaSinkConfig config = Good();
  config.transaction_timeout = absl::ZeroDuration();
  EXPECT_EQ(FieldOf(config), "sink.kafka.transaction_timeout");
  config = Good();
  config.request_timeout = absl::InfiniteDuration();
  EXPECT_EQ(FieldOf(config), "sink.kafka.request_timeout");
}

}  // namespace
}  // namespace penstock::core
