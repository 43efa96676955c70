#include "core/format/msgpack/msgpack_format.h"

#include "core/format/msgpack/msgpack_encoder.h"
#include "core/format/raw/config.h"
#include "tests/core/format/parse_text.h"
#include "tests/core/format/random_msgpack.h"
#include "tests/core/format/row_text.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <msgpack.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Text with NULs in it.
template <size_t kSize>
std::string Bytes(const char (&text)[kSize]) {
  return std::string(text, kSize - 1);
}

std::unique_ptr<Parser> MakeParser(std::optional<std::string> key = {},
                                   size_t record_bytes_max = 1 << 20,
                                   const Schema& schema = {}) {
  MsgpackConfig config;
  config.key = std::move(key);
  config.record_bytes_max = record_bytes_max;
  return *MakeMsgpackParser(config, schema);
}

ParsedText Parse(absl::string_view text, std::optional<std::string> key = {}) {
  return ParseWhole(*MakeParser(std::move(key)), text);
}

TEST(MsgpackParserTest, ARecordIsAValueAsItStands) {
  EXPECT_THAT(Parse(Bytes("\x01\x81\xa1"
                          "a\x92\x01\xc0\xc4\x01\0\xff"))
                  .values(),
              ElementsAre("\x01",
                          "\x81\xa1"
                          "a\x92\x01\xc0",
                          Bytes("\xc4\x01\0"), "\xff"));
}

TEST(MsgpackParserTest, EndsValuesWhereMsgpackCDoes) {
  Random random = TestRandom();
  std::string stream;
  std::vector<std::string> values;
  for (int i = 0; i < 2'000; ++i) {
    values.push_back(RandomMsgpack(random));
    stream += values.back();
  }
  const ParsedText parsed = Parse(stream);
  EXPECT_EQ(parsed.values(), values);
  EXPECT_THAT(parsed.errors, IsEmpty());
}

// Each value of one byte to begin with, and zeros behind it.
TEST(MsgpackParserTest, KnowsEveryFirstByte) {
  for (int first = 0; first < 256; ++first) {
    const std::string text =
        std::string(1, static_cast<char>(first)) + std::string(40, '\0');
    size_t size = 0;
    bool good = true;
    try {
      msgpack::unpack(text.data(), text.size(), size);
    } catch (const msgpack::parse_error&) {
      good = false;
    }
    const ParsedText parsed = Parse(text);
    if (good) {
      ASSERT_THAT(parsed.values(), SizeIs(text.size() - size + 1)) << first;
      EXPECT_EQ(parsed.values()[0], text.substr(0, size));
    } else {
      EXPECT_THAT(parsed.tags(), ElementsAre("syntax")) << first;
    }
  }
}

TEST(MsgpackParserTest, ABadByteCostsItsRecord) {
  const ParsedText parsed = Parse("\x92\x01\xc1\x02");
  EXPECT_THAT(parsed.tags(), ElementsAre("syntax"));
  EXPECT_EQ(parsed.errors[0].byte_offset, 0u);
  EXPECT_EQ(parsed.errors[0].record_number, 1u);
  EXPECT_EQ(parsed.errors[0].line, 0u);
  EXPECT_THAT(parsed.values(), ElementsAre("\x02"));
}

TEST(MsgpackParserTest, AValueThatIsCutOffIsABadRecord) {
  const ParsedText parsed = Parse(
      "\x01\xa3"
      "ab");
  EXPECT_THAT(parsed.values(), ElementsAre("\x01"));
  EXPECT_THAT(parsed.tags(), ElementsAre("syntax"));
  EXPECT_THAT(parsed.errors[0].description, HasSubstr("ends inside"));
}

// It is believed, and nothing is made for it.
TEST(MsgpackParserTest, AClaimOfFourGigabytesIsOneBadRecord) {
  for (const absl::string_view head :
       {"\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff",
        "\xc6\xff\xff\xff\xff", "\xc9\xff\xff\xff\xff\x01"}) {
    const ParsedText parsed = Parse(absl::StrCat(head, "\x01\x02"));
    EXPECT_THAT(parsed.values(), IsEmpty());
    EXPECT_THAT(parsed.tags(), ElementsAre("syntax"));
  }
}

