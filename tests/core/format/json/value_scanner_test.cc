#include "core/format/json/value_scanner.h"

#include <absl/strings/string_view.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace penstock::core {
namespace {

using Kind = ValueScanner::Kind;

TEST(ValueScannerTest, AUnitEndsWithItsValue) {
  const absl::string_view text = " , {\"a\":[1]} ,2";
  ValueScanner scanner;
  EXPECT_EQ(scanner.Next(text, 0), 12u);
  EXPECT_EQ(scanner.kind(), Kind::kValue);
  EXPECT_EQ(scanner.value_begin(), 3u);
  EXPECT_TRUE(scanner.IsBetween());
}

TEST(ValueScannerTest, ATextMayEndAnywhereInAUnit) {
  const absl::string_view text = ",{\"a\\\"\":[1,true],\"b\":null}";
  for (size_t split = 1; split < text.size(); ++split) {
    ValueScanner scanner;
    ASSERT_EQ(scanner.Next(text.substr(0, split), 0), std::nullopt) << split;
    ASSERT_FALSE(scanner.IsBetween());
    ASSERT_EQ(scanner.Next(text.substr(split), 0), text.size() - split);
  }
}

TEST(ValueScannerTest, AnEmptyArrayIsNoValueAndNoneIsMissing) {
  ValueScanner scanner;
  EXPECT_EQ(scanner.Next("[ ]1", 0), 3u);
  EXPECT_EQ(scanner.kind(), Kind::kNone);
}

TEST(ValueScannerTest, AMissingValueIsMissedBeforeWhatStandsThere) {
  ValueScanner scanner;
  EXPECT_EQ(scanner.Next(", ]", 0), 2u);
  EXPECT_EQ(scanner.kind(), Kind::kMissing);
}

TEST(ValueScannerTest, WhatTheTextsEndCutsOffHasAKind) {
  ValueScanner open;
  EXPECT_EQ(open.Next("[", 0), std::nullopt);
  EXPECT_EQ(open.kind(), Kind::kMissing);
  ValueScanner token;
  EXPECT_EQ(token.Next("[1", 0), std::nullopt);
  EXPECT_EQ(token.kind(), Kind::kValue);
  EXPECT_EQ(token.value_begin(), 1u);
}

// Where a value may stand, a line may begin with a bracket.
TEST(ValueScannerTest, ABracketOnALineOfItsOwnBelongsToTheValue) {
  const absl::string_view text = "{\"a\":\n[\n{},\n{}\n]}";
  ValueScanner scanner;
  EXPECT_EQ(scanner.Next(text, 0), text.size());
}

// Who reads over a record byte by byte finds its end, not that of the next.
TEST(ValueScannerTest, NoByteEndsTwoValues) {
  ValueScanner scanner;
  ASSERT_EQ(scanner.Next("12", 0), std::nullopt);
  EXPECT_EQ(scanner.Next(":", 0), 0u);
  ASSERT_EQ(scanner.Next(":", 0), std::nullopt);
  EXPECT_EQ(scanner.Next("}", 0), 0u);
}

TEST(ValueScannerTest, NestingHasNoBound) {
  const std::string text = "{\"a\":" + std::string(1'000'000, '[') +
                           std::string(1'000'000, ']') + "}";
  ValueScanner scanner;
  EXPECT_EQ(scanner.Next(text, 0), text.size());
}

}  // namespace
}  // namespace penstock::core
