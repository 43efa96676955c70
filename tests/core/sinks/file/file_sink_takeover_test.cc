// Two processes with a pair of writers, stopped and woken at every operation:
// the higher one holds all that the lower one ever reported.
#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "tests/core/sinks/file/hooked_filesystem.h"
#include "tests/core/sinks/file/sink_process.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/recording_log_sink.h"
#include "tests/support/status_matchers.h"

#include <absl/functional/function_ref.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <utility>

namespace penstock::core {
namespace {

constexpr Step kSteps = 3;
constexpr uint64_t kToTheEnd = std::numeric_limits<uint64_t>::max();

// Lets one of two threads run at a time, each for a number of operations.
//
// Threads: thread-safe.
class Turns {
 public:
  // Before each operation, on the thread of `player`: waits for its turn.
  void Operation(int player) {
    MutexLock lock(mu_);
    WaitForTurn(player);
    if (left_ == 0) {
      Pass();
      WaitForTurn(player);
    }
    --left_;
    ++operations_[player];
  }
  void Begin(int player) {
    MutexLock lock(mu_);
    WaitForTurn(player);
  }
  void End(int player) {
    MutexLock lock(mu_);
    ended_[player] = true;
    if (turn_ == player) Pass();
  }
  // The turns in order, beginning with player 0; the last is without end.
  void Play(std::vector<uint64_t> turns) {
    MutexLock lock(mu_);
    turns_ = std::move(turns);
    turn_ = 0;
    left_ = turns_.front();
    changed_.NotifyAll();
  }
  uint64_t operations(int player) const {
    MutexLock lock(mu_);
    return operations_[player];
  }

 private:
  void WaitForTurn(int player) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    changed_.Wait(mu_, [this, player] {
      mu_.AssertHeld();
      return turn_ == player || (turn_ >= 0 && ended_[1 - player]);
    });
    if (turn_ != player) {
      turn_ = player;
      left_ = kToTheEnd;
    }
  }
  void Pass() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    turn_ = 1 - turn_;
    ++next_;
    left_ = next_ < turns_.size() ? turns_[next_] : kToTheEnd;
    changed_.NotifyAll();
  }

  mutable Mutex mu_;
  mutable CondVar changed_;
  std::vector<uint64_t> turns_ ABSL_GUARDED_BY(mu_);
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;
  int turn_ ABSL_GUARDED_BY(mu_) = -1;
  uint64_t left_ ABSL_GUARDED_BY(mu_) = 0;
  bool ended_[2] ABSL_GUARDED_BY(mu_) = {false, false};
  uint64_t operations_[2] ABSL_GUARDED_BY(mu_) = {0, 0};
};

struct TakeoverCase {
  const char* name;
  // How often the lower writer tries a batch again that failed.
  int retries;
  FileSinkConfig config;
};

class FileSinkTakeoverTest : public testing::TestWithParam<TakeoverCase> {
 protected:
  SinkProcess::Options OptionsOf(int player) const {
    return {.open_number = player == 0 ? uint64_t{1} : uint64_t{2},
            // Neither open was journaled before the other began.
            .first_open = true,
            .steps = kSteps,
            .retries = player == 0 ? GetParam().retries : 0,
            .config = GetParam().config};
  }

  // How many operations the open of a lower writer takes.
  uint64_t OperationsOfOpen() const {
    FakeFileSystem files;
    uint64_t operations = 0;
    HookedFileSystem hooked(files, [&] {
      ++operations;
      return absl::OkStatus();
    });
    SinkProcess low(hooked, OptionsOf(0));
    low.Open();
    EXPECT_OK(low.opened());
    return operations;
  }

