#include "core/base/directory_events.h"

#include "core/base/filesystem.h"
#include "core/base/mutex.h"
#include "core/base/thread_pool_executor.h"
#include "tests/support/recording_log_sink.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::core {
namespace {

// How often there was a hint.
class Hints {
 public:
  DirectoryEvents::Callback callback() {
    return [this] {
      MutexLock lock(mu_);
      ++count_;
      more_.NotifyAll();
    };
  }
  int count() {
    MutexLock lock(mu_);
    return count_;
  }
  void WaitForMoreThan(int count) {
    MutexLock lock(mu_);
    more_.Wait(mu_, [&] {
      mu_.AssertHeld();
      return count_ > count;
    });
  }

 private:
  Mutex mu_;
  CondVar more_;
  int count_ ABSL_GUARDED_BY(mu_) = 0;
};

class DirectoryEventsTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) { return dir_.Path(name); }
  void Append(const std::string& name) {
    const auto file = PosixFileSystem().OpenForAppend(Path(name), {});
    ASSERT_OK(file.status());
    ASSERT_OK((*file)->Append("x"));
  }

  TempDir dir_;
  // Outlive those who watch.
  Hints hints_;
  Hints others_;
  DescriptorWatcher watcher_;
  ThreadPoolExecutor executor_{"test", 1};
  DirectoryEvents events_{watcher_, executor_, {}};
};

TEST_F(DirectoryEventsTest, TellsOfEachChangeOfAName) {
  const auto watch =
      events_.WatchDirectory(dir_.path(), "a", hints_.callback());
  ASSERT_NE(watch, nullptr);
  Append("a");
  hints_.WaitForMoreThan(0);
  int seen = hints_.count();
  Append("a");
  hints_.WaitForMoreThan(seen);
  seen = hints_.count();
  ASSERT_OK(PosixFileSystem().Rename(Path("a"), Path("b")));
  hints_.WaitForMoreThan(seen);
  seen = hints_.count();
  ASSERT_OK(PosixFileSystem().Rename(Path("b"), Path("a")));
  hints_.WaitForMoreThan(seen);
  EXPECT_TRUE(watch->IsAlive());
}

TEST_F(DirectoryEventsTest, TellsOnlyThoseWhoWatchTheName) {
  const auto all = events_.WatchDirectory(dir_.path(), "", hints_.callback());
  const auto other =
      events_.WatchDirectory(dir_.path(), "other", others_.callback());
  Append("a");
  hints_.WaitForMoreThan(0);
  EXPECT_EQ(others_.count(), 0);
  Append("other");
  others_.WaitForMoreThan(0);
}

TEST_F(DirectoryEventsTest, TellsNobodyWhoWatchesNoMore) {
  auto first = events_.WatchDirectory(dir_.path(), "a", hints_.callback());
  const auto second =
      events_.WatchDirectory(dir_.path(), "a", others_.callback());
  first.reset();
  Append("a");
  others_.WaitForMoreThan(0);
  EXPECT_EQ(hints_.count(), 0);
}

TEST_F(DirectoryEventsTest, EndsWithTheDirectory) {
  ASSERT_OK(PosixFileSystem().MakeDirectory(Path("d")));
  const auto watch = events_.WatchDirectory(Path("d"), "", hints_.callback());
  ASSERT_NE(watch, nullptr);
  ASSERT_OK(PosixFileSystem().Remove(Path("d")));
  hints_.WaitForMoreThan(0);
  // A removed one is told of twice, and gone with the second.
  while (watch->IsAlive()) hints_.WaitForMoreThan(hints_.count());
  EXPECT_EQ(events_.WatchDirectory(Path("d"), "", hints_.callback()), nullptr);
}

TEST_F(DirectoryEventsTest, EndsWhenTheDirectoryIsMoved) {
  ASSERT_OK(PosixFileSystem().MakeDirectory(Path("d")));
  const auto watch = events_.WatchDirectory(Path("d"), "", hints_.callback());
  ASSERT_NE(watch, nullptr);
  ASSERT_OK(PosixFileSystem().Rename(Path("d"), Path("e")));
  hints_.WaitForMoreThan(0);
  EXPECT_FALSE(watch->IsAlive());
}

TEST_F(DirectoryEventsTest, HasABoundThatIsToldOnce) {
  const auto log = std::make_shared<RecordingLogSink>();
  const auto before = SetLogSink(log);
  DirectoryEvents few(watcher_, executor_, {.watches_max = 1});
  ASSERT_OK(PosixFileSystem().MakeDirectory(Path("d")));
  const auto first = few.WatchDirectory(dir_.path(), "a", hints_.callback());
  EXPECT_NE(first, nullptr);
  // Another in the same directory takes none.
  EXPECT_NE(few.WatchDirectory(dir_.path(), "b", hints_.callback()), nullptr);
  EXPECT_EQ(few.WatchDirectory(Path("d"), "", hints_.callback()), nullptr);
  EXPECT_EQ(few.WatchDirectory(Path("d"), "", hints_.callback()), nullptr);
  SetLogSink(before);
  EXPECT_EQ(log->records().size(), 1U);
  Append("a");
  hints_.WaitForMoreThan(0);
}

TEST_F(DirectoryEventsTest, HasNoneOfWhatOthersThanTheKernelMayWrite) {
  EXPECT_EQ(events_.WatchDirectory("/proc", "", hints_.callback()), nullptr);
  EXPECT_EQ(events_.WatchDirectory(Path("none"), "", hints_.callback()),
            nullptr);
}

}  // namespace
}  // namespace penstock::core
