#include "core/handoff/bad_row_search.h"

#include "core/base/random.h"
#include "core/contract/sink_error.h"
#include "tests/core/handoff/property_runs.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using Mode = BadRowSearch::Mode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A target: which row of a batch, if any, makes it refuse. Rows are letters;
// an upper-case one is bad, and no letter is taken twice.
std::optional<size_t> Refuses(absl::string_view rows) {
  std::set<char> seen;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= 'A' && rows[i] <= 'Z') return i;
    if (!seen.insert(rows[i]).second) return i;
  }
  return std::nullopt;
}

struct Trial {
  RowRange range;
  std::string rows;
};

// Runs a search over `rows` as a shard worker does, and keeps what it did.
class SearchRun {
 public:
  SearchRun(std::string rows, bool names_rows)
      : rows_(std::move(rows)),
        names_rows_(names_rows),
        search_(rows_.size(), Mode::kProbe) {
    do {
      Search();
    } while (Refuses(Rest()).has_value() && search_.Resume());
  }

  // What would be written.
  std::string Rest() const { return Rows({0, rows_.size()}); }
  std::vector<size_t> bad() const {
    std::vector<size_t> rows;
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (search_.IsBad(row)) rows.push_back(row);
    }
    return rows;
  }
  const std::vector<Trial>& trials() const { return trials_; }
  const BadRowSearch& search() const { return search_; }
  BadRowSearch& search() { return search_; }

 private:
  std::string Rows(RowRange range) const {
    std::string rows;
    for (size_t row = range.begin; row < range.end; ++row) {
      if (!search_.IsBad(row)) rows.push_back(rows_[row]);
    }
    return rows;
  }
  void Search() {
    while (const std::optional<RowRange> next = search_.Next()) {
      if (search_.trials() > 10'000) FAIL() << "no end";
      trials_.push_back({.range = *next, .rows = Rows(*next)});
      const std::optional<size_t> bad = Refuses(trials_.back().rows);
      if (!bad.has_value()) {
        search_.OnTaken();
      } else if (names_rows_) {
        search_.OnRefused(MakeRowRefused("bad", *bad));
      } else {
        search_.OnRefused(MakeRowRefused("bad"));
      }
    }
  }

  const std::string rows_;
  const bool names_rows_;
  std::vector<Trial> trials_;
  BadRowSearch search_;
};

struct SearchCase {
  const char* name;
  const char* rows;
  const char* left;
};

class BadRowSearchTest : public ::testing::TestWithParam<SearchCase> {};

TEST_P(BadRowSearchTest, LeavesTheGoodRowsInOrder) {
  EXPECT_EQ(SearchRun(GetParam().rows, false).Rest(), GetParam().left);
}

TEST_P(BadRowSearchTest, LeavesTheSameWhenTheTargetNamesRows) {
  EXPECT_EQ(SearchRun(GetParam().rows, true).Rest(), GetParam().left);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BadRowSearchTest,
    ::testing::Values(SearchCase{"First", "Abcdefg", "bcdefg"},
                      SearchCase{"Last", "abcdefG", "abcdef"},
                      SearchCase{"Middle", "abCdefg", "abdefg"},
                      SearchCase{"Neighbours", "abCDefg", "abefg"},
                      SearchCase{"All", "ABCDE", ""},
                      SearchCase{"TheOnlyOne", "A", ""},
                      SearchCase{"NoneAfterAll", "abc", "abc"},
                      SearchCase{"TwoOfOneKey", "abcdefa", "abcdef"},
                      SearchCase{"NeighboursOfOneKey", "aabcdef", "abcdef"},
                      SearchCase{"ManyOfOneKey", "abacada", "abcd"},
                      SearchCase{"OnlyOneKey", "aaaaaaaa", "a"},
                      SearchCase{"BothKinds", "abCbdAa", "abd"}),
    [](const auto& value) { return std::string(value.param.name); });

// What is tried, in order: no trial is idle, and none asks what is known.
struct TrialsCase {
  const char* name;
  const char* rows;
  bool names_rows;
  std::vector<std::string> trials;
};

class BadRowSearchOrderTest : public ::testing::TestWithParam<TrialsCase> {};

