#include "proto/wire/spec.h"

#include "core/base/error.h"
#include "core/format/csv/config.h"
#include "core/format/ndjson/config.h"
#include "core/format/raw/config.h"
#include "core/sinks/dead_letter_file/config.h"
#include "core/sinks/file/config.h"
#include "core/sinks/postgres/config.h"
#include "core/sources/file/config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "tests/proto/wire/spec_text.h"
#include "tests/support/status_matchers.h"

#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::wire {
namespace {

using core::HasReason;
using core::Reason;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SpecTest, DefaultsAreThoseOfTheProtoComments) {
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec,
                       SpecFromProto(Smallest()));
  EXPECT_EQ(spec.name, "orders");
  EXPECT_EQ(spec.shards, 1u);
  EXPECT_EQ(spec.level, core::FtModel::kExactlyOnce);
  EXPECT_FALSE(spec.allow_lower);
  EXPECT_EQ(spec.on_parse_error, core::BadRecordPolicy::kSkip);
  EXPECT_EQ(spec.bad_records.total_max, UINT64_MAX);
  EXPECT_EQ(spec.bad_records.ratio_max, 1);
  EXPECT_EQ(spec.bad_records.records_min, 1'000u);
  EXPECT_EQ(spec.on_encode_error, core::BadRecordPolicy::kSkip);
  EXPECT_EQ(spec.on_refused_row, core::BadRecordPolicy::kFail);
  EXPECT_EQ(spec.dead_letter, nullptr);
  EXPECT_EQ(spec.refused_rows.total_max, UINT64_MAX);
  EXPECT_EQ(spec.refused_rows.ratio_max, 0.5);
  EXPECT_EQ(spec.refused_rows.window_rows, 1'000u);
  EXPECT_EQ(spec.delivery.write_deadline, absl::Seconds(60));
  EXPECT_EQ(spec.delivery.batch_rows_max, 500'000u);
  EXPECT_EQ(spec.delivery.batch_bytes_max, uint64_t{4} << 20);
  EXPECT_EQ(spec.delivery.batch_linger, absl::Milliseconds(100));
  EXPECT_EQ(spec.delivery.writes_in_flight_max, std::nullopt);
  EXPECT_EQ(spec.delivery.retry.initial, absl::Milliseconds(100));
  EXPECT_EQ(spec.delivery.retry.max, absl::Seconds(10));
  EXPECT_EQ(spec.delivery.retry.multiplier, 2);
  EXPECT_EQ(spec.delivery.retry.jitter, 0.2);
  EXPECT_EQ(spec.delivery.breaker.consecutive_failures_max, 5u);
  EXPECT_EQ(spec.delivery.breaker.probe_interval, absl::Seconds(5));
  EXPECT_EQ(spec.delivery.breaker.probes_max, 1u);
  EXPECT_EQ(spec.delivery.breaker.failure_ratio, std::nullopt);
  EXPECT_EQ(spec.delivery.breaker.window_writes, 100u);
  EXPECT_EQ(spec.route->type(), "partition");
  EXPECT_EQ(spec.limits.chunk_age, absl::Milliseconds(200));
  EXPECT_EQ(spec.limits.record_bytes_max, uint64_t{16} << 20);
  EXPECT_EQ(spec.limits.chunk_bytes, uint64_t{256} << 10);
  EXPECT_EQ(spec.limits.shard_queue_chunks, 8u);
  EXPECT_EQ(spec.limits.inflight_bytes_max, uint64_t{64} << 20);
  EXPECT_EQ(spec.limits.step_bytes, uint64_t{8} << 20);
  EXPECT_EQ(spec.limits.step_linger, absl::Milliseconds(100));
  EXPECT_EQ(spec.limits.step_bytes_max, uint64_t{16} << 20);
  EXPECT_EQ(spec.limits.step_records_max, UINT64_MAX);
  EXPECT_EQ(spec.limits.memory_max, uint64_t{192} << 20);
}

TEST(SpecTest, WithDeadLettersRefusedRowsAreSkipped) {
  v1::ConnectorSpec given = Smallest();
  given.mutable_dead_letter()->mutable_file()->set_path("/dead");
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  EXPECT_EQ(spec.on_refused_row, core::BadRecordPolicy::kSkip);
  const auto& file = As<core::DeadLetterFileConfig>(spec.dead_letter);
  EXPECT_EQ(file.path, "/dead");
  EXPECT_EQ(file.file_bytes_max, uint64_t{64} << 20);
  EXPECT_EQ(file.total_bytes_max, uint64_t{1} << 30);
}

TEST(SpecTest, ResolvedSpecWritesEveryDefaultOut) {
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec,
                       SpecFromProto(Smallest()));
  const v1::ConnectorSpec expected = ParseText(R"pb(
    name: "orders"
    source { file { path: "/in" } }
    format { ndjson {} }
    route { partition {} }
    sink { file { path: "/out" } }
    shards: 1
    level: DELIVERY_LEVEL_EXACTLY_ONCE
    allow_lower: false
    on_parse_error: BAD_RECORD_POLICY_SKIP
    bad_records { ratio_max: 1 records_min: 1000 }
    on_encode_error: BAD_RECORD_POLICY_SKIP
    on_refused_row: BAD_RECORD_POLICY_FAIL
    refused_rows { ratio_max: 0.5 window_rows: 1000 }
    delivery {
      write_deadline { seconds: 60 }
      batch_rows_max: 500000
      batch_bytes_max: 4194304
      batch_linger { nanos: 100000000 }
      retry {
        backoff_initial { nanos: 100000000 }
        backoff_max { seconds: 10 }
        multiplier: 2
        jitter: 0.2
      }
      breaker {
        consecutive_failures_max: 5
        probe_interval { seconds: 5 }
        probes_max: 1
        window_writes: 100
      }
    }
    limits {
      record_bytes_max: 16777216
      block_bytes: 1048576
      queued_bytes_max: 33554432
      chunk_bytes_max: 262144
      chunk_age_max { nanos: 200000000 }
      shard_queue_chunks_max: 8
      in_flight_bytes_max: 67108864
      in_flight_high_mark: 0.8
      in_flight_low_mark: 0.5
      step_bytes: 8388608
      step_linger { nanos: 100000000 }
      step_bytes_max: 16777216
      steps_outstanding_max: 64
      retained_bytes_max: 67108864
      memory_max: 201326592
    }
    versions { format: 1 encoder: 1 route: 1 }
  )pb");
  EXPECT_EQ(SpecToProto(spec).DebugString(), expected.DebugString());
  EXPECT_EQ(SpecToBytes(spec), expected.SerializeAsString());
}

TEST(SpecTest, ResolvedSpecResolvesToItself) {
  v1::ConnectorSpec given = ParseText(R"pb(
    name: "o.r-d_ers"
    source { file { path: "${env:IN}/a" compression: FILE_COMPRESSION_ZSTD } }
    format { ndjson { key: "user.id" } }
    route { partition {} }
    sink { null {} }
    shards: 4
    level: DELIVERY_LEVEL_NONE
    allow_lower: true
    on_parse_error: BAD_RECORD_POLICY_FAIL
    bad_records { total_max: 9 ratio_max: 0.25 records_min: 10 }
    on_encode_error: BAD_RECORD_POLICY_FAIL
    on_refused_row: BAD_RECORD_POLICY_FAIL
    dead_letter { file { path: "/dead" file_bytes_max: 7 total_bytes_max: 8 } }
    refused_rows { total_max: 9 ratio_max: 0.25 window_rows: 10 }
    delivery {
      write_deadline { seconds: 7 }
      batch_rows_max: 100
      batch_bytes_max: 2048
      batch_linger { nanos: 5000000 }
      writes_in_flight_max: 3
      retry {
        backoff_initial { nanos: 2000000 }
        backoff_max { seconds: 30 }
        multiplier: 1.5
        jitter: 0.5
      }
      breaker {
        consecutive_failures_max: 9
        probe_interval { seconds: 11 }
        probes_max: 2
        failure_ratio: 0.75
        window_writes: 40
      }
    }
    limits {
      record_bytes_max: 1000
      block_bytes: 4096
      queued_bytes_max: 5000
      chunk_bytes_max: 1024
      chunk_age_max { nanos: 4000000 }
      shard_queue_chunks_max: 3
      in_flight_bytes_max: 1000000
      in_flight_high_mark: 0.9
      in_flight_low_mark: 0.25
      step_bytes: 77
      step_linger { seconds: 1 }
      step_bytes_max: 250000
      steps_outstanding_max: 5
      retained_bytes_max: 9999
      memory_max: 1014999
      step_records_max: 10
    }
    versions { format: 1 encoder: 0 route: 1 }
  )pb");
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec once, SpecFromProto(given));
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec twice,
                       SpecFromBytes(SpecToBytes(once)));
  EXPECT_EQ(SpecToBytes(twice), SpecToBytes(once));
  given.mutable_versions()->set_encoder(1);
  EXPECT_EQ(SpecToProto(once).DebugString(), given.DebugString());
}

