#include "core/record/step_hash.h"

#include "core/base/random.h"
#include "core/record/record_batch.h"
#include "tests/support/make_batch.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

Record MakeRecord(uint32_t partition, Op op,
                  std::optional<absl::string_view> key,
                  std::optional<absl::string_view> value) {
  Record record;
  record.key = key;
  record.value = value;
  record.meta.partition = partition;
  record.meta.op = op;
  return record;
}

StepHash HashOf(const std::vector<Record>& records) {
  StepHasher hasher;
  for (const Record& record : records) hasher.Add(record);
  return hasher.Finish();
}

uint64_t HashOfOne(Op op, std::optional<absl::string_view> key,
                   std::optional<absl::string_view> value) {
  return HashOf({MakeRecord(0, op, key, value)}).value;
}

// Bytes that repeat with period 251.
std::string Pattern(size_t size, size_t shift = 0) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text.push_back(static_cast<char>((i * 7 + shift) % 251));
  }
  return text;
}

// --- Golden values -----------------------------------------------------------
// Computed with the xxhash module of Python over frames made by struct.pack,
// independently of this code. They stand in journals: they never change.

TEST(StepHashGoldenTest, OfNothing) {
  EXPECT_EQ(HashOf({}), (StepHash{.value = 0x2d06800538d394c2, .count = 0}));
}

TEST(StepHashGoldenTest, OfOneValue) {
  EXPECT_EQ(HashOf({MakeRecord(0, Op::kInsert, std::nullopt, "hello")}),
            (StepHash{.value = 0x4b9309926d2d42fa, .count = 1}));
}

TEST(StepHashGoldenTest, OfAnEmptyValue) {
  EXPECT_EQ(HashOfOne(Op::kInsert, std::nullopt, ""), 0x08f5c087c337e016);
}

TEST(StepHashGoldenTest, OfANullValue) {
  EXPECT_EQ(HashOfOne(Op::kInsert, std::nullopt, std::nullopt),
            0x9633c2247a118322);
}

TEST(StepHashGoldenTest, OfAnEmptyKey) {
  EXPECT_EQ(HashOfOne(Op::kInsert, "", "v"), 0x1d6e0184a96d6213);
}

TEST(StepHashGoldenTest, OfNoKey) {
  EXPECT_EQ(HashOfOne(Op::kInsert, std::nullopt, "v"), 0x5691b9b628cd9b8e);
}

TEST(StepHashGoldenTest, OfATombstone) {
  EXPECT_EQ(HashOf({MakeRecord(3, Op::kDelete, "k", std::nullopt)}).value,
            0x5b854149aced866c);
}

TEST(StepHashGoldenTest, OfAnInsert) {
  EXPECT_EQ(HashOfOne(Op::kInsert, "k", "v"), 0x8b08a0d8f0aa9d6a);
}

TEST(StepHashGoldenTest, OfADelete) {
  EXPECT_EQ(HashOfOne(Op::kDelete, "k", "v"), 0x0feb5ecd6321a85f);
}

TEST(StepHashGoldenTest, OfAnUpdate) {
  EXPECT_EQ(HashOfOne(Op::kUpdate, "k", "v"), 0x245c9f986df7ca40);
}

TEST(StepHashGoldenTest, OfAnUpsert) {
  EXPECT_EQ(HashOfOne(Op::kUpsert, "k", "v"), 0x2adac5a0c1e2159f);
}

// A short key is hashed together with what frames it, a long one is not.
TEST(StepHashGoldenTest, OfTheLongestShortKey) {
  EXPECT_EQ(HashOfOne(Op::kInsert, Pattern(64), Pattern(200, 3)),
            0x16c0206122d66a32);
}

TEST(StepHashGoldenTest, OfTheShortestLongKey) {
  EXPECT_EQ(HashOfOne(Op::kInsert, Pattern(65), Pattern(200, 3)),
            0xd84c4dbf87013249);
}

TEST(StepHashGoldenTest, OfALongKey) {
  EXPECT_EQ(HashOfOne(Op::kInsert, Pattern(300), Pattern(200, 3)),
            0x44bf496109ef009f);
}

TEST(StepHashGoldenTest, OfTwoPartitions) {
  EXPECT_EQ(HashOf({MakeRecord(7, Op::kInsert, "a", "1"),
                    MakeRecord(0, Op::kUpdate, std::nullopt, "x"),
                    MakeRecord(7, Op::kUpsert, "b", "2"),
                    MakeRecord(0, Op::kInsert, "", "")}),
            (StepHash{.value = 0x83d1b9088ff4ea72, .count = 4}));
}

