// Formats, envelopes and what is in them, from the wire and back.
#include "core/format/avro/config.h"
#include "core/format/json/config.h"
#include "core/format/msgpack/config.h"
#include "core/format/protobuf/config.h"
#include "core/format/raw/config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/spec.h"
#include "tests/proto/wire/spec_text.h"
#include "tests/support/status_matchers.h"

#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::wire {
namespace {

TEST(FormatSpecTest, JsonIsTypedAndComesBack) {
  v1::ConnectorSpec given = Smallest();
  given.mutable_format()->mutable_json()->set_key("user.id");
  given.mutable_limits()->set_record_bytes_max(1000);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  EXPECT_EQ(As<core::JsonConfig>(spec.format).key, "user.id");
  EXPECT_EQ(As<core::JsonConfig>(spec.format).record_bytes_max, 1000u);
  EXPECT_EQ(spec.route->type(), "key_hash");
  EXPECT_EQ(SpecToProto(spec).format().json().key(), "user.id");
  given.mutable_format()->mutable_json()->clear_key();
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec keyless, SpecFromProto(given));
  EXPECT_EQ(keyless.route->type(), "partition");
}

TEST(FormatSpecTest, MsgpackIsTypedAndComesBack) {
  v1::ConnectorSpec given = Smallest();
  given.mutable_format()->mutable_msgpack()->set_key("user.id");
  given.mutable_limits()->set_record_bytes_max(1000);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  EXPECT_EQ(As<core::MsgpackConfig>(spec.format).key, "user.id");
  EXPECT_EQ(As<core::MsgpackConfig>(spec.format).record_bytes_max, 1000u);
  EXPECT_EQ(spec.route->type(), "key_hash");
  EXPECT_EQ(SpecToProto(spec).format().msgpack().key(), "user.id");
}

TEST(FormatSpecTest, EnvelopesAreTypedAndComeBack) {
  v1::ConnectorSpec given = Smallest();
  v1::JsonFormat& json = *given.mutable_format()->mutable_json();
  json.set_envelope(v1::ENVELOPE_DEBEZIUM);
  json.set_unavailable_value("not told");
  json.mutable_envelope_columns()->set_op("_op");
  json.mutable_envelope_columns()->set_timestamp("_at");
  json.mutable_envelope_columns()->set_source("_from");
  json.mutable_envelope_columns()->set_before("_was");
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  const core::EnvelopeConfig& envelope =
      As<core::JsonConfig>(spec.format).envelope;
  EXPECT_EQ(envelope.kind, core::EnvelopeKind::kDebezium);
  EXPECT_EQ(envelope.unavailable_value, "not told");
  EXPECT_EQ(envelope.op, "_op");
  EXPECT_EQ(envelope.timestamp, "_at");
  EXPECT_EQ(envelope.source, "_from");
  EXPECT_EQ(envelope.before, "_was");
  EXPECT_EQ(SpecToProto(spec).format().json().DebugString(),
            json.DebugString());
  v1::ConnectorSpec other = Smallest();
  other.mutable_format()->mutable_msgpack()->set_envelope(
      v1::ENVELOPE_INSERT_DELETE);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec same, SpecFromProto(other));
  EXPECT_EQ(As<core::MsgpackConfig>(same.format).envelope.kind,
            core::EnvelopeKind::kInsertDelete);
  EXPECT_EQ(SpecToProto(same).format().msgpack().envelope(),
            v1::ENVELOPE_INSERT_DELETE);
  other.mutable_format()->mutable_msgpack()->set_envelope(v1::ENVELOPE_RAW);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec plain, SpecFromProto(other));
  EXPECT_FALSE(SpecToProto(plain).format().msgpack().has_envelope());
}

TEST(FormatSpecTest, BlobsAreForSinksOfMessages) {
  v1::ConnectorSpec given = Smallest();
  given.mutable_format()->mutable_raw()->set_framing(v1::RAW_FRAMING_BLOB);
  EXPECT_THAT(FieldsOf(given),
              testing::ElementsAre("connectors[0].format.raw.framing"));
  v1::KafkaSink& kafka = *given.mutable_sink()->mutable_kafka();
  kafka.set_topic("t");
  (*kafka.mutable_options())["bootstrap.servers"] = "one:9092";
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  EXPECT_TRUE(As<core::RawConfig>(spec.format).is_blob);
  EXPECT_EQ(SpecToProto(spec).format().raw().framing(), v1::RAW_FRAMING_BLOB);
  given.mutable_source()->mutable_file()->set_follow(true);
  EXPECT_THAT(FieldsOf(given),
              testing::ElementsAre("connectors[0].source.file.follow"));
  given.mutable_format()->mutable_raw()->set_framing(v1::RAW_FRAMING_LINES);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec lines, SpecFromProto(given));
  EXPECT_FALSE(As<core::RawConfig>(lines.format).is_blob);
  EXPECT_FALSE(SpecToProto(lines).format().raw().has_framing());
}

