#include "client/cli/controller_options.h"

#include "client/cli/spec_change_check.h"
#include "proto/wire/spec.h"

#include <absl/strings/str_cat.h>

#include <unistd.h>
#include <cstddef>
#include <utility>

namespace penstock::client {
namespace {

// A Queue that waits costs its worker nothing, asking again does; commands that
// must not wait end it.
constexpr absl::Duration kQueueWait = absl::Seconds(10);

}  // namespace

std::string MakeControllerId() {
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  return absl::StrCat(host, ":", getpid());
}

ControllerOptions ControllerOptionsOf(const PipelineFile& pipeline,
                                      std::string controller_id,
                                      core::Random& random) {
  ControllerOptions options;
  options.pipeline = pipeline.name;
  options.controller_id = std::move(controller_id);
  options.nonce = core::RandomId(random);
  options.incarnation = pipeline.incarnation;
  options.checkpoint_interval = pipeline.checkpoint_interval;
  options.check_spec_change = CheckSpecChange;
  options.queue_wait = kQueueWait;
  options.random_seed = random.Next64();
  for (size_t i = 0; i < pipeline.connectors.size(); ++i) {
    const core::ConnectorSpec& spec = pipeline.connectors[i];
    options.connectors.push_back({.name = spec.name,
                                  .spec_bytes = wire::SpecToBytes(spec),
                                  .level = spec.level,
                                  .worker = pipeline.placement[i]});
  }
  return options;
}

}  // namespace penstock::client
