// Random use of a handoff, with faults, beside a model of it: after every
// operation both must have done the same.
#include "core/base/log.h"
#include "core/base/random.h"
#include "core/contract/message_frame.h"
#include "tests/core/handoff/handoff_fixtures.h"
#include "tests/core/handoff/handoff_model.h"
#include "tests/core/handoff/property_runs.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using Encoding = HandoffModel::Encoding;
using Fault = HandoffModel::Fault;

std::vector<std::string> DecodeMessages(absl::string_view frame) {
  std::vector<std::string> rows;
  MessageView message;
  while (!frame.empty()) {
    CHECK_OK(ConsumeMessage(frame, message));
    rows.emplace_back(message.value.value_or(""));
  }
  return rows;
}

using Change = void (*)(HandoffModel::Options&);

// One sequence of operations. What differs first is remembered, and ends it.
class Sequence {
 public:
  // `change` makes the model another one than the handoff.
  explicit Sequence(uint64_t seed, Change change = nullptr)
      : random_(seed),
        options_(DrawOptions()),
        finishes_(std::make_shared<BlockEncoderState>()),
        harness_(std::make_unique<HandoffHarness>(HandoffHarness::Options{
            .shards = options_.shards,
            .queue_items = options_.queue_items,
            .config = options_.config,
            .limit = uint64_t{1} << 40,
            .reserve = options_.reserve,
            .blocks =
                options_.encoding == Encoding::kBlocks ? finishes_ : nullptr,
            .messages = options_.encoding == Encoding::kMessages})),
        budget_(harness_->budget),
        acks_(harness_->acks),
        model_(Changed(options_, change)) {}

  // Empty, or what was not as it must be.
  std::string Run() {
    const int operations = 10 + static_cast<int>(random_.Uniform(60));
    for (int i = 0; i < operations && difference_.empty(); ++i) {
      Operate();
      Compare();
    }
    if (difference_.empty()) Finish();
    return difference_;
  }

 private:
  static HandoffModel::Options Changed(HandoffModel::Options options,
                                       Change change) {
    if (change != nullptr) change(options);
    return options;
  }

  HandoffModel::Options DrawOptions() {
    HandoffModel::Options options;
    options.shards = 1 + static_cast<uint32_t>(random_.Uniform(4));
    options.queue_items = 1 + random_.Uniform(4);
    options.encoding = static_cast<Encoding>(random_.Uniform(3));
    // Sometimes too little.
    options.reserve = random_.Bernoulli(0.2) ? random_.Uniform(500) : 20'000;
    options.config.target_bytes = 1 + random_.Uniform(120);
    if (random_.Bernoulli(0.6)) {
      options.config.level = FtModel::kExactlyOnce;
    } else if (random_.Bernoulli(0.5)) {
      options.config.level = FtModel::kAtLeastOnce;
    }
    options.config.encode_policy =
        random_.Bernoulli(0.8) ? EncodePolicy::kSkip : EncodePolicy::kFail;
    options.config.row_positions = random_.Bernoulli(0.2);
    if (options.config.level != FtModel::kExactlyOnce &&
        random_.Bernoulli(0.3)) {
      options.config.rows_max = 1 + random_.Uniform(5);
    }
    return options;
  }

  Handoff& handoff() { return *harness_->handoff; }
  ShardIndex DrawShard() {
    return static_cast<ShardIndex>(random_.Uniform(options_.shards));
  }

  void Operate() {
    switch (random_.Uniform(8)) {
      case 0:
      case 1:
      case 2:
        if (!model_.in_step()) BeginStep();
        return Push();
      case 3:
        if (!model_.in_step()) return;
        return Expect(handoff().EndStep() == model_.EndStep(), "EndStep");
      case 4:
        return Expect(handoff().Relieve() == model_.Relieve(), "Relieve");
      case 5:
        return Flush();
      case 6:
        return Break();
      default:
        return Receive(DrawShard());
    }
  }

  void BeginStep() {
    step_ += 1 + random_.Uniform(3);
    harness_->BeginStep(step_);
    model_.BeginStep(step_);
  }

  void Push() {
    std::vector<std::string> values;
    const absl::Time now = harness_->clock.SteadyNow();
    for (uint64_t count = random_.Uniform(12); count > 0; --count) {
      const ShardIndex shard = DrawShard();
      const Fault fault = DrawFault();
      std::string value = absl::StrCat(shard, "-", rows_++, "-");
      value.append(random_.Uniform(30), 'x');
      static constexpr const char* kMarks[] = {"",       "BAD",  "THROW",
                                               "BROKEN", "HALF", ""};
      value += kMarks[static_cast<size_t>(fault)];
      if (fault == Fault::kNowhere) value.front() = '9';
      model_.Push(shard, value, fault, now);
      values.push_back(std::move(value));
    }
    harness_->Push(values);
  }