  static void ExpectHeldByTheHigher(const SinkProcess& low,
                                    const SinkProcess& high) {
    ASSERT_OK(high.opened());
    EXPECT_OK(high.status());
    if (!low.opened().ok()) {
      EXPECT_THAT(low.opened(), HasReason(Reason::WRITER_FENCED));
      return;
    }
    for (ShardIndex shard = 0; shard < kShards; ++shard) {
      EXPECT_LE(low.confirmed()[shard], (*high.opened())[shard]) << shard;
    }
    if (!low.status().ok()) {
      EXPECT_THAT(low.status(), HasReason(Reason::WRITER_FENCED));
    }
  }

  // The lower writer stops before any operation; the higher one opens, and
  // `fault` is what becomes of each operation of its, from 0, with the trouble
  // at any of them; the lower one wakes; a third takes over.
  void ThirdWriterFindsAll(
      absl::FunctionRef<absl::Status(uint64_t operation, uint64_t at)> fault)
      const {
    bool low_ended = false;
    for (uint64_t first = 0; !low_ended && !HasFailure(); ++first) {
      bool high_ended = false;
      for (uint64_t second = 0; !high_ended && !HasFailure(); ++second) {
        SCOPED_TRACE(absl::StrCat("stopped at ", first, ", fault at ", second));
        FakeFileSystem files;
        uint64_t high_operations = 0;
        HookedFileSystem faulty(
            files, [&] { return fault(high_operations++, second); });
        SinkProcess high(faulty, OptionsOf(1));
        uint64_t low_operations = 0;
        HookedFileSystem hooked(files, [&] {
          if (low_operations++ == first) high.Open();
          return absl::OkStatus();
        });
        SinkProcess low(hooked, OptionsOf(0));
        low.Run();
        low_ended = low_operations <= first;
        high_ended = high.opened().ok() || low_ended;
        ThirdWriterHolds(files, low);
      }
    }
  }

  void ThirdWriterHolds(FakeFileSystem& files, const SinkProcess& low) const {
    SinkProcess third(
        files,
        {.open_number = 3, .steps = kSteps, .config = GetParam().config});
    third.Run();
    EXPECT_OK(third.Close());
    ASSERT_OK(third.opened());
    ASSERT_OK(third.status());
    for (ShardIndex shard = 0; low.opened().ok() && shard < kShards; ++shard) {
      EXPECT_LE(low.confirmed()[shard], (*third.opened())[shard]);
    }
    CheckAtTheEnd(files);
  }

  void CheckAtTheEnd(FakeFileSystem& files) const {
    ASSERT_OK_AND_ASSIGN(const Committed committed,
                         ReadCommitted(files, kDirectory));
    EXPECT_TRUE(committed.settled);
    ExpectConsistent(committed);
    EXPECT_THAT(committed.progress, testing::Each(kSteps));
    if (GetParam().config.visibility == FileVisibility::kRename) {
      EXPECT_EQ(ReadWholeFiles(files), committed.contents);
    }
  }
};

// The lower writer stops before any operation, the higher one runs from its
// open to its end, the lower one wakes.
TEST_P(FileSinkTakeoverTest, StoppedWriterThatWakesDoesNoHarm) {
  const uint64_t open_operations = OperationsOfOpen();
  bool passed_the_end = false;
  uint64_t at = 0;
  while (!passed_the_end && !HasFailure()) {
    SCOPED_TRACE(absl::StrCat("stopped before operation ", at));
    FakeFileSystem files;
    SinkProcess high(files, OptionsOf(1));
    uint64_t operations = 0;
    HookedFileSystem hooked(files, [&] {
      if (operations++ == at) high.Run();
      return absl::OkStatus();
    });
    SinkProcess low(hooked, OptionsOf(0));
    low.Run();
    EXPECT_OK(low.Close());
    passed_the_end = operations <= at;
    if (passed_the_end) high.Run();
    EXPECT_OK(high.Close());
    // A late open changes nothing, not even its own mind later.
    EXPECT_EQ(low.opened().ok(), at >= open_operations);
    ExpectHeldByTheHigher(low, high);
    CheckAtTheEnd(files);
    ++at;
  }
  EXPECT_GE(at, 40);
}

