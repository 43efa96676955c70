#include "proto/wire/kafka_source_config.h"

#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/violations.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::wire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::KafkaSource Parse(const std::string& text) {
  v1::KafkaSource message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      text + " options { key: 'bootstrap.servers' value: 'a:1' }", &message));
  return message;
}

// The fields that are wrong.
std::vector<std::string> WrongOf(const v1::KafkaSource& message) {
  Violations violations;
  (void)KafkaSourceFromProto(message, "source.kafka", violations);
  std::vector<std::string> fields;
  for (const auto& violation : violations.kept()) {
    fields.push_back(violation.field);
  }
  return fields;
}

TEST(KafkaSourceConfigTest, WhatIsGivenIsReadAndWritten) {
  const v1::KafkaSource given = Parse(R"(
      topics: 'orders'
      start: KAFKA_SOURCE_START_OFFSETS
      start_offsets { topic: 'orders' partition: 3 offset: 17 }
      share { index: 1 count: 2 }
      expired: KAFKA_EXPIRED_SKIP
      stop_at_end: true
      tombstones: KAFKA_TOMBSTONES_PASS
      header_filter { name: 'type' value: 'order' negated: true }
      columns { topic: 'a' partition: 'b' offset: 'c' timestamp: 'd'
                key: 'e' headers: 'f' }
      discovery_interval { seconds: 7 })");
  Violations violations;
  const auto config = KafkaSourceFromProto(given, "source.kafka", violations);
  EXPECT_TRUE(violations.kept().empty());
  EXPECT_EQ(config->start_offsets.at(0).offset, 17);
  EXPECT_EQ(config->share_index, 1u);
  EXPECT_EQ(config->expired, core::KafkaExpired::kSkip);
  EXPECT_TRUE(config->header_filter.at(0).is_negated);
  EXPECT_EQ(config->columns.headers, "f");
  EXPECT_EQ(config->discovery_interval, absl::Seconds(7));
  EXPECT_EQ(KafkaSourceToProto(*config).SerializeAsString(),
            given.SerializeAsString());
}

TEST(KafkaSourceConfigTest, AStartTimeGoesWithItsStartOnly) {
  EXPECT_THAT(WrongOf(Parse("topics: 't' start: KAFKA_SOURCE_START_TIMESTAMP")),
              ElementsAre("source.kafka.start_time_ms"));
  EXPECT_THAT(WrongOf(Parse("topics: 't' start_time_ms: 1")),
              ElementsAre("source.kafka.start_time_ms"));
  EXPECT_THAT(WrongOf(Parse("topics: 't' start: KAFKA_SOURCE_START_TIMESTAMP "
                            "start_time_ms: 1")),
              IsEmpty());
}

TEST(KafkaSourceConfigTest, EnumsAreChecked) {
  EXPECT_THAT(WrongOf(Parse("topics: 't' start: KAFKA_SOURCE_START_UNSPECIFIED "
                            "expired: KAFKA_EXPIRED_UNSPECIFIED "
                            "tombstones: KAFKA_TOMBSTONES_UNSPECIFIED")),
              ElementsAre("source.kafka.start", "source.kafka.expired",
                          "source.kafka.tombstones"));
}

TEST(KafkaSourceConfigTest, WhatTheSourceRefusesIsNamed) {
  v1::KafkaSource message = Parse("topics: 't'");
  (*message.mutable_options())["no.such"] = "1";
  EXPECT_THAT(WrongOf(message), ElementsAre("source.kafka.options.no.such"));
  EXPECT_THAT(WrongOf(Parse("topics: 't' share { index: 2 count: 2 }")),
              ElementsAre("source.kafka.share"));
}

}  // namespace
}  // namespace penstock::wire
