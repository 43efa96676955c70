#include "client/controller/serial_store.h"

#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using testing::ElementsAre;

// Remembers how many requests each transaction had.
class RecordingBackend final : public StoreBackend {
 public:
  explicit RecordingBackend(std::vector<size_t>& groups) : groups_(groups) {}
  absl::StatusOr<StoredPipeline> TakeLeadership() override {
    return StoredPipeline();
  }
  absl::StatusOr<uint64_t> ReadEpoch() override { return 1; }
  absl::Status Commit(std::span<const Request> requests,
                      std::span<absl::Status> /*verdicts*/) override {
    groups_.push_back(requests.size());
    return absl::OkStatus();
  }

 private:
  std::vector<size_t>& groups_;
};

StoreTransaction JournalOfBytes(size_t bytes) {
  core::StepResult result;
  result.resume = core::Resume(
      core::Resume::Replay{.seek = "{}", .replay = std::string(bytes, 'r')});
  StoreTransaction transaction;
  transaction.journal.push_back({"c", std::move(result)});
  return transaction;
}

std::vector<size_t> GroupsOf(const std::vector<size_t>& bytes) {
  std::vector<size_t> groups;
  core::ManualExecutor executor;
  const auto store = MakeSerialStore(std::make_unique<RecordingBackend>(groups),
                                     executor, "recording");
  for (const size_t each : bytes) {
    store->Commit(1, JournalOfBytes(each),
                  [](const absl::Status& status) { EXPECT_OK(status); });
  }
  executor.RunUntilIdle();
  return groups;
}

TEST(SerialStoreTest, CommitsThatWaitAreJoinedUpToANumber) {
  EXPECT_THAT(GroupsOf(std::vector<size_t>(70, 10)), ElementsAre(64, 6));
}

TEST(SerialStoreTest, CommitsThatWaitAreJoinedUpToBytes) {
  constexpr size_t kMany = size_t{6} << 20;
  EXPECT_THAT(GroupsOf({kMany, kMany, kMany, 10, 3 * kMany, 10}),
              ElementsAre(2, 2, 1, 1));
}

}  // namespace
}  // namespace penstock::client
