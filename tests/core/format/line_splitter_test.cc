#include "core/format/line_splitter.h"

#include "core/format/line_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace penstock::core {
namespace {

using testing::Eq;
using testing::Optional;

TEST(LineSplitterTest, CutsBehindTheLastLineEnd) {
  LineSplitter splitter;
  EXPECT_THAT(splitter.Input("a\nbc\nd"), Optional(Eq(5u)));
}

TEST(LineSplitterTest, TakesEverythingThatEndsInALineEnd) {
  LineSplitter splitter;
  EXPECT_THAT(splitter.Input("a\n"), Optional(Eq(2u)));
}

TEST(LineSplitterTest, IsNotCertainWithoutALineEnd) {
  LineSplitter splitter;
  EXPECT_EQ(splitter.Input("abc\r"), std::nullopt);
}

TEST(LineSplitterTest, FindsNothingInNothing) {
  LineSplitter splitter;
  EXPECT_EQ(splitter.Input(""), std::nullopt);
}

TEST(LineSplitterTest, SeesALineEndAfterBytesWithoutOne) {
  LineSplitter splitter;
  EXPECT_EQ(splitter.Input("ab"), std::nullopt);
  EXPECT_THAT(splitter.Input("c\nd"), Optional(Eq(2u)));
}

TEST(LineAtTest, EndsBeforeTheLineEnd) {
  const Line line = LineAt("ab\ncd", 0, true);
  EXPECT_EQ(line.end, 2u);
  EXPECT_EQ(line.next, 3u);
}

TEST(LineAtTest, EndsWithTheTextWithoutALineEnd) {
  const Line line = LineAt("ab\ncd", 3, true);
  EXPECT_EQ(line.end, 5u);
  EXPECT_EQ(line.next, 5u);
}

TEST(LineAtTest, StripsOneCrBeforeTheLineEnd) {
  const Line line = LineAt("a\r\r\n", 0, true);
  EXPECT_EQ(line.end, 2u);
  EXPECT_EQ(line.next, 4u);
}

TEST(LineAtTest, KeepsTheCrIfTold) {
  EXPECT_EQ(LineAt("a\r\n", 0, false).end, 2u);
}

TEST(LineAtTest, KeepsACrWithoutALineEnd) {
  EXPECT_EQ(LineAt("a\r", 0, true).end, 2u);
}

TEST(LineAtTest, DoesNotTakeTheCrOfThePreviousLine) {
  const Line line = LineAt("\r\n\n", 2, true);
  EXPECT_EQ(line.begin, 2u);
  EXPECT_EQ(line.end, 2u);
}

}  // namespace
}  // namespace penstock::core
