#include "core/format/protobuf/protobuf_format.h"

#include "core/base/notification.h"
#include "core/base/path_policy.h"
#include "core/registry/schema_registry.h"
#include "server/schemas/protobuf_compiler.h"
#include "tests/core/format/parse_text.h"
#include "tests/server/schemas/protobuf_record.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/fake_schema_registry.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace penstock::server {
namespace {

using core::Column;
using core::ParsedText;
using core::ParseWhole;
using core::Reason;
using core::SqlType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kImports[] = R"(syntax = "proto3"; package t;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
enum Color { NONE = 0; RED = 1; }
message Inner { int32 a = 1; string b = 2; }
)";

// A message of one field, "v".
std::string FieldOf(const std::string& field) {
  return absl::StrCat(kImports, "message M { ", field, " }");
}

struct ValueCase {
  std::string name;
  // Of the .proto file.
  std::string field;
  // The message.
  std::string json;
  Column column;
  // Of its row, or the tag of its error.
  std::string row;

  friend std::ostream& operator<<(std::ostream& out, const ValueCase& one) {
    return out << one.name;
  }
};

class ProtobufValueTest : public testing::TestWithParam<ValueCase> {};

TEST_P(ProtobufValueTest, IsThatOfTheColumn) {
  ProtobufText text(FieldOf(GetParam().field), "t.M");
  // With a tag of a field that the schema does not have, for it is not empty.
  const std::string record = text.FromJson(GetParam().json) + "\xf8\x06\x01";
  const ParsedText parsed =
      ParseWhole(*text.MakeParser({GetParam().column}), record);
  if (parsed.errors.empty()) {
    EXPECT_THAT(parsed.rows, ElementsAre(GetParam().row));
    EXPECT_THAT(parsed.values(), ElementsAre(record));
  } else {
    EXPECT_EQ(parsed.errors[0].tag, GetParam().row)
        << parsed.errors[0].description;
  }
}

// A variant of that, as rows are shown.
std::string Json(absl::string_view text) {
  return absl::StrCat("variant '", absl::CEscape(text), "'");
}

Column Of(SqlType type, uint32_t precision = 0) {
  return {.name = "v", .type = type, .precision = precision};
}

