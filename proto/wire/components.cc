#include "proto/wire/components.h"

#include "core/base/log.h"
#include "core/connector/route_config.h"
#include "core/format/avro/config.h"
#include "core/format/csv/config.h"
#include "core/format/json/config.h"
#include "core/format/msgpack/config.h"
#include "core/format/ndjson/config.h"
#include "core/format/protobuf/config.h"
#include "core/format/raw/config.h"
#include "core/sinks/dead_letter_file/config.h"
#include "core/sinks/file/config.h"
#include "core/sinks/kafka/config.h"
#include "core/sinks/null/config.h"
#include "core/sinks/postgres/config.h"
#include "core/sources/file/config.h"
#include "core/sources/kafka/config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/avro_config.h"
#include "proto/wire/csv_config.h"
#include "proto/wire/envelope_config.h"
#include "proto/wire/field_reader.h"
#include "proto/wire/file_config.h"
#include "proto/wire/file_sink_config.h"
#include "proto/wire/kafka_sink_config.h"
#include "proto/wire/kafka_source_config.h"
#include "proto/wire/postgres_config.h"
#include "proto/wire/protobuf_config.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::wire {
namespace {

// No arm is set. One that we do not know was named by AddUnknownFields.
ConfigPtr MissingArm(const google::protobuf::Message& spec,
                     absl::string_view path, Violations& violations) {
  const google::protobuf::Reflection& reflection = *spec.GetReflection();
  if (!reflection.GetUnknownFields(spec).empty()) return nullptr;
  std::vector<std::string> names;
  const google::protobuf::OneofDescriptor& arms =
      *spec.GetDescriptor()->oneof_decl(0);
  for (int i = 0; i < arms.field_count(); ++i) {
    names.push_back(arms.field(i)->name());
  }
  violations.Add(
      std::string(path),
      absl::StrCat("is missing; give one of: ", absl::StrJoin(names, ", ")),
      kRequired);
  return nullptr;
}

void CheckPath(const std::string& value, const std::string& path,
               Violations& violations) {
  if (value.empty()) {
    violations.Add(path, "is missing", kRequired);
  } else if (value.find('\0') != std::string::npos) {
    violations.Add(path, "must not contain a NUL byte", kMalformed);
  }
}

void CheckKey(const std::string& key, const std::string& path,
              Violations& violations) {
  const bool malformed = key.empty() || key.front() == '.' ||
                         key.back() == '.' || absl::StrContains(key, "..");
  if (!malformed) return;
  violations.Add(path,
                 absl::StrCat("'", key,
                              "' is no path: member names separated by dots "
                              "(user.id), none of them empty"),
                 kMalformed);
}

void CheckFraming(v1::RawFraming framing, const std::string& path,
                  Violations& violations) {
  if (framing == v1::RAW_FRAMING_LINES || framing == v1::RAW_FRAMING_BLOB) {
    return;
  }
  violations.Add(path, absl::StrCat("is ", framing, ", must be LINES or BLOB"),
                 framing == 0 ? kUnspecified : kUnknownValue);
}

// Of a format that has a key, an envelope and nothing else.
template <typename Config, typename Format>
ConfigPtr KeyedFormat(const Format& format, const core::ConnectorLimits& limits,
                      const std::string& path, Violations& violations) {
  auto config = std::make_shared<Config>();
  config->record_bytes_max = limits.record_bytes_max;
  if (format.has_key()) {
    CheckKey(format.key(), JoinPath(path, "key"), violations);
    config->key = format.key();
  }
  config->envelope = EnvelopeFromProto(
      PENSTOCK_GIVEN(format, envelope), format.envelope_columns(),
      PENSTOCK_GIVEN(format, unavailable_value), path, violations);
  return config;
}

// The inverse of it.
template <typename Config, typename Format>
void KeyedToProto(const Config& config, Format& format) {
  if (config.key.has_value()) format.set_key(*config.key);
  EnvelopeToProto(config.envelope, format);
}

// Requires: `config` is of type `Config`.
template <typename Config>
const Config& As(const core::ComponentConfig& config) {
  return static_cast<const Config&>(config);
}

[[noreturn]] void UnknownType(const core::ComponentConfig& config) {
  LOG(FATAL) << "no message for a configuration of type '" << config.type()
             << "'";
}

}  // namespace

