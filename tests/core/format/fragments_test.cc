// How a text is cut changes nothing: records, keys, errors, numbers and hash
// are those of the whole text.
#include "core/format/csv/csv_encoder.h"
#include "core/format/csv/csv_format.h"
#include "core/format/json/json_format.h"
#include "core/format/line_encoder.h"
#include "core/format/msgpack/msgpack_encoder.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/raw/raw_format.h"
#include "tests/core/format/parse_text.h"
#include "tests/core/format/parsed_rows.h"
#include "tests/core/format/random_csv.h"
#include "tests/core/format/random_lines.h"
#include "tests/core/format/random_msgpack.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

struct FormatCase {
  std::string name;
  std::function<std::unique_ptr<Parser>(size_t record_bytes_max)> make;
  std::function<std::string(Random&, size_t lines)> random_text;
  // So many that they make more than one result.
  size_t many = 25'000;
  std::function<std::unique_ptr<RowEncoder>()> make_encoder = [] {
    return std::make_unique<LineEncoder>();
  };

  friend std::ostream& operator<<(std::ostream& out, const FormatCase& format) {
    return out << format.name;
  }
};

std::unique_ptr<Parser> MakeRaw(size_t record_bytes_max) {
  RawConfig config;
  config.record_bytes_max = record_bytes_max;
  return *MakeRawParser(config);
}

std::unique_ptr<Parser> MakeNdjson(size_t record_bytes_max) {
  NdjsonConfig config;
  config.record_bytes_max = record_bytes_max;
  return *MakeNdjsonParser(config);
}

std::unique_ptr<Parser> MakeNdjsonWithKey(size_t record_bytes_max) {
  NdjsonConfig config;
  config.record_bytes_max = record_bytes_max;
  config.key = "a.b";
  return *MakeNdjsonParser(config);
}

std::unique_ptr<Parser> MakeJson(size_t record_bytes_max) {
  JsonConfig config;
  config.record_bytes_max = record_bytes_max;
  config.key = "a.b";
  return *MakeJsonParser(config);
}

std::unique_ptr<Parser> MakeMsgpack(size_t record_bytes_max) {
  MsgpackConfig config;
  config.record_bytes_max = record_bytes_max;
  config.key = "a.b";
  return *MakeMsgpackParser(config,
                            {{{.name = "a", .type = SqlType::kVariant},
                              {.name = "b", .type = SqlType::kVarbinary}}});
}

// Names that random lines have, so that many of them fit and some do not.
std::unique_ptr<Parser> MakeNdjsonWithColumns(size_t record_bytes_max) {
  NdjsonConfig config;
  config.record_bytes_max = record_bytes_max;
  return *MakeNdjsonParser(
      config,
      {{{.name = "a", .type = SqlType::kVariant},
        {.name = "b"},
        {.name = "c",
         .type = SqlType::kArray,
         .children = {{.name = "element", .type = SqlType::kDouble}}}}});
}

template <typename Config>
Config ChangesConfig(EnvelopeKind kind, size_t record_bytes_max) {
  Config config;
  config.record_bytes_max = record_bytes_max;
  config.key = "a";
  config.envelope = {.kind = kind, .op = "o"};
  return config;
}

Schema ChangesColumns() {
  return {{{.name = "a", .type = SqlType::kVariant}, {.name = "o"}}};
}

std::unique_ptr<Parser> MakeDebezium(size_t record_bytes_max) {
  return *MakeNdjsonParser(
      ChangesConfig<NdjsonConfig>(EnvelopeKind::kDebezium, record_bytes_max),
      ChangesColumns());
}

std::unique_ptr<Parser> MakeInsertDelete(size_t record_bytes_max) {
  return *MakeJsonParser(
      ChangesConfig<JsonConfig>(EnvelopeKind::kInsertDelete, record_bytes_max),
      ChangesColumns());
}

std::unique_ptr<Parser> MakeCsv(size_t record_bytes_max) {
  CsvConfig config;
  config.record_bytes_max = record_bytes_max;
  return *MakeCsvParser(config);
}

CsvConfig ConfigWithHeader() {
  CsvConfig config;
  config.header = true;
  config.flexible = true;
  config.dialect.comment = '#';
  config.dialect.trim = true;
  config.key = "k";
  return config;
}

std::unique_ptr<Parser> MakeCsvWithHeader(size_t record_bytes_max) {
  CsvConfig config = ConfigWithHeader();
  config.record_bytes_max = record_bytes_max;
  return *MakeCsvParser(
      config, {{{.name = "b"}, {.name = "a", .type = SqlType::kVariant}}});
}

std::string RandomPlainCsv(Random& random, size_t lines) {
  return RandomCsv(random, lines);
}

std::string RandomCsvWithHeader(Random& random, size_t lines) {
  return "# it's \"\n\na,k, \"b\"\n" +
         RandomCsv(random, lines, ConfigWithHeader().dialect);
}