INSTANTIATE_TEST_SUITE_P(
    Numbers, ProtobufValueTest,
    testing::Values(ValueCase{"Int32", "int32 v = 1;", R"({"v":-3})",
                              Of(SqlType::kBigint), "int64 -3"},
                    ValueCase{"Int64IsExact", "int64 v = 1;",
                              R"({"v":"-9223372036854775808"})",
                              Of(SqlType::kVarchar),
                              "string '-9223372036854775808'"},
                    ValueCase{"Uint64IsExact", "uint64 v = 1;",
                              R"({"v":"18446744073709551615"})",
                              Of(SqlType::kDecimal),
                              "decimal 18446744073709551615"},
                    ValueCase{"Uint64IsTooLarge", "uint64 v = 1;",
                              R"({"v":"18446744073709551615"})",
                              Of(SqlType::kBigint), "out_of_range"},
                    ValueCase{"Sint64", "sint64 v = 1;", R"({"v":"-5"})",
                              Of(SqlType::kBigint), "int64 -5"},
                    ValueCase{"Sfixed32", "sfixed32 v = 1;", R"({"v":-5})",
                              Of(SqlType::kBigint), "int64 -5"},
                    ValueCase{"FloatToText", "float v = 1;", R"({"v":0.1})",
                              Of(SqlType::kVarchar), "string '0.1'"},
                    ValueCase{"Double", "double v = 1;", R"({"v":0.5})",
                              Of(SqlType::kDouble), "double 0.5"},
                    ValueCase{"Boolean", "bool v = 1;", R"({"v":true})",
                              Of(SqlType::kBoolean), "bool true"},
                    ValueCase{"NumberIsNoDate", "int32 v = 1;", R"({"v":3})",
                              Of(SqlType::kDate), "wrong_type"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Others, ProtobufValueTest,
    testing::Values(
        ValueCase{"String", "string v = 1;", R"({"v":"\u00fc"})",
                  Of(SqlType::kVarchar), R"(string '\xc3\xbc')"},
        ValueCase{"BytesToText", "bytes v = 1;", R"({"v":"YWI="})",
                  Of(SqlType::kVarchar), "string 'ab'"},
        ValueCase{"BytesAreNoText", "bytes v = 1;", R"({"v":"/w=="})",
                  Of(SqlType::kVarchar), "wrong_type"},
        ValueCase{"EnumByName", "Color v = 1;", R"({"v":"RED"})",
                  Of(SqlType::kVarchar), "string 'RED'"},
        ValueCase{"EnumByNumber", "Color v = 1;", R"({"v":"RED"})",
                  Of(SqlType::kInteger), "int64 1"},
        ValueCase{"EnumWithoutName", "Color v = 1;", R"({"v":77})",
                  Of(SqlType::kVarchar), "string '77'"},
        ValueCase{"TimestampMoment", "google.protobuf.Timestamp v = 1;",
                  R"({"v":"2026-01-31T23:59:59.000001Z"})",
                  Of(SqlType::kTimestamptz, 6), "timestamptz 1769903999000001"},
        ValueCase{"TimestampIsTooFine", "google.protobuf.Timestamp v = 1;",
                  R"({"v":"2026-01-31T23:59:59.000000001Z"})",
                  Of(SqlType::kTimestamptz, 6), "out_of_range"},
        ValueCase{"Duration", "google.protobuf.Duration v = 1;",
                  R"({"v":"-1.5s"})", Of(SqlType::kVarchar),
                  "string '-1.500s'"},
        ValueCase{"Wrapper", "google.protobuf.Int64Value v = 1;",
                  R"({"v":"0"})", Of(SqlType::kBigint), "int64 0"},
        ValueCase{"NoWrapper", "google.protobuf.Int64Value v = 1;", "{}",
                  Of(SqlType::kBigint), "null"},
        ValueCase{"MessageIsNoNumber", "Inner v = 1;", R"({"v":{}})",
                  Of(SqlType::kBigint), "wrong_type"}),
    [](const auto& test) { return test.param.name; });

// What a type cannot tell from its default is that.
INSTANTIATE_TEST_SUITE_P(
    Unset, ProtobufValueTest,
    testing::Values(ValueCase{"Plain", "int32 v = 1;", "{}",
                              Of(SqlType::kBigint), "int64 0"},
                    ValueCase{"PlainText", "string v = 1;", "{}",
                              Of(SqlType::kVarchar), "string ''"},
                    ValueCase{"PlainEnum", "Color v = 1;", "{}",
                              Of(SqlType::kVarchar), "string 'NONE'"},
                    ValueCase{"Optional", "optional int32 v = 1;", "{}",
                              Of(SqlType::kBigint), "null"},
                    ValueCase{"OptionalDefault", "optional int32 v = 1;",
                              R"({"v":0})", Of(SqlType::kBigint), "int64 0"},
                    ValueCase{"OfAOneof",
                              "oneof o { int32 v = 1; int32 w = 2; }",
                              R"({"w":1})", Of(SqlType::kBigint), "null"},
                    ValueCase{"Message", "Inner v = 1;", "{}",
                              Of(SqlType::kVariant), "null"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Json, ProtobufValueTest,
    testing::Values(
        ValueCase{"Message", "Inner v = 1;", R"({"v":{"b":"x"}})",
                  Of(SqlType::kVariant), Json(R"({"a":0,"b":"x"})")},
        ValueCase{"Repeated", "repeated int64 v = 1;", R"({"v":[1,"2"]})",
                  Of(SqlType::kVariant), "variant '[1,2]'"},
        ValueCase{"Map", "map<int32, bytes> v = 1;", R"({"v":{"7":"/w=="}})",
                  Of(SqlType::kVariant), Json(R"({"7":"/w=="})")},
        ValueCase{"Times", "repeated google.protobuf.Timestamp v = 1;",
                  R"({"v":["2026-01-31T23:59:59.5Z"]})", Of(SqlType::kVariant),
                  Json(R"(["2026-01-31T23:59:59.500Z"])")},
        ValueCase{"Struct", "google.protobuf.Struct v = 1;",
                  R"({"v":{"a":[null,1.5,{"b":"c"}]}})", Of(SqlType::kVariant),
                  Json(R"({"a":[null,1.5,{"b":"c"}]})")}),
    [](const auto& test) { return test.param.name; });

TEST(ProtobufParserTest, NestedColumnsAreReadByName) {
  ProtobufText text(
      FieldOf("repeated Inner items = 1; map<string, Inner> by_name = 2;"
              "repeated int32 packed = 3;"),
      "t.M");
  const Column inner{
      .name = "inner",
      .type = SqlType::kStruct,
      .children = {{.name = "b"}, {.name = "a", .type = SqlType::kInteger}}};
  const auto parser = text.MakeParser(
      {{.name = "by_name",
        .type = SqlType::kMap,
        .children = {{.name = "key"}, inner}},
       {.name = "items", .type = SqlType::kArray, .children = {inner}},
       {.name = "packed",
        .type = SqlType::kArray,
        .children = {{.name = "one", .type = SqlType::kBigint}}},
       {.name = "elsewhere"}});
  const ParsedText parsed = ParseWhole(
      *parser, text.FromJson(R"({"items":[{"a":1},{"b":"x"}],)"
                             R"("byName":{"k":{"a":2}},"packed":[1,-2,300]})"));
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_THAT(parsed.rows,
              ElementsAre("map {string 'k': struct (string '', int64 2)} | "
                          "array [struct (string '', int64 1), "
                          "struct (string 'x', int64 0)] | "
                          "array [int64 1, int64 -2, int64 300] | null"));
}

TEST(ProtobufParserTest, KeysAreFoundByTheirPath) {
  ProtobufText text(FieldOf("Inner inner = 1;"), "t.M");
  const auto parser = text.MakeParser({{.name = "x"}}, {}, "inner.b");
  EXPECT_THAT(
      ParseWhole(*parser, text.FromJson(R"({"inner":{"b":"key"}})")).keys(),
      ElementsAre("key"));
}

TEST(ProtobufParserTest, ChangesOfDebeziumAreRows) {
  ProtobufText text(FieldOf("optional Inner before = 1;"
                            "optional Inner after = 2; string op = 3;"),
                    "t.M");
  const auto parser = text.MakeParser({{.name = "a", .type = SqlType::kBigint}},
                                      {.kind = core::EnvelopeKind::kDebezium});
  const ParsedText parsed =
      ParseWhole(*parser, text.FromJson(R"({"before":{"a":4},"op":"d"})"));
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_THAT(parsed.rows, ElementsAre("int64 4"));
  ASSERT_EQ(parsed.records.size(), 1u);
  EXPECT_EQ(parsed.records[0].op, core::Op::kDelete);
}

struct BadCase {
  std::string name;
  std::string record;
  std::string tag;
  // In its description.
  std::string says;

  friend std::ostream& operator<<(std::ostream& out, const BadCase& one) {
    return out << one.name;
  }
};

class BadProtobufTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadProtobufTest, IsABadRecordThatSaysWhere) {
  ProtobufText text(FieldOf("int64 v = 1; string s = 2; M m = 3;"
                            "repeated fixed32 f = 4;"),
                    "t.M");
  const ParsedText parsed =
      ParseWhole(*text.MakeParser({{.name = "v", .type = SqlType::kInteger}}),
                 GetParam().record);
  ASSERT_EQ(parsed.errors.size(), 1u);
  EXPECT_EQ(parsed.errors[0].tag, GetParam().tag);
  EXPECT_THAT(parsed.errors[0].description, HasSubstr(GetParam().says));
  EXPECT_THAT(parsed.records, IsEmpty());
}

std::string Nested(int levels) {
  std::string record;
  for (int i = 0; i < levels; ++i) {
    std::string size;
    size_t left = record.size();
    for (; left >= 0x80; left >>= 7) {
      size += static_cast<char>(left | 0x80);
    }
    record = "\x1a" + size + static_cast<char>(left) + record;
  }
  return record;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadProtobufTest,
    testing::Values(
        BadCase{"CutOffInANumber", "\x08\x80", "syntax", "at byte 1 "},
        BadCase{"NumberOfElevenBytes",
                "\x08" + std::string(10, '\x80') + "\x01", "syntax",
                "more bytes than any"},
        BadCase{"LengthBeyondTheEnd", "\x12\x05xy", "syntax", "a length"},
        BadCase{"FieldZero", std::string("\0\1", 2), "syntax", "a tag"},
        BadCase{"WireTypeSix", "\x0e\x01", "syntax", "a tag"},
        BadCase{"EndOfNoGroup", "\x0c", "syntax", "a tag"},
        BadCase{"GroupWithoutEnd", "\x2b\x08\x01", "syntax", "ends inside"},
        BadCase{"NoUtf8", "\x12\x01\xff", "syntax", "no UTF-8"},
        BadCase{"PackedOfFiveBytes", "\x22\x05zzzzz", "syntax", "packed"},
        BadCase{"TooDeep", Nested(core::kProtobufDepthMax), "too_deep",
                "too many levels"},
        BadCase{"OutOfRange", "\x08\xff\xff\xff\xff\x7f", "out_of_range",
                "at byte 1 "}),
    [](const auto& test) { return test.param.name; });

// As little as two bytes each: what they stand for is bounded all the same.
TEST(ProtobufParserTest, WideMessagesOfTwoBytesAreBounded) {
  std::string fields;
  for (int i = 2; i < 4'000; ++i) {
    absl::StrAppend(&fields, "int32 f", i, " = ", i, ";");
  }
  ProtobufText text(FieldOf("repeated M m = 1;" + fields), "t.M");
  std::string record;
  for (int i = 0; i < 1'000; ++i) record += std::string("\x0a\0", 2);
  const auto parser =
      text.MakeParser({{.name = "f2", .type = SqlType::kInteger}});
  EXPECT_THAT(ParseWhole(*parser, record).tags(), ElementsAre("syntax"));
  // A bad record costs itself.
  EXPECT_THAT(ParseWhole(*parser, record.substr(0, 200)).rows,
              ElementsAre("int64 0"));
}

class ProtobufRegistryTest : public testing::Test {
 protected:
  std::unique_ptr<core::Parser> MakeParser(std::vector<Column> columns) {
    core::ProtobufConfig config;
    config.registry = {.url = registry_.url(), .bad_schema_ids = {666}};
    auto parser = *core::MakeProtobufParser(config, {std::move(columns)},
                                            core::SchemaRegistry::Make,
                                            MakeProtobufCompiler());
    EXPECT_OK(core::GateOf(*parser)->Start(environment_));
    return parser;
  }
  // Asks for what the record needs until it is there.
  void Prepare(core::Parser& parser, const std::string& record) {
    core::MessageGate& gate = *core::GateOf(parser);
    core::Notification came;
    gate.SetWake([&] { came.Notify(); });
    if (!gate.IsReady(record)) came.WaitForNotification();
    gate.SetWake(nullptr);
  }

  core::FakeSchemaRegistry registry_;
  core::FakeFileSystem files_;
  core::ManualExecutor executor_;
  const core::PathPolicy paths_{{}};
  const core::Environment environment_{.files = files_,
                                       .io = executor_,
                                       .clock = executor_.clock(),
                                       .paths = paths_};
};

std::string Framed(uint8_t id, absl::string_view path,
                   absl::string_view message) {
  return absl::StrCat(std::string("\0\0\0\0", 4),
                      std::string(1, static_cast<char>(id)), path, message);
}

TEST_F(ProtobufRegistryTest, ARecordNamesItsSchemaAndItsMessage) {
  registry_.SetSchema(7,
                      "syntax = \"proto3\"; import \"b.proto\";"
                      "message One { int64 v = 1; }"
                      "message Two { message In { B v = 2; } }",
                      "PROTOBUF",
                      R"([{"name":"b.proto","subject":"b","version":1}])");
  registry_.SetVersion("b", 1, "syntax = \"proto3\"; message B { int32 n = 1;}",
                       "", "PROTOBUF");
  const auto parser = MakeParser({{.name = "v", .type = SqlType::kVariant}});
  const std::string first = Framed(7, std::string(1, '\0'), "\x08\x05");
  Prepare(*parser, first);
  ASSERT_TRUE(core::GateOf(*parser)->IsReady(first));
  EXPECT_THAT(ParseWhole(*parser, first).rows, ElementsAre("variant '5'"));
  // The same at length; then the first message within the second one.
  EXPECT_THAT(
      ParseWhole(*parser, Framed(7, std::string("\2\0", 2), "\x08\x05")).rows,
      ElementsAre("variant '5'"));
  EXPECT_THAT(ParseWhole(*parser, Framed(7, std::string("\4\2\0", 3),
                                         "\x12\x02\x08\x09"))
                  .rows,
              ElementsAre(Json(R"({"n":9})")));
  // None that it has; none that is whole; a negative one.
  EXPECT_THAT(ParseWhole(*parser, Framed(7, "\2\6", "")).tags(),
              ElementsAre("bad_frame"));
  EXPECT_THAT(ParseWhole(*parser, Framed(7, "\4\2", "")).tags(),
              ElementsAre("bad_frame"));
  EXPECT_THAT(ParseWhole(*parser, Framed(7, "\2\1", "")).tags(),
              ElementsAre("bad_frame"));
  // Places are those of the message, with what stands before it.
  const ParsedText cut =
      ParseWhole(*parser, Framed(7, std::string(1, '\0'), "\x08"));
  ASSERT_THAT(cut.tags(), ElementsAre("syntax"));
  EXPECT_THAT(cut.errors[0].description, HasSubstr("at byte 7 "));
}

TEST_F(ProtobufRegistryTest, ASchemaOfAvroMakesABadRecord) {
  registry_.SetSchema(1, "\"long\"");
  const auto parser = MakeParser({{.name = "v"}});
  const std::string record = Framed(1, std::string(1, '\0'), "");
  Prepare(*parser, record);
  ASSERT_TRUE(core::GateOf(*parser)->IsReady(record));
  const ParsedText parsed = ParseWhole(*parser, record);
  ASSERT_THAT(parsed.tags(), ElementsAre("unknown_schema"));
  EXPECT_THAT(parsed.errors[0].description,
              HasSubstr("of type AVRO, must be PROTOBUF"));
}

TEST_F(ProtobufRegistryTest, OneThatCannotBeReadIsWaitedFor) {
  registry_.SetSchema(2, "syntax = \"proto3\"; import \"gone.proto\";",
                      "PROTOBUF");
  const auto parser = MakeParser({{.name = "v"}});
  const std::string record = Framed(2, std::string(1, '\0'), "");
  Prepare(*parser, record);
  EXPECT_FALSE(core::GateOf(*parser)->IsReady(record));
  EXPECT_EQ(core::GateOf(*parser)->Health().condition,
            core::Condition::kDegraded);
  EXPECT_THAT(core::GateOf(*parser)->Health().reason, HasSubstr("gone.proto"));
}

TEST(MakeProtobufParserTest, NamesWhatIsMissing) {
  core::ProtobufConfig config;
  const auto make = [&](core::Schema schema) {
    return core::MakeProtobufParser(config, schema, nullptr,
                                    MakeProtobufCompiler())
        .status();
  };
  const core::Schema columns{{{.name = "v"}}};
  EXPECT_THAT(make(columns).message(), HasSubstr("format.protobuf: give one"));
  config.descriptor_set = "x";
  EXPECT_THAT(make(columns).message(), HasSubstr("format.protobuf.message"));
  config.message = "t.M";
  EXPECT_THAT(make(columns).message(),
              HasSubstr("format.protobuf.descriptor_set"));
  EXPECT_THAT(make({}).message(), HasSubstr("declare a `schema`"));
}

}  // namespace
}  // namespace penstock::server
