#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/raw/config.h"
#include "core/sources/file/config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/components.h"
#include "proto/wire/enums.h"
#include "proto/wire/field_reader.h"
#include "proto/wire/names.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/schema.h"
#include "proto/wire/spec.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace penstock::wire {
namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint32_t kShardsMax = 1024;

void ReadSizes(const v1::Limits& from, FieldReader& fields,
               core::ConnectorLimits& to) {
  to.record_bytes_max =
      fields.Number("record_bytes_max", PENSTOCK_GIVEN(from, record_bytes_max),
                    to.record_bytes_max, 1, 256 * kMiB);
  to.block_bytes =
      fields.Number("block_bytes", PENSTOCK_GIVEN(from, block_bytes),
                    to.block_bytes, 4 * kKiB, 64 * kMiB);
  to.queued_bytes_max = fields.Number(
      "queued_bytes_max", PENSTOCK_GIVEN(from, queued_bytes_max),
      std::max(to.queued_bytes_max, to.block_bytes), to.block_bytes, kBytesMax);
  to.chunk_bytes =
      fields.Number("chunk_bytes_max", PENSTOCK_GIVEN(from, chunk_bytes_max),
                    to.chunk_bytes, kKiB, 16 * kMiB);
  to.inflight_bytes_max = fields.Number(
      "in_flight_bytes_max", PENSTOCK_GIVEN(from, in_flight_bytes_max),
      to.inflight_bytes_max, kKiB, kBytesMax);
  to.retained_bytes_max = fields.Number(
      "retained_bytes_max", PENSTOCK_GIVEN(from, retained_bytes_max),
      to.retained_bytes_max, kKiB, kBytesMax);
}

// Requires: ReadSizes came before.
void ReadSteps(const v1::Limits& from, FieldReader& fields,
               core::ConnectorLimits& to) {
  const uint64_t quarter = to.inflight_bytes_max / 4;
  to.step_bytes_max =
      fields.Number("step_bytes_max", PENSTOCK_GIVEN(from, step_bytes_max),
                    std::min(to.step_bytes_max, quarter), 1, quarter);
  to.step_bytes =
      fields.Number("step_bytes", PENSTOCK_GIVEN(from, step_bytes),
                    std::min(to.step_bytes, to.step_bytes_max), 1, kBytesMax);
  to.step_linger = fields.Time("step_linger", PENSTOCK_GIVEN(from, step_linger),
                               to.step_linger);
  to.chunk_age =
      fields.Time("chunk_age_max", PENSTOCK_GIVEN(from, chunk_age_max),
                  to.chunk_age, absl::ZeroDuration(), absl::Hours(1));
  to.step_records_max =
      fields.Number("step_records_max", PENSTOCK_GIVEN(from, step_records_max),
                    to.step_records_max, 1, UINT64_MAX);
  to.steps_outstanding_max = static_cast<uint32_t>(fields.Number(
      "steps_outstanding_max", PENSTOCK_GIVEN(from, steps_outstanding_max),
      to.steps_outstanding_max, 1, UINT32_MAX));
}

// The low mark leaves room for all shards' queues, twice.
// Requires: ReadSizes came before.
void ReadMarks(const v1::Limits& from, uint32_t shards, FieldReader& fields,
               core::ConnectorLimits& to) {
  if (from.has_in_flight_low_mark()) {
    to.inflight_low = from.in_flight_low_mark();
  }
  if (from.has_in_flight_high_mark()) {
    to.inflight_high = from.in_flight_high_mark();
  }
  // Written so that NaN is refused, too.
  if (!(to.inflight_low > 0 && to.inflight_low < 1)) {
    fields.Add("in_flight_low_mark", "must be above 0 and below 1",
               kOutOfRange);
    return;
  }
  if (!(to.inflight_high > to.inflight_low && to.inflight_high <= 1)) {
    fields.Add("in_flight_high_mark",
               "must be above in_flight_low_mark and at most 1", kOutOfRange);
    return;
  }
  const auto low_bytes = static_cast<uint64_t>(
      to.inflight_low * static_cast<double>(to.inflight_bytes_max));
  const uint64_t allowed = low_bytes / (2 * uint64_t{shards} * to.chunk_bytes);
  if (allowed == 0) {
    fields.Add(
        "in_flight_bytes_max",
        absl::StrCat("its low mark is ", low_bytes, " bytes; ", shards,
                     " shards with chunks of ", to.chunk_bytes,
                     " need at least ", 2 * uint64_t{shards} * to.chunk_bytes),
        kContradiction);
    return;
  }
  to.shard_queue_chunks = static_cast<uint32_t>(fields.Number(
      "shard_queue_chunks_max", PENSTOCK_GIVEN(from, shard_queue_chunks_max),
      std::min<uint64_t>(to.shard_queue_chunks, allowed), 1,
      std::min<uint64_t>(allowed, UINT32_MAX)));
}

