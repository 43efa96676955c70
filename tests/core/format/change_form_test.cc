// Updates and deletions in bytes: whatever the format, none is read as a row
// that is there.
#include "core/format/change_form.h"

#include "core/contract/message_frame.h"
#include "core/format/avro/avro_format.h"
#include "core/format/clickhouse/clickhouse_encoder.h"
#include "core/format/csv/csv_format.h"
#include "core/format/json/json_format.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/raw/raw_format.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

Schema Columns() {
  return {{{.name = "id", .type = SqlType::kBigint}, {.name = "_op"}}};
}

EnvelopeConfig Debezium(const std::string& op = "") {
  return {.kind = EnvelopeKind::kDebezium, .op = op};
}

template <typename Config>
Config With(EnvelopeConfig envelope) {
  Config config;
  config.envelope = std::move(envelope);
  return config;
}

AvroConfig Avro(EnvelopeConfig envelope) {
  auto config = With<AvroConfig>(std::move(envelope));
  config.schema = R"("long")";
  return config;
}

// The record {"id":1}, with its operation in the column of that, or nothing.
struct Change {
  explicit Change(Op op, std::optional<absl::string_view> letter = std::nullopt)
      : row({Value::Int64(1),
             letter.has_value() ? Value::String(*letter) : Value()}),
        record{.value = R"({"id":1})", .key = "1", .row = row} {
    record.meta.op = op;
  }

  std::vector<Value> row;
  Record record;
};

struct Case {
  std::string name;
  std::function<absl::StatusOr<std::unique_ptr<RowEncoder>>()> make;

  friend std::ostream& operator<<(std::ostream& out, const Case& one) {
    return out << one.name;
  }
};

constexpr FrameKind kRows = FrameKind::kConcatenated;
constexpr FrameKind kMessages = FrameKind::kMessages;

class SilentRowsTest : public testing::TestWithParam<Case> {};

TEST_P(SilentRowsTest, UpdatesAndDeletionsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<RowEncoder> encoder,
                       GetParam().make());
  const bool has_columns = GetParam().name.find("Bytes") == std::string::npos;
  for (const Op op : {Op::kUpdate, Op::kDelete}) {
    Change change(op, "u");
    if (!has_columns) change.record.row = {};
    FrameBuffer frame;
    const absl::Status refused = encoder->Encode(change.record, frame);
    EXPECT_THAT(refused, HasReason(Reason::UNSUPPORTED));
    EXPECT_THAT(
        std::string(refused.message()),
        testing::HasSubstr(op == Op::kDelete ? "a deletion" : "an update"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SilentRowsTest,
    testing::Values(
        Case{"RawBytes", [] { return MakeRawEncoder(RawConfig(), kRows); }},
        Case{"NdjsonBytes",
             [] {
               return MakeNdjsonEncoder(With<NdjsonConfig>(Debezium()), kRows);
             }},
        Case{"JsonBytes",
             [] {
               return MakeJsonEncoder(With<JsonConfig>(Debezium()), kRows);
             }},
        Case{"MsgpackBytes",
             [] {
               return MakeMsgpackEncoder(With<MsgpackConfig>(Debezium()), kRows,
                                         {});
             }},
        Case{"Msgpack",
             [] {
               return MakeMsgpackEncoder(With<MsgpackConfig>(Debezium()), kRows,
                                         Columns());
             }},
        Case{"Csv",
             [] { return MakeCsvEncoder(CsvConfig(), kRows, Columns()); }},
        Case{
            "Avro",
            [] { return MakeAvroEncoder(Avro(Debezium()), kRows, Columns()); }},
        Case{"RowBinary",
             [] {
               return MakeClickHouseEncoder(ClickHouseLayout::kRowBinary,
                                            Columns(), {});
             }},
        Case{"Native",
             [] {
               return MakeClickHouseEncoder(ClickHouseLayout::kNative,
                                            Columns(), {});
             }}),
    [](const auto& test) { return test.param.name; });

class SayingRowsTest : public testing::TestWithParam<Case> {};

// An envelope's column is in the bytes, and what it does not say is refused.
TEST_P(SayingRowsTest, AreWrittenWithWhatTheyDo) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<RowEncoder> made,
                       GetParam().make());
  const std::unique_ptr<RowEncoder> encoder = made->Clone();
  FrameBuffer frame;
  ASSERT_OK(encoder->Encode(Change(Op::kDelete, "d").record, frame));
  EXPECT_THAT(std::string(frame.view()), testing::HasSubstr("_op"));
  EXPECT_THAT(encoder->Encode(Change(Op::kDelete).record, frame),
              HasReason(Reason::UNSUPPORTED));
}

