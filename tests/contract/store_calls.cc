#include "tests/contract/store_calls.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace penstock::client {

absl::StatusOr<StoredPipeline> Lead(core::ManualExecutor& executor,
                                    StateStore& store) {
  std::optional<absl::StatusOr<StoredPipeline>> answer;
  store.TakeLeadership([&](absl::StatusOr<StoredPipeline> pipeline) {
    EXPECT_FALSE(answer.has_value());
    answer = std::move(pipeline);
  });
  EXPECT_FALSE(answer.has_value()) << "calls never block";
  executor.RunUntilIdle();
  return *answer;
}

absl::Status Commit(core::ManualExecutor& executor, StateStore& store,
                    uint64_t epoch, StoreTransaction transaction) {
  std::optional<absl::Status> answer;
  store.Commit(epoch, std::move(transaction), [&](absl::Status status) {
    EXPECT_FALSE(answer.has_value());
    answer = std::move(status);
  });
  EXPECT_FALSE(answer.has_value()) << "calls never block";
  executor.RunUntilIdle();
  return *answer;
}

absl::StatusOr<uint64_t> EpochOf(core::ManualExecutor& executor,
                                 StateStore& store) {
  std::optional<absl::StatusOr<uint64_t>> answer;
  store.ReadEpoch(
      [&](absl::StatusOr<uint64_t> epoch) { answer = std::move(epoch); });
  executor.RunUntilIdle();
  return *answer;
}

core::StepResult FullResult(core::Step step) {
  core::StepResult result;
  result.step = step;
  result.amount = {.records = 7 + step, .bytes = 1'000'000'007};
  // Key order, a number above 2^53, a NUL: all of it comes back as it was.
  result.resume = core::Resume(core::Resume::Replay{
      .seek = absl::StrCat("{\"z\":9223372036854775807,\"a\":", step, "}"),
      .replay = std::string("\x92\xc0\x00\xff", 4),
      .hash = 0xfedcba9876543210});
  result.position_complete = false;
  result.hash = core::StepHash{.value = 0xfedcba9876543210, .count = 7 + step};
  result.watermarks = {
      {.timestamp = absl::FromUnixNanos(1'700'000'000'123'456'789),
       .metadata = "{\"offset\": 12}"},
      {.timestamp = absl::FromUnixNanos(-1), .metadata = std::nullopt},
      {.timestamp = absl::UnixEpoch(), .metadata = ""}};
  result.transaction_started = true;
  result.transaction_committed = true;
  result.transaction_label = "label";
  result.end_of_input = true;
  result.stopped_because = core::StopReason::kBlocked;
  result.skipped_records = step + 3;
  return result;
}

StoreTransaction AddConnectorC() {
  StoreTransaction transaction;
  transaction.add_connectors.push_back({"c", "spec of c", 0});
  transaction.reserve_steps.push_back({"c", 1000});
  return transaction;
}

}  // namespace penstock::client
