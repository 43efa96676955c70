#include "core/sources/file/flushed_places.h"

#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

FilePosition At(uint32_t id, uint64_t end) {
  return {.id = id,
          .path = std::string(1, static_cast<char>('a' + id)),
          .end = end};
}

// "id:start-end" of each file.
std::vector<std::string> RangesOf(const std::vector<FilePosition>& files) {
  std::vector<std::string> ranges;
  for (const FilePosition& file : files) {
    ranges.push_back(std::to_string(file.id) + ":" +
                     std::to_string(file.start) + "-" +
                     std::to_string(file.end));
  }
  return ranges;
}
std::vector<std::string> RangesIn(const FlushedPlaces& places) {
  return RangesOf(SourcePosition::Parse(places.ToJson())->files);
}

TEST(FlushedPlacesTest, AStepHoldsTheRangeOfEachFile) {
  FlushedPlaces places({}, {});
  EXPECT_THAT(RangesOf(places.Flush({{At(1, 10)}, {At(0, 5)}, {At(1, 30)}}, 2)),
              ElementsAre("0:0-5", "1:0-30"));
  EXPECT_THAT(RangesIn(places), ElementsAre("0:0-5", "1:0-30"));
}

TEST(FlushedPlacesTest, TheNextStepBeginsThereAndHoldsTheOthersToo) {
  FlushedPlaces places({}, {});
  places.Flush({{At(0, 5)}, {At(1, 10)}}, 2);
  EXPECT_THAT(RangesOf(places.Flush({{At(1, 12)}}, 2)), ElementsAre("1:10-12"));
  EXPECT_THAT(RangesIn(places), ElementsAre("0:5-5", "1:10-12"));
  EXPECT_THAT(places.Flush({}, 2), IsEmpty());
  EXPECT_THAT(RangesIn(places), ElementsAre("0:5-5", "1:12-12"));
}

TEST(FlushedPlacesTest, AForgottenFileIsLeftOut) {
  FlushedPlaces places({}, {});
  places.Flush({{At(0, 5)}, {At(1, 10)}}, 2);
  // Returned, or there might be no step to say that it is.
  EXPECT_THAT(
      RangesOf(places.Flush({{.file = At(0, 5), .is_forgotten = true}}, 2)),
      ElementsAre("0:5-5"));
  EXPECT_THAT(RangesIn(places), ElementsAre("1:10-10"));
  EXPECT_THAT(places.Flush({{.file = At(0, 5), .is_forgotten = true}}, 2),
              IsEmpty());
  EXPECT_EQ(SourcePosition::Parse(places.ToJson())->next_id, 2u);
}

// Its records are in the step's count and hash: a replay has to find the range.
TEST(FlushedPlacesTest, WhatAStepTookFromAFileThatItForgotIsKept) {
  FlushedPlaces places({}, {});
  places.Flush({{At(0, 5)}}, 1);
  const std::vector<FilePosition> moved =
      places.Flush({{At(0, 9)}, {.file = At(0, 9), .is_forgotten = true}}, 1);
  EXPECT_THAT(RangesOf(moved), ElementsAre("0:5-9"));
  EXPECT_THAT(RangesIn(places), ElementsAre("0:5-9"));
  places.Flush({}, 1);
  EXPECT_THAT(RangesIn(places), ElementsAre("0:9-9"));
  places.Flush({{At(1, 3)}}, 2);
  EXPECT_THAT(RangesIn(places), ElementsAre("1:0-3"));
}

TEST(FlushedPlacesTest, GoesOnBehindAStepThatWasReplayed) {
  FlushedPlaces places({}, {});
  places.Flush({{At(0, 5)}, {At(1, 10)}}, 2);
  FlushedPlaces again({}, {});
  again.Follow(*SourcePosition::Parse(places.ToJson()));
  EXPECT_EQ(again.ToJson(), places.ToJson());
  EXPECT_THAT(RangesOf(again.Flush({{At(1, 12)}}, 2)), ElementsAre("1:10-12"));
}

// Of so many files, from number 100 on, that no step has room for them.
SourcePosition LargePosition() {
  SourcePosition large{.next_id = 200};
  for (uint32_t id = 100; id < 200; ++id) {
    large.files.push_back({.id = id, .path = std::string(2000, 'p')});
  }
  return large;
}

