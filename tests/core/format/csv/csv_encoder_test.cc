#include "core/format/csv/csv_encoder.h"

#include "core/format/csv/csv_format.h"
#include "tests/core/format/parse_text.h"
#include "tests/core/format/random_csv.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <absl/strings/escaping.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::HasSubstr;

Value Text(absl::string_view text) { return Value::String(text); }

absl::StatusOr<std::string> Encoded(const CsvConfig& config,
                                    const std::vector<Value>& row) {
  CsvEncoder encoder(config, row.size());
  FrameBuffer frame;
  const absl::Status status =
      encoder.Encode(Record{.value = "", .row = row}, frame);
  if (!status.ok()) return status;
  return std::string(frame.view());
}

absl::StatusOr<std::string> EncodedBytes(const CsvConfig& config,
                                         absl::string_view value) {
  CsvEncoder encoder(config, 0);
  FrameBuffer frame;
  const absl::Status status = encoder.Encode(Record{.value = value}, frame);
  if (!status.ok()) return status;
  return std::string(frame.view());
}

TEST(CsvEncoderTest, NullIsNothingAndEmptyTextIsQuoted) {
  EXPECT_THAT(Encoded({}, {Text(""), Value::Null(), Text("a")}),
              IsOkAndHolds("\"\",,a\n"));
}

TEST(CsvEncoderTest, QuotesStandWhereTheyHaveTo) {
  EXPECT_THAT(Encoded({}, {Text("a b"), Text("a,b"), Text("\"x\""),
                           Text("1\n2"), Text("\r"), Text("'")}),
              IsOkAndHolds("a b,\"a,b\",\"\"\"x\"\"\",\"1\n2\",\"\r\",'\n"));
}

TEST(CsvEncoderTest, WhatWouldReadAsSomethingElseIsQuoted) {
  CsvConfig config;
  config.null_tokens = {"NULL"};
  config.dialect.comment = '#';
  config.dialect.trim = true;
  EXPECT_THAT(
      Encoded(config, {Text("#"), Text("NULL"), Text(" a"), Text("b\t"),
                       Text("\xef\xbb\xbf"), Text("a#")}),
      IsOkAndHolds("\"#\",\"NULL\",\" a\",\"b\t\",\"\xef\xbb\xbf\",a#\n"));
}

TEST(CsvEncoderTest, ABackslashEscapesQuotesAndItself) {
  CsvConfig config;
  config.dialect.escape = CsvEscape::kBackslash;
  EXPECT_THAT(Encoded(config, {Text("C:\\"), Text("\"")}),
              IsOkAndHolds("\"C:\\\\\",\"\\\"\"\n"));
}

TEST(CsvEncoderTest, ATokenStandsForNullWhereNothingDoesNot) {
  CsvConfig config;
  config.empty_is_null = false;
  EXPECT_THAT(Encoded(config, {Value::Null(), Text("")}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("nothing stands for it")));
  config.null_tokens = {"a,b", "\\N"};
  EXPECT_THAT(Encoded(config, {Value::Null(), Text("")}),
              IsOkAndHolds("\\N,\n"));
}

TEST(CsvEncoderTest, OfOneColumnNullIsNoBlankLine) {
  CsvConfig config;
  EXPECT_THAT(Encoded(config, {Text("")}), IsOkAndHolds("\"\"\n"));
  EXPECT_THAT(Encoded(config, {Value::Null()}),
              StatusIs(absl::StatusCode::kUnimplemented));
  config.keep_blank_lines = true;
  EXPECT_THAT(Encoded(config, {Value::Null()}), IsOkAndHolds("\n"));
}

TEST(CsvEncoderTest, WithoutQuotesSomeTextCannotBeWritten) {
  CsvConfig config;
  config.dialect.quote = std::nullopt;
  EXPECT_THAT(Encoded(config, {Text("\"a\""), Text("b")}),
              IsOkAndHolds("\"a\",b\n"));
  EXPECT_THAT(Encoded(config, {Text("x"), Text("a,b")}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("encoding field 2")));
}

TEST(CsvEncoderTest, WithoutColumnsBytesPassIfTheyAreOneRecord) {
  EXPECT_THAT(EncodedBytes({}, "a,\"b\nc\""), IsOkAndHolds("a,\"b\nc\"\n"));
  EXPECT_THAT(EncodedBytes({}, ""), IsOkAndHolds("\n"));
  EXPECT_THAT(EncodedBytes({}, "a\nb"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(EncodedBytes({}, "a,\"b"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(EncodedBytes({}, "a\r"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CsvEncoderTest, ADeletionHasNoForm) {
  CsvEncoder encoder({}, 0);
  FrameBuffer frame;
  EXPECT_THAT(encoder.Encode(Record{}, frame),
              StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_EQ(frame.size(), 0u);
}

TEST(CsvEncoderTest, WhatItWritesIsReadAsTheSameRows) {
  Random random = TestRandom();
  for (int round = 0; round < 500; ++round) {
    CsvConfig config;
    config.dialect.delimiter = ",;\t"[random.Uniform(3)];
    if (random.Bernoulli(0.4)) config.dialect.escape = CsvEscape::kBackslash;
    if (random.Bernoulli(0.4)) config.dialect.comment = '#';
    config.dialect.trim = random.Bernoulli(0.4);
    config.flexible = true;
    if (random.Bernoulli(0.4)) config.null_tokens = {"a"};
    Schema schema;
    for (uint64_t i = random.Uniform(4); i < 4; ++i) {
      schema.columns.push_back({.name = std::string(1, "abcd"[i])});
    }
    config.keep_blank_lines = schema.columns.size() == 1;
    const std::string text = RandomCsv(random, 12, config.dialect);
    const auto parser = *MakeCsvParser(config, schema);
    auto block = std::make_shared<Block>(text.size() + 1);
    text.copy(block->data(), text.size());
    const ParseResult parsed =
        parser->Parse({.block = std::move(block),
                       .size = static_cast<uint32_t>(text.size()),
                       .is_last = true});
    CsvEncoder encoder(config, schema.columns.size());
    FrameBuffer frame;
    for (size_t i = 0; i < parsed.batch.record_count(); ++i) {
      ASSERT_OK(encoder.Encode(parsed.batch.At(i), frame));
    }
    const ParsedText again =
        ParseWhole(**MakeCsvParser(config, schema), frame.view());
    EXPECT_EQ(again.rows,
              ParseWhole(**MakeCsvParser(config, schema), text).rows)
        << absl::CHexEscape(text);
    EXPECT_TRUE(again.errors.empty()) << absl::CHexEscape(frame.view());
  }
}

}  // namespace
}  // namespace penstock::core
