#include "core/sinks/null/null_sink.h"
#include "tests/contract/sink_suite.h"

#include <memory>

namespace penstock::core {
namespace {

class NullDriver final : public SinkDriver {
 public:
  SinkCapabilities capabilities() const override {
    return {.keeps = false, .has_committer = false, .can_fail = false};
  }
  std::unique_ptr<OutputTarget> Make() override {
    return std::make_unique<NullSink>();
  }
};

INSTANTIATE_TEST_SUITE_P(Null, SinkContractTest,
                         testing::Values(SinkDriverFactory{
                             "Plain", std::make_unique<NullDriver>}),
                         SinkDriverName);

}  // namespace
}  // namespace penstock::core
