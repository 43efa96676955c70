// Most records are read the fast way, straight to their columns. A dialect that
// it does not know, but which means the same here, reads all by the long way.
#include "core/format/csv/csv_format.h"
#include "tests/core/format/parse_text.h"
#include "tests/support/test_rng.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::IsSupersetOf;

constexpr char kMark[] = "\xef\xbb\xbf";

Schema Columns() {
  return {{{.name = "id", .type = SqlType::kBigint, .nullable = false},
           {.name = "text"},
           {.name = "real", .type = SqlType::kDouble},
           {.name = "small", .type = SqlType::kTinyintUnsigned},
           {.name = "yes", .type = SqlType::kBoolean},
           {.name = "day", .type = SqlType::kDate}}};
}

CsvConfig RandomConfig(Random& random) {
  CsvConfig config;
  config.flexible = random.Bernoulli(0.5);
  config.empty_is_null = random.Bernoulli(0.8);
  config.keep_blank_lines = random.Bernoulli(0.3);
  config.header = random.Bernoulli(0.3);
  if (random.Bernoulli(0.3)) config.dialect.comment = '#';
  if (random.Bernoulli(0.3)) config.null_tokens = {"x", "255"};
  if (random.Bernoulli(0.5)) config.key_column = 2;
  if (random.Bernoulli(0.6)) {
    config.record_bytes_max = static_cast<size_t>(8 + random.Uniform(57));
  }
  return config;
}

// Blanks are trimmed, of which there are none in these texts.
CsvConfig ByTheLongWay(CsvConfig config) {
  config.dialect.trim = true;
  return config;
}

// As they stand in the text. None has a blank.
std::string OddField(Random& random) {
  static constexpr std::array kFields = {"",
                                         "1",
                                         "-12",
                                         "1234567",
                                         "12345678",
                                         "123456789",
                                         "255",
                                         "256",
                                         "1.5",
                                         "-0.25",
                                         "1e3",
                                         "NaN",
                                         "true",
                                         "TRUE",
                                         "x",
                                         "2026-01-31",
                                         "\"7\"",
                                         "\"a,\nb\"",
                                         "\"\"",
                                         "\"\"\"\"",
                                         "\"a\"\"b\"",
                                         "\"\"\"1\"\"\"",
                                         "\"a\"\"\n\"",
                                         "\"\r\n\"",
                                         "\"\"x",
                                         "\"x",
                                         "a\"b",
                                         "a\"\"b",
                                         "\xff",
                                         "\"\xff\"",
                                         "\xc3\xa9",
                                         kMark};
  return kFields[random.Uniform(kFields.size())];
}

std::string GoodField(Random& random, size_t column) {
  static constexpr std::array kTexts = {"x",       "\"a\"\"b\"", "\"\"\"\"",
                                        "\",\n\"", "\"\"",       "#"};
  if (column == 1) return kTexts[random.Uniform(kTexts.size())];
  if (column == 4) return random.Bernoulli(0.5) ? "true" : "false";
  if (column == 5) return "2026-01-31";
  const std::string number = absl::StrCat(random.Uniform(100));
  return random.Bernoulli(0.1) ? absl::StrCat("\"", number, "\"") : number;
}

// `odd`: the share of what is not as it is mostly.
std::string RandomRecord(Random& random, double odd) {
  std::string record;
  if (random.Bernoulli(odd / 4)) record += kMark;
  if (random.Bernoulli(odd / 4)) record += '#';
  const size_t fields = random.Bernoulli(odd) ? random.Uniform(9) : 6;
  for (size_t field = 0; field < fields; ++field) {
    absl::StrAppend(
        &record, field > 0 ? "," : "",
        random.Bernoulli(odd) ? OddField(random) : GoodField(random, field));
  }
  return record;
}

