#include "core/sinks/file/manifest.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Outcome = Manifest::Outcome;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
constexpr Writer kWriter = {.epoch = 3, .open_number = 2};
constexpr Writer kOlder = {.epoch = 2, .open_number = 9};

ManifestHeader Header() {
  return {.identity = {.incarnation = "1234abcd",
                       .pipeline = "p",
                       .connector = "c"},
          .writer = kWriter,
          .shards = 3,
          .level = FtModel::kExactlyOnce};
}

CommittedState State() {
  return {.progress = {5, 6, 7},
          .sealed = SegmentId{.writer = kOlder, .number = 4},
          .data = {{.shard = 0,
                    .writer = kOlder,
                    .bytes = 100,
                    .stage = DataStage::kPlaced},
                   {.shard = 2,
                    .writer = kOlder,
                    .number = 7,
                    .bytes = kMax,
                    .stage = DataStage::kFinished,
                    .compression = Compression::kZstd,
                    .is_copy = true,
                    .final_name = "orders"}}};
}

CommittedData Data(ShardIndex shard, uint64_t bytes) {
  return {.shard = shard, .writer = kWriter, .bytes = bytes};
}

// A manifest of three commits, and where its records end.
class ManifestTest : public testing::Test {
 protected:
  ManifestTest() {
    Add(EncodeHeader(Header()));
    Add(EncodeState(State()));
    Add(EncodeCommit(2, {{.shard = 1, .bytes = 10, .progress = 8}}));
    Add(EncodeCommit(3, {{.shard = 0, .bytes = 20, .progress = 9},
                         {.shard = 1, .bytes = 10, .progress = 9}}));
    Add(EncodeCommit(4, {{.shard = 0, .bytes = 70, .progress = 12},
                         {.shard = 1, .bytes = 11, .progress = 12},
                         {.shard = 2, .bytes = 12, .progress = 12}}));
  }

  void Add(const std::string& record) {
    bytes_ += record;
    ends_.push_back(bytes_.size());
  }
  size_t end_of_state() const { return ends_[1]; }
  size_t begin_of_last() const { return ends_[ends_.size() - 2]; }

  // How many commits are whole in the first `size` bytes.
  size_t CommitsIn(size_t size) const {
    size_t commits = 0;
    for (size_t i = 2; i < ends_.size(); ++i) commits += ends_[i] <= size;
    return commits;
  }

  static CommittedState StateAfter(size_t commits) {
    CommittedState state = State();
    if (commits >= 1) {
      state.progress = {5, 8, 7};
      state.data.push_back(Data(1, 10));
    }
    if (commits >= 2) {
      state.progress = {9, 9, 7};
      state.data.push_back(Data(0, 20));
    }
    if (commits >= 3) {
      state.progress = {12, 12, 12};
      state.data[2].bytes = 11;
      state.data[3].bytes = 70;
      state.data.push_back(Data(2, 12));
    }
    return state;
  }

  std::string bytes_;
  std::vector<size_t> ends_;
};

TEST_F(ManifestTest, ComesBackWhole) {
  const Manifest manifest = ParseManifest(bytes_, kWriter);
  ASSERT_EQ(manifest.outcome, Outcome::kComplete) << manifest.problem;
  EXPECT_EQ(manifest.header, Header());
  EXPECT_EQ(manifest.state, StateAfter(3));
  EXPECT_EQ(manifest.good_bytes, bytes_.size());
  EXPECT_EQ(manifest.continued_in, std::nullopt);
}

TEST_F(ManifestTest, LevelsComeBack) {
  for (const auto level :
       {std::optional<FtModel>(), std::optional(FtModel::kAtLeastOnce)}) {
    ManifestHeader header = Header();
    header.level = level;
    const std::string bytes = EncodeHeader(header) + EncodeState({}) +
                              EncodeCommit(2, {{.shard = 1, .bytes = 4}});
    const Manifest manifest = ParseManifest(bytes, kWriter);
    ASSERT_EQ(manifest.outcome, Outcome::kComplete) << manifest.problem;
    EXPECT_EQ(manifest.header.level, level);
    EXPECT_THAT(manifest.state.progress, IsEmpty());
    EXPECT_THAT(manifest.state.data, ElementsAre(Data(1, 4)));
  }
}

