#include "server/admin/connector_metrics.h"

#include "core/connector/state_machine.h"

#include <absl/strings/str_cat.h>

#include <span>
#include <string>
#include <utility>

namespace penstock::server {
namespace {

using core::ConnectorStatus;
using core::ShardStatus;
using Type = Exposition::Type;

// What is rarely so, or rarely happens, takes no room in a scrape otherwise.
enum class Shown { kAlways, kUnlessZero };
using enum Shown;

// One number of a connector and how it is called.
struct Field {
  const char* name;
  const char* help;
  Type type;
  double (*value)(const ConnectorStatus&);
  Shown shown = kAlways;
};

constexpr double Number(uint64_t value) { return static_cast<double>(value); }

core::Breaker::Snapshot BreakerOf(const ConnectorStatus& status) {
  // Every shard shows that of the target.
  if (status.shards.empty()) return {};
  return status.shards.front().worker.breaker;
}

const Field kFields[] = {
    {"penstock_source_records_total", "Records staged by the source.",
     Type::kCounter,
     [](const ConnectorStatus& s) { return Number(s.buffered_total.records); }},
    {"penstock_source_bytes_total", "Payload bytes staged by the source.",
     Type::kCounter,
     [](const ConnectorStatus& s) { return Number(s.buffered_total.bytes); }},
    {"penstock_queued_records", "Records staged and not yet in a step.",
     Type::kGauge,
     [](const ConnectorStatus& s) { return Number(s.queued.records); }},
    {"penstock_queued_bytes", "Payload bytes staged and not yet in a step.",
     Type::kGauge,
     [](const ConnectorStatus& s) { return Number(s.queued.bytes); }},
    {"penstock_extended_records_total", "Records in steps made by Queue.",
     Type::kCounter,
     [](const ConnectorStatus& s) { return Number(s.extended_total.records); }},
    {"penstock_replayed_records_total", "Records in steps made by Replay.",
     Type::kCounter,
     [](const ConnectorStatus& s) { return Number(s.replayed_total.records); },
     kUnlessZero},
    {"penstock_sink_records_total", "Records encoded for the sink.",
     Type::kCounter,
     [](const ConnectorStatus& s) { return Number(s.records_out); }},
    {"penstock_sink_skipped_records_total",
     "Records that the encoder refused and the policy skipped.", Type::kCounter,
     [](const ConnectorStatus& s) { return Number(s.records_skipped); },
     kUnlessZero},
    {"penstock_sink_discarded_records_total",
     "Records that came after the connector had failed.", Type::kCounter,
     [](const ConnectorStatus& s) { return Number(s.records_discarded); },
     kUnlessZero},
    {"penstock_sink_refused_records_total",
     "Records that the target refused and that were left out.", Type::kCounter,
     [](const ConnectorStatus& s) { return Number(s.records_refused); },
     kUnlessZero},
    {"penstock_sink_dead_letters_total",
     "Bad, skipped or refused records that were kept as dead letters.",
     Type::kCounter,
     [](const ConnectorStatus& s) { return Number(s.dead_letters); },
     kUnlessZero},
    {"penstock_errors_total", "Errors reported by the connector.",
     Type::kCounter,
     [](const ConnectorStatus& s) { return Number(s.error_count); },
     kUnlessZero},
    {"penstock_already_held_steps_total",
     "Steps that a replay found in the target.", Type::kCounter,
     [](const ConnectorStatus& s) { return Number(s.already_held_steps); },
     kUnlessZero},
    {"penstock_inflight_bytes", "Encoded bytes not yet confirmed.",
     Type::kGauge,
     [](const ConnectorStatus& s) { return Number(s.inflight_bytes); }},
    {"penstock_inflight_pauses_total",
     "Times that bytes in flight rose to their high mark.", Type::kCounter,
     [](const ConnectorStatus& s) { return Number(s.inflight_pauses); },
     kUnlessZero},
    {"penstock_inflight_paused_seconds_total",
     "Time from then until they had fallen to their low mark: no step begins.",
     Type::kCounter,
     [](const ConnectorStatus& s) {
       return absl::ToDoubleSeconds(s.inflight_paused_time);
     },
     kUnlessZero},
    {"penstock_oldest_step_age_seconds",
     "Age of the first unfinished step; 0: there is none.", Type::kGauge,
     [](const ConnectorStatus& s) {
       return absl::ToDoubleSeconds(s.oldest_step_age);
     }},
    {"penstock_sink_breaker_state",
     "Circuit breaker of the target: 0 closed, 1 open, 2 half-open.",
     Type::kGauge,
     [](const ConnectorStatus& s) {
       return Number(static_cast<uint64_t>(BreakerOf(s).state));
     },
     kUnlessZero},
    {"penstock_sink_breaker_opens_total",
     "Times that the circuit breaker opened.", Type::kCounter,
     [](const ConnectorStatus& s) { return Number(BreakerOf(s).opens); },
     kUnlessZero},
    {"penstock_retained_bytes", "Bytes of step results not yet released.",
     Type::kGauge,
     [](const ConnectorStatus& s) { return Number(s.retained_bytes); }},
    {"penstock_made_steps", "Last step made, plus one.", Type::kGauge,
     [](const ConnectorStatus& s) { return Number(s.made_steps); }},
    {"penstock_released_steps", "Steps that may be committed, exclusive count.",
     Type::kGauge,
     [](const ConnectorStatus& s) { return Number(s.released_steps); }},
    {"penstock_completed_steps", "Completed steps, exclusive count.",
     Type::kGauge,
     [](const ConnectorStatus& s) { return Number(s.completed_steps); }},
    {"penstock_checkpointed_steps", "Checkpointed steps, exclusive count.",
     Type::kGauge,
     [](const ConnectorStatus& s) { return Number(s.checkpointed_steps); }},
    {"penstock_delivery_level",
     "Level it runs at: 0 none, 1 at_least_once, 2 exactly_once.", Type::kGauge,
     [](const ConnectorStatus& s) {
       if (!s.level.has_value()) return 0.0;
       return *s.level == core::FtModel::kExactlyOnce ? 2.0 : 1.0;
     }},
    {"penstock_orphaned",
     "1 while it is paused because nothing is heard of a controller.",
     Type::kGauge,
     [](const ConnectorStatus& s) {
       return s.orphaned_since.has_value() ? 1.0 : 0.0;
     },
     kUnlessZero},
    {"penstock_end_of_input", "1 once the source has reached its end.",
     Type::kGauge,
     [](const ConnectorStatus& s) { return s.end_of_input ? 1.0 : 0.0; },
     kUnlessZero},
};

// One number of a shard.
struct ShardField {
  const char* name;
  const char* help;
  Type type;
  uint64_t (*value)(const ShardStatus&);
  Shown shown = kAlways;
};

const ShardField kShardFields[] = {
    {"penstock_shard_progress_steps",
     "Steps that the target holds, exclusive count.", Type::kGauge,
     [](const ShardStatus& s) { return s.progress; }},
    {"penstock_shard_held_bytes", "Bytes waiting for a release or a commit.",
     Type::kGauge, [](const ShardStatus& s) { return s.held_bytes; }},
    {"penstock_shard_queue_chunks", "Chunks in the shard's queue.",
     Type::kGauge, [](const ShardStatus& s) { return s.queued_chunks; }},
    {"penstock_shard_queue_chunks_max", "Most chunks in the shard's queue.",
     Type::kGauge, [](const ShardStatus& s) { return s.queue_chunks_max; }},
    {"penstock_shard_queue_full_events_total",
     "Times that the shard's queue refused a chunk.", Type::kCounter,
     [](const ShardStatus& s) { return s.queue_full_events; }, kUnlessZero},
    {"penstock_shard_parked_chunks", "Chunks that found no room in the queue.",
     Type::kGauge, [](const ShardStatus& s) { return s.parked_chunks; },
     kUnlessZero},
    {"penstock_shard_rows_written_total", "Rows that the target confirmed.",
     Type::kCounter,
     [](const ShardStatus& s) { return s.worker.rows_written; }},
    {"penstock_shard_refused_rows_total",
     "Rows that the target refused and that were left out.", Type::kCounter,
     [](const ShardStatus& s) { return s.worker.rows_refused; }, kUnlessZero},
    {"penstock_shard_dead_letters_total",
     "Rows that were refused, and records that could not be parsed or encoded, "
     "which were kept.",
     Type::kCounter, [](const ShardStatus& s) { return s.worker.dead_letters; },
     kUnlessZero},
    {"penstock_shard_bytes_written_total", "Bytes that the target confirmed.",
     Type::kCounter,
     [](const ShardStatus& s) { return s.worker.bytes_written; }},
    {"penstock_shard_writes_in_flight",
     "Batches being written or waiting to be tried again.", Type::kGauge,
     [](const ShardStatus& s) { return uint64_t{s.worker.writes_under_way}; }},
    {"penstock_shard_writes_in_flight_max", "Most batches at the same time.",
     Type::kGauge,
     [](const ShardStatus& s) { return uint64_t{s.worker.writes_max}; }},
    {"penstock_shard_writes_overdue",
     "Writes beyond their deadline that have not returned.", Type::kGauge,
     [](const ShardStatus& s) { return uint64_t{s.worker.writes_overdue}; },
     kUnlessZero},
    {"penstock_shard_write_deadlines_total",
     "Times that a write passed its deadline.", Type::kCounter,
     [](const ShardStatus& s) { return s.worker.deadlines_passed; },
     kUnlessZero},
    {"penstock_shard_retries_total", "Writes that are tried again.",
     Type::kCounter, [](const ShardStatus& s) { return s.worker.retries; },
     kUnlessZero},
    {"penstock_shard_abandoned_batches_total",
     "Batches given up when the shard broke or stopped.", Type::kCounter,
     [](const ShardStatus& s) { return s.worker.abandoned; }, kUnlessZero},
};

// A distribution of a connector: the sum of some.
struct ConnectorHistogram {
  const char* name;
  const char* help;
  void (*add_parts)(const ConnectorStatus&,
                    std::vector<const core::Histogram*>&);
};

// Fewer than are kept: three of them for each connector are half of a scrape.
constexpr double kBounds[] = {0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60};

const ConnectorHistogram kHistograms[] = {
    {"penstock_sink_write_duration_seconds",
     "Time of one attempt to write a batch, whatever became of it.",
     [](const ConnectorStatus& s, std::vector<const core::Histogram*>& to) {
       for (const ShardStatus& shard : s.shards) {
         to.push_back(&shard.worker.write_seconds);
       }
     }},
    {"penstock_step_ack_duration_seconds",
     "From the result of a step until its last shard has acked it; the "
     "controller's release is in between at exactly_once.",
     [](const ConnectorStatus& s, std::vector<const core::Histogram*>& to) {
       to.push_back(&s.latencies.ack_seconds);
     }},
    {"penstock_end_to_end_duration_seconds",
     "From the staging of a step's oldest record (read and parsed) until the "
     "sink has the step for good; steps made by Queue.",
     [](const ConnectorStatus& s, std::vector<const core::Histogram*>& to) {
       to.push_back(&s.latencies.end_to_end_seconds);
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

constexpr char kStateName[] = "penstock_connector_state";
constexpr char kStateHelp[] =
    "1 for the state and condition a connector is in.";
constexpr char kInfoName[] = "penstock_connector_info";
constexpr char kInfoHelp[] =
    "Always 1; the type (kind) of the source (direction in) and the sink (out) "
    "of a connector, and the pipeline that opened it.";
constexpr char kParseErrorsName[] = "penstock_source_parse_errors_total";
constexpr char kParseErrorsHelp[] =
    "Bad records, by what is wrong with them; reasons that occurred.";
constexpr char kFlushesName[] = "penstock_shard_flushes_total";
constexpr char kFlushesHelp[] =
    "Confirmed batches, by why they were written; reasons that occurred.";

void AddShards(const std::vector<ConnectorStatus>& statuses, Shown shown,
               Exposition& to) {
  for (const ShardField& field : kShardFields) {
    if (field.shown != shown) continue;
    to.Family(field.name, field.help, field.type);
    for (const ConnectorStatus& status : statuses) {
      for (size_t i = 0; i < status.shards.size(); ++i) {
        const uint64_t value = field.value(status.shards[i]);
        if (value == 0 && field.shown == kUnlessZero) continue;
        const std::string shard = absl::StrCat(i);
        to.Sample({{"connector", status.name}, {"shard", shard}},
                  Number(value));
      }
    }
  }
}

void AddFlushes(const std::vector<ConnectorStatus>& statuses, Exposition& to) {
  to.Family(kFlushesName, kFlushesHelp, Type::kCounter);
  for (const ConnectorStatus& status : statuses) {
    for (size_t i = 0; i < status.shards.size(); ++i) {
      const std::string shard = absl::StrCat(i);
      const auto& flushes = status.shards[i].worker.flushes;
      for (size_t reason = 0; reason < core::kFlushReasons; ++reason) {
        if (flushes[reason] == 0) continue;
        to.Sample(
            {{"connector", status.name},
             {"shard", shard},
             {"reason", ReasonName(static_cast<core::FlushReason>(reason))}},
            Number(flushes[reason]));
      }
    }
  }
}

void AddStates(const std::vector<ConnectorStatus>& statuses, Exposition& to) {
  to.Family(kStateName, kStateHelp, Type::kGauge);
  for (const ConnectorStatus& status : statuses) {
    to.Sample({{"connector", status.name},
               {"state", core::StateName(status.state)},
               {"condition", ConditionName(status.health.condition)}},
              1);
  }
}

void AddInfo(const std::vector<ConnectorStatus>& statuses, Exposition& to) {
  to.Family(kInfoName, kInfoHelp, Type::kGauge);
  for (const ConnectorStatus& status : statuses) {
    for (const auto& [direction, kind] :
         {std::pair("in", &status.source_kind),
          std::pair("out", &status.sink_kind)}) {
      if (kind->empty()) continue;
      to.Sample({{"connector", status.name},
                 {"pipeline", status.pipeline},
                 {"direction", direction},
                 {"kind", *kind}},
                1);
    }
  }
}

void AddHistograms(const std::vector<ConnectorStatus>& statuses,
                   Exposition& to) {
  for (const ConnectorHistogram& histogram : kHistograms) {
    to.Family(histogram.name, histogram.help, Type::kHistogram);
    std::vector<const core::Histogram*> parts;
    for (const ConnectorStatus& status : statuses) {
      parts.clear();
      histogram.add_parts(status, parts);
      to.Histogram({{"connector", status.name}}, parts, kBounds);
    }
  }
}

}  // namespace

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

void AddConnectorMetrics(const std::vector<ConnectorStatus>& statuses,
                         Exposition& to) {
  AddStates(statuses, to);
  AddInfo(statuses, to);
  for (const Field& field : kFields) {
    to.Family(field.name, field.help, field.type);
    for (const ConnectorStatus& status : statuses) {
      const double value = field.value(status);
      if (value == 0 && field.shown == kUnlessZero) continue;
      to.Sample({{"connector", status.name}}, value);
    }
  }
}

void AddConnectorDetails(const std::vector<ConnectorStatus>& statuses,
                         Exposition& to) {
  // Trouble first.
  AddShards(statuses, kUnlessZero, to);
  AddShards(statuses, kAlways, to);
  AddHistograms(statuses, to);
  AddFlushes(statuses, to);
}

void AddParseErrors(const std::vector<ConnectorParseErrors>& all,
                    Exposition& to) {
  to.Family(kParseErrorsName, kParseErrorsHelp, Type::kCounter);
  for (const ConnectorParseErrors& errors : all) {
    for (const auto& [tag, count] : errors.counts.by_tag()) {
      to.Sample({{"connector", errors.connector}, {"reason", tag}},
                Number(count));
    }
  }
}

std::vector<MetricRow> ConnectorMetricRows() {
  std::vector<MetricRow> rows;
  for (const Field& field : kFields) {
    rows.push_back({field.name, field.type, "connector", field.help,
                    field.shown == kUnlessZero});
  }
  rows.push_back({kParseErrorsName, Type::kCounter, "connector, reason",
                  kParseErrorsHelp});
  rows.push_back(
      {kStateName, Type::kGauge, "connector, state, condition", kStateHelp});
  rows.push_back({kInfoName, Type::kGauge,
                  "connector, pipeline, direction, kind", kInfoHelp});
  for (const ShardField& field : kShardFields) {
    rows.push_back({field.name, field.type, "connector, shard", field.help,
                    field.shown == kUnlessZero});
  }
  rows.push_back(
      {kFlushesName, Type::kCounter, "connector, shard, reason", kFlushesHelp});
  for (const ConnectorHistogram& histogram : kHistograms) {
    rows.push_back(
        {histogram.name, Type::kHistogram, "connector", histogram.help});
  }
  return rows;
}

}  // namespace penstock::server
