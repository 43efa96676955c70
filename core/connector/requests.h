// The protocol's messages as core values: what a connector is asked and what
// it answers. `proto/wire` converts them; server/dispatch takes them from any
// transport; the reference controller and the simulation speak them.
// See design §4 and the proto comments for meaning.
#pragma once

#include "core/connector/bad_record_limits.h"
#include "core/connector/connector_status.h"
#include "core/contract/component.h"
#include "core/contract/dead_letter.h"
#include "core/contract/ft_model.h"
#include "core/contract/output_target.h"
#include "core/contract/parse_error.h"
#include "core/contract/resume.h"
#include "core/contract/watermark.h"
#include "core/handoff/delivery.h"
#include "core/record/buffer_size.h"
#include "core/record/schema.h"
#include "core/record/step.h"
#include "core/record/step_hash.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Rule 1: who sends a mutating request.
struct Fence {
  std::string pipeline;
  std::string controller_id;
  uint64_t epoch = 0;
  std::string nonce;
  friend bool operator==(const Fence&, const Fence&) = default;
};

// Rule 2: which connector, and which life of it.
struct ConnectorRef {
  std::string connector;
  std::string instance;
  friend bool operator==(const ConnectorRef&, const ConnectorRef&) = default;
};

// What every command carries beside its own fields.
struct CommandHeader {
  Fence fence;
  ConnectorRef ref;
  // Rule 4: Release as a field of every command (exclusive count).
  std::optional<Step> released_steps;
  // Rule 8: for commands that are not idempotent by step.
  std::string request_id;
};

enum class StopReason {
  kMinMet,
  kLinger,
  kBatchLimit,
  kByteLimit,
  kWaitOver,
  kEndOfInput,
  kBarrierCleared,
  kTransaction,
  kBlocked,
};

// Why a Queue made no step.
enum class NoStepReason { kWaitOver, kEndOfInput, kPaused, kInterrupted };

// Rule 3. `previous_steps`: this connector's last step + 1 as the controller
// knows it. Zero minima mean the connector's defaults.
struct QueueRequest {
  Step step = 0;
  Step previous_steps = 0;
  uint64_t min_records = 0;
  uint64_t min_bytes = 0;
  std::optional<absl::Duration> linger;
  absl::Duration wait = absl::ZeroDuration();
  uint64_t max_records = 0;
  uint64_t max_bytes = 0;
  bool checkpoint_requested = false;
};

// Rule 5.
struct StepResult {
  Step step = 0;
  BufferSize amount;
  Resume resume;
  // True: `resume`'s seek is a whole position, fit for a checkpoint.
  bool position_complete = true;
  // The whole position, if it was asked for and `resume`'s seek is not it.
  std::optional<std::string> full_position;
  // Exactly-once only: what Replay must reproduce.
  std::optional<StepHash> hash;
  std::vector<Watermark> watermarks;
  bool transaction_started = false;
  bool transaction_committed = false;
  std::optional<std::string> transaction_label;
  bool end_of_input = false;
  StopReason stopped_because = StopReason::kMinMet;
  // Records of `amount` that no shard got: the encoder refused them and the
  // policy was to skip.
  uint64_t skipped_records = 0;

  friend bool operator==(const StepResult&, const StepResult&) = default;
};

struct NoStep {
  NoStepReason reason = NoStepReason::kWaitOver;
  bool end_of_input = false;
  friend bool operator==(const NoStep&, const NoStep&) = default;
};

struct QueueReply {
  // Exactly one is set. Shared by: the ledger that retains the result and the
  // replies under way; constant.
  std::shared_ptr<const StepResult> result;
  std::optional<NoStep> no_step;
};

// Rule 6. `result` is the journaled one.
struct ReplayRequest {
  StepResult result;
  // Last step + 1 before this one, as in Queue.
  Step previous_steps = 0;
};
struct ReplayReply {
  BufferSize amount;
  // Every shard held the step already: it was skipped, not read.
  bool already_held = false;
};

// Rule 7.
struct PrepareCheckpointRequest {
  Step steps = 0;
  absl::Duration deadline = absl::Seconds(10);
};
struct PrepareCheckpointReply {
  bool ready = false;
  std::vector<Blocker> blockers;
};
struct CommitCheckpointRequest {
  Step steps = 0;
};

