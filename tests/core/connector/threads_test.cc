// A connector on real threads, end to end: for the thread sanitizer, and to
// see that no wake-up is lost.
#include "core/base/notification.h"
#include "core/base/thread.h"
#include "core/base/thread_pool_executor.h"
#include "tests/core/connector/harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::SizeIs;

// Gives a command and waits for its answer.
template <typename T, typename Give>
absl::StatusOr<T> Await(Give give) {
  std::optional<absl::StatusOr<T>> answer;
  Notification came;
  give([&](absl::StatusOr<T> reply) {
    answer = std::move(reply);
    came.Notify();
  });
  came.WaitForNotification();
  return *std::move(answer);
}

template <typename Give>
absl::Status AwaitDone(Give give) {
  absl::Status answer;
  Notification came;
  give([&](absl::Status status) {
    answer = std::move(status);
    came.Notify();
  });
  came.WaitForNotification();
  return answer;
}

// Counts, as an observer on any thread would.
class CountingObserver final : public ConnectorObserver {
 public:
  explicit CountingObserver(std::atomic<int>& count) : count_(count) {}
  void OnChanged() override { ++count_; }
  void OnState(const std::string&, ConnectorState, ConnectorState) override {
    ++count_;
  }
  void OnError(const ErrorEntry&) override { ++count_; }
  void OnParseErrors(const std::vector<ParseError>&) override { ++count_; }
  void OnTransaction(bool, std::optional<std::string>) override { ++count_; }

 private:
  std::atomic<int>& count_;
};

// Threads without timers: whatever moves was woken.
class TimerlessExecutor final : public Executor {
 public:
  explicit TimerlessExecutor(Executor& executor) : executor_(executor) {}
  void Schedule(Task task) override { executor_.Schedule(std::move(task)); }
  TimerId ScheduleAfter(absl::Duration /*delay*/, Task /*task*/) override {
    return TimerId::kNone;
  }
  bool Cancel(TimerId /*id*/) override { return false; }
  const Clock& clock() const override { return executor_.clock(); }

 private:
  Executor& executor_;
};

class ThreadsTest : public testing::TestWithParam<FtModel> {
 protected:
  static constexpr size_t kRecords = 4000;

  static FakeSource::Options SourceOptions() {
    FakeSource::Options options;
    options.partitions = 4;
    options.records_per_buffer = 16;
    options.reads_itself = false;
    return options;
  }

  ThreadsTest() : source_(SourceOptions()), paths_({}) {
    registry_.RegisterSource(
        "source",
        [this](const ComponentConfig&, const Environment&)
            -> absl::StatusOr<std::unique_ptr<InputEndpoint>> {
          return source_.MakeEndpoint();
        });
    registry_.RegisterEncoder(
        "line",
        [](const ComponentConfig&, FrameKind,
           const Schema&) -> absl::StatusOr<std::unique_ptr<RowEncoder>> {
          return std::make_unique<LineEncoder>();
        });
    registry_.RegisterSink(
        "sink",
        [this](const ComponentConfig&, const Environment&)
            -> absl::StatusOr<std::unique_ptr<OutputTarget>> {
          return std::make_unique<FakeTarget>(database_);
        });
    request_.fence.pipeline = "pipeline";
    request_.incarnation = "incarnation";
    request_.first_open = true;
    request_.spec.name = "connector";
    request_.spec.source = std::make_shared<NamedConfig>("source");
    request_.spec.encoder = std::make_shared<NamedConfig>("line");
    request_.spec.sink = std::make_shared<NamedConfig>("sink");
    request_.spec.shards = 4;
    request_.spec.level = GetParam();
    // Small, so that everything fills up and waits for room.
    ConnectorLimits& limits = request_.spec.limits;
    limits.chunk_bytes = 256;
    limits.inflight_bytes_max = 16 << 10;
    limits.queued_bytes_max = 8 << 10;
    limits.shard_queue_chunks = 2;
    source_.AppendNumbered("k", kRecords);
    source_.End();
  }