std::unique_ptr<RowEncoder> MakeCsvBytes() {
  return std::make_unique<CsvEncoder>(CsvConfig(), 0);
}

// Records that are cut show less text in their errors.
constexpr size_t kNoneIsTooLong = size_t{1} << 20;

// Errors of records that were cut hold less text; where the text is whole does
// not matter otherwise.
ParsedText WithoutText(ParsedText parsed) {
  for (ParseError& error : parsed.errors) error.invalid_text.clear();
  return parsed;
}

class FragmentsTest : public testing::TestWithParam<FormatCase> {};

TEST_P(FragmentsTest, EverySplitPointGivesTheSame) {
  Random random = TestRandom();
  for (int round = 0; round < 20; ++round) {
    const std::string text = GetParam().random_text(random, 12);
    const ParsedText whole = ParseWhole(*GetParam().make(kNoneIsTooLong), text);
    for (size_t split = 0; split <= text.size(); ++split) {
      ASSERT_EQ(ParseSplit(*GetParam().make(kNoneIsTooLong), text, {split}),
                whole)
          << "split at " << split << " of:\n"
          << text;
    }
  }
}

TEST_P(FragmentsTest, EveryReadSizeGivesTheSame) {
  Random random = TestRandom();
  for (int round = 0; round < 20; ++round) {
    const std::string text = GetParam().random_text(random, 12);
    const ParsedText whole = ParseWhole(*GetParam().make(kNoneIsTooLong), text);
    for (size_t bytes = 1; bytes <= text.size(); ++bytes) {
      ASSERT_EQ(ParseInReads(*GetParam().make(kNoneIsTooLong), text, bytes),
                whole)
          << "reads of " << bytes << " of:\n"
          << text;
    }
  }
}

// The same for many documents, a few cuts each.
TEST_P(FragmentsTest, RandomCutsGiveTheSame) {
  Random random = TestRandom();
  for (int round = 0; round < PropertyRuns(300); ++round) {
    const std::string text =
        GetParam().random_text(random, 1 + random.Uniform(12));
    const ParsedText whole = ParseWhole(*GetParam().make(kNoneIsTooLong), text);
    const size_t bytes = 1 + random.Uniform(text.size() + 1);
    ASSERT_EQ(ParseInReads(*GetParam().make(kNoneIsTooLong), text, bytes),
              whole)
        << "reads of " << bytes << " of:\n"
        << text;
    size_t first = random.Uniform(text.size() + 1);
    size_t second = random.Uniform(text.size() + 1);
    if (first > second) std::swap(first, second);
    ASSERT_EQ(
        ParseSplit(*GetParam().make(kNoneIsTooLong), text, {first, second}),
        whole)
        << "split at " << first << " and " << second << " of:\n"
        << text;
    ASSERT_EQ(ParseResumed(*GetParam().make(kNoneIsTooLong), text, first),
              whole)
        << "resumed within " << first << " of:\n"
        << text;
    const size_t few = 1 + random.Uniform(24);
    ASSERT_EQ(WithoutText(ParseInReads(*GetParam().make(few), text, bytes)),
              WithoutText(ParseWhole(*GetParam().make(few), text)))
        << "reads of " << bytes << " of records up to " << few << " of:\n"
        << text;
  }
}

// What a parser knows besides its numbers does not last beyond a boundary.
TEST_P(FragmentsTest, AnotherParserGoesOnAtEveryBoundary) {
  Random random = TestRandom();
  for (int round = 0; round < 20; ++round) {
    const std::string text = GetParam().random_text(random, 12);
    const ParsedText whole = ParseWhole(*GetParam().make(kNoneIsTooLong), text);
    for (size_t split = 0; split <= text.size(); ++split) {
      ASSERT_EQ(ParseResumed(*GetParam().make(kNoneIsTooLong), text, split),
                whole)
          << "resumed within " << split << " of:\n"
          << text;
    }
  }
}

TEST_P(FragmentsTest, EveryReadSizeGivesTheSameWhereRecordsAreTooLong) {
  constexpr size_t kRecordBytesMax = 12;
  Random random = TestRandom();
  for (int round = 0; round < 20; ++round) {
    const std::string text = GetParam().random_text(random, 12);
    const ParsedText whole =
        WithoutText(ParseWhole(*GetParam().make(kRecordBytesMax), text));
    for (size_t bytes = 1; bytes <= text.size(); ++bytes) {
      ASSERT_EQ(WithoutText(ParseInReads(*GetParam().make(kRecordBytesMax),
                                         text, bytes)),
                whole)
          << "reads of " << bytes << " of:\n"
          << text;
    }
  }
}

