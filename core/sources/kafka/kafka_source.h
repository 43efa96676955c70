// The source "kafka": messages of topics.
#pragma once

#include "core/contract/component.h"
#include "core/contract/endpoint.h"
#include "core/sources/kafka/config.h"
#include "core/sources/kafka/kafka_position.h"
#include "core/sources/kafka/kafka_reader.h"
#include "core/sources/kafka/topic_consumer.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::core {

// Level exactly-once: a step is a range of offsets of each partition, and
// Replay reads them again. Records bear their partition's number and their
// message's offset.
//
// Threads: thread-compatible. Outlived by the environment.
class KafkaSource final : public TransportInputEndpoint {
 public:
  using MakeClient =
      absl::AnyInvocable<absl::StatusOr<std::unique_ptr<TopicConsumer>>(
          const KafkaSourceConfig&, const Environment&)>;

  // Requires: CheckKafkaSourceConfig is OK of `config`.
  KafkaSource(KafkaSourceConfig config, const Environment& environment,
              MakeClient make_client)
      : config_(std::move(config)),
        environment_(environment),
        make_client_(std::move(make_client)) {}

  std::optional<FtModel> FaultTolerance() const override {
    return FtModel::kExactlyOnce;
  }

  // Blocks: up to `open_timeout` for brokers.
  // Errors: INVALID_CONFIG; NOT_FOUND: a topic is not there; UNAVAILABLE,
  // DEADLINE: no broker is; UNAUTHENTICATED, PERMISSION_DENIED; with
  // `resume_info`: POSITION_EXPIRED if a partition is gone or ends before its
  // offset (whether it begins behind it shows when it is read),
  // MALFORMED_FRAME if it is no KafkaPosition.
  absl::StatusOr<OpenedInput> Open(
      InputConsumer& consumer, std::unique_ptr<Parser> parser,
      const Schema& schema, std::optional<std::string> resume_info) override;

 private:
  using Places = std::vector<TopicConsumer::TopicPartition>;

  absl::StatusOr<Places> FindPartitions(TopicConsumer& client,
                                        absl::Time deadline);
  // Where it starts for the first time.
  absl::StatusOr<KafkaPosition> FindStart(TopicConsumer& client,
                                          const Places& places,
                                          absl::Time deadline);
  // Where it ends, of every partition that is there now.
  absl::Status FindEnds(TopicConsumer& client, const Places& places,
                        absl::Time deadline, KafkaReader::Options& options);
  // Errors: POSITION_EXPIRED.
  absl::Status CheckResume(const KafkaPosition& position, const Places& places,
                           TopicConsumer& client, absl::Time deadline);

  const KafkaSourceConfig config_;
  const Environment environment_;
  MakeClient make_client_;
};

// For the registry. Errors: INVALID_CONFIG naming the field.
absl::StatusOr<std::unique_ptr<InputEndpoint>> MakeKafkaSource(
    const ComponentConfig& config, const Environment& environment);

}  // namespace penstock::core
