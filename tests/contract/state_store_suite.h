// The contract suite for state stores: what any StateStore must show.
//
// A store joins by a driver and one line in a file of its own:
//
//   INSTANTIATE_TEST_SUITE_P(Sqlite, StateStoreContractTest,
//       testing::Values(StateStoreDriverFactory{"sqlite", MakeDriver}),
//       StateStoreDriverName);
#pragma once

#include "client/controller/state_store.h"
#include "tests/contract/store_calls.h"
#include "tests/support/manual_executor.h"

#include <absl/status/status.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

namespace penstock::client {

// One durable state, fresh for each test, and handles to it.
// Threads: confined to the test's thread.
class StateStoreDriver {
 public:
  virtual ~StateStoreDriver() = default;
  // A handle as a process of its own would have; it works on `executor`.
  virtual std::unique_ptr<StateStore> Make(core::Executor& executor) = 0;
};

struct StateStoreDriverFactory {
  std::string name;
  std::function<std::unique_ptr<StateStoreDriver>()> make;
  // Skips or fails a test that needs what is not there; null: nothing is
  // needed.
  std::function<void()> need = nullptr;
};
inline void PrintTo(const StateStoreDriverFactory& factory, std::ostream* out) {
  *out << factory.name;
}
inline std::string StateStoreDriverName(
    const testing::TestParamInfo<StateStoreDriverFactory>& param) {
  return param.param.name;
}

class StateStoreContractTest
    : public testing::TestWithParam<StateStoreDriverFactory> {
 protected:
  void SetUp() override {
    if (GetParam().need) GetParam().need();
    if (IsSkipped() || HasFatalFailure()) return;
    driver_ = GetParam().make();
    store_ = driver_->Make(executor_);
  }

  absl::Status CommitNow(StoreTransaction transaction) {
    return Commit(executor_, *store_, epoch_, std::move(transaction));
  }
  // Takes the lead and adds "c".
  void StartWithC();
  // What the next leader, through a handle of its own, finds of "c".
  StoredConnector ReadBack();

  core::ManualExecutor executor_;
  std::unique_ptr<StateStoreDriver> driver_;
  std::unique_ptr<StateStore> store_;
  uint64_t epoch_ = 0;
};

}  // namespace penstock::client
