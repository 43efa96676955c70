#include "core/handoff/shard_writer.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/contract/message_frame.h"

#include <absl/strings/str_cat.h>

#include <utility>
#include <vector>

namespace penstock::core {

ShardWriter::ShardWriter(const Options& options,
                         std::weak_ptr<const void> owner,
                         OutputEndpoint& endpoint, OutputCommitter& committer,
                         Executor& executor)
    : options_(options),
      owner_(std::move(owner)),
      endpoint_(endpoint),
      committer_(committer),
      executor_(executor) {}

void ShardWriter::Begin(Attempt attempt, Done done) {
  BeginAt(Phase::kBatchStart, std::move(attempt), nullptr, std::move(done));
}

void ShardWriter::BeginCall(std::shared_ptr<const ShardWrite> write,
                            absl::AnyInvocable<absl::Status()> call,
                            Done done) {
  BeginAt(Phase::kCall, {.write = std::move(write), .frames = {}},
          std::move(call), std::move(done));
}

void ShardWriter::BeginAt(Phase phase, Attempt attempt,
                          absl::AnyInvocable<absl::Status()> call, Done done) {
  uint64_t number = 0;
  {
    MutexLock lock(mu_);
    CHECK(!in_call_ && !abandoned_ && !done_);
    number = ++attempt_;
    answer_.reset();
    done_ = std::move(done);
    work_ = std::move(attempt);
    call_ = std::move(call);
    next_frame_ = 0;
  }
  Post(phase, number);
}

bool ShardWriter::GiveUp() {
  Ended dropped;
  MutexLock lock(mu_);
  if (in_call_ || in_commit_ || !done_) return false;
  ++attempt_;
  dropped = End();
  return true;
}

bool ShardWriter::Abandon() {
  Ended dropped;
  MutexLock lock(mu_);
  abandoned_ = true;
  if (!in_call_) dropped = End();
  return in_call_;
}

ShardWriter::Ended ShardWriter::End() {
  return {.write = std::move(work_.write),
          .done = std::exchange(done_, nullptr)};
}

void ShardWriter::Post(Phase phase, uint64_t attempt) {
  executor_.ScheduleTail([this, weak = owner_, phase, attempt] {
    const auto owner = weak.lock();
    if (owner == nullptr || !Enter(attempt)) return;
    Phase next = Phase::kAnswer;
    absl::Status status = Run(phase, attempt, next);
    Leave(attempt, std::move(status), next);
  });
}

bool ShardWriter::Enter(uint64_t attempt) {
  MutexLock lock(mu_);
  if (abandoned_ || attempt != attempt_) return false;
  in_call_ = true;
  return true;
}

void ShardWriter::Leave(uint64_t attempt, absl::Status status, Phase next) {
  const bool is_last = next == Phase::kAnswer || next == Phase::kDone;
  Ended ended;
  {
    MutexLock lock(mu_);
    in_call_ = false;
    if (abandoned_) {
      status = MakeError(Reason::CANCELLED, "the write was abandoned");
    } else if (status.ok() && next == Phase::kAnswer) {
      if (!answer_.has_value()) {
        in_commit_ = true;
        return;  // Answered will end it.
      }
      status = *std::exchange(answer_, std::nullopt);
    }
    if (!status.ok() || is_last) ended = End();
  }
  if (ended.done) {
    ended.write = nullptr;
    ended.done(std::move(status));
  } else {
    Post(next, attempt);
  }
}

absl::Status ShardWriter::Run(Phase phase, uint64_t attempt, Phase& next) {
  absl::Status status;
  absl::string_view doing;
  switch (phase) {
    case Phase::kBatchStart:
      doing = "while starting a batch";
      next = work_.frames.empty() ? AfterPushes() : Phase::kPush;
      status = BatchStart();
      break;
    case Phase::kPush:
      doing = "while pushing a buffer";
      status = PushSome();
      next = next_frame_ < work_.frames.size() ? Phase::kPush : AfterPushes();
      break;
    case Phase::kBatchEnd:
      doing = "while ending a batch";
      next = Phase::kCommit;
      status = endpoint_.BatchEnd();
      break;
    case Phase::kBatchProbe:
      doing = "while probing a batch";
      next = Phase::kDone;
      status = endpoint_.BatchProbe();
      break;
    case Phase::kCommit:
      next = Phase::kAnswer;
      Commit(attempt);
      return absl::OkStatus();
    case Phase::kCall:
      doing = "beside a batch";
      next = Phase::kDone;
      status = call_();
      break;
    case Phase::kAnswer:
    case Phase::kDone:
      CHECK(false) << "no call";
  }
  if (status.ok()) return status;
  return WithContext(status, absl::StrCat(doing, " of shard ", options_.shard));
}

absl::Status ShardWriter::BatchStart() {
  std::vector<ChunkId> chunks;
  if (work_.chunk_ids) {
    chunks.reserve(work_.frames.size());
    for (const EncodedChunk& chunk : work_.write->chunks) {
      if (chunk.frame.size() == 0) continue;  // As in ShardWrite::Frames.
      chunks.push_back({.step = chunk.step, .index = chunk.index});
    }
  }
  return endpoint_.BatchStart({.steps = work_.write->steps,
                               .id = work_.id,
                               .chunks = chunks,
                               .deadline = work_.deadline});
}

ShardWriter::Phase ShardWriter::AfterPushes() const {
  return work_.is_probe ? Phase::kBatchProbe : Phase::kBatchEnd;
}

absl::Status ShardWriter::PushSome() {
  uint64_t pushed = 0;
  do {
    const absl::string_view frame = work_.frames[next_frame_];
    absl::Status status = Push(frame);
    if (!status.ok()) return status;
    pushed += frame.size();
    ++next_frame_;
  } while (next_frame_ < work_.frames.size() &&
           pushed < options_.push_bytes_max);
  return absl::OkStatus();
}

absl::Status ShardWriter::Push(absl::string_view frame) {
  if (options_.frames == FrameKind::kConcatenated) {
    return endpoint_.PushBuffer(frame);
  }
  MessageView message;
  while (!frame.empty()) {
    absl::Status status = ConsumeMessage(frame, message);
    if (!status.ok()) {
      // Of our own making, not a row that the target refuses.
      return MakeError(Reason::INTERNAL, status.message());
    }
    status = endpoint_.PushKey(message.key, message.value, message.headers);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void ShardWriter::Commit(uint64_t attempt) {
  // The callback holds the write: its frames live until it is answered.
  committer_.Commit(
      options_.shard, work_.write->steps,
      [this, weak = owner_, attempt, write = work_.write](absl::Status status) {
        const auto owner = weak.lock();
        if (owner != nullptr) {
          Answered(attempt, std::move(status));
        }
      });
}

void ShardWriter::Answered(uint64_t attempt, absl::Status status) {
  if (!status.ok()) {
    status = WithContext(
        status, absl::StrCat("while committing of shard ", options_.shard));
  }
  Ended ended;
  {
    MutexLock lock(mu_);
    // An answer after Stop's deadline changes nothing any more.
    if (abandoned_ || attempt != attempt_) return;
    if (in_call_) {
      answer_ = std::move(status);
      return;
    }
    in_commit_ = false;
    ended = End();
  }
  // Not here: this may be anybody's thread.
  executor_.Schedule(
      [done = std::move(ended.done), status = std::move(status)]() mutable {
        done(std::move(status));
      });
}

}  // namespace penstock::core
