// The fake that other tests use keeps to the contract, too.
#include "core/base/error.h"
#include "tests/contract/sink_suite.h"
#include "tests/support/fake_database.h"
#include "tests/support/fake_target.h"
#include "tests/support/manual_executor.h"

#include <memory>

namespace penstock::core {
namespace {

class FakeTargetDriver final : public SinkDriver {
 public:
  explicit FakeTargetDriver(bool has_committer)
      : has_committer_(has_committer),
        database_(std::make_unique<FakeDatabase>()) {}

  SinkCapabilities capabilities() const override {
    return {.buffer_bytes_max = kBufferBytesMax,
            .has_committer = has_committer_};
  }
  std::unique_ptr<OutputTarget> Make() override {
    return std::make_unique<FakeTarget>(
        *database_,
        FakeTarget::Options{
            .buffer_bytes_max = kBufferBytesMax,
            .separate_committer = has_committer_,
            .commit_executor = has_committer_ ? &executor_ : nullptr});
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
  void Pump() override { executor_.RunUntilIdle(); }

 private:
  static constexpr size_t kBufferBytesMax = 1000;

  void FailNext(FakeDatabase::Operation operation) {
    database_->FailNext(operation, MakeError(Reason::UNAVAILABLE, "injected"));
  }

  const bool has_committer_;
  ManualExecutor executor_;
  const std::unique_ptr<FakeDatabase> database_;
};

INSTANTIATE_TEST_SUITE_P(
    FakeTarget, SinkContractTest,
    testing::Values(
        SinkDriverFactory{
            "CommitsInBatchEnd",
            [] { return std::make_unique<FakeTargetDriver>(false); }},
        SinkDriverFactory{
            "HasCommitter",
            [] { return std::make_unique<FakeTargetDriver>(true); }}),
    SinkDriverName);

}  // namespace
}  // namespace penstock::core
