// Rows in envelopes, of every format that has them.
#include "core/format/json/json_format.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "tests/core/format/parse_text.h"
#include "tests/core/format/row_text.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <msgpack.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Schema Columns() {
  return {{{.name = "id", .type = SqlType::kBigint, .nullable = false},
           {.name = "name"},
           {.name = "_op"},
           {.name = "_at", .type = SqlType::kTimestamptz},
           {.name = "_from", .type = SqlType::kVariant},
           {.name = "_was", .type = SqlType::kVariant}}};
}

constexpr absl::string_view kSource = R"({"lsn":123,"table":"t"})";

ParsedText ParseLines(EnvelopeConfig envelope, absl::string_view text,
                      const Schema& schema = {}) {
  NdjsonConfig config;
  config.envelope = std::move(envelope);
  config.key = "id";
  return ParseWhole(**MakeNdjsonParser(config, schema), text);
}

EnvelopeConfig Debezium() {
  return {.kind = EnvelopeKind::kDebezium,
          .op = "_op",
          .timestamp = "_at",
          .source = "_from",
          .before = "_was"};
}

std::vector<Op> OpsOf(const ParsedText& parsed) {
  std::vector<Op> ops;
  for (const OwnedRecord& record : parsed.records) ops.push_back(record.op);
  return ops;
}

TEST(DebeziumTest, EachChangeIsOneRow) {
  const std::string text = absl::StrCat(
      R"({"before":null,"after":{"id":1,"name":"a"},"source":)", kSource,
      R"(,"op":"c","ts_ms":5})", "\n",
      R"({"op":"r","after":{"id":2,"name":null}})", "\n",
      R"({"before":{"id":1,"name":"a"},"after":{"id":1,"name":"b"},"op":"u"})",
      "\n", R"({"before":{"id":1},"after":null,"op":"d","ts_ms":-1})", "\n");
  const ParsedText parsed = ParseLines(Debezium(), text, Columns());
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_THAT(parsed.values(),
              ElementsAre(R"({"id":1,"name":"a"})", R"({"id":2,"name":null})",
                          R"({"id":1,"name":"b"})", R"({"id":1})"));
  EXPECT_THAT(OpsOf(parsed),
              ElementsAre(Op::kInsert, Op::kInsert, Op::kUpdate, Op::kDelete));
  EXPECT_THAT(parsed.keys(), ElementsAre("1", "2", "1", "1"));
  EXPECT_THAT(
      parsed.rows,
      ElementsAre(
          "int64 1 | string 'a' | string 'c' | timestamptz 5000 | variant "
          R"('{\"lsn\":123,\"table\":\"t\"}' | null)",
          "int64 2 | null | string 'r' | null | null | null",
          "int64 1 | string 'b' | string 'u' | null | null | "
          R"(variant '{\"id\":1,\"name\":\"a\"}')",
          "int64 1 | null | string 'd' | timestamptz -1000 | null | "
          R"(variant '{\"id\":1}')"));
}

// The converter's schema may stand before or behind.
TEST(DebeziumTest, APayloadIsTakenOutOfItsSchema) {
  const ParsedText parsed =
      ParseLines({.kind = EnvelopeKind::kDebezium},
                 R"({"schema":{"op":1},"payload":{"op":"c","after":{"id":1}}})"
                 "\n"
                 R"({"payload":{"op":"d","before":{"id":2}},"schema":{}})"
                 "\n");
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_THAT(parsed.values(), ElementsAre(R"({"id":1})", R"({"id":2})"));
}

TEST(DebeziumTest, WhatSaysNoChangeIsPassedOver) {
  const ParsedText parsed = ParseLines(
      {.kind = EnvelopeKind::kDebezium},
      "null\n"
      R"({"schema":null,"payload":null})"
      "\n"
      R"({"ts_ms":1})"
      "\n"
      R"({"schema":{},"payload":{"ts_ms":1}})"
      "\n"
      R"({"status":"BEGIN","id":"7:1","event_count":null,"ts_ms":1})"
      "\n"
      R"({"source":{},"ts_ms":1,"ddl":"CREATE TABLE t","tableChanges":[]})"
      "\n"
      R"({"op":"m","message":{"prefix":"p"}})"
      "\n");
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_THAT(parsed.records, IsEmpty());
  EXPECT_EQ(parsed.record_count, 0u);
  EXPECT_EQ(parsed.line_count, 7u);
  EXPECT_EQ(parsed.passed_count, 7u);
}

