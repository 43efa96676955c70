#include "server/admin/connector_metrics.h"

#include "core/connector/state_machine.h"

#include <absl/strings/str_cat.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <utility>

namespace penstock::server {
namespace {

using core::ConnectorStatus;
using core::ShardStatus;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

using Labels = std::vector<std::pair<std::string, std::string>>;

void Add(MetricFamily& family, const Labels& labels, double value) {
  ClientMetric metric;
  for (const auto& [name, text] : labels) {
    metric.label.push_back({name, text});
  }
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
}

// One number of a connector and how it is called.
struct Field {
  const char* name;
  const char* help;
  MetricType type;
  double (*value)(const ConnectorStatus&);
};

constexpr double Number(uint64_t value) { return static_cast<double>(value); }

core::Breaker::Snapshot BreakerOf(const ConnectorStatus& status) {
  // Every shard shows that of the target.
  if (status.shards.empty()) return {};
  return status.shards.front().worker.breaker;
}

const Field kFields[] = {
    {"penstock_source_records_total", "Records staged by the source.",
     MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.buffered_total.records); }},
    {"penstock_source_bytes_total", "Payload bytes staged by the source.",
     MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.buffered_total.bytes); }},
    {"penstock_queued_records", "Records staged and not yet in a step.",
     MetricType::Gauge,
     [](const ConnectorStatus& s) { return Number(s.queued.records); }},
    {"penstock_queued_bytes", "Payload bytes staged and not yet in a step.",
     MetricType::Gauge,
     [](const ConnectorStatus& s) { return Number(s.queued.bytes); }},
    {"penstock_extended_records_total", "Records in steps made by Queue.",
     MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.extended_total.records); }},
    {"penstock_replayed_records_total", "Records in steps made by Replay.",
     MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.replayed_total.records); }},
    {"penstock_sink_records_total", "Records encoded for the sink.",
     MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.records_out); }},
    {"penstock_sink_skipped_records_total",
     "Records that the encoder refused and the policy skipped.",
     MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.records_skipped); }},
    {"penstock_sink_discarded_records_total",
     "Records that came after the connector had failed.", MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.records_discarded); }},
    {"penstock_sink_refused_records_total",
     "Records that the target refused and that were left out.",
     MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.records_refused); }},
    {"penstock_sink_dead_letters_total",
     "Bad, skipped or refused records that were kept as dead letters.",
     MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.dead_letters); }},
    {"penstock_source_parse_errors_total", "Bad records.", MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.parse_errors); }},
    {"penstock_errors_total", "Errors reported by the connector.",
     MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.error_count); }},
    {"penstock_already_held_steps_total",
     "Steps that a replay found in the target.", MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.already_held_steps); }},
    {"penstock_inflight_bytes", "Encoded bytes not yet confirmed.",
     MetricType::Gauge,
     [](const ConnectorStatus& s) { return Number(s.inflight_bytes); }},
    {"penstock_inflight_pauses_total",
     "Times that bytes in flight rose to their high mark.", MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(s.inflight_pauses); }},
    {"penstock_inflight_paused_seconds_total",
     "Time from then until they had fallen to their low mark: no step begins.",
     MetricType::Counter,
     [](const ConnectorStatus& s) {
       return absl::ToDoubleSeconds(s.inflight_paused_time);
     }},
    {"penstock_oldest_step_age_seconds",
     "Age of the first unfinished step; 0: there is none.", MetricType::Gauge,
     [](const ConnectorStatus& s) {
       return absl::ToDoubleSeconds(s.oldest_step_age);
     }},
    {"penstock_sink_breaker_state",
     "Circuit breaker of the target: 0 closed, 1 open, 2 half-open.",
     MetricType::Gauge,
     [](const ConnectorStatus& s) {
       return Number(static_cast<uint64_t>(BreakerOf(s).state));
     }},
    {"penstock_sink_breaker_opens_total",
     "Times that the circuit breaker opened.", MetricType::Counter,
     [](const ConnectorStatus& s) { return Number(BreakerOf(s).opens); }},
    {"penstock_retained_bytes", "Bytes of step results not yet released.",
     MetricType::Gauge,
     [](const ConnectorStatus& s) { return Number(s.retained_bytes); }},
    {"penstock_made_steps", "Last step made, plus one.", MetricType::Gauge,
     [](const ConnectorStatus& s) { return Number(s.made_steps); }},
    {"penstock_released_steps", "Steps that may be committed, exclusive count.",
     MetricType::Gauge,
     [](const ConnectorStatus& s) { return Number(s.released_steps); }},
    {"penstock_completed_steps", "Completed steps, exclusive count.",
     MetricType::Gauge,
     [](const ConnectorStatus& s) { return Number(s.completed_steps); }},
    {"penstock_checkpointed_steps", "Checkpointed steps, exclusive count.",
     MetricType::Gauge,
     [](const ConnectorStatus& s) { return Number(s.checkpointed_steps); }},
    {"penstock_delivery_level",
     "Level it runs at: 0 none, 1 at_least_once, 2 exactly_once.",
     MetricType::Gauge,
     [](const ConnectorStatus& s) {
       if (!s.level.has_value()) return 0.0;
       return *s.level == core::FtModel::kExactlyOnce ? 2.0 : 1.0;
     }},
    {"penstock_end_of_input", "1 once the source has reached its end.",
     MetricType::Gauge,
     [](const ConnectorStatus& s) { return s.end_of_input ? 1.0 : 0.0; }},
};

