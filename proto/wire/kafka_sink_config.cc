#include "proto/wire/kafka_sink_config.h"

#include "core/base/error.h"
#include "core/sinks/kafka/config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/field_reader.h"
#include "proto/wire/proto_time.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::wire {
namespace {

core::KafkaPartitionBy ReadPartitionBy(const v1::KafkaSink& spec,
                                       FieldReader& fields) {
  if (!spec.has_partition_by()) return core::KafkaPartitionBy::kKey;
  switch (spec.partition_by()) {
    case v1::KAFKA_PARTITION_BY_KEY:
      return core::KafkaPartitionBy::kKey;
    case v1::KAFKA_PARTITION_BY_SHARD:
      return core::KafkaPartitionBy::kShard;
    default:
      fields.Add(
          "partition_by",
          absl::StrCat("is ", spec.partition_by(), ", must be KEY or SHARD"),
          spec.partition_by() == 0 ? kUnspecified : kUnknownValue);
      return core::KafkaPartitionBy::kKey;
  }
}

// What the sink itself would say at open is said before.
void Check(const core::KafkaSinkConfig& config, absl::string_view path,
           Violations& violations) {
  const absl::Status checked = core::CheckKafkaSinkConfig(config);
  const std::optional<core::ErrorInfo> info = core::GetErrorInfo(checked);
  if (!info.has_value()) return;
  const auto field = info->metadata.find("field");
  absl::string_view name = "kafka";
  if (field != info->metadata.end()) {
    name = absl::StripPrefix(field->second, "sink.");
  }
  violations.Add(JoinPath(path, name), std::string(checked.message()),
                 kMalformed);
}

}  // namespace

ConfigPtr KafkaSinkFromProto(const v1::KafkaSink& spec, absl::string_view path,
                             Violations& violations) {
  auto config = std::make_shared<core::KafkaSinkConfig>();
  FieldReader fields(JoinPath(path, "kafka"), violations);
  bool whole = true;
  const auto require = [&](absl::string_view name, bool given) {
    if (given) return;
    fields.Add(name, "is missing", kRequired);
    whole = false;
  };
  require("topic", !spec.topic().empty());
  require("options", spec.options_size() > 0);
  config->topic = spec.topic();
  config->options.insert(spec.options().begin(), spec.options().end());
  config->partition_by = ReadPartitionBy(spec, fields);
  config->transaction_timeout = fields.Time(
      "transaction_timeout", PENSTOCK_GIVEN(spec, transaction_timeout),
      config->transaction_timeout);
  config->request_timeout =
      fields.Time("request_timeout", PENSTOCK_GIVEN(spec, request_timeout),
                  config->request_timeout);
  if (whole) Check(*config, path, violations);
  return config;
}

v1::KafkaSink KafkaSinkToProto(const core::KafkaSinkConfig& config) {
  v1::KafkaSink to;
  to.set_topic(config.topic);
  to.mutable_options()->insert(config.options.begin(), config.options.end());
  to.set_partition_by(config.partition_by == core::KafkaPartitionBy::kShard
                          ? v1::KAFKA_PARTITION_BY_SHARD
                          : v1::KAFKA_PARTITION_BY_KEY);
  *to.mutable_transaction_timeout() =
      DurationToProto(config.transaction_timeout);
  *to.mutable_request_timeout() = DurationToProto(config.request_timeout);
  return to;
}

}  // namespace penstock::wire
