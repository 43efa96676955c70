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

void ShardWriter::Begin(std::shared_ptr<const ShardWrite> write, Terms terms,
                        Done done) {
  uint64_t attempt = 0;
  {
    MutexLock lock(mu_);
    CHECK(!in_call_ && !abandoned_ && !done_);
    attempt = ++attempt_;
    answer_.reset();
    done_ = std::move(done);
    write_ = std::move(write);
    terms_ = std::move(terms);
    next_chunk_ = 0;
  }
  Post(Phase::kBatchStart, attempt);
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
  return {.write = std::exchange(write_, nullptr),
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
  const bool is_last = next == Phase::kAnswer;
  Ended ended;
  {
    MutexLock lock(mu_);
    in_call_ = false;
    if (abandoned_) {
      status = MakeError(Reason::CANCELLED, "the write was abandoned");
    } else if (status.ok() && is_last) {
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
      next = write_->chunks.empty() ? Phase::kBatchEnd : Phase::kPush;
      status = BatchStart();
      break;
    case Phase::kPush:
      doing = "while pushing a buffer";
      status = PushSome(next);
      break;
    case Phase::kBatchEnd:
      doing = "while ending a batch";
      next = Phase::kCommit;
      status = endpoint_.BatchEnd();
      break;
    case Phase::kCommit:
      Commit(attempt);
      return absl::OkStatus();
    case Phase::kAnswer:
      CHECK(false) << "an answer is no call";
  }
  if (status.ok()) return status;
  return WithContext(status, absl::StrCat(doing, " of shard ", options_.shard));
}

absl::Status ShardWriter::BatchStart() {
  std::vector<ChunkId> chunks;
  if (terms_.chunk_ids) {
    chunks.reserve(write_->chunks.size());
    for (const EncodedChunk& chunk : write_->chunks) {
      chunks.push_back({.step = chunk.step, .index = chunk.index});
    }
  }
  return endpoint_.BatchStart({.steps = write_->steps,
                               .id = terms_.id,
                               .chunks = chunks,
                               .deadline = terms_.deadline});
}

absl::Status ShardWriter::PushSome(Phase& next) {
  uint64_t pushed = 0;
  do {
    const absl::string_view frame = write_->chunks[next_chunk_].frame.view();
    absl::Status status = Push(frame);
    if (!status.ok()) return status;
    pushed += frame.size();
    ++next_chunk_;
  } while (next_chunk_ < write_->chunks.size() &&
           pushed < options_.push_bytes_max);
  next = next_chunk_ < write_->chunks.size() ? Phase::kPush : Phase::kBatchEnd;
  return absl::OkStatus();
}

absl::Status ShardWriter::Push(absl::string_view frame) {
  if (options_.frames == FrameKind::kConcatenated) {
    return endpoint_.PushBuffer(frame);
  }
  MessageView message;
  while (!frame.empty()) {
    absl::Status status = ConsumeMessage(frame, message);
    if (status.ok()) {
      status = endpoint_.PushKey(message.key, message.value, message.headers);
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void ShardWriter::Commit(uint64_t attempt) {
  // The callback holds the write: its frames live until it is answered.
  committer_.Commit(
      options_.shard, write_->steps,
      [this, weak = owner_, attempt, write = write_](absl::Status status) {
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