TEST(SpecTest, EachFieldOfTheDeliveryIsReadIntoItsOwn) {
  v1::ConnectorSpec given = Smallest();
  *given.mutable_delivery() = ParseText(R"pb(
                                delivery {
                                  write_deadline { seconds: 7 }
                                  batch_rows_max: 100
                                  batch_bytes_max: 2048
                                  batch_linger { nanos: 5000000 }
                                  writes_in_flight_max: 3
                                  retry {
                                    backoff_initial { nanos: 2000000 }
                                    backoff_max { seconds: 30 }
                                    multiplier: 1.5
                                    jitter: 0.5
                                  }
                                  breaker {
                                    consecutive_failures_max: 9
                                    probe_interval { seconds: 11 }
                                    probes_max: 2
                                    failure_ratio: 0.75
                                    window_writes: 40
                                  }
                                }
                              )pb")
                                  .delivery();
  given.mutable_limits()->mutable_chunk_age_max()->set_seconds(4);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  const core::DeliveryOptions& delivery = spec.delivery;
  EXPECT_EQ(delivery.write_deadline, absl::Seconds(7));
  EXPECT_EQ(delivery.batch_rows_max, 100u);
  EXPECT_EQ(delivery.batch_bytes_max, 2048u);
  EXPECT_EQ(delivery.batch_linger, absl::Milliseconds(5));
  EXPECT_EQ(delivery.writes_in_flight_max, 3u);
  EXPECT_EQ(delivery.retry.initial, absl::Milliseconds(2));
  EXPECT_EQ(delivery.retry.max, absl::Seconds(30));
  EXPECT_EQ(delivery.retry.multiplier, 1.5);
  EXPECT_EQ(delivery.retry.jitter, 0.5);
  EXPECT_EQ(delivery.breaker.consecutive_failures_max, 9u);
  EXPECT_EQ(delivery.breaker.probe_interval, absl::Seconds(11));
  EXPECT_EQ(delivery.breaker.probes_max, 2u);
  EXPECT_EQ(delivery.breaker.failure_ratio, 0.75);
  EXPECT_EQ(delivery.breaker.window_writes, 40u);
  EXPECT_EQ(spec.limits.chunk_age, absl::Seconds(4));
}

