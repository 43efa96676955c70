#include "core/kafka/kafka_topic_limit.h"

#include "core/kafka/kafka_handles.h"

#include <absl/strings/numbers.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <array>

namespace penstock::core {
namespace {

constexpr absl::Duration kAskTime = absl::Seconds(3);

using ResourceHandle =
    KafkaOwner<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy>;
using AdminOptionsHandle =
    KafkaOwner<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy>;
using EventHandle = KafkaOwner<rd_kafka_event_t, rd_kafka_event_destroy>;

std::optional<uint64_t> LimitOf(const rd_kafka_ConfigResource_t& resource) {
  size_t count = 0;
  const rd_kafka_ConfigEntry_t** const entries =
      rd_kafka_ConfigResource_configs(&resource, &count);
  for (size_t i = 0; i < count; ++i) {
    const char* const name = rd_kafka_ConfigEntry_name(entries[i]);
    const char* const value = rd_kafka_ConfigEntry_value(entries[i]);
    uint64_t limit = 0;
    if (absl::string_view(name) == "max.message.bytes" && value != nullptr &&
        absl::SimpleAtoi(value, &limit)) {
      return limit;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> AskKafkaTopicLimit(rd_kafka_t* client,
                                           const std::string& topic,
                                           const Clock& clock,
                                           absl::Time deadline) {
  const auto wait_ms = static_cast<int>(absl::ToInt64Milliseconds(std::clamp(
      deadline - clock.SteadyNow(), absl::Milliseconds(1), kAskTime)));
  const AdminOptionsHandle options(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  std::array<char, 256> problem = {};
  rd_kafka_AdminOptions_set_request_timeout(options.get(), wait_ms,
                                            problem.data(), problem.size());
  const ResourceHandle asked(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  const KafkaQueueHandle queue(rd_kafka_queue_new(client));
  rd_kafka_ConfigResource_t* resource = asked.get();
  rd_kafka_DescribeConfigs(client, &resource, 1, options.get(), queue.get());
  // It comes by the request's own time-out at the latest.
  const EventHandle event(rd_kafka_queue_poll(queue.get(), wait_ms + 1000));
  if (event == nullptr) return std::nullopt;
  const rd_kafka_DescribeConfigs_result_t* const result =
      rd_kafka_event_DescribeConfigs_result(event.get());
  if (result == nullptr ||
      rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return std::nullopt;
  }
  size_t count = 0;
  const rd_kafka_ConfigResource_t** const resources =
      rd_kafka_DescribeConfigs_result_resources(result, &count);
  if (count != 1 || rd_kafka_ConfigResource_error(resources[0]) !=
                        RD_KAFKA_RESP_ERR_NO_ERROR) {
    return std::nullopt;
  }
  return LimitOf(*resources[0]);
}

}  // namespace penstock::core
