#include "tests/core/sinks/kafka/kafka_fixture.h"

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"

#include <utility>

namespace penstock::core {
namespace {

std::unique_ptr<OutputTarget> Make(const KafkaSinkConfig& config,
                                   const Environment& environment) {
  auto made = MakeKafkaSink(config, environment);
  CHECK_OK(made);
  return *std::move(made);
}

}  // namespace

KafkaProcess::KafkaProcess(const KafkaSinkConfig& config,
                           const OutputOpen& open)
    : target_(Make(
          config,
          {.files = files_, .io = io_, .clock = RealClock(), .paths = paths_})),
      opened_(target_->Open(open)) {}

KafkaProcess::~KafkaProcess() {
  target_->Close().IgnoreError();
  endpoints_.clear();
}

OutputEndpoint& KafkaProcess::endpoint(ShardIndex shard) {
  std::unique_ptr<OutputEndpoint>& endpoint = endpoints_[shard];
  if (endpoint == nullptr) {
    auto made = target_->MakeEndpoint(shard);
    CHECK_OK(made);
    endpoint = *std::move(made);
    CHECK_OK(endpoint->Connect(
        [](bool /*fatal*/, const absl::Status&, absl::string_view /*tag*/) {}));
  }
  return *endpoint;
}

absl::Status KafkaProcess::Push(StepRange steps,
                                const std::vector<TestMessage>& messages,
                                absl::Duration time) {
  RETURN_IF_ERROR(endpoint().BatchStart(
      {.steps = steps, .deadline = RealClock().SteadyNow() + time}));
  for (const TestMessage& message : messages) {
    RETURN_IF_ERROR(
        endpoint().PushKey(message.key, message.value, message.headers));
  }
  return absl::OkStatus();
}

absl::Status KafkaProcess::Write(StepRange steps,
                                 const std::vector<TestMessage>& messages,
                                 absl::Duration time) {
  RETURN_IF_ERROR(Push(steps, messages, time));
  return endpoint().BatchEnd();
}

absl::Status KafkaProcess::Probe(StepRange steps,
                                 const std::vector<TestMessage>& messages) {
  RETURN_IF_ERROR(Push(steps, messages, absl::Minutes(1)));
  return endpoint().BatchProbe();
}

void KafkaProcess::Advance(absl::Duration time) { io_.Advance(time); }

KafkaSinkConfig KafkaTestConfig(const std::string& bootstrap,
                                const std::string& topic) {
  KafkaSinkConfig config;
  config.topic = topic;
  config.options["bootstrap.servers"] = bootstrap;
  config.partition_by = KafkaPartitionBy::kShard;
  return config;
}

OutputOpen KafkaTestOpen(uint64_t open_number) {
  return {.incarnation = "1234abcd",
          .pipeline = "p",
          .connector = "c",
          .writer = {.epoch = 1, .open_number = open_number},
          .first_open = open_number == 1,
          .shards = 1,
          .level = FtModel::kExactlyOnce};
}

}  // namespace penstock::core
