#include "core/sinks/kafka/kafka_probe.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/kafka/kafka_options.h"
#include "core/kafka/kafka_producer.h"
#include "core/sinks/kafka/config.h"

#include <memory>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::Duration kProbeTime = absl::Seconds(10);

}  // namespace

absl::Status ProbeKafkaSink(const ComponentConfig& config,
                            std::optional<FtModel> /*level*/,
                            const Schema& /*schema*/,
                            const Environment& environment) {
  CHECK(config.type() == "kafka");
  const auto& kafka = static_cast<const KafkaSinkConfig&>(config);
  RETURN_IF_ERROR(CheckKafkaSinkConfig(kafka));
  ASSIGN_OR_RETURN(KafkaConf conf,
                   ResolveKafkaOptions(kafka.options, KafkaSinkDefaults(),
                                       environment.files, environment.paths));
  // A producer that asks for a topic has it made, where brokers do that.
  RETURN_IF_ERROR(conf.Set("allow.auto.create.topics", "false"));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<KafkaProducer> scout,
      KafkaProducer::Create(std::move(conf), kafka.topic, environment.clock));
  return scout->PartitionCount(environment.clock.SteadyNow() + kProbeTime)
      .status();
}

}  // namespace penstock::core
