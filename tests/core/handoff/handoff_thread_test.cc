// What crosses threads: acks, tracker, budget, queues, pool, whole lanes. To be
// run under the thread sanitizer, too.
#include "core/base/mutex.h"
#include "core/base/notification.h"
#include "core/base/thread.h"
#include "core/base/thread_pool_executor.h"
#include "core/handoff/ack_tracker.h"
#include "core/handoff/basic_sink_handoff.h"
#include "core/handoff/budget.h"
#include "core/handoff/shard_queues.h"
#include "core/handoff/shard_worker.h"
#include "tests/core/handoff/handoff_fixtures.h"
#include "tests/support/fake_target.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

constexpr char kTable[] = "p/c";

class CountingListener final : public AckListener {
 public:
  void OnAck(Step, AckStatus worst) override {
    ++(worst == AckStatus::kDelivered ? delivered : failed);
  }
  std::atomic<int> delivered{0};
  std::atomic<int> failed{0};
};

TEST(HandoffThreadTest, AStepResolvesOnceWhoeverDropsTheLastHandle) {
  const auto listener = std::make_shared<CountingListener>();
  for (int round = 0; round < 2'000; ++round) {
    StepHandle handle(static_cast<Step>(round), listener);
    AckRef first = handle.Share();
    AckRef second = handle.Share();
    if (round % 2 == 1) second.Fail();
    {
      Thread other("drop", [&](const std::stop_token&) {
        const AckRef clone = first;
        first = AckRef();
      });
      second = AckRef();
      std::move(handle).Resolve();
    }
    ASSERT_EQ(listener->delivered + listener->failed, round + 1);
  }
  EXPECT_EQ(listener->delivered, 1'000);
  EXPECT_EQ(listener->failed, 1'000);
}

TEST(HandoffThreadTest, TheTrackerCountsWhoeverResolves) {
  constexpr Step kSteps = 5'000;
  std::atomic<Step> highest{0};
  const auto tracker =
      std::make_shared<AckTracker>(0, RealClock(), [&](Step completed) {
        Step seen = highest.load();
        while (seen < completed &&
               !highest.compare_exchange_weak(seen, completed)) {
        }
      });
  ShardQueues lanes(2, kSteps);
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (ShardIndex lane = 0; lane < 2; ++lane) {
      threads.push_back(std::make_unique<Thread>(
          absl::StrCat("lane", lane), [&, lane](const std::stop_token&) {
            for (Step seen = 0; seen < kSteps;) {
              std::optional<ShardItem> item = lanes.at(lane).TryReceive();
              if (!item.has_value()) continue;
              ++seen;
              std::move(std::get<StepEnd>(*item).acks).Deliver();
            }
          }));
    }
    for (Step step = 0; step < kSteps; ++step) {
      StepHandle handle = AckTracker::Register(tracker, step);
      for (ShardIndex lane = 0; lane < 2; ++lane) {
        StepEnd end{.step = step, .acks = {}};
        end.acks.Push(handle.Share());
        ASSERT_EQ(lanes.at(lane).TrySend(std::move(end)), SendResult::kSent);
      }
      std::move(handle).Resolve();
      ASSERT_LE(tracker->completed(), step + 1);
    }
    for (const auto& thread : threads) thread->Join();
  }
  EXPECT_EQ(tracker->completed(), kSteps);
  EXPECT_EQ(highest.load(), kSteps);
  EXPECT_EQ(tracker->outstanding(), 0u);
}

TEST(HandoffThreadTest, TheBudgetAddsUpWhoeverReturns) {
  const auto budget =
      std::make_shared<InflightBudget>(InflightBudget::Options{.limit = 1'000});
  std::atomic<int> rooms{0};
  budget->SetOnRoom([&] { ++rooms; });
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (int i = 0; i < 3; ++i) {
      threads.push_back(std::make_unique<Thread>(
          absl::StrCat("holder", i), [&](const std::stop_token&) {
            BudgetLease kept;
            for (int round = 0; round < 5'000; ++round) {
              std::optional<BudgetLease> lease = budget->TryReserve(300);
              if (!lease.has_value()) {
                kept = BudgetLease();
                continue;
              }
              BudgetLease part = lease->Split(100);
              kept.Merge(std::move(part));
              if (round % 3 == 0) kept = BudgetLease();
            }
          }));
    }
    for (const auto& thread : threads) thread->Join();
  }
  EXPECT_EQ(budget->usage(), 0u);
  EXPECT_EQ(budget->overdrafts(), 0u);
  EXPECT_GT(rooms.load(), 0);
}

// Wakes who waits for room, or for anything else that a callback tells.
class Bell {
 public:
  void Ring() {
    {
      MutexLock lock(mu_);
      ++rings_;
    }
    cv_.NotifyAll();
  }
  uint64_t rings() {
    MutexLock lock(mu_);
    return rings_;
  }
  // Until it has rung since `rings` was read.
  void Wait(uint64_t rings) {
    MutexLock lock(mu_);
    cv_.Wait(mu_, [&] {
      mu_.AssertHeld();
      return rings_ != rings;
    });
  }

 private:
  Mutex mu_;
  CondVar cv_;
  uint64_t rings_ ABSL_GUARDED_BY(mu_) = 0;
};

TEST(HandoffThreadTest, ManySendersOneReceiverKeepTheirOrder) {
  constexpr Step kItems = 5'000;
  constexpr int kSenders = 3;
  ShardQueue queue(4);
  Bell room;
  Bell items;
  queue.SetOnRoom([&] { room.Ring(); });
  queue.SetOnItems([&] { items.Ring(); });
  std::vector<std::unique_ptr<Thread>> threads;
  for (int sender = 0; sender < kSenders; ++sender) {
    threads.push_back(std::make_unique<Thread>(
        absl::StrCat("sender", sender), [&, sender](const std::stop_token&) {
          for (Step i = 0; i < kItems;) {
            // The sender in the upper half, the number in the lower.
            const Step step = (static_cast<Step>(sender) << 32) | i;
            const uint64_t rings = room.rings();
            if (queue.TrySend(StepEnd{.step = step, .acks = {}}) ==
                SendResult::kSent) {
              ++i;
            } else {
              room.Wait(rings);
            }
          }
        }));
  }
  Step next[kSenders] = {};
  for (Step seen = 0; seen < kSenders * kItems;) {
    const uint64_t rings = items.rings();
    const std::vector<ShardItem> received = queue.ReceiveAll();
    if (received.empty()) items.Wait(rings);
    for (const ShardItem& item : received) {
      const Step step = std::get<StepEnd>(item).step;
      ASSERT_EQ(step & 0xffffffff, next[step >> 32]++);
      ++seen;
    }
  }
  for (const auto& thread : threads) thread->Join();
  EXPECT_EQ(queue.size(), 0u);
}

// What is shown as a queue's length is that, and no sum of ups and downs.
TEST(HandoffThreadTest, AQueuesSizeIsItsLengthAtAnyTime) {
  constexpr size_t kItems = 4;
  ShardQueue queue(kItems);
  std::atomic<bool> done{false};
  Thread sender("sender", [&](const std::stop_token&) {
    for (int i = 0; i < 20'000; ++i) {
      (void)queue.TrySend(StepEnd{.step = 0, .acks = {}});
    }
    queue.Close();
    done = true;
  });
  Thread receiver("receiver", [&](const std::stop_token&) {
    while (!done) {
      (void)queue.TryReceive();
      (void)queue.ReceiveAll();
    }
  });
  while (!done) ASSERT_LE(queue.size(), kItems);
  sender.Join();
  receiver.Join();
  const size_t left = queue.size();
  EXPECT_EQ(queue.ReceiveAll().size(), left);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(HandoffThreadTest, ACloseWhileOthersSendLosesNoAck) {
  const auto listener = std::make_shared<CountingListener>();
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    StepHandle handle(static_cast<Step>(round), listener);
    auto queue = std::make_unique<ShardQueue>(2);
    {
      Thread sender("sender", [&](const std::stop_token&) {
        for (int i = 0; i < 20; ++i) {
          StepEnd end{.step = 0, .acks = {}};
          end.acks.Push(handle.Share());
          (void)queue->TrySend(std::move(end));
        }
      });
      for (ShardItem& item : queue->ReceiveAll()) {
        std::move(std::get<StepEnd>(item).acks).Deliver();
      }
      queue->Close();
    }
    queue.reset();
    std::move(handle).Resolve();
    ASSERT_EQ(listener->delivered + listener->failed, round + 1);
  }
}

class QuietObserver final : public ShardObserver {
 public:
  void OnProgress(ShardIndex, Step) override {}
  void OnRetry(ShardIndex, const absl::Status&, absl::Time) override {}
  void OnHeldBack(ShardIndex, const absl::Status&, absl::Time) override {}
  void OnRecovered(ShardIndex) override {}
  void OnFatal(ShardIndex, const absl::Status& error) override {
    ADD_FAILURE() << error;
  }
};

// A driver thread encodes, a pool writes two shards, the tracker counts.
TEST(HandoffThreadTest, LanesOnAPoolDeliverEverythingInOrder) {
  constexpr Step kSteps = 200;
  constexpr int kRows = 50;
  FakeDatabase database;
  std::atomic<int> calls{0};
  database.SetHook([&](const FakeDatabase::Call& call)
                       -> std::optional<FakeDatabase::Fault> {
    // Not at each push: a large batch would never come through.
    const bool ends = call.operation == FakeDatabase::Operation::kBatchEnd ||
                      call.operation == FakeDatabase::Operation::kCommit;
    if (!ends || ++calls % 5 != 0) return std::nullopt;
    return FakeDatabase::Fault{.status = MakeError(Reason::UNAVAILABLE, ""),
                               .lost = calls % 2 == 0};
  });
  ThreadPoolExecutor pool("io", 3);
  FakeTarget target(database,
                    {.separate_committer = true, .commit_executor = &pool});
  OutputOpen open{.incarnation = "inc", .pipeline = "p", .connector = "c"};
  open.writer = {.epoch = 1, .open_number = 1};
  open.first_open = true;
  open.shards = 2;
  open.level = FtModel::kExactlyOnce;
  ASSERT_TRUE(target.Open(open).ok());

  ShardQueues queues(2, 4);
  const auto budget = std::make_shared<InflightBudget>(
      InflightBudget::Options{.limit = 100'000});
  Bell room;
  budget->SetOnRoom([&] { room.Ring(); });
  for (ShardIndex shard = 0; shard < 2; ++shard) {
    queues.at(shard).SetOnRoom([&] { room.Ring(); });
  }
  QuietObserver observer;
  Notification completed;
  const auto tracker =
      std::make_shared<AckTracker>(0, RealClock(), [&](Step count) {
        if (count == kSteps) completed.Notify();
      });
  std::vector<std::unique_ptr<OutputEndpoint>> endpoints;
  std::vector<std::shared_ptr<ShardWorker>> workers;
  for (ShardIndex shard = 0; shard < 2; ++shard) {
    endpoints.push_back(*target.MakeEndpoint(shard));
    ShardWorkerOptions options;
    options.shard = shard;
    options.level = FtModel::kExactlyOnce;
    options.delivery.retry.initial = absl::Microseconds(50);
    options.delivery.retry.max = absl::Milliseconds(1);
    workers.push_back(
        ShardWorker::Create(options,
                            {.endpoints = {endpoints.back().get()},
                             .committer = &target.Committer(),
                             .keep_alive = nullptr},
                            queues.at(shard), pool, observer));
    workers.back()->Start();
  }
  ChunkConfig config;
  config.target_bytes = 100;
  config.level = FtModel::kExactlyOnce;
  SinkHandoff<PrefixEncoder, DigitRouter> handoff(
      std::make_unique<PrefixEncoder>(), DigitRouter(), queues, budget, config,
      RealClock());
  for (Step step = 0; step < kSteps; ++step) {
    std::optional<BudgetLease> reservation;
    while (true) {
      const uint64_t rings = room.rings();
      (void)handoff.Relieve();
      reservation = budget->TryReserve(2'000);
      if (reservation.has_value()) break;
      room.Wait(rings);
    }
    handoff.BeginStep(AckTracker::Register(tracker, step),
                      *std::move(reservation));
    std::vector<TestRow> records;
    for (int row = 0; row < kRows; ++row) {
      records.push_back({.value = absl::StrCat(row % 2, "-", step, "-", row)});
    }
    handoff.PushBatch(MakeBatch(records));
    ASSERT_NE(handoff.EndStep(), Flow::kFatal);
    for (const auto& worker : workers) worker->SetReleased(step + 1);
  }
  while (true) {
    const uint64_t rings = room.rings();
    if (handoff.Relieve() != Flow::kBlocked) break;
    room.Wait(rings);
  }
  completed.WaitForNotification();
  EXPECT_EQ(budget->usage(), 0u);
  Notification stopped[2];
  for (ShardIndex shard = 0; shard < 2; ++shard) {
    workers[shard]->Stop(absl::Seconds(5),
                         [&stopped, shard](const ShardStopReport& report) {
                           EXPECT_TRUE(report.unconfirmed.empty());
                           stopped[shard].Notify();
                         });
  }
  for (Notification& done : stopped) done.WaitForNotification();
  for (ShardIndex shard = 0; shard < 2; ++shard) {
    const std::vector<std::string> rows =
        DecodeRows(database.Contents(kTable, shard));
    ASSERT_EQ(rows.size(), kSteps * kRows / 2);
    size_t place = 0;
    for (Step step = 0; step < kSteps; ++step) {
      for (int row = static_cast<int>(shard); row < kRows; row += 2) {
        ASSERT_EQ(rows[place++], absl::StrCat(shard, "-", step, "-", row));
      }
    }
  }
}

}  // namespace
}  // namespace penstock::core