TEST(DebeziumTest, WhatStandsForAValueThatWasNotToldCanBeNamed) {
  const auto tags = [](std::string placeholder, absl::string_view value) {
    EnvelopeConfig envelope{.kind = EnvelopeKind::kDebezium};
    envelope.unavailable_value = std::move(placeholder);
    return ParseLines(envelope,
                      absl::StrCat(R"({"op":"u","after":{"id":1,"x":")", value,
                                   R"("}})"))
        .tags();
  };
  EXPECT_THAT(tags("n/a", "n/a"), ElementsAre("text_envelope_err"));
  // Of bytes its base64.
  EXPECT_THAT(tags("n/a", "bi9h"), ElementsAre("text_envelope_err"));
  EXPECT_THAT(tags("n/a", "n/a."), IsEmpty());
  // It is the only one then.
  EXPECT_THAT(tags("n/a", "__debezium_unavailable_value"), IsEmpty());
}

// Rows that were unwrapped before say no change, whatever they are called.
TEST(DebeziumTest, RowsAreNoTransactionsAndNoChangesOfASchema) {
  const ParsedText parsed = ParseLines({.kind = EnvelopeKind::kDebezium},
                                       R"({"id":7,"status":"open","total":3})"
                                       "\n"
                                       R"({"id":"7","status":"open","ts_ms":1})"
                                       "\n"
                                       R"({"id":"7","status":"END"})"
                                       "\n"
                                       R"({"id":7,"status":"END","ts_ms":1})"
                                       "\n"
                                       R"({"id":7,"ddl":"drop"})"
                                       "\n"
                                       R"({"source":"web","tableChanges":[1]})"
                                       "\n");
  EXPECT_THAT(parsed.records, IsEmpty());
  EXPECT_THAT(parsed.tags(),
              ElementsAre("text_envelope_err", "text_envelope_err",
                          "text_envelope_err", "text_envelope_err",
                          "text_envelope_err", "text_envelope_err"));
}

TEST(DebeziumTest, APayloadBesideAChangeHidesNothing) {
  const ParsedText parsed =
      ParseLines({.kind = EnvelopeKind::kDebezium},
                 R"({"op":"c","after":{"id":1},"payload":null})");
  EXPECT_THAT(parsed.keys(), ElementsAre("1"));
}

// What PostgreSQL keeps apart and did not change is not told (TOAST).
TEST(DebeziumTest, WhatTheDatabaseDidNotTellIsABadRecord) {
  const std::string mark = "__debezium_unavailable_value";
  const std::string text = absl::StrCat(
      R"({"op":"u","after":{"id":1,"bio":")", mark, R"("}})", "\n",
      R"({"op":"u","after":{"id":2,"bytes":)",
      R"("X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="}})", "\n",
      R"({"op":"u","after":{"id":3,"list":[")", mark, R"("]}})", "\n",
      R"({"op":"u","after":{"id":4,"map":{")", mark, R"(":")", mark, R"("}}})",
      "\n", R"({"op":"u","after":{"id":5,"bio":"is )", mark, R"("}})", "\n",
      R"({"op":"d","before":{"id":6,"bio":")", mark, R"("}})", "\n");
  const ParsedText parsed = ParseLines({.kind = EnvelopeKind::kDebezium}, text);
  EXPECT_THAT(parsed.keys(), ElementsAre("5", "6"));
  std::vector<std::string> fields;
  for (const ParseError& error : parsed.errors) {
    fields.push_back(error.field.value_or("-"));
    EXPECT_THAT(error.suggestion, HasSubstr("REPLICA IDENTITY FULL"));
  }
  EXPECT_THAT(fields, ElementsAre("bio", "bytes", "list", "map"));
}

TEST(DebeziumTest, AnUpdateLeavesTheKey) {
  const ParsedText parsed =
      ParseLines({.kind = EnvelopeKind::kDebezium},
                 R"({"op":"u","before":{"id":1},"after":{"id":2}})"
                 "\n"
                 R"({"op":"u","before":{"id":1},"after":{"id":1}})"
                 "\n"
                 R"({"op":"u","before":{"name":"a"},"after":{"id":3}})"
                 "\n"
                 R"({"op":"u","before":{"id":4},"after":{"name":"a"}})"
                 "\n");
  EXPECT_THAT(parsed.keys(), ElementsAre("1", "3"));
  EXPECT_THAT(parsed.tags(),
              ElementsAre("text_envelope_err", "text_envelope_err"));
  EXPECT_THAT(parsed.errors[0].description, HasSubstr("changes the row's key"));
}

