#include "core/handoff/shard_worker.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/base/strand.h"
#include "core/contract/message_frame.h"
#include "core/handoff/shard_backlog.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

using LiftDone = absl::AnyInvocable<void(absl::Status)>;
using StopDone = absl::AnyInvocable<void(ShardStopReport)>;

void SortUnique(std::vector<Step>& steps) {
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
}

std::unique_ptr<ShardBacklog> MakeBacklog(const ShardWorkerOptions& options) {
  if (options.level == FtModel::kExactlyOnce) {
    return std::make_unique<HeldSteps>(options.progress);
  }
  return std::make_unique<HeldChunks>();
}

// Everything but Snapshot runs on the strand.
class StrandShardWorker final
    : public ShardWorker,
      public std::enable_shared_from_this<StrandShardWorker> {
 public:
  StrandShardWorker(ShardWorkerOptions options, OutputEndpoint& endpoint,
                    OutputCommitter& committer, ShardQueue& queue, Executor& io,
                    ShardObserver& observer)
      : options_(options),
        exactly_once_(options.level == FtModel::kExactlyOnce),
        endpoint_(endpoint),
        committer_(committer),
        queue_(queue),
        observer_(observer),
        strand_(io),
        backlog_(MakeBacklog(options)),
        backoff_(options.retry, options.random_seed + options.shard),
        progress_(options.progress),
        released_(options.released) {
    UpdateSnapshot();
  }

  // Apart from construction: it needs weak_from_this().
  void Attach() {
    queue_.SetOnItems([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->Post([](StrandShardWorker& worker) { worker.Pump(); });
      }
    });
  }

  void Start() override {
    Post([](StrandShardWorker& worker) {
      worker.started_ = true;
      worker.Pump();
    });
  }

  void SetReleased(Step count) override {
    Post([count](StrandShardWorker& worker) {
      if (count <= worker.released_) return;
      worker.released_ = count;
      worker.Pump();
    });
  }

  void Lift(Step steps, LiftDone done) override {
    Post([steps, done = std::move(done)](StrandShardWorker& worker) mutable {
      worker.AddLift(steps, std::move(done));
    });
  }

  void Stop(absl::Duration deadline, StopDone done) override {
    // Counted from this call, however long the strand is busy.
    const absl::Time at = Now() + deadline;
    Post([at, done = std::move(done)](StrandShardWorker& worker) mutable {
      worker.BeginStop(at, std::move(done));
    });
  }

  ShardSnapshot Snapshot() const override {
    MutexLock lock(mu_);
    return snapshot_;
  }

 private:
  enum class State {
    kIdle,
    kWriting,
    kCommitting,
    kBackoff,
    kBroken,
    kStopped
  };

  struct PendingLift {
    Step steps = 0;
    // Below exactly-once: how many items are to be settled.
    uint64_t items = 0;
    LiftDone done;
  };

  absl::Time Now() const { return strand_.executor().clock().SteadyNow(); }

  // A task of the strand, which holds this weakly: the strand is a part of
  // this, and would otherwise keep it for ever once its executor is gone.
  template <typename Task>
  Strand::Task Weakly(Task task) {
    return [weak = weak_from_this(), task = std::move(task)]() mutable {
      if (const auto self = weak.lock()) task(*self);
    };
  }
  template <typename Task>
  void Post(Task task) {
    strand_.Post(Weakly(std::move(task)));
  }
  template <typename Task>
  void Dispatch(Task task) {
    strand_.Dispatch(Weakly(std::move(task)));
  }
  template <typename Task>
  Strand::TimerId PostAfter(absl::Duration delay, Task task) {
    return strand_.PostAfter(delay, Weakly(std::move(task)));
  }

  // --- Receiving and choosing.

  void Pump() {
    // Once stopped, everything that is referred to may be gone.
    if (!started_ || state_ == State::kStopped) return;
    Receive();
    if (state_ == State::kIdle) StartNext();
    UpdateSnapshot();
  }

  void Receive() {
    const absl::Time now = Now();
    for (ShardItem& item : queue_.ReceiveAll()) {
      ++items_received_;
      if (state_ == State::kBroken || state_ == State::kStopped) {
        NoteLost(StepOf(item));
        item = ShardItem();  // Its acks fail here.
      } else {
        backlog_->Add(std::move(item), now);
      }
    }
    if (stopping_) Append(backlog_->DropUnreleased(released_), report_.dropped);
  }

  void StartNext() {
    CHECK(write_ == nullptr);
    AnswerFulfilledLifts();
    const bool at_once = stopping_ || !lifts_.empty();
    std::optional<ShardWrite> next = backlog_->Take(
        {.released = released_,
         .bytes_max = exactly_once_ ? options_.commit_bytes_max
                                    : options_.batch_bytes_max,
         .oldest_before =
             at_once ? absl::InfiniteFuture() : Now() - options_.batch_linger});
    if (!next.has_value()) next = TakeLift();
    if (next.has_value()) {
      write_ = std::make_shared<ShardWrite>(*std::move(next));
      StartAttempt();
      return;
    }
    ArmLinger();
    // While the queue is open, a StepEnd that is still parked may arrive.
    if (stopping_ &&
        (!backlog_->first_step().has_value() || queue_.is_closed())) {
      Finish();
    }
  }

  void AnswerFulfilledLifts() {
    std::vector<LiftDone> fulfilled;
    std::erase_if(lifts_, [&](PendingLift& lift) {
      if (exactly_once_ ? lift.steps > progress_
                        : lift.items > items_settled_) {
        return false;
      }
      fulfilled.push_back(std::move(lift.done));
      return true;
    });
    for (LiftDone& done : fulfilled) done(absl::OkStatus());
  }

  // A write without rows, for progress that nothing held will move.
  std::optional<ShardWrite> TakeLift() const {
    if (!exactly_once_) return std::nullopt;
    const std::optional<Step> first = backlog_->first_step();
    for (const PendingLift& lift : lifts_) {
      if (first.has_value() && *first < lift.steps) continue;
      ShardWrite write;
      write.steps = {.begin = progress_, .end = lift.steps};
      return write;
    }
    return std::nullopt;
  }

  void AddLift(Step steps, LiftDone done) {
    switch (state_) {
      case State::kBroken:
        done(fatal_);
        return;
      case State::kStopped:
        done(Stopped());
        return;
      case State::kIdle:
      case State::kWriting:
      case State::kCommitting:
      case State::kBackoff:
        break;
    }
    if (exactly_once_ && steps > released_) {
      done(MakeError(
          Reason::RELEASE_AHEAD,
          absl::StrCat("shard ", options_.shard, " cannot be lifted to ", steps,
                       ": only ", released_, " steps are released")));
      return;
    }
    Receive();
    lifts_.push_back(
        {.steps = steps, .items = items_received_, .done = std::move(done)});
    Pump();
  }

  void ArmLinger() {
    CancelTimer(linger_timer_);
    if (exactly_once_ || backlog_->oldest() == absl::InfiniteFuture()) return;
    linger_timer_ =
        PostAfter(backlog_->oldest() + options_.batch_linger - Now(),
                  [](StrandShardWorker& worker) { worker.Pump(); });
  }

  // --- One write: each call of the endpoint or the committer in a task.

  void StartAttempt() {
    state_ = State::kWriting;
    ++attempt_;
    next_chunk_ = 0;
    PostPhase(&StrandShardWorker::BatchStart);
  }

  // A task of the executor, not only of the strand, which runs several in one.
  void PostPhase(void (StrandShardWorker::*phase)()) {
    strand_.executor().ScheduleTail(
        [weak = weak_from_this(), phase, attempt = attempt_] {
          const auto self = weak.lock();
          if (self == nullptr) return;
          self->Dispatch([phase, attempt](StrandShardWorker& worker) {
            // Stop's deadline may have passed in between.
            if (worker.state_ == State::kStopped) return;
            if (worker.attempt_ == attempt) (worker.*phase)();
          });
        });
  }

  void BatchStart() {
    const absl::Status status =
        endpoint_.BatchStart(write_->steps, OutputBatchType::kDelta);
    if (!status.ok()) return Failed(status, "while starting a batch");
    PostPhase(write_->chunks.empty() ? &StrandShardWorker::BatchEnd
                                     : &StrandShardWorker::PushSome);
  }

  void PushSome() {
    uint64_t pushed = 0;
    do {
      const absl::string_view frame = write_->chunks[next_chunk_].frame.view();
      const absl::Status status = Push(frame);
      if (!status.ok()) return Failed(status, "while pushing a buffer");
      pushed += frame.size();
      ++next_chunk_;
    } while (next_chunk_ < write_->chunks.size() &&
             pushed < options_.push_bytes_max);
    PostPhase(next_chunk_ < write_->chunks.size()
                  ? &StrandShardWorker::PushSome
                  : &StrandShardWorker::BatchEnd);
  }

  absl::Status Push(absl::string_view frame) {
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

  void BatchEnd() {
    const absl::Status status = endpoint_.BatchEnd();
    if (!status.ok()) return Failed(status, "while ending a batch");
    state_ = State::kCommitting;
    PostPhase(&StrandShardWorker::Commit);
  }

  void Commit() {
    // The callback holds the write: its frames live until it is answered.
    committer_.Commit(
        options_.shard, write_->steps,
        [weak = weak_from_this(), attempt = attempt_,
         write = write_](absl::Status status) {
          const auto self = weak.lock();
          if (self == nullptr) return;
          self->Post([attempt, status](StrandShardWorker& worker) {
            worker.Committed(attempt, status);
          });
        });
  }

  void Committed(uint64_t attempt, const absl::Status& status) {
    // An answer after Stop's deadline changes nothing any more.
    if (state_ != State::kCommitting || attempt != attempt_) return;
    if (!status.ok()) return Failed(status, "while committing");
    state_ = State::kIdle;
    backoff_.Reset();
    const std::shared_ptr<ShardWrite> write = std::move(write_);
    if (exactly_once_) {
      progress_ = write->steps.end;
      backlog_->SetProgress(progress_);
    }
    items_settled_ += write->chunks.size();
    totals_.rows_written += write->rows;
    totals_.bytes_written += write->bytes;
    ++totals_.commits;
    UpdateSnapshot();
    if (std::exchange(in_trouble_, false)) {
      observer_.OnRecovered(options_.shard);
    }
    if (exactly_once_) observer_.OnProgress(options_.shard, progress_);
    // Memory and leases first: who hears of the acks finds room.
    AckSet acks = write->TakeAcks();
    write->chunks.clear();
    std::move(acks).Deliver();
    Pump();
  }

  void Failed(const absl::Status& cause, absl::string_view doing) {
    const absl::Status error =
        WithContext(cause, absl::StrCat(doing, " of shard ", options_.shard));
    if (!IsRetryable(error)) {
      Break(error);
      return;
    }
    const absl::Duration delay = backoff_.Next();
    state_ = State::kBackoff;
    in_trouble_ = true;
    ++totals_.retries;
    retry_timer_ = PostAfter(delay, [](StrandShardWorker& worker) {
      if (worker.state_ == State::kBackoff) worker.StartAttempt();
    });
    UpdateSnapshot();
    observer_.OnRetry(options_.shard, error, Now() + delay);
  }

  // --- Ends.

  void Break(const absl::Status& error) {
    state_ = State::kBroken;
    fatal_ = error;
    DropHeld();
    UpdateSnapshot();
    observer_.OnFatal(options_.shard, error);
    AnswerLifts(error);
    if (stopping_) Finish();
  }

  void BeginStop(absl::Time deadline, StopDone done) {
    CHECK(!stopping_) << "stopped twice";
    stopping_ = true;
    started_ = true;
    stop_done_ = std::move(done);
    AnswerLifts(Stopped());
    Receive();
    if (state_ == State::kBroken || deadline <= Now()) {
      Finish();
      return;
    }
    stop_timer_ = PostAfter(deadline - Now(), [](StrandShardWorker& worker) {
      if (worker.state_ != State::kStopped) worker.Finish();
    });
    if (state_ == State::kBackoff) {
      // No time to wait for.
      CancelTimer(retry_timer_);
      backoff_.Reset();
      StartAttempt();
    }
    if (state_ == State::kIdle) StartNext();
    UpdateSnapshot();
  }

  void Finish() {
    state_ = State::kStopped;
    queue_.Close();
    Receive();
    DropHeld();
    CancelTimer(retry_timer_);
    CancelTimer(linger_timer_);
    CancelTimer(stop_timer_);
    SortUnique(report_.unconfirmed);
    SortUnique(report_.dropped);
    UpdateSnapshot();
    std::exchange(stop_done_, nullptr)(std::move(report_));
  }

  // Fails what is held. A commit under way keeps the frames until its answer.
  void DropHeld() {
    if (write_ != nullptr) {
      // Some of it may have reached the target.
      Append(write_->numbers, report_.unconfirmed);
      write_->TakeAcks();
      write_ = nullptr;
    }
    for (const Step step : backlog_->DropAll()) NoteLost(step);
  }

  void NoteLost(Step step) {
    const bool released = exactly_once_ && step < released_;
    std::vector<Step>& steps = released ? report_.unconfirmed : report_.dropped;
    if (steps.empty() || steps.back() != step) steps.push_back(step);
  }

  void AnswerLifts(const absl::Status& status) {
    for (PendingLift& lift : std::exchange(lifts_, {})) lift.done(status);
  }

  static absl::Status Stopped() {
    return MakeError(Reason::CANCELLED, "the shard is being stopped");
  }

  static Step StepOf(const ShardItem& item) {
    return std::visit([](const auto& value) { return value.step; }, item);
  }

  static void Append(const std::vector<Step>& from, std::vector<Step>& to) {
    to.insert(to.end(), from.begin(), from.end());
  }

  void CancelTimer(Strand::TimerId& timer) {
    strand_.Cancel(std::exchange(timer, Strand::TimerId::kNone));
  }

  void UpdateSnapshot() {
    ShardSnapshot now = totals_;
    now.progress = progress_;
    now.held_bytes = backlog_->bytes();
    now.held_steps = backlog_->steps();
    now.already_held_steps = backlog_->already_held_steps();
    if (write_ != nullptr) {
      now.held_bytes += write_->bytes;
      now.held_steps += write_->numbers.size();
    }
    MutexLock lock(mu_);
    snapshot_ = now;
  }

  const ShardWorkerOptions options_;
  const bool exactly_once_;
  OutputEndpoint& endpoint_;
  OutputCommitter& committer_;
  ShardQueue& queue_;
  ShardObserver& observer_;
  Strand strand_;

  mutable Mutex mu_;
  ShardSnapshot snapshot_ ABSL_GUARDED_BY(mu_);

  // Confined to the strand.
  const std::unique_ptr<ShardBacklog> backlog_;
  Backoff backoff_;
  State state_ = State::kIdle;
  bool started_ = false;
  Step progress_;
  Step released_;
  // The batch being written, from its first attempt to its confirmation.
  // Shared by: this and a commit that is not answered.
  std::shared_ptr<ShardWrite> write_;
  uint64_t attempt_ = 0;
  size_t next_chunk_ = 0;
  bool in_trouble_ = false;
  uint64_t items_received_ = 0;
  uint64_t items_settled_ = 0;
  std::vector<PendingLift> lifts_;
  absl::Status fatal_;
  bool stopping_ = false;
  StopDone stop_done_;
  ShardStopReport report_;
  // Only the counters of it.
  ShardSnapshot totals_;
  Strand::TimerId retry_timer_ = Strand::TimerId::kNone;
  Strand::TimerId linger_timer_ = Strand::TimerId::kNone;
  Strand::TimerId stop_timer_ = Strand::TimerId::kNone;
};

}  // namespace

std::shared_ptr<ShardWorker> ShardWorker::Create(ShardWorkerOptions options,
                                                 OutputEndpoint& endpoint,
                                                 OutputCommitter& committer,
                                                 ShardQueue& queue,
                                                 Executor& io,
                                                 ShardObserver& observer) {
  auto worker = std::make_shared<StrandShardWorker>(
      options, endpoint, committer, queue, io, observer);
  worker->Attach();
  return worker;
}

}  // namespace penstock::core
