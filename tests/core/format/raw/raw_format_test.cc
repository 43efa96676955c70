#include "core/format/raw/raw_format.h"

#include "core/format/ndjson/config.h"
#include "tests/core/format/parse_text.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(RawParserTest, MakesARecordOfEachLine) {
  RawParser parser(RawConfig{});
  const ParsedText parsed = ParseWhole(parser, "one\ntwo\nthree\n");
  EXPECT_THAT(parsed.values(), ElementsAre("one", "two", "three"));
  EXPECT_EQ(parsed.record_count, 3u);
  EXPECT_EQ(parsed.line_count, 3u);
}

TEST(RawParserTest, ARecordsOffsetIsThatOfItsFirstByte) {
  RawParser parser(RawConfig{});
  const ParsedText parsed = ParseInReads(parser, "one\ntwo\n", 4, 100);
  ASSERT_THAT(parsed.records, SizeIs(2));
  EXPECT_EQ(parsed.records[0].offset, 100);
  EXPECT_EQ(parsed.records[1].offset, 104);
}

TEST(RawParserTest, TheLastLineNeedsNoLineEnd) {
  RawParser parser(RawConfig{});
  EXPECT_THAT(ParseWhole(parser, "a\nb").values(), ElementsAre("a", "b"));
}

TEST(RawParserTest, EmptyLinesAreRecords) {
  RawParser parser(RawConfig{});
  EXPECT_THAT(ParseWhole(parser, "\n\na\n\n").values(),
              ElementsAre("", "", "a", ""));
}

TEST(RawParserTest, AnEmptyTextHasNoRecord) {
  RawParser parser(RawConfig{});
  const ParsedText parsed = ParseWhole(parser, "");
  EXPECT_THAT(parsed.records, IsEmpty());
  EXPECT_EQ(parsed.line_count, 0u);
}

TEST(RawParserTest, ACrBelongsToTheRecord) {
  RawParser parser(RawConfig{});
  EXPECT_THAT(ParseWhole(parser, "a\r\n\r\nb\rc\r\r\nd\r").values(),
              ElementsAre("a\r", "\r", "b\rc\r\r", "d\r"));
}

TEST(RawParserTest, PassesAnyBytes) {
  RawParser parser(RawConfig{});
  const std::string line("\xef\xbb\xbf\0\xff\x80", 6);
  EXPECT_THAT(ParseWhole(parser, line + "\n").values(), ElementsAre(line));
}

TEST(RawParserTest, RecordsHaveNoKey) {
  RawParser parser(RawConfig{});
  EXPECT_THAT(ParseWhole(parser, "a\n").keys(), ElementsAre("(none)"));
}

TEST(RawParserTest, ALineOfTheLimitIsGood) {
  RawConfig config;
  config.record_bytes_max = 4;
  RawParser parser(config);
  EXPECT_THAT(ParseWhole(parser, "abcd\nefgh").values(),
              ElementsAre("abcd", "efgh"));
}

TEST(RawParserTest, ATooLongLineCostsOnlyItself) {
  RawConfig config;
  config.record_bytes_max = 4;
  RawParser parser(config);
  const ParsedText parsed = ParseWhole(parser, "a\nbcdef\ng\n");
  EXPECT_THAT(parsed.values(), ElementsAre("a", "g"));
  ASSERT_THAT(parsed.errors, SizeIs(1));
  EXPECT_EQ(parsed.errors[0].tag, "record_too_large");
  EXPECT_EQ(parsed.errors[0].record_number, 2u);
  EXPECT_EQ(parsed.errors[0].line, 2u);
  EXPECT_EQ(parsed.errors[0].byte_offset, 2u);
  EXPECT_EQ(parsed.errors[0].invalid_text, "bcdef");
  EXPECT_EQ(parsed.record_count, 3u);
}

TEST(RawParserTest, NumbersGoOnFromWhereItWasPut) {
  RawConfig config;
  config.record_bytes_max = 1;
  RawParser parser(config);
  parser.SetPosition(1000, 2000);
  const ParsedText parsed = ParseInReads(parser, "a\nbb\nc\ndd\n", 4);
  ASSERT_THAT(parsed.errors, SizeIs(2));
  EXPECT_EQ(parsed.errors[0].record_number, 1001u);
  EXPECT_EQ(parsed.errors[0].line, 2001u);
  EXPECT_EQ(parsed.errors[1].record_number, 1003u);
  EXPECT_EQ(parsed.errors[1].line, 2003u);
}