TEST(SpecTest, TheFirstBackOffFollowsAShorterMaximum) {
  v1::ConnectorSpec given = Smallest();
  given.mutable_delivery()->mutable_retry()->mutable_backoff_max()->set_nanos(
      5'000'000);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  EXPECT_EQ(spec.delivery.retry.initial, absl::Milliseconds(5));
}

TEST(SpecTest, OfCsvEveryDefaultIsWrittenOut) {
  v1::ConnectorSpec given = Smallest();
  given.mutable_format()->mutable_csv();
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  EXPECT_EQ(As<core::CsvConfig>(spec.format).dialect, core::CsvDialect());
  EXPECT_EQ(spec.route->type(), "partition");
  EXPECT_EQ(SpecToProto(spec).format().csv().ShortDebugString(),
            "delimiter: \",\" quote: \"\\\"\" escape: CSV_ESCAPE_DOUBLED "
            "header: false comment: \"\" trim: false flexible: false "
            "keep_blank_lines: false empty_is_null: true");
}

TEST(SpecTest, CsvComesBackAsItWasGiven) {
  v1::ConnectorSpec given = Smallest();
  *given.mutable_format() = ParseText(R"pb(
                              format {
                                csv {
                                  delimiter: "\t"
                                  quote: "'"
                                  escape: CSV_ESCAPE_BACKSLASH
                                  header: true
                                  comment: "#"
                                  trim: true
                                  flexible: true
                                  keep_blank_lines: true
                                  empty_is_null: false
                                  null_tokens: "NULL"
                                  null_tokens: "\\N"
                                  key_column: 3
                                }
                              }
                            )pb")
                                .format();
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  EXPECT_EQ(spec.route->type(), "key_hash");
  EXPECT_EQ(SpecToProto(spec).format().DebugString(),
            given.format().DebugString());
}

