// Random use of a handoff, against a model of what must become of each row.
#include "core/handoff/sink_handoff.h"

#include "core/base/log.h"
#include "core/base/random.h"
#include "tests/core/handoff/handoff_fixtures.h"
#include "tests/core/handoff/property_runs.h"
#include "tests/support/recording_log_sink.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// One sequence. The model: rows leave each shard in the order in which they
// were accepted, and none twice; those that do not leave are at the end of
// their shard, and their steps fail.
class Sequence {
 public:
  explicit Sequence(uint64_t seed)
      : random_(seed),
        exactly_once_(random_.Bernoulli(0.6)),
        columnar_(random_.Bernoulli(0.3)),
        blocks_(columnar_ ? std::make_shared<BlockEncoderState>() : nullptr),
        harness_(std::make_unique<HandoffHarness>(DrawOptions())),
        budget_(harness_->budget),
        acks_(harness_->acks),
        accepted_(harness_->options.shards),
        left_(harness_->options.shards),
        next_index_(harness_->options.shards) {}

  void Run() {
    const int operations = 10 + static_cast<int>(random_.Uniform(60));
    for (int i = 0; i < operations && !::testing::Test::HasFatalFailure();
         ++i) {
      Operate();
      CheckCounters();
    }
    if (in_step_ && random_.Bernoulli(0.5)) EndStep();
    if (random_.Bernoulli(0.7)) DrainAll();
    Finish();
  }

 private:
  struct Row {
    Step step = 0;
    std::string text;
  };

  HandoffHarness::Options DrawOptions() {
    HandoffHarness::Options options;
    options.shards = 1 + static_cast<uint32_t>(random_.Uniform(4));
    options.queue_items = 1 + random_.Uniform(4);
    options.config.target_bytes = 1 + random_.Uniform(120);
    options.config.level =
        exactly_once_ ? FtModel::kExactlyOnce : FtModel::kAtLeastOnce;
    options.config.encode_policy =
        random_.Bernoulli(0.8) ? EncodePolicy::kSkip : EncodePolicy::kFail;
    options.config.row_positions = random_.Bernoulli(0.2);
    options.limit = uint64_t{1} << 30;
    options.reserve = 20'000;
    options.blocks = blocks_;
    return options;
  }

  Handoff& handoff() { return *harness_->handoff; }

  void Operate() {
    switch (random_.Uniform(8)) {
      case 0:
      case 1:
      case 2:
        if (!in_step_) BeginStep();
        PushSome();
        break;
      case 3:
        if (in_step_) EndStep();
        break;
      case 4:
        CheckFlow(handoff().Relieve());
        break;
      case 5:
        if (random_.Bernoulli(0.1)) {
          CheckFlow(handoff().FlushTerminal());
        } else {
          harness_->clock.Advance(
              absl::Milliseconds(static_cast<int64_t>(random_.Uniform(300))));
          handoff().FlushAged(harness_->clock.SteadyNow());
        }
        break;
      case 6:
        if (blocks_ != nullptr && random_.Bernoulli(0.02)) {
          blocks_->fail_finish = 1;
        }
        if (random_.Bernoulli(0.01)) {
          harness_->queues.at(DrawShard()).Close();
        }
        break;
      default:
        ReceiveOne(DrawShard());
    }
  }

  ShardIndex DrawShard() {
    return static_cast<ShardIndex>(random_.Uniform(harness_->options.shards));
  }

  void BeginStep() {
    step_ += 1 + random_.Uniform(3);
    steps_.push_back(step_);
    harness_->BeginStep(step_);
    in_step_ = true;
    for (uint32_t& index : next_index_) index = 0;
  }

  void PushSome() {
    std::vector<std::string> values;
    std::vector<ShardIndex> shards;
    const size_t count = random_.Uniform(12);
    for (size_t i = 0; i < count; ++i) {
      const ShardIndex shard = DrawShard();
      std::string value = absl::StrCat(shard, "-", rows_made_++, "-");
      value.append(random_.Uniform(30), 'x');
      if (random_.Bernoulli(0.05)) value += "BAD";
      if (random_.Bernoulli(0.03)) value += columnar_ ? "BAD" : "THROW";
      if (!columnar_ && random_.Bernoulli(0.002)) value += "BROKEN";
      values.push_back(std::move(value));
      shards.push_back(shard);
    }
    const uint64_t out_before = handoff().counters().records_out;
    harness_->Push(values);
    // Good rows are accepted in order until the stage is poisoned.
    uint64_t accepted = handoff().counters().records_out - out_before;
    for (size_t i = 0; i < count && accepted > 0; ++i) {
      if (values[i].find_first_of("ABDEHKNORTW") != std::string::npos) continue;
      accepted_[shards[i]].push_back({.step = step_, .text = values[i]});
      --accepted;
    }
    ASSERT_EQ(accepted, 0u);
  }

  void EndStep() {
    const Flow flow = handoff().EndStep();
    in_step_ = false;
    CheckFlow(flow);
    if (flow != Flow::kFatal) made_.insert(step_);
  }

  void CheckFlow(Flow flow) {
    size_t parked = 0;
    for (ShardIndex i = 0; i < harness_->options.shards; ++i) {
      parked += handoff().parked(i);
    }
    if (!handoff().fatal().ok()) {
      ASSERT_EQ(flow, Flow::kFatal);
    } else {
      ASSERT_EQ(flow, parked > 0 ? Flow::kBlocked : Flow::kContinue);
    }
    if (was_fatal_) {
      ASSERT_FALSE(handoff().fatal().ok()) << "revived";
    }
    was_fatal_ = !handoff().fatal().ok();
  }

