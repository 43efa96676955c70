#include "core/sinks/kafka/config.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/connector_status.h"
#include "proto/wire/requests.h"
#include "proto/wire/spec.h"
#include "proto/wire/spec_change.h"
#include "tests/proto/wire/spec_text.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::wire {
namespace {

using testing::ElementsAre;
using testing::Pair;

v1::ConnectorSpec ToKafka() {
  v1::ConnectorSpec given = Smallest();
  v1::KafkaSink& kafka = *given.mutable_sink()->mutable_kafka();
  kafka.set_topic("orders");
  (*kafka.mutable_options())["bootstrap.servers"] = "kafka:9092";
  return given;
}

TEST(KafkaSinkSpecTest, IsTypedAndComesBack) {
  v1::ConnectorSpec given = ToKafka();
  v1::KafkaSink& kafka = *given.mutable_sink()->mutable_kafka();
  (*kafka.mutable_options())["sasl.password"] = "${env:PASSWORD}";
  kafka.set_partition_by(v1::KAFKA_PARTITION_BY_SHARD);
  kafka.mutable_transaction_timeout()->set_seconds(20);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  const auto& config = dynamic_cast<const core::KafkaSinkConfig&>(*spec.sink);
  EXPECT_EQ(config.topic, "orders");
  EXPECT_THAT(config.options,
              ElementsAre(Pair("bootstrap.servers", "kafka:9092"),
                          Pair("sasl.password", "${env:PASSWORD}")));
  EXPECT_EQ(config.partition_by, core::KafkaPartitionBy::kShard);
  EXPECT_EQ(config.transaction_timeout, absl::Seconds(20));
  EXPECT_EQ(config.request_timeout, absl::Seconds(30));
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec again,
                       SpecFromBytes(SpecToBytes(spec)));
  EXPECT_EQ(SpecToBytes(again), SpecToBytes(spec));
}

TEST(KafkaSinkSpecTest, OptionsInAnotherOrderAreTheSameBytes) {
  v1::ConnectorSpec one = ToKafka();
  v1::ConnectorSpec other = ToKafka();
  auto& first = *one.mutable_sink()->mutable_kafka()->mutable_options();
  auto& second = *other.mutable_sink()->mutable_kafka()->mutable_options();
  for (int i = 0; i < 9; ++i) {
    const std::string ms = std::to_string(i);
    first["linger.ms"] = second["linger.ms"] = ms;
  }
  first["client.id"] = "a";
  first["batch.size"] = "10000";
  second["batch.size"] = "10000";
  second["client.id"] = "a";
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec a, SpecFromProto(one));
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec b, SpecFromProto(other));
  EXPECT_EQ(SpecToBytes(a), SpecToBytes(b));
}

// Maps of messages have an order of their own, another one in each message.
TEST(KafkaSinkSpecTest, ManyOptionsHaveOneHashWhereverItIsMade) {
  v1::ConnectorSpec given = ToKafka();
  auto& options = *given.mutable_sink()->mutable_kafka()->mutable_options();
  for (const char* const name : {"client.id", "sasl.username", "sasl.password",
                                 "ssl.ca.location", "sasl.mechanisms"}) {
    options[name] = "${env:X}";
  }
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  const std::string bytes = SpecToBytes(spec);
  core::ConnectorStatus status;
  status.spec_bytes = bytes;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ToProto(core::OpenReply(), spec).spec_hash(), SpecHash(bytes));
    ASSERT_OK_AND_ASSIGN(const v1::GetConnectorResponse sent,
                         GetResponseToProto(status, v1::GetConnectorRequest()));
    v1::GetConnectorResponse came;
    ASSERT_TRUE(came.ParseFromString(sent.SerializeAsString()));
    ASSERT_OK_AND_ASSIGN(const core::ConnectorStatus shown, FromProto(came));
    EXPECT_EQ(shown.spec_bytes, bytes);
  }
}

TEST(KafkaSinkSpecTest, IsCheckedAsItChecksItself) {
  v1::ConnectorSpec given = Smallest();
  v1::KafkaSink& kafka = *given.mutable_sink()->mutable_kafka();
  EXPECT_THAT(FieldsOf(given), ElementsAre("connectors[0].sink.kafka.topic",
                                           "connectors[0].sink.kafka.options"));
  kafka.set_topic("a topic");
  (*kafka.mutable_options())["bootstrap.servers"] = "kafka:9092";
  EXPECT_THAT(FieldsOf(given), ElementsAre("connectors[0].sink.kafka.topic"));
  kafka.set_topic("orders");
  (*kafka.mutable_options())["acks"] = "1";
  EXPECT_THAT(FieldsOf(given),
              ElementsAre("connectors[0].sink.kafka.options.acks"));
  kafka.mutable_options()->erase("acks");
  (*kafka.mutable_options())["sasl.password"] = "hush";
  EXPECT_THAT(FieldsOf(given),
              ElementsAre("connectors[0].sink.kafka.options.sasl.password"));
  kafka.mutable_options()->erase("sasl.password");
  kafka.set_partition_by(v1::KAFKA_PARTITION_BY_UNSPECIFIED);
  EXPECT_THAT(FieldsOf(given),
              ElementsAre("connectors[0].sink.kafka.partition_by"));
}

TEST(KafkaSinkSpecTest, ChangedOptionsShowNoValue) {
  v1::ConnectorSpec after = ToKafka();
  (*after.mutable_sink()->mutable_kafka()->mutable_options())["client.id"] =
      "x";
  EXPECT_THAT(
      CompareSpecs(ToKafka(), after),
      ElementsAre(SpecChange{"sink.kafka.options", v1::CHANGE_CLASS_REPLAY_SAFE,
                             "1 given", "2 given"}));
}

}  // namespace
}  // namespace penstock::wire