  std::shared_ptr<Connector> Open() { return Open(drivers_); }
  std::shared_ptr<Connector> Open(Executor& executor) {
    ++request_.writer.open_number;
    std::shared_ptr<Connector> connector = Connector::Create(
        ConnectorRuntime{.executor = executor,
                         .io = io_,
                         .environment = {.files = files_,
                                         .io = io_,
                                         .clock = RealClock(),
                                         .paths = paths_},
                         .registry = registry_,
                         .random_seed = request_.writer.open_number},
        request_, std::make_unique<CountingObserver>(events_));
    const auto opened = Await<OpenReply>(
        [&](auto reply) { connector->Open(std::move(reply)); });
    EXPECT_OK(opened.status());
    return connector;
  }

  // Queues until end of input, releases each step, checkpoints now and then.
  void Control(Connector& connector, Step step) {
    while (true) {
      QueueRequest queue;
      queue.step = step;
      queue.previous_steps = step;
      queue.wait = absl::Seconds(10);
      queue.linger = absl::Milliseconds(1);
      const auto reply = Await<QueueReply>(
          [&](auto to) { connector.Queue(queue, std::move(to)); });
      ASSERT_OK(reply.status());
      if (reply->no_step.has_value()) {
        if (reply->no_step->end_of_input) return;
        continue;
      }
      results_.push_back(*reply->result);
      ++step;
      ASSERT_OK(
          AwaitDone([&](auto to) { connector.Release(step, std::move(to)); }));
      if (step % 8 != 0) continue;
      const auto ready = Await<PrepareCheckpointReply>([&](auto to) {
        connector.PrepareCheckpoint({.steps = step}, std::move(to));
      });
      ASSERT_OK(ready.status());
      ASSERT_TRUE(ready->ready);
      ASSERT_OK(AwaitDone([&](auto to) {
        connector.CommitCheckpoint({.steps = step}, std::move(to));
      }));
    }
  }

  static void WaitForCount(CountWatch& watch, Step steps) {
    Notification reached;
    std::atomic<bool> told{false};
    const auto look = [&](uint64_t count) {
      if (count >= steps && !told.exchange(true)) reached.Notify();
    };
    const std::shared_ptr<void> token = watch.Subscribe(look);
    look(watch.value());
    reached.WaitForNotification();
  }

  size_t LinesWritten() const {
    size_t lines = 0;
    for (ShardIndex shard = 0; shard < request_.spec.shards; ++shard) {
      lines +=
          database_
              .Lines(FakeDatabase::TableName("pipeline", "connector"), shard)
              .size();
    }
    return lines;
  }

  FakeDatabase database_;
  FakeSource source_;
  FakeFileSystem files_;
  const PathPolicy paths_;
  Registry registry_;
  std::atomic<int> events_{0};
  OpenRequest request_;
  std::vector<StepResult> results_;
  ThreadPoolExecutor io_{"io", 2};
  // Dies after the threads of `drivers_`, whose last tasks may still call it.
  TimerlessExecutor timerless_{drivers_};
  ThreadPoolExecutor drivers_{"driver", 2};
};

// Each buffer is staged while its Queue looks, waits, or is on its way.
TEST_P(ThreadsTest, NoWakeUpOfAWaitingQueueIsLost) {
  std::shared_ptr<Connector> connector = Open(timerless_);
  ASSERT_OK(AwaitDone([&](auto to) { connector->Extend(std::move(to)); }));
  constexpr Step kRounds = kRecords / 16;
  std::atomic<Step> asked{0};
  const Thread reader("reader", [&](const std::stop_token& stop) {
    for (Step read = 0; read < kRounds && !stop.stop_requested();) {
      if (asked.load() > read) read += source_.Read(1) > 0 ? 1 : 0;
    }
  });
  for (Step step = 0; step < kRounds; ++step) {
    QueueRequest queue;
    queue.step = step;
    queue.previous_steps = step;
    queue.min_records = 1;
    queue.wait = absl::Hours(1);
    const auto reply = Await<QueueReply>([&](auto to) {
      asked.store(step + 1);
      connector->Queue(queue, std::move(to));
    });
    ASSERT_OK(reply.status());
    ASSERT_NE(reply->result, nullptr);
    EXPECT_GT(reply->result->amount.records, 0u);
    ASSERT_OK(AwaitDone(
        [&](auto to) { connector->Release(step + 1, std::move(to)); }));
  }
}

