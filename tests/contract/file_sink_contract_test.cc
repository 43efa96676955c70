#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/path_policy.h"
#include "core/base/thread_pool_executor.h"
#include "core/sinks/file/file_sink.h"
#include "core/sinks/file/file_sink_reader.h"
#include "core/sinks/file/layout.h"
#include "tests/contract/sink_suite.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <memory>
#include <utility>

namespace penstock::core {
namespace {

constexpr size_t kBufferBytesMax = 1000;

class FileSinkDriver : public SinkDriver {
 public:
  std::unique_ptr<OutputTarget> Make() override {
    FileSinkConfig config = config_;
    config.path = directory_;
    config.buffer_bytes_max = kBufferBytesMax;
    auto made = MakeFileSink(
        config,
        {.files = files_, .io = io_, .clock = RealClock(), .paths = paths_});
    EXPECT_OK(made);
    return *std::move(made);
  }

  std::vector<std::string> ReadBack(ShardIndex shard) override {
    std::vector<std::string> rows;
    auto reader = FileSinkReader::Open(files_, directory_);
    EXPECT_OK(reader);
    FileSinkLines lines = reader->Lines(shard);
    absl::string_view line;
    while (true) {
      const auto more = lines.Next(line);
      EXPECT_OK(more);
      if (!more.value_or(false)) return rows;
      rows.emplace_back(line);
    }
  }

  void Forget() override {
    RemoveFiles(JoinPath(directory_, kFilesDirectory));
    RemoveFiles(directory_);
  }

 protected:
  FileSinkDriver(FileSystem& files, Executor& io, std::string directory,
                 FileSinkConfig config)
      : files_(files),
        io_(io),
        directory_(std::move(directory)),
        config_(std::move(config)) {}

  const FileSinkConfig& config() const { return config_; }

 private:
  void RemoveFiles(const std::string& directory) {
    const auto names = files_.List(directory);
    if (HasReason(names.status(), Reason::NOT_FOUND)) return;
    EXPECT_OK(names);
    for (const std::string& name : *names) {
      if (name == kFilesDirectory) continue;
      EXPECT_OK(files_.Remove(JoinPath(directory, name)));
    }
  }

  FileSystem& files_;
  Executor& io_;
  const std::string directory_;
  const FileSinkConfig config_;
  const PathPolicy paths_{{}};
};

// A new file with every step.
FileSinkConfig Rolling() {
  FileSinkConfig config;
  config.roll.steps = 1;
  config.segment_files = 3;
  return config;
}

FileSinkConfig Renaming(Compression compression) {
  FileSinkConfig config = Rolling();
  config.visibility = FileVisibility::kRename;
  config.compression = compression;
  return config;
}

// In memory, on one thread, with failures.
struct FakeWorld {
  FakeFileSystem files;
  ManualExecutor io;
};
class FakeFileDriver final : private FakeWorld, public FileSinkDriver {
 public:
  explicit FakeFileDriver(FileSinkConfig config)
      : FileSinkDriver(FakeWorld::files, FakeWorld::io, "/out",
                       std::move(config)) {}

  SinkCapabilities capabilities() const override {
    // What is compressed reaches the disk in BatchEnd.
    return {.buffer_bytes_max = kBufferBytesMax,
            .can_fail = config().compression == Compression::kNone};
  }
  void FailNextWrite() override { files.ShortenNextAppend("data-", 1); }
  void FailNextCommit() override { files.ShortenNextAppend("/manifest.", 9); }
  void Pump() override { io.RunUntilIdle(); }
};

// On the disk, with threads.
struct RealWorld {
  TempDir directory;
  ThreadPoolExecutor io{"io", 2};
};
class RealFileDriver final : private RealWorld, public FileSinkDriver {
 public:
  explicit RealFileDriver(FileSinkConfig config)
      : FileSinkDriver(PosixFileSystem(), RealWorld::io,
                       RealWorld::directory.Path("made/on/open"),
                       std::move(config)) {}

  SinkCapabilities capabilities() const override {
    return {.buffer_bytes_max = kBufferBytesMax, .can_fail = false};
  }
};

template <typename Driver>
SinkDriverFactory FactoryOf(std::string name, const FileSinkConfig& config) {
  return {std::move(name),
          [config] { return std::make_unique<Driver>(config); }};
}

INSTANTIATE_TEST_SUITE_P(
    File, SinkContractTest,
    testing::Values(
        FactoryOf<FakeFileDriver>("Fake", {}),
        FactoryOf<FakeFileDriver>("FakeRolling", Rolling()),
        FactoryOf<FakeFileDriver>("FakeRenaming", Renaming(Compression::kNone)),
        FactoryOf<FakeFileDriver>("FakeGzip", Renaming(Compression::kGzip)),
        FactoryOf<RealFileDriver>("Real", {}),
        FactoryOf<RealFileDriver>("RealZstd", Renaming(Compression::kZstd))),
    SinkDriverName);

}  // namespace
}  // namespace penstock::core
