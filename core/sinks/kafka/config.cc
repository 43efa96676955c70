#include "core/sinks/kafka/config.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/kafka/kafka_options.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <array>
#include <cstdint>

namespace penstock::core {
namespace {

// What exactly-once and the order of a shard rest on, or what has a field of
// its own.
constexpr std::array<absl::string_view, 15> kReserved = {
    "acks",
    "metadata.broker.list",
    "delivery.report.only.error",
    "delivery.timeout.ms",
    "enable.gapless.guarantee",
    "enable.idempotence",
    "group.id",
    "isolation.level",
    "message.send.max.retries",
    "message.timeout.ms",
    "partitioner",
    "request.required.acks",
    "retries",
    "transaction.timeout.ms",
    "transactional.id",
};

absl::Status Bad(absl::string_view field, absl::string_view what) {
  return MakeError(Reason::INVALID_CONFIG,
                   absl::StrCat("kafka sink: ", field, " ", what),
                   {{"field", absl::StrCat("sink.kafka.", field)}});
}

absl::Status CheckTopic(absl::string_view topic) {
  if (topic.empty()) return Bad("topic", "is missing");
  if (!IsKafkaTopicName(topic)) {
    return Bad("topic",
               "must be 1 to 249 characters of [A-Za-z0-9._-], and not \".\" "
               "or \"..\"");
  }
  return absl::OkStatus();
}

uint64_t NumberOf(const KafkaOptions& options, const std::string& name,
                  uint64_t otherwise) {
  const auto found = options.find(name);
  uint64_t number = otherwise;
  if (found != options.end() && !absl::SimpleAtoi(found->second, &number)) {
    return otherwise;
  }
  return number;
}

// librdkafka would refuse a message that is larger than its queue for ever, as
// if the queue were full.
absl::Status CheckQueue(const KafkaSinkConfig& config) {
  KafkaOptions options = KafkaSinkDefaults();
  for (const auto& [name, value] : config.options) options[name] = value;
  const uint64_t queue = NumberOf(options, "queue.buffering.max.kbytes", 0);
  const uint64_t message = NumberOf(options, "message.max.bytes", 1000000);
  if (queue * 1024 >= message) return absl::OkStatus();
  return Bad("options.queue.buffering.max.kbytes",
             absl::StrCat("is ", queue, ", which has no room for a message of ",
                          message, " bytes (message.max.bytes)"));
}

}  // namespace

std::map<std::string, std::string> KafkaSinkDefaults() {
  return {
      // Whatever is sent is there once and in order, for as long as a producer
      // lives. All replicas that are in sync have it.
      {"enable.idempotence", "true"},
      // As Kafka's own producers do; keys that are null do not get that far.
      {"partitioner", "murmur2_random"},
      // A batch is flushed at its end, which does not wait for this.
      {"linger.ms", "5"},
      // The worker's own deadlines rule; in a transaction its time-out does.
      {"message.timeout.ms", "0"},
      {"queue.buffering.max.kbytes", "16384"},
      {"client.id", "penstock"},
  };
}

absl::Status CheckKafkaSinkConfig(const KafkaSinkConfig& config) {
  RETURN_IF_ERROR(CheckTopic(config.topic));
  if (config.transaction_timeout < absl::Seconds(1) ||
      config.transaction_timeout > absl::Hours(24)) {
    return Bad("transaction_timeout", "must be from 1 s to 1 day");
  }
  if (config.request_timeout < absl::Seconds(1) ||
      config.request_timeout > absl::Hours(24)) {
    return Bad("request_timeout", "must be from 1 s to 1 day");
  }
  const absl::Status options = CheckKafkaOptions(config.options, kReserved);
  if (!options.ok()) {
    const auto info = GetErrorInfo(options);
    const auto field = info->metadata.find("field");
    return MakeError(
        Reason::INVALID_CONFIG, options.message(),
        {{"field", absl::StrCat("sink.kafka.", field == info->metadata.end()
                                                   ? "options"
                                                   : field->second)}});
  }
  if (!config.options.contains("bootstrap.servers")) {
    return Bad("options", "lack bootstrap.servers, where the cluster is");
  }
  return CheckQueue(config);
}

}  // namespace penstock::core