TEST(SpecTest, ComponentsAreTyped) {
  v1::ConnectorSpec given = Smallest();
  given.mutable_format()->mutable_ndjson()->set_key("user.id");
  given.mutable_limits()->set_block_bytes(8192);
  given.mutable_limits()->set_record_bytes_max(uint64_t{100} << 20);
  given.mutable_limits()->set_in_flight_bytes_max(uint64_t{1} << 30);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  EXPECT_EQ(As<core::FileSourceConfig>(spec.source).path, "/in");
  EXPECT_EQ(As<core::FileSourceConfig>(spec.source).block_bytes, 8192u);
  EXPECT_EQ(As<core::NdjsonConfig>(spec.format).key, "user.id");
  EXPECT_EQ(As<core::NdjsonConfig>(spec.format).record_bytes_max,
            size_t{100} << 20);
  EXPECT_EQ(spec.route->type(), "key_hash");
  EXPECT_EQ(As<core::FileSinkConfig>(spec.sink).path, "/out");
  EXPECT_GT(As<core::FileSinkConfig>(spec.sink).buffer_bytes_max,
            size_t{100} << 20);
  EXPECT_EQ(spec.encoder, nullptr);
}

TEST(SpecTest, FileSinkIsTypedAndComesBack) {
  v1::ConnectorSpec given = Smallest();
  v1::FileSink& file = *given.mutable_sink()->mutable_file();
  file.set_path("/out");
  file.set_compression(v1::OUTPUT_COMPRESSION_ZSTD);
  file.set_compression_level(7);
  file.mutable_roll()->set_bytes(1000);
  file.mutable_roll()->set_steps(5);
  file.mutable_roll()->mutable_interval()->set_seconds(3600);
  file.set_visibility(v1::FILE_VISIBILITY_RENAME);
  file.set_name("orders-{shard}-{writer}-{number}.ndjson");
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  const auto& config = As<core::FileSinkConfig>(spec.sink);
  EXPECT_EQ(config.compression, core::Compression::kZstd);
  EXPECT_EQ(config.compression_level, 7);
  EXPECT_EQ(config.roll.bytes, 1000);
  EXPECT_EQ(config.roll.steps, 5);
  EXPECT_EQ(config.roll.interval, absl::Hours(1));
  EXPECT_EQ(config.visibility, core::FileVisibility::kRename);
  EXPECT_EQ(config.name, "orders-{shard}-{writer}-{number}.ndjson");
  EXPECT_EQ(SpecToProto(spec).sink().file().DebugString(), file.DebugString());
}

// A worker that knows no such fields takes it.
TEST(SpecTest, FileSinkSaysNothingOfItsDefaults) {
  v1::ConnectorSpec given = Smallest();
  v1::FileSink& file = *given.mutable_sink()->mutable_file();
  file.set_path("/out");
  file.set_compression(v1::OUTPUT_COMPRESSION_NONE);
  file.set_visibility(v1::FILE_VISIBILITY_MANIFEST);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  EXPECT_TRUE(As<core::FileSinkConfig>(spec.sink).roll.IsNever());
  EXPECT_EQ(SpecToProto(spec).sink().file().DebugString(), "path: \"/out\"\n");
}

TEST(SpecTest, PostgresSinkIsTypedAndComesBack) {
  v1::ConnectorSpec given = Smallest();
  v1::PostgresSink& postgres = *given.mutable_sink()->mutable_postgres();
  postgres.set_url("postgresql://u:${env:PASSWORD}@db/shop");
  postgres.set_table("sales.orders");
  postgres.set_mode(v1::POSTGRES_MODE_UPSERT);
  postgres.add_key("id");
  postgres.set_create_table(true);
  postgres.mutable_lock_timeout()->set_seconds(3);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  const auto& config = As<core::PostgresSinkConfig>(spec.sink);
  EXPECT_EQ(config.url, "postgresql://u:${env:PASSWORD}@db/shop");
  EXPECT_EQ(config.mode, core::PostgresMode::kUpsert);
  EXPECT_THAT(config.key, ElementsAre("id"));
  EXPECT_EQ(config.progress_table, "penstock.progress");
  EXPECT_EQ(config.lock_timeout, absl::Seconds(3));
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec again,
                       SpecFromBytes(SpecToBytes(spec)));
  EXPECT_EQ(SpecToBytes(again), SpecToBytes(spec));
}

