#include "core/kafka/kafka_statistics.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>
#include <simdjson.h>

#include <algorithm>

namespace penstock::core {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

int64_t IntOf(const object& from, const char* name, int64_t otherwise) {
  int64_t value = otherwise;
  if (from[name].get(value) != simdjson::SUCCESS) return otherwise;
  return value;
}

std::string TextOf(const object& from, const char* name) {
  std::string_view value;
  if (from[name].get(value) != simdjson::SUCCESS) return "";
  return std::string(value);
}

template <typename Each>
void ForEachMember(const object& from, const char* name, Each each) {
  object members;
  if (from[name].get(members) != simdjson::SUCCESS) return;
  for (const auto& member : members) {
    object value;
    if (element(member.value).get(value) == simdjson::SUCCESS) each(value);
  }
}

KafkaStatistics::Broker BrokerOf(const object& broker) {
  const std::string state = TextOf(broker, "state");
  return {.name = TextOf(broker, "name"),
          .node_id = IntOf(broker, "nodeid", -1),
          .is_up = state == "UP" || state == "UPDATE",
          .is_down =
              state == "DOWN" || state == "CONNECT" || state == "TRY_CONNECT"};
}

KafkaStatistics::Partition PartitionOf(const std::string& topic,
                                       const object& partition) {
  const int64_t stable = IntOf(partition, "ls_offset", -1);
  return {
      .topic = topic,
      .partition = static_cast<int32_t>(IntOf(partition, "partition", -1)),
      .end_offset = stable >= 0 ? stable : IntOf(partition, "hi_offset", -1),
      .lag = IntOf(partition, "consumer_lag", -1)};
}

}  // namespace

bool KafkaStatistics::IsAnyUp() const {
  return std::any_of(brokers.begin(), brokers.end(),
                     [](const Broker& broker) { return broker.is_up; });
}

std::string KafkaStatistics::DownBrokers() const {
  std::string names;
  for (const Broker& broker : brokers) {
    if (!broker.is_down) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", broker.name);
  }
  return names;
}

absl::StatusOr<KafkaStatistics> ParseKafkaStatistics(absl::string_view json) {
  simdjson::dom::parser parser;
  object root;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS) {
    return MakeError(Reason::INTERNAL,
                     "kafka: librdkafka's statistics are no JSON object");
  }
  KafkaStatistics statistics;
  ForEachMember(root, "brokers", [&](const object& broker) {
    // "internal" and "logical" ones are no hosts.
    const std::string source = TextOf(broker, "source");
    if (source != "learned" && source != "configured") return;
    statistics.brokers.push_back(BrokerOf(broker));
  });
  int64_t fetched = 0;
  ForEachMember(root, "topics", [&](const object& topic) {
    const std::string name = TextOf(topic, "topic");
    ForEachMember(topic, "partitions", [&](const object& partition) {
      if (IntOf(partition, "partition", -1) < 0) return;
      statistics.partitions.push_back(PartitionOf(name, partition));
      // A consumer has one queue, of which each partition shows the whole.
      fetched = std::max(fetched, IntOf(partition, "fetchq_size", 0));
    });
  });
  statistics.memory_bytes =
      static_cast<uint64_t>(std::max<int64_t>(fetched, 0)) +
      static_cast<uint64_t>(std::max<int64_t>(IntOf(root, "msg_size", 0), 0));
  return statistics;
}

}  // namespace penstock::core
