#include "tests/simulation/plan.h"

#include "core/connector/route_config.h"
#include "core/format/ndjson/config.h"
#include "core/handoff/router.h"
#include "core/record/key_hash.h"
#include "core/sinks/file/config.h"
#include "core/sources/file/config.h"
#include "tests/support/fake_named_config.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <iterator>
#include <memory>

namespace penstock::simulation {
namespace {

// `low` to `high`, both inclusive.
uint64_t Draw(core::Random& random, uint64_t low, uint64_t high) {
  return low + random.Uniform(high - low + 1);
}

// A fault is there in every other seed; then it is rare or common.
double DrawRate(core::Random& random, double most) {
  return random.Bernoulli(0.5) ? most * random.Double() : 0;
}

std::vector<std::string> DrawRecords(core::Random& random) {
  const uint64_t count = random.Bernoulli(0.05) ? 0 : Draw(random, 1, 400);
  const uint64_t keys = Draw(random, 1, 20);
  std::vector<std::string> records;
  for (uint64_t i = 0; i < count; ++i) {
    // Equal neighbours occur; some are long; some have no key.
    const std::string pad(
        random.Bernoulli(0.02) ? Draw(random, 100, 900) : Draw(random, 0, 20),
        'x');
    const std::string id = random.Bernoulli(0.1) ? "0" : absl::StrCat(i);
    records.push_back(random.Bernoulli(0.1)
                          ? absl::StrCat("{\"n\":", id, ",\"p\":\"", pad, "\"}")
                          : absl::StrCat("{\"k\":\"key", random.Uniform(keys),
                                         "\",\"n\":", id, ",\"p\":\"", pad,
                                         "\"}"));
  }
  return records;
}

core::ConnectorSpec DrawSpec(core::Random& random, bool file_sink) {
  core::ConnectorSpec spec;
  auto source = std::make_shared<core::FileSourceConfig>();
  source->path = "/data/in.ndjson";
  source->block_bytes = Draw(random, 64, 2048);
  spec.source = source;
  auto format = std::make_shared<core::NdjsonConfig>();
  format->key = "k";
  spec.format = format;
  spec.route = std::make_shared<core::KeyHashRouteConfig>();
  if (file_sink) {
    auto sink = std::make_shared<core::FileSinkConfig>();
    sink->path = "/data/out";
    sink->manifest_bytes_max = Draw(random, 256, 4096);
    spec.sink = sink;
  } else {
    spec.sink = std::make_shared<core::FakeNamedConfig>("fake");
  }
  spec.shards = static_cast<uint32_t>(Draw(random, 1, 4));
  spec.level = core::FtModel::kExactlyOnce;
  core::ConnectorLimits& limits = spec.limits;
  limits.block_bytes = source->block_bytes;
  limits.queued_bytes_max = Draw(random, 4096, 65536);
  limits.chunk_bytes = Draw(random, 32, 1024);
  limits.shard_queue_chunks = static_cast<uint32_t>(Draw(random, 1, 8));
  limits.inflight_bytes_max = Draw(random, 32768, 262144);
  limits.step_bytes = Draw(random, 64, 4096);
  limits.step_bytes_max = 2 * limits.step_bytes;
  limits.step_linger = absl::Milliseconds(Draw(random, 1, 100));
  limits.steps_outstanding_max = static_cast<uint32_t>(Draw(random, 1, 64));
  return spec;
}

}  // namespace

Plan DrawPlan(uint64_t seed) {
  core::Random random(seed);
  Plan plan;
  plan.seed = seed;
  plan.records = DrawRecords(random);
  plan.file_sink = random.Bernoulli(0.4);
  plan.separate_committer = random.Bernoulli(0.5);
  plan.spec = DrawSpec(random, plan.file_sink);
  plan.checkpoint_interval = random.Bernoulli(0.2)
                                 ? absl::ZeroDuration()
                                 : absl::Milliseconds(Draw(random, 20, 3000));
  plan.trouble = absl::Seconds(Draw(random, 1, 40));
  FaultRates& faults = plan.faults;
  faults.kill_worker = DrawRate(random, 0.02);
  faults.kill_controller = DrawRate(random, 0.02);
  faults.kill_both = DrawRate(random, 0.01);
  faults.power_loss = DrawRate(random, 0.01);
  faults.freeze_worker = DrawRate(random, 0.01);
  faults.freeze_controller = DrawRate(random, 0.01);
  faults.bad_network = DrawRate(random, 0.02);
  faults.store_trouble = DrawRate(random, 0.03);
  faults.target_trouble = DrawRate(random, 0.03);
  return plan;
}

std::vector<std::vector<std::string>> ExpectedShards(const Plan& plan) {
  std::vector<std::vector<std::string>> shards(plan.spec.shards);
  for (const std::string& text : plan.records) {
    core::Record record;
    record.value = text;
    // As NdjsonConfig::key "k" finds it in the records that DrawRecords makes.
    if (text.rfind("{\"k\":\"", 0) == 0) {
      const std::string key = text.substr(6, text.find('"', 6) - 6);
      record.meta.has_key_hash = true;
      record.meta.key_hash = core::KeyHash(key);
    }
    shards[core::KeyHashRouter().Route(record, plan.spec.shards)].push_back(
        text + "\n");
  }
  return shards;
}

}  // namespace penstock::simulation