TEST_P(ThreadsTest, EverythingArrivesWhileEverybodyActs) {
  std::shared_ptr<Connector> connector = Open();
  ASSERT_OK(AwaitDone([&](auto to) { connector->Extend(std::move(to)); }));
  {
    const Thread reader("reader", [&](const std::stop_token& stop) {
      while (!stop.stop_requested()) source_.Read(1);
    });
    const Thread watcher("watcher", [&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const ConnectorStatus status = connector->Status();
        EXPECT_LE(status.completed_steps, status.made_steps);
        EXPECT_LE(status.checkpointed_steps, status.completed_steps);
      }
    });
    Control(*connector, 0);
    if (HasFatalFailure()) return;
    WaitForCount(*connector->completed(), results_.back().step + 1);
  }
  EXPECT_EQ(LinesWritten(), kRecords);
  const ConnectorStatus status = connector->Status();
  EXPECT_EQ(status.buffered_total.records, kRecords);
  EXPECT_EQ(status.records_out, kRecords);
  EXPECT_EQ(status.inflight_bytes, 0u);
  EXPECT_GT(events_.load(), 0);
  const auto closed = Await<DisconnectReply>(
      [&](auto to) { connector->Disconnect({}, std::move(to)); });
  ASSERT_OK(closed.status());
  EXPECT_THAT(closed->dropped_steps, SizeIs(0));
  EXPECT_THAT(closed->unconfirmed_steps, SizeIs(0));
}

TEST_P(ThreadsTest, ConnectorMayDieAtAnyMoment) {
  for (int round = 0; round < 20; ++round) {
    std::shared_ptr<Connector> connector = Open();
    // Whatever the sink holds by now is another test's matter.
    request_.journaled_steps = 1'000'000;
    request_.first_open = false;
    ASSERT_OK(AwaitDone([&](auto to) { connector->Extend(std::move(to)); }));
    const Thread reader("reader", [&](const std::stop_token& stop) {
      while (!stop.stop_requested() && source_.has_reader()) source_.Read(1);
    });
    std::atomic<int> answers{0};
    QueueRequest queue;
    queue.step = 100'000 + static_cast<Step>(round);
    queue.wait = absl::Seconds(10);
    connector->Queue(queue,
                     [&](const absl::StatusOr<QueueReply>&) { ++answers; });
    connector->Release(0, [&](const absl::Status&) { ++answers; });
    connector.reset();
    // The driver may be running on its own thread just now.
    while (source_.has_reader() || answers.load() < 2) {
    }
    EXPECT_EQ(answers.load(), 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ThreadsTest,
                         testing::Values(FtModel::kExactlyOnce,
                                         FtModel::kAtLeastOnce));

class ReplayThreadsTest : public ThreadsTest {};

INSTANTIATE_TEST_SUITE_P(ExactlyOnce, ReplayThreadsTest,
                         testing::Values(FtModel::kExactlyOnce));

// What a crash left unreleased comes again by Replay, once.
TEST_P(ReplayThreadsTest, ReplayedStepsArriveOnce) {
  {
    std::shared_ptr<Connector> connector = Open();
    ASSERT_OK(AwaitDone([&](auto to) { connector->Extend(std::move(to)); }));
    const Thread reader("reader", [&](const std::stop_token& stop) {
      while (!stop.stop_requested()) source_.Read(1);
    });
    Control(*connector, 0);
    if (HasFatalFailure()) return;
    // Dropped while its last commits are under way.
    connector.reset();
    // Its driver may be running just now; the last one out ends the reader.
    while (source_.has_reader()) {
    }
  }
  request_.first_open = false;
  request_.journaled_steps = results_.back().step + 1;
  std::shared_ptr<Connector> connector = Open();
  for (const StepResult& result : results_) {
    ReplayRequest replay;
    replay.result = result;
    replay.previous_steps = result.step;
    ASSERT_OK(Await<ReplayReply>([&](auto to) {
                connector->Replay(replay, std::move(to));
              }).status());
  }
  WaitForCount(*connector->completed(), results_.back().step + 1);
  EXPECT_EQ(LinesWritten(), kRecords);
}

}  // namespace
}  // namespace penstock::core