// A crash may leave any prefix of what was not synced.
TEST_F(ManifestTest, EveryPrefixIsWhatWasWholeInIt) {
  for (size_t size = 0; size < bytes_.size(); ++size) {
    const Manifest manifest = ParseManifest(bytes_.substr(0, size), kWriter);
    if (size < end_of_state()) {
      EXPECT_EQ(manifest.outcome, Outcome::kIncomplete) << size;
    } else {
      ASSERT_EQ(manifest.outcome, Outcome::kComplete)
          << size << manifest.problem;
      EXPECT_EQ(manifest.state, StateAfter(CommitsIn(size))) << size;
    }
  }
}

// A crash may leave the length without the bytes.
TEST_F(ManifestTest, LastRecordWithNulEndIsCutOff) {
  for (size_t size = begin_of_last(); size < bytes_.size(); ++size) {
    const std::string torn =
        bytes_.substr(0, size) + std::string(bytes_.size() - size, '\0');
    const Manifest manifest = ParseManifest(torn, kWriter);
    ASSERT_EQ(manifest.outcome, Outcome::kComplete) << size << manifest.problem;
    EXPECT_EQ(manifest.state, StateAfter(2)) << size;
    EXPECT_EQ(manifest.good_bytes, begin_of_last());
  }
}

// A crash may leave one sector without its neighbour.
TEST(ManifestSectorTest, LastRecordWithALostSectorIsCutOff) {
  ManifestHeader header = Header();
  header.shards = 200;
  CommittedState state;
  state.progress.assign(200, 1);
  const std::string open = EncodeHeader(header) + EncodeState(state);
  std::vector<ShardCommit> commits;
  for (ShardIndex shard = 0; shard < 200; ++shard) {
    commits.push_back({.shard = shard, .bytes = kMax, .progress = kMax});
  }
  const std::string whole = open + EncodeCommit(2, commits);
  const size_t first = (open.size() / 512 + 1) * 512;
  for (size_t lost = first; lost + 512 < whole.size(); lost += 512) {
    std::string torn = whole;
    torn.replace(lost, 512, std::string(512, '\0'));
    const Manifest manifest = ParseManifest(torn, kWriter);
    ASSERT_EQ(manifest.outcome, Outcome::kComplete) << lost << manifest.problem;
    EXPECT_EQ(manifest.state, state);
  }
  std::string torn = whole;
  torn.replace(open.size(), first - open.size(),
               std::string(first - open.size(), '\0'));
  EXPECT_EQ(ParseManifest(torn, kWriter).outcome, Outcome::kComplete);
}

TEST_F(ManifestTest, NulFilledOpenIsIncomplete) {
  const std::string nul(end_of_state(), '\0');
  EXPECT_EQ(ParseManifest(nul, kWriter).outcome, Outcome::kIncomplete);
}

TEST_F(ManifestTest, EveryFlippedByteBeforeTheLastRecordIsDamage) {
  for (size_t at = 0; at < begin_of_last(); ++at) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string flipped = bytes_;
      flipped[at] = static_cast<char>(flipped[at] ^ mask);
      EXPECT_EQ(ParseManifest(flipped, kWriter).outcome, Outcome::kDamaged)
          << at;
    }
  }
}

