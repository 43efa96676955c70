#include "core/sources/kafka/message_packer.h"

#include "core/format/ndjson/ndjson_format.h"
#include "core/format/raw/raw_format.h"
#include "core/sources/kafka/message_columns.h"
#include "tests/support/fake_kafka_topics.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using Message = FakeKafkaTopics::Message;

// The columns that a source can fill in, and one of the format's.
Schema AllColumns() {
  Schema schema;
  schema.columns = {
      {.name = "id", .type = SqlType::kBigint},
      {.name = "topic", .type = SqlType::kVarchar},
      {.name = "partition", .type = SqlType::kInteger},
      {.name = "offset", .type = SqlType::kBigint},
      {.name = "time", .type = SqlType::kTimestamptz, .precision = 3},
      {.name = "key", .type = SqlType::kVarchar},
      {.name = "headers",
       .type = SqlType::kMap,
       .children = {{.name = "key", .type = SqlType::kVarchar},
                    {.name = "value", .type = SqlType::kVarbinary}}}};
  return schema;
}

class MessagePackerTest : public testing::Test {
 protected:
  MessagePacker::Packed Pack(MessagePacker& packer,
                             std::vector<Message> messages, uint32_t id = 0) {
    topics_.Create("t", 1);
    for (Message& one : messages) topics_.Write("t", 0, std::move(one));
    consumer_ = topics_.MakeConsumer();
    const TopicConsumer::Assignment all{.place = {.topic = "t"}, .id = id};
    EXPECT_OK(consumer_->Assign({&all, 1}));
    run_.clear();
    for (const KafkaEvent& event : consumer_->Receive(1000)) {
      if (event.kind == KafkaEvent::Kind::kMessage) run_.push_back(&event);
    }
    return packer.Pack(id, "t", run_, *consumer_);
  }

  FakeKafkaTopics topics_;
  std::unique_ptr<TopicConsumer> consumer_;
  std::vector<const KafkaEvent*> run_;
};

TEST_F(MessagePackerTest, ABufferHoldsNoMoreThanABlock) {
  MessagePacker packer(*MakeRawParser(RawConfig{}), {.block_bytes = 10});
  const MessagePacker::Packed packed =
      Pack(packer, {{.value = "12345"}, {.value = "67890"}, {.value = "x"}});
  EXPECT_EQ(packed.taken, 2u);
  EXPECT_EQ(packed.batch.record_count(), 2u);
}

TEST_F(MessagePackerTest, ALongerMessageGetsABufferOfItsOwn) {
  MessagePacker packer(*MakeRawParser(RawConfig{}), {.block_bytes = 3});
  const MessagePacker::Packed packed =
      Pack(packer, {{.value = "12345"}, {.value = "6"}});
  EXPECT_EQ(packed.taken, 1u);
  EXPECT_EQ(*packed.batch.At(0).value, "12345");
}

TEST_F(MessagePackerTest, AMessageBeyondTheLimitIsOneBadRecord) {
  RawConfig config;
  config.record_bytes_max = 3;
  MessagePacker packer(*MakeRawParser(config), {.keeps_bad_records = true});
  MessagePacker::Packed packed =
      Pack(packer, {{.value = "12345"}, {.value = "6"}});
  ASSERT_EQ(packed.errors.size(), 1u);
  EXPECT_EQ(packed.errors[0].tag, "record_too_large");
  EXPECT_EQ(packed.batch.record_count(), 1u);
  EXPECT_EQ(packed.batch.TakeBadRecords().size(), 1u);
}

