#include "core/record/record_batch.h"

#include "core/base/random.h"
#include "core/record/record_batch_builder.h"
#include "core/record/step_hash.h"
#include "tests/support/make_batch.h"
#include "tests/support/test_rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;

std::vector<std::string> ValuesOf(const RecordBatch& batch) {
  std::vector<std::string> values;
  for (size_t i = 0; i < batch.record_count(); ++i) {
    values.emplace_back(batch.At(i).value.value_or("(null)"));
  }
  return values;
}

TEST(RecordBatchTest, IsEmptyAtFirst) {
  const RecordBatch batch;
  EXPECT_TRUE(batch.IsEmpty());
  EXPECT_TRUE(batch.size().IsEmpty());
  EXPECT_EQ(batch.MemoryBytes(), 0u);
}

std::vector<BadRecord> OneBadRecord() {
  return {{.partition = 3,
           .offset = 7,
           .tag = "no_json",
           .description = "it is none",
           .text = "{"}};
}

TEST(RecordBatchTest, WithOnlyABadRecordIsNotEmptyThoughItHasNoRecords) {
  RecordBatch batch;
  batch.AddBadRecords(OneBadRecord());
  EXPECT_FALSE(batch.IsEmpty());
  EXPECT_TRUE(batch.size().IsEmpty());
  EXPECT_GT(batch.MemoryBytes(), sizeof(BadRecord));
  EXPECT_NE(batch.storage_id(), nullptr);
  EXPECT_EQ(batch.TakeBadRecords(), OneBadRecord());
  EXPECT_TRUE(batch.IsEmpty());
  EXPECT_EQ(batch.BadRecordBytes(), 0u);
}

TEST(RecordBatchTest, NoBadRecordsLeaveItEmpty) {
  RecordBatch batch;
  batch.AddBadRecords({});
  EXPECT_TRUE(batch.IsEmpty());
  EXPECT_THAT(batch.TakeBadRecords(), testing::IsEmpty());
}

TEST(RecordBatchTest, BadRecordsAreInNoCountAndNoHash) {
  RecordBatch batch = MakeValueBatch({"a", "b"});
  const BufferSize size = batch.size();
  StepHasher without;
  batch.HashInto(without);
  batch.AddBadRecords(OneBadRecord());
  StepHasher with;
  batch.HashInto(with);
  EXPECT_EQ(batch.size(), size);
  EXPECT_EQ(with.Finish(), without.Finish());
}

TEST(RecordBatchTest, BadRecordsGoWithTheLastPart) {
  RecordBatch batch = MakeValueBatch({"a", "b", "c"});
  batch.AddBadRecords(OneBadRecord());
  EXPECT_EQ(batch.TakeSome(2).BadRecordBytes(), 0u);
  RecordBatch rest = batch.TakeSome(2);
  EXPECT_EQ(rest.TakeBadRecords(), OneBadRecord());
  EXPECT_TRUE(batch.IsEmpty());
}

TEST(RecordBatchTest, SizeCountsKeysAndValuesAndNoNulls) {
  const RecordBatch batch = MakeBatch(
      {{.value = "four", .key = "k"}, {.value = std::nullopt}, {.value = ""}});
  EXPECT_EQ(batch.size(), (BufferSize{.records = 3, .bytes = 5}));
}

TEST(RecordBatchTest, ShowsWhatWasPutIn) {
  const RecordBatch batch = MakeBatch(
      {{.value = "v", .key = "k", .op = Op::kUpsert, .offset = 12}}, 3);
  const Record record = batch.At(0);
  EXPECT_EQ(record.value, "v");
  EXPECT_EQ(record.key, "k");
  EXPECT_EQ(record.meta.offset, 12);
  EXPECT_EQ(record.meta.partition, 3u);
  EXPECT_EQ(record.meta.op, Op::kUpsert);
  EXPECT_EQ(record.meta.event_time_ms, RecordMeta::kNoEventTime);
  EXPECT_FALSE(record.meta.has_key_hash);
  EXPECT_TRUE(record.row.empty());
  EXPECT_EQ(batch.partition(), 3u);
  EXPECT_EQ(batch.first_offset(), 12);
}