absl::string_view ConditionName(core::Condition condition) {
  switch (condition) {
    case core::Condition::kOk:
      return "ok";
    case core::Condition::kDegraded:
      return "degraded";
    case core::Condition::kStalled:
      return "stalled";
    case core::Condition::kNeedsConfig:
      return "needs_config";
    case core::Condition::kFatal:
      return "fatal";
  }
  return "unknown";
}

// One number of a shard.
struct ShardField {
  const char* name;
  const char* help;
  MetricType type;
  uint64_t (*value)(const ShardStatus&);
};

const ShardField kShardFields[] = {
    {"penstock_shard_progress_steps",
     "Steps that the target holds, exclusive count.", MetricType::Gauge,
     [](const ShardStatus& s) { return s.progress; }},
    {"penstock_shard_held_bytes", "Bytes waiting for a release or a commit.",
     MetricType::Gauge, [](const ShardStatus& s) { return s.held_bytes; }},
    {"penstock_shard_queue_chunks", "Chunks in the shard's queue.",
     MetricType::Gauge, [](const ShardStatus& s) { return s.queued_chunks; }},
    {"penstock_shard_queue_chunks_max", "Most chunks in the shard's queue.",
     MetricType::Gauge,
     [](const ShardStatus& s) { return s.queue_chunks_max; }},
    {"penstock_shard_queue_full_events_total",
     "Times that the shard's queue refused a chunk.", MetricType::Counter,
     [](const ShardStatus& s) { return s.queue_full_events; }},
    {"penstock_shard_parked_chunks", "Chunks that found no room in the queue.",
     MetricType::Gauge, [](const ShardStatus& s) { return s.parked_chunks; }},
    {"penstock_shard_rows_written_total", "Rows that the target confirmed.",
     MetricType::Counter,
     [](const ShardStatus& s) { return s.worker.rows_written; }},
    {"penstock_shard_refused_rows_total",
     "Rows that the target refused and that were left out.",
     MetricType::Counter,
     [](const ShardStatus& s) { return s.worker.rows_refused; }},
    {"penstock_shard_dead_letters_total",
     "Rows that were refused, and records that could not be parsed or encoded, "
     "which were kept.",
     MetricType::Counter,
     [](const ShardStatus& s) { return s.worker.dead_letters; }},
    {"penstock_shard_bytes_written_total", "Bytes that the target confirmed.",
     MetricType::Counter,
     [](const ShardStatus& s) { return s.worker.bytes_written; }},
    {"penstock_shard_writes_in_flight",
     "Batches being written or waiting to be tried again.", MetricType::Gauge,
     [](const ShardStatus& s) { return uint64_t{s.worker.writes_under_way}; }},
    {"penstock_shard_writes_in_flight_max", "Most batches at the same time.",
     MetricType::Gauge,
     [](const ShardStatus& s) { return uint64_t{s.worker.writes_max}; }},
    {"penstock_shard_writes_overdue",
     "Writes beyond their deadline that have not returned.", MetricType::Gauge,
     [](const ShardStatus& s) { return uint64_t{s.worker.writes_overdue}; }},
    {"penstock_shard_write_deadlines_total",
     "Times that a write passed its deadline.", MetricType::Counter,
     [](const ShardStatus& s) { return s.worker.deadlines_passed; }},
    {"penstock_shard_retries_total", "Writes that are tried again.",
     MetricType::Counter,
     [](const ShardStatus& s) { return s.worker.retries; }},
    {"penstock_shard_abandoned_batches_total",
     "Batches given up when the shard broke or stopped.", MetricType::Counter,
     [](const ShardStatus& s) { return s.worker.abandoned; }},
};

// One distribution of a shard.
struct ShardHistogram {
  const char* name;
  const char* help;
  const core::Histogram& (*value)(const ShardStatus&);
};

const ShardHistogram kShardHistograms[] = {
    {"penstock_shard_batch_rows", "Rows of a confirmed batch.",
     [](const ShardStatus& s) -> const core::Histogram& {
       return s.worker.batch_rows;
     }},
    {"penstock_shard_batch_bytes", "Bytes of a confirmed batch.",
     [](const ShardStatus& s) -> const core::Histogram& {
       return s.worker.batch_bytes;
     }},
    {"penstock_shard_write_duration_seconds",
     "Time of one attempt to write a batch, whatever became of it.",
     [](const ShardStatus& s) -> const core::Histogram& {
       return s.worker.write_seconds;
     }},
    {"penstock_shard_latency_seconds",
     "From the acceptance of a chunk's first record to its confirmation.",
     [](const ShardStatus& s) -> const core::Histogram& {
       return s.worker.latency_seconds;
     }},
};