ConfigPtr SourceFromProto(const v1::SourceSpec& spec,
                          const core::ConnectorLimits& limits,
                          absl::string_view path, Violations& violations) {
  switch (spec.type_case()) {
    case v1::SourceSpec::kFile: {
      CheckPath(spec.file().path(), JoinPath(path, "file.path"), violations);
      auto config =
          FileFromProto(spec.file(), JoinPath(path, "file"), violations);
      config->block_bytes = limits.block_bytes;
      return config;
    }
    case v1::SourceSpec::kKafka: {
      auto config = KafkaSourceFromProto(spec.kafka(), JoinPath(path, "kafka"),
                                         violations);
      config->block_bytes = limits.block_bytes;
      return config;
    }
    case v1::SourceSpec::TYPE_NOT_SET:
      break;
  }
  return MissingArm(spec, path, violations);
}

ConfigPtr FormatFromProto(const v1::FormatSpec& spec,
                          const core::ConnectorLimits& limits,
                          absl::string_view path, Violations& violations) {
  switch (spec.type_case()) {
    case v1::FormatSpec::kRaw: {
      auto config = std::make_shared<core::RawConfig>();
      config->record_bytes_max = limits.record_bytes_max;
      if (spec.raw().has_framing()) {
        config->is_blob = spec.raw().framing() == v1::RAW_FRAMING_BLOB;
        CheckFraming(spec.raw().framing(), JoinPath(path, "raw.framing"),
                     violations);
      }
      return config;
    }
    case v1::FormatSpec::kNdjson:
      return KeyedFormat<core::NdjsonConfig>(
          spec.ndjson(), limits, JoinPath(path, "ndjson"), violations);
    case v1::FormatSpec::kMsgpack:
      return KeyedFormat<core::MsgpackConfig>(
          spec.msgpack(), limits, JoinPath(path, "msgpack"), violations);
    case v1::FormatSpec::kJson:
      return KeyedFormat<core::JsonConfig>(spec.json(), limits,
                                           JoinPath(path, "json"), violations);
    case v1::FormatSpec::kCsv:
      return CsvFromProto(spec.csv(), limits, path, violations);
    case v1::FormatSpec::kAvro: {
      if (spec.avro().has_key()) {
        CheckKey(spec.avro().key(), JoinPath(path, "avro.key"), violations);
      }
      return AvroFromProto(spec.avro(), limits, path, violations);
    }
    case v1::FormatSpec::kProtobuf: {
      if (spec.protobuf().has_key()) {
        CheckKey(spec.protobuf().key(), JoinPath(path, "protobuf.key"),
                 violations);
      }
      return ProtobufFromProto(spec.protobuf(), limits, path, violations);
    }
    case v1::FormatSpec::TYPE_NOT_SET:
      break;
  }
  return MissingArm(spec, path, violations);
}

ConfigPtr RouteFromProto(const v1::RouteSpec& spec, absl::string_view path,
                         Violations& violations) {
  switch (spec.type_case()) {
    case v1::RouteSpec::kKeyHash:
      return std::make_shared<core::KeyHashRouteConfig>();
    case v1::RouteSpec::kPartition:
      return std::make_shared<core::PartitionRouteConfig>();
    case v1::RouteSpec::TYPE_NOT_SET:
      break;
  }
  return MissingArm(spec, path, violations);
}

ConfigPtr SinkFromProto(const v1::SinkSpec& spec,
                        const core::ConnectorLimits& limits,
                        absl::string_view path, Violations& violations) {
  switch (spec.type_case()) {
    case v1::SinkSpec::kFile:
      CheckPath(spec.file().path(), JoinPath(path, "file.path"), violations);
      return FileSinkFromProto(spec.file(), limits, path, violations);
    case v1::SinkSpec::kKafka:
      return KafkaSinkFromProto(spec.kafka(), path, violations);
    case v1::SinkSpec::kPostgres:
      return PostgresFromProto(spec.postgres(), limits, path, violations);
    case v1::SinkSpec::kNull:
      return std::make_shared<core::NullSinkConfig>();
    case v1::SinkSpec::TYPE_NOT_SET:
      break;
  }
  return MissingArm(spec, path, violations);
}

ConfigPtr DeadLetterFromProto(const v1::DeadLetterSpec& spec,
                              absl::string_view path, Violations& violations) {
  switch (spec.type_case()) {
    case v1::DeadLetterSpec::kFile: {
      auto config = std::make_shared<core::DeadLetterFileConfig>();
      CheckPath(spec.file().path(), JoinPath(path, "file.path"), violations);
      config->path = spec.file().path();
      FieldReader fields(JoinPath(path, "file"), violations);
      config->file_bytes_max = fields.Number(
          "file_bytes_max", PENSTOCK_GIVEN(spec.file(), file_bytes_max),
          config->file_bytes_max, 1, UINT64_MAX);
      config->total_bytes_max = fields.Number(
          "total_bytes_max", PENSTOCK_GIVEN(spec.file(), total_bytes_max),
          config->total_bytes_max, 1, UINT64_MAX);
      return config;
    }
    case v1::DeadLetterSpec::TYPE_NOT_SET:
      break;
  }
  return MissingArm(spec, path, violations);
}