std::string RandomText(Random& random, size_t records) {
  static constexpr std::array kEnds = {"\n", "\n", "\n", "\r\n", "\r"};
  // Of one that hardly is CSV not much is read the fast way.
  static constexpr std::array kOdd = {0.0, 0.01, 0.03, 0.3};
  const double odd = kOdd[random.Uniform(kOdd.size())];
  std::string text;
  if (random.Bernoulli(0.2)) text = kMark;
  if (random.Bernoulli(0.3)) text += "id,text,\"real\",small,yes,day\n";
  for (size_t i = 0; i < records; ++i) {
    absl::StrAppend(
        &text, RandomRecord(random, odd),
        random.Bernoulli(odd) ? kEnds[random.Uniform(kEnds.size())] : "\n");
  }
  // Without a line end.
  if (random.Bernoulli(0.5)) text += RandomRecord(random, odd);
  return text;
}

TEST(CsvPlainRowsTest, TheFastWayGivesWhatTheLongWayGives) {
  Random random = TestRandom();
  std::set<std::string> tags;
  uint64_t good = 0;
  for (int round = 0; round < 1'500; ++round) {
    const CsvConfig config = RandomConfig(random);
    const CsvConfig slow = ByTheLongWay(config);
    // Beyond one window of offsets, some of them.
    const std::string text = RandomText(random, random.Uniform(80));
    const ParsedText fast =
        ParseWhole(**MakeCsvParser(config, Columns()), text);
    ASSERT_EQ(fast, ParseWhole(**MakeCsvParser(slow, Columns()), text))
        << absl::CHexEscape(text);
    for (const std::string& tag : fast.tags()) tags.insert(tag);
    good += fast.rows.size();
  }
  EXPECT_GT(good, 10'000u);
  EXPECT_THAT(tags,
              IsSupersetOf({"syntax", "open_quote", "field_count",
                            "record_too_large", "no_header", "wrong_type",
                            "null_value", "out_of_range", "invalid_utf8"}));
}

// Every byte goes into a column of text, and records are about as long as they
// may be.
TEST(CsvPlainRowsTest, TheFastWayGivesTheSameOfAnyFewBytes) {
  static constexpr std::array kPieces = {"a",  "a",  ",",    "\"", "\"\"", "\n",
                                         "\n", "\r", "\r\n", "#",  kMark};
  Random random = TestRandom();
  uint64_t good = 0;
  for (int round = 0; round < 20'000; ++round) {
    CsvConfig config = RandomConfig(random);
    config.header = false;
    config.key_column.reset();
    config.record_bytes_max = static_cast<size_t>(1 + random.Uniform(12));
    const Schema columns{
        random.Bernoulli(0.5)
            ? std::vector<Column>{{.name = "a"}}
            : std::vector<Column>{{.name = "a"}, {.name = "b"}}};
    std::string text;
    if (random.Bernoulli(0.3)) text = kMark;
    for (uint64_t left = random.Uniform(20); left > 0; --left) {
      text += kPieces[random.Uniform(kPieces.size())];
    }
    const ParsedText fast = ParseWhole(**MakeCsvParser(config, columns), text);
    ASSERT_EQ(fast,
              ParseWhole(**MakeCsvParser(ByTheLongWay(config), columns), text))
        << absl::CHexEscape(text);
    good += fast.rows.size();
  }
  EXPECT_GT(good, 5'000u);
}

// In pieces as a source reads them; of what is too long in one only the
// beginning is there.
TEST(CsvPlainRowsTest, TheFastWayGivesTheSameOfPieces) {
  Random random = TestRandom();
  uint64_t good = 0;
  for (int round = 0; round < 2'000; ++round) {
    const CsvConfig config = RandomConfig(random);
    const std::string text = RandomText(random, random.Uniform(30));
    const auto read_bytes = static_cast<size_t>(1 + random.Uniform(200));
    const ParsedText fast =
        ParseInReads(**MakeCsvParser(config, Columns()), text, read_bytes);
    ASSERT_EQ(fast,
              ParseInReads(**MakeCsvParser(ByTheLongWay(config), Columns()),
                           text, read_bytes))
        << read_bytes << " bytes a time: " << absl::CHexEscape(text);
    good += fast.rows.size();
  }
  EXPECT_GT(good, 5'000u);
}

}  // namespace
}  // namespace penstock::core