TEST(RecordBatchTest, NullAndEmptyDiffer) {
  const RecordBatch batch = MakeBatch({{.value = std::nullopt, .key = ""}, {}});
  EXPECT_FALSE(batch.At(0).value.has_value());
  EXPECT_EQ(batch.At(0).key, "");
  EXPECT_EQ(batch.At(1).value, "");
  EXPECT_FALSE(batch.At(1).key.has_value());
}

// Seed: "take_some removes the first n records into a new buffer".
TEST(RecordBatchTest, TakeSomeRemovesTheFirstRecords) {
  RecordBatch batch = MakeValueBatch({"a", "b", "c", "d"});
  const RecordBatch taken = batch.TakeSome(3);
  EXPECT_THAT(ValuesOf(taken), ElementsAre("a", "b", "c"));
  EXPECT_THAT(ValuesOf(batch), ElementsAre("d"));
  EXPECT_EQ(batch.first_offset(), 3);
}

TEST(RecordBatchTest, TakeSomeTakesAllIfThereAreFewer) {
  RecordBatch batch = MakeValueBatch({"a", "b"});
  EXPECT_EQ(batch.TakeSome(5).record_count(), 2u);
  EXPECT_TRUE(batch.IsEmpty());
  EXPECT_TRUE(batch.size().IsEmpty());
}

TEST(RecordBatchTest, TakeSomeOfNothingIsEmpty) {
  RecordBatch batch = MakeValueBatch({"a"});
  EXPECT_TRUE(batch.TakeSome(0).IsEmpty());
  EXPECT_EQ(batch.record_count(), 1u);
  RecordBatch none;
  EXPECT_TRUE(none.TakeSome(1).IsEmpty());
}

TEST(RecordBatchTest, TakeAllLeavesNothing) {
  RecordBatch batch = MakeValueBatch({"a", "b"});
  const RecordBatch taken = batch.TakeAll();
  EXPECT_THAT(ValuesOf(taken), ElementsAre("a", "b"));
  EXPECT_TRUE(batch.IsEmpty());
}

TEST(RecordBatchTest, SplittingCopiesNoPayload) {
  RecordBatch batch = MakeValueBatch({"a", "b"});
  const char* const second = batch.At(1).value->data();
  RecordBatch taken = batch.TakeSome(1);
  EXPECT_EQ(batch.At(0).value->data(), second);
  EXPECT_EQ(taken.storage_id(), batch.storage_id());
}

TEST(RecordBatchTest, APartKeepsTheStorageAlive) {
  RecordBatch taken;
  {
    RecordBatch batch = MakeValueBatch({"first", "second"});
    taken = batch.TakeSome(1);
  }
  EXPECT_THAT(ValuesOf(taken), ElementsAre("first"));
}

TEST(RecordBatchTest, MemoryIsBlockEntriesAndArenas) {
  auto block = std::make_shared<Block>(1000);
  RecordBatchBuilder builder(block, 0);
  builder.Reserve(10);
  RecordEntry entry;
  entry.value_size = 10;
  entry.key_begin = builder.AddToArena(std::string(100, 'k'));
  entry.key_size = 100;
  entry.key_in_arena = true;
  builder.Add(entry);
  builder.value_arena().Copy("x");
  RecordBatch batch = std::move(builder).Build();
  EXPECT_GE(batch.MemoryBytes(), 1000 + 10 * sizeof(RecordEntry) + 100 + 4096);
  // A part keeps all of it alive.
  EXPECT_EQ(batch.TakeSome(1).MemoryBytes(), batch.MemoryBytes());
}

