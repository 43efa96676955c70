// A process that opens a file sink and writes steps whose rows are known.
#pragma once

#include "core/base/clock.h"
#include "core/base/filesystem.h"
#include "core/base/path_policy.h"
#include "core/contract/output_target.h"
#include "core/sinks/file/config.h"
#include "core/sinks/file/file_sink.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock::core {

inline constexpr ShardIndex kShards = 2;
inline constexpr char kDirectory[] = "/data/out";

// The rows of one step in one shard: none, one, or several, of very different
// lengths; always the same ones. Each ends in a newline.
std::vector<std::string> RowsOf(ShardIndex shard, Step step);
// All rows of the shard below `steps`, one after the other.
std::string ContentsBelow(ShardIndex shard, Step steps);

// Connector "c" in exactly-once, opened by writer (1, `open_number`).
OutputOpen OpenOf(uint64_t open_number, bool first_open);

// Threads: confined to one thread at a time.
class SinkProcess {
 public:
  struct Options {
    uint64_t open_number = 1;
    bool first_open = true;
    // The steps to write end here.
    Step steps = 4;
    // How often a batch that failed is tried again, whatever the error.
    int retries = 0;
    // Its path is kDirectory.
    FileSinkConfig config;
  };
  SinkProcess(FileSystem& files, Options options);

  // Opens, then writes every step of every shard from the shard's progress on.
  // Even steps of all shards are committed in one round, odd ones shard by
  // shard. Ends early at an error.
  void Run();
  // The two halves of Run.
  void Open();
  void WriteAll();
  // Lets time pass.
  void Advance(absl::Duration duration);
  absl::Status Close() { return sink_.Close(); }

  // What Open returned.
  const absl::StatusOr<std::vector<Step>>& opened() const { return opened_; }
  // By shard: the highest progress that the sink confirmed, Open included.
  // Empty if Open failed.
  const std::vector<Step>& confirmed() const { return confirmed_; }
  // The first error of a step, or OK.
  const absl::Status& status() const { return status_; }

 private:
  absl::Status WriteBatch(ShardIndex shard, Step step);
  absl::Status WriteStep(Step step, const std::vector<ShardIndex>& shards);

  const Options options_;
  ManualExecutor io_;
  const PathPolicy paths_{{}};
  FileSink sink_;
  std::vector<std::unique_ptr<OutputEndpoint>> endpoints_;
  // Rows must live until their commit is confirmed.
  std::vector<std::string> rows_;

  absl::StatusOr<std::vector<Step>> opened_ = absl::UnknownError("not opened");
  std::vector<Step> confirmed_;
  absl::Status status_;
};

// What a reader finds committed.
struct Committed {
  std::vector<Step> progress;
  // By shard, all bytes.
  std::vector<std::string> contents;
  bool settled = true;
};
absl::StatusOr<Committed> ReadCommitted(FileSystem& files,
                                        absl::string_view directory);

// Fails the test unless each shard holds exactly the rows below its progress.
void ExpectConsistent(const Committed& committed);

// What a reader finds that knows only names: by shard, the rows in whole files
// of files/ (of the default name, or one that sorts as it does), decompressed,
// in the order of their names.
std::vector<std::string> ReadWholeFiles(FakeFileSystem& files);

// Configurations in which every part of the sink has work to do.
// A manifest of that many bytes a part.
FileSinkConfig InParts(uint64_t manifest_bytes_max);
// Files of a few rows that keep their names, in segments of two.
FileSinkConfig Rolling();
// The same, compressed, and renamed when they are whole.
FileSinkConfig Renaming(Compression compression);

}  // namespace penstock::core
