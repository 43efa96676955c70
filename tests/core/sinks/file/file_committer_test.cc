// The committer under threads: the rest is in file_sink_test.cc.
#include "core/sinks/file/file_committer.h"

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/path_policy.h"
#include "core/base/thread.h"
#include "core/base/thread_pool_executor.h"
#include "core/sinks/file/file_sink.h"
#include "core/sinks/file/file_sink_reader.h"
#include "tests/core/sinks/file/sink_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace penstock::core {
namespace {

constexpr ShardIndex kManyShards = 6;
constexpr Step kSteps = 20;

// One shard's worker: writes a row a step and waits for each commit.
void WriteShard(OutputCommitter& committer, OutputEndpoint& endpoint,
                ShardIndex shard) {
  for (Step step = 0; step < kSteps; ++step) {
    const std::string row = absl::StrCat(shard, ":", step, "\n");
    ASSERT_OK(endpoint.BatchStart({.steps = {step, step + 1}}));
    ASSERT_OK(endpoint.PushBuffer(row));
    ASSERT_OK(endpoint.BatchEnd());
    struct Answer {
      Mutex mu;
      CondVar came;
      std::vector<absl::Status> answers ABSL_GUARDED_BY(mu);
    } answer;
    committer.Commit(shard, {step, step + 1}, [&answer](absl::Status status) {
      MutexLock lock(answer.mu);
      answer.answers.push_back(std::move(status));
      answer.came.NotifyAll();
    });
    MutexLock lock(answer.mu);
    ASSERT_TRUE(answer.came.WaitUntil(
        answer.mu, RealClock().SteadyNow() + absl::Seconds(20), [&answer] {
          answer.mu.AssertHeld();
          return !answer.answers.empty();
        }));
    ASSERT_THAT(answer.answers, testing::ElementsAre(IsOk()));
  }
}

TEST(FileCommitterThreadsTest, ShardsCommitSideBySide) {
  TempDir directory;
  ThreadPoolExecutor io("io", 2);
  const PathPolicy paths({});
  FileSinkConfig config;
  config.path = directory.Path("out");
  // Parts are made while the shards write.
  config.manifest_bytes_max = 1000;
  OutputOpen open = OpenOf(1, true);
  open.shards = kManyShards;
  FileSink sink(config, {.files = PosixFileSystem(),
                         .io = io,
                         .clock = RealClock(),
                         .paths = paths});
  ASSERT_OK(sink.Open(open));
  std::vector<std::unique_ptr<OutputEndpoint>> endpoints;
  for (ShardIndex shard = 0; shard < kManyShards; ++shard) {
    ASSERT_OK_AND_ASSIGN(endpoints.emplace_back(), sink.MakeEndpoint(shard));
  }
  {
    std::vector<std::unique_ptr<Thread>> workers;
    for (ShardIndex shard = 0; shard < kManyShards; ++shard) {
      workers.push_back(std::make_unique<Thread>(
          absl::StrCat("shard-", shard), [&, shard](const std::stop_token&) {
            WriteShard(sink.Committer(), *endpoints[shard], shard);
          }));
    }
  }
  ASSERT_OK_AND_ASSIGN(const Committed committed,
                       ReadCommitted(PosixFileSystem(), config.path));
  EXPECT_THAT(committed.progress, testing::ElementsAreArray(
                                      std::vector<Step>(kManyShards, kSteps)));
  for (ShardIndex shard = 0; shard < kManyShards; ++shard) {
    std::string expected;
    for (Step step = 0; step < kSteps; ++step) {
      absl::StrAppend(&expected, shard, ":", step, "\n");
    }
    EXPECT_EQ(committed.contents[shard], expected);
  }
}

}  // namespace
}  // namespace penstock::core
