// A configured sink: one endpoint per shard behind one target per connector.
#pragma once

#include "core/contract/command_handler.h"
#include "core/contract/ft_model.h"
#include "core/record/step.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// Seed type: `OutputBatchType`.
enum class OutputBatchType { kDelta, kSnapshot };

// Seed type: `AsyncErrorCallback`: an error outside of any call. Thread-safe.
using AsyncErrorCallback = absl::AnyInvocable<void(
    bool fatal, absl::Status error, absl::string_view tag) const>;

// One message header: name and optional value.
using MessageHeader =
    std::pair<absl::string_view, std::optional<absl::string_view>>;

// Names a buffer for ever (exactly-once): with incarnation, connector and shard
// it stands for one content, also after a crash and a replay.
struct ChunkId {
  Step step = 0;
  // Within the step and the shard, 0-based.
  uint32_t index = 0;
  friend bool operator==(const ChunkId&, const ChunkId&) = default;
};

// What an endpoint is told of a batch before its rows.
struct OutputBatch {
  // The whole steps that it makes up (the seed's single step n is [n, n+1)). An
  // exactly-once endpoint moves its shard's progress from steps.begin to
  // steps.end with them; the shard worker has already dropped what is below
  // progress. Below exactly-once only informative.
  StepRange steps = {};
  OutputBatchType type = OutputBatchType::kDelta;
  // Below exactly-once: the same in every attempt at this batch, and never used
  // for another one, by any process (it has a random part). Else empty.
  absl::string_view id = {};
  // Exactly-once: the names of the buffers that will be pushed, in order, so
  // that a target may be told them (BufferToken). Else empty. How buffers are
  // gathered into batches is no part of any name.
  std::span<const ChunkId> chunks = {};
  // A steady time. Each call of the batch returns kDeadlineExceeded rather than
  // to block beyond it: by a statement's or a request's time-out, or by
  // cancelling what is under way. A call that blocks beyond it all the same
  // keeps its thread and its endpoint; health and metrics show it.
  absl::Time deadline = absl::InfiniteFuture();
};

// Seed type: `OutputEndpoint`. One writer of one shard.
//
// Threads: confined to one caller at a time (its shard worker); methods block
//          for I/O, so they run on an I/O executor.
// Errors:  sink_error.h says what an error means: retryable trouble, a row
//          that the target refuses (MakeRowRefused), a fence, or fatal. After
//          an error the batch is rolled back: the next call is BatchStart. That
//          may also come inside a batch, whose deadline has passed between two
//          calls, and rolls it back.
// Retry:   a retryable answer of BatchEnd or Commit may hide a success. The
//          caller then writes exactly the same batch again: equal `steps`,
//          equal buffers. An exactly-once endpoint whose shard's progress is
//          already steps.end has done it before (its fence lets in nobody
//          else): it answers OK to every call and writes nothing.
// Lifecycle: destroyed inside a batch, it leaves nothing of it.
class OutputEndpoint {
 public:
  virtual ~OutputEndpoint() = default;

  // Seed: `connect`. Once, first.
  virtual absl::Status Connect(AsyncErrorCallback on_error) = 0;
  // Seed: `max_buffer_size_bytes`.
  virtual size_t MaxBufferSizeBytes() const = 0;

  // Seed: `batch_start`. What follows belongs to `batch`, whose views live for
  // this call.
  virtual absl::Status BatchStart(const OutputBatch& batch) = 0;
  // Seed: `push_buffer`: a whole frame of concatenated rows.
  // Lifetime: `buffer` lives until the commit of this batch was confirmed, or
  // the batch failed.
  virtual absl::Status PushBuffer(absl::string_view buffer) = 0;
  // Seed: `push_key`: one message.
  virtual absl::Status PushKey(std::optional<absl::string_view> key,
                               std::optional<absl::string_view> value,
                               std::span<const MessageHeader> headers) = 0;
  // Seed: `batch_end`. With the default committer everything is durable and
  // visible when it returns OK; with an OutputCommitter, when that confirmed.
  virtual absl::Status BatchEnd() = 0;
  // Ours, in the place of BatchEnd: finds out whether the target would take
  // the batch as BatchEnd and the commit would, then rolls it back. Nothing of
  // it becomes visible and progress stays; the next call is BatchStart.
  // Returns: OK also where Retry says so: a batch committed before is no longer
  // in question. Errors: as above.
  // Requires: OutputTarget::TellsRowsApart().
  virtual absl::Status BatchProbe();

  // Seed: `is_fault_tolerant`.
  virtual bool IsFaultTolerant() const = 0;
  // Seed: `memory`.
  virtual uint64_t MemoryBytes() const { return 0; }
  // Seed: `command_handler`; null: none.
  // Shared by: the endpoint and the RPC that runs a command.
  virtual std::shared_ptr<CommandHandler> GetCommandHandler() {
    return nullptr;
  }
};

}  // namespace penstock::core
