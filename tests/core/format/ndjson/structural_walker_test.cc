#include "core/format/ndjson/structural_walker.h"

#include "core/format/line_cursor.h"
#include "core/format/ndjson/line_checker.h"
#include "core/format/ndjson/ndjson_format.h"
#include "tests/core/format/parse_text.h"
#include "tests/core/format/random_lines.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <optional>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;

enum class Verdict { kGood, kBad, kBlank };

// Of each line; nullopt: the text cannot be indexed.
std::optional<std::vector<Verdict>> Walk(const std::string& text) {
  StructuralWalker walker;
  if (!walker.Index(text, text.size())) return std::nullopt;
  std::vector<Verdict> verdicts;
  for (uint32_t at = 0; at < text.size();) {
    const Line line = LineAt(text, at, true);
    walker.SkipTo(line.begin);
    if (walker.IsBlank(line.end)) {
      verdicts.push_back(Verdict::kBlank);
    } else {
      verdicts.push_back(walker.IsGood(line.end, nullptr) ? Verdict::kGood
                                                          : Verdict::kBad);
    }
    at = line.next;
  }
  return verdicts;
}

// Whether a document of one line is good.
bool IsGood(const std::string& document) {
  const std::optional<std::vector<Verdict>> verdicts = Walk(document);
  return verdicts.has_value() && *verdicts == std::vector{Verdict::kGood};
}

TEST(StructuralWalkerTest, JudgesEachLineByItself) {
  EXPECT_THAT(*Walk("{\"a\":1}\n[1,2\n{}\r\n  \n\n\"x\"\n7 8\n-1.5"),
              ElementsAre(Verdict::kGood, Verdict::kBad, Verdict::kGood,
                          Verdict::kBlank, Verdict::kBlank, Verdict::kGood,
                          Verdict::kBad, Verdict::kGood));
}

TEST(StructuralWalkerTest, ADocumentOverTwoLinesIsBadTwice) {
  EXPECT_THAT(*Walk("{\"a\":\n1}\n[]\n"),
              ElementsAre(Verdict::kBad, Verdict::kBad, Verdict::kGood));
  EXPECT_THAT(*Walk("[1\n,2]\n"), ElementsAre(Verdict::kBad, Verdict::kBad));
}

TEST(StructuralWalkerTest, AnOpenContainerDoesNotEatTheNextLine) {
  EXPECT_THAT(*Walk("[1,\n[2]\n[3]]\n[4]\n"),
              ElementsAre(Verdict::kBad, Verdict::kGood, Verdict::kBad,
                          Verdict::kGood));
}

TEST(StructuralWalkerTest, BlankLinesOnlyCanBeIndexed) {
  EXPECT_THAT(*Walk("\n \n\t\r\n"),
              ElementsAre(Verdict::kBlank, Verdict::kBlank, Verdict::kBlank));
}

TEST(StructuralWalkerTest, AStringThatRunsOverItsLineHidesTheText) {
  EXPECT_EQ(Walk("{\"a\":\"x\n\"b\"}\n"), std::nullopt);
}

TEST(StructuralWalkerTest, AnOpenStringAtTheEndHidesTheText) {
  EXPECT_EQ(Walk("{\"a\":\"x"), std::nullopt);
}

TEST(StructuralWalkerTest, BadUtf8HidesTheText) {
  EXPECT_EQ(Walk("[\"\xff\"]\n[]\n"), std::nullopt);
}