TEST(FlushedPlacesTest, OfVeryManyFilesAStepHoldsThoseItReadFrom) {
  FlushedPlaces places(LargePosition(), {});
  places.Flush({{At(0, 5)}, {At(1, 10)}}, 200);
  EXPECT_TRUE(SourcePosition::Parse(places.ToJson())->is_change);
  EXPECT_THAT(RangesIn(places), ElementsAre("0:0-5", "1:0-10"));
  places.Flush({{At(1, 12)}}, 200);
  EXPECT_THAT(RangesIn(places), ElementsAre("1:10-12"));
  places.Flush({}, 200);
  EXPECT_THAT(RangesIn(places), IsEmpty());
}

TEST(FlushedPlacesTest, TheWholeIsGivenWhereItIsAskedFor) {
  FlushedPlaces places(LargePosition(), {});
  places.Flush({{At(1, 12)}}, 200);
  ASSERT_TRUE(places.ChangeOf(false).has_value());
  EXPECT_EQ(places.ChangeOf(false)->whole, std::nullopt);
  ASSERT_OK_AND_ASSIGN(const SourcePosition whole,
                       SourcePosition::Parse(*places.ChangeOf(true)->whole));
  EXPECT_FALSE(whole.is_change);
  EXPECT_EQ(whole.files.size(), 101u);
}

TEST(FlushedPlacesTest, WhatIsWholeIsNoChange) {
  FlushedPlaces places({}, {});
  places.Flush({{At(1, 12)}}, 2);
  EXPECT_EQ(places.ChangeOf(true), std::nullopt);
}

TEST(FlushedPlacesTest, ChangesInOrderGiveTheWholeAgain) {
  FlushedPlaces places(LargePosition(), {});
  FlushedPlaces again(LargePosition(), {});
  const std::vector<std::vector<Moved>> steps = {
      {{At(0, 5)}, {At(1, 10)}},
      {{.file = LargePosition().files[7], .is_forgotten = true}, {At(0, 6)}},
      {{At(1, 20)}, {.file = At(1, 20), .is_forgotten = true}},
      {{At(2, 4)}}};
  for (const std::vector<Moved>& step : steps) {
    // No step comes of this.
    places.Flush({}, 200);
    places.Flush(step, 200);
    ASSERT_OK_AND_ASSIGN(const SourcePosition change,
                         SourcePosition::Parse(places.ToJson()));
    EXPECT_EQ(again.digest(), change.before);
    again.Follow(change);
    EXPECT_EQ(again.ToJson(), places.ToJson());
    EXPECT_EQ(again.ChangeOf(true), places.ChangeOf(true));
    EXPECT_EQ(again.digest(), places.digest());
  }
  ASSERT_OK_AND_ASSIGN(const SourcePosition whole,
                       SourcePosition::Parse(*again.ChangeOf(true)->whole));
  EXPECT_EQ(whole.files.size(), 101u);
}

TEST(FlushedPlacesTest, TheDigestTellsThePlaceAndNotTheWayThere) {
  FlushedPlaces places({}, {});
  places.Flush({{At(0, 5)}, {At(1, 10)}}, 2);
  const uint64_t first = places.digest();
  places.Flush({{At(1, 12)}}, 2);
  EXPECT_NE(places.digest(), first);
  FlushedPlaces again({}, {});
  again.Flush({{At(0, 5)}, {At(2, 1)}, {At(1, 12)}}, 3);
  EXPECT_NE(again.digest(), places.digest());
  again.Flush({{.file = At(2, 1), .is_forgotten = true}}, 3);
  EXPECT_EQ(again.digest(), places.digest());
}

TEST(FlushedPlacesTest, WithFewFilesLeftItIsWholeAgain) {
  FlushedPlaces places(LargePosition(), {});
  std::vector<Moved> forgotten;
  for (const FilePosition& file : LargePosition().files) {
    forgotten.push_back({.file = file, .is_forgotten = true});
  }
  places.Flush(std::move(forgotten), 200);
  // What it held is not known before it.
  EXPECT_TRUE(SourcePosition::Parse(places.ToJson())->is_change);
  places.Flush({{At(1, 20)}}, 200);
  EXPECT_FALSE(SourcePosition::Parse(places.ToJson())->is_change);
  EXPECT_THAT(RangesIn(places), ElementsAre("1:0-20"));
}

TEST(FlushedPlacesTest, OfOneFileItIsVersion1) {
  FlushedPlaces places({.files = {At(0, 3)}, .next_id = 1},
                       {.is_single = true});
  places.Flush({{At(0, 5)}}, 1);
  ASSERT_OK_AND_ASSIGN(const FilePosition file,
                       FilePosition::Parse(places.ToJson()));
  EXPECT_EQ(file.start, 3u);
  EXPECT_EQ(file.end, 5u);
}

}  // namespace
}  // namespace penstock::core
