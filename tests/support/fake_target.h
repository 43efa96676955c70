// A transactional, sharded sink in memory, over a FakeDatabase.
#pragma once

#include "core/base/executor.h"
#include "core/base/mutex.h"
#include "core/contract/output_target.h"
#include "tests/support/fake_database.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// One process's side of the database: its death loses what was not committed,
// and nothing else.
//
// An endpoint keeps views of the buffers until the commit and copies them only
// then, so that a worker which frees them too early is found out. It answers
// INTERNAL to calls in a wrong order. A batch whose range ends at the shard's
// progress was committed before by this writer: everything is answered OK.
//
// Owner:   the connector under test. Its endpoints do not outlive it.
// Threads: thread-safe.
class FakeTarget final : public OutputTarget {
 public:
  struct Options {
    std::optional<FtModel> level = FtModel::kExactlyOnce;
    FrameKind frames = FrameKind::kConcatenated;
    size_t buffer_bytes_max = size_t{1} << 30;
    // False: BatchEnd commits. True: BatchEnd stages, the committer commits.
    bool separate_committer = false;
    // Where the committer commits and answers; null: inside the call.
    Executor* commit_executor = nullptr;
    // More than 1 only without `separate_committer`.
    uint32_t writers_max = 1;
    // Whether it says so, and has probes.
    bool tells_rows_apart = false;
    // What MakeEncoder gives; null: it gives none.
    std::function<std::unique_ptr<RowEncoder>()> make_encoder = nullptr;
  };
  // `database` outlives this.
  FakeTarget(FakeDatabase& database, Options options);
  explicit FakeTarget(FakeDatabase& database)
      : FakeTarget(database, Options()) {}
  ~FakeTarget() override;

  std::optional<FtModel> FaultTolerance() const override;
  FrameKind Frames() const override;
  bool TellsRowsApart() const override;
  std::unique_ptr<RowEncoder> MakeEncoder() const override;
  absl::StatusOr<std::vector<Step>> Open(const OutputOpen& open) override;
  absl::StatusOr<std::unique_ptr<OutputEndpoint>> MakeEndpoint(
      ShardIndex shard) override;
  uint32_t WritersMax() const override { return options_.writers_max; }
  OutputCommitter& Committer() override;
  absl::Status Close() override;

  // The committer keeps its answers, while commits still take effect.
  // Requires: `separate_committer`.
  void HoldAnswers();
  // Gives the answers kept, and keeps no more.
  void AnswerAll();
  size_t held_answers() const;

 private:
  class Endpoint;
  class SeparateCommitter;
  struct State;

  // Shared by: this and the commits under way on the executor.
  const std::shared_ptr<State> state_;
  const Options options_;
  CommitInBatchEnd commit_in_batch_end_;
  std::unique_ptr<SeparateCommitter> committer_;
};

}  // namespace penstock::core