TEST(SpecTest, PostgresSinkIsCheckedAsItChecksItself) {
  v1::ConnectorSpec given = Smallest();
  v1::PostgresSink& postgres = *given.mutable_sink()->mutable_postgres();
  EXPECT_THAT(FieldsOf(given),
              ElementsAre("connectors[0].sink.postgres.url",
                          "connectors[0].sink.postgres.table"));
  postgres.set_url("postgresql://u:hush@db/shop");
  postgres.set_table("orders");
  EXPECT_THAT(FieldsOf(given), ElementsAre("connectors[0].sink.postgres.url"));
  postgres.set_url("postgresql://db/shop");
  postgres.set_mode(v1::POSTGRES_MODE_UPSERT);
  EXPECT_THAT(FieldsOf(given), ElementsAre("connectors[0].sink.postgres.key"));
  postgres.set_mode(v1::POSTGRES_MODE_UNSPECIFIED);
  EXPECT_THAT(FieldsOf(given), ElementsAre("connectors[0].sink.postgres.mode"));
}

TEST(SpecTest, FileSourceIsReadAndWritten) {
  v1::ConnectorSpec given = Smallest();
  v1::FileSource& file = *given.mutable_source()->mutable_file();
  file.set_compression(v1::FILE_COMPRESSION_GZIP);
  file.set_follow(true);
  file.set_order(v1::FILE_ORDER_MODIFIED);
  file.set_start(v1::FILE_START_END);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  const auto& config = As<core::FileSourceConfig>(spec.source);
  EXPECT_EQ(config.compression, core::FileCompression::kGzip);
  EXPECT_TRUE(config.follow);
  EXPECT_EQ(config.order, core::FileOrder::kModified);
  EXPECT_EQ(config.start, core::FileStart::kEnd);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec again,
                       SpecFromBytes(SpecToBytes(spec)));
  EXPECT_EQ(SpecToBytes(again), SpecToBytes(spec));
}

TEST(SpecTest, FileSourceMayStartByTime) {
  v1::ConnectorSpec given = Smallest();
  v1::FileSource& file = *given.mutable_source()->mutable_file();
  file.set_follow(true);
  file.set_start_time("2026-11-30T16:00:00.5+01:00");
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  EXPECT_EQ(As<core::FileSourceConfig>(spec.source).start_time,
            absl::FromUnixMillis(1796050800500));
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec again,
                       SpecFromBytes(SpecToBytes(spec)));
  EXPECT_EQ(As<core::FileSourceConfig>(again.source).start_time,
            absl::FromUnixMillis(1796050800500));
  for (const char* wrong : {"", "yesterday", "2026-11-30"}) {
    file.set_start_time(wrong);
    EXPECT_THAT(FieldsOf(given),
                ElementsAre("connectors[0].source.file.start_time"));
  }
  file.set_start_time("2026-11-30T16:00:00Z");
  file.set_follow(false);
  EXPECT_THAT(FieldsOf(given),
              ElementsAre("connectors[0].source.file.start_time"));
}

TEST(SpecTest, FileSourcesEnumsAreChecked) {
  v1::ConnectorSpec given = Smallest();
  v1::FileSource& file = *given.mutable_source()->mutable_file();
  file.set_compression(v1::FILE_COMPRESSION_UNSPECIFIED);
  file.set_order(v1::FILE_ORDER_UNSPECIFIED);
  file.set_start(v1::FILE_START_UNSPECIFIED);
  EXPECT_THAT(FieldsOf(given),
              ElementsAre("connectors[0].source.file.compression",
                          "connectors[0].source.file.order",
                          "connectors[0].source.file.start"));
}

TEST(SpecTest, ToStartAtTheEndOfWhatEndsIsRefused) {
  v1::ConnectorSpec given = Smallest();
  given.mutable_source()->mutable_file()->set_start(v1::FILE_START_END);
  EXPECT_THAT(FieldsOf(given), ElementsAre("connectors[0].source.file.start"));
}

TEST(SpecTest, RawLinesKeepTheirCarriageReturn) {
  v1::ConnectorSpec given = Smallest();
  given.mutable_format()->mutable_raw();
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  EXPECT_EQ(As<core::RawConfig>(spec.format).record_bytes_max,
            spec.limits.record_bytes_max);
  EXPECT_EQ(spec.route->type(), "partition");
}

