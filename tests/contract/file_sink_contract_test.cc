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
    FileSinkConfig config;
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
    auto listing = ListSinkFiles(files_, directory_);
    EXPECT_OK(listing);
    for (const SinkFile& file : *listing) {
      EXPECT_OK(files_.Remove(JoinPath(directory_, SinkFileName(file))));
    }
  }

 protected:
  FileSinkDriver(FileSystem& files, Executor& io, std::string directory)
      : files_(files), io_(io), directory_(std::move(directory)) {}

 private:
  FileSystem& files_;
  Executor& io_;
  const std::string directory_;
  const PathPolicy paths_{{}};
};

// In memory, on one thread, with failures.
struct FakeWorld {
  FakeFileSystem files;
  ManualExecutor io;
};
class FakeFileDriver final : private FakeWorld, public FileSinkDriver {
 public:
  FakeFileDriver() : FileSinkDriver(FakeWorld::files, FakeWorld::io, "/out") {}

  SinkCapabilities capabilities() const override {
    return {.buffer_bytes_max = kBufferBytesMax};
  }
  void FailNextWrite() override { files.ShortenNextAppend("/data-", 1); }
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
  RealFileDriver()
      : FileSinkDriver(PosixFileSystem(), RealWorld::io,
                       RealWorld::directory.Path("made/on/open")) {}

  SinkCapabilities capabilities() const override {
    return {.buffer_bytes_max = kBufferBytesMax, .can_fail = false};
  }
};

INSTANTIATE_TEST_SUITE_P(
    File, SinkContractTest,
    testing::Values(SinkDriverFactory{"Fake", std::make_unique<FakeFileDriver>},
                    SinkDriverFactory{"Real",
                                      std::make_unique<RealFileDriver>}),
    SinkDriverName);

}  // namespace
}  // namespace penstock::core