  Fault DrawFault() {
    const double draw = random_.Double();
    if (draw < 0.04) return Fault::kBad;
    if (draw < 0.045 && options_.shards > 1) return Fault::kNowhere;
    switch (options_.encoding) {
      case Encoding::kRows:
        if (draw > 0.97) return Fault::kThrow;
        return draw > 0.968 ? Fault::kBroken : Fault::kNone;
      case Encoding::kBlocks:
        if (draw > 0.99) return Fault::kThrow;
        return draw > 0.988 ? Fault::kHalf : Fault::kNone;
      case Encoding::kMessages:
        return Fault::kNone;
    }
    return Fault::kNone;
  }

  void Flush() {
    if (random_.Bernoulli(0.1)) {
      return Expect(handoff().FlushTerminal() == model_.FlushTerminal(),
                    "FlushTerminal");
    }
    harness_->clock.Advance(
        absl::Milliseconds(static_cast<int64_t>(random_.Uniform(300))));
    const absl::Time now = harness_->clock.SteadyNow();
    Expect(handoff().FlushAged(now) == model_.FlushAged(now), "FlushAged");
  }

  void Break() {
    if (random_.Bernoulli(0.02)) {
      const int finishes = 1 + static_cast<int>(random_.Uniform(3));
      const bool throws = random_.Bernoulli(0.5);
      finishes_->fail_finish = throws ? 0 : finishes;
      finishes_->throw_finish = throws ? finishes : 0;
      model_.FailFinish(finishes);
    }
    if (random_.Bernoulli(0.01)) {
      const ShardIndex shard = DrawShard();
      harness_->queues.at(shard).Close();
      model_.Close(shard);
    }
  }

  void Receive(ShardIndex shard) {
    std::optional<ShardItem> item = harness_->queues.at(shard).TryReceive();
    Expect(item.has_value() == (model_.queued(shard) > 0), "something queued");
    if (!item.has_value() || !difference_.empty()) return;
    const HandoffModel::Item expected = model_.Receive(shard);
    Expect((item->index() == 1) == expected.rows.empty(), "kind of item");
    if (!difference_.empty()) return;
    const bool delivers = random_.Bernoulli(0.97);
    if (auto* const chunk = std::get_if<EncodedChunk>(&*item)) {
      CompareChunk(*chunk, expected);
      if (delivers) std::move(chunk->acks).Deliver();
    } else {
      auto& end = std::get<StepEnd>(*item);
      Expect(end.step == expected.steps.back(), "step that ends");
      Expect(end.acks.size() == 1, "one share in a StepEnd");
      if (delivers) std::move(end.acks).Deliver();
    }
    item.reset();
    model_.Settle(expected, delivers);
  }

  void CompareChunk(const EncodedChunk& chunk,
                    const HandoffModel::Item& expected) {
    Expect(chunk.rows == expected.rows.size(), "rows of a chunk");
    Expect(chunk.step == expected.steps.back(), "step of a chunk");
    Expect(chunk.acks.size() == expected.steps.size(), "one share a step");
    Expect(chunk.index == expected.index, "number of a chunk");
    Expect(chunk.lease.bytes() == expected.lease, "lease of a chunk");
    Expect(chunk.oldest_ingest == expected.oldest, "age of a chunk");
    Expect(chunk.row_positions.size() ==
               (options_.config.row_positions ? expected.rows.size() : 0),
           "row table");
    const std::vector<std::string> rows = Decode(chunk.frame.view());
    Expect(rows.size() == expected.rows.size(), "rows of a frame");
    for (size_t i = 0; i < rows.size() && difference_.empty(); ++i) {
      Expect(rows[i] == expected.rows[i].text, "a row in its place");
    }
  }

  std::vector<std::string> Decode(absl::string_view frame) {
    switch (options_.encoding) {
      case Encoding::kRows:
        return DecodeRows(frame);
      case Encoding::kBlocks: {
        std::vector<std::vector<std::string>> blocks = DecodeBlocks(frame);
        Expect(blocks.size() == 1, "one block in a frame");
        return blocks.empty() ? std::vector<std::string>()
                              : std::move(blocks.front());
      }
      case Encoding::kMessages:
        return DecodeMessages(frame);
    }
    return {};
  }

  void Compare() {
    const HandoffCounters& ours = handoff().counters();
    const HandoffCounters& theirs = model_.counters();
    Expect(ours.records_in == theirs.records_in, "records in");
    Expect(ours.records_out == theirs.records_out, "records out");
    Expect(ours.records_skipped == theirs.records_skipped, "records skipped");
    Expect(ours.records_discarded == theirs.records_discarded, "discarded");
    Expect(ours.records_in ==
               ours.records_out + ours.records_skipped + ours.records_discarded,
           "in = out + skipped + discarded");
    Expect(ours.bytes_out == theirs.bytes_out, "bytes out");
    Expect(ours.chunks_sealed == theirs.chunks_sealed, "chunks sealed");
    Expect(handoff().fatal().ok() == !model_.fatal(), "fatal");
    for (ShardIndex i = 0; i < options_.shards; ++i) {
      Expect(handoff().parked(i) == model_.parked(i), "parked");
      Expect(harness_->queues.at(i).size() == model_.queued(i), "queued");
    }
    CompareFates();
  }

