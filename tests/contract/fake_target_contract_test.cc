// The fake that other tests use keeps to the contract, too.
#include "core/base/error.h"
#include "core/contract/sink_error.h"
#include "tests/contract/sink_suite.h"
#include "tests/support/fake_database.h"
#include "tests/support/fake_target.h"
#include "tests/support/manual_executor.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

class FakeTargetDriver final : public SinkDriver {
 public:
  FakeTargetDriver(bool has_committer, bool tells_rows_apart)
      : has_committer_(has_committer),
        tells_rows_apart_(tells_rows_apart),
        database_(std::make_unique<FakeDatabase>()) {
    database_->SetJudge([](const std::vector<std::string>& /*present*/,
                           const std::vector<std::string>& added) {
      const auto bad = std::find(added.begin(), added.end(), kBadRow);
      if (bad == added.end()) return absl::OkStatus();
      return MakeRowRefused("a bad row", bad - added.begin());
    });
  }

  SinkCapabilities capabilities() const override {
    return {.buffer_bytes_max = kBufferBytesMax,
            .has_committer = has_committer_,
            .tells_rows_apart = tells_rows_apart_};
  }
  std::unique_ptr<OutputTarget> Make() override {
    return std::make_unique<FakeTarget>(
        *database_,
        FakeTarget::Options{
            .buffer_bytes_max = kBufferBytesMax,
            .separate_committer = has_committer_,
            .commit_executor = has_committer_ ? &executor_ : nullptr,
            .tells_rows_apart = tells_rows_apart_});
  }
  std::vector<std::string> ReadBack(ShardIndex shard) override {
    return database_->Lines("p/c", shard);
  }
  void Forget() override { database_->ForgetProgress("p/c"); }
  void FailNextWrite() override { FailNext(FakeDatabase::Operation::kPush); }
  void FailNextCommit() override {
    FailNext(has_committer_ ? FakeDatabase::Operation::kCommit
                            : FakeDatabase::Operation::kBatchEnd);
  }
  std::string RefusedRow() override { return kBadRow; }
  void Pump() override { executor_.RunUntilIdle(); }

 private:
  static constexpr size_t kBufferBytesMax = 1000;
  static constexpr char kBadRow[] = "bad";

  void FailNext(FakeDatabase::Operation operation) {
    database_->FailNext(operation, MakeError(Reason::UNAVAILABLE, "injected"));
  }

  const bool has_committer_;
  const bool tells_rows_apart_;
  ManualExecutor executor_;
  const std::unique_ptr<FakeDatabase> database_;
};

INSTANTIATE_TEST_SUITE_P(
    FakeTarget, SinkContractTest,
    testing::Values(
        SinkDriverFactory{
            "CommitsInBatchEnd",
            [] { return std::make_unique<FakeTargetDriver>(false, true); }},
        SinkDriverFactory{
            "WithoutProbes",
            [] { return std::make_unique<FakeTargetDriver>(false, false); }},
        SinkDriverFactory{
            "HasCommitter",
            [] { return std::make_unique<FakeTargetDriver>(true, true); }}),
    SinkDriverName);

}  // namespace
}  // namespace penstock::core