TEST(RawParserTest, AForkHasTheConfigurationAndFreshCounters) {
  RawConfig config;
  config.record_bytes_max = 1;
  RawParser parser(config);
  ParseWhole(parser, "a\nb\n");
  const std::unique_ptr<Parser> fork = parser.Fork();
  EXPECT_EQ(fork->RecordBytesMax(), 1u);
  const ParsedText parsed = ParseWhole(*fork, "aa\n");
  ASSERT_THAT(parsed.errors, SizeIs(1));
  EXPECT_EQ(parsed.errors[0].record_number, 1u);
}

std::unique_ptr<Parser> MakeBlobParser(size_t record_bytes_max = 100) {
  RawConfig config;
  config.record_bytes_max = record_bytes_max;
  config.is_blob = true;
  return *MakeRawParser(config);
}

TEST(BlobParserTest, AllOfAnInputIsOneRecord) {
  const std::string text("\xef\xbb\xbfone\n\0\xff\r\n\ntwo", 14);
  for (const size_t bytes : {1u, 3u, 100u}) {
    const ParsedText parsed = ParseInReads(*MakeBlobParser(), text, bytes);
    EXPECT_THAT(parsed.values(), ElementsAre(text));
    EXPECT_THAT(parsed.keys(), ElementsAre("(none)"));
    EXPECT_EQ(parsed.records[0].offset, 0);
    EXPECT_EQ(parsed.line_count, 3u);
  }
}

TEST(BlobParserTest, AnEmptyInputHasNoRecord) {
  const ParsedText parsed = ParseWhole(*MakeBlobParser(), "");
  EXPECT_EQ(parsed.record_count, 0u);
}

TEST(BlobParserTest, OneThatIsTooLongIsOneBadRecord) {
  EXPECT_THAT(ParseWhole(*MakeBlobParser(4), "a\nbc").values(),
              ElementsAre("a\nbc"));
  for (const std::string& text :
       {std::string("a\nb\nc"), std::string(100, '\n')}) {
    const ParsedText whole = ParseWhole(*MakeBlobParser(4), text);
    EXPECT_THAT(whole.records, IsEmpty());
    EXPECT_THAT(whole.tags(), ElementsAre("record_too_large"));
    EXPECT_EQ(whole.errors[0].line, 1u);
    EXPECT_EQ(whole.errors[0].byte_offset, 0u);
    const ParsedText in_reads = ParseInReads(*MakeBlobParser(4), text, 2);
    EXPECT_THAT(in_reads.tags(), ElementsAre("record_too_large"));
    EXPECT_EQ(in_reads.line_count, whole.line_count);
  }
}

TEST(BlobParserTest, OneThatGrowsBehindItsEndWasTorn) {
  const auto splitter = MakeBlobParser()->MakeSplitter();
  EXPECT_EQ(splitter->Input("a\n\n"), std::nullopt);
  EXPECT_EQ(splitter->PassSeam('a', "\n"), std::nullopt);
}

TEST(BlobParserTest, NumbersGoOnFromWhereItWasPut) {
  const std::unique_ptr<Parser> parser = MakeBlobParser(1);
  parser->SetPosition(7, 30);
  const ParsedText parsed = ParseWhole(*parser, "aa");
  ASSERT_THAT(parsed.errors, SizeIs(1));
  EXPECT_EQ(parsed.errors[0].record_number, 7u);
  EXPECT_EQ(parsed.errors[0].line, 30u);
  EXPECT_EQ(ParseWhole(*parser->Fork(), "aa").errors[0].record_number, 1u);
}

TEST(BlobFormatTest, IsWrittenAsMessagesOnly) {
  RawConfig config;
  config.is_blob = true;
  EXPECT_OK(MakeRawEncoder(config, FrameKind::kMessages));
  EXPECT_THAT(MakeRawEncoder(config, FrameKind::kConcatenated),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(RawFormatTest, IsMadeOfItsConfiguration) {
  RawConfig config;
  config.record_bytes_max = 77;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Parser> parser,
                       MakeRawParser(config));
  EXPECT_EQ(parser->RecordBytesMax(), 77u);
  EXPECT_OK(MakeRawEncoder(config, FrameKind::kConcatenated));
}

TEST(RawFormatTest, RefusesAnotherFormatsConfiguration) {
  EXPECT_THAT(MakeRawParser(NdjsonConfig{}), HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(MakeRawEncoder(NdjsonConfig{}, FrameKind::kConcatenated),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(RawFormatTest, RefusesColumns) {
  EXPECT_THAT(MakeRawParser(RawConfig{}, Schema{{{.name = "a"}}}),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(RawFormatTest, RefusesALimitOfZero) {
  RawConfig config;
  config.record_bytes_max = 0;
  EXPECT_THAT(MakeRawParser(config), HasReason(Reason::INVALID_CONFIG));
}

}  // namespace
}  // namespace penstock::core
