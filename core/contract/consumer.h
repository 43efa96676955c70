// What an input endpoint may say. Its only way to talk back.
#pragma once

#include "core/contract/count_watch.h"
#include "core/contract/ft_model.h"
#include "core/contract/health.h"
#include "core/contract/parse_error.h"
#include "core/contract/resume.h"
#include "core/contract/watermark.h"
#include "core/record/buffer_size.h"
#include "core/record/record_batch.h"
#include "core/record/step_hash.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace penstock::core {

// Seed type: `InputConsumer`. Implemented by core/connector; a reader shares
// it with its threads.
//
// Threads:   thread-safe. No method blocks or calls back into the reader: it
//            records and returns.
// Lifecycle: usable until the reader's destructor returns.
class InputConsumer {
 public:
  virtual ~InputConsumer() = default;

  // Seed: `max_batch_size`. Records that a reader should flush at most in
  // answer to the running Queue. May be exceeded where records belong together.
  virtual uint64_t MaxBatchSize() const = 0;
  // Ours: payload bytes that it should flush at most; the same licence.
  virtual uint64_t MaxBatchBytes() const = 0;
  // Ours: bytes (block capacity and arena) that may be staged. A reader
  // stages no further buffer while its InputQueue holds this much.
  virtual uint64_t MaxQueuedBytes() const = 0;

  // Seed: `pipeline_fault_tolerance`.
  virtual std::optional<FtModel> PipelineFaultTolerance() const = 0;
  // Seed: `hasher`: one for exactly-once, otherwise nullopt.
  std::optional<StepHasher> Hasher() const {
    if (PipelineFaultTolerance() != FtModel::kExactlyOnce) return std::nullopt;
    return std::make_optional<StepHasher>();
  }

  // Seed: `parse_errors`.
  virtual void ParseErrors(std::vector<ParseError> errors) = 0;
  // Ours: whether buffers are to carry the bad records that stood among theirs,
  // in Replay too, for the dead letters. Constant.
  virtual bool KeepsBadRecords() const { return false; }
  // Seed: `buffered`: `amount` more is staged. Called after, or atomically
  // with, the staging. Also during Replay.
  virtual void Buffered(BufferSize amount) = 0;

  // Ours: may `next` join the running step? Reserves its estimated encoded
  // size in the budget. False: end the step before it (design §6). In Replay
  // always true. Requires: called in answer to a Queue or Replay, and every
  // admitted buffer is flushed.
  virtual bool Admit(const RecordBatch& next) = 0;
  // Seed: `InputBuffer::flush`: hands the buffer to the running step. The
  // order of calls is the arrival order.
  virtual void Flush(RecordBatch batch) = 0;

  // Seed: `replayed`: the running Replay flushed `amount`, hashing to `hash`.
  virtual void Replayed(BufferSize amount, uint64_t hash) = 0;
  // Ours: the running Skip is done.
  virtual void Skipped() = 0;
  // Seed: `extended`: the running Queue flushed `amount`. Exactly once per
  // Queue. Below exactly-once `resume` may be a Seek; nullopt only where the
  // endpoint supports nothing.
  virtual void Extended(BufferSize amount, std::optional<Resume> resume,
                        std::vector<Watermark> watermarks) = 0;
  // Seed: `eoi`: nothing more will be buffered. Once.
  virtual void EndOfInput() = 0;
  // Seed: `request_step`.
  virtual void RequestStep() = 0;
  // Seed: `start_transaction`, `commit_transaction`.
  virtual void StartTransaction(std::optional<absl::string_view> label) = 0;
  virtual void CommitTransaction() = 0;

  // Seed: `set_custom_metrics`. Once, during Open.
  virtual void SetCustomMetrics(std::shared_ptr<ConnectorMetrics> metrics) = 0;
  // Seed: `completion_watcher`: count of completed steps of this connector.
  // Shared by: the connector, which advances it, and whoever watches.
  virtual std::shared_ptr<CountWatch> CompletionWatcher() = 0;
  // Seed: `checkpoint_watcher`: count of checkpointed steps; null if the
  // pipeline takes no checkpoints (then use the completion watcher).
  virtual std::shared_ptr<CountWatch> CheckpointWatcher() = 0;

  // Seed: `error`. Fatal: the reader will queue no more. `tag` groups errors
  // for rate limits and lists.
  virtual void Error(bool fatal, absl::Status error, absl::string_view tag) = 0;
  // Seed: `update_connector_health`.
  virtual void UpdateConnectorHealth(ConnectorHealth health) = 0;
};

}  // namespace penstock::core