TEST(StructuralWalkerTest, IndexesTextAfterTextOfAnySize) {
  StructuralWalker walker;
  for (const size_t size : {10, 70'000, 300, 1'000'000, 2}) {
    const std::string text = "[" + std::string(size, ' ') + "]";
    ASSERT_TRUE(walker.Index(text, text.size()));
    EXPECT_TRUE(walker.IsGood(static_cast<uint32_t>(text.size()), nullptr));
  }
}

// Numbers stand at every distance from the end of what may be read.
TEST(StructuralWalkerTest, AgreesWithTheCheckerOnNumbers) {
  for (const absl::string_view number : {"0",
                                         "-0",
                                         "00",
                                         "01",
                                         "-01",
                                         "1",
                                         "12345678901234",
                                         "123456789012345",
                                         "1234567890123456",
                                         "12345678901234567",
                                         "0.5",
                                         "-0.5",
                                         "-12.50",
                                         "1.",
                                         "-1.",
                                         ".5",
                                         "-.5",
                                         "-",
                                         "--1",
                                         "1.2.3",
                                         "1-2",
                                         "1e5",
                                         "1E+5",
                                         "1e",
                                         "0x10",
                                         "+1",
                                         "1,5",
                                         "1e400",
                                         "123456789012.45",
                                         "-23456789012.4567"}) {
    for (const absl::string_view behind : {"", " ", "\t ", "\r"}) {
      const std::string alone = absl::StrCat(number, behind);
      const std::string inside = absl::StrCat("[", alone, "]");
      SCOPED_TRACE(inside);
      EXPECT_EQ(IsGood(alone),
                LineChecker(alone).Check().fault == JsonFault::kNone);
      EXPECT_EQ(IsGood(inside),
                LineChecker(inside).Check().fault == JsonFault::kNone);
    }
  }
}

TEST(StructuralWalkerTest, AgreesWithTheCheckerOnDepth) {
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_TRUE(IsGood(nested(kJsonDepthMax)));
  EXPECT_FALSE(IsGood(nested(kJsonDepthMax + 1)));
}

// What is good for one is good for the other, and for simdjson's own parser
// (which knows other limits of numbers and depth, and looser surrogates).
TEST(StructuralWalkerTest, AgreesWithTheCheckerAndWithSimdjson) {
  Random random = TestRandom();
  simdjson::dom::parser dom;
  int good = 0;
  int bad = 0;
  for (int i = 0; i < 40'000; ++i) {
    std::string text = RandomJson(random);
    if (i % 2 == 0) text = Damage(std::move(text), random);
    SCOPED_TRACE(text);
    const JsonProblem problem = LineChecker(text).Check();
    const bool is_good = problem.fault == JsonFault::kNone;
    (is_good ? good : bad)++;
    const size_t backslash = text.find('\\');
    EXPECT_EQ(IsGood(text) && JsonEscapesAreGood(text, backslash), is_good)
        << problem.description;
    // simdjson knows no integers beyond 64 bits.
    const simdjson::error_code error = dom.parse(text).error();
    if (is_good && error == simdjson::NUMBER_ERROR) continue;
    if (problem.fault == JsonFault::kOutOfRange ||
        problem.fault == JsonFault::kInvalidUnicode) {
      continue;
    }
    EXPECT_EQ(error == simdjson::SUCCESS, is_good) << problem.description;
    if (HasFailure()) break;
  }
  EXPECT_GT(good, 10'000);
  EXPECT_GT(bad, 10'000);
}

// simdjson has a first stage for each kind of processor, and they are not quite
// alike.
class EveryProcessorTest : public testing::TestWithParam<std::string> {
 protected:
  EveryProcessorTest() : active_(simdjson::get_active_implementation()) {
    const simdjson::implementation* const wanted =
        simdjson::get_available_implementations()[GetParam()];
    if (wanted != nullptr && wanted->supported_by_runtime_system()) {
      simdjson::get_active_implementation() = wanted;
      is_supported_ = true;
    }
  }
  ~EveryProcessorTest() override {
    simdjson::get_active_implementation() = active_;
  }

  const simdjson::implementation* const active_;
  bool is_supported_ = false;
};

// The lines that the checker calls good.
std::vector<std::string> CheckedLines(const std::string& text) {
  std::vector<std::string> lines;
  for (uint32_t at = 0; at < text.size();) {
    const Line line = LineAt(text, at, true);
    at = line.next;
    std::string document = text.substr(line.begin, line.end - line.begin);
    if (LineChecker(document).Check().fault == JsonFault::kNone) {
      lines.push_back(std::move(document));
    }
  }
  return lines;
}

TEST_P(EveryProcessorTest, FindsTheLinesThatTheCheckerFinds) {
  if (!is_supported_) GTEST_SKIP() << "not on this processor";
  Random random = TestRandom();
  for (int i = 0; i < 5'000; ++i) {
    const std::string text = RandomNdjson(random, 8);
    NdjsonParser parser({.record_bytes_max = 1 << 20});
    ASSERT_EQ(ParseWhole(parser, text).values(), CheckedLines(text)) << text;
  }
}

TEST_P(EveryProcessorTest, ABackslashAtALinesEndHasNoHoldOnTheNextLine) {
  if (!is_supported_) GTEST_SKIP() << "not on this processor";
  for (const std::string text :
       {"\"x\\\nabc\"[1]\n[2]\n", "\\\n\"[1]\n[2]\n", "[1]\\\n[2]\n",
        "\"x\\\r\nabc\"[1]\n[2]\n", "\"x\\\\\\\nabc\"[1]\n[2]\n"}) {
    NdjsonParser parser({.record_bytes_max = 1 << 20});
    EXPECT_EQ(ParseWhole(parser, text).values(), CheckedLines(text)) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryProcessorTest,
                         testing::Values("icelake", "haswell", "westmere",
                                         "fallback"),
                         [](const testing::TestParamInfo<std::string>& test) {
                           return test.param;
                         });

TEST(StructuralWalkerTest, FindsTheKeysThatTheCheckerFinds) {
  Random random = TestRandom();
  int found = 0;
  for (const absl::string_view path : {"a", "a.b", "a.b.c", "ab.a"}) {
    ASSERT_OK_AND_ASSIGN(const KeyPath key, KeyPath::Parse(path));
    for (int i = 0; i < 5'000; ++i) {
      const std::string text = RandomJson(random, 5);
      SCOPED_TRACE(text);
      const bool has_escapes = text.find('\\') != std::string::npos;
      KeyTracker checked(key, has_escapes);
      ASSERT_EQ(LineChecker(text, &checked).Check().fault, JsonFault::kNone);
      KeyTracker walked(key, has_escapes);
      StructuralWalker walker;
      ASSERT_TRUE(walker.Index(text, text.size()));
      ASSERT_TRUE(walker.IsGood(static_cast<uint32_t>(text.size()), &walked));
      ASSERT_EQ(walked.token().found, checked.token().found);
      if (!checked.token().found) continue;
      ++found;
      ASSERT_EQ(walked.token().begin, checked.token().begin);
      ASSERT_EQ(walked.token().size, checked.token().size);
      ASSERT_EQ(walked.token().is_escaped, checked.token().is_escaped);
    }
  }
  EXPECT_GT(found, 500);
}

}  // namespace
}  // namespace penstock::core
