// Each field of a specification that can be wrong.
#include "proto/wire/spec.h"

#include "proto/penstock/v1/spec.pb.h"
#include "tests/proto/wire/spec_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace penstock::wire {
namespace {

using ::testing::ElementsAre;

// Each changes one thing in the smallest spec that makes one field wrong.
struct Wrong {
  const char* name;
  void (*change)(v1::ConnectorSpec&);
  const char* field;
};
class WrongSpecTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongSpecTest, IsRefusedByName) {
  v1::ConnectorSpec spec = Smallest();
  GetParam().change(spec);
  EXPECT_THAT(FieldsOf(spec),
              ElementsAre(std::string("connectors[0].") + GetParam().field));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongSpecTest,
    ::testing::Values(
        Wrong{"Name", [](auto& s) { s.set_name("a b"); }, "name"},
        Wrong{"NoSourcePath",
              [](auto& s) { s.mutable_source()->mutable_file()->Clear(); },
              "source.file.path"},
        Wrong{"NulInPath",
              [](auto& s) {
                s.mutable_sink()->mutable_file()->set_path(
                    std::string("a\0b", 3));
              },
              "sink.file.path"},
        Wrong{"EmptyRoute", [](auto& s) { s.mutable_route(); }, "route"},
        Wrong{
            "EmptyKey",
            [](auto& s) { s.mutable_format()->mutable_ndjson()->set_key(""); },
            "format.ndjson.key"},
        Wrong{"KeyWithEmptyName",
              [](auto& s) {
                s.mutable_format()->mutable_ndjson()->set_key("a..b");
              },
              "format.ndjson.key"},
        Wrong{"EnvelopeUnspecified",
              [](auto& s) {
                s.mutable_format()->mutable_json()->set_envelope(
                    v1::ENVELOPE_UNSPECIFIED);
              },
              "format.json.envelope"},
        Wrong{"RawFramingUnspecified",
              [](auto& s) {
                s.mutable_format()->mutable_raw()->set_framing(
                    v1::RAW_FRAMING_UNSPECIFIED);
              },
              "format.raw.framing"},
        Wrong{"UnavailableValueWithoutDebezium",
              [](auto& s) {
                s.mutable_format()->mutable_ndjson()->set_unavailable_value(
                    "x");
              },
              "format.ndjson.unavailable_value"},
        Wrong{"UnavailableValueThatMayBeEscaped",
              [](auto& s) {
                v1::JsonFormat& json = *s.mutable_format()->mutable_json();
                json.set_envelope(v1::ENVELOPE_DEBEZIUM);
                json.set_unavailable_value("n/a");
              },
              "format.json.unavailable_value"},
        Wrong{"EmptyUnavailableValue",
              [](auto& s) {
                v1::MsgpackFormat& format =
                    *s.mutable_format()->mutable_msgpack();
                format.set_envelope(v1::ENVELOPE_DEBEZIUM);
                format.set_unavailable_value("");
              },
              "format.msgpack.unavailable_value"},
        Wrong{"EnvelopeColumnsWithoutEnvelope",
              [](auto& s) {
                s.mutable_format()
                    ->mutable_msgpack()
                    ->mutable_envelope_columns()
                    ->set_op("_op");
              },
              "format.msgpack.envelope_columns"},
        Wrong{"AvroWithoutSchema",
              [](auto& s) { s.mutable_format()->mutable_avro(); },
              "format.avro"},
        Wrong{"AvroSchemaIsNone",
              [](auto& s) {
                s.mutable_format()->mutable_avro()->set_schema("{");
              },
              "format.avro.schema"},
        Wrong{"AvroPasswordInPlainText",
              [](auto& s) {
                v1::SchemaRegistry& registry =
                    *s.mutable_format()->mutable_avro()->mutable_registry();
                registry.set_url("https://r");
                registry.set_bearer_token("hush");
              },
              "format.avro.registry.bearer_token"},
        Wrong{"AvroRegistryTimeOut",
              [](auto& s) {
                v1::SchemaRegistry& registry =
                    *s.mutable_format()->mutable_avro()->mutable_registry();
                registry.set_url("http://r");
                registry.mutable_timeout()->set_seconds(61);
              },
              "format.avro.registry.timeout"},
        Wrong{"TooManyBadSchemaIds",
              [](auto& s) {
                v1::SchemaRegistry& registry =
                    *s.mutable_format()->mutable_avro()->mutable_registry();
                registry.set_url("http://r");
                for (uint32_t i = 0; i <= 1'000; ++i) {
                  registry.add_bad_schema_ids(i);
                }
              },
              "format.avro.registry.bad_schema_ids"},
        Wrong{"ProtobufWithoutSchema",
              [](auto& s) { s.mutable_format()->mutable_protobuf(); },
              "format.protobuf"},
        Wrong{"ProtobufDescriptorSetIsNoBase64",
              [](auto& s) {
                s.mutable_format()->mutable_protobuf()->set_descriptor_set("?");
              },
              "format.protobuf.descriptor_set"},
        Wrong{"ProtobufWithoutMessage",
              [](auto& s) {
                s.mutable_format()->mutable_protobuf()->set_descriptor_set(
                    "AAAA");
              },
              "format.protobuf.message"},
        Wrong{"ProtobufMessageBesideRegistry",
              [](auto& s) {
                v1::ProtobufFormat& format =
                    *s.mutable_format()->mutable_protobuf();
                format.mutable_registry()->set_url("http://r");
                format.set_message("a.B");
              },
              "format.protobuf.message"},
        Wrong{"ProtobufRegistryUrl",
              [](auto& s) {
                s.mutable_format()
                    ->mutable_protobuf()
                    ->mutable_registry()
                    ->set_url("ftp://r");
              },
              "format.protobuf.registry.url"},
        Wrong{"CsvDelimiterOfTwoBytes",
              [](auto& s) {
                s.mutable_format()->mutable_csv()->set_delimiter("||");
              },
              "format.csv.delimiter"},
        Wrong{"CsvNoDelimiter",
              [](auto& s) {
                s.mutable_format()->mutable_csv()->set_delimiter("");
              },
              "format.csv.delimiter"},
        Wrong{
            "CsvQuoteIsTheDelimiter",
            [](auto& s) { s.mutable_format()->mutable_csv()->set_quote(","); },
            "format.csv.quote"},
        Wrong{"CsvCommentIsTheQuote",
              [](auto& s) {
                s.mutable_format()->mutable_csv()->set_comment("\"");
              },
              "format.csv.comment"},
        Wrong{"CsvEscapeUnspecified",
              [](auto& s) {
                s.mutable_format()->mutable_csv()->set_escape(
                    v1::CSV_ESCAPE_UNSPECIFIED);
              },
              "format.csv.escape"},
        Wrong{"CsvEscapeWithoutQuotes",
              [](auto& s) {
                s.mutable_format()->mutable_csv()->set_quote("");
                s.mutable_format()->mutable_csv()->set_escape(
                    v1::CSV_ESCAPE_BACKSLASH);
              },
              "format.csv.escape"},
        Wrong{"CsvEmptyNullToken",
              [](auto& s) {
                s.mutable_format()->mutable_csv()->add_null_tokens("");
              },
              "format.csv.null_tokens"},
        Wrong{"CsvNullTokenThatNoFieldIs",
              [](auto& s) {
                s.mutable_format()->mutable_csv()->add_null_tokens("a,b");
              },
              "format.csv.null_tokens"},
        Wrong{"CsvTwoKeys",
              [](auto& s) {
                s.mutable_format()->mutable_csv()->set_key("a");
                s.mutable_format()->mutable_csv()->set_key_column(1);
              },
              "format.csv.key_column"},
        Wrong{"CsvKeyColumnZero",
              [](auto& s) {
                s.mutable_format()->mutable_csv()->set_key_column(0);
              },
              "format.csv.key_column"},
        Wrong{"NoShards", [](auto& s) { s.set_shards(0); }, "shards"},
        Wrong{"ManyShards", [](auto& s) { s.set_shards(1025); }, "shards"},
        Wrong{"LevelUnspecified",
              [](auto& s) { s.set_level(v1::DELIVERY_LEVEL_UNSPECIFIED); },
              "level"},
        Wrong{"LevelUnknown",
              [](auto& s) { s.set_level(static_cast<v1::DeliveryLevel>(9)); },
              "level"},
        Wrong{"PolicyUnspecified",
              [](auto& s) {
                s.set_on_parse_error(v1::BAD_RECORD_POLICY_UNSPECIFIED);
              },
              "on_parse_error"},
        Wrong{"PolicyUnknown",
              [](auto& s) {
                s.set_on_encode_error(static_cast<v1::BadRecordPolicy>(9));
              },
              "on_encode_error"},
        Wrong{"RefusedRowPolicy",
              [](auto& s) {
                s.set_on_refused_row(static_cast<v1::BadRecordPolicy>(9));
              },
              "on_refused_row"},
        Wrong{"DeadLetterOfNoType", [](auto& s) { s.mutable_dead_letter(); },
              "dead_letter"},
        Wrong{"DeadLetterPath",
              [](auto& s) { s.mutable_dead_letter()->mutable_file(); },
              "dead_letter.file.path"},
        Wrong{"DeadLetterFileBytes",
              [](auto& s) {
                auto& file = *s.mutable_dead_letter()->mutable_file();
                file.set_path("/dead");
                file.set_file_bytes_max(0);
              },
              "dead_letter.file.file_bytes_max"},
        Wrong{"DeadLetterTotalBytes",
              [](auto& s) {
                auto& file = *s.mutable_dead_letter()->mutable_file();
                file.set_path("/dead");
                file.set_total_bytes_max(0);
              },
              "dead_letter.file.total_bytes_max"},
        Wrong{"FileSinkCompression",
              [](auto& s) {
                s.mutable_sink()->mutable_file()->set_compression(
                    v1::OUTPUT_COMPRESSION_UNSPECIFIED);
              },
              "sink.file.compression"},
        Wrong{"FileSinkCompressionUnknown",
              [](auto& s) {
                s.mutable_sink()->mutable_file()->set_compression(
                    static_cast<v1::OutputCompression>(9));
              },
              "sink.file.compression"},
        Wrong{"FileSinkLevel",
              [](auto& s) {
                auto& file = *s.mutable_sink()->mutable_file();
                file.set_path("/out");
                file.set_compression(v1::OUTPUT_COMPRESSION_GZIP);
                file.set_compression_level(10);
              },
              "sink.file.compression_level"},
        Wrong{"FileSinkRollBytes",
              [](auto& s) {
                s.mutable_sink()->mutable_file()->mutable_roll()->set_bytes(0);
              },
              "sink.file.roll.bytes"},
        Wrong{"FileSinkRollSteps",
              [](auto& s) {
                s.mutable_sink()->mutable_file()->mutable_roll()->set_steps(0);
              },
              "sink.file.roll.steps"},
        Wrong{"FileSinkRollInterval",
              [](auto& s) {
                s.mutable_sink()
                    ->mutable_file()
                    ->mutable_roll()
                    ->mutable_interval()
                    ->set_nanos(999'999);
              },
              "sink.file.roll.interval"},
        Wrong{"FileSinkVisibilityUnknown",
              [](auto& s) {
                s.mutable_sink()->mutable_file()->set_visibility(
                    static_cast<v1::FileVisibility>(9));
              },
              "sink.file.visibility"},
        Wrong{"FileSinkNothingToRename",
              [](auto& s) {
                auto& file = *s.mutable_sink()->mutable_file();
                file.set_path("/out");
                file.set_visibility(v1::FILE_VISIBILITY_RENAME);
              },
              "sink.file.visibility"},
        Wrong{"FileSinkName",
              [](auto& s) {
                auto& file = *s.mutable_sink()->mutable_file();
                file.set_path("/out");
                file.set_visibility(v1::FILE_VISIBILITY_RENAME);
                file.mutable_roll()->set_bytes(1);
                file.set_name("../{shard}-{writer}-{number}");
              },
              "sink.file.name"},
        Wrong{"BadRecordsRatio",
              [](auto& s) { s.mutable_bad_records()->set_ratio_max(1.1); },
              "bad_records.ratio_max"},
        Wrong{"BadRecordsOfNone",
              [](auto& s) { s.mutable_bad_records()->set_records_min(0); },
              "bad_records.records_min"},
        Wrong{"RefusedRatio",
              [](auto& s) { s.mutable_refused_rows()->set_ratio_max(1.1); },
              "refused_rows.ratio_max"},
        Wrong{"RefusedRatioNoNumber",
              [](auto& s) {
                s.mutable_refused_rows()->set_ratio_max(
                    std::numeric_limits<double>::quiet_NaN());
              },
              "refused_rows.ratio_max"},
        Wrong{"RefusedWindow",
              [](auto& s) { s.mutable_refused_rows()->set_window_rows(9); },
              "refused_rows.window_rows"},
        Wrong{"WriteDeadline",
              [](auto& s) {
                s.mutable_delivery()->mutable_write_deadline()->set_seconds(0);
              },
              "delivery.write_deadline"},
        Wrong{"BatchRows",
              [](auto& s) { s.mutable_delivery()->set_batch_rows_max(0); },
              "delivery.batch_rows_max"},
        Wrong{"BatchBytes",
              [](auto& s) { s.mutable_delivery()->set_batch_bytes_max(1023); },
              "delivery.batch_bytes_max"},
        Wrong{"BatchLinger",
              [](auto& s) {
                s.mutable_delivery()->mutable_batch_linger()->set_seconds(3601);
              },
              "delivery.batch_linger"},
        Wrong{
            "WritesInFlight",
            [](auto& s) { s.mutable_delivery()->set_writes_in_flight_max(65); },
            "delivery.writes_in_flight_max"},
        Wrong{
            "NoWritesInFlight",
            [](auto& s) { s.mutable_delivery()->set_writes_in_flight_max(0); },
            "delivery.writes_in_flight_max"},
        Wrong{"BackoffInitialAboveTheMaximum",
              [](auto& s) {
                auto& retry = *s.mutable_delivery()->mutable_retry();
                retry.mutable_backoff_initial()->set_seconds(11);
              },
              "delivery.retry.backoff_initial"},
        Wrong{"BackoffMax",
              [](auto& s) {
                auto& retry = *s.mutable_delivery()->mutable_retry();
                retry.mutable_backoff_max()->set_seconds(3601);
              },
              "delivery.retry.backoff_max"},
        Wrong{"Multiplier",
              [](auto& s) {
                s.mutable_delivery()->mutable_retry()->set_multiplier(0.9);
              },
              "delivery.retry.multiplier"},
        Wrong{"JitterIsNoNumber",
              [](auto& s) {
                s.mutable_delivery()->mutable_retry()->set_jitter(std::nan(""));
              },
              "delivery.retry.jitter"},
        Wrong{"BreakerFailures",
              [](auto& s) {
                auto& breaker = *s.mutable_delivery()->mutable_breaker();
                breaker.set_consecutive_failures_max(0);
              },
              "delivery.breaker.consecutive_failures_max"},
        Wrong{"BreakerProbeInterval",
              [](auto& s) {
                auto& breaker = *s.mutable_delivery()->mutable_breaker();
                breaker.mutable_probe_interval()->set_seconds(86401);
              },
              "delivery.breaker.probe_interval"},
        Wrong{"BreakerProbes",
              [](auto& s) {
                s.mutable_delivery()->mutable_breaker()->set_probes_max(0);
              },
              "delivery.breaker.probes_max"},
        Wrong{"BreakerRatio",
              [](auto& s) {
                s.mutable_delivery()->mutable_breaker()->set_failure_ratio(0);
              },
              "delivery.breaker.failure_ratio"},
        Wrong{"BreakerRatioIsNoNumber",
              [](auto& s) {
                s.mutable_delivery()->mutable_breaker()->set_failure_ratio(
                    std::nan(""));
              },
              "delivery.breaker.failure_ratio"},
        Wrong{"BreakerWindow",
              [](auto& s) {
                s.mutable_delivery()->mutable_breaker()->set_window_writes(0);
              },
              "delivery.breaker.window_writes"},
        Wrong{"ChunkAge",
              [](auto& s) {
                s.mutable_limits()->mutable_chunk_age_max()->set_seconds(-1);
              },
              "limits.chunk_age_max"},
        Wrong{"RecordBytes",
              [](auto& s) {
                s.mutable_limits()->set_record_bytes_max((uint64_t{256} << 20) +
                                                         1);
              },
              "limits.record_bytes_max"},
        Wrong{"BlockBytes",
              [](auto& s) { s.mutable_limits()->set_block_bytes(4095); },
              "limits.block_bytes"},
        Wrong{"QueuedBelowABlock",
              [](auto& s) { s.mutable_limits()->set_queued_bytes_max(5000); },
              "limits.queued_bytes_max"},
        Wrong{"ChunkBytes",
              [](auto& s) { s.mutable_limits()->set_chunk_bytes_max(1023); },
              "limits.chunk_bytes_max"},
        Wrong{
            "QueueAboveTheRule",
            [](auto& s) { s.mutable_limits()->set_shard_queue_chunks_max(65); },
            "limits.shard_queue_chunks_max"},
        Wrong{"InFlightBelowTheRule",
              [](auto& s) {
                s.set_shards(1024);
                s.mutable_limits()->set_in_flight_bytes_max(1 << 20);
              },
              "limits.in_flight_bytes_max"},
        Wrong{"LowMarkIsNoNumber",
              [](auto& s) {
                s.mutable_limits()->set_in_flight_low_mark(std::nan(""));
              },
              "limits.in_flight_low_mark"},
        Wrong{"HighMarkBelowLow",
              [](auto& s) { s.mutable_limits()->set_in_flight_high_mark(0.5); },
              "limits.in_flight_high_mark"},
        Wrong{"StepBytesMaxAboveAQuarter",
              [](auto& s) {
                s.mutable_limits()->set_step_bytes_max((16 << 20) + 1);
              },
              "limits.step_bytes_max"},
        Wrong{"NegativeLinger",
              [](auto& s) {
                s.mutable_limits()->mutable_step_linger()->set_seconds(-1);
              },
              "limits.step_linger"},
        Wrong{"NoStepsOutstanding",
              [](auto& s) { s.mutable_limits()->set_steps_outstanding_max(0); },
              "limits.steps_outstanding_max"},
        Wrong{"NoRecordsInAStep",
              [](auto& s) { s.mutable_limits()->set_step_records_max(0); },
              "limits.step_records_max"},
        Wrong{
            "MemoryBelowTheSum",
            [](auto&
                   s) { s.mutable_limits()->set_memory_max((160 << 20) - 1); },
            "limits.memory_max"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace penstock::wire
