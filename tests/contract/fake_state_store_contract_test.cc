// The contract suite for state stores, over the fake that tests use.
#include "tests/contract/state_store_suite.h"
#include "tests/support/fake_state_store.h"

#include <gtest/gtest.h>

#include <memory>

namespace penstock::client {
namespace {

class FakeDriver final : public StateStoreDriver {
 public:
  std::unique_ptr<StateStore> Make(core::Executor& executor) override {
    return std::make_unique<FakeStateStore>(executor, disk_);
  }

 private:
  FakeStoreDisk disk_;
};

INSTANTIATE_TEST_SUITE_P(Fake, StateStoreContractTest,
                         testing::Values(StateStoreDriverFactory{
                             "memory",
                             [] { return std::make_unique<FakeDriver>(); }}),
                         StateStoreDriverName);

}  // namespace
}  // namespace penstock::client