// The last record may have been torn: then its flipped byte may go unseen, but
// never its old content be taken for another.
TEST_F(ManifestTest, FlippedByteInTheLastRecordNeverChangesTheState) {
  size_t noticed = 0;
  for (size_t at = begin_of_last(); at < bytes_.size(); ++at) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string flipped = bytes_;
      flipped[at] = static_cast<char>(flipped[at] ^ mask);
      const Manifest manifest = ParseManifest(flipped, kWriter);
      if (manifest.outcome == Outcome::kDamaged) {
        ++noticed;
      } else {
        ASSERT_EQ(manifest.outcome, Outcome::kComplete) << at;
        EXPECT_EQ(manifest.state, StateAfter(2)) << at;
      }
    }
  }
  // All but those that make the announced length greater.
  EXPECT_GE(noticed, 3 * (bytes_.size() - begin_of_last() - 4));
}

TEST_F(ManifestTest, RecordsMissingFromTheMiddleAreDamage) {
  for (size_t i = 0; i + 2 < ends_.size(); ++i) {
    std::string cut = bytes_;
    cut.erase(ends_[i], ends_[i + 1] - ends_[i]);
    EXPECT_EQ(ParseManifest(cut, kWriter).outcome, Outcome::kDamaged) << i;
  }
}

TEST_F(ManifestTest, ByteMissingFromTheMiddleIsDamage) {
  for (size_t at = 0; at < begin_of_last(); ++at) {
    std::string cut = bytes_;
    cut.erase(at, 1);
    EXPECT_EQ(ParseManifest(cut, kWriter).outcome, Outcome::kDamaged) << at;
  }
}

TEST_F(ManifestTest, RecordTwiceIsDamage) {
  const std::string last = bytes_.substr(begin_of_last());
  EXPECT_EQ(ParseManifest(bytes_ + last, kWriter).outcome, Outcome::kDamaged);
}

// Two small records fit where one large one might have been torn.
TEST(ManifestTailTest, BadRecordBeforeAGoodOneIsDamageHoweverItLooks) {
  ManifestHeader header = Header();
  header.shards = 10;
  header.level = std::nullopt;
  const std::string open = EncodeHeader(header) + EncodeState({});
  const std::string last = EncodeCommit(3, {{.shard = 2, .bytes = 5}});
  std::string longer = EncodeCommit(2, {{.shard = 1, .bytes = 4}});
  longer[13] = 1;
  EXPECT_EQ(ParseManifest(open + longer + last, kWriter).outcome,
            Outcome::kDamaged);
  EXPECT_EQ(ParseManifest(open + longer, kWriter).outcome, Outcome::kComplete);
}

TEST_F(ManifestTest, MoreThanOneRecordsWorthOfNulIsDamage) {
  const Manifest manifest =
      ParseManifest(bytes_ + std::string(200, '\0'), kWriter);
  EXPECT_EQ(manifest.outcome, Outcome::kDamaged);
  EXPECT_THAT(manifest.problem,
              HasSubstr(absl::StrCat("at byte ", bytes_.size())));
}

TEST_F(ManifestTest, ManifestOfAnotherWriterIsDamage) {
  const Manifest manifest = ParseManifest(bytes_, kOlder);
  EXPECT_EQ(manifest.outcome, Outcome::kDamaged);
  EXPECT_THAT(manifest.problem, HasSubstr("00000003-"));
}

TEST_F(ManifestTest, ProgressThatGoesBackIsDamage) {
  Add(EncodeCommit(5, {{.shard = 0, .bytes = 70, .progress = 11}}));
  EXPECT_EQ(ParseManifest(bytes_, kWriter).outcome, Outcome::kDamaged);
}

TEST_F(ManifestTest, LengthThatGoesBackIsDamage) {
  Add(EncodeCommit(5, {{.shard = 0, .bytes = 69, .progress = 13}}));
  EXPECT_EQ(ParseManifest(bytes_, kWriter).outcome, Outcome::kDamaged);
}

TEST_F(ManifestTest, ShardThatIsNotThereIsDamage) {
  Add(EncodeCommit(5, {{.shard = 3, .bytes = 1, .progress = 13}}));
  EXPECT_EQ(ParseManifest(bytes_, kWriter).outcome, Outcome::kDamaged);
}

