// Handoff, shard workers and a transactional target through random faults and
// deaths: the target holds every row of every journaled step once, in order,
// but for those that it refuses, and these have letters.
#include "core/base/random.h"
#include "core/contract/sink_error.h"
#include "core/handoff/ack_tracker.h"
#include "core/handoff/basic_sink_handoff.h"
#include "core/handoff/shard_worker.h"
#include "tests/core/handoff/handoff_fixtures.h"
#include "tests/core/handoff/property_runs.h"
#include "tests/core/handoff/recording_dead_letters.h"
#include "tests/support/fake_target.h"
#include "tests/support/manual_executor.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

constexpr char kTable[] = "p/c";

bool IsBad(const std::string& row) { return row.back() == '!'; }

// Refuses bad rows, and names them if `names`.
FakeDatabase::Judge RefuseBad(bool names) {
  return [names](const std::vector<std::string>& /*present*/,
                 const std::vector<std::string>& added) {
    const auto bad = std::find_if(added.begin(), added.end(), IsBad);
    if (bad == added.end()) return absl::OkStatus();
    return names ? MakeRowRefused("bad", bad - added.begin())
                 : MakeRowRefused("bad");
  };
}

// A row is its text and a newline.
class LineEncoder final : public RowEncoder {
 public:
  absl::Status Encode(const Record& record, FrameBuffer& out) override {
    out.Append(*record.value);
    out.PushBack('\n');
    return absl::OkStatus();
  }
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    return records + payload_bytes;
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<LineEncoder>();
  }
};

// What the controller has journaled: a number and its rows.
struct JournaledStep {
  Step step = 0;
  std::vector<std::string> rows;
};

class ShardEvents final : public ShardObserver {
 public:
  void OnProgress(ShardIndex shard, Step steps) override {
    EXPECT_GT(steps, progress[shard]);
    progress[shard] = steps;
  }
  void OnRetry(ShardIndex, const absl::Status&, absl::Time) override {}
  void OnHeldBack(ShardIndex, const absl::Status&, absl::Time) override {}
  void OnRecovered(ShardIndex) override {}
  void OnFatal(ShardIndex, const absl::Status& error) override {
    ADD_FAILURE() << error;
  }
  std::map<ShardIndex, Step> progress;
};

// One life of the process.
class Life {
 public:
  struct Options {
    uint32_t shards = 1;
    Step base_steps = 0;
    uint64_t open_number = 1;
    bool separate_committer = false;
    // Of each shard.
    std::vector<RecordingDeadLetters>* letters = nullptr;
  };

  Life(FakeDatabase& database, Random& random, const Options& options)
      : queues_(options.shards, 1 + random.Uniform(4)) {
    executor_.SetPick(
        [&random](size_t ready) { return random.Uniform(ready); });
    target_ = std::make_unique<FakeTarget>(
        database, FakeTarget::Options{
                      .separate_committer = options.separate_committer,
                      .commit_executor =
                          options.separate_committer ? &executor_ : nullptr,
                      .tells_rows_apart = true});
    OutputOpen open{.incarnation = "inc", .pipeline = "p", .connector = "c"};
    open.writer = {.epoch = 1, .open_number = options.open_number};
    open.base_steps = options.base_steps;
    open.first_open = options.open_number == 1;
    open.shards = options.shards;
    open.level = FtModel::kExactlyOnce;
    const std::vector<Step> progress = *target_->Open(open);
    tracker_ = std::make_shared<AckTracker>(options.base_steps,
                                            executor_.clock(), nullptr);
    ChunkConfig config;
    config.target_bytes = 1 + random.Uniform(60);
    config.level = FtModel::kExactlyOnce;
    config.row_positions = true;
    handoff_ = std::make_unique<SinkHandoff<LineEncoder, DigitRouter>>(
        std::make_unique<LineEncoder>(), DigitRouter(), queues_, budget_,
        config, executor_.clock());
    std::shared_ptr<Breaker> breaker;
    if (random.Bernoulli(0.5)) {
      breaker = std::make_shared<Breaker>(
          Breaker::Options{.consecutive_failures_max =
                               static_cast<uint32_t>(1 + random.Uniform(4))});
    }
    for (ShardIndex shard = 0; shard < options.shards; ++shard) {
      endpoints_.push_back(*target_->MakeEndpoint(shard));
      ShardWorkerOptions worker;
      worker.shard = shard;
      worker.level = FtModel::kExactlyOnce;
      worker.progress = progress[shard];
      worker.released = options.base_steps;
      worker.random_seed = random.Next64();
      worker.commit_bytes_max = 1 + random.Uniform(200);
      worker.push_bytes_max = random.Uniform(40);
      worker.breaker = breaker;
      worker.refused_rows = {.tells_rows_apart = true,
                             .skip = true,
                             .dead_letters = &options.letters->at(shard)};
      workers_.push_back(
          ShardWorker::Create(worker,
                              {.endpoints = {endpoints_[shard].get()},
                               .committer = &target_->Committer(),
                               .keep_alive = nullptr},
                              queues_.at(shard), executor_, events_));
      workers_.back()->Start();
    }
  }

