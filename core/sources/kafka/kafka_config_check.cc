// What of a Kafka source's configuration can be checked without a connection.
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/kafka/kafka_options.h"
#include "core/sources/kafka/kafka_source.h"
#include "core/sources/kafka/rdkafka_consumer.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <set>

namespace penstock::core {
namespace {

absl::Status Bad(absl::string_view field, absl::string_view problem) {
  return MakeError(Reason::INVALID_CONFIG,
                   absl::StrCat("source kafka: ", field, ": ", problem),
                   {{"field", std::string(field)}});
}

absl::Status CheckTopics(const KafkaSourceConfig& config) {
  if (config.topics.empty() == config.topic_pattern.empty()) {
    return Bad("topics", "give either the names of topics, or topic_pattern");
  }
  std::set<std::string> names;
  for (const std::string& name : config.topics) {
    if (!IsKafkaTopicName(name)) {
      return Bad("topics", absl::StrCat("'", name,
                                        "' is no topic's name; for a pattern "
                                        "set topic_pattern"));
    }
    if (!names.insert(name).second) {
      return Bad("topics", absl::StrCat("'", name, "' stands there twice"));
    }
  }
  if (config.topics.size() > KafkaPosition::kTopicsMax) {
    return Bad("topics",
               absl::StrCat("there are more than ", KafkaPosition::kTopicsMax));
  }
  return absl::OkStatus();
}

absl::Status CheckStart(const KafkaSourceConfig& config) {
  if (config.start != KafkaStart::kOffsets && !config.start_offsets.empty()) {
    return Bad("start", "has offsets, but starts elsewhere");
  }
  for (const KafkaStartOffset& one : config.start_offsets) {
    if (one.offset < 0 || one.partition < 0) {
      return Bad("start.offsets", "partitions and offsets are from 0");
    }
    const bool is_known = !config.topic_pattern.empty() ||
                          std::find(config.topics.begin(), config.topics.end(),
                                    one.topic) != config.topics.end();
    if (!is_known) {
      return Bad("start.offsets",
                 absl::StrCat("'", one.topic, "' is none of the topics"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckKafkaSourceConfig(const KafkaSourceConfig& config) {
  RETURN_IF_ERROR(CheckTopics(config));
  RETURN_IF_ERROR(CheckStart(config));
  if (!config.options.contains("bootstrap.servers")) {
    return Bad("options", "bootstrap.servers is missing: host:port, ...");
  }
  RETURN_IF_ERROR(CheckKafkaOptions(config.options, KafkaSourceReserved()));
  if (config.share_count == 0 || config.share_index >= config.share_count) {
    return Bad("share",
               absl::StrCat("index ", config.share_index,
                            " must be below count ", config.share_count));
  }
  for (const KafkaHeaderCondition& condition : config.header_filter) {
    if (condition.name.empty()) return Bad("header_filter", "has no name");
  }
  return absl::OkStatus();
}

}  // namespace penstock::core
