// The snapshot of one connector.
#include "core/connector/driver.h"

#include <memory>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

void ShowInput(const Consumer& consumer, ConnectorStatus& status) {
  const InputTotals totals = consumer.totals();
  status.end_of_input = totals.end_of_input;
  status.buffered_total = totals.buffered;
  status.extended_total = totals.extended;
  status.replayed_total = totals.replayed;
  status.queued = totals.queued;
  status.records_discarded += totals.records_discarded;
  status.parse_errors = totals.parse_errors;
}

}  // namespace

ConnectorStatus Driver::Status() const {
  // Before anything is read: what changes meanwhile is news again.
  announcer_->Seen();
  Published published;
  {
    MutexLock lock(published_mu_);
    published = published_;
  }
  ConnectorStatus status;
  status.name = state_.request.spec.name;
  status.pipeline = state_.request.fence.pipeline;
  status.instance = instance_;
  status.spec_bytes = std::move(published.spec_bytes);
  status.attempt = std::move(published.attempt);
  status.orphaned_since = published.orphaned_since;
  const ConnectorSpec& spec = state_.request.spec;
  if (spec.source != nullptr) {
    status.source_kind = std::string(spec.source->type());
  }
  if (spec.sink != nullptr) status.sink_kind = std::string(spec.sink->type());
  status.incarnation = state_.request.incarnation;
  status.writer = state_.request.writer;
  status.state = published.state;
  status.level_asked = state_.request.spec.level;
  status.level = published.level;
  status.running_step = published.running_step;
  status.base_steps = state_.request.base_steps;
  // In this order each is at most the next, whatever moves meanwhile; but below
  // exactly-once steps may be completed before they are released.
  status.checkpointed_steps = state_.checkpointed->value();
  status.completed_steps = state_.completed->value();
  // At one instant, and behind the running step: that is made, or is not.
  StepLedger::Snapshot steps = state_.ledger.snapshot();
  status.released_steps = steps.released_steps;
  status.made_steps = steps.made_steps;
  status.retained_steps = std::move(steps.retained_steps);
  status.retained_bytes = steps.retained_bytes;
  status.records_out = published.handoff.records_out;
  status.records_skipped = published.handoff.records_skipped;
  status.records_discarded = published.handoff.records_discarded;
  status.already_held_steps = published.already_held_steps;
  if (published.consumer != nullptr) ShowInput(*published.consumer, status);
  if (published.budget != nullptr) {
    status.inflight_bytes = published.budget->usage();
    const InflightBudget::Pauses pauses = published.budget->pauses();
    status.inflight_pauses = pauses.count;
    status.inflight_paused_time = pauses.time;
    status.latencies = published.tracker->latencies();
    const auto oldest = published.tracker->oldest();
    if (oldest.has_value()) {
      status.oldest_step_age = state_.clock.SteadyNow() - oldest->since;
    }
  }
  if (published.sink != nullptr) {
    status.chunk_bytes = published.sink->chunk_bytes;
  }
  const size_t shards =
      published.workers == nullptr ? 0 : published.workers->size();
  for (ShardIndex shard = 0; shard < shards; ++shard) {
    ShardStatus& shown = status.shards.emplace_back();
    shown.worker = (*published.workers)[shard]->Snapshot();
    shown.progress = shown.worker.progress;
    shown.held_bytes = shown.worker.held_bytes;
    shown.parked_chunks = published.parked_chunks[shard];
    status.records_refused += shown.worker.rows_refused;
    status.dead_letters += shown.worker.dead_letters;
    if (published.sink != nullptr) {
      const ShardQueue& queue = published.sink->queues->at(shard);
      shown.queued_chunks = queue.size();
      shown.queue_chunks_max = queue.items_max();
      shown.queue_full_events = queue.full_events();
    }
  }
  HealthLog::Snapshot health = state_.health.snapshot();
  status.health = std::move(health.health);
  status.health_since = health.since;
  status.first_error = std::move(health.first_error);
  status.error_count = health.error_count;
  status.blockers = std::move(published.blockers);
  return status;
}

std::shared_ptr<Consumer> Driver::PublishedConsumer() const {
  MutexLock lock(published_mu_);
  return published_.consumer;
}

ParseErrorCounts Driver::ParseErrors() const {
  const std::shared_ptr<Consumer> consumer = PublishedConsumer();
  return consumer == nullptr ? ParseErrorCounts() : consumer->parse_errors();
}

std::shared_ptr<const ConnectorMetrics> Driver::CustomMetrics() const {
  const std::shared_ptr<Consumer> consumer = PublishedConsumer();
  return consumer == nullptr ? nullptr : consumer->custom_metrics();
}

}  // namespace penstock::core