TEST(DebeziumTest, ABadOneCostsItself) {
  const std::string good = R"({"op":"c","after":{"id":1}})";
  const std::string text = absl::StrCat(
      "7\n", good, "\n", R"({"op":"t","ts_ms":1})", "\n",
      R"( {"after":{"id":1}})", "\n", R"({"op":"x","after":{"id":1}})", "\n",
      R"({"op":"d","before":null})", "\n", R"({"op":"c","after":[1]})", "\n",
      R"({"payload":3})", "\n", good, "\n");
  const ParsedText parsed = ParseLines({.kind = EnvelopeKind::kDebezium}, text);
  EXPECT_THAT(parsed.values(), ElementsAre(R"({"id":1})", R"({"id":1})"));
  std::vector<std::string> errors;
  for (const ParseError& error : parsed.errors) {
    EXPECT_EQ(error.tag, "text_envelope_err");
    errors.push_back(absl::StrCat(
        error.record_number, " line ", error.line, " byte ", error.byte_offset,
        " ", error.field.value_or("-"), ": ", error.description));
  }
  EXPECT_THAT(
      errors,
      ElementsAre(
          "1 line 1 byte 0 -: the record is no object, so it says no change, "
          "at byte 0 of the record",
          "3 line 3 byte 30 op: the table was emptied (op t), which no change "
          "of a row says, at byte 6 of the record",
          "4 line 4 byte 51 op: there is no op, so it says no change, at byte "
          "1 of the record",
          "5 line 5 byte 71 op: op is none of c, r, u, d, t and m, at byte 6 "
          "of the record",
          "6 line 6 byte 99 before: there is no before, at byte 0 of the "
          "record",
          "7 line 7 byte 124 after: after is no object, at byte 18 of the "
          "record",
          "8 line 8 byte 147 payload: payload is no object, at byte 11 of the "
          "record"));
}

TEST(DebeziumTest, OfEqualNamesTheLastOneCounts) {
  const ParsedText parsed = ParseLines(
      {.kind = EnvelopeKind::kDebezium},
      R"({"op":"d","after":{"id":1},"op":"c","after":{"id":2,"id":3}})");
  EXPECT_THAT(parsed.values(), ElementsAre(R"({"id":2,"id":3})"));
  EXPECT_THAT(parsed.keys(), ElementsAre("3"));
}

TEST(DebeziumTest, NamesAndKeysMayBeEscaped) {
  const ParsedText parsed =
      ParseLines({.kind = EnvelopeKind::kDebezium},
                 R"({"\u006fp":"\u0063","after":{"\u0069d":"\u0061\"b"}})");
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_THAT(parsed.keys(), ElementsAre("a\"b"));
}

TEST(DebeziumTest, ARowThatDoesNotFitIsTheEnvelopesBadRecord) {
  const ParsedText parsed =
      ParseLines(Debezium(), R"({"op":"c","after":{"id":"x"}})", Columns());
  EXPECT_THAT(parsed.tags(), ElementsAre("wrong_type"));
  EXPECT_EQ(parsed.errors[0].field, "id");
  EXPECT_THAT(parsed.errors[0].description,
              HasSubstr("at byte 24 of the record"));
  EXPECT_EQ(parsed.errors[0].invalid_text, R"({"op":"c","after":{"id":"x"}})");
  const ParsedText time = ParseLines(
      Debezium(), R"({"op":"c","after":{"id":1},"ts_ms":9223372036854775807})",
      Columns());
  EXPECT_THAT(time.tags(), ElementsAre("text_envelope_err"));
  EXPECT_EQ(time.errors[0].field, "ts_ms");
}

TEST(InsertDeleteTest, OneRecordIsOneChange) {
  const ParsedText parsed =
      ParseLines({.kind = EnvelopeKind::kInsertDelete, .op = "_op"},
                 R"({"insert":{"id":1,"name":"a"}})"
                 "\n"
                 R"({"table":"t","delete":{"id":1},"insert":null})"
                 "\n",
                 Columns());
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_THAT(parsed.values(),
              ElementsAre(R"({"id":1,"name":"a"})", R"({"id":1})"));
  EXPECT_THAT(OpsOf(parsed), ElementsAre(Op::kInsert, Op::kDelete));
  EXPECT_THAT(parsed.rows,
              ElementsAre("int64 1 | string 'a' | string 'c' | null | null | "
                          "null",
                          "int64 1 | null | string 'd' | null | null | null"));
  const ParsedText bad = ParseLines({.kind = EnvelopeKind::kInsertDelete},
                                    R"({"insert":{},"delete":{}})"
                                    "\n{}\nnull\n"
                                    R"([{"insert":{}}])"
                                    "\n"
                                    R"({"update":{}})"
                                    "\n");
  EXPECT_THAT(bad.records, IsEmpty());
  EXPECT_THAT(bad.tags(), ElementsAre("text_envelope_err", "text_envelope_err",
                                      "text_envelope_err", "text_envelope_err",
                                      "text_envelope_err"));
  EXPECT_THAT(bad.errors[3].suggestion, HasSubstr("format json"));
}

