#include "proto/wire/kafka_source_config.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "proto/wire/field_reader.h"
#include "proto/wire/proto_time.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <optional>
#include <utility>

namespace penstock::wire {
namespace {

constexpr absl::Duration kDiscoveryMin = absl::Seconds(1);
constexpr absl::Duration kDiscoveryMax = absl::Hours(24);

std::optional<core::KafkaStart> FromProto(v1::KafkaSourceStart value) {
  switch (value) {
    case v1::KAFKA_SOURCE_START_EARLIEST:
      return core::KafkaStart::kEarliest;
    case v1::KAFKA_SOURCE_START_LATEST:
      return core::KafkaStart::kLatest;
    case v1::KAFKA_SOURCE_START_TIMESTAMP:
      return core::KafkaStart::kTimestamp;
    case v1::KAFKA_SOURCE_START_OFFSETS:
      return core::KafkaStart::kOffsets;
    default:
      return std::nullopt;
  }
}

v1::KafkaSourceStart ToProto(core::KafkaStart value) {
  switch (value) {
    case core::KafkaStart::kEarliest:
      return v1::KAFKA_SOURCE_START_EARLIEST;
    case core::KafkaStart::kLatest:
      return v1::KAFKA_SOURCE_START_LATEST;
    case core::KafkaStart::kTimestamp:
      return v1::KAFKA_SOURCE_START_TIMESTAMP;
    case core::KafkaStart::kOffsets:
      return v1::KAFKA_SOURCE_START_OFFSETS;
  }
  LOG(FATAL) << "no such KafkaStart: " << static_cast<int>(value);
}

std::optional<core::KafkaExpired> FromProto(v1::KafkaExpired value) {
  switch (value) {
    case v1::KAFKA_EXPIRED_FAIL:
      return core::KafkaExpired::kFail;
    case v1::KAFKA_EXPIRED_SKIP:
      return core::KafkaExpired::kSkip;
    default:
      return std::nullopt;
  }
}

std::optional<core::KafkaTombstones> FromProto(v1::KafkaTombstones value) {
  switch (value) {
    case v1::KAFKA_TOMBSTONES_IGNORE:
      return core::KafkaTombstones::kIgnore;
    case v1::KAFKA_TOMBSTONES_PASS:
      return core::KafkaTombstones::kPass;
    default:
      return std::nullopt;
  }
}

// Reads an enum into `to`, if it is given. `names`: what it may be.
template <typename Proto, typename Core>
void ReadEnum(absl::string_view name, std::optional<Proto> given,
              absl::string_view names, FieldReader& fields, Core& to) {
  if (!given.has_value()) return;
  if (const auto value = FromProto(*given)) {
    to = *value;
    return;
  }
  fields.Add(name, absl::StrCat("is ", *given, ", must be ", names),
             *given == 0 ? kUnspecified : kUnknownValue);
}

void ReadStart(const v1::KafkaSource& message, FieldReader& fields,
               core::KafkaSourceConfig& config) {
  ReadEnum("start", PENSTOCK_GIVEN(message, start),
           "EARLIEST, LATEST, TIMESTAMP or OFFSETS", fields, config.start);
  const bool wants_time = config.start == core::KafkaStart::kTimestamp;
  if (wants_time != message.has_start_time_ms()) {
    fields.Add("start_time_ms",
               wants_time ? "is missing; start is TIMESTAMP"
                          : "is given, but start is not TIMESTAMP",
               wants_time ? kRequired : kContradiction);
  } else if (message.start_time_ms() < 0) {
    fields.Add("start_time_ms", "must be at least 0", kOutOfRange);
  }
  config.start_time = absl::FromUnixMillis(message.start_time_ms());
  for (const v1::KafkaPartitionOffset& one : message.start_offsets()) {
    config.start_offsets.push_back({.topic = one.topic(),
                                    .partition = one.partition(),
                                    .offset = one.offset()});
  }
}

void ReadMessages(const v1::KafkaSource& message, FieldReader& fields,
                  core::KafkaSourceConfig& config) {
  ReadEnum("tombstones", PENSTOCK_GIVEN(message, tombstones), "IGNORE or PASS",
           fields, config.tombstones);
  for (const v1::KafkaHeaderCondition& one : message.header_filter()) {
    config.header_filter.push_back({.name = one.name(),
                                    .value = PENSTOCK_GIVEN(one, value),
                                    .is_negated = one.negated()});
  }
  const v1::KafkaColumns& columns = message.columns();
  config.columns = {.topic = columns.topic(),
                    .partition = columns.partition(),
                    .offset = columns.offset(),
                    .timestamp = columns.timestamp(),
                    .key = columns.key(),
                    .headers = columns.headers()};
}

// What the source itself would say at open is said before.
void Check(const core::KafkaSourceConfig& config, const std::string& path,
           Violations& violations) {
  const absl::Status checked = core::CheckKafkaSourceConfig(config);
  const std::optional<core::ErrorInfo> info = core::GetErrorInfo(checked);
  if (!info.has_value()) return;
  const auto field = info->metadata.find("field");
  const std::string name =
      field == info->metadata.end() ? "topics" : field->second;
  violations.Add(JoinPath(path, name), std::string(checked.message()),
                 kMalformed);
}

void SetColumns(const core::KafkaColumns& from, v1::KafkaColumns& to) {
  if (!from.topic.empty()) to.set_topic(from.topic);
  if (!from.partition.empty()) to.set_partition(from.partition);
  if (!from.offset.empty()) to.set_offset(from.offset);
  if (!from.timestamp.empty()) to.set_timestamp(from.timestamp);
  if (!from.key.empty()) to.set_key(from.key);
  if (!from.headers.empty()) to.set_headers(from.headers);
}

}  // namespace

std::shared_ptr<core::KafkaSourceConfig> KafkaSourceFromProto(
    const v1::KafkaSource& message, const std::string& path,
    Violations& violations) {
  FieldReader fields(path, violations);
  auto config = std::make_shared<core::KafkaSourceConfig>();
  config->topics.assign(message.topics().begin(), message.topics().end());
  config->topic_pattern = message.topic_pattern();
  config->options.insert(message.options().begin(), message.options().end());
  ReadStart(message, fields, *config);
  if (message.has_share()) {
    config->share_index = message.share().index();
    config->share_count = message.share().count();
  }
  ReadEnum("expired", PENSTOCK_GIVEN(message, expired), "FAIL or SKIP", fields,
           config->expired);
  config->stop_at_end = message.stop_at_end();
  ReadMessages(message, fields, *config);
  config->discovery_interval = fields.Time(
      "discovery_interval", PENSTOCK_GIVEN(message, discovery_interval),
      config->discovery_interval, kDiscoveryMin, kDiscoveryMax);
  Check(*config, path, violations);
  return config;
}

v1::KafkaSource KafkaSourceToProto(const core::KafkaSourceConfig& config) {
  const core::KafkaSourceConfig by_default;
  v1::KafkaSource message;
  for (const std::string& topic : config.topics) message.add_topics(topic);
  if (!config.topic_pattern.empty()) {
    message.set_topic_pattern(config.topic_pattern);
  }
  message.mutable_options()->insert(config.options.begin(),
                                    config.options.end());
  message.set_start(ToProto(config.start));
  if (config.start == core::KafkaStart::kTimestamp) {
    message.set_start_time_ms(absl::ToUnixMillis(config.start_time));
  }
  for (const core::KafkaStartOffset& one : config.start_offsets) {
    v1::KafkaPartitionOffset& to = *message.add_start_offsets();
    to.set_topic(one.topic);
    to.set_partition(one.partition);
    to.set_offset(one.offset);
  }
  if (config.share_count != 1) {
    message.mutable_share()->set_index(config.share_index);
    message.mutable_share()->set_count(config.share_count);
  }
  message.set_expired(config.expired == core::KafkaExpired::kSkip
                          ? v1::KAFKA_EXPIRED_SKIP
                          : v1::KAFKA_EXPIRED_FAIL);
  message.set_stop_at_end(config.stop_at_end);
  message.set_tombstones(config.tombstones == core::KafkaTombstones::kPass
                             ? v1::KAFKA_TOMBSTONES_PASS
                             : v1::KAFKA_TOMBSTONES_IGNORE);
  for (const core::KafkaHeaderCondition& one : config.header_filter) {
    v1::KafkaHeaderCondition& to = *message.add_header_filter();
    to.set_name(one.name);
    if (one.value.has_value()) to.set_value(*one.value);
    to.set_negated(one.is_negated);
  }
  if (config.columns != by_default.columns) {
    SetColumns(config.columns, *message.mutable_columns());
  }
  *message.mutable_discovery_interval() =
      DurationToProto(config.discovery_interval);
  return message;
}

}  // namespace penstock::wire
