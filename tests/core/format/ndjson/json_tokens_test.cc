// The tokens of a line are the same by their indexes and byte by byte.
#include "core/format/ndjson/json_tokens.h"

#include "core/format/ndjson/structural_walker.h"
#include "tests/core/format/random_lines.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

// Every token of the value that begins the text: where it is and what.
template <typename Tokens>
std::vector<std::string> TokensOf(Tokens tokens) {
  std::vector<std::string> all;
  int depth = 0;
  do {
    const uint32_t at = tokens.At();
    const char first = tokens.Peek();
    switch (first) {
      case '{':
      case '[':
      case '}':
      case ']':
        depth += first == '{' || first == '[' ? 1 : -1;
        [[fallthrough]];
      case ',':
      case ':':
        all.push_back(absl::StrCat(at, std::string(1, first)));
        // Behind the last one nothing may be asked.
        if (depth > 0) tokens.Skip();
        break;
      case '"':
        all.push_back(absl::StrCat(at, "\"", tokens.TakeString()));
        break;
      default:
        all.push_back(absl::StrCat(at, "=", tokens.TakeScalar()));
    }
  } while (depth > 0);
  return all;
}

// Indexes of a text that is good.
const uint32_t* Index(StructuralWalker& walker, const std::string& text) {
  EXPECT_TRUE(walker.Index(text, text.size()));
  return walker.place();
}

TEST(JsonTokensTest, BothGiveTheSame) {
  Random random = TestRandom();
  StructuralWalker walker;
  for (int round = 0; round < 5'000; ++round) {
    const std::string blanks(random.Uniform(3), ' ');
    const std::string json = blanks + RandomJson(random, 5) + blanks;
    // Another line follows: the last token must not reach into it.
    const std::string text = json + "\r\n[7]\n";
    const uint32_t* const next = Index(walker, text);
    ASSERT_EQ(TokensOf(IndexedTokens(text.data(), 0, next)),
              TokensOf(ScannedTokens(json)))
        << json;
    ASSERT_EQ(IndexedTokens(text.data(), 0, next).TakeValue(),
              ScannedTokens(json).TakeValue())
        << json;
  }
}

TEST(JsonTokensTest, AStringEndsAtItsOwnQuote) {
  const std::string json =
      R"({ "a\"" : "b\\" , "c":"\\\"" , "d" : [ 1 , 2 ] })";
  StructuralWalker walker;
  const uint32_t* const next = Index(walker, json);
  const std::vector<std::string> expected = {
      "0{",   "2\"a\\\"",     "8:",   "10\"b\\\\", "16,", "18\"c",
      "21:",  "22\"\\\\\\\"", "29,",  "31\"d",     "35:", "37[",
      "39=1", "41,",          "43=2", "45]",       "47}"};
  EXPECT_EQ(TokensOf(ScannedTokens(json)), expected);
  EXPECT_EQ(TokensOf(IndexedTokens(json.data(), 0, next)), expected);
}

TEST(JsonTokensTest, PlacesAreThoseOfTheLine) {
  const std::string text = "[1]\n {\"a\":2}";
  StructuralWalker walker;
  Index(walker, text);
  walker.SkipTo(4);
  const std::vector<std::string> expected = {"1{", "2\"a", "5:", "6=2", "7}"};
  EXPECT_EQ(TokensOf(IndexedTokens(text.data(), 4, walker.place())), expected);
}

}  // namespace
}  // namespace penstock::core