void ReadMemory(const v1::Limits& from, FieldReader& fields,
                core::ConnectorLimits& to) {
  const uint64_t needed =
      to.queued_bytes_max + to.inflight_bytes_max + to.retained_bytes_max;
  to.memory_max =
      fields.Number("memory_max", PENSTOCK_GIVEN(from, memory_max),
                    std::max(to.memory_max, needed), needed, 4 * kBytesMax);
}

core::ConnectorLimits ReadLimits(const v1::Limits& from, uint32_t shards,
                                 FieldReader fields) {
  core::ConnectorLimits to;
  ReadSizes(from, fields, to);
  ReadSteps(from, fields, to);
  ReadMarks(from, shards, fields, to);
  ReadMemory(from, fields, to);

  const absl::Duration none = absl::ZeroDuration();
  const auto time = [&](absl::string_view name, const auto& given,
                        absl::Duration by_default) {
    std::optional<absl::Duration> value;
    if (given.has_value()) value = fields.Time(name, given, none);
    fields.OnlyDefault(name, value, by_default);
  };
  time("transaction_max", PENSTOCK_GIVEN(from, transaction_max),
       absl::Minutes(5));
  time("stalled_after", PENSTOCK_GIVEN(from, stalled_after), absl::Minutes(1));
  fields.OnlyDefault<uint64_t>("step_result_bytes_max",
                               PENSTOCK_GIVEN(from, step_result_bytes_max),
                               256 * kKiB);
  fields.OnlyDefault<uint64_t>(
      "journal_bytes_max", PENSTOCK_GIVEN(from, journal_bytes_max), 4 * kGiB);
  fields.OnlyDefault<uint64_t>("journal_rows_max",
                               PENSTOCK_GIVEN(from, journal_rows_max), 100'000);
  fields.OnlyDefault<uint32_t>("watch_events_max",
                               PENSTOCK_GIVEN(from, watch_events_max), 1024);
  fields.OnlyDefault<uint64_t>("watch_bytes_max",
                               PENSTOCK_GIVEN(from, watch_bytes_max), kMiB);
  return to;
}

core::BadRecordPolicy ReadPolicy(absl::string_view name,
                                 std::optional<v1::BadRecordPolicy> given,
                                 core::BadRecordPolicy by_default,
                                 FieldReader& fields) {
  if (!given.has_value()) return by_default;
  if (const auto policy = FromProto(*given)) return *policy;
  fields.Add(name, absl::StrCat("is ", *given, ", must be SKIP or FAIL"),
             *given == 0 ? kUnspecified : kUnknownValue);
  return by_default;
}

core::RefusedRowLimits ReadRefusedRows(const v1::RefusedRowLimits& from,
                                       FieldReader fields) {
  core::RefusedRowLimits to;
  to.total_max = fields.Number("total_max", PENSTOCK_GIVEN(from, total_max),
                               to.total_max, 0, UINT64_MAX);
  to.window_rows =
      fields.Number("window_rows", PENSTOCK_GIVEN(from, window_rows),
                    to.window_rows, 10, uint64_t{1} << 40);
  to.ratio_max = fields.Real("ratio_max", PENSTOCK_GIVEN(from, ratio_max),
                             to.ratio_max, 0, 1);
  return to;
}

core::BadRecordLimits ReadBadRecords(const v1::BadRecordLimits& from,
                                     FieldReader fields) {
  core::BadRecordLimits to;
  to.total_max = fields.Number("total_max", PENSTOCK_GIVEN(from, total_max),
                               to.total_max, 0, UINT64_MAX);
  to.ratio_max = fields.Real("ratio_max", PENSTOCK_GIVEN(from, ratio_max),
                             to.ratio_max, 0, 1);
  to.records_min =
      fields.Number("records_min", PENSTOCK_GIVEN(from, records_min),
                    to.records_min, 1, UINT64_MAX);
  return to;
}

core::RetryPolicy ReadRetry(const v1::RetrySpec& from, FieldReader fields) {
  core::RetryPolicy to;
  to.max = fields.Time("backoff_max", PENSTOCK_GIVEN(from, backoff_max), to.max,
                       absl::Milliseconds(1), absl::Hours(1));
  to.initial =
      fields.Time("backoff_initial", PENSTOCK_GIVEN(from, backoff_initial),
                  std::min(to.initial, to.max), absl::Milliseconds(1), to.max);
  to.multiplier = fields.Real("multiplier", PENSTOCK_GIVEN(from, multiplier),
                              to.multiplier, 1, 10);
  to.jitter =
      fields.Real("jitter", PENSTOCK_GIVEN(from, jitter), to.jitter, 0, 1);
  return to;
}

core::Breaker::Options ReadBreaker(const v1::BreakerSpec& from,
                                   FieldReader fields) {
  core::Breaker::Options to;
  to.consecutive_failures_max = static_cast<uint32_t>(
      fields.Number("consecutive_failures_max",
                    PENSTOCK_GIVEN(from, consecutive_failures_max),
                    to.consecutive_failures_max, 1, 1'000'000));
  if (from.has_failure_ratio()) {
    // Written so that NaN is refused, too.
    if (from.failure_ratio() > 0 && from.failure_ratio() <= 1) {
      to.failure_ratio = from.failure_ratio();
    } else {
      fields.Add("failure_ratio",
                 absl::StrCat("is ", from.failure_ratio(),
                              ", must be above 0 and at most 1; leave it out "
                              "to count failures in a row only"),
                 kOutOfRange);
    }
  }
  to.window_writes = static_cast<uint32_t>(
      fields.Number("window_writes", PENSTOCK_GIVEN(from, window_writes),
                    to.window_writes, 1, 1'000'000));
  to.probe_interval =
      fields.Time("probe_interval", PENSTOCK_GIVEN(from, probe_interval),
                  to.probe_interval, absl::Milliseconds(1), absl::Hours(24));
  to.probes_max = static_cast<uint32_t>(fields.Number(
      "probes_max", PENSTOCK_GIVEN(from, probes_max), to.probes_max, 1, 64));
  return to;
}

core::DeliveryOptions ReadDelivery(const v1::DeliverySpec& from,
                                   FieldReader fields) {
  core::DeliveryOptions to;
  to.write_deadline =
      fields.Time("write_deadline", PENSTOCK_GIVEN(from, write_deadline),
                  to.write_deadline, absl::Milliseconds(1), absl::Hours(24));
  to.batch_rows_max =
      fields.Number("batch_rows_max", PENSTOCK_GIVEN(from, batch_rows_max),
                    to.batch_rows_max, 1, UINT64_MAX);
  to.batch_bytes_max =
      fields.Number("batch_bytes_max", PENSTOCK_GIVEN(from, batch_bytes_max),
                    to.batch_bytes_max, kKiB, kGiB);
  to.batch_linger =
      fields.Time("batch_linger", PENSTOCK_GIVEN(from, batch_linger),
                  to.batch_linger, absl::ZeroDuration(), absl::Hours(1));
  if (from.has_writes_in_flight_max()) {
    to.writes_in_flight_max = static_cast<uint32_t>(fields.Number(
        "writes_in_flight_max", from.writes_in_flight_max(), 1, 1, 64));
  }
  Violations& violations = fields.violations();
  to.retry =
      ReadRetry(from.retry(), FieldReader(fields.Path("retry"), violations));
  to.breaker = ReadBreaker(from.breaker(),
                           FieldReader(fields.Path("breaker"), violations));
  return to;
}

std::optional<core::FtModel> ReadLevel(const v1::ConnectorSpec& spec,
                                       FieldReader& fields) {
  if (!spec.has_level()) return core::FtModel::kExactlyOnce;
  const DecodedLevel level = LevelFromProto(spec.level());
  if (!level.ok) {
    fields.Add("level",
               absl::StrCat("is ", spec.level(),
                            ", must be NONE, AT_LEAST_ONCE or EXACTLY_ONCE"),
               spec.level() == 0 ? kUnspecified : kUnknownValue);
  }
  return level.level;
}

void ReadPolicies(const v1::ConnectorSpec& from, FieldReader& fields,
                  core::ConnectorSpec& to) {
  using core::BadRecordPolicy;
  to.on_parse_error =
      ReadPolicy("on_parse_error", PENSTOCK_GIVEN(from, on_parse_error),
                 BadRecordPolicy::kSkip, fields);
  to.bad_records = ReadBadRecords(
      from.bad_records(),
      FieldReader(fields.Path("bad_records"), fields.violations()));
  to.on_encode_error =
      ReadPolicy("on_encode_error", PENSTOCK_GIVEN(from, on_encode_error),
                 BadRecordPolicy::kSkip, fields);
  // Nothing is left out silently: somebody has to say so, or where to.
  to.on_refused_row = ReadPolicy(
      "on_refused_row", PENSTOCK_GIVEN(from, on_refused_row),
      from.has_dead_letter() ? BadRecordPolicy::kSkip : BadRecordPolicy::kFail,
      fields);
  to.refused_rows = ReadRefusedRows(
      from.refused_rows(),
      FieldReader(fields.Path("refused_rows"), fields.violations()));
  if (from.has_dead_letter()) {
    to.dead_letter = DeadLetterFromProto(
        from.dead_letter(), fields.Path("dead_letter"), fields.violations());
  }
}

void ReadVersions(const v1::ComponentVersions& from, FieldReader fields) {
  const auto check = [&fields](absl::string_view name, uint32_t version) {
    if (version <= kComponentVersion) return;
    fields.Add(name,
               absl::StrCat("is ", version, ", the newest known is ",
                            kComponentVersion),
               kUnsupportedField);
  };
  check("format", from.format());
  check("encoder", from.encoder());
  check("route", from.route());
}

void ReadSchema(const v1::ConnectorSpec& from, FieldReader& fields,
                core::ConnectorSpec& to) {
  if (!from.has_schema()) return;
  to.schema = SchemaFromProto(from.schema(), fields.Path("schema"),
                              fields.violations());
  if (to.format != nullptr && to.format->type() == "raw") {
    fields.Add("schema",
               "needs a format with fields, such as ndjson; raw has lines only",
               kContradiction);
  }
}

// A blob ends with its input, and nothing in it says where.
void CheckBlobs(const core::ConnectorSpec& spec, FieldReader& fields) {
  if (spec.format == nullptr || spec.format->type() != "raw" ||
      !static_cast<const core::RawConfig&>(*spec.format).is_blob) {
    return;
  }
  if (spec.source != nullptr && spec.source->type() == "file" &&
      static_cast<const core::FileSourceConfig&>(*spec.source).follow) {
    fields.Add("source.file.follow",
               "does not go with framing BLOB: a file that is followed has no "
               "end, and its record neither",
               kContradiction);
  }
  if (spec.sink != nullptr && spec.sink->type() != "kafka") {
    fields.Add("format.raw.framing",
               absl::StrCat("is BLOB, which a sink ", spec.sink->type(),
                            " cannot part again; send messages (kafka), or "
                            "lines"),
               kContradiction);
  }
}

void ReadComponents(const v1::ConnectorSpec& from, FieldReader& fields,
                    core::ConnectorSpec& to) {
  to.source = SourceFromProto(from.source(), to.limits, fields.Path("source"),
                              fields.violations());
  to.format = FormatFromProto(from.format(), to.limits, fields.Path("format"),
                              fields.violations());
  if (from.has_route()) {
    to.route =
        RouteFromProto(from.route(), fields.Path("route"), fields.violations());
  } else if (to.format != nullptr) {
    to.route = DefaultRoute(*to.format);
  }
  to.sink = SinkFromProto(from.sink(), to.limits, fields.Path("sink"),
                          fields.violations());
}

}  // namespace