// The same, but the higher writer only opens while the lower one is stopped,
// and writes after that one has come to its end.
TEST_P(FileSinkTakeoverTest, WriterThatWakesBeforeTheHigherWritesDoesNoHarm) {
  bool passed_the_end = false;
  uint64_t at = 0;
  while (!passed_the_end && !HasFailure()) {
    SCOPED_TRACE(absl::StrCat("stopped before operation ", at));
    FakeFileSystem files;
    SinkProcess high(files, OptionsOf(1));
    uint64_t operations = 0;
    HookedFileSystem hooked(files, [&] {
      if (operations++ == at) high.Open();
      return absl::OkStatus();
    });
    SinkProcess low(hooked, OptionsOf(0));
    low.Run();
    EXPECT_OK(low.Close());
    passed_the_end = operations <= at;
    if (passed_the_end) high.Open();
    ASSERT_OK(high.opened());
    high.WriteAll();
    EXPECT_OK(high.Close());
    ExpectHeldByTheHigher(low, high);
    CheckAtTheEnd(files);
    ++at;
  }
}

// The higher writer, too, is stopped at every operation, and the lower one
// runs on meanwhile.
TEST_P(FileSinkTakeoverTest, TwoWritersInterleavedInAnyWayDoNoHarm) {
  bool low_ended = false;
  for (uint64_t first = 0; !low_ended && !HasFailure(); ++first) {
    bool high_ended = false;
    for (uint64_t second = 1; !high_ended && !HasFailure(); ++second) {
      SCOPED_TRACE(absl::StrCat("turns of ", first, ", ", second));
      FakeFileSystem files;
      Turns turns;
      std::vector<std::unique_ptr<HookedFileSystem>> views;
      std::vector<std::unique_ptr<SinkProcess>> processes;
      for (int player = 0; player < 2; ++player) {
        views.push_back(
            std::make_unique<HookedFileSystem>(files, [&turns, player] {
              turns.Operation(player);
              return absl::OkStatus();
            }));
        processes.push_back(
            std::make_unique<SinkProcess>(*views.back(), OptionsOf(player)));
      }
      {
        std::vector<std::unique_ptr<Thread>> threads;
        for (int player = 0; player < 2; ++player) {
          threads.push_back(std::make_unique<Thread>(
              absl::StrCat("player-", player), [&, player](std::stop_token) {
                turns.Begin(player);
                SinkProcess& process = *processes[static_cast<size_t>(player)];
                process.Run();
                EXPECT_OK(process.Close());
                turns.End(player);
              }));
        }
        turns.Play({first, second, kToTheEnd, kToTheEnd});
      }
      ExpectHeldByTheHigher(*processes[0], *processes[1]);
      CheckAtTheEnd(files);
      low_ended = turns.operations(0) < first;
      high_ended = turns.operations(1) < second;
    }
  }
}

// A higher writer dies at any operation of its open; the lower one wakes; a
// third takes over from whatever they left.
TEST_P(FileSinkTakeoverTest, ThirdWriterFindsAllThatWasReported) {
  ThirdWriterFindsAll([](uint64_t operation, uint64_t at) -> absl::Status {
    if (operation < at) return absl::OkStatus();
    return MakeError(Reason::IO_ERROR, "the process has died");
  });
}

// The higher writer meets a full disk at any operation of its open, and takes
// its claim back; the lower one wakes; a third takes over.
TEST_P(FileSinkTakeoverTest, ThirdWriterFindsAllBehindAnOpenThatWasTakenBack) {
  ThirdWriterFindsAll([](uint64_t operation, uint64_t at) -> absl::Status {
    if (operation != at) return absl::OkStatus();
    return MakeError(Reason::STORAGE_FULL, "the disk is full");
  });
}

