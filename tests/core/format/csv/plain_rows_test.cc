// Most records are read the fast way, straight to their columns. A dialect that
// it does not know, but which means the same here, reads all by the long way.
#include "core/format/csv/csv_format.h"
#include "tests/core/format/parse_text.h"
#include "tests/support/test_rng.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace penstock::core {
namespace {

Schema Columns() {
  return {{{.name = "id", .type = SqlType::kBigint, .nullable = false},
           {.name = "text"},
           {.name = "real", .type = SqlType::kDouble},
           {.name = "small", .type = SqlType::kTinyintUnsigned},
           {.name = "yes", .type = SqlType::kBoolean},
           {.name = "day", .type = SqlType::kDate}}};
}

std::string RandomField(Random& random) {
  static constexpr std::array kFields = {
      "",      "1",    "-12", "1234567",   "12345678", "123456789",
      "255",   "256",  "1.5", "-0.25",     "1e3",      "true",
      "false", "TRUE", "x",   "\"a,\nb\"", "\"7\"",    "\"\"",
      "a\"b",  "\xff", "NaN", "2026-01-31"};
  // Mostly what fits everywhere.
  if (random.Bernoulli(0.6)) return absl::StrCat(random.Uniform(100));
  return kFields[random.Uniform(kFields.size())];
}

std::string RandomText(Random& random, size_t records) {
  static constexpr std::array kEnds = {"\n", "\n", "\n", "\n", "\r\n", "\r"};
  std::string text;
  for (size_t i = 0; i < records; ++i) {
    const size_t fields = random.Bernoulli(0.1) ? random.Uniform(9) : 6;
    for (size_t field = 0; field < fields; ++field) {
      absl::StrAppend(&text, field > 0 ? "," : "", RandomField(random));
    }
    text += kEnds[random.Uniform(kEnds.size())];
  }
  return text;
}

TEST(CsvPlainRowsTest, TheFastWayGivesWhatTheLongWayGives) {
  Random random = TestRandom();
  for (int round = 0; round < 1'500; ++round) {
    CsvConfig config;
    config.flexible = random.Bernoulli(0.5);
    config.empty_is_null = random.Bernoulli(0.8);
    if (random.Bernoulli(0.3)) config.null_tokens = {"x", "255"};
    if (random.Bernoulli(0.5)) config.key_column = 2;
    // Nothing is escaped in these texts.
    CsvConfig slow = config;
    slow.dialect.escape = CsvEscape::kBackslash;
    // Beyond one window of offsets, some of them.
    const std::string text = RandomText(random, 1 + random.Uniform(120));
    ParsedText fast = ParseWhole(**MakeCsvParser(config, Columns()), text);
    ParsedText slowly = ParseWhole(**MakeCsvParser(slow, Columns()), text);
    ASSERT_EQ(fast, slowly) << absl::CHexEscape(text);
  }
}

}  // namespace
}  // namespace penstock::core