TEST_P(BadRowSearchOrderTest, TriesJustThis) {
  const SearchRun run(GetParam().rows, GetParam().names_rows);
  std::vector<std::string> tried;
  for (const Trial& trial : run.trials()) tried.push_back(trial.rows);
  EXPECT_EQ(tried, GetParam().trials);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BadRowSearchOrderTest,
    ::testing::Values(
        TrialsCase{
            "Together",
            "abcbda",
            false,
            {"abcbda", "abc", "bda", "abcbda", "abc", "abcb", "abcda", "abcd"}},
        TrialsCase{"BothKinds",
                   "abXcbYd",
                   false,
                   {"abXcbYd", "abX", "a", "bX", "b", "X", "cbYd", "cb", "Yd",
                    "Y", "d", "abcbd", "ab", "abc", "abcb", "abcd"}},
        TrialsCase{"OneKey",
                   "aaaa",
                   false,
                   {"aaaa", "aa", "a", "a", "aa", "a", "a", "aaaa", "aa", "a",
                    "aaa", "aa", "aa"}},
        TrialsCase{"TogetherNamed",
                   "abcbda",
                   true,
                   {"abcbda", "abc", "da", "abcda", "abcd"}},
        TrialsCase{"BothKindsNamed",
                   "abXcbYd",
                   true,
                   {"abXcbYd", "ab", "cbYd", "cb", "d", "abcbd", "abcd"}},
        TrialsCase{
            "OneKeyNamed", "aaaa", true, {"aaaa", "a", "aa", "a", "aa", "a"}}),
    [](const auto& value) { return std::string(value.param.name); });

// Searches on without finding anything. Returns: whether that is allowed.
bool ResumeInVain(BadRowSearch& search) {
  while (search.Next().has_value()) search.OnTaken();
  return search.Resume();
}

TEST(BadRowSearchTrialsTest, WhatIsFoundBeginsTheCountOfVainSearchesAnew) {
  BadRowSearch search(8, Mode::kProbe);
  for (int found = 0; found < 2; ++found) {
    for (int vain = 1; vain < BadRowSearch::kFruitlessMax; ++vain) {
      ASSERT_TRUE(ResumeInVain(search));
    }
    search.OnRefused(MakeRowRefused("bad", 0));
    ASSERT_TRUE(ResumeInVain(search)) << "one was found";
  }
  for (int vain = 1; vain < BadRowSearch::kFruitlessMax; ++vain) {
    ASSERT_TRUE(ResumeInVain(search));
  }
  EXPECT_FALSE(ResumeInVain(search));
}

TEST(BadRowSearchTrialsTest, ARowThatIsBadBesideOthersIsToldWithThatRefusal) {
  BadRowSearch search(2, Mode::kProbe);
  while (search.Next().has_value()) search.OnTaken();
  ASSERT_TRUE(search.Resume());
  search.OnRefused(MakeRowRefused("one key"));
  while (search.Next().has_value()) search.OnTaken();
  const std::vector<BadRowSearch::Found> found = search.TakeFound();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].row, 1u);
  EXPECT_EQ(found[0].error.message(), "one key");
}

// It may have stood in the midst of what was taken before.
TEST(BadRowSearchTrialsTest, ARowNamedInTheMidstOfASearchBeginsItAnew) {
  BadRowSearch search(4, Mode::kProbe);
  ASSERT_TRUE(ResumeInVain(search));
  search.OnRefused(MakeRowRefused("bad"));
  EXPECT_EQ(search.Next(), (RowRange{0, 2}));
  search.OnTaken();
  EXPECT_EQ(search.Next(), (RowRange{0, 3}));
  search.OnRefused(MakeRowRefused("bad", 0));
  EXPECT_TRUE(search.IsBad(0));
  EXPECT_EQ(search.Next(), (RowRange{0, 4})) << "all that is left";
  search.OnRefused(MakeRowRefused("bad"));
  EXPECT_EQ(search.Next(), (RowRange{0, 2})) << "row 1 alone";
  search.OnRefused(MakeRowRefused("bad"));
  EXPECT_TRUE(search.IsBad(1));
  EXPECT_EQ(search.Next(), (RowRange{0, 4}));
}