TEST_F(ManifestTest, ContinuationNamesTheNextPart) {
  Add(EncodeContinued(5, 7));
  const Manifest manifest = ParseManifest(bytes_, kWriter);
  ASSERT_EQ(manifest.outcome, Outcome::kComplete) << manifest.problem;
  EXPECT_EQ(manifest.continued_in, 7);
  EXPECT_EQ(manifest.state, StateAfter(3));
}

TEST_F(ManifestTest, RecordBehindTheContinuationIsDamage) {
  Add(EncodeContinued(5, 7));
  Add(EncodeCommit(6, {{.shard = 0, .bytes = 90, .progress = 13}}));
  EXPECT_EQ(ParseManifest(bytes_, kWriter).outcome, Outcome::kDamaged);
}

TEST_F(ManifestTest, HeaderIsReadFromTheStartOfAFile) {
  EXPECT_EQ(ParseHeader(bytes_), Header());
  EXPECT_EQ(ParseHeader(EncodeHeader(Header())), Header());
  EXPECT_EQ(ParseHeader(bytes_.substr(0, ends_[0] - 1)), std::nullopt);
  EXPECT_EQ(ParseHeader(""), std::nullopt);
  EXPECT_EQ(ParseHeader(EncodeState(State())), std::nullopt);
}

// Pins the format: a manifest written today is read by every later version.
TEST(ManifestGoldenTest, BytesOfACommitAreThoseOfTheReadme) {
  const std::string record = EncodeCommit(2, {{.shard = 1,
                                               .number = 5,
                                               .bytes = 0x0102,
                                               .progress = 3,
                                               .finishes = true}});
  ASSERT_EQ(record.size(), 16 + 9 + 4 + 25 + 4);
  EXPECT_EQ(record.substr(0, 4), "PnsR");
  EXPECT_EQ(record.substr(12),
            std::string("\x26\0\0\0"            // length of the payload
                        "\x03"                  // type
                        "\x02\0\0\0\0\0\0\0"    // sequence
                        "\x01\0\0\0"            // count
                        "\x01\0\0\0"            // shard
                        "\x02\x01\0\0\0\0\0\0"  // committed length
                        "\x03\0\0\0\0\0\0\0"    // progress
                        "\x05\0\0\0"            // number
                        "\x01"                  // finishes
                        "end\n",
                        46));
}

// As a program of format version 1 wrote it.
TEST(ManifestGoldenTest, VersionOneIsStillRead) {
  const std::string bytes = absl::HexStringToBytes(
      "506e73526ce9808cadd098603800000001000000000000000001000000030000"
      "0000000000020000000000000003000000020800000031323334616263640100"
      "0000700100000063656e640a506e7352d1748110db69c7176100000002010000"
      "0000000000030000000500000000000000060000000000000007000000000000"
      "0002000000000000000200000000000000090000000000000064000000000000"
      "0002000000020000000000000009000000000000000700000000000000656e64"
      "0a506e735203f1c3e4592f124821000000030200000000000000010000000100"
      "00000a000000000000000800000000000000656e640a506e7352a60d9f4a5fce"
      "ff43350000000303000000000000000200000000000000140000000000000009"
      "00000000000000010000000a000000000000000900000000000000656e640a50"
      "6e7352e46ed1edd819e12f0d00000004040000000000000007000000656e640a");
  const Manifest manifest = ParseManifest(bytes, kWriter);
  ASSERT_EQ(manifest.outcome, Outcome::kComplete) << manifest.problem;
  EXPECT_EQ(manifest.header, Header());
  EXPECT_EQ(manifest.good_bytes, bytes.size());
  EXPECT_EQ(manifest.continued_in, 7);
  EXPECT_EQ(manifest.state,
            (CommittedState{.progress = {9, 9, 7},
                            .data = {{.shard = 0,
                                      .writer = kOlder,
                                      .bytes = 100,
                                      .stage = DataStage::kPlaced},
                                     {.shard = 2,
                                      .writer = kOlder,
                                      .bytes = 7,
                                      .stage = DataStage::kPlaced},
                                     Data(1, 10),
                                     Data(0, 20)}}));
  // A crash may have cut it, too.
  EXPECT_EQ(ParseManifest(bytes.substr(0, bytes.size() - 3), kWriter).outcome,
            Outcome::kComplete);
}

