#include "core/base/mutex.h"

#include "core/base/clock.h"
#include "core/base/notification.h"
#include "core/base/thread.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace penstock::core {
namespace {

struct Counter {
  Mutex mu;
  CondVar changed;
  int value ABSL_GUARDED_BY(mu) = 0;
};

TEST(MutexTest, KeepsThreadsApart) {
  Counter counter;
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (int t = 0; t < 4; ++t) {
      threads.push_back(
          std::make_unique<Thread>("count", [&](const std::stop_token&) {
            for (int i = 0; i < 5000; ++i) {
              MutexLock lock(counter.mu);
              ++counter.value;
            }
          }));
    }
  }
  MutexLock lock(counter.mu);
  EXPECT_EQ(counter.value, 20000);
}

// Whether another thread could take `mu` now.
bool IsFree(Mutex& mu) {
  bool taken = false;
  Thread other("try", [&](const std::stop_token&) {
    if (mu.TryLock()) {
      taken = true;
      mu.Unlock();
    }
  });
  other.Join();
  return taken;
}

TEST(MutexTest, TryLockFailsWhileAnotherHolds) {
  Mutex mu;
  {
    MutexLock lock(mu);
    EXPECT_FALSE(IsFree(mu));
  }
  EXPECT_TRUE(IsFree(mu));
}

TEST(CondVarTest, WaitReturnsOnceThePredicateHolds) {
  Counter counter;
  Thread other("set", [&](const std::stop_token&) {
    for (int i = 0; i < 3; ++i) {
      {
        MutexLock lock(counter.mu);
        ++counter.value;
      }
      counter.changed.NotifyOne();
    }
  });
  MutexLock lock(counter.mu);
  counter.changed.Wait(counter.mu, [&] {
    counter.mu.AssertHeld();
    return counter.value == 3;
  });
  EXPECT_EQ(counter.value, 3);
}

TEST(CondVarTest, WaitUntilGivesUpAtTheDeadline) {
  Counter counter;
  const absl::Time start = RealClock().SteadyNow();
  MutexLock lock(counter.mu);
  EXPECT_FALSE(counter.changed.WaitUntil(
      counter.mu, start + absl::Milliseconds(20), [] { return false; }));
  EXPECT_GE(RealClock().SteadyNow() - start, absl::Milliseconds(20));
}

TEST(CondVarTest, WaitUntilInThePastOnlyEvaluates) {
  Counter counter;
  MutexLock lock(counter.mu);
  EXPECT_TRUE(counter.changed.WaitUntil(counter.mu, absl::InfinitePast(),
                                        [] { return true; }));
  EXPECT_FALSE(counter.changed.WaitUntil(counter.mu, absl::InfinitePast(),
                                         [] { return false; }));
}

TEST(CondVarTest, WaitUntilInfinityWaitsForTheNotification) {
  Counter counter;
  Thread other("set", [&](const std::stop_token&) {
    {
      MutexLock lock(counter.mu);
      counter.value = 1;
    }
    counter.changed.NotifyAll();
  });
  MutexLock lock(counter.mu);
  EXPECT_TRUE(
      counter.changed.WaitUntil(counter.mu, absl::InfiniteFuture(), [&] {
        counter.mu.AssertHeld();
        return counter.value == 1;
      }));
}

TEST(StopWakerTest, StopEndsAWait) {
  // Repeated, for a lost wake-up shows only now and then.
  for (int round = 0; round < 200; ++round) {
    Counter counter;
    bool stopped = false;
    {
      Thread waiter("wait", [&](const std::stop_token& token) {
        const StopWaker waker(token, counter.mu, counter.changed);
        MutexLock lock(counter.mu);
        counter.changed.Wait(counter.mu,
                             [&] { return token.stop_requested(); });
        stopped = true;
      });
      waiter.RequestStop();
    }
    ASSERT_TRUE(stopped);
  }
}

TEST(StopWakerTest, MayBeMadeAfterTheStop) {
  std::stop_source source;
  source.request_stop();
  Counter counter;
  const StopWaker waker(source.get_token(), counter.mu, counter.changed);
  MutexLock lock(counter.mu);
  counter.changed.Wait(counter.mu, [&] { return source.stop_requested(); });
}

TEST(NotificationTest, IsRaisedOnce) {
  Notification notification;
  EXPECT_FALSE(notification.HasBeenNotified());
  EXPECT_FALSE(
      notification.WaitForNotificationWithTimeout(absl::Milliseconds(5)));
  notification.Notify();
  EXPECT_TRUE(notification.HasBeenNotified());
  EXPECT_TRUE(notification.WaitForNotificationWithTimeout(absl::Seconds(0)));
  notification.WaitForNotification();
}

TEST(NotificationTest, MakesEarlierWritesVisible) {
  int value = 0;
  Notification notification;
  Thread other("notify", [&](const std::stop_token&) {
    value = 7;
    notification.Notify();
  });
  notification.WaitForNotification();
  EXPECT_EQ(value, 7);
}

TEST(NotificationTest, MayBeDestroyedAsSoonAsTheWaitReturned) {
  for (int round = 0; round < 200; ++round) {
    auto notification = std::make_unique<Notification>();
    Thread other("notify",
                 [&](const std::stop_token&) { notification->Notify(); });
    notification->WaitForNotification();
    notification.reset();
  }
}

TEST(NotificationDeathTest, SecondNotifyAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Notification notification;
  notification.Notify();
  EXPECT_DEATH(notification.Notify(), "raised once");
}

}  // namespace
}  // namespace penstock::core
