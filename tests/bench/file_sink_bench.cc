// The file sink on the disk of the temporary directory, syncs included.
#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/path_policy.h"
#include "core/base/thread_pool_executor.h"
#include "core/sinks/file/file_sink.h"
#include "core/sinks/file/layout.h"
#include "core/sinks/file/manifest.h"
#include "core/sinks/file/takeover.h"
#include "tests/support/temp_dir.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

constexpr size_t kFrameBytes = 256 << 10;

// Counts down to zero and lets one thread wait for it.
class Countdown {
 public:
  explicit Countdown(size_t count) : count_(count) {}
  void Down() {
    MutexLock lock(mu_);
    if (--count_ == 0) zero_.NotifyAll();
  }
  void Wait() {
    MutexLock lock(mu_);
    zero_.Wait(mu_, [this] {
      mu_.AssertHeld();
      return count_ == 0;
    });
  }

 private:
  Mutex mu_;
  CondVar zero_;
  size_t count_ ABSL_GUARDED_BY(mu_);
};

// An open sink with a worker's two I/O threads.
class Sink {
 public:
  explicit Sink(ShardIndex shards) {
    FileSinkConfig config;
    config.path = directory_.Path("out");
    sink_ = std::make_unique<FileSink>(config,
                                       Environment{.files = PosixFileSystem(),
                                                   .io = io_,
                                                   .clock = RealClock(),
                                                   .paths = paths_});
    CHECK_OK(sink_->Open({.incarnation = "1234abcd",
                          .pipeline = "p",
                          .connector = "c",
                          .writer = {.epoch = 1, .open_number = 1},
                          .base_steps = 0,
                          .first_open = true,
                          .shards = shards,
                          .level = FtModel::kExactlyOnce}));
    for (ShardIndex shard = 0; shard < shards; ++shard) {
      auto endpoint = sink_->MakeEndpoint(shard);
      CHECK_OK(endpoint);
      endpoints_.push_back(*std::move(endpoint));
    }
  }

  // Writes `frames` frames to every shard, side by side, and commits.
  void WriteStep(size_t frames) {
    Countdown committed(endpoints_.size());
    for (ShardIndex shard = 0; shard < endpoints_.size(); ++shard) {
      io_.Schedule([this, shard, frames, &committed] {
        const StepRange steps = {step_, step_ + 1};
        OutputEndpoint& endpoint = *endpoints_[shard];
        CHECK_OK(endpoint.BatchStart({.steps = steps}));
        for (size_t i = 0; i < frames; ++i) {
          CHECK_OK(endpoint.PushBuffer(frame_));
        }
        CHECK_OK(endpoint.BatchEnd());
        sink_->Committer().Commit(shard, steps,
                                  [&committed](const absl::Status& status) {
                                    CHECK_OK(status);
                                    committed.Down();
                                  });
      });
    }
    committed.Wait();
    ++step_;
  }

  OutputEndpoint& endpoint(ShardIndex shard) { return *endpoints_[shard]; }
  const std::string& frame() const { return frame_; }

 private:
  const TempDir directory_;
  const PathPolicy paths_{{}};
  const std::string frame_ = [] {
    std::string frame(kFrameBytes, 'x');
    frame.back() = '\n';
    return frame;
  }();
  ThreadPoolExecutor io_{"io", 2};
  std::unique_ptr<FileSink> sink_;
  std::vector<std::unique_ptr<OutputEndpoint>> endpoints_;
  Step step_ = 0;
};

// A step of `frames` frames a shard: written, synced, committed.
void BM_FileSink_Step(benchmark::State& state) {
  const auto shards = static_cast<ShardIndex>(state.range(0));
  const auto frames = static_cast<size_t>(state.range(1));
  Sink sink(shards);
  for (auto unused : state) sink.WriteStep(frames);
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(shards * frames * kFrameBytes));
}
BENCHMARK(BM_FileSink_Step)
    ->ArgNames({"shards", "frames"})
    ->Args({1, 0})
    ->Args({4, 0})
    ->Args({1, 32})
    ->Args({4, 8})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Frames into the page cache: what PushBuffer adds to write(2).
void BM_FileSink_PushBuffer(benchmark::State& state) {
  auto sink = std::make_unique<Sink>(1);
  int64_t frames = 0;
  CHECK_OK(sink->endpoint(0).BatchStart({.steps = {0, 1}}));
  for (auto unused : state) {
    CHECK_OK(sink->endpoint(0).PushBuffer(sink->frame()));
    // A batch begun again is cut back: the file stays small.
    if (++frames % 128 == 0) {
      CHECK_OK(sink->endpoint(0).BatchStart({.steps = {0, 1}}));
    }
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(kFrameBytes));
}
BENCHMARK(BM_FileSink_PushBuffer);

// The look for a higher writer, in a directory that saw many opens.
void BM_FileSink_Look(benchmark::State& state) {
  const TempDir directory;
  for (int64_t i = 0; i < state.range(0); ++i) {
    const Writer writer = {.epoch = 1,
                           .open_number = static_cast<uint64_t>(i / 6)};
    const SinkFile file = {
        .kind = i % 6 == 0   ? SinkFileKind::kClaim
                : i % 6 == 1 ? SinkFileKind::kManifest
                             : SinkFileKind::kData,
        .writer = writer,
        .number = i % 6 < 2 ? 0 : static_cast<uint32_t>(i % 6 - 2)};
    CHECK_OK(PosixFileSystem().OpenForAppend(directory.Path(SinkFileName(file)),
                                             {}));
  }
  const Writer last = {.epoch = 2, .open_number = 1};
  for (auto unused : state) {
    CHECK_OK(CheckFence(PosixFileSystem(), directory.path(), last));
  }
}
BENCHMARK(BM_FileSink_Look)->ArgName("files")->Arg(6)->Arg(600)->Arg(6000);

// Reading the manifest of an open that has committed for hours.
void BM_FileSink_ParseManifest(benchmark::State& state) {
  const Writer writer = {.epoch = 1, .open_number = 1};
  CommittedState empty;
  empty.progress.assign(4, 0);
  std::string bytes = EncodeHeader({.identity = {"1234abcd", "p", "c"},
                                    .writer = writer,
                                    .shards = 4,
                                    .level = FtModel::kExactlyOnce}) +
                      EncodeState(empty);
  uint64_t sequence = kFirstCommitSequence;
  while (bytes.size() < (size_t{16} << 20)) {
    std::vector<ShardCommit> commits;
    for (ShardIndex shard = 0; shard < 4; ++shard) {
      commits.push_back(
          {.shard = shard, .bytes = sequence << 20, .progress = sequence});
    }
    bytes += EncodeCommit(sequence++, commits);
  }
  for (auto unused : state) {
    const Manifest manifest = ParseManifest(bytes, writer);
    CHECK(manifest.outcome == Manifest::Outcome::kComplete);
    benchmark::DoNotOptimize(manifest.good_bytes);
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(bytes.size()));
}
BENCHMARK(BM_FileSink_ParseManifest)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock::core
