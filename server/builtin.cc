#include "server/builtin.h"

#include "core/format/avro/avro_format.h"
#include "core/format/csv/csv_format.h"
#include "core/format/json/json_format.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/protobuf/protobuf_format.h"
#include "core/format/raw/raw_format.h"
#include "core/registry/schema_registry.h"
#include "core/sinks/dead_letter_file/dead_letter_file.h"
#include "core/sinks/file/file_sink.h"
#include "core/sinks/file/file_sink_probe.h"
#include "core/sinks/kafka/kafka_probe.h"
#include "core/sinks/kafka/kafka_sink.h"
#include "core/sinks/null/null_sink.h"
#include "core/sinks/postgres/postgres_probe.h"
#include "core/sinks/postgres/postgres_sink.h"
#include "core/sources/file/file_metrics.h"
#include "core/sources/kafka/kafka_metrics.h"
#include "core/sources/kafka/kafka_source.h"
#include "server/schemas/protobuf_compiler.h"

namespace penstock::server {

void RegisterBuiltinConnectors(core::Registry& registry,
                               const core::FileServices& files) {
  registry.RegisterSource(
      "file", [files](const core::ComponentConfig& config,
                      const core::Environment& environment) {
        return core::MakeFileSourceWith(files, config, environment);
      });
  registry.RegisterSource("kafka", core::MakeKafkaSource);
  registry.RegisterParser("raw", core::MakeRawParser);
  registry.RegisterParser("ndjson", core::MakeNdjsonParser);
  registry.RegisterParser("json", core::MakeJsonParser);
  registry.RegisterParser("msgpack", core::MakeMsgpackParser);
  registry.RegisterParser("csv", core::MakeCsvParser);
  registry.RegisterParser("avro", [](const core::ComponentConfig& config,
                                     const core::Schema& schema) {
    return core::MakeAvroParser(config, schema, core::SchemaRegistry::Make);
  });
  registry.RegisterParser("protobuf", [](const core::ComponentConfig& config,
                                         const core::Schema& schema) {
    return core::MakeProtobufParser(config, schema, core::SchemaRegistry::Make,
                                    MakeProtobufCompiler());
  });
  registry.RegisterEncoder("raw", core::MakeRawEncoder);
  registry.RegisterEncoder("ndjson", core::MakeNdjsonEncoder);
  registry.RegisterEncoder("json", core::MakeJsonEncoder);
  registry.RegisterEncoder("msgpack", core::MakeMsgpackEncoder);
  registry.RegisterEncoder("csv", core::MakeCsvEncoder);
  registry.RegisterEncoder("avro", core::MakeAvroEncoder);
  registry.RegisterEncoder("protobuf", core::MakeProtobufEncoder);
  registry.RegisterSink("file", core::MakeFileSink);
  registry.RegisterSink("kafka", core::MakeKafkaSink);
  registry.RegisterSink("null", core::MakeNullSink);
  registry.RegisterSink("postgres", core::MakePostgresSink);
  registry.RegisterSinkProbe("file", core::ProbeFileSink);
  registry.RegisterSinkProbe("kafka", core::ProbeKafkaSink);
  // Nothing is there, and everything is taken.
  registry.RegisterSinkProbe("null",
                             [](auto&&...) { return absl::OkStatus(); });
  registry.RegisterSinkProbe("postgres", core::ProbePostgresSink);
  registry.RegisterDeadLetter("file", core::MakeDeadLetterFile);
}

SourceMeasures BuiltinSourceMeasures() {
  return {{"file", core::FileMetrics::Measures()},
          {"kafka", core::KafkaMetrics::Measures()}};
}

}  // namespace penstock::server