// A batch of changes is an array, element by element.
TEST(InsertDeleteTest, JsonTakesArraysOfThem) {
  JsonConfig config;
  config.envelope.kind = EnvelopeKind::kInsertDelete;
  const ParsedText parsed = ParseWhole(
      **MakeJsonParser(config),
      "[{\"delete\": {\n\"id\": 1}}, 5,\n {\"insert\": {\"id\":2}}]");
  EXPECT_THAT(parsed.values(), ElementsAre("{\n\"id\": 1}", R"({"id":2})"));
  EXPECT_THAT(OpsOf(parsed), ElementsAre(Op::kDelete, Op::kInsert));
  EXPECT_THAT(parsed.tags(), ElementsAre("text_envelope_err"));
  EXPECT_EQ(parsed.errors[0].byte_offset, 25u);
}

TEST(MsgpackChangesTest, AreTheSame) {
  MsgpackConfig config;
  config.envelope = Debezium();
  config.key = "name";
  msgpack::sbuffer text;
  msgpack::packer<msgpack::sbuffer> packer(text);
  packer.pack_map(4);
  packer.pack(std::string("op"));
  packer.pack(std::string("u"));
  packer.pack(std::string("ts_ms"));
  packer.pack(7);
  packer.pack(std::string("before"));
  packer.pack_map(1);
  packer.pack(std::string("id"));
  packer.pack(3);
  packer.pack(std::string("after"));
  packer.pack_map(2);
  packer.pack(std::string("id"));
  packer.pack(4);
  packer.pack(std::string("name"));
  packer.pack(12.5);
  packer.pack(1);
  const ParsedText parsed =
      ParseWhole(**MakeMsgpackParser(config, Columns()),
                 absl::string_view(text.data(), text.size()));
  EXPECT_THAT(parsed.rows,
              ElementsAre("int64 4 | string '12.5' | string 'u' | timestamptz "
                          "7000 | null | variant '{\\\"id\\\":3}'"));
  EXPECT_THAT(OpsOf(parsed), ElementsAre(Op::kUpdate));
  EXPECT_THAT(parsed.keys(), ElementsAre("12.5"));
  EXPECT_EQ(parsed.values()[0].size(), 19u);
  EXPECT_EQ(parsed.values()[0].front(), '\x82');
  EXPECT_THAT(parsed.tags(), ElementsAre("bin_envelope_err"));
}

// As they are without an envelope: any bytes, binary or not.
TEST(MsgpackChangesTest, KeysMayBeBytes) {
  MsgpackConfig config;
  config.envelope.kind = EnvelopeKind::kInsertDelete;
  config.key = "id";
  const std::string head = "\x81\xa6insert\x81\xa2id";
  const std::string bin =
      std::string("\xc4\x03", 2) + std::string("\0\xff\1", 3);
  const std::string text =
      absl::StrCat(head, bin, head, "\xa1\xff", head, "\x07", head, "\xc0");
  const ParsedText parsed = ParseWhole(**MakeMsgpackParser(config), text);
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_THAT(parsed.keys(),
              ElementsAre(std::string("\0\xff\1", 3), "\xff", "7", "(none)"));
}

struct WrongColumns {
  std::string name;
  EnvelopeConfig envelope;
  std::string field;

  friend std::ostream& operator<<(std::ostream& out, const WrongColumns& one) {
    return out << one.name;
  }
};

class WrongColumnsTest : public testing::TestWithParam<WrongColumns> {};

TEST_P(WrongColumnsTest, AreRefusedByName) {
  NdjsonConfig config;
  config.envelope = GetParam().envelope;
  const absl::Status made = MakeNdjsonParser(config, Columns()).status();
  EXPECT_THAT(made, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(made.message(),
              HasSubstr(absl::StrCat("format ndjson: envelope_columns.",
                                     GetParam().field)));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongColumnsTest,
    testing::Values(
        WrongColumns{"NotThere",
                     {.kind = EnvelopeKind::kDebezium, .op = "no"},
                     "op: the schema has no column 'no'"},
        WrongColumns{"NotNullable",
                     {.kind = EnvelopeKind::kDebezium, .timestamp = "id"},
                     "timestamp: column 'id' is not nullable"},
        WrongColumns{"OfAnotherType",
                     {.kind = EnvelopeKind::kDebezium, .source = "name"},
                     "source: column 'name' is varchar"},
        WrongColumns{"NothingToFillIn", {.op = "_op"}, "op: without"},
        WrongColumns{"NotInTheEnvelope",
                     {.kind = EnvelopeKind::kInsertDelete, .before = "_was"},
                     "op: of insert_delete"}),
    [](const testing::TestParamInfo<WrongColumns>& test) {
      return test.param.name;
    });

}  // namespace
}  // namespace penstock::core
