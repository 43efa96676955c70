// What a connector shows of itself.
#pragma once

#include "core/connector/shard_status.h"
#include "core/connector/state_machine.h"
#include "core/contract/ft_model.h"
#include "core/contract/health.h"
#include "core/contract/output_target.h"
#include "core/contract/parse_error.h"
#include "core/handoff/ack_tracker.h"
#include "core/record/buffer_size.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

struct Blocker {
  enum class Kind {
    kBarrier,
    kOpenTransaction,
    kReplay,
    kUnflushedShard,
    kUnreleasedStep,
    kUnfinishedStep,
  };
  Kind kind = Kind::kUnfinishedStep;
  Step step = 0;
  std::optional<ShardIndex> shard;
  absl::Time since;
  std::string text;
};

struct ErrorEntry {
  std::string tag;
  absl::Time time;
  // Running count of this tag, 1-based.
  uint64_t index = 0;
  bool fatal = false;
  std::string text;
};

// The last update that was asked for, whatever became of it.
struct SpecAttempt {
  std::string spec_bytes;
  absl::Time time;
  // OK: it was taken over.
  absl::Status result;
};

// Everything GetConnector and the watches show of one connector.
struct ConnectorStatus {
  std::string name;
  std::string pipeline;
  std::string instance;
  std::string spec_bytes;
  // Types of the two ends; empty: there is none.
  std::string source_kind;
  std::string sink_kind;
  std::optional<SpecAttempt> attempt;
  // Who it was opened by: with the pipeline's incarnation the writer names this
  // life as well as `instance` does, and is what the controller made durable
  // before.
  std::string incarnation;
  Writer writer;
  ConnectorState state = ConnectorState::kOpened;
  // It paused by itself: since when nothing is heard of a controller.
  std::optional<absl::Time> orphaned_since;
  std::optional<FtModel> level_asked;
  std::optional<FtModel> level;
  bool end_of_input = false;
  std::optional<Step> running_step;
  Step base_steps = 0;
  // Last step + 1; the base if there was none.
  Step made_steps = 0;
  Step released_steps = 0;
  Step completed_steps = 0;
  Step checkpointed_steps = 0;
  std::vector<Step> retained_steps;
  // Totals of this instance (INV-8) and what is staged now.
  BufferSize buffered_total;
  BufferSize extended_total;
  BufferSize replayed_total;
  BufferSize queued;
  uint64_t records_out = 0;
  uint64_t records_skipped = 0;
  uint64_t records_discarded = 0;
  // Of `records_out`: left out because the target refused them.
  uint64_t records_refused = 0;
  // Of `records_refused`, `records_skipped` and `parse_errors`: kept.
  uint64_t dead_letters = 0;
  uint64_t parse_errors = 0;
  uint64_t already_held_steps = 0;
  uint64_t inflight_bytes = 0;
  // At which a chunk is sealed; 0: the sink is not open.
  uint64_t chunk_bytes = 0;
  // How often bytes in flight rose to their high mark.
  uint64_t inflight_pauses = 0;
  // And how long it took until they had fallen to their low mark: meanwhile no
  // step begins.
  absl::Duration inflight_paused_time;
  // Since when the first unfinished step is registered; zero: there is none.
  absl::Duration oldest_step_age;
  // Of the steps that are completed.
  AckTracker::Latencies latencies;
  uint64_t retained_bytes = 0;
  std::vector<ShardStatus> shards;
  ConnectorHealth health;
  absl::Time health_since;
  std::optional<std::string> first_error;
  uint64_t error_count = 0;
  std::vector<ErrorEntry> errors;  // If asked for: see Connector::Errors.
  std::vector<Blocker> blockers;
};

}  // namespace penstock::core
