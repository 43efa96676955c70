#include "core/base/descriptor_watcher.h"

#include "core/base/notification.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <atomic>

namespace penstock::core {
namespace {

class DescriptorWatcherTest : public testing::Test {
 protected:
  DescriptorWatcherTest() { EXPECT_EQ(::pipe2(pipe_.data(), O_CLOEXEC), 0); }
  ~DescriptorWatcherTest() override {
    for (const int fd : pipe_) {
      if (fd >= 0) ::close(fd);
    }
  }
  int reading() const { return pipe_[0]; }
  void Write() const { EXPECT_EQ(::write(pipe_[1], "x", 1), 1); }
  void CloseWriting() {
    ::close(pipe_[1]);
    pipe_[1] = -1;
  }

  std::array<int, 2> pipe_ = {-1, -1};
  DescriptorWatcher watcher_;
};

TEST_F(DescriptorWatcherTest, CallsOnceWhenThereIsSomething) {
  std::atomic<int> calls = 0;
  Notification called;
  watcher_.WatchOnce(reading(), [&] {
    ++calls;
    called.Notify();
  });
  EXPECT_EQ(calls, 0);
  Write();
  called.WaitForNotification();
  // It is readable still, and nobody watches: another round shows that.
  Notification again;
  watcher_.WatchOnce(reading(), [&] { again.Notify(); });
  again.WaitForNotification();
  EXPECT_EQ(calls, 1);
}

TEST_F(DescriptorWatcherTest, CallsAtTheEnd) {
  Notification called;
  watcher_.WatchOnce(reading(), [&] { called.Notify(); });
  CloseWriting();
  called.WaitForNotification();
}

TEST_F(DescriptorWatcherTest, CallsNobodyThatWasForgotten) {
  std::atomic<int> calls = 0;
  watcher_.WatchOnce(reading(), [&] { ++calls; });
  watcher_.Forget(reading());
  Write();
  Notification called;
  watcher_.WatchOnce(reading(), [&] { called.Notify(); });
  called.WaitForNotification();
  EXPECT_EQ(calls, 0);
}

TEST_F(DescriptorWatcherTest, ForgettingWaitsForACallThatRuns) {
  Notification began;
  Notification may_end;
  std::atomic<bool> has_ended = false;
  Write();
  watcher_.WatchOnce(reading(), [&] {
    began.Notify();
    may_end.WaitForNotification();
    has_ended = true;
  });
  began.WaitForNotification();
  may_end.Notify();
  watcher_.Forget(reading());
  EXPECT_TRUE(has_ended);
}

TEST_F(DescriptorWatcherTest, ACallbackMayWatchAgain) {
  Notification called;
  Write();
  watcher_.WatchOnce(reading(), [&] {
    watcher_.WatchOnce(reading(), [&] { called.Notify(); });
  });
  called.WaitForNotification();
}

}  // namespace
}  // namespace penstock::core