ConfigPtr DefaultRoute(const core::ComponentConfig& format) {
  bool has_key = false;
  if (format.type() == "ndjson") {
    has_key = As<core::NdjsonConfig>(format).key.has_value();
  } else if (format.type() == "json") {
    has_key = As<core::JsonConfig>(format).key.has_value();
  } else if (format.type() == "msgpack") {
    has_key = As<core::MsgpackConfig>(format).key.has_value();
  } else if (format.type() == "avro") {
    has_key = As<core::AvroConfig>(format).key.has_value();
  } else if (format.type() == "protobuf") {
    has_key = As<core::ProtobufConfig>(format).key.has_value();
  } else if (format.type() == "csv") {
    const auto& csv = As<core::CsvConfig>(format);
    has_key = csv.key.has_value() || csv.key_column.has_value();
  }
  if (has_key) return std::make_shared<core::KeyHashRouteConfig>();
  return std::make_shared<core::PartitionRouteConfig>();
}

v1::SourceSpec SourceToProto(const core::ComponentConfig& config) {
  v1::SourceSpec result;
  if (config.type() == "file") {
    *result.mutable_file() = FileToProto(As<core::FileSourceConfig>(config));
  } else if (config.type() == "kafka") {
    *result.mutable_kafka() =
        KafkaSourceToProto(As<core::KafkaSourceConfig>(config));
  } else {
    UnknownType(config);
  }
  return result;
}

v1::FormatSpec FormatToProto(const core::ComponentConfig& config) {
  v1::FormatSpec result;
  if (config.type() == "raw") {
    v1::RawFormat& raw = *result.mutable_raw();
    if (As<core::RawConfig>(config).is_blob) {
      raw.set_framing(v1::RAW_FRAMING_BLOB);
    }
  } else if (config.type() == "ndjson") {
    KeyedToProto(As<core::NdjsonConfig>(config), *result.mutable_ndjson());
  } else if (config.type() == "json") {
    KeyedToProto(As<core::JsonConfig>(config), *result.mutable_json());
  } else if (config.type() == "msgpack") {
    KeyedToProto(As<core::MsgpackConfig>(config), *result.mutable_msgpack());
  } else if (config.type() == "csv") {
    *result.mutable_csv() = CsvToProto(As<core::CsvConfig>(config));
  } else if (config.type() == "avro") {
    *result.mutable_avro() = AvroToProto(As<core::AvroConfig>(config));
  } else if (config.type() == "protobuf") {
    *result.mutable_protobuf() =
        ProtobufToProto(As<core::ProtobufConfig>(config));
  } else {
    UnknownType(config);
  }
  return result;
}

v1::RouteSpec RouteToProto(const core::ComponentConfig& config) {
  v1::RouteSpec result;
  if (config.type() == "key_hash") {
    result.mutable_key_hash();
  } else if (config.type() == "partition") {
    result.mutable_partition();
  } else {
    UnknownType(config);
  }
  return result;
}

v1::SinkSpec SinkToProto(const core::ComponentConfig& config) {
  v1::SinkSpec result;
  if (config.type() == "file") {
    *result.mutable_file() = FileSinkToProto(As<core::FileSinkConfig>(config));
  } else if (config.type() == "null") {
    result.mutable_null();
  } else if (config.type() == "kafka") {
    *result.mutable_kafka() =
        KafkaSinkToProto(As<core::KafkaSinkConfig>(config));
  } else if (config.type() == "postgres") {
    *result.mutable_postgres() =
        PostgresToProto(As<core::PostgresSinkConfig>(config));
  } else {
    UnknownType(config);
  }
  return result;
}

v1::DeadLetterSpec DeadLetterToProto(const core::ComponentConfig& config) {
  v1::DeadLetterSpec result;
  if (config.type() != "file") UnknownType(config);
  const auto& from = As<core::DeadLetterFileConfig>(config);
  v1::DeadLetterFile& file = *result.mutable_file();
  file.set_path(from.path);
  file.set_file_bytes_max(from.file_bytes_max);
  file.set_total_bytes_max(from.total_bytes_max);
  return result;
}

}  // namespace penstock::wire