  // Budget and acks, which outlive the handoff.
  void CompareFates() {
    Expect(budget_->usage() == model_.usage(), "bytes in flight");
    Expect(budget_->overdrafts() == model_.overdrafts(), "overdrafts");
    Expect(acks_->made.size() == model_.made(), "steps made");
    Expect(acks_->acks.size() == model_.resolved(), "steps resolved");
    for (; fates_seen_ < acks_->acks.size() && difference_.empty();
         ++fates_seen_) {
      const auto& [step, worst] = acks_->acks[fates_seen_];
      Expect(worst == model_.FateOf(step), "fate of a step");
    }
  }

  // Everything that is left is delivered, or dies with handoff and queues.
  void Finish() {
    const bool drains = random_.Bernoulli(0.7);
    if (drains) DrainAll();
    const bool queues_first = random_.Bernoulli(0.5);
    if (queues_first) DropQueues();
    harness_->handoff.reset();
    model_.DropHandoff();
    CompareFates();
    if (!queues_first) DropQueues();
    harness_.reset();
    CompareFates();
    Expect(budget_->usage() == 0, "the budget is empty");
    Expect(acks_->acks.size() == model_.begun(), "every step resolves once");
  }

  void DrainAll() {
    if (model_.in_step()) {
      Expect(handoff().EndStep() == model_.EndStep(), "the last EndStep");
    }
    Expect(handoff().FlushTerminal() == model_.FlushTerminal(),
           "the last FlushTerminal");
    for (bool moved = true; moved && difference_.empty();) {
      moved = false;
      for (ShardIndex i = 0; i < options_.shards; ++i) {
        while (model_.queued(i) > 0 && difference_.empty()) {
          Receive(i);
          moved = true;
        }
      }
      Expect(handoff().Relieve() == model_.Relieve(), "the last Relieve");
    }
    Compare();
  }

  void DropQueues() {
    for (ShardIndex i = 0; i < options_.shards; ++i) {
      (void)harness_->queues.at(i).ReceiveAll();
    }
    model_.DropQueues();
    CompareFates();
  }

  void Expect(bool holds, const char* what) {
    if (!holds && difference_.empty()) difference_ = what;
  }

  Random random_;
  const HandoffModel::Options options_;
  // Shared by: the harness's encoders.
  const std::shared_ptr<BlockEncoderState> finishes_;
  std::unique_ptr<HandoffHarness> harness_;
  const std::shared_ptr<InflightBudget> budget_;
  const std::shared_ptr<RecordingAckListener> acks_;
  HandoffModel model_;

  Step step_ = 0;
  uint64_t rows_ = 0;
  size_t fates_seen_ = 0;
  std::string difference_;
};

// Parts, so that they run beside each other.
class HandoffPropertyTest : public ::testing::TestWithParam<int> {
 protected:
  // Skipped rows are not the subject.
  HandoffPropertyTest() { SetLogLevel(LogSeverity::kError); }
  ~HandoffPropertyTest() override { SetLogLevel(level_); }

 private:
  const LogSeverity level_ = GetLogLevel();
};

TEST_P(HandoffPropertyTest, EveryAcceptedRowLeavesOnceOrItsStepFails) {
  Random random = TestRandom();
  const int runs = PropertyRuns(15'000);
  for (int i = 0; i < runs; ++i) {
    const uint64_t seed = random.Next64();
    const std::string difference = Sequence(seed).Run();
    ASSERT_EQ(difference, "") << "sequence " << i << ", its seed " << seed;
  }
}

// The comparison sees what differs, be it ever so little.
class HandoffComparisonTest : public ::testing::TestWithParam<Change> {};

TEST_P(HandoffComparisonTest, AnotherModelDiffers) {
  SetLogLevel(LogSeverity::kError);
  Random random = TestRandom();
  int different = 0;
  for (int i = 0; i < 200; ++i) {
    if (!Sequence(random.Next64(), GetParam()).Run().empty()) ++different;
  }
  SetLogLevel(LogSeverity::kInfo);
  EXPECT_GT(different, 10);
}

INSTANTIATE_TEST_SUITE_P(
    Changes, HandoffComparisonTest,
    ::testing::Values(
        [](HandoffModel::Options& options) { ++options.queue_items; },
        [](HandoffModel::Options& options) { ++options.config.target_bytes; },
        [](HandoffModel::Options& options) { ++options.reserve; },
        [](HandoffModel::Options& options) {
          options.config.age_max += absl::Milliseconds(100);
        },
        [](HandoffModel::Options& options) {
          options.config.level = options.config.level.has_value()
                                     ? std::nullopt
                                     : std::optional(FtModel::kExactlyOnce);
        },
        [](HandoffModel::Options& options) {
          options.config.encode_policy =
              options.config.encode_policy == EncodePolicy::kSkip
                  ? EncodePolicy::kFail
                  : EncodePolicy::kSkip;
        }));

INSTANTIATE_TEST_SUITE_P(Parts, HandoffPropertyTest, ::testing::Range(0, 8));

}  // namespace
}  // namespace penstock::core
