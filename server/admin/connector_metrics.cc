#include "server/admin/connector_metrics.h"

#include "core/connector/state_machine.h"

#include <absl/strings/str_cat.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>

namespace penstock::server {
namespace {

using core::ConnectorStatus;
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

void AddShards(const std::vector<ConnectorStatus>& statuses,
               std::vector<MetricFamily>& families) {
  MetricFamily progress{"penstock_shard_progress_steps",
                        "Steps that the target holds, exclusive count.",
                        MetricType::Gauge,
                        {}};
  MetricFamily held{"penstock_shard_held_bytes",
                    "Bytes waiting for a release or a commit.",
                    MetricType::Gauge,
                    {}};
  MetricFamily queued{"penstock_shard_queue_chunks",
                      "Chunks in the shard's queue.",
                      MetricType::Gauge,
                      {}};
  MetricFamily parked{"penstock_shard_parked_chunks",
                      "Chunks that found no room in the queue.",
                      MetricType::Gauge,
                      {}};
  for (const ConnectorStatus& status : statuses) {
    for (size_t i = 0; i < status.shards.size(); ++i) {
      const Labels labels = {{"connector", status.name},
                             {"shard", absl::StrCat(i)}};
      const core::ShardStatus& shard = status.shards[i];
      Add(progress, labels, Number(shard.progress));
      Add(held, labels, Number(shard.held_bytes));
      Add(queued, labels, Number(shard.queued_chunks));
      Add(parked, labels, Number(shard.parked_chunks));
    }
  }
  families.push_back(std::move(progress));
  families.push_back(std::move(held));
  families.push_back(std::move(queued));
  families.push_back(std::move(parked));
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