TEST_F(MessagePackerTest, WhatKafkaKnowsBecomesColumns) {
  const Schema schema = AllColumns();
  ASSERT_OK_AND_ASSIGN(MessageColumns columns,
                       MessageColumns::Make({.topic = "topic",
                                             .partition = "partition",
                                             .offset = "offset",
                                             .timestamp = "time",
                                             .key = "key",
                                             .headers = "headers"},
                                            schema));
  MessagePacker packer(
      *MakeNdjsonParser(NdjsonConfig{}, schema),
      {.columns = columns,
       .column_count = static_cast<uint32_t>(schema.columns.size())});
  const MessagePacker::Packed packed =
      Pack(packer,
           {{.key = "k",
             .value = "{\"id\":7}",
             .headers = {{"h", "v"}, {"null", std::nullopt}},
             .timestamp_ms = 5}},
           3);
  ASSERT_EQ(packed.batch.record_count(), 1u);
  const std::span<const Value> row = packed.batch.At(0).row;
  EXPECT_EQ(row[0], Value::Int64(7));
  EXPECT_EQ(row[1], Value::String("t"));
  EXPECT_EQ(row[2], Value::Int64(3));
  EXPECT_EQ(row[3], Value::Int64(0));
  EXPECT_EQ(row[4], Value::Timestamptz(5'000));
  EXPECT_EQ(row[5], Value::String("k"));
  ASSERT_EQ(row[6].AsMap().size(), 4u);
  EXPECT_EQ(row[6].AsMap()[0], Value::String("h"));
  EXPECT_EQ(row[6].AsMap()[1], Value::Binary("v"));
  EXPECT_TRUE(row[6].AsMap()[3].is_null());
}

// Debezium as it is on the wire: a snapshot, an update, a heartbeat, a deletion
// with its tombstone. What is no change is passed over and counted.
TEST_F(MessagePackerTest, ChangesOfDebeziumAreOneRecordEach) {
  const Schema schema = {
      {{.name = "id", .type = SqlType::kBigint, .nullable = false},
       {.name = "name"},
       {.name = "_op"},
       {.name = "offset", .type = SqlType::kBigint}}};
  ASSERT_OK_AND_ASSIGN(MessageColumns columns,
                       MessageColumns::Make({.offset = "offset"}, schema));
  NdjsonConfig config;
  config.envelope = {.kind = EnvelopeKind::kDebezium, .op = "_op"};
  config.key = "id";
  MessagePacker packer(
      *MakeNdjsonParser(config, schema),
      {.columns = columns,
       .column_count = static_cast<uint32_t>(schema.columns.size())});
  const std::string key = R"({"id":1})";
  const MessagePacker::Packed packed = Pack(
      packer,
      {{.key = key,
        .value = R"({"schema":{},"payload":{"op":"r","before":null,)"
                 R"("after":{"id":1,"name":"a"},"ts_ms":5}})"},
       {.key = key,
        .value = R"({"op":"u","before":null,"after":{"id":1,"name":"b"}})"},
       {.key = "{}", .value = R"({"ts_ms":6})"},
       {.key = key, .value = R"({"op":"t"})"},
       {.key = key,
        .value = R"({"op":"d","before":{"id":1,"name":"b"},"after":null})"},
       {.key = key, .value = std::nullopt}});
  EXPECT_EQ(packed.taken, 6u);
  EXPECT_EQ(packed.ignored, 2u);
  ASSERT_EQ(packed.batch.record_count(), 3u);
  const Record updated = packed.batch.At(1);
  EXPECT_EQ(updated.meta.op, Op::kUpdate);
  EXPECT_EQ(*updated.key, "1");
  EXPECT_EQ(*updated.value, R"({"id":1,"name":"b"})");
  EXPECT_EQ(updated.row[2], Value::String("u"));
  EXPECT_EQ(updated.row[3], Value::Int64(1));
  const Record deleted = packed.batch.At(2);
  EXPECT_EQ(deleted.meta.op, Op::kDelete);
  EXPECT_EQ(deleted.row[1], Value::String("b"));
  EXPECT_EQ(deleted.row[3], Value::Int64(4));
  ASSERT_EQ(packed.errors.size(), 1u);
  EXPECT_EQ(packed.errors[0].tag, "text_envelope_err");
  EXPECT_EQ(packed.errors[0].byte_offset, 3u);
}

// Which shard it goes to is then what Debezium made the message's key of.
TEST_F(MessagePackerTest, ADeletionThatDoesNotTellItsKeyHasTheMessages) {
  NdjsonConfig config;
  config.envelope = {.kind = EnvelopeKind::kDebezium};
  config.key = "id";
  MessagePacker packer(*MakeNdjsonParser(config), {});
  const MessagePacker::Packed packed = Pack(
      packer, {{.key = "of the message",
                .value = R"({"op":"d","before":{"name":"b"},"after":null})"},
               {.key = "of the message",
                .value = R"({"op":"d","before":{"id":1},"after":null})"}});
  ASSERT_EQ(packed.batch.record_count(), 2u);
  EXPECT_EQ(packed.batch.At(0).meta.op, Op::kDelete);
  EXPECT_EQ(*packed.batch.At(0).key, "of the message");
  EXPECT_EQ(*packed.batch.At(1).key, "1");
}

TEST_F(MessagePackerTest, AKeyThatIsNoTextIsBadWhereItsColumnIsText) {
  const Schema schema = AllColumns();
  ASSERT_OK_AND_ASSIGN(MessageColumns columns,
                       MessageColumns::Make({.key = "key"}, schema));
  MessagePacker packer(
      *MakeNdjsonParser(NdjsonConfig{}, schema),
      {.columns = columns,
       .column_count = static_cast<uint32_t>(schema.columns.size())});
  const MessagePacker::Packed packed =
      Pack(packer,
           {{.key = "\xff", .value = "{\"id\":1}"}, {.value = "{\"id\":2}"}});
  ASSERT_EQ(packed.errors.size(), 1u);
  EXPECT_EQ(packed.errors[0].tag, "invalid_utf8");
  EXPECT_EQ(packed.batch.record_count(), 1u);
}

}  // namespace
}  // namespace penstock::core
