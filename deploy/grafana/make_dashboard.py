#!/usr/bin/env python3
"""Prints penstock.json: the dashboard, each panel of which answers a question.

  make_dashboard.py > penstock.json

A test compares the two, and asks a real Prometheus every query.
"""
import json


def rate_of_rare(counter):
    """Of a counter that is not shown while it is 0: a 0 for each connector that
    has none."""
    return (f"rate({counter}[5m]) or on (instance, connector) "
            "0 * penstock_made_steps")


# Title (the question), unit, queries with their legend, width of 24, help.
PANELS = (
    ("Is every connector well?", "short",
     (("sum by (state, condition) (penstock_connector_state)",
       "{{state}} {{condition}}"),), 8,
     "Connectors by state and condition. Only ok is well."),
    ("Which connectors are not?", "short",
     (('penstock_connector_state{condition!="ok"}',
       "{{connector}} {{state}} {{condition}}"),), 8,
     "Empty is good. penstock connectors NAME says why."),
    ("Are the workers there?", "short",
     (('up{job="penstock"}', "{{instance}}"),
      ("penstock_draining", "{{instance}} draining")), 8,
     "1: scraped. Draining workers open nothing more."),
    ("How fast is it read?", "rps",
     (("connector:penstock_source_records:rate5m", "{{connector}}"),), 12,
     "Records that the source staged."),
    ("How fast is it written?", "rps",
     (("connector:penstock_written_rows:rate5m", "{{connector}}"),), 12,
     "Rows that the target confirmed."),
    ("How far is the target behind?", "short",
     (("connector:penstock_steps_behind", "{{connector}}"),), 8,
     "Steps made and not completed."),
    ("How old is the oldest unfinished step?", "s",
     (("penstock_oldest_step_age_seconds", "{{connector}}"),), 8,
     "Rises where something is stuck."),
    ("How long does a record take?", "s",
     (("connector:penstock_latency_seconds:p99_5m", "{{connector}} p99"),
      ("connector:penstock_ack_seconds:p99_5m", "{{connector}} p99 of it: acks")),
     8, "From the staging of a step's oldest record until the sink has it for "
     "good; of that, from its result on."),
    ("Who waits for the target?", "percentunit",
     ((rate_of_rare("penstock_inflight_paused_seconds_total"),
       "{{connector}}"),), 8,
     "Share of the time in which no step begins."),
    ("How much is in flight?", "bytes",
     (("penstock_inflight_bytes", "{{connector}} in flight"),
      ("penstock_queued_bytes", "{{connector}} staged")), 8,
     "Both are bounded by limits."),
    ("How long does a write take?", "s",
     (("histogram_quantile(0.99, sum by (instance, connector, le) "
       "(rate(penstock_sink_write_duration_seconds_bucket[5m])))",
       "{{connector}} p99"),), 8, "One attempt, whatever became of it."),
    ("How long does a step take?", "s",
     (("histogram_quantile(0.99, sum by (kind, le) "
       "(rate(penstock_step_duration_seconds_bucket[5m])))", "{{kind}} p99"),),
     8, "Read, hashed, routed, encoded; waits are not in it."),
    ("How long does a fail-over take?", "s",
     (("histogram_quantile(0.9, sum by (kind, le) "
       "(rate(penstock_open_to_step_duration_seconds_bucket[1h])))",
       "{{kind}} p90"),), 8,
     "From Open until the first new step, waiting for data included."),
    ("How long does a drain take?", "s",
     (("histogram_quantile(0.9, sum by (kind, le) "
       "(rate(penstock_drain_duration_seconds_bucket[1h])))",
       "{{kind}} p90"),), 8, "Of one connector."),
    ("Is a shard skewed?", "rps",
     (("rate(penstock_shard_rows_written_total[5m])",
       "{{connector}} {{shard}}"),), 8, "Rows by shard."),
    ("What goes wrong?", "short",
     ((rate_of_rare("penstock_errors_total"), "{{connector}} errors"),
      (rate_of_rare("penstock_shard_retries_total"),
       "{{connector}} {{shard}} retries")), 8, "A second."),
    ("Which records are left out?", "short",
     ((rate_of_rare("penstock_source_parse_errors_total"),
       "{{connector}} not parsed: {{reason}}"),
      (rate_of_rare("penstock_sink_refused_records_total"),
       "{{connector}} refused"),
      (rate_of_rare("penstock_sink_skipped_records_total"),
       "{{connector}} skipped")), 8, "A second. Dead letters keep them."),
    ("Is there memory left?", "bytes",
     (("penstock_resident_memory_bytes", "{{instance}} resident"),
      ("penstock_memory_committed_bytes", "{{instance}} committed"),
      ("penstock_memory_max_bytes", "{{instance}} accepted")), 12,
     "Committed: the sum of memory_max of open connectors."),
    ("How far are checkpoints behind?", "short",
     (("penstock_completed_steps - penstock_checkpointed_steps",
       "{{connector}}"),), 12, "Steps that a crash would replay."),
)
HEIGHT = 8


def panel(number, title, unit, queries, place, description):
    return {
        "id": number, "type": "timeseries", "title": title,
        "description": description, "gridPos": place,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"},
                    "tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [{"refId": chr(ord("A") + i), "expr": expr,
                     "legendFormat": legend}
                    for i, (expr, legend) in enumerate(queries)]}


def dashboard():
    panels, left, top = [], 0, 0
    for number, (title, unit, queries, width, description) in enumerate(
            PANELS, 1):
        if left + width > 24:
            left, top = 0, top + HEIGHT
        panels.append(panel(number, title, unit, queries,
                            {"x": left, "y": top, "w": width, "h": HEIGHT},
                            description))
        left += width
    return {
        "title": "Penstock", "uid": "penstock", "schemaVersion": 38,
        "editable": True, "refresh": "10s", "tags": ["penstock"],
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource",
                                 "query": "prometheus"}]},
        "panels": panels}


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=1))