  void CheckCounters() {
    const HandoffCounters& counters = handoff().counters();
    ASSERT_EQ(counters.records_in, counters.records_out +
                                       counters.records_skipped +
                                       counters.records_discarded);
  }

  void ReceiveOne(ShardIndex shard) {
    std::optional<ShardItem> item = harness_->queues.at(shard).TryReceive();
    if (item.has_value()) Receive(shard, *std::move(item));
  }

  void Receive(ShardIndex shard, ShardItem item) {
    const bool delivers = random_.Bernoulli(0.97);
    if (auto* const end = std::get_if<StepEnd>(&item)) {
      ASSERT_TRUE(exactly_once_);
      ASSERT_TRUE(ends_.insert({end->step, shard}).second) << "ended twice";
      // Everything of the step has left the shard before.
      for (const Row& row : accepted_[shard]) {
        if (row.step > end->step) break;
        if (row.step == end->step) ++ended_rows_[{end->step, shard}];
      }
      size_t left = 0;
      for (const Row& row : left_[shard]) left += row.step == end->step ? 1 : 0;
      ASSERT_EQ(left, (ended_rows_[{end->step, shard}]));
      if (delivers) {
        std::move(end->acks).Deliver();
      } else {
        failed_.insert(end->step);
      }
      return;
    }
    auto& chunk = std::get<EncodedChunk>(item);
    std::vector<std::string> rows;
    if (columnar_) {
      const auto blocks = DecodeBlocks(chunk.frame.view());
      ASSERT_EQ(blocks.size(), 1u);
      rows = blocks.front();
    } else {
      rows = DecodeRows(chunk.frame.view());
    }
    ASSERT_EQ(rows.size(), size_t{chunk.rows});
    ASSERT_GE(chunk.lease.bytes(), chunk.frame.size());
    if (harness_->options.config.row_positions) {
      ASSERT_EQ(chunk.row_positions.size(), rows.size());
    }
    std::set<Step> steps;
    for (std::string& row : rows) {
      const size_t place = left_[shard].size();
      ASSERT_LT(place, accepted_[shard].size());
      ASSERT_EQ(accepted_[shard][place].text, row) << "order";
      steps.insert(accepted_[shard][place].step);
      left_[shard].push_back(accepted_[shard][place]);
    }
    ASSERT_EQ(chunk.acks.size(), steps.size()) << "one handle per step";
    ASSERT_EQ(chunk.step, *steps.rbegin());
    if (exactly_once_) {
      ASSERT_EQ(steps.size(), 1u);
      ASSERT_EQ(chunk.index, (indexes_[{chunk.step, shard}]++));
    }
    if (delivers) {
      std::move(chunk.acks).Deliver();
    } else {
      failed_.insert(steps.begin(), steps.end());
    }
  }

  void DrainAll() {
    if (!in_step_) (void)handoff().FlushTerminal();
    bool moved = true;
    while (moved) {
      moved = false;
      (void)handoff().Relieve();
      for (ShardIndex i = 0; i < harness_->options.shards; ++i) {
        while (harness_->queues.at(i).size() > 0) {
          ReceiveOne(i);
          if (::testing::Test::HasFatalFailure()) return;
          moved = true;
        }
      }
    }
  }

  void Finish() {
    // What is in flight dies with queues and handoff.
    harness_.reset();
    ASSERT_EQ(budget_->usage(), 0u);
    // The head of a block is not foreseen by the lease of a step that ended.
    if (exactly_once_ || !columnar_) {
      ASSERT_EQ(budget_->overdrafts(), 0u);
    }
    ASSERT_EQ(acks_->acks.size(), steps_.size()) << "each resolves once";
    for (const Step step : steps_) {
      ASSERT_EQ(acks_->Of(step),
                IsDelivered(step) ? AckStatus::kDelivered : AckStatus::kFailed)
          << "step " << step;
    }
  }

  bool IsDelivered(Step step) const {
    if (!made_.contains(step) || failed_.contains(step)) return false;
    for (ShardIndex i = 0; i < accepted_.size(); ++i) {
      if (exactly_once_ && !ends_.contains({step, i})) return false;
      for (size_t row = left_[i].size(); row < accepted_[i].size(); ++row) {
        if (accepted_[i][row].step == step) return false;
      }
    }
    return true;
  }

  Random random_;
  const bool exactly_once_;
  const bool columnar_;
  const std::shared_ptr<BlockEncoderState> blocks_;
  std::unique_ptr<HandoffHarness> harness_;
  const std::shared_ptr<InflightBudget> budget_;
  const std::shared_ptr<RecordingAckListener> acks_;

  bool in_step_ = false;
  bool was_fatal_ = false;
  Step step_ = 0;
  uint64_t rows_made_ = 0;
  std::vector<Step> steps_;
  std::set<Step> made_;
  std::set<Step> failed_;
  std::vector<std::vector<Row>> accepted_;
  std::vector<std::vector<Row>> left_;
  std::vector<uint32_t> next_index_;
  std::map<std::pair<Step, ShardIndex>, uint32_t> indexes_;
  std::set<std::pair<Step, ShardIndex>> ends_;
  std::map<std::pair<Step, ShardIndex>, size_t> ended_rows_;
};

TEST(HandoffPropertyTest, EveryAcceptedRowLeavesOnceOrItsStepFails) {
  const ScopedLogSink quiet(std::make_shared<RecordingLogSink>());
  Random random = TestRandom();
  const int runs = PropertyRuns(2'000);
  for (int i = 0; i < runs; ++i) {
    const uint64_t seed = random.Next64();
    SCOPED_TRACE(absl::StrCat("sequence ", i, ", its seed ", seed));
    Sequence(seed).Run();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace penstock::core