absl::string_view ReasonName(core::FlushReason reason) {
  switch (reason) {
    case core::FlushReason::kRelease:
      return "release";
    case core::FlushReason::kRows:
      return "rows";
    case core::FlushReason::kBytes:
      return "bytes";
    case core::FlushReason::kLinger:
      return "linger";
    case core::FlushReason::kLift:
      return "checkpoint";
    case core::FlushReason::kDrain:
      return "drain";
  }
  return "unknown";
}

ClientMetric::Histogram ToHistogram(const core::Histogram& from) {
  ClientMetric::Histogram to;
  uint64_t below = 0;
  for (size_t i = 0; i < from.counts().size(); ++i) {
    below += from.counts()[i];
    const bool is_last = i == from.bounds().size();
    to.bucket.push_back(
        {.cumulative_count = below,
         .upper_bound = is_last ? std::numeric_limits<double>::infinity()
                                : from.bounds()[i]});
  }
  to.sample_count = below;
  to.sample_sum = from.sum();
  return to;
}

// Calls `add(labels, shard)` for every shard of every connector.
template <typename AddShard>
void ForEachShard(const std::vector<ConnectorStatus>& statuses, AddShard add) {
  for (const ConnectorStatus& status : statuses) {
    for (size_t i = 0; i < status.shards.size(); ++i) {
      add(Labels{{"connector", status.name}, {"shard", absl::StrCat(i)}},
          status.shards[i]);
    }
  }
}

void AddShards(const std::vector<ConnectorStatus>& statuses,
               std::vector<MetricFamily>& families) {
  for (const ShardField& field : kShardFields) {
    MetricFamily family{field.name, field.help, field.type, {}};
    ForEachShard(statuses, [&](const Labels& labels, const ShardStatus& shard) {
      Add(family, labels, Number(field.value(shard)));
    });
    families.push_back(std::move(family));
  }
  for (const ShardHistogram& histogram : kShardHistograms) {
    MetricFamily family{
        histogram.name, histogram.help, MetricType::Histogram, {}};
    ForEachShard(statuses, [&](const Labels& labels, const ShardStatus& shard) {
      Add(family, labels, 0);
      family.metric.back().histogram = ToHistogram(histogram.value(shard));
    });
    families.push_back(std::move(family));
  }
  MetricFamily flushes{"penstock_shard_flushes_total",
                       "Confirmed batches, by why they were written.",
                       MetricType::Counter,
                       {}};
  ForEachShard(statuses, [&](Labels labels, const ShardStatus& shard) {
    for (size_t i = 0; i < core::kFlushReasons; ++i) {
      Labels with_reason = labels;
      with_reason.emplace_back("reason",
                               ReasonName(static_cast<core::FlushReason>(i)));
      Add(flushes, with_reason, Number(shard.worker.flushes[i]));
    }
  });
  families.push_back(std::move(flushes));
}

}  // namespace

std::string RenderMetrics(const Dispatcher& dispatcher, absl::Time started,
                          absl::Time now, uint64_t resident_bytes,
                          const std::string& version) {
  const std::vector<ConnectorStatus> statuses = dispatcher.Statuses();
  std::vector<MetricFamily> families;
  const auto single = [&](const char* name, const char* help, Labels labels,
                          double value) {
    MetricFamily family{name, help, MetricType::Gauge, {}};
    Add(family, labels, value);
    families.push_back(std::move(family));
  };
  single("penstock_build_info", "Always 1; labels tell the version.",
         {{"version", version}}, 1);
  single("penstock_uptime_seconds", "Since the process started.", {},
         absl::ToDoubleSeconds(now - started));
  single("penstock_resident_memory_bytes", "Memory of the process.", {},
         Number(resident_bytes));
  single("penstock_memory_max_bytes", "Sum of memory_max it accepts.", {},
         Number(dispatcher.memory_max()));
  single("penstock_memory_committed_bytes",
         "Sum of memory_max of the open connectors.", {},
         Number(dispatcher.memory_committed()));
  single("penstock_connectors", "Open connectors.", {},
         Number(statuses.size()));
  single("penstock_draining", "1 while the worker drains.", {},
         dispatcher.draining() ? 1.0 : 0.0);
  for (const Field& field : kFields) {
    MetricFamily family{field.name, field.help, field.type, {}};
    for (const ConnectorStatus& status : statuses) {
      Add(family, {{"connector", status.name}}, field.value(status));
    }
    families.push_back(std::move(family));
  }
  MetricFamily state{"penstock_connector_state",
                     "1 for the state and condition a connector is in.",
                     MetricType::Gauge,
                     {}};
  for (const ConnectorStatus& status : statuses) {
    Add(state,
        {{"connector", status.name},
         {"state", std::string(core::StateName(status.state))},
         {"condition", std::string(ConditionName(status.health.condition))}},
        1);
  }
  families.push_back(std::move(state));
  AddShards(statuses, families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace penstock::server
