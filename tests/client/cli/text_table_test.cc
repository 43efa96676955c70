#include "client/cli/text_table.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

TEST(TextTableTest, NumbersStandAtTheRightAndTextAtTheLeft) {
  TextTable table({"NAME", "COUNT"});
  table.Add({"a", "7"});
  table.Add({"longer", "1234"});
  EXPECT_EQ(table.ToString(),
            "NAME    COUNT\n"
            "a           7\n"
            "longer   1234\n");
}

TEST(TextTableTest, ATableWithoutRowsIsItsHeader) {
  EXPECT_EQ(TextTable({"A", "B"}).ToString(), "A  B\n");
}

TEST(TextTableTest, ACellNeitherSteersTheTerminalNorBeginsARow) {
  TextTable table({"A"});
  table.Add(
      {"x\x1b]52;c;eA==\x07.log\nforged \xc2\x9b"
       "31m caf\u00e9\x7f"});
  EXPECT_EQ(table.ToString(),
            "A\nx?]52;c;eA==?.log\\nforged ?31m caf\u00e9?\n");
}

TEST(TextTableTest, LargeNumbersGetAUnit) {
  EXPECT_EQ(ShortNumber(999), "999");
  EXPECT_EQ(ShortNumber(1234567), "1.23 M");
}

TEST(TextTableTest, DurationsAreCutToWhatMatters) {
  EXPECT_EQ(ShortDuration(absl::Milliseconds(1234)), "1s");
  EXPECT_EQ(ShortDuration(absl::Microseconds(12300)), "12ms");
}

TEST(TextTableTest, WordsAreWrapped) {
  EXPECT_EQ(Wrapped("one two three", 9, 2), "  one two\n  three\n");
}

}  // namespace
}  // namespace penstock::client
