// The source "file" that follows files on a real disk, and is told of changes:
// its clock stands still wherever it must not need one.
#include "core/base/directory_events.h"
#include "core/base/notification.h"
#include "core/base/path_policy.h"
#include "core/base/thread_pool_executor.h"
#include "core/format/raw/raw_format.h"
#include "core/sources/file/file_source.h"
#include "tests/support/manual_executor.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;

constexpr absl::Duration kWatched = absl::Seconds(5);

class WatchedFilesTest : public testing::Test {
 protected:
  WatchedFilesTest() {
    EXPECT_EQ(::pipe2(pipe_.data(), O_CLOEXEC), 0);
    config_.path = dir_.Path("*.log");
    config_.follow = true;
  }
  ~WatchedFilesTest() override {
    reader_.reset();
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }

  void Open(DirectoryEvents* events) {
    FileSource source(config_, environment_, events);
    auto opened = source.Open(consumer_, *MakeRawParser(RawConfig()), Schema(),
                              std::nullopt);
    ASSERT_OK(opened.status());
    reader_ = std::move(opened->reader);
    reader_->Request(ExtendCommand{});
  }
  void Append(const std::string& path, absl::string_view bytes) {
    const auto file = PosixFileSystem().OpenForAppend(path, {});
    ASSERT_OK(file.status());
    ASSERT_OK((*file)->Append(bytes));
  }
  // Does `change`, waits until all who watch `directory` were told, and runs
  // what came of it, without any time passing.
  template <typename Change>
  void AfterHint(const std::string& directory, Change change) {
    Notification told;
    auto once = std::make_shared<std::atomic<bool>>(false);
    const auto watch = events_.WatchDirectory(directory, "", [&told, once] {
      if (!once->exchange(true)) told.Notify();
    });
    ASSERT_NE(watch, nullptr);
    change();
    told.WaitForNotification();
    // Behind the callbacks of the same change, on their thread.
    Notification done;
    EXPECT_EQ(::write(pipe_[1], "x", 1), 1);
    watcher_.WatchOnce(pipe_[0], [&done] { done.Notify(); });
    done.WaitForNotification();
    char byte = 0;
    EXPECT_EQ(::read(pipe_[0], &byte, 1), 1);
    executor_.RunUntilIdle();
  }
  // From now to the next search.
  absl::Duration Pause() const {
    return executor_.NextTimer() - executor_.clock().SteadyNow();
  }
  std::vector<std::string> Queue() {
    reader_->Request(QueueCommand{});
    std::vector<std::string> values;
    const auto step = consumer_.transcript().steps.back();
    for (const auto& record : step.records) {
      values.push_back(*record.value);
    }
    return values;
  }

  TempDir dir_;
  std::array<int, 2> pipe_ = {-1, -1};
  DescriptorWatcher watcher_;
  ThreadPoolExecutor hints_{"hints", 1};
  ManualExecutor executor_;
  DirectoryEvents events_{watcher_, hints_, {}};
  const PathPolicy paths_{{}};
  const Environment environment_{.files = PosixFileSystem(),
                                 .io = executor_,
                                 .clock = executor_.clock(),
                                 .paths = paths_};
  FileSourceConfig config_;
  RecordingConsumer consumer_;
  std::unique_ptr<InputReader> reader_;
};

TEST_F(WatchedFilesTest, ReadsAtOnceWhatIsAddedAndAppears) {
  Append(dir_.Path("a.log"), "1\n");
  Open(&events_);
  executor_.Advance(absl::Seconds(1));
  EXPECT_THAT(Queue(), ElementsAre("1"));
  AfterHint(dir_.path(), [&] { Append(dir_.Path("a.log"), "2\n"); });
  EXPECT_THAT(Queue(), ElementsAre("2"));
  AfterHint(dir_.path(), [&] { Append(dir_.Path("b.log"), "3\n"); });
  EXPECT_THAT(Queue(), ElementsAre("3"));
}

TEST_F(WatchedFilesTest, WaitsLongWhereItWillBeTold) {
  config_.path = dir_.Path("a.log");
  Append(config_.path, "");
  Open(&events_);
  executor_.Advance(absl::Seconds(1));
  EXPECT_GT(Pause(), absl::Seconds(1));
  EXPECT_LE(Pause(), kWatched);
  AfterHint(dir_.path(), [&] { Append(config_.path, "1\n"); });
  EXPECT_THAT(Queue(), ElementsAre("1"));
  // It may grow on: looked at soon.
  EXPECT_LT(Pause(), absl::Seconds(1));
}

TEST_F(WatchedFilesTest, LooksOftenWhereItWillNot) {
  Open(nullptr);
  executor_.Advance(absl::Seconds(5));
  EXPECT_LT(Pause(), absl::Seconds(1));
  reader_.reset();
  DirectoryEvents none(watcher_, hints_, {.watches_max = 0});
  Open(&none);
  executor_.Advance(absl::Seconds(5));
  EXPECT_LT(Pause(), absl::Seconds(1));
  // And finds all the same.
  Append(dir_.Path("a.log"), "1\n");
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(Queue(), ElementsAre("1"));
}

TEST_F(WatchedFilesTest, LooksOftenUntilTheDirectoryIsThere) {
  config_.path = dir_.Path("later/*.log");
  Open(&events_);
  executor_.Advance(absl::Seconds(5));
  EXPECT_LT(Pause(), absl::Seconds(1));
  ASSERT_OK(PosixFileSystem().MakeDirectory(dir_.Path("later")));
  executor_.Advance(absl::Seconds(3));
  EXPECT_GT(Pause(), absl::Seconds(1));
  AfterHint(dir_.Path("later"),
            [&] { Append(dir_.Path("later/a.log"), "1\n"); });
  EXPECT_THAT(Queue(), ElementsAre("1"));
}

TEST_F(WatchedFilesTest, WatchesWhereALinkLeads) {
  ASSERT_OK(PosixFileSystem().MakeDirectory(dir_.Path("real")));
  Append(dir_.Path("real/x"), "1\n");
  ASSERT_EQ(::symlink(dir_.Path("real/x").c_str(), dir_.Path("a.log").c_str()),
            0);
  Open(&events_);
  executor_.Advance(absl::Seconds(5));
  EXPECT_THAT(Queue(), ElementsAre("1"));
  // It may be made to lead elsewhere on a way that nobody watches.
  EXPECT_LE(Pause(), absl::Seconds(1));
  AfterHint(dir_.Path("real"), [&] { Append(dir_.Path("real/x"), "2\n"); });
  EXPECT_THAT(Queue(), ElementsAre("2"));
}

TEST_F(WatchedFilesTest, LooksOftenAtAFileThatLeft) {
  config_.path = dir_.Path("a.log");
  Append(config_.path, "1\n");
  Open(&events_);
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(Queue(), ElementsAre("1"));
  // Somebody has it open: what is written to it now is told by nobody.
  const auto writer = PosixFileSystem().OpenForAppend(config_.path, {});
  ASSERT_OK(writer.status());
  AfterHint(dir_.path(),
            [&] { ASSERT_OK(PosixFileSystem().Remove(config_.path)); });
  EXPECT_LT(Pause(), absl::Seconds(1));
  ASSERT_OK((*writer)->Append("2\n"));
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(Queue(), ElementsAre("2"));
}

}  // namespace
}  // namespace penstock::core
