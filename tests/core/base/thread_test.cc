#include "core/base/thread.h"

#include "core/base/notification.h"

#include <gtest/gtest.h>

#include <pthread.h>

#include <memory>
#include <stop_token>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

TEST(ThreadTest, DestructorStopsAndJoins) {
  bool saw_stop = false;
  {
    Notification started;
    const Thread thread("worker", [&](const std::stop_token& token) {
      started.Notify();
      Notification stop;
      const std::stop_callback on_stop(token, [&stop] { stop.Notify(); });
      stop.WaitForNotification();
      saw_stop = true;
    });
    started.WaitForNotification();
  }
  EXPECT_TRUE(saw_stop);
}

TEST(ThreadTest, JoinWaitsWithoutStopping) {
  bool stopped = true;
  Thread thread("worker", [&](const std::stop_token& token) {
    stopped = token.stop_requested();
  });
  thread.Join();
  EXPECT_FALSE(stopped);
  thread.Join();
}

TEST(ThreadTest, TheSystemKnowsTheCutName) {
  char name[16] = {};
  Thread thread("a-name-of-20-letters", [&](const std::stop_token&) {
    pthread_getname_np(pthread_self(), name, sizeof(name));
  });
  thread.Join();
  EXPECT_EQ(std::string(name), "a-name-of-20-le");
  EXPECT_EQ(thread.name(), "a-name-of-20-letters");
}

TEST(ThreadTest, BodyMayOwnWhatCannotBeCopied) {
  auto value = std::make_unique<int>(7);
  int seen = 0;
  Thread thread("worker", [&seen, value = std::move(value)](
                              const std::stop_token&) { seen = *value; });
  thread.Join();
  EXPECT_EQ(seen, 7);
}

TEST(ThreadTest, TokenCanBeStoppedFromOutside) {
  Thread thread("worker", [](const std::stop_token&) {});
  const std::stop_token token = thread.stop_token();
  EXPECT_FALSE(token.stop_requested());
  thread.RequestStop();
  EXPECT_TRUE(token.stop_requested());
}

TEST(HardwareThreadsTest, IsAtLeastOne) { EXPECT_GE(HardwareThreads(), 1); }

}  // namespace
}  // namespace penstock::core