TEST(FormatSpecTest, ProtobufIsTypedAndComesBack) {
  v1::ConnectorSpec given = Smallest();
  v1::ProtobufFormat& protobuf = *given.mutable_format()->mutable_protobuf();
  protobuf.mutable_registry()->set_url("http://registry:8081");
  protobuf.mutable_registry()->mutable_timeout()->set_seconds(10);
  protobuf.mutable_registry()->add_bad_schema_ids(7);
  protobuf.set_key("user.id");
  protobuf.set_envelope(v1::ENVELOPE_DEBEZIUM);
  protobuf.mutable_envelope_columns()->set_op("_op");
  given.mutable_limits()->set_record_bytes_max(1000);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  const auto& config = As<core::ProtobufConfig>(spec.format);
  ASSERT_TRUE(config.registry.has_value());
  EXPECT_EQ(config.registry->url, "http://registry:8081");
  EXPECT_THAT(config.registry->bad_schema_ids, testing::ElementsAre(7));
  EXPECT_EQ(config.key, "user.id");
  EXPECT_EQ(config.envelope.op, "_op");
  EXPECT_EQ(config.record_bytes_max, 1000u);
  EXPECT_EQ(spec.route->type(), "key_hash");
  EXPECT_EQ(SpecToProto(spec).format().protobuf().DebugString(),
            protobuf.DebugString());
  protobuf.clear_registry();
  protobuf.set_descriptor_set("/wA=");
  protobuf.set_message("a.B");
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec fixed, SpecFromProto(given));
  EXPECT_EQ(As<core::ProtobufConfig>(fixed.format).descriptor_set,
            std::string("\xff\0", 2));
  EXPECT_EQ(As<core::ProtobufConfig>(fixed.format).message, "a.B");
  EXPECT_EQ(SpecToProto(fixed).format().protobuf().DebugString(),
            protobuf.DebugString());
}

TEST(FormatSpecTest, AvroIsTypedAndComesBack) {
  v1::ConnectorSpec given = Smallest();
  v1::AvroFormat& avro = *given.mutable_format()->mutable_avro();
  v1::SchemaRegistry& registry = *avro.mutable_registry();
  registry.set_url("https://registry:8081/path");
  registry.set_username("u");
  registry.set_password("${env:P}");
  registry.set_ca_file("/ca.pem");
  registry.mutable_timeout()->set_seconds(3);
  registry.add_bad_schema_ids(4'294'967'295);
  avro.set_key("user.id");
  avro.set_envelope(v1::ENVELOPE_DEBEZIUM);
  avro.mutable_envelope_columns()->set_op("_op");
  given.mutable_limits()->set_record_bytes_max(1000);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  const auto& config = As<core::AvroConfig>(spec.format);
  ASSERT_TRUE(config.registry.has_value());
  EXPECT_EQ(config.registry->url, "https://registry:8081/path");
  EXPECT_EQ(config.registry->username, "u");
  EXPECT_EQ(config.registry->password, "${env:P}");
  EXPECT_EQ(config.registry->ca_file, "/ca.pem");
  EXPECT_EQ(config.registry->timeout, absl::Seconds(3));
  EXPECT_THAT(config.registry->bad_schema_ids,
              testing::ElementsAre(4'294'967'295));
  EXPECT_EQ(config.key, "user.id");
  EXPECT_EQ(config.envelope.op, "_op");
  EXPECT_EQ(config.record_bytes_max, 1000u);
  EXPECT_EQ(spec.route->type(), "key_hash");
  EXPECT_EQ(SpecToProto(spec).format().avro().DebugString(),
            avro.DebugString());
  avro.clear_registry();
  avro.set_schema("\"string\"");
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec fixed, SpecFromProto(given));
  EXPECT_EQ(As<core::AvroConfig>(fixed.format).schema, "\"string\"");
  EXPECT_EQ(SpecToProto(fixed).format().avro().DebugString(),
            avro.DebugString());
}

}  // namespace
}  // namespace penstock::wire