struct DisconnectRequest {
  absl::Duration deadline = absl::Seconds(5);
};
struct DisconnectReply {
  std::string connector;
  // Released steps that were not confirmed in time, ascending; a later open's
  // progress tells what became of them.
  std::vector<Step> unconfirmed_steps;
  // Steps dropped because they were not released, ascending.
  std::vector<Step> dropped_steps;
};

// How a drain of the worker ended one connector.
struct DrainedConnector {
  std::string connector;
  std::string instance;
  // What its Disconnect said. An error: nobody knows what it left.
  absl::StatusOr<DisconnectReply> reply;
  // Read and never queued; it comes again from the source.
  BufferSize unqueued;

  // Whether all of it got out.
  bool IsComplete() const {
    return reply.ok() && reply->unconfirmed_steps.empty() &&
           reply->dropped_steps.empty() && unqueued.IsEmpty();
  }
};

// Design §6. Bytes unless the name says otherwise.
struct ConnectorLimits {
  uint64_t record_bytes_max = uint64_t{16} << 20;
  uint64_t block_bytes = uint64_t{1} << 20;
  uint64_t queued_bytes_max = uint64_t{32} << 20;
  uint64_t chunk_bytes = uint64_t{256} << 10;
  absl::Duration chunk_age = absl::Milliseconds(200);
  uint32_t shard_queue_chunks = 8;
  uint64_t inflight_bytes_max = uint64_t{64} << 20;
  double inflight_high = 0.8;
  double inflight_low = 0.5;
  uint64_t step_bytes = uint64_t{8} << 20;
  absl::Duration step_linger = absl::Milliseconds(100);
  uint64_t step_bytes_max = uint64_t{16} << 20;
  uint64_t step_records_max = UINT64_MAX;
  uint32_t steps_outstanding_max = 64;
  uint64_t retained_bytes_max = uint64_t{64} << 20;
  uint64_t memory_max = uint64_t{192} << 20;
};

enum class BadRecordPolicy { kSkip, kFail };

// A resolved connector specification. Configurations are constant and shared
// by: the registry's factories, GetConnector and the controller's store.
struct ConnectorSpec {
  std::string name;
  std::shared_ptr<const ComponentConfig> source;
  std::shared_ptr<const ComponentConfig> format;
  std::shared_ptr<const ComponentConfig> encoder;  // null: as `format`
  std::shared_ptr<const ComponentConfig> route;
  std::shared_ptr<const ComponentConfig> sink;
  // Empty: records carry no rows.
  Schema schema;
  uint32_t shards = 1;
  std::optional<FtModel> level;
  bool allow_lower = false;
  BadRecordPolicy on_parse_error = BadRecordPolicy::kSkip;
  BadRecordLimits bad_records;
  BadRecordPolicy on_encode_error = BadRecordPolicy::kSkip;
  // Of rows that the target refuses, if it can tell which.
  BadRecordPolicy on_refused_row = BadRecordPolicy::kFail;
  RefusedRowLimits refused_rows;
  std::shared_ptr<const ComponentConfig> dead_letter;  // null: none
  DeliveryOptions delivery;
  ConnectorLimits limits;
  // Rule 13. nullopt: the worker's, or never.
  std::optional<absl::Duration> orphan_timeout;
};

// Another specification for a connector that lives.
struct UpdateRequest {
  ConnectorSpec spec;
  std::string spec_bytes;
  // Only say what would become of it.
  bool validate_only = false;
  // Whether what runs now (its bytes) may become `spec` while it lives.
  std::function<absl::Status(absl::string_view running)> check;
};
struct UpdateReply {
  // What ran when it was asked, in bytes.
  std::string before;
};

// Rule 2.
struct OpenRequest {
  Fence fence;
  std::string request_id;
  ConnectorSpec spec;
  // Serialised spec as the client sent it, for GetConnector and hashes.
  std::string spec_bytes;
  std::string incarnation;
  Writer writer;
  Step base_steps = 0;
  bool first_open = false;
  // The checkpoint's position (seek JSON); nullopt = the configured start.
  std::optional<std::string> position;
  // Highest journaled step + 1, at least base_steps: rule 7's PROGRESS_AHEAD.
  Step journaled_steps = 0;
  // Whether the pipeline takes checkpoints: if not, sources acknowledge
  // upstream by completed steps.
  bool checkpointing = true;
};
struct OpenReply {
  std::string instance;
  // Resolved start as seek JSON.
  std::string position;
  Step base_steps = 0;
  // Per shard; empty below exactly-once.
  std::vector<Step> shard_progress;
  std::optional<FtModel> level;
};

}  // namespace penstock::core