// The lower writer stops before any operation of its open, two higher ones come
// and go, and with them what it was about to read. It may not take that for
// damage: there is a truth that explains it.
TEST_P(FileSinkTakeoverTest, StoppedOpenFindsThatItIsFencedWhateverIsGone) {
  const auto options = [](uint64_t open_number, Step steps) {
    return SinkProcess::Options{.open_number = open_number,
                                .first_open = open_number == 1,
                                .steps = steps,
                                .config = GetParam().config};
  };
  const bool renames = GetParam().config.visibility == FileVisibility::kRename;
  bool passed_the_end = false;
  for (uint64_t at = 0; !passed_the_end && !HasFailure(); ++at) {
    SCOPED_TRACE(absl::StrCat("stopped before operation ", at));
    FakeFileSystem files;
    SinkProcess(files, options(1, 1)).Run();
    uint64_t operations = 0;
    HookedFileSystem hooked(files, [&] {
      if (operations++ == at) {
        SinkProcess(files, options(3, 2)).Run();
        SinkProcess last(files, options(4, kSteps));
        last.Run();
        EXPECT_OK(last.Close());
      }
      return absl::OkStatus();
    });
    SinkProcess low(hooked, options(2, kSteps));
    const auto log = std::make_shared<RecordingLogSink>();
    {
      const ScopedLogSink scoped(log);
      low.Open();
    }
    EXPECT_THAT(log->records(), testing::IsEmpty())
        << "that it was removed already is no news";
    passed_the_end = operations <= at;
    if (passed_the_end) {
      EXPECT_OK(low.opened());
    } else if ((operations > at + 1 && !renames) || !low.opened().ok()) {
      // The last operations only remove what is superseded, and rename what
      // every higher writer holds to be finished.
      EXPECT_THAT(low.opened(), HasReason(Reason::WRITER_FENCED));
    } else {
      low.WriteAll();
      EXPECT_THAT(low.status(), HasReason(Reason::WRITER_FENCED));
    }
    if (!passed_the_end) CheckAtTheEnd(files);
  }
}

// What a reader has seen settled never changes: it only grows.
TEST_P(FileSinkTakeoverTest, ReaderNeverSeesRowsDisappear) {
  bool passed_the_end = false;
  for (uint64_t at = 0; !passed_the_end && !HasFailure(); ++at) {
    SCOPED_TRACE(absl::StrCat("stopped before operation ", at));
    FakeFileSystem files;
    std::vector<Step> seen(kShards, 0);
    const auto look = [&] {
      const auto committed = ReadCommitted(files, kDirectory);
      if (!committed.ok()) return absl::OkStatus();
      ExpectConsistent(*committed);
      if (!committed->settled) return absl::OkStatus();
      for (ShardIndex shard = 0; shard < kShards; ++shard) {
        EXPECT_GE(committed->progress[shard], seen[shard]);
        seen[shard] = committed->progress[shard];
      }
      return absl::OkStatus();
    };
    HookedFileSystem high_view(files, look);
    SinkProcess high(high_view, OptionsOf(1));
    uint64_t operations = 0;
    HookedFileSystem low_view(files, [&] {
      if (operations++ == at) high.Open();
      return look();
    });
    SinkProcess low(low_view, OptionsOf(0));
    low.Run();
    EXPECT_OK(low.Close());
    passed_the_end = operations <= at;
    if (passed_the_end) high.Open();
    high.WriteAll();
    EXPECT_OK(look());
    EXPECT_THAT(seen, testing::Each(kSteps));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FileSinkTakeoverTest,
    testing::Values(TakeoverCase{"GivesUp", 0, {}},
                    TakeoverCase{"TriesAgain", 2, {}},
                    TakeoverCase{"InParts", 1, InParts(60)},
                    TakeoverCase{"Rolling", 1, Rolling()},
                    TakeoverCase{"Renaming", 1, Renaming(Compression::kNone)},
                    TakeoverCase{"Compressing", 0,
                                 Renaming(Compression::kGzip)}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace penstock::core