TEST(StepHashGoldenTest, OfALargeValue) {
  const std::string value = Pattern(100'000);
  EXPECT_EQ(HashOf({MakeRecord(1, Op::kInsert, std::nullopt, value)}).value,
            0xba350d2bbc2a6752);
}

TEST(StepHashGoldenTest, OfAThousandValuesInThreePartitions) {
  StepHasher hasher;
  for (uint32_t i = 0; i < 1000; ++i) {
    const std::string value = Pattern(272, i);
    hasher.Add(MakeRecord(i % 3, Op::kInsert, std::nullopt, value));
  }
  EXPECT_EQ(hasher.Finish(),
            (StepHash{.value = 0x15ccf563e9eec63f, .count = 1000}));
}

TEST(StepHashGoldenTest, OfTheHighestPartitionAndBytesThatAreNoText) {
  const absl::string_view key("\0\xff", 2);
  const absl::string_view value("\0", 1);
  EXPECT_EQ(HashOf({MakeRecord(0xffffffff, Op::kInsert, key, value)}).value,
            0x80b19de65dd3b54c);
}

// --- What it depends on ------------------------------------------------------

TEST(StepHasherTest, FinishMayBeAskedAndAddingGoesOn) {
  StepHasher hasher;
  hasher.Add(MakeRecord(0, Op::kInsert, std::nullopt, "a"));
  const StepHash first = hasher.Finish();
  EXPECT_EQ(hasher.Finish(), first);
  hasher.Add(MakeRecord(0, Op::kInsert, std::nullopt, "b"));

  EXPECT_EQ(hasher.Finish(),
            HashOf({MakeRecord(0, Op::kInsert, std::nullopt, "a"),
                    MakeRecord(0, Op::kInsert, std::nullopt, "b")}));
}

TEST(StepHasherTest, AMovedHasherGoesOnAndTheOtherStartsOver) {
  StepHasher hasher;
  hasher.Add(MakeRecord(0, Op::kInsert, std::nullopt, "a"));
  StepHasher moved = std::move(hasher);
  moved.Add(MakeRecord(0, Op::kInsert, std::nullopt, "b"));
  hasher = StepHasher();
  hasher.Add(MakeRecord(0, Op::kInsert, std::nullopt, "c"));

  EXPECT_EQ(moved.Finish(),
            HashOf({MakeRecord(0, Op::kInsert, std::nullopt, "a"),
                    MakeRecord(0, Op::kInsert, std::nullopt, "b")}));
  EXPECT_EQ(hasher.Finish(),
            HashOf({MakeRecord(0, Op::kInsert, std::nullopt, "c")}));
}

TEST(StepHasherTest, EqualNeighboursCountTwice) {
  const Record record = MakeRecord(0, Op::kInsert, "k", "v");
  EXPECT_NE(HashOf({record, record}).value, HashOf({record}).value);
  EXPECT_NE(HashOf({record, record, record}).value,
            HashOf({record, record}).value);
}

TEST(StepHasherTest, SwappedRecordsOfAPartitionDiffer) {
  const Record a = MakeRecord(0, Op::kInsert, std::nullopt, "a");
  const Record b = MakeRecord(0, Op::kInsert, std::nullopt, "b");
  EXPECT_NE(HashOf({a, b}), HashOf({b, a}));
}

TEST(StepHasherTest, BytesDoNotMoveBetweenRecords) {
  EXPECT_NE(HashOf({MakeRecord(0, Op::kInsert, std::nullopt, "ab"),
                    MakeRecord(0, Op::kInsert, std::nullopt, "c")}),
            HashOf({MakeRecord(0, Op::kInsert, std::nullopt, "a"),
                    MakeRecord(0, Op::kInsert, std::nullopt, "bc")}));
}

TEST(StepHasherTest, BytesDoNotMoveBetweenKeyAndValue) {
  EXPECT_NE(HashOfOne(Op::kInsert, "ab", "c"),
            HashOfOne(Op::kInsert, "a", "bc"));
}

TEST(StepHasherTest, NullAndEmptyKeysDiffer) {
  EXPECT_NE(HashOfOne(Op::kInsert, std::nullopt, "v"),
            HashOfOne(Op::kInsert, "", "v"));
}

TEST(StepHasherTest, NullAndEmptyValuesDiffer) {
  EXPECT_NE(HashOfOne(Op::kInsert, "k", std::nullopt),
            HashOfOne(Op::kInsert, "k", ""));
}

TEST(StepHasherTest, ThePartitionOfARecordCounts) {
  EXPECT_NE(HashOf({MakeRecord(0, Op::kInsert, std::nullopt, "v")}),
            HashOf({MakeRecord(1, Op::kInsert, std::nullopt, "v")}));
}

TEST(StepHasherTest, RecordsDoNotMoveBetweenPartitions) {
  EXPECT_NE(HashOf({MakeRecord(0, Op::kInsert, std::nullopt, "a"),
                    MakeRecord(1, Op::kInsert, std::nullopt, "b")}),
            HashOf({MakeRecord(0, Op::kInsert, std::nullopt, "b"),
                    MakeRecord(1, Op::kInsert, std::nullopt, "a")}));
}

TEST(StepHasherTest, TimesOffsetsAndRowsDoNotCount) {
  Record plain = MakeRecord(0, Op::kInsert, "k", "v");
  Record other = plain;
  const Value row[] = {Value::Int64(1)};
  other.meta.event_time_ms = 1234;
  other.meta.offset = 99;
  other.meta.key_hash = 5;
  other.meta.has_key_hash = true;
  other.row = row;
  EXPECT_EQ(HashOf({plain}), HashOf({other}));
}

// --- Invariance, over random steps -------------------------------------------

struct RandomStep {
  // By partition, in source order.
  std::vector<std::vector<TestRecord>> partitions;
};

RandomStep MakeStep(Random& random) {
  RandomStep step;
  step.partitions.resize(1 + random.Uniform(4));
  for (std::vector<TestRecord>& records : step.partitions) {
    const uint64_t count = random.Uniform(30);
    for (uint64_t i = 0; i < count; ++i) {
      TestRecord record;
      record.value = std::string(random.Uniform(600), 'v');
      if (random.Uniform(8) == 0) record.value.reset();
      if (random.Uniform(2) == 0) record.key = absl::StrCat("k", i);
      if (random.Uniform(8) == 0) record.key = "";
      record.op = static_cast<Op>(random.Uniform(4));
      records.push_back(record);
    }
  }
  return step;
}

// Hashes batches cut at random places, partitions interleaved at random.
StepHash HashAtRandom(const RandomStep& step, Random& random) {
  std::vector<RecordBatch> batches;
  for (size_t p = 0; p < step.partitions.size(); ++p) {
    batches.push_back(MakeBatch(step.partitions[p], static_cast<uint32_t>(p)));
  }
  StepHasher hasher;
  while (!batches.empty()) {
    const size_t pick = random.Uniform(batches.size());
    batches[pick].TakeSome(1 + random.Uniform(7)).HashInto(hasher);
    if (batches[pick].IsEmpty()) {
      batches.erase(batches.begin() + static_cast<ptrdiff_t>(pick));
    }
  }
  return hasher.Finish();
}

TEST(StepHasherPropertyTest, NeitherCutsNorInterleavingMatter) {
  Random random = TestRandom();
  for (int round = 0; round < 200; ++round) {
    const RandomStep step = MakeStep(random);
    StepHasher whole;
    for (size_t p = 0; p < step.partitions.size(); ++p) {
      MakeBatch(step.partitions[p], static_cast<uint32_t>(p)).HashInto(whole);
    }
    ASSERT_EQ(HashAtRandom(step, random), whole.Finish()) << round;
  }
}

TEST(StepHasherPropertyTest, AnyChangeOfOneRecordMatters) {
  Random random = TestRandom();
  for (int round = 0; round < 200; ++round) {
    RandomStep step = MakeStep(random);
    const StepHash before = HashAtRandom(step, random);
    std::vector<TestRecord>& records =
        step.partitions[random.Uniform(step.partitions.size())];
    if (records.empty()) continue;
    TestRecord& record = records[random.Uniform(records.size())];
    switch (random.Uniform(4)) {
      case 0:
        record.value = record.value.value_or("") + "x";
        break;
      case 1:
        record.key = record.key.value_or("") + "x";
        break;
      case 2:
        record.op = static_cast<Op>((static_cast<int>(record.op) + 1) % 4);
        break;
      default:
        records.push_back(records.back());
    }
    ASSERT_NE(HashAtRandom(step, random).value, before.value) << round;
  }
}

}  // namespace
}  // namespace penstock::core