// --- Several files a shard.

TEST_F(ManifestTest, FileThatWasFinishedIsFollowedByAnother) {
  Add(EncodeCommit(
      5, {{.shard = 0, .bytes = 80, .progress = 13, .finishes = true}}));
  Add(EncodeCommit(6, {{.shard = 0, .number = 1, .bytes = 9, .progress = 14}}));
  const Manifest manifest = ParseManifest(bytes_, kWriter);
  ASSERT_EQ(manifest.outcome, Outcome::kComplete) << manifest.problem;
  CommittedState state = StateAfter(3);
  state.progress[0] = 14;
  state.data[3].bytes = 80;
  state.data[3].stage = DataStage::kPlaced;
  state.data.push_back(Data(0, 9));
  state.data.back().number = 1;
  EXPECT_EQ(manifest.state, state);
}

TEST_F(ManifestTest, FileThatIsToBeRenamedIsOnlyFinished) {
  const DataFormat format = {.compression = Compression::kGzip,
                             .name = std::string(kDefaultNamePattern)};
  CommittedState state;
  ASSERT_TRUE(ApplyCommit(kWriter, format, 3,
                          {{.shard = 2, .bytes = 7, .finishes = true}}, state));
  ASSERT_EQ(state.data.size(), 1u);
  EXPECT_EQ(state.data[0].stage, DataStage::kFinished);
  EXPECT_EQ(state.data[0].final_name,
            "data-0002.00000000000000000003-00000000000000000002.000000.gz");
}

struct BadCommit {
  const char* name;
  ShardCommit commit;
};
class ManifestBadCommitTest : public ManifestTest,
                              public testing::WithParamInterface<BadCommit> {};

TEST_P(ManifestBadCommitTest, IsDamage) {
  Add(EncodeCommit(
      5, {{.shard = 1, .bytes = 11, .progress = 13, .finishes = true}}));
  Add(EncodeCommit(6, {GetParam().commit}));
  EXPECT_EQ(ParseManifest(bytes_, kWriter).outcome, Outcome::kDamaged);
}

INSTANTIATE_TEST_SUITE_P(
    All, ManifestBadCommitTest,
    testing::Values(
        BadCommit{"GrowsAFinishedFile",
                  {.shard = 1, .bytes = 12, .progress = 14}},
        BadCommit{"BeginsASecondOpenFile",
                  {.shard = 0, .number = 1, .bytes = 5, .progress = 14}},
        BadCommit{"FinishesNothing",
                  {.shard = 1, .number = 1, .progress = 14, .finishes = true}}),
    [](const auto& test) { return test.param.name; });

TEST(SegmentTest, ComesBackWhole) {
  const Segment segment = {.header = Header(),
                           .previous = SegmentId{kOlder, 9},
                           .data = State().data};
  const std::string bytes = EncodeSegment(segment);
  const std::optional<Segment> read = ParseSegment(bytes, kWriter);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->previous, segment.previous);
  EXPECT_EQ(read->data, segment.data);
  EXPECT_EQ(ParseSegment(bytes, kOlder), std::nullopt);
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(ParseSegment(bytes.substr(0, size), kWriter), std::nullopt);
  }
  EXPECT_EQ(ParseSegment(bytes + "x", kWriter), std::nullopt);
}

}  // namespace
}  // namespace penstock::core
