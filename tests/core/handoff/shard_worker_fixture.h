// A shard worker over a FakeDatabase, on an executor that the test runs.
#pragma once

#include "core/base/check.h"
#include "core/handoff/shard_worker.h"
#include "tests/core/handoff/handoff_fixtures.h"
#include "tests/support/fake_target.h"
#include "tests/support/manual_executor.h"

#include <absl/functional/any_invocable.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// Only remembers, as text.
class RecordingShardObserver final : public ShardObserver {
 public:
  void OnProgress(ShardIndex /*shard*/, Step steps) override {
    progress.push_back(steps);
  }
  void OnRetry(ShardIndex /*shard*/, const absl::Status& error,
               absl::Time at) override {
    retries.push_back(error);
    next_attempt = at;
  }
  void OnHeldBack(ShardIndex /*shard*/, const absl::Status& reason,
                  absl::Time at) override {
    held_back.push_back(reason);
    next_attempt = at;
  }
  void OnRecovered(ShardIndex /*shard*/) override { ++recovered; }
  void OnFatal(ShardIndex /*shard*/, const absl::Status& error) override {
    fatal.push_back(error);
  }

  std::vector<Step> progress;
  std::vector<absl::Status> retries;
  std::vector<absl::Status> held_back;
  absl::Time next_attempt;
  int recovered = 0;
  std::vector<absl::Status> fatal;
};

// One process: a target opened with a writer of its own, and one worker. A
// second one on the same database is another process.
class WorkerProcess {
 public:
  struct Options {
    FakeTarget::Options target;
    ShardWorkerOptions worker;
    uint64_t open_number = 1;
    bool first_open = true;
    Step base_steps = 0;
    std::shared_ptr<const void> keep_alive = {};
  };
  WorkerProcess(FakeDatabase& database, ManualExecutor& executor,
                Options options)
      : target(database, options.target) {
    OutputOpen open;
    open.incarnation = "inc";
    open.pipeline = "p";
    open.connector = "c";
    open.writer = {.epoch = 1, .open_number = options.open_number};
    open.base_steps = options.base_steps;
    open.first_open = options.first_open;
    open.shards = 1;
    open.level = options.target.level;
    const absl::StatusOr<std::vector<Step>> progress = target.Open(open);
    CHECK_OK(progress);
    options.worker.level = options.target.level;
    options.worker.frames = options.target.frames;
    if (!progress->empty()) options.worker.progress = progress->front();
    ShardSink sink{.endpoints = {},
                   .committer = &target.Committer(),
                   .keep_alive = options.keep_alive};
    for (uint32_t i = 0; i < options.target.writers_max; ++i) {
      endpoints.push_back(*target.MakeEndpoint(0));
      sink.endpoints.push_back(endpoints.back().get());
    }
    worker =
        ShardWorker::Create(options.worker, sink, queue, executor, observer);
    worker->Start();
  }

  FakeTarget target;
  std::vector<std::unique_ptr<OutputEndpoint>> endpoints;
  ShardQueue queue{1'000};
  RecordingShardObserver observer;
  std::shared_ptr<ShardWorker> worker;
};

class ShardWorkerTest : public ::testing::Test {
 protected:
  static constexpr char kTable[] = "p/c";
  using Operation = FakeDatabase::Operation;

  // Makes the process that the helpers below talk to.
  void Start(WorkerProcess::Options options = {}) {
    process_ = std::make_unique<WorkerProcess>(database_, executor_, options);
    executor_.RunUntilIdle();
  }

  // Runs `meanwhile` inside the next call of `operation`.
  void InNext(Operation operation, absl::AnyInvocable<void()> meanwhile) {
    database_.SetHook([operation, meanwhile = std::move(meanwhile),
                       done = false](const FakeDatabase::Call& call) mutable
                      -> std::optional<FakeDatabase::Fault> {
      if (call.operation == operation && !std::exchange(done, true)) {
        meanwhile();
      }
      return std::nullopt;
    });
  }

  // Queues a chunk, its text being a line.
  void SendChunk(Step step, absl::string_view text) {
    EncodedChunk chunk;
    FrameBuffer frame;
    frame.Append(absl::StrCat(text, "\n"));
    chunk.frame = SealedFrame(std::move(frame));
    chunk.rows = 1;
    chunk.step = step;
    chunk.index = next_index_[step]++;
    chunk.acks.Push(HandleOf(step).Share());
    chunk.lease = budget_->ForceReserve(text.size() + 1);
    Send(std::move(chunk));
  }
  void SendEnd(Step step) {
    StepEnd end{.step = step, .acks = {}};
    end.acks.Push(HandleOf(step).Share());
    Send(std::move(end));
    ResolveHandle(step);
  }
  // One chunk per text, then the StepEnd.
  void SendStep(Step step, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) SendChunk(step, text);
    SendEnd(step);
  }
  // Below exactly-once: no StepEnd.
  void SendChunks(Step step, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) SendChunk(step, text);
    ResolveHandle(step);
  }
  void Release(Step count) {
    process_->worker->SetReleased(count);
    executor_.RunUntilIdle();
  }
  // Runs Lift; nullopt: not answered.
  std::shared_ptr<std::optional<absl::Status>> Lift(Step steps) {
    auto answer = std::make_shared<std::optional<absl::Status>>();
    process_->worker->Lift(steps, [answer](absl::Status status) {
      CHECK(!answer->has_value()) << "answered twice";
      *answer = std::move(status);
    });
    return answer;
  }
  std::shared_ptr<std::optional<ShardStopReport>> Stop(
      absl::Duration deadline) {
    auto answer = std::make_shared<std::optional<ShardStopReport>>();
    process_->worker->Stop(deadline, [answer](ShardStopReport report) {
      CHECK(!answer->has_value()) << "answered twice";
      *answer = std::move(report);
    });
    return answer;
  }

  std::vector<std::string> Lines() const { return database_.Lines(kTable, 0); }
  // Step ranges of the transactions, as "[0,3) [3,4)".
  std::string Ranges() const {
    std::vector<std::string> ranges;
    for (const auto& transaction : database_.Transactions(kTable, 0)) {
      ranges.push_back(absl::StrCat("[", transaction.steps.begin, ",",
                                    transaction.steps.end, ")"));
    }
    return absl::StrJoin(ranges, " ");
  }
  ShardSnapshot Snapshot() const { return process_->worker->Snapshot(); }
  std::optional<AckStatus> AckOf(Step step) const { return acks_->Of(step); }

  void Send(ShardItem item) {
    ASSERT_EQ(process_->queue.TrySend(std::move(item)), SendResult::kSent);
  }
  StepHandle& HandleOf(Step step) {
    StepHandle& handle = handles_[step];
    if (handle.IsEmpty()) handle = StepHandle(step, acks_);
    return handle;
  }
  void ResolveHandle(Step step) {
    HandleOf(step);
    std::move(handles_.extract(step).mapped()).Resolve();
  }

  FakeDatabase database_;
  ManualExecutor executor_;
  std::shared_ptr<RecordingAckListener> acks_ =
      std::make_shared<RecordingAckListener>();
  std::shared_ptr<InflightBudget> budget_ =
      std::make_shared<InflightBudget>(InflightBudget::Options());
  std::map<Step, StepHandle> handles_;
  std::map<Step, uint32_t> next_index_;
  std::unique_ptr<WorkerProcess> process_;
};

}  // namespace penstock::core