// One fragment, many results: each is bounded, and together they are what
// fragments of one result each give.
TEST_P(FragmentsTest, WhatFillsAResultIsGoneOnWithInTheNext) {
  constexpr size_t kSmall = size_t{16} << 10;
  // The vectors may have room for as much again, and the last record, or the
  // last slab of an arena, may go beyond.
  constexpr uint64_t kResultBytesMax =
      2 * Parser::kResultBytesMax + (size_t{1} << 20);
  Random random = TestRandom();
  const std::string text = GetParam().random_text(random, GetParam().many);
  const std::vector<uint64_t> bytes =
      ResultBytes(*GetParam().make(kNoneIsTooLong), text);
  EXPECT_GT(bytes.size(), 1u);
  EXPECT_THAT(bytes, testing::Each(testing::Lt(kResultBytesMax)));
  EXPECT_EQ(ParseWhole(*GetParam().make(kNoneIsTooLong), text),
            ParseInReads(*GetParam().make(kNoneIsTooLong), text, kSmall));
}

// The field cases of INV-6: 2 bytes are the smallest record there is.
TEST_P(FragmentsTest, TheSmallestBadRecordsFillResultsToo) {
  std::string text;
  while (text.size() < size_t{256} << 10) text += "x\n";
  std::unique_ptr<Parser> parser = GetParam().make(kNoneIsTooLong);
  const std::vector<uint64_t> bytes = ResultBytes(*parser, text);
  EXPECT_THAT(bytes, testing::Each(testing::Lt(2 * Parser::kResultBytesMax)));
  EXPECT_GT(bytes.size(), 1u);
}

TEST(WideRowsTest, RowsFillAResult) {
  Schema schema;
  for (int i = 0; i < 1'000; ++i) {
    schema.columns.push_back({.name = absl::StrCat("c", i)});
  }
  std::string text;
  for (int i = 0; i < 2'000; ++i) text += "{}\n";
  const std::unique_ptr<Parser> parser =
      *MakeNdjsonParser(NdjsonConfig{}, schema);
  const std::vector<uint64_t> bytes = ResultBytes(*parser, text);
  EXPECT_THAT(bytes, testing::Each(testing::Lt(2 * Parser::kResultBytesMax)));
  // 16,000 bytes a row.
  EXPECT_GT(bytes.size(), 5u);
}

// A value that ends in CR is left out: read as a line again it has one less. So
// is a mark, which at the beginning is none of the value.
TEST_P(FragmentsTest, WhatWasEncodedIsParsedToTheSame) {
  Random random = TestRandom();
  if (GetParam().make_encoder == nullptr) {
    GTEST_SKIP() << "its frames lack what was around the records";
  }
  const std::unique_ptr<RowEncoder> encoder = GetParam().make_encoder();
  for (int round = 0; round < 100; ++round) {
    const std::string text = absl::StrReplaceAll(
        GetParam().random_text(random, 12), {{"\r", ""}, {"\xef\xbb\xbf", ""}});
    const ParsedText parsed =
        ParseWhole(*GetParam().make(kNoneIsTooLong), text);
    FrameBuffer frame;
    for (const OwnedRecord& record : parsed.records) {
      ASSERT_OK(encoder->Encode(Record{.value = *record.value}, frame));
    }
    const ParsedText again =
        ParseWhole(*GetParam().make(kNoneIsTooLong), frame.view());
    EXPECT_EQ(again.values(), parsed.values());
    EXPECT_EQ(again.keys(), parsed.keys());
    EXPECT_EQ(again.hash, parsed.hash);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FragmentsTest,
    testing::Values(
        FormatCase{"Csv", MakeCsv, RandomPlainCsv, 25'000, MakeCsvBytes},
        FormatCase{"CsvWithHeader", MakeCsvWithHeader, RandomCsvWithHeader,
                   25'000, nullptr},
        FormatCase{"Debezium", MakeDebezium, RandomChanges, 60'000, nullptr},
        FormatCase{"InsertDelete", MakeInsertDelete, RandomChanges, 25'000,
                   nullptr},
        FormatCase{"Raw", MakeRaw, RandomRawLines, 90'000},
        FormatCase{"Ndjson", MakeNdjson, RandomNdjson},
        FormatCase{"NdjsonWithColumns", MakeNdjsonWithColumns, RandomNdjson},
        FormatCase{"NdjsonWithKey", MakeNdjsonWithKey, RandomNdjson},
        FormatCase{"Json", MakeJson, RandomJsonStream, 25'000,
                   [] { return std::make_unique<JsonEncoder>(); }},
        FormatCase{"Msgpack", MakeMsgpack, RandomMsgpackStream, 25'000,
                   [] {
                     return std::make_unique<MsgpackEncoder>(
                         Schema(), FrameKind::kConcatenated);
                   }}),
    [](const testing::TestParamInfo<FormatCase>& test) {
      return test.param.name;
    });

}  // namespace
}  // namespace penstock::core