TEST(BadRowSearchTrialsTest, TheLastRowMayBeNamedBesideNoOther) {
  BadRowSearch search(1, Mode::kProbe);
  ASSERT_TRUE(ResumeInVain(search));
  search.OnRefused(MakeRowRefused("bad", 0));
  EXPECT_TRUE(search.IsBad(0));
  EXPECT_EQ(search.Next(), std::nullopt);
}

TEST(BadRowSearchDeathTest, ResumeIsForProbesThatAreOver) {
  BadRowSearch unfinished(2, Mode::kProbe);
  EXPECT_DEATH((void)unfinished.Resume(), "");
  BadRowSearch stored(2, Mode::kStore);
  stored.OnTaken();
  EXPECT_DEATH((void)stored.Resume(), "");
}

TEST(BadRowSearchTrialsTest, OneBadRowOfAThousandTakesAFewTrials) {
  std::string rows(1'000, 'x');
  BadRowSearch search(rows.size(), Mode::kProbe);
  const size_t bad = 617;
  while (const std::optional<RowRange> next = search.Next()) {
    if (next->begin <= bad && bad < next->end) {
      search.OnRefused(MakeRowRefused("bad"));
    } else {
      search.OnTaken();
    }
  }
  EXPECT_TRUE(search.IsBad(bad));
  EXPECT_EQ(search.bad_count(), 1u);
  EXPECT_LE(search.trials(), 21u);
}

TEST(BadRowSearchTrialsTest, TwoOfAThousandThatExcludeEachOtherTakeAFewTrials) {
  const size_t rows = 1'000;
  const size_t first = 11;
  const size_t second = 940;
  BadRowSearch search(rows, Mode::kProbe);
  // Each alone is taken; the whole batch, which is tried first, is not.
  const auto search_on = [&] {
    while (const std::optional<RowRange> next = search.Next()) {
      const bool has_both = next->begin <= first && second < next->end &&
                            !search.IsBad(first) && !search.IsBad(second);
      if (has_both) {
        search.OnRefused(MakeRowRefused("bad"));
      } else {
        search.OnTaken();
      }
    }
  };
  search_on();
  const uint64_t alone = search.trials();
  EXPECT_EQ(alone, 3u) << "the whole, and its halves";
  ASSERT_TRUE(search.Resume());
  search_on();
  EXPECT_FALSE(search.IsBad(first));
  EXPECT_TRUE(search.IsBad(second));
  EXPECT_LE(search.trials() - alone, 12u);
}

TEST(BadRowSearchTrialsTest, EachAnswerCountsAsATrial) {
  const SearchRun run("abCa", /*names_rows=*/false);
  EXPECT_EQ(run.search().trials(), run.trials().size());
  EXPECT_EQ(run.Rest(), "ab");
}

TEST(BadRowSearchTrialsTest, ATargetThatNamesRowsTakesThreeTrialsForEach) {
  const SearchRun run("abcdEfghijKlmnop", true);
  EXPECT_THAT(run.bad(), ElementsAre(4, 10));
  EXPECT_LE(run.search().trials(), 6u);
}

TEST(BadRowSearchTrialsTest, BeginsWithTheWholeBatchWhichMayBeTakenByNow) {
  BadRowSearch search(5, Mode::kProbe);
  EXPECT_EQ(search.Next(), (RowRange{0, 5}));
  search.OnTaken();
  EXPECT_EQ(search.Next(), std::nullopt);
  EXPECT_EQ(search.bad_count(), 0u);
}

TEST(BadRowSearchTrialsTest, ATrialWithoutAnAnswerIsMadeAgain) {
  BadRowSearch search(5, Mode::kProbe);
  search.OnRefused(MakeRowRefused("bad"));
  const std::optional<RowRange> next = search.Next();
  EXPECT_EQ(search.Next(), next);
  EXPECT_EQ(search.trials(), 1u);
}

TEST(BadRowSearchTrialsTest, ASingleRowIsNotConvictedWithoutATrialOfItsOwn) {
  const SearchRun run("abcdefa", false);
  for (const size_t bad : run.bad()) {
    EXPECT_EQ(bad, 6u);
  }
  for (const Trial& trial : run.trials()) {
    EXPECT_FALSE(trial.rows.empty());
  }
}

TEST(BadRowSearchTrialsTest, ARowNamedBeyondTheTrialIsIgnored) {
  BadRowSearch search(4, Mode::kProbe);
  search.OnRefused(MakeRowRefused("bad", 4));
  EXPECT_EQ(search.bad_count(), 0u);
  EXPECT_EQ(search.Next(), (RowRange{0, 2}));
}

TEST(BadRowSearchTrialsTest, ABatchRefusedForNoRowIsGivenUp) {
  BadRowSearch search(3, Mode::kProbe);
  int rounds = 0;
  do {
    ++rounds;
    while (search.Next().has_value()) search.OnTaken();
  } while (search.Resume());
  EXPECT_EQ(rounds, BadRowSearch::kFruitlessMax);
  EXPECT_EQ(search.bad_count(), 0u);
}

TEST(BadRowSearchTrialsTest, NothingIsResumedWhenNoRowIsLeft) {
  BadRowSearch search(1, Mode::kProbe);
  search.OnRefused(MakeRowRefused("bad"));
  EXPECT_EQ(search.Next(), std::nullopt);
  EXPECT_FALSE(search.Resume());
}

TEST(BadRowSearchTrialsTest, TellsEachRowOnceWithItsError) {
  SearchRun run("aBcD", false);
  std::map<size_t, std::string> found;
  for (const BadRowSearch::Found& one : run.search().TakeFound()) {
    found[one.row] = std::string(one.error.message());
  }
  EXPECT_THAT(found, ElementsAre(std::pair(1, "bad"), std::pair(3, "bad")));
  EXPECT_THAT(run.search().TakeFound(), IsEmpty());
}

TEST(BadRowSearchTrialsTest, InStoreModeEveryRowIsStoredOnceOrBad) {
  const std::string rows = "abCdAefgbh";
  BadRowSearch search(rows.size(), Mode::kStore);
  std::string stored;
  while (const std::optional<RowRange> next = search.Next()) {
    const std::string tried = rows.substr(next->begin, next->end - next->begin);
    if (Refuses(stored + tried).has_value()) {
      search.OnRefused(MakeRowRefused("bad"));
    } else {
      stored += tried;
      search.OnTaken();
    }
  }
  EXPECT_EQ(stored, "abdefgh");
  EXPECT_EQ(stored.size() + search.bad_count(), rows.size());
}

// Against the rule itself: rows that are bad alone go; of the others each that
// excludes an earlier one goes.
TEST(BadRowSearchPropertyTest, FindsExactlyTheBadRowsWithinTheBound) {
  Random random = TestRandom();
  const int runs = PropertyRuns(500);
  for (int i = 0; i < runs; ++i) {
    std::string rows;
    const size_t size = 1 + random.Uniform(100);
    const double bad = random.Double() * random.Double();
    const size_t keys = 1 + random.Uniform(26);
    const bool unique_keys = random.Bernoulli(0.5);
    for (size_t row = 0; row < size; ++row) {
      // Below the letters: as many different good rows as there are.
      char letter = unique_keys ? static_cast<char>(-1 - static_cast<int>(row))
                                : static_cast<char>('a' + random.Uniform(keys));
      if (random.Bernoulli(bad)) letter = 'X';
      rows.push_back(letter);
    }
    SCOPED_TRACE(rows);
    std::string expected;
    size_t together = 0;
    for (const char row : rows) {
      if (row == 'X') continue;
      if (expected.find(row) == std::string::npos) {
        expected.push_back(row);
      } else {
        ++together;
      }
    }
    const bool names_rows = random.Bernoulli(0.3);
    const SearchRun run(rows, names_rows);
    ASSERT_EQ(run.Rest(), expected);
    ASSERT_LE(run.search().trials(),
              BadRowSearch::TrialsMax(rows.size(), run.search().bad_count(),
                                      together));
  }
}

}  // namespace
}  // namespace penstock::core
