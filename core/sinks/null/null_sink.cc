#include "core/sinks/null/null_sink.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <limits>
#include <utility>

namespace penstock::core {
namespace {

// Threads: as OutputEndpoint.
class NullEndpoint final : public OutputEndpoint {
 public:
  NullEndpoint(ShardIndex shard, const OutputOpen& open, NullSinkCounts& counts)
      : shard_(shard),
        exactly_once_(open.level == FtModel::kExactlyOnce),
        progress_(open.base_steps),
        counts_(counts) {}

  absl::Status Connect(AsyncErrorCallback /*on_error*/) override {
    return absl::OkStatus();
  }
  size_t MaxBufferSizeBytes() const override {
    return std::numeric_limits<size_t>::max();
  }
  bool IsFaultTolerant() const override { return exactly_once_; }

  absl::Status BatchStart(const OutputBatch& batch) override {
    const StepRange steps = batch.steps;
    in_batch_ = false;
    if (exactly_once_ && steps.IsEmpty()) {
      return MakeError(Reason::INVALID_REQUEST,
                       absl::StrCat("beginning a batch of shard ", shard_,
                                    " without steps"));
    }
    held_ = exactly_once_ && steps.end == progress_;
    if (exactly_once_ && !held_ && steps.begin != progress_) {
      return MakeError(
          steps.begin < progress_ ? Reason::PROGRESS_AHEAD
                                  : Reason::PROGRESS_BEHIND,
          absl::StrCat("writing steps from ", steps.begin, " to shard ", shard_,
                       ", which is at ", progress_));
    }
    steps_ = steps;
    buffers_ = messages_ = bytes_ = 0;
    in_batch_ = true;
    return absl::OkStatus();
  }

  absl::Status PushBuffer(absl::string_view buffer) override {
    RETURN_IF_ERROR(CheckInBatch());
    ++buffers_;
    bytes_ += buffer.size();
    return absl::OkStatus();
  }

  absl::Status PushKey(std::optional<absl::string_view> key,
                       std::optional<absl::string_view> value,
                       std::span<const MessageHeader> /*headers*/) override {
    RETURN_IF_ERROR(CheckInBatch());
    ++messages_;
    bytes_ += key.value_or("").size() + value.value_or("").size();
    return absl::OkStatus();
  }

  absl::Status BatchEnd() override {
    RETURN_IF_ERROR(CheckInBatch());
    in_batch_ = false;
    if (held_) return absl::OkStatus();
    progress_ = steps_.end;
    counts_.batches.fetch_add(1, std::memory_order_relaxed);
    counts_.buffers.fetch_add(buffers_, std::memory_order_relaxed);
    counts_.messages.fetch_add(messages_, std::memory_order_relaxed);
    counts_.bytes.fetch_add(bytes_, std::memory_order_relaxed);
    return absl::OkStatus();
  }

 private:
  absl::Status CheckInBatch() const {
    if (in_batch_) return absl::OkStatus();
    return MakeError(
        Reason::INVALID_REQUEST,
        absl::StrCat("writing to shard ", shard_, " outside of a batch"));
  }

  const ShardIndex shard_;
  const bool exactly_once_;
  // What this endpoint was given; it is lost with it.
  Step progress_;
  NullSinkCounts& counts_;

  bool in_batch_ = false;
  StepRange steps_;
  // The batch was counted before.
  bool held_ = false;
  uint64_t buffers_ = 0;
  uint64_t messages_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace

std::optional<FtModel> NullSink::FaultTolerance() const {
  return FtModel::kExactlyOnce;
}

absl::StatusOr<std::vector<Step>> NullSink::Open(const OutputOpen& open) {
  if (open.shards == 0) {
    return MakeError(Reason::INVALID_CONFIG, "sink null: shards is 0",
                     {{"field", "shards"}});
  }
  open_ = open;
  if (open.level != FtModel::kExactlyOnce) return std::vector<Step>();
  return std::vector<Step>(open.shards, open.base_steps);
}

absl::StatusOr<std::unique_ptr<OutputEndpoint>> NullSink::MakeEndpoint(
    ShardIndex shard) {
  if (shard >= open_.shards) {
    return MakeError(Reason::INVALID_REQUEST,
                     absl::StrCat("sink null has no shard ", shard));
  }
  return std::make_unique<NullEndpoint>(shard, open_, counts_);
}

absl::StatusOr<std::unique_ptr<OutputTarget>> MakeNullSink(
    const ComponentConfig& config, const Environment& /*environment*/) {
  CHECK(config.type() == "null") << config.type();
  return std::make_unique<NullSink>();
}

}  // namespace penstock::core