TEST(RecordBatchTest, KeysInTheArenaAreShownAndCounted) {
  RecordBatchBuilder builder(std::make_shared<Block>(16), 0);
  builder.AddToArena("before");
  RecordEntry entry;
  entry.key_begin = builder.AddToArena("unescaped");
  entry.key_size = 9;
  entry.key_in_arena = true;
  builder.Add(entry);
  const RecordBatch batch = std::move(builder).Build();
  EXPECT_EQ(batch.At(0).key, "unescaped");
  EXPECT_EQ(batch.size().bytes, 9u);
}

TEST(RecordBatchTest, RowsFollowTheirRecordsThroughASplit) {
  RecordBatchBuilder builder(std::make_shared<Block>(16), 0, /*columns=*/2);
  for (int64_t i = 0; i < 4; ++i) {
    const Value row[] = {Value::Int64(i), Value::Bool(i % 2 == 0)};
    builder.AddRow(row);
    builder.Add({});
  }
  RecordBatch batch = std::move(builder).Build();
  batch.TakeSome(2);
  ASSERT_EQ(batch.At(1).row.size(), 2u);
  EXPECT_EQ(batch.At(1).row[0].AsInt64(), 3);
}

TEST(RecordBatchBuilderTest, ADroppedRowLeavesNothing) {
  RecordBatchBuilder builder(std::make_shared<Block>(16), 0, /*columns=*/1);
  const Value bad[] = {Value::Int64(1)};
  const Value good[] = {Value::Int64(2)};
  builder.AddRow(bad);
  builder.DropRow();
  builder.AddRow(good);
  builder.Add({});
  EXPECT_EQ(std::move(builder).Build().At(0).row[0].AsInt64(), 2);
}

using RecordBatchBuilderDeathTest = testing::Test;

TEST(RecordBatchBuilderDeathTest, ValuesLieInTheBlock) {
  RecordBatchBuilder builder(std::make_shared<Block>(16), 0);
  RecordEntry entry;
  entry.value_begin = 10;
  entry.value_size = 7;
  EXPECT_DEATH(builder.Add(entry), "check failed");
}

TEST(RecordBatchBuilderDeathTest, KeysLieInTheArenaIfTheySaySo) {
  RecordBatchBuilder builder(std::make_shared<Block>(16), 0);
  RecordEntry entry;
  entry.key_size = 1;
  entry.key_in_arena = true;
  EXPECT_DEATH(builder.Add(entry), "check failed");
}

TEST(RecordBatchBuilderDeathTest, EveryRowHasItsRecord) {
  RecordBatchBuilder builder(std::make_shared<Block>(16), 0, /*columns=*/1);
  const Value row[] = {Value::Int64(1)};
  builder.AddRow(row);
  EXPECT_DEATH(std::move(builder).Build(), "check failed");
}

// Seed tests take_some_preserves_byte_accounting and
// take_some_loses_no_records_across_batches, over random batches.
TEST(RecordBatchPropertyTest, TakingConservesRecordsAndBytes) {
  Random random = TestRandom();
  for (int round = 0; round < 300; ++round) {
    std::vector<TestRecord> records(random.Uniform(50));
    for (TestRecord& record : records) {
      record.value = std::string(random.Uniform(100), 'v');
      if (random.Bernoulli(0.2)) record.value.reset();
      if (random.Bernoulli(0.5))
        record.key = std::string(random.Uniform(9), 'k');
    }
    RecordBatch batch = MakeBatch(records);
    const BufferSize whole = batch.size();
    BufferSize taken;
    int64_t next_offset = 0;
    while (!batch.IsEmpty()) {
      const BufferSize before = batch.size();
      const RecordBatch part = batch.TakeSome(1 + random.Uniform(20));
      ASSERT_EQ(before, batch.size() + part.size());
      BufferSize counted;
      for (size_t i = 0; i < part.record_count(); ++i) {
        const Record record = part.At(i);
        ASSERT_EQ(record.meta.offset, next_offset++);
        counted.records += 1;
        counted.bytes +=
            record.value.value_or("").size() + record.key.value_or("").size();
      }
      ASSERT_EQ(counted, part.size());
      taken += part.size();
    }
    ASSERT_EQ(taken, whole);
  }
}

}  // namespace
}  // namespace penstock::core
