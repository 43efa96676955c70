// What a sink is as a whole: fence, progress, endpoints, committer.
#pragma once

#include "core/contract/ft_model.h"
#include "core/contract/output_endpoint.h"
#include "core/contract/row_encoder.h"
#include "core/record/schema.h"
#include "core/record/step.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Who writes: reserved durably by the controller before each open. A target
// takes only a higher one (INV-7).
struct Writer {
  uint64_t epoch = 0;
  uint64_t open_number = 0;
  friend auto operator<=>(const Writer&, const Writer&) = default;
};

// The frames that a sink wants (design §3).
enum class FrameKind { kConcatenated, kMessages };

struct OutputOpen {
  std::string incarnation;
  std::string pipeline;
  std::string connector;
  Writer writer;
  // Where progress starts if this is the first open.
  Step base_steps = 0;
  // True until the controller has journaled a successful open: absent progress
  // is created at `base_steps`. False: absent progress is PROGRESS_LOST.
  bool first_open = false;
  uint32_t shards = 1;
  // The level this connector runs at.
  std::optional<FtModel> level;
  // The columns of the rows; empty if records carry none.
  Schema schema = {};
};

// Ours (design §2): makes whole steps durable for all shards of a connector.
// Threads: thread-safe.
class OutputCommitter {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  virtual ~OutputCommitter() = default;
  // A shard with several endpoints uses none but CommitInBatchEnd.
  // Makes durable, and visible, what `shard` wrote in its last batch, whose
  // BatchEnd returned OK, and moves its progress to steps.end. Calls `done`
  // exactly once, on any thread, perhaps before it returns.
  // Errors: as OutputEndpoint; after one the shard writes the batch again.
  virtual void Commit(ShardIndex shard, StepRange steps, Done done) = 0;
};

// The default: BatchEnd has already made it durable.
class CommitInBatchEnd final : public OutputCommitter {
 public:
  void Commit(ShardIndex /*shard*/, StepRange /*steps*/, Done done) override {
    done(absl::OkStatus());
  }
};

// Ours: a sink of one connector.
//
// Owner:     the connector.
// Threads:   Open, MakeEndpoint, Close: one at a time, on an I/O executor.
// Lifecycle: Open once, then endpoints, Close after all endpoints are idle;
//            endpoints and committer do not outlive it.
class OutputTarget {
 public:
  virtual ~OutputTarget() = default;

  // The highest level this sink can prove with its configuration.
  virtual std::optional<FtModel> FaultTolerance() const = 0;
  virtual FrameKind Frames() const = 0;
  // True: an error of kind kBadRow is about single rows, so that the batch
  // without them is taken, and in exactly-once endpoints have BatchProbe.
  // Frames are then cut at rows. False: such an error breaks the shard.
  virtual bool TellsRowsApart() const { return false; }
  // Takes the fence for `open.writer`, then returns each shard's progress (a
  // count of committed steps); empty below exactly-once.
  // Errors: WRITER_FENCED (a higher writer was there), FOREIGN_PROGRESS,
  // PROGRESS_LOST, STATE_DAMAGED, INVALID_CONFIG, UNAVAILABLE.
  virtual absl::StatusOr<std::vector<Step>> Open(const OutputOpen& open) = 0;
  // The encoder of this target's rows, where they depend on what Open found:
  // the schema, the target's own columns. Null: the connector's format encodes.
  // Requires: Open succeeded.
  virtual std::unique_ptr<RowEncoder> MakeEncoder() const { return nullptr; }
  // Below exactly-once: how many endpoints a shard may have, each writing a
  // batch of its own at the same time; they overtake each other. From 1.
  // Exactly-once: a shard has one.
  virtual uint32_t WritersMax() const { return 1; }
  virtual absl::StatusOr<std::unique_ptr<OutputEndpoint>> MakeEndpoint(
      ShardIndex shard) = 0;
  virtual OutputCommitter& Committer() = 0;
  virtual absl::Status Close() = 0;
};

}  // namespace penstock::core
