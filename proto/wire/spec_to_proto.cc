#include "core/base/byte_order.h"
#include "core/base/check.h"
#include "core/base/checksum.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/components.h"
#include "proto/wire/enums.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/schema.h"
#include "proto/wire/spec.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstdint>

namespace penstock::wire {
namespace {

v1::Limits LimitsToProto(const core::ConnectorLimits& limits) {
  v1::Limits to;
  to.set_record_bytes_max(limits.record_bytes_max);
  to.set_block_bytes(limits.block_bytes);
  to.set_queued_bytes_max(limits.queued_bytes_max);
  to.set_chunk_bytes_max(limits.chunk_bytes);
  *to.mutable_chunk_age_max() = DurationToProto(limits.chunk_age);
  to.set_shard_queue_chunks_max(limits.shard_queue_chunks);
  to.set_in_flight_bytes_max(limits.inflight_bytes_max);
  to.set_in_flight_high_mark(limits.inflight_high);
  to.set_in_flight_low_mark(limits.inflight_low);
  to.set_step_bytes(limits.step_bytes);
  *to.mutable_step_linger() = DurationToProto(limits.step_linger);
  to.set_step_bytes_max(limits.step_bytes_max);
  to.set_steps_outstanding_max(limits.steps_outstanding_max);
  to.set_retained_bytes_max(limits.retained_bytes_max);
  to.set_memory_max(limits.memory_max);
  if (limits.step_records_max != UINT64_MAX) {
    to.set_step_records_max(limits.step_records_max);
  }
  return to;
}

v1::BadRecordLimits BadRecordsToProto(const core::BadRecordLimits& limits) {
  v1::BadRecordLimits to;
  if (limits.total_max != UINT64_MAX) to.set_total_max(limits.total_max);
  to.set_ratio_max(limits.ratio_max);
  to.set_records_min(limits.records_min);
  return to;
}

v1::RefusedRowLimits RefusedRowsToProto(const core::RefusedRowLimits& limits) {
  v1::RefusedRowLimits to;
  if (limits.total_max != UINT64_MAX) to.set_total_max(limits.total_max);
  to.set_ratio_max(limits.ratio_max);
  to.set_window_rows(limits.window_rows);
  return to;
}

v1::DeliverySpec DeliveryToProto(const core::DeliveryOptions& delivery) {
  v1::DeliverySpec to;
  *to.mutable_write_deadline() = DurationToProto(delivery.write_deadline);
  to.set_batch_rows_max(delivery.batch_rows_max);
  to.set_batch_bytes_max(delivery.batch_bytes_max);
  *to.mutable_batch_linger() = DurationToProto(delivery.batch_linger);
  // What a sink can do is known only once it is open.
  if (delivery.writes_in_flight_max.has_value()) {
    to.set_writes_in_flight_max(*delivery.writes_in_flight_max);
  }
  v1::RetrySpec& retry = *to.mutable_retry();
  *retry.mutable_backoff_initial() = DurationToProto(delivery.retry.initial);
  *retry.mutable_backoff_max() = DurationToProto(delivery.retry.max);
  retry.set_multiplier(delivery.retry.multiplier);
  retry.set_jitter(delivery.retry.jitter);
  v1::BreakerSpec& breaker = *to.mutable_breaker();
  breaker.set_consecutive_failures_max(
      delivery.breaker.consecutive_failures_max);
  *breaker.mutable_probe_interval() =
      DurationToProto(delivery.breaker.probe_interval);
  breaker.set_probes_max(delivery.breaker.probes_max);
  if (delivery.breaker.failure_ratio.has_value()) {
    breaker.set_failure_ratio(*delivery.breaker.failure_ratio);
  }
  breaker.set_window_writes(delivery.breaker.window_writes);
  return to;
}

}  // namespace

v1::ConnectorSpec SpecToProto(const core::ConnectorSpec& spec) {
  v1::ConnectorSpec to;
  to.set_name(spec.name);
  *to.mutable_source() = SourceToProto(*spec.source);
  *to.mutable_format() = FormatToProto(*spec.format);
  *to.mutable_route() = RouteToProto(*spec.route);
  *to.mutable_sink() = SinkToProto(*spec.sink);
  if (!spec.schema.IsEmpty()) {
    *to.mutable_schema() = SchemaToProto(spec.schema);
  }
  to.set_shards(spec.shards);
  to.set_level(LevelToProto(spec.level));
  to.set_allow_lower(spec.allow_lower);
  to.set_on_parse_error(ToProto(spec.on_parse_error));
  *to.mutable_bad_records() = BadRecordsToProto(spec.bad_records);
  to.set_on_encode_error(ToProto(spec.on_encode_error));
  to.set_on_refused_row(ToProto(spec.on_refused_row));
  if (spec.dead_letter != nullptr) {
    *to.mutable_dead_letter() = DeadLetterToProto(*spec.dead_letter);
  }
  *to.mutable_refused_rows() = RefusedRowsToProto(spec.refused_rows);
  *to.mutable_delivery() = DeliveryToProto(spec.delivery);
  *to.mutable_limits() = LimitsToProto(spec.limits);
  if (spec.orphan_timeout.has_value()) {
    *to.mutable_orphan_timeout() = DurationToProto(*spec.orphan_timeout);
  }
  to.mutable_versions()->set_format(kComponentVersion);
  to.mutable_versions()->set_encoder(kComponentVersion);
  to.mutable_versions()->set_route(kComponentVersion);
  return to;
}

std::string SpecToBytes(const core::ConnectorSpec& spec) {
  return SpecToBytes(SpecToProto(spec));
}

std::string SpecToBytes(const v1::ConnectorSpec& resolved) {
  // Equal specs have equal bytes: maps are written in the order of their keys.
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    resolved.SerializeToCodedStream(&out);
  }
  return bytes;
}

std::string SpecHash(absl::string_view spec_bytes) {
  std::string result;
  core::AppendLe64(core::Checksum64(spec_bytes), result);
  return result;
}

}  // namespace penstock::wire
