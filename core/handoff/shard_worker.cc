#include "core/handoff/shard_worker.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/random.h"
#include "core/base/rate_limit.h"
#include "core/base/strand.h"
#include "core/contract/sink_error.h"
#include "core/handoff/pending_lifts.h"
#include "core/handoff/shard_backlog.h"
#include "core/handoff/shard_writer.h"
#include "core/handoff/write_slot.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

using LiftDone = PendingLifts::Done;
using StopDone = absl::AnyInvocable<void(ShardStopReport)>;

void SortUnique(std::vector<Step>& steps) {
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
}

void Append(const std::vector<Step>& from, std::vector<Step>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

Step StepOf(const ShardItem& item) {
  return std::visit([](const auto& value) { return value.step; }, item);
}

absl::Status Stopped() {
  return MakeError(Reason::CANCELLED, "the shard is being stopped");
}

// Everything but Snapshot runs on the strand; the calls of the endpoint run in
// the writers, beside it.
class StrandShardWorker final
    : public ShardWorker,
      public std::enable_shared_from_this<StrandShardWorker> {
 public:
  StrandShardWorker(ShardWorkerOptions options, ShardQueue& queue, Executor& io,
                    ShardObserver& observer)
      : options_(std::move(options)),
        exactly_once_(options_.level == FtModel::kExactlyOnce),
        queue_(queue),
        observer_(observer),
        strand_(io),
        refused_log_(5, absl::Seconds(10), io.clock()),
        backlog_(MakeBacklog(options_)),
        seeds_(options_.random_seed + options_.shard) {}

  // Apart from construction: it needs weak_from_this().
  void Attach(const ShardSink& sink) {
    CHECK(!sink.endpoints.empty());
    CHECK(!exactly_once_ || sink.endpoints.size() == 1);
    slots_.reserve(sink.endpoints.size());
    for (OutputEndpoint* const endpoint : sink.endpoints) {
      slots_.emplace_back(
          std::make_unique<ShardWriter>(
              ShardWriter::Options{.shard = options_.shard,
                                   .frames = options_.frames,
                                   .push_bytes_max = options_.push_bytes_max},
              weak_from_this(), *endpoint, *sink.committer, strand_.executor()),
          // Two that met the same trouble do not come back together.
          Backoff(options_.delivery.retry, seeds_.Next64()));
    }
    keep_alive_ = sink.keep_alive;
    if (options_.breaker != nullptr) {
      options_.breaker->Listen([weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
          self->Post([](StrandShardWorker& worker) { worker.BreakerMoved(); });
        }
      });
    }
    UpdateSnapshot();
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
      if (worker.backlog_->SetReleased(count)) worker.Pump();
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
    const Breaker::Snapshot breaker = BreakerNow();
    MutexLock lock(mu_);
    ShardSnapshot snapshot = snapshot_;
    snapshot.breaker = breaker;
    return snapshot;
  }

 private:
  enum class State { kRunning, kBroken, kStopped };

  Breaker::Snapshot BreakerNow() const {
    if (options_.breaker == nullptr) return {};
    return options_.breaker->snapshot();
  }
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
  Strand::TimerId PostAfter(absl::Duration delay, Task task) {
    return strand_.PostAfter(delay, Weakly(std::move(task)));
  }

  // --- Receiving and choosing.

  void Pump() {
    // Once stopped, everything that is referred to may be gone.
    if (!started_ || state_ == State::kStopped) return;
    Receive();
    StartWrites();
    UpdateSnapshot();
  }

  void Receive() {
    const absl::Time now = Now();
    for (ShardItem& item : queue_.ReceiveAll()) {
      if (state_ == State::kRunning) {
        backlog_->Add(std::move(item), now);
      } else {
        NoteLost(StepOf(item));
        item = ShardItem();  // Its acks fail here.
      }
    }
    if (stopping_) Append(backlog_->DropUnreleased(), report_.dropped);
  }

  void StartWrites() {
    if (state_ != State::kRunning) return;
    lifts_.Fulfil(backlog_->reached());
    const std::vector<LiftGoal> goals = lifts_.Goals();
    size_t free = 0;
    for (WriteSlot& slot : slots_) {
      if (slot.write == nullptr) TakeNext(goals, slot);
      free += slot.write == nullptr ? 1 : 0;
    }
    ArmRipe(free > 0 ? backlog_->ripens_at() : absl::InfiniteFuture());
    // While the queue is open, a StepEnd that is still parked may arrive.
    if (stopping_ && free == slots_.size() &&
        (backlog_->IsEmpty() || queue_.is_closed())) {
      Finish();
    }
  }

  void TakeNext(const std::vector<LiftGoal>& goals, WriteSlot& slot) {
    std::optional<ShardWrite> next = backlog_->Take(goals, Now());
    if (!next.has_value()) return;
    slot.write = std::make_shared<ShardWrite>(*std::move(next));
    if (!exactly_once_) {
      slot.id = absl::StrCat(options_.run_id, "-", options_.shard, "-",
                             batches_made_++);
    }
    slot.letters = slot.write->Letters();
    TryAttempt(slot);
  }

  void AddLift(Step steps, LiftDone done) {
    switch (state_) {
      case State::kBroken:
        done(fatal_);
        return;
      case State::kStopped:
        done(Stopped());
        return;
      case State::kRunning:
        break;
    }
    Receive();
    const absl::StatusOr<LiftGoal> goal = backlog_->GoalOf(steps);
    if (!goal.ok()) {
      done(WithContext(goal.status(),
                       absl::StrCat("while lifting shard ", options_.shard)));
      return;
    }
    lifts_.Add(*goal, std::move(done));
    Pump();
  }

  void ArmRipe(absl::Time ripens_at) {
    CancelTimer(ripe_timer_);
    if (ripens_at == absl::InfiniteFuture()) return;
    ripe_timer_ = PostAfter(ripens_at - Now(),
                            [](StrandShardWorker& worker) { worker.Pump(); });
  }

  // --- Writing.

  // Begins an attempt, or waits until the target's breaker admits one. Once
  // stopping there is no time to wait for it.
  void TryAttempt(WriteSlot& slot) {
    Breaker* const breaker = options_.breaker.get();
    if (stopping_) {
      slot.DoNotAsk(breaker);
    } else if (const absl::Time at = slot.Ask(breaker, Now());
               slot.waits_for_breaker) {
      slot.in_trouble = true;
      observer_.OnHeldBack(options_.shard, slot.HeldBack(), at);
      return TryAfter(at - Now(), slot);
    }
    StartAttempt(slot);
  }

  void TryAfter(absl::Duration delay, WriteSlot& slot) {
    slot.retry_timer = PostAfter(
        delay, [&slot, turn = ++slot.turn](StrandShardWorker& worker) {
          if (slot.turn == turn && worker.state_ == State::kRunning) {
            worker.TryAttempt(slot);
          }
        });
  }

  void BreakerMoved() {
    if (state_ != State::kRunning) return;
    for (WriteSlot& slot : slots_) {
      if (!slot.waits_for_breaker) continue;
      CancelTimer(slot.retry_timer);
      TryAttempt(slot);
    }
  }

  void StartAttempt(WriteSlot& slot) {
    slot.retry_timer = Strand::TimerId::kNone;
    // The output takes one call at a time, whichever slot it is of.
    slot.waits_for_letters = slot.OwesLetters() && letters_busy_;
    if (slot.waits_for_letters) return;
    letters_busy_ = letters_busy_ || slot.OwesLetters();
    slot.deadline_timer =
        PostAfter(options_.delivery.write_deadline,
                  [&slot, turn = ++slot.turn](StrandShardWorker& worker) {
                    if (slot.turn == turn) worker.DeadlinePassed(slot);
                  });
    slot.Begin(
        options_, Now(), stops_at_,
        [weak = weak_from_this(), &slot](absl::Status status) {
          const auto self = weak.lock();
          if (self == nullptr) return;
          self->strand_.Dispatch(self->Weakly(
              [&slot, status = std::move(status)](StrandShardWorker& worker) {
                worker.AttemptDone(slot, status);
              }));
        });
  }

  // Another slot's letters may follow.
  void LettersDone() {
    letters_busy_ = false;
    Post([](StrandShardWorker& worker) {
      for (WriteSlot& other : worker.slots_) {
        if (worker.state_ != State::kRunning || worker.letters_busy_) return;
        if (other.waits_for_letters) worker.StartAttempt(other);
      }
    });
  }

  void AttemptDone(WriteSlot& slot, const absl::Status& status) {
    EndAttempt(slot);
    if (state_ == State::kStopped) {
      CallReturned();
    } else if (state_ == State::kBroken) {
      UpdateSnapshot();  // It was abandoned.
    } else if (status.ok()) {
      slot.backoff.Reset();
      slot.permit.Succeed();
      GoOn(slot, slot.OnSuccess(totals_));
    } else {
      Failed(slot, status);
    }
  }

  void Failed(WriteSlot& slot, const absl::Status& error) {
    switch (KindOfSinkError(error)) {
      case SinkErrorKind::kRetryable:
        RetryLater(slot, error);
        break;
      case SinkErrorKind::kBadRow:
        // The target works, but who knows whether it takes anything.
        slot.permit = Breaker::Permit();
        GoOn(slot, slot.OnRefusal(error, options_, refused_log_));
        break;
      case SinkErrorKind::kFenced:
      case SinkErrorKind::kFatal:
        Break(error);
        break;
    }
  }

  void GoOn(WriteSlot& slot, const absl::StatusOr<WriteSlot::Next>& next) {
    if (!next.ok()) {
      Break(next.status());
    } else if (*next == WriteSlot::Next::kConfirm) {
      Confirmed(slot);
    } else {
      TryAttempt(slot);
    }
  }

  void EndAttempt(WriteSlot& slot) {
    ++slot.turn;
    slot.is_overdue = false;
    CancelTimer(slot.deadline_timer);
    if (std::exchange(slot.writes_letters, false)) {
      LettersDone();
    } else {
      totals_.write_seconds.Record(
          absl::ToDoubleSeconds(Now() - slot.attempt_began));
    }
  }

  void DeadlinePassed(WriteSlot& slot) {
    slot.deadline_timer = Strand::TimerId::kNone;
    if (state_ != State::kRunning) return;
    ++totals_.deadlines_passed;
    const absl::Status error = MakeError(
        Reason::DEADLINE,
        absl::StrCat("writing shard ", options_.shard, ": not done within ",
                     absl::FormatDuration(options_.delivery.write_deadline)));
    if (slot.writer->GiveUp()) {
      EndAttempt(slot);
      RetryLater(slot, error);
      return;
    }
    // It has not answered whoever waits for this probe, either.
    slot.permit.NoteOverdue(Now());
    slot.is_overdue = true;
    slot.in_trouble = true;
    UpdateSnapshot();
    observer_.OnRetry(
        options_.shard,
        WithContext(error, "the target has not answered, and is waited for"),
        absl::InfiniteFuture());
  }

  // Stop's deadline was long ago.
  void CallReturned() {
    if (calls_running_ == 0) return;
    --calls_running_;
    LOG(WARNING) << "shard " << options_.shard
                 << ": a call that outlived its connector has returned; still "
                 << "running: " << calls_running_;
    UpdateSnapshot();
    if (calls_running_ == 0) keep_alive_ = nullptr;
  }

  void Confirmed(WriteSlot& slot) {
    slot.Count(options_.refused_rows.counter, totals_);
    const std::shared_ptr<ShardWrite> write = slot.TakeBatch();
    const std::optional<Step> progress = backlog_->Confirm(*write);
    UpdateSnapshot();
    if (std::exchange(slot.in_trouble, false) && !IsInTrouble()) {
      observer_.OnRecovered(options_.shard);
    }
    if (progress.has_value()) {
      observer_.OnProgress(options_.shard, *progress);
    }
    // Memory and leases first: who hears of the acks finds room.
    AckSet acks = write->TakeAcks();
    write->chunks.clear();
    std::move(acks).Deliver();
    Pump();
  }

  bool IsInTrouble() const {
    return std::any_of(slots_.begin(), slots_.end(),
                       [](const WriteSlot& slot) { return slot.in_trouble; });
  }

  void RetryLater(WriteSlot& slot, const absl::Status& error) {
    slot.permit.Fail(Now());
    slot.last_error = error;
    const absl::Duration delay = slot.backoff.Next();
    slot.in_trouble = true;
    ++totals_.retries;
    TryAfter(delay, slot);
    UpdateSnapshot();
    const Breaker::Snapshot breaker = BreakerNow();
    const bool waits =
        breaker.state == Breaker::State::kOpen && !slot.OwesLetters();
    observer_.OnRetry(
        options_.shard, waits ? slot.HeldBack() : error,
        waits ? std::max(Now() + delay, breaker.probe_at) : Now() + delay);
  }

  // --- Ends.

  void Break(const absl::Status& error) {
    state_ = State::kBroken;
    fatal_ = error;
    (void)AbandonWrites();
    DropHeld();
    UpdateSnapshot();
    observer_.OnFatal(options_.shard, error);
    lifts_.Answer(error);
    if (stopping_) Finish();
  }

  void BeginStop(absl::Time deadline, StopDone done) {
    CHECK(!stopping_) << "stopped twice";
    stopping_ = true;
    started_ = true;
    stops_at_ = deadline;
    stop_done_ = std::move(done);
    backlog_->BeginDrain();
    lifts_.Answer(Stopped());
    Receive();
    if (state_ == State::kBroken || deadline <= Now()) {
      Finish();
      return;
    }
    stop_timer_ = PostAfter(deadline - Now(), [](StrandShardWorker& worker) {
      if (worker.state_ != State::kStopped) worker.Finish();
    });
    for (WriteSlot& slot : slots_) {
      if (slot.retry_timer == Strand::TimerId::kNone) continue;
      // No time to wait for.
      CancelTimer(slot.retry_timer);
      slot.backoff.Reset();
      TryAttempt(slot);
    }
    StartWrites();
    UpdateSnapshot();
  }

  void Finish() {
    state_ = State::kStopped;
    calls_running_ = AbandonWrites();
    queue_.Close();
    Receive();
    DropHeld();
    CancelTimer(ripe_timer_);
    CancelTimer(stop_timer_);
    report_.calls_running = calls_running_;
    if (calls_running_ > 0) {
      LOG(WARNING) << "shard " << options_.shard << ": " << calls_running_
                   << " calls of its target have not returned; each keeps a "
                      "thread until it does";
    }
    SortUnique(report_.unconfirmed);
    SortUnique(report_.dropped);
    UpdateSnapshot();
    std::shared_ptr<const void> let_go;
    if (calls_running_ == 0) let_go = std::exchange(keep_alive_, nullptr);
    std::exchange(stop_done_, nullptr)(std::move(report_));
  }

  // Returns: how many calls are running.
  uint32_t AbandonWrites() {
    uint32_t running = 0;
    for (WriteSlot& slot : slots_) {
      CancelTimer(slot.retry_timer);
      CancelTimer(slot.deadline_timer);
      slot.waits_for_breaker = false;
      slot.permit = Breaker::Permit();
      running += slot.writer->Abandon() ? 1 : 0;
    }
    return running;
  }

  // Fails what is held. A commit under way keeps the frames until its answer.
  void DropHeld() {
    for (WriteSlot& slot : slots_) {
      if (slot.write == nullptr) continue;
      // Some of it may have reached the target.
      Append(slot.write->numbers, report_.unconfirmed);
      ++totals_.abandoned;
      slot.TakeBatch()->TakeAcks();
    }
    for (const Step step : backlog_->DropAll()) NoteLost(step);
  }

  void NoteLost(Step step) {
    std::vector<Step>& steps =
        backlog_->IsOwed(step) ? report_.unconfirmed : report_.dropped;
    if (steps.empty() || steps.back() != step) steps.push_back(step);
  }

  void CancelTimer(Strand::TimerId& timer) {
    strand_.Cancel(std::exchange(timer, Strand::TimerId::kNone));
  }

  void UpdateSnapshot() {
    ShardSnapshot now = totals_;
    now.progress = backlog_->progress();
    now.held_bytes = backlog_->bytes();
    now.held_steps = backlog_->steps();
    now.already_held_steps = backlog_->already_held_steps();
    for (const WriteSlot& slot : slots_) {
      if (slot.is_overdue && calls_running_ == 0) ++now.writes_overdue;
      if (slot.write == nullptr) continue;
      ++now.writes_under_way;
      now.held_bytes += slot.write->bytes;
      now.held_steps += slot.write->numbers.size();
    }
    now.writes_overdue += calls_running_;
    now.writes_max = static_cast<uint32_t>(slots_.size());
    MutexLock lock(mu_);
    snapshot_ = now;
  }

  // Dies last.
  // Shared by: see ShardSink. Null after Stop.
  std::shared_ptr<const void> keep_alive_;
  const ShardWorkerOptions options_;
  const bool exactly_once_;
  ShardQueue& queue_;
  ShardObserver& observer_;
  Strand strand_;

  mutable Mutex mu_;
  ShardSnapshot snapshot_ ABSL_GUARDED_BY(mu_);

  // Confined to the strand.
  RateLimit refused_log_;
  const std::unique_ptr<ShardBacklog> backlog_;
  Random seeds_;
  uint64_t batches_made_ = 0;
  // Never resized: attempts refer to their slot.
  std::vector<WriteSlot> slots_;
  // Letters of one of them are being written.
  bool letters_busy_ = false;
  State state_ = State::kRunning;
  bool started_ = false;
  PendingLifts lifts_;
  absl::Status fatal_;
  bool stopping_ = false;
  absl::Time stops_at_ = absl::InfiniteFuture();
  // After Stop.
  uint32_t calls_running_ = 0;
  StopDone stop_done_;
  ShardStopReport report_;
  // Only the counters of it.
  ShardSnapshot totals_;
  Strand::TimerId ripe_timer_ = Strand::TimerId::kNone;
  Strand::TimerId stop_timer_ = Strand::TimerId::kNone;
};

}  // namespace

std::shared_ptr<ShardWorker> ShardWorker::Create(ShardWorkerOptions options,
                                                 ShardSink sink,
                                                 ShardQueue& queue,
                                                 Executor& io,
                                                 ShardObserver& observer) {
  auto worker = std::make_shared<StrandShardWorker>(std::move(options), queue,
                                                    io, observer);
  worker->Attach(sink);
  return worker;
}

}  // namespace penstock::core
