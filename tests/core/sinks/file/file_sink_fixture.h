// A file sink over a fake file system, worked by hand.
#pragma once

#include "core/base/path_policy.h"
#include "core/contract/output_target.h"
#include "core/sinks/file/file_sink.h"
#include "core/sinks/file/layout.h"
#include "tests/core/sinks/file/sink_process.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <absl/status/status.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

inline constexpr Writer kWriter = {.epoch = 1, .open_number = 1};

inline std::string PathOf(const std::string& name) {
  return absl::StrCat(kDirectory, "/", name);
}

// As the shard worker judges.
inline bool InvitesRetry(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status) || absl::IsAborted(status);
}

// Threads: confined to the test's thread.
class FileSinkTest : public testing::Test {
 protected:
  FileSinkTest() { config_.path = kDirectory; }

  // Opens writer (1, `open_number`) and makes its endpoints.
  absl::Status Open(uint64_t open_number = 1) {
    const OutputOpen open = OpenOf(open_number, /*first_open=*/true);
    sink_ = std::make_unique<FileSink>(config_, environment_);
    endpoints_.clear();
    auto progress = sink_->Open(open);
    if (!progress.ok()) return progress.status();
    for (ShardIndex shard = 0; shard < kShards; ++shard) {
      auto endpoint = sink_->MakeEndpoint(shard);
      if (!endpoint.ok()) return endpoint.status();
      endpoints_.push_back(*std::move(endpoint));
    }
    return absl::OkStatus();
  }

  absl::Status Write(ShardIndex shard, StepRange steps,
                     absl::string_view rows) {
    OutputEndpoint& endpoint = *endpoints_[shard];
    absl::Status status = endpoint.BatchStart({.steps = steps});
    if (status.ok()) status = endpoint.PushBuffer(rows);
    if (status.ok()) status = endpoint.BatchEnd();
    return status;
  }

  void BeginCommit(ShardIndex shard, StepRange steps) {
    sink_->Committer().Commit(shard, steps, [this, shard](absl::Status status) {
      answers_[shard] = std::move(status);
    });
  }

  absl::Status Commit(ShardIndex shard, StepRange steps) {
    answers_[shard] = absl::UnknownError("no answer");
    BeginCommit(shard, steps);
    io_.RunUntilIdle();
    return answers_[shard];
  }

  absl::Status WriteAndCommit(ShardIndex shard, StepRange steps,
                              absl::string_view rows) {
    const absl::Status written = Write(shard, steps, rows);
    return written.ok() ? Commit(shard, steps) : written;
  }

  // Rows "0\n", "1\n" ... into shard 0, a step each.
  void WriteSteps(Step begin, Step end) {
    for (Step step = begin; step < end; ++step) {
      ASSERT_OK(WriteAndCommit(0, {step, step + 1}, absl::StrCat(step, "\n")));
    }
  }
  void Advance(absl::Duration duration) {
    io_.Advance(duration);
    io_.RunUntilIdle();
  }
  // The names in files/ that a reader looks at.
  std::vector<std::string> WholeFiles() { return NamesWith("files/data-"); }
  std::string WholeName(uint64_t open_number, uint32_t number) {
    return absl::StrCat(
        "files/", FinalName(kDefaultNamePattern, {.kind = SinkFileKind::kData,
                                                  .writer = {1, open_number},
                                                  .number = number}));
  }

  Committed Read() {
    auto committed = ReadCommitted(files_, kDirectory);
    EXPECT_OK(committed);
    return committed.value_or(Committed{});
  }

  std::vector<std::string> NamesWith(absl::string_view prefix) {
    std::vector<std::string> names;
    for (const std::string& path : files_.Files()) {
      if (absl::StartsWith(path, PathOf(std::string(prefix)))) {
        names.push_back(path.substr(PathOf("").size()));
      }
    }
    return names;
  }

  FakeFileSystem files_;
  ManualExecutor io_;
  PathPolicy paths_{{}};
  Environment environment_{
      .files = files_, .io = io_, .clock = io_.clock(), .paths = paths_};
  FileSinkConfig config_;
  std::unique_ptr<FileSink> sink_;
  std::vector<std::unique_ptr<OutputEndpoint>> endpoints_;
  std::map<ShardIndex, absl::Status> answers_;
};

}  // namespace penstock::core