INSTANTIATE_TEST_SUITE_P(
    All, SayingRowsTest,
    testing::Values(
        Case{"Ndjson",
             [] {
               return MakeNdjsonEncoder(With<NdjsonConfig>(Debezium("_op")),
                                        kRows, Columns());
             }},
        Case{"Json",
             [] {
               return MakeJsonEncoder(With<JsonConfig>(Debezium("_op")), kRows,
                                      Columns());
             }},
        Case{"Msgpack",
             [] {
               return MakeMsgpackEncoder(With<MsgpackConfig>(Debezium("_op")),
                                         kRows, Columns());
             }},
        Case{"Avro",
             [] {
               return MakeAvroEncoder(Avro(Debezium("_op")), kRows, Columns());
             }}),
    [](const auto& test) { return test.param.name; });

TEST(SayingRowsTest, AreLinesOfTheirColumns) {
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<RowEncoder> encoder,
      MakeNdjsonEncoder(With<NdjsonConfig>(Debezium("_op")), kRows, Columns()));
  FrameBuffer frame;
  ASSERT_OK(encoder->Encode(Change(Op::kInsert, "c").record, frame));
  ASSERT_OK(encoder->Encode(Change(Op::kDelete, "d").record, frame));
  EXPECT_EQ(frame.view(),
            "{\"id\":1,\"_op\":\"c\"}\n{\"id\":1,\"_op\":\"d\"}\n");
}

class ChangeMessagesTest : public testing::TestWithParam<Case> {};

TEST_P(ChangeMessagesTest, ADeletionHasItsKeyAndNoValue) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<RowEncoder> made,
                       GetParam().make());
  const std::unique_ptr<RowEncoder> encoder = made->Clone();
  FrameBuffer frame;
  ASSERT_OK(encoder->Encode(Change(Op::kUpdate, "u").record, frame));
  Change deletion(Op::kDelete, "d");
  ASSERT_OK(encoder->Encode(deletion.record, frame));
  absl::string_view rest = frame.view();
  MessageView message;
  ASSERT_OK(ConsumeMessage(rest, message));
  EXPECT_EQ(message.key, "1");
  EXPECT_TRUE(message.value.has_value());
  ASSERT_OK(ConsumeMessage(rest, message));
  EXPECT_EQ(message.key, "1");
  EXPECT_FALSE(message.value.has_value());
  EXPECT_TRUE(rest.empty());
  deletion.record.key.reset();
  EXPECT_THAT(encoder->Encode(deletion.record, frame),
              HasReason(Reason::UNSUPPORTED));
}

INSTANTIATE_TEST_SUITE_P(
    All, ChangeMessagesTest,
    testing::Values(Case{"Ndjson",
                         [] {
                           return MakeNdjsonEncoder(
                               With<NdjsonConfig>(Debezium()), kMessages);
                         }},
                    Case{"NdjsonRows",
                         [] {
                           return MakeNdjsonEncoder(
                               With<NdjsonConfig>(Debezium("_op")), kMessages,
                               Columns());
                         }},
                    Case{"Json",
                         [] {
                           return MakeJsonEncoder(With<JsonConfig>(Debezium()),
                                                  kMessages);
                         }},
                    Case{"Msgpack",
                         [] {
                           return MakeMsgpackEncoder(
                               With<MsgpackConfig>(Debezium()), kMessages, {});
                         }},
                    Case{"MsgpackRows",
                         [] {
                           return MakeMsgpackEncoder(
                               With<MsgpackConfig>(Debezium()), kMessages,
                               Columns());
                         }}),
    [](const auto& test) { return test.param.name; });

TEST(ChangeMessagesTest, RowsOfAnEnvelopesColumnsAreTheValue) {
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<RowEncoder> encoder,
      MakeJsonEncoder(With<JsonConfig>(Debezium("_op")), kMessages, Columns()));
  FrameBuffer frame;
  ASSERT_OK(encoder->Encode(Change(Op::kUpdate, "u").record, frame));
  absl::string_view rest = frame.view();
  MessageView message;
  ASSERT_OK(ConsumeMessage(rest, message));
  EXPECT_EQ(message.value, R"({"id":1,"_op":"u"})");
}

// An Avro record is the whole message, in which the operation stands.
TEST(ChangeMessagesTest, OfAvroAreCopied) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<RowEncoder> encoder,
                       MakeAvroEncoder(Avro(Debezium()), kMessages, Columns()));
  FrameBuffer frame;
  ASSERT_OK(encoder->Encode(Change(Op::kDelete).record, frame));
  absl::string_view rest = frame.view();
  MessageView message;
  ASSERT_OK(ConsumeMessage(rest, message));
  EXPECT_EQ(message.value, R"({"id":1})");
}

}  // namespace
}  // namespace penstock::core