TEST(SpecTest, DefaultsFollowWhatWasGiven) {
  v1::ConnectorSpec given = Smallest();
  given.set_shards(16);
  given.mutable_limits()->set_in_flight_bytes_max(uint64_t{16} << 20);
  given.mutable_limits()->set_retained_bytes_max(uint64_t{200} << 20);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec spec, SpecFromProto(given));
  // Half of 16 MiB is 2 x 16 shards x 1 chunk of 256 KiB.
  EXPECT_EQ(spec.limits.shard_queue_chunks, 1u);
  EXPECT_EQ(spec.limits.step_bytes_max, uint64_t{4} << 20);
  EXPECT_EQ(spec.limits.step_bytes, uint64_t{4} << 20);
  EXPECT_EQ(spec.limits.memory_max, uint64_t{32 + 16 + 200} << 20);
}

TEST(SpecTest, EmptySpecNamesAllThatIsMissing) {
  EXPECT_THAT(FieldsOf(v1::ConnectorSpec()),
              ElementsAre("connectors[0].name", "connectors[0].source",
                          "connectors[0].format", "connectors[0].sink"));
  EXPECT_THAT(SpecFromProto(v1::ConnectorSpec()),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(SpecTest, UnknownArmIsRefusedByNumberOnly) {
  v1::ConnectorSpec spec = Smallest();
  v1::SinkSpec& sink = *spec.mutable_sink();
  sink.Clear();
  sink.GetReflection()->MutableUnknownFields(&sink)->AddLengthDelimited(3, "");
  EXPECT_THAT(FieldsOf(spec), ElementsAre("connectors[0].sink.#3"));
}

TEST(SpecTest, DefaultsThatTheCoreLacksMayBeGiven) {
  v1::ConnectorSpec spec = Smallest();
  spec.mutable_limits()->mutable_transaction_max()->set_seconds(300);
  spec.mutable_limits()->mutable_stalled_after()->set_seconds(60);
  spec.mutable_limits()->set_step_result_bytes_max(262'144);
  spec.mutable_limits()->set_journal_bytes_max(uint64_t{4} << 30);
  spec.mutable_limits()->set_journal_rows_max(100'000);
  spec.mutable_limits()->set_watch_events_max(1024);
  spec.mutable_limits()->set_watch_bytes_max(1 << 20);
  EXPECT_THAT(FieldsOf(spec), IsEmpty());
}

TEST(SpecTest, OtherValuesThatTheCoreLacksAreUnsupported) {
  v1::ConnectorSpec spec = Smallest();
  spec.mutable_limits()->mutable_transaction_max()->set_seconds(1);
  spec.mutable_limits()->mutable_stalled_after()->set_seconds(1);
  spec.mutable_limits()->set_step_result_bytes_max(1 << 20);
  spec.mutable_limits()->set_journal_bytes_max(1);
  spec.mutable_limits()->set_journal_rows_max(1);
  spec.mutable_limits()->set_watch_events_max(1);
  spec.mutable_limits()->set_watch_bytes_max(1);
  spec.mutable_versions()->set_route(2);
  EXPECT_THAT(FieldsOf(spec),
              ElementsAre("connectors[0].limits.transaction_max",
                          "connectors[0].limits.stalled_after",
                          "connectors[0].limits.step_result_bytes_max",
                          "connectors[0].limits.journal_bytes_max",
                          "connectors[0].limits.journal_rows_max",
                          "connectors[0].limits.watch_events_max",
                          "connectors[0].limits.watch_bytes_max",
                          "connectors[0].versions.route"));
  EXPECT_THAT(SpecFromProto(spec), HasReason(Reason::UNSUPPORTED));
}

TEST(SpecTest, OrphanTimeoutIsNeverZero) {
  v1::ConnectorSpec spec = Smallest();
  spec.mutable_orphan_timeout();
  EXPECT_THAT(FieldsOf(spec), ElementsAre("connectors[0].orphan_timeout"));
}

TEST(SpecTest, BytesThatDoNotParseAreDamage) {
  EXPECT_THAT(SpecFromBytes("\xFF\xFF"), HasReason(Reason::STATE_DAMAGED));
}

TEST(SpecTest, HashIsOfTheBytes) {
  EXPECT_EQ(SpecHash("").size(), 8u);
  EXPECT_NE(SpecHash("a"), SpecHash("b"));
}

}  // namespace
}  // namespace penstock::wire
