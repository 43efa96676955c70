// A shard worker below exactly-once with several writers and a breaker, through
// random faults in random order: nothing is lost, every step is acked.
#include "core/base/random.h"
#include "core/handoff/shard_worker.h"
#include "tests/core/handoff/property_runs.h"
#include "tests/core/handoff/shard_worker_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

class ShardWorkerLowerPropertyTest : public ShardWorkerTest {
 protected:
  void Open(uint64_t run) {
    writers_ = 1 + static_cast<uint32_t>(random_.Uniform(4));
    WorkerProcess::Options options;
    options.target = {.level = FtModel::kAtLeastOnce, .writers_max = writers_};
    options.open_number = run + 1;
    options.first_open = run == 0;
    options.worker.random_seed = random_.Next64();
    options.worker.delivery.batch_rows_max = 1 + random_.Uniform(5);
    options.worker.delivery.batch_bytes_max = 1 + random_.Uniform(30);
    options.worker.push_bytes_max = random_.Uniform(10);
    if (random_.Bernoulli(0.5)) {
      options.worker.breaker = std::make_shared<Breaker>(Breaker::Options{
          .consecutive_failures_max =
              static_cast<uint32_t>(1 + random_.Uniform(4)),
          .probes_max = static_cast<uint32_t>(1 + random_.Uniform(2))});
    }
    Start(options);
  }
  void RunSome() {
    const size_t tasks = random_.Uniform(15);
    for (size_t i = 0; i < tasks && executor_.RunOne(); ++i) {
      EXPECT_LE(Snapshot().writes_under_way, writers_);
    }
    if (random_.Bernoulli(0.2)) executor_.AdvanceToNextTimer();
  }
  void RunToTheEnd() {
    do {
      executor_.RunUntilIdle();
    } while (executor_.AdvanceToNextTimer());
  }
  // Returns: the steps that have rows.
  std::vector<Step> SendSome() {
    std::vector<Step> steps;
    for (uint64_t i = random_.Uniform(20); i > 0; --i) {
      const Step step = next_step_++;
      std::vector<std::string> texts;
      for (uint64_t row = random_.Uniform(4); row > 0; --row) {
        texts.push_back(absl::StrCat(step, "-", row));
      }
      if (!texts.empty()) steps.push_back(step);
      SendChunks(step, texts);
      sent_.insert(texts.begin(), texts.end());
      RunSome();
    }
    return steps;
  }

  Random random_ = TestRandom();
  uint32_t writers_ = 0;
  double fault_ = 0;
  Step next_step_ = 0;
  std::set<std::string> sent_;
};

TEST_F(ShardWorkerLowerPropertyTest, EveryRowArrivesAndEveryStepIsAcked) {
  executor_.SetPick([this](size_t ready) { return random_.Uniform(ready); });
  database_.SetHook([this](const FakeDatabase::Call& call)
                        -> std::optional<FakeDatabase::Fault> {
    if (call.operation == Operation::kOpen || !random_.Bernoulli(fault_)) {
      return std::nullopt;
    }
    return FakeDatabase::Fault{.status = MakeError(Reason::UNAVAILABLE, ""),
                               .lost = random_.Bernoulli(0.5)};
  });
  const int runs = PropertyRuns(300);
  for (int run = 0; run < runs && !HasFailure(); ++run) {
    SCOPED_TRACE(absl::StrCat("run ", run));
    Open(static_cast<uint64_t>(run));
    fault_ = random_.Double() * 0.4;
    const std::vector<Step> steps = SendSome();
    const auto lifted = Lift(next_step_);
    RunSome();
    fault_ = 0;
    RunToTheEnd();
    EXPECT_EQ(*lifted, absl::OkStatus());
    for (const Step step : steps) {
      EXPECT_EQ(AckOf(step), AckStatus::kDelivered) << "step " << step;
    }
    EXPECT_EQ(budget_->usage(), 0u);
    const auto report = Stop(absl::Seconds(1));
    RunToTheEnd();
    ASSERT_TRUE(report->has_value());
    EXPECT_TRUE((*report)->unconfirmed.empty());
  }
  const std::vector<std::string> lines = Lines();
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()), sent_);
}

}  // namespace
}  // namespace penstock::core