core::ConnectorSpec SpecFromProto(const v1::ConnectorSpec& spec,
                                  absl::string_view path,
                                  Violations& violations) {
  AddUnknownFields(spec, path, violations);
  FieldReader fields(std::string(path), violations);
  core::ConnectorSpec result;
  if (spec.name().empty()) {
    fields.Add("name", "is missing", kRequired);
  } else if (!IsName(spec.name())) {
    fields.Add("name", std::string(kNameForm), kMalformed);
  }
  result.name = spec.name();
  result.shards = static_cast<uint32_t>(
      fields.Number("shards", PENSTOCK_GIVEN(spec, shards), 1, 1, kShardsMax));
  result.level = ReadLevel(spec, fields);
  result.allow_lower = spec.allow_lower();
  ReadPolicies(spec, fields, result);
  result.delivery = ReadDelivery(
      spec.delivery(), FieldReader(fields.Path("delivery"), violations));
  result.limits = ReadLimits(spec.limits(), result.shards,
                             FieldReader(fields.Path("limits"), violations));
  ReadComponents(spec, fields, result);
  ReadSchema(spec, fields, result);
  CheckBlobs(result, fields);
  if (spec.has_orphan_timeout()) {
    result.orphan_timeout =
        fields.Time("orphan_timeout", spec.orphan_timeout(), absl::Hours(1),
                    absl::Milliseconds(100), absl::Hours(30 * 24));
  }
  ReadVersions(spec.versions(),
               FieldReader(fields.Path("versions"), violations));
  return result;
}

absl::StatusOr<core::ConnectorSpec> SpecFromProto(const v1::ConnectorSpec& spec,
                                                  absl::string_view path) {
  Violations violations;
  core::ConnectorSpec result = SpecFromProto(spec, path, violations);
  RETURN_IF_ERROR(violations.ToStatus(core::Reason::INVALID_CONFIG));
  return result;
}

absl::StatusOr<core::ConnectorSpec> SpecFromBytes(
    absl::string_view spec_bytes) {
  v1::ConnectorSpec spec;
  if (!spec.ParseFromArray(spec_bytes.data(),
                           static_cast<int>(spec_bytes.size()))) {
    return core::MakeError(core::Reason::STATE_DAMAGED,
                           "stored bytes are no connector specification");
  }
  return SpecFromProto(spec);
}

}  // namespace penstock::wire