TEST(MsgpackParserTest, ManyClaimsOfFourGigabytesEndNowhere) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "\xdf\xff\xff\xff\xff";
  EXPECT_THAT(Parse(text).tags(), ElementsAre("too_deep"));
}

TEST(MsgpackParserTest, DeepNestingIsABadRecordOnly) {
  const std::string deep(100'000, '\x91');
  const ParsedText parsed = Parse(deep + "\xc0\x01");
  EXPECT_THAT(parsed.tags(), ElementsAre("too_deep"));
  EXPECT_THAT(parsed.values(), ElementsAre("\x01"));
  const std::string at_limit(256, '\x91');
  EXPECT_THAT(Parse(at_limit + "\xc0").errors, IsEmpty());
}

TEST(MsgpackParserTest, ATooLongRecordCostsItself) {
  const ParsedText parsed = ParseWhole(*MakeParser({}, 3),
                                       "\xa3"
                                       "abc\xa2"
                                       "ab\x01");
  EXPECT_THAT(parsed.tags(), ElementsAre("record_too_large"));
  EXPECT_THAT(parsed.values(), ElementsAre("\xa2"
                                           "ab",
                                           "\x01"));
}

TEST(MsgpackParserTest, TheKeyIsTheTextOfTheValueAtItsPath) {
  // {a:{b:"k"}}, {a:{b:-256}}, {a:{b:1,b:true}}, {a:{b:7},a:1}, {a:[{b:1}]},
  // {a:{b:nil}}.
  const std::string bytes = Bytes(
      "\x81\xa1"
      "a\x81\xa1"
      "b\xa1"
      "k"
      "\x81\xa1"
      "a\x81\xa1"
      "b\xd1\xff\x00"
      "\x81\xa1"
      "a\x82\xa1"
      "b\x01\xa1"
      "b\xc3"
      "\x82\xa1"
      "a\x81\xa1"
      "b\x07\xa1"
      "a\x01"
      "\x81\xa1"
      "a\x91\x81\xa1"
      "b\x01"
      "\x81\xa1"
      "a\x81\xa1"
      "b\xc0");
  EXPECT_THAT(Parse(bytes, "a.b").keys(),
              ElementsAre("k", "-256", "true", "(none)", "(none)", "(none)"));
}

// One column, what stands in it, and what it is then: a value or a tag.
struct ColumnCase {
  std::string name;
  Column column;
  std::string packed;
  std::string expected;

  friend std::ostream& operator<<(std::ostream& out, const ColumnCase& of) {
    return out << of.name;
  }
};

class MsgpackColumnTest : public testing::TestWithParam<ColumnCase> {};

TEST_P(MsgpackColumnTest, TakesWhatItIs) {
  Column column = GetParam().column;
  column.name = "a";
  const ParsedText parsed =
      ParseWhole(*MakeParser({}, 1000, {{column}}),
                 absl::StrCat("\x81\xa1", "a", GetParam().packed));
  ASSERT_EQ(parsed.record_count, 1u);
  if (parsed.errors.empty()) {
    EXPECT_EQ(parsed.rows[0], GetParam().expected);
  } else {
    EXPECT_EQ(parsed.errors[0].tag, GetParam().expected)
        << parsed.errors[0].description;
  }
}

Column Of(SqlType type, uint32_t precision = 0, int32_t scale = 0) {
  return {.type = type, .precision = precision, .scale = scale};
}

INSTANTIATE_TEST_SUITE_P(
    All, MsgpackColumnTest,
    testing::Values(
        ColumnCase{"Nil", Of(SqlType::kBigint), "\xc0", "null"},
        ColumnCase{"True", Of(SqlType::kBoolean), "\xc3", "bool true"},
        ColumnCase{"NumberIsNoBoolean", Of(SqlType::kBoolean), "\x01",
                   "wrong_type"},
        ColumnCase{"Fixint", Of(SqlType::kTinyint), "\x7f", "int64 127"},
        ColumnCase{"LeastInteger", Of(SqlType::kBigint),
                   Bytes("\xd3\x80\0\0\0\0\0\0\0"),
                   "int64 -9223372036854775808"},
        ColumnCase{"GreatestUnsigned", Of(SqlType::kBigintUnsigned),
                   "\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
                   "uint64 18446744073709551615"},
        ColumnCase{"BeyondBigint", Of(SqlType::kBigint),
                   "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "out_of_range"},
        ColumnCase{"SignedThatIsPositive", Of(SqlType::kBigintUnsigned),
                   "\xd0\x05", "uint64 5"},
        ColumnCase{"BeyondTinyint", Of(SqlType::kTinyint), "\xcc\x80",
                   "out_of_range"},
        ColumnCase{"WholeFloatIsAnInteger", Of(SqlType::kInteger),
                   Bytes("\xca\x40\x40\0\0"), "int64 3"},
        ColumnCase{"Float64", Of(SqlType::kDouble),
                   Bytes("\xcb\x3f\xf8\0\0\0\0\0\0"), "double 1.5"},
        ColumnCase{"NanIsNoDecimal", Of(SqlType::kInteger),
                   Bytes("\xca\x7f\xc0\0\0"), "wrong_type"},
        ColumnCase{"FloatToDecimal", Of(SqlType::kDecimal, 3, 1),
                   "\xca\x3d\xcc\xcc\xcd", "decimal 0.1"},
        ColumnCase{"IntegerToVarchar", Of(SqlType::kVarchar), "\xe0",
                   "string '-32'"},
        ColumnCase{"Str", Of(SqlType::kVarchar), "\xa2\xc3\xa9",
                   "string '\\xc3\\xa9'"},
        ColumnCase{"BadUtf8", Of(SqlType::kVarchar), "\xa1\xff", "wrong_type"},
        ColumnCase{"TooLong", Of(SqlType::kVarchar, 1),
                   "\xa2"
                   "ab",
                   "out_of_range"},
        ColumnCase{"BinIsNoText", Of(SqlType::kVarchar),
                   "\xc4\x01"
                   "a",
                   "wrong_type"},
        ColumnCase{"BinTooLong", Of(SqlType::kVarbinary, 1),
                   "\xc4\x02"
                   "ab",
                   "out_of_range"},
        ColumnCase{"NumberIsNoDate", Of(SqlType::kDate), "\x01", "wrong_type"},
        ColumnCase{"DateText", Of(SqlType::kDate),
                   "\xaa"
                   "1970-01-03",
                   "date 2"},
        ColumnCase{"Timestamp32", Of(SqlType::kTimestamptz, 6),
                   Bytes("\xd6\xff\0\0\0\x02"), "timestamptz 2000000"},
        ColumnCase{"Timestamp64", Of(SqlType::kTimestamptz, 9),
                   Bytes("\xd7\xff\0\0\0\x0c\0\0\0\x01"),
                   "timestamptz 1000000 +3"},
        ColumnCase{"TimestampTooFine", Of(SqlType::kTimestamptz, 6),
                   Bytes("\xd7\xff\0\0\0\x0c\0\0\0\x01"), "out_of_range"},
        ColumnCase{"Timestamp96", Of(SqlType::kTimestamptz, 6),
                   Bytes("\xc7\x0c\xff\0\0\x03\xe8\xff\xff\xff\xff\xff\xff\xff"
                         "\xff"),
                   "timestamptz -999999"},
        ColumnCase{"TimestampBeyond", Of(SqlType::kTimestamptz, 6),
                   Bytes("\xc7\x0c\xff\0\0\0\0\x7f\xff\xff\xff\xff\xff\xff"
                         "\xff"),
                   "out_of_range"},
        ColumnCase{"TimestampOfNoForm", Of(SqlType::kTimestamptz, 6),
                   "\xd4\xff\x01", "wrong_type"},
        ColumnCase{"TimestampHasAZone", Of(SqlType::kTimestamp, 6),
                   Bytes("\xd6\xff\0\0\0\x02"), "wrong_type"},
        ColumnCase{"AnotherExtension", Of(SqlType::kTimestamptz, 6),
                   Bytes("\xd6\x01\0\0\0\x02"), "wrong_type"},
        ColumnCase{"ArrayIsNoNumber", Of(SqlType::kBigint), "\x91\x01",
                   "wrong_type"},
        ColumnCase{"Variant", Of(SqlType::kVariant),
                   "\x82\xa1"
                   "x\x93\x01\xc0\xa1\"\xa1"
                   "y\x80",
                   R"(variant '{\"x\":[1,null,\"\\\"\"],\"y\":{}}')"},
        ColumnCase{"VariantOfBytes", Of(SqlType::kVariant),
                   "\x91\xc4\x01"
                   "a",
                   "wrong_type"},
        ColumnCase{"VariantOfNumberedMembers", Of(SqlType::kVariant),
                   "\x81\x01\x02", "wrong_type"}),
    [](const auto& test) { return test.param.name; });

// A column of every kind.
Schema Columns() {
  return {
      {{.name = "id", .type = SqlType::kBigint},
       {.name = "size", .type = SqlType::kBigintUnsigned},
       {.name = "price", .type = SqlType::kDecimal, .precision = 9, .scale = 2},
       {.name = "share", .type = SqlType::kReal},
       {.name = "part", .type = SqlType::kDouble},
       {.name = "is", .type = SqlType::kBoolean},
       {.name = "note"},
       {.name = "raw", .type = SqlType::kVarbinary},
       {.name = "day", .type = SqlType::kDate},
       {.name = "hour", .type = SqlType::kTime, .precision = 9},
       {.name = "local", .type = SqlType::kTimestamp, .precision = 9},
       {.name = "at", .type = SqlType::kTimestamptz, .precision = 9},
       {.name = "ref", .type = SqlType::kUuid},
       {.name = "tags",
        .type = SqlType::kArray,
        .children = {{.name = "element"}}},
       {.name = "days",
        .type = SqlType::kMap,
        .children = {{.name = "key", .type = SqlType::kInteger},
                     {.name = "value", .type = SqlType::kDate}}},
       {.name = "geo",
        .type = SqlType::kStruct,
        .children = {{.name = "lat", .type = SqlType::kReal},
                     {.name = "lon", .type = SqlType::kReal}}}}};
}

std::string RandomBytes(Random& random, size_t size_max) {
  std::string bytes(random.Uniform(size_max), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.Uniform(256));
  return bytes;
}

int64_t RandomInteger(Random& random) {
  const auto bits =
      static_cast<int64_t>(random.Uniform(UINT64_MAX) >> random.Uniform(64));
  return random.Bernoulli(0.5) ? bits : -bits;
}

// A row for Columns(). Lifetime: of `texts` and `arena`.
std::vector<Value> RandomRow(Random& random, std::vector<std::string>& texts,
                             ValueArena& arena) {
  texts = {absl::StrCat(random.Uniform(1'000'000), ".25"),
           std::string(random.Uniform(300), 'x'), RandomBytes(random, 300),
           RandomBytes(random, 2), "element"};
  texts[3].resize(16, 'u');
  const auto real = [&] { return static_cast<double>(random.Uniform(99)) / 4; };
  const std::span<Value> tags = arena.Values(random.Uniform(40));
  for (Value& tag : tags) {
    tag = random.Bernoulli(0.1) ? Value() : Value::String(texts[4]);
  }
  const std::span<Value> days = arena.Values(2 * random.Uniform(20));
  for (size_t i = 0; i < days.size(); i += 2) {
    days[i] = Value::Int64(static_cast<int64_t>(i) - 10);
    days[i + 1] = Value::Date(static_cast<int64_t>(random.Uniform(99'999)));
  }
  const std::span<Value> geo = arena.Values(2);
  geo[0] = Value::Double(real());
  const int64_t micros = RandomInteger(random) / 100;
  const auto nanos = static_cast<uint32_t>(random.Uniform(1'000));
  std::vector<Value> row = {
      Value::Int64(RandomInteger(random)),
      Value::Uint64(random.Uniform(UINT64_MAX) >> random.Uniform(64)),
      Value::Decimal(texts[0]),
      Value::Double(real()),
      Value::Double(std::ldexp(real(), static_cast<int>(random.Uniform(99)))),
      Value::Bool(random.Bernoulli(0.5)),
      Value::String(texts[1]),
      Value::Binary(texts[2]),
      Value::Date(static_cast<int64_t>(random.Uniform(999'999)) - 500'000),
      Value::Time(static_cast<int64_t>(random.Uniform(86'400'000'000'000))),
      Value::Timestamp(micros, nanos),
      Value::Timestamptz(micros, nanos),
      Value::Uuid(texts[3]),
      Value::Array(tags),
      Value::Map(days),
      Value::Struct(geo)};
  for (Value& value : row) {
    if (random.Bernoulli(0.1)) value = Value();
  }
  return row;
}

TEST(MsgpackEncoderTest, RowsComeBackAsTheyWere) {
  Random random = TestRandom();
  MsgpackEncoder encoder(Columns(), FrameKind::kConcatenated);
  FrameBuffer frame;
  std::vector<std::string> rows;
  for (int i = 0; i < 500; ++i) {
    std::vector<std::string> texts;
    ValueArena arena;
    const std::vector<Value> row = RandomRow(random, texts, arena);
    rows.push_back(RowText(row));
    const size_t before = frame.size();
    ASSERT_OK(encoder.Encode(Record{.row = row}, frame));
    // msgpack-c takes it for one value, too.
    size_t end = before;
    msgpack::unpack(frame.view().data(), frame.size(), end);
    ASSERT_EQ(end, frame.size());
  }
  const ParsedText parsed =
      ParseWhole(*MakeParser({}, 1 << 20, Columns()), frame.view());
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_EQ(parsed.rows, rows);
}

TEST(MsgpackEncoderTest, InfinityIsText) {
  const Schema schema = {
      {{.name = "a", .type = SqlType::kTimestamptz, .precision = 6}}};
  MsgpackEncoder encoder(schema, FrameKind::kConcatenated);
  FrameBuffer frame;
  const std::vector<Value> row = {Value::Timestamptz(Value::kInfinity)};
  ASSERT_OK(encoder.Encode(Record{.row = row}, frame));
  EXPECT_EQ(frame.view(),
            "\x81\xa1"
            "a\xa8"
            "infinity");
}

TEST(MsgpackEncoderTest, WithoutColumnsRecordsAreAsTheyStand) {
  MsgpackEncoder encoder({}, FrameKind::kConcatenated);
  FrameBuffer frame;
  ASSERT_OK(encoder.Encode(Record{.value = "\x92\x01\x02"}, frame));
  EXPECT_EQ(frame.view(), "\x92\x01\x02");
  EXPECT_EQ(encoder.EstimateBytes(1, 3), 3u);
}

TEST(MsgpackEncoderTest, WhatIsNoMessagePackIsRefused) {
  MsgpackEncoder encoder({}, FrameKind::kConcatenated);
  FrameBuffer frame;
  EXPECT_THAT(encoder.Encode(Record{.value = "{}"}, frame),
              HasReason(Reason::MALFORMED_FRAME));
  EXPECT_THAT(encoder.Encode(Record{}, frame), HasReason(Reason::UNSUPPORTED));
  EXPECT_THAT(frame.view(), IsEmpty());
}

TEST(MakeMsgpackTest, RefusesAnothersConfiguration) {
  EXPECT_THAT(MakeMsgpackParser(RawConfig()).status(),
              HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(MakeMsgpackEncoder(RawConfig(), FrameKind::kMessages).status(),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(MakeMsgpackTest, RefusesRecordsOfNoBytesAndBadKeys) {
  MsgpackConfig config;
  config.record_bytes_max = 0;
  EXPECT_THAT(MakeMsgpackParser(config).status(),
              HasReason(Reason::INVALID_CONFIG));
  config = MsgpackConfig();
  config.key = "a..b";
  EXPECT_THAT(MakeMsgpackParser(config).status(),
              HasReason(Reason::INVALID_CONFIG));
}

}  // namespace
}  // namespace penstock::core
