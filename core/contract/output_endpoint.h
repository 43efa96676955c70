// A configured sink: one endpoint per shard behind one target per connector.
#pragma once

#include "core/contract/command_handler.h"
#include "core/contract/ft_model.h"
#include "core/record/step.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

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

// Seed type: `OutputEndpoint`. The writer of one shard.
//
// Threads: confined to one caller at a time (its shard worker); methods block
//          for I/O, so they run on an I/O executor.
// Errors:  retryable trouble is kUnavailable, kDeadlineExceeded,
//          kResourceExhausted or kAborted; a record the target refuses is
//          kInvalidArgument; WRITER_FENCED and all else is fatal. After any
//          error the batch is rolled back: the next call is BatchStart.
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

  // Seed: `batch_start`. What follows belongs to the whole steps `steps`
  // (the seed's single step n is [n, n+1)). An exactly-once endpoint moves its
  // shard's progress from steps.begin to steps.end with them; the shard worker
  // has already dropped what is below progress. Below exactly-once `steps` is
  // only informative.
  virtual absl::Status BatchStart(StepRange steps, OutputBatchType type) = 0;
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