  void FlushStep(const JournaledStep& step) {
    handoff_->BeginStep(AckTracker::Register(tracker_, step.step),
                        budget_->ForceReserve(1'000));
    std::vector<TestRow> records;
    for (const std::string& row : step.rows) records.push_back({.value = row});
    handoff_->PushBatch(MakeBatch(records));
    ASSERT_NE(handoff_->EndStep(), Flow::kFatal);
  }
  void Release(Step count) {
    for (const auto& worker : workers_) worker->SetReleased(count);
  }
  void Relieve() { (void)handoff_->Relieve(); }
  void RunSome(size_t tasks) {
    for (size_t i = 0; i < tasks && executor_.RunOne(); ++i) Relieve();
  }
  // Until nothing happens any more, back-off included.
  void RunToTheEnd() {
    do {
      do {
        Relieve();
      } while (executor_.RunUntilIdle() > 0);
    } while (executor_.AdvanceToNextTimer());
  }
  void LiftTo(Step steps) {
    for (const auto& worker : workers_) {
      worker->Lift(steps, [this](const absl::Status& status) {
        EXPECT_EQ(status, absl::OkStatus());
        ++lifted_;
      });
    }
  }
  // The process is gone between two tasks.
  void Die() { executor_.DropAll(); }

  Step completed() const { return tracker_->completed(); }
  size_t lifted() const { return lifted_; }
  uint64_t budget_usage() const { return budget_->usage(); }

 private:
  ManualExecutor executor_;
  ShardQueues queues_;
  ShardEvents events_;
  std::shared_ptr<InflightBudget> budget_ =
      std::make_shared<InflightBudget>(InflightBudget::Options());
  std::shared_ptr<AckTracker> tracker_;
  std::unique_ptr<FakeTarget> target_;
  std::vector<std::unique_ptr<OutputEndpoint>> endpoints_;
  std::vector<std::shared_ptr<ShardWorker>> workers_;
  std::unique_ptr<Handoff> handoff_;
  size_t lifted_ = 0;
};

class Story {
 public:
  explicit Story(uint64_t seed)
      : random_(seed),
        shards_(1 + static_cast<uint32_t>(random_.Uniform(3))),
        separate_committer_(random_.Bernoulli(0.5)),
        fault_(random_.Double() * 0.3),
        bad_(random_.Bernoulli(0.5) ? random_.Double() : 0),
        letters_(shards_) {
    database_.SetJudge(RefuseBad(random_.Bernoulli(0.5)));
    for (RecordingDeadLetters& output : letters_) {
      output.on_write = [this, &output] {
        if (random_.Bernoulli(fault_)) {
          output.failures.push_back(MakeError(Reason::STORAGE_FULL, "drawn"));
        }
      };
    }
    database_.SetHook([this](const FakeDatabase::Call& call)
                          -> std::optional<FakeDatabase::Fault> {
      if (!random_.Bernoulli(fault_) ||
          call.operation == FakeDatabase::Operation::kOpen) {
        return std::nullopt;
      }
      return FakeDatabase::Fault{
          .status = MakeError(Reason::UNAVAILABLE, "drawn"),
          .lost = random_.Bernoulli(0.5)};
    });
    // INV-1: nothing is visible before it was journaled.
    database_.SetOnCommit([this](const std::string&, ShardIndex,
                                 const FakeDatabase::Transaction& added) {
      EXPECT_LE(added.steps.end, JournaledSteps());
    });
  }

  void Run() {
    const int lives = 1 + static_cast<int>(random_.Uniform(4));
    for (int i = 0; i < lives; ++i) {
      Live(/*last=*/i + 1 == lives);
      if (::testing::Test::HasFailure()) return;
    }
    Check();
  }

 private:
  Step JournaledSteps() const {
    return journal_.empty() ? 0 : journal_.back().step + 1;
  }

  void Live(bool last) {
    Life life(database_, random_,
              {.shards = shards_,
               .base_steps = 0,
               .open_number = ++open_number_,
               .separate_committer = separate_committer_,
               .letters = &letters_});
    // Recovery: everything journaled, in order.
    for (const JournaledStep& step : journal_) {
      life.FlushStep(step);
      life.Release(step.step + 1);
      if (random_.Bernoulli(0.5)) life.RunSome(random_.Uniform(20));
    }
    const int steps = static_cast<int>(random_.Uniform(8));
    for (int i = 0; i < steps; ++i) {
      // The number is used up, journaled or not.
      next_step_ += 1 + random_.Uniform(3);
      JournaledStep step{.step = next_step_, .rows = {}};
      const size_t rows = random_.Uniform(10);
      for (size_t row = 0; row < rows; ++row) {
        step.rows.push_back(absl::StrCat(random_.Uniform(shards_), "-",
                                         rows_made_++,
                                         random_.Bernoulli(bad_) ? "!" : ""));
      }
      life.FlushStep(step);
      life.RunSome(random_.Uniform(10));
      if (!last && random_.Bernoulli(0.1)) {
        life.Die();
        return;
      }
      journal_.push_back(std::move(step));
      life.RunSome(random_.Uniform(10));
      life.Release(JournaledSteps());
      life.RunSome(random_.Uniform(20));
    }
    if (!last) {
      life.Die();
      return;
    }
    fault_ = 0;
    life.RunToTheEnd();
    EXPECT_EQ(life.completed(), JournaledSteps());
    life.LiftTo(JournaledSteps());
    life.RunToTheEnd();
    EXPECT_EQ(life.lifted(), size_t{shards_});
    EXPECT_EQ(life.budget_usage(), 0u);
  }

  void Check() {
    for (ShardIndex shard = 0; shard < shards_; ++shard) {
      std::vector<std::string> expected;
      std::set<std::pair<std::string, std::string>> refused;
      for (const JournaledStep& step : journal_) {
        uint64_t number = 0;
        for (const std::string& row : step.rows) {
          if (row.front() != static_cast<char>('0' + shard)) continue;
          if (IsBad(row)) {
            refused.emplace(absl::StrCat(step.step, "/", number), row + "\n");
          } else {
            expected.push_back(row);
          }
          ++number;
        }
      }
      EXPECT_EQ(database_.Lines(kTable, shard), expected);
      EXPECT_EQ(database_.Progress(kTable, shard), JournaledSteps());
      // Perhaps several times, with one id.
      std::set<std::pair<std::string, std::string>> letters;
      for (size_t i = 0; i < letters_[shard].ids.size(); ++i) {
        letters.emplace(letters_[shard].ids[i], letters_[shard].rows[i]);
      }
      EXPECT_EQ(letters, refused);
      Step end = 0;
      for (const auto& transaction : database_.Transactions(kTable, shard)) {
        EXPECT_EQ(transaction.steps.begin, end);
        end = transaction.steps.end;
      }
    }
  }

  FakeDatabase database_;
  Random random_;
  const uint32_t shards_;
  const bool separate_committer_;
  double fault_;
  const double bad_;
  std::vector<RecordingDeadLetters> letters_;
  uint64_t open_number_ = 0;
  Step next_step_ = 0;
  uint64_t rows_made_ = 0;
  std::vector<JournaledStep> journal_;
};

TEST(ShardWorkerPropertyTest, EveryJournaledRowIsInTheTargetOnceAndInOrder) {
  Random random = TestRandom();
  const int runs = PropertyRuns(500);
  for (int i = 0; i < runs; ++i) {
    const uint64_t seed = random.Next64();
    SCOPED_TRACE(absl::StrCat("story ", i, ", its seed ", seed));
    Story(seed).Run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace penstock::core
