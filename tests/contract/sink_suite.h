// The contract suite for sinks: what any OutputTarget must show.
//
// A sink joins by a driver and one line in a file of its own:
//
//   INSTANTIATE_TEST_SUITE_P(File, SinkContractTest,
//       testing::Values(SinkDriverFactory{"Fake", MakeFileDriver}),
//       SinkDriverName);
//
// and by listing that file beside sink_suite.cc and sink_refusal_suite.cc in an
// executable of tests/contract. A test is skipped only by a declared
// capability.
//
// That a step already held is dropped is the shard worker's duty: an endpoint
// answers OK to a batch that it has committed before, and refuses one of which
// it holds a part; that is tested here.
#pragma once

#include "core/contract/ft_model.h"
#include "core/contract/output_target.h"
#include "core/contract/row_encoder.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#define PENSTOCK_SKIP_UNLESS(capability) \
  if (!(capability)) GTEST_SKIP() << "does not claim it: " #capability

namespace penstock::core {

// What a sink claims. The suite holds it to every claim.
struct SinkCapabilities {
  // The highest level: what FaultTolerance() must say.
  std::optional<FtModel> level = FtModel::kExactlyOnce;
  // What is committed outlives the target: rows can be read back, progress is
  // found by the next open, writers fence each other.
  bool keeps = true;
  // Its endpoints refuse a buffer above this; 0: any buffer that fits into
  // memory is taken.
  size_t buffer_bytes_max = 0;
  // Its own OutputCommitter commits, not BatchEnd.
  bool has_committer = true;
  // SinkDriver::FailNextWrite and FailNextCommit work.
  bool can_fail = true;
  // What TellsRowsApart() must say; then SinkDriver::RefusedRow is one.
  bool tells_rows_apart = false;
};

// One outside system of a sink, fresh for each test.
//
// Threads: confined to the test's thread.
class SinkDriver {
 public:
  virtual ~SinkDriver() = default;

  virtual SinkCapabilities capabilities() const = 0;
  // A target over the outside system, as another process would make one;
  // targets made before may still be there. Called many times.
  virtual std::unique_ptr<OutputTarget> Make() = 0;
  // The rows that a reader finds in `shard` now, in order. Only with `keeps`.
  virtual std::vector<std::string> ReadBack(ShardIndex /*shard*/) { return {}; }
  // Forgets all that is committed, as if the outside system were a new one.
  // Only with `keeps`.
  virtual void Forget() {}
  // The next PushBuffer or PushKey fails, in a way that is worth a retry.
  virtual void FailNextWrite() {}
  // The same for the next BatchEnd or, if that commits nothing, Commit.
  virtual void FailNextCommit() {}
  // A row that the target refuses. Only with `tells_rows_apart`.
  virtual std::string RefusedRow() { return {}; }
  // Runs what can run, for sinks whose work runs on an executor of the driver.
  // The suite waits for others.
  virtual void Pump() {}
};

struct SinkDriverFactory {
  // Letters and digits.
  std::string name;
  std::function<std::unique_ptr<SinkDriver>()> make;
};
std::string SinkDriverName(
    const testing::TestParamInfo<SinkDriverFactory>& info);
std::ostream& operator<<(std::ostream& out, const SinkDriverFactory& factory);

using Rows = std::vector<std::string>;

// One process's target with its endpoints.
//
// Threads:   confined to the test's thread. Waits end after 20 s.
// Lifecycle: opened at construction; the destructor closes.
class SinkRun {
 public:
  SinkRun(SinkDriver& driver, const OutputOpen& open);
  SinkRun(const SinkRun&) = delete;
  SinkRun& operator=(const SinkRun&) = delete;
  ~SinkRun();

  // What Open returned. Nothing below may be called unless it is OK.
  const absl::StatusOr<std::vector<Step>>& opened() const { return opened_; }
  OutputTarget& target() { return *target_; }
  // Made and connected when first asked for.
  OutputEndpoint& endpoint(ShardIndex shard);
  void DestroyEndpoint(ShardIndex shard) { endpoints_.erase(shard); }

  absl::Status Start(ShardIndex shard, StepRange steps);
  // Pushes each row as a frame, or a message, of its own: as the target's own
  // encoder makes it, if it has one, else as a line.
  absl::Status Push(ShardIndex shard, const Rows& rows);
  // A row whose frame has so many bytes.
  std::string RowOfFrameBytes(size_t bytes);
  // BatchEnd.
  absl::Status End(ShardIndex shard);
  // BatchProbe.
  absl::Status Probe(ShardIndex shard, StepRange steps, const Rows& rows);
  // Commits the last batch and waits.
  absl::Status Commit(ShardIndex shard, StepRange steps);
  absl::Status EndAndCommit(ShardIndex shard, StepRange steps);
  // Begins to commit; the answer is in answers() after Settle().
  void BeginCommit(ShardIndex shard, StepRange steps);
  void Settle();
  // By shard, every answer since the last call.
  std::map<ShardIndex, std::vector<absl::Status>> TakeAnswers();

  // All of it. The first error ends it.
  absl::Status Write(ShardIndex shard, StepRange steps, const Rows& rows);
  absl::Status WriteAndCommit(ShardIndex shard, StepRange steps,
                              const Rows& rows);

  void Close();

 private:
  struct Answers;

  std::string FrameOf(const std::string& row);

  SinkDriver& driver_;
  const std::unique_ptr<OutputTarget> target_;
  const absl::StatusOr<std::vector<Step>> opened_;
  // Null: rows are lines.
  const std::unique_ptr<RowEncoder> encoder_;
  std::map<ShardIndex, std::unique_ptr<OutputEndpoint>> endpoints_;
  // Frames must live until their commit is confirmed.
  std::deque<std::string> frames_;
  // Shared by: this and the commits under way.
  const std::shared_ptr<Answers> answers_;
  bool closed_ = false;
};

class SinkContractTest : public testing::TestWithParam<SinkDriverFactory> {
 protected:
  SinkContractTest()
      : driver_(GetParam().make()), capabilities_(driver_->capabilities()) {}

  // The first open of connector "c" in exactly-once, with two shards, at step
  // 0, by writer (1, 1).
  static OutputOpen FirstOpen();
  // The same connector reopened, by the writer with that open number.
  static OutputOpen Reopen(uint64_t open_number);

  bool ExactlyOnce() const {
    return capabilities_.level == FtModel::kExactlyOnce;
  }
  bool KeepsExactlyOnce() const { return ExactlyOnce() && capabilities_.keeps; }

  const std::unique_ptr<SinkDriver> driver_;
  const SinkCapabilities capabilities_;
};

}  // namespace penstock::core
