// A handoff allocates for steps and chunks, never for records. This program
// counts every allocation, so it holds no other test.
#include "core/base/clock.h"
#include "core/handoff/ack_tracker.h"
#include "core/handoff/sink_handoff.h"
#include "tests/core/handoff/handoff_fixtures.h"
#include "tests/support/count_allocations.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

struct Shape {
  std::optional<FtModel> level;
  size_t target_bytes;
};

// One handoff with 4 shards, fed with steps of `rows` records.
class Pipeline {
 public:
  explicit Pipeline(const Shape& shape)
      : level_(shape.level),
        handoff_(MakeHandoff(std::make_unique<PrefixEncoder>(),
                             RouteKind::kKeyHash, queues_, budget_,
                             ChunkConfig{.target_bytes = shape.target_bytes,
                                         .level = shape.level},
                             RealClock())) {}

  // Allocations of one step, from BeginStep to its last ack.
  size_t Allocations(const RecordBatch& batch) {
    const size_t before = AllocationsSoFar();
    handoff_->BeginStep(AckTracker::Register(tracker_, step_++),
                        budget_->ForceReserve(1 << 20));
    handoff_->PushBatch(batch);
    (void)handoff_->EndStep();
    if (level_ != FtModel::kExactlyOnce) (void)handoff_->FlushTerminal();
    for (ShardIndex shard = 0; shard < 4; ++shard) {
      while (std::optional<ShardItem> item = queues_.at(shard).TryReceive()) {
        if (auto* const chunk = std::get_if<EncodedChunk>(&*item)) {
          rows_ += chunk->rows;
          std::move(chunk->acks).Deliver();
        } else {
          std::move(std::get<StepEnd>(*item).acks).Deliver();
        }
      }
    }
    return AllocationsSoFar() - before;
  }
  uint64_t rows() const { return rows_; }
  Step completed() const { return tracker_->completed(); }

 private:
  const std::optional<FtModel> level_;
  ShardQueues queues_{4, 64};
  std::shared_ptr<InflightBudget> budget_ =
      std::make_shared<InflightBudget>(InflightBudget::Options());
  std::shared_ptr<AckTracker> tracker_ =
      std::make_shared<AckTracker>(0, RealClock(), nullptr);
  std::unique_ptr<Handoff> handoff_;
  Step step_ = 0;
  uint64_t rows_ = 0;
};

RecordBatch BatchOf(size_t rows, size_t value_bytes) {
  std::vector<TestRow> records;
  for (size_t i = 0; i < rows; ++i) {
    records.push_back({.value = std::string(value_bytes, 'v'),
                       .key = absl::StrCat("key", i)});
  }
  return MakeBatch(records);
}

class HandoffAllocationTest : public ::testing::TestWithParam<Shape> {};

TEST_P(HandoffAllocationTest, RecordsCostNoAllocation) {
  Pipeline pipeline(GetParam());
  // Equal bytes, and so equal chunks, in ten times the rows.
  const RecordBatch few = BatchOf(1'000, 60);
  const RecordBatch many = BatchOf(10'000, 60 / 10);
  for (int i = 0; i < 3; ++i) {
    (void)pipeline.Allocations(few);
    (void)pipeline.Allocations(many);
  }
  const size_t for_few = pipeline.Allocations(few);
  const size_t for_many = pipeline.Allocations(many);
  EXPECT_EQ(pipeline.rows(), 4u * 11'000);
  EXPECT_EQ(pipeline.completed(), 8u);
  // A chunk: its handles' list, its memory. Rows with prefixes make more bytes.
  EXPECT_LE(for_few, 64u);
  EXPECT_LE(for_many, 64u + for_few);
}

INSTANTIATE_TEST_SUITE_P(
    Levels, HandoffAllocationTest,
    ::testing::Values(Shape{FtModel::kExactlyOnce, 1 << 20},
                      Shape{FtModel::kExactlyOnce, 16 << 10},
                      Shape{FtModel::kAtLeastOnce, 1 << 20}));

}  // namespace
}  // namespace penstock::core
