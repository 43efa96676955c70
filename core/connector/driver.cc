#include "core/connector/driver.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/connector/state_machine.h"
#include "core/contract/command.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::core {
namespace {

absl::Status NotOpen(ConnectorState state) {
  return MakeError(Reason::ILLEGAL_TRANSITION, "the connector is not open yet",
                   {{"state", std::string(StateName(state))}});
}

absl::Status DrainsAlready(DrainScope scope, ConnectorState state) {
  if (scope == DrainScope::kWorker) {
    return MakeError(Reason::SHUTTING_DOWN,
                     "extending a connector: this worker is draining");
  }
  // Not the worker's: nobody is to look for another one.
  return MakeError(Reason::ILLEGAL_TRANSITION,
                   "extending a connector: its controller drains it; it is "
                   "disconnected once nothing is left",
                   {{"state", std::string(StateName(state))}});
}

std::string NewInstance(uint64_t seed) {
  Random generator(seed);
  return RandomId(generator);
}

}  // namespace

std::shared_ptr<Driver> Driver::Create(
    ConnectorRuntime runtime, OpenRequest request,
    std::unique_ptr<ConnectorObserver> observer) {
  auto strand = std::make_shared<Strand>(runtime.executor);
  // Set once there is a driver to point at; the waker only copies it.
  auto target = std::make_shared<std::weak_ptr<Driver>>();
  auto waker = std::make_shared<Waker>(strand, [target] {
    if (const std::shared_ptr<Driver> driver = target->lock()) driver->Drive();
  });
  std::shared_ptr<Driver> driver(
      new Driver(runtime, std::move(request), std::move(observer),
                 std::move(strand), std::move(waker)));
  *target = driver;
  return driver;
}

Driver::Driver(ConnectorRuntime runtime, OpenRequest request,
               std::unique_ptr<ConnectorObserver> observer,
               std::shared_ptr<Strand> strand, std::shared_ptr<Waker> waker)
    : instance_(NewInstance(runtime.random_seed)),
      strand_(std::move(strand)),
      announcer_(std::make_shared<Announcer>(std::move(observer))),
      state_(runtime, std::move(request), waker),
      queue_(state_),
      replay_(state_),
      checkpointer_(state_),
      closer_(state_),
      opened_(std::make_shared<Mailbox<OpenAnswer>>(waker)),
      skip_log_(5, absl::Seconds(10), state_.clock) {
  published_.spec_bytes = state_.request.spec_bytes;
  published_.orphan_timeout = state_.request.spec.orphan_timeout;
  state_.on_state = [this](ConnectorState previous, ConnectorState next) {
    {
      // Whoever looks once it was told must not see the one before.
      MutexLock lock(published_mu_);
      published_.state = next;
    }
    if (announcer_->observer() == nullptr) return;
    announcer_->observer()->OnState(instance_, previous, next);
  };
}

Driver::~Driver() {
  strand_->Close();
  // Whatever it still gets hold of is closed again.
  is_open_decided_->store(true);
  if (alarm_ != Strand::TimerId::kNone) strand_->Cancel(alarm_);
  const absl::Status gone =
      MakeError(Reason::CANCELLED, "the connector is gone");
  state_.state = ConnectorState::kClosed;
  for (OrderedCall& call : ordered_) Refuse(call, gone);
  Lanes::Calls calls = state_.lanes.TakeAll();
  for (OrderedCall& call : calls.ordered) Refuse(call, gone);
  for (ImmediateCall& call : calls.immediate) Refuse(call, gone);
  for (DisconnectCall& call : disconnects_) call.reply(gone);
  ReplyOpen(gone);
  queue_.Close();
  replay_.Close();
  checkpointer_.Close();
  closer_.Drop(gone);
  for (auto& answer : std::exchange(state_.outbox, {})) answer();
}

void Driver::Dispatch() {
  // The strand outlives this call even if a callback lets go of the driver.
  const std::shared_ptr<Strand> strand = strand_;
  strand->Dispatch([weak = weak_from_this()] {
    const std::shared_ptr<Driver> driver = weak.lock();
    if (driver == nullptr) return;
    driver->state_.on_callers_thread = true;
    driver->Drive();
  });
}

void Driver::Drive() {
  state_.waker->Begin();
  // Once: who asks again in a callback waits for the next run.
  Lanes::Calls calls = state_.lanes.TakeAll();
  ServeImmediate(std::move(calls.immediate));
  for (OrderedCall& call : calls.ordered) Arrive(std::move(call));
  do {
    Work work = Work::kAgain;
    while (work == Work::kAgain) {
      work = Turn();
      if (state_.outbox.empty()) continue;
      Publish();
      for (auto& answer : std::exchange(state_.outbox, {})) answer();
    }
    if (work == Work::kYield) {
      state_.on_callers_thread = false;
      Publish();
      state_.waker->EndAndPost();
      return;
    }
  } while (state_.waker->End());
  state_.on_callers_thread = false;
  NoteHealth();
  SetAlarm();
  Publish();
}

Work Driver::Turn() {
  if (state_.lanes.HasImmediate()) ServeImmediate(state_.lanes.TakeImmediate());
  Hear();
  ServeOrdered();
  return GoOn();
}

Work Driver::GoOn() {
  bool again = false;
  bool yield = false;
  const auto note = [&](absl::StatusOr<Work> work) {
    if (!work.ok()) {
      AddError("connector", true, work.status());
      Fail(work.status());
    }
    again = again || !work.ok() || *work == Work::kAgain;
    yield = yield || (work.ok() && *work == Work::kYield);
  };
  note(replay_.Advance());
  note(queue_.Advance());
  note(checkpointer_.Advance());
  note(closer_.Advance());
  if (again) return Work::kAgain;
  return yield ? Work::kYield : Work::kIdle;
}

void Driver::ServeImmediate(std::vector<ImmediateCall> calls) {
  for (ImmediateCall& call : calls) {
    std::visit([this](auto& one) { Serve(one); }, call);
  }
}

void Driver::Serve(OpenCall& call) {
  // The drain that takes all there is was faster than its first command.
  if (state_.draining == DrainScope::kWorker) {
    return state_.Answer(
        std::move(call.reply),
        MakeError(Reason::SHUTTING_DOWN,
                  "opening a connector: this worker is draining; use another"));
  }
  if (state_.is_open || opening_ || state_.state != ConnectorState::kOpened) {
    return state_.Answer(
        std::move(call.reply),
        MakeError(Reason::ILLEGAL_TRANSITION, "a connector is opened once",
                  {{"state", std::string(StateName(state_.state))}}));
  }
  opening_ = true;
  state_.opened_at = state_.clock.SteadyNow();
  open_replies_.push_back(std::move(call.reply));
  OpeningContext context = {
      .runtime = state_.runtime,
      .request = state_.request,
      .waker = state_.waker,
      .completed = state_.completed,
      .checkpointed = state_.checkpointed,
      .on_changed = [announcer = announcer_] { announcer->Changed(); }};
  context.is_decided = is_open_decided_;
  state_.runtime.io.Schedule([context = std::move(context), opened = opened_] {
    OpenAnswer answer = OpenConnector(context);
    if (!context.is_decided->exchange(true)) {
      return opened->Put(std::move(answer));
    }
    if (answer.ok()) CloseUnused(*std::move(answer));
  });
}

void Driver::GiveUpOpen() {
  if (!is_open_decided_->exchange(true)) opened_->Put(GivenUp());
}

void Driver::Serve(ReleaseCall& call) {
  if (!state_.is_open) {
    return state_.Answer(std::move(call.reply), NotOpen(state_.state));
  }
  // Each command comes with one.
  EndOrphanhood();
  const Step before = state_.ledger.released_steps();
  absl::Status released = state_.ledger.Release(call.released_steps);
  if (released.ok()) {
    if (state_.state != ConnectorState::kClosed) {
      state_.outlet->SetReleased(state_.ledger.released_steps());
    }
    // Every command comes with a release, and most of them release nothing.
    if (state_.ledger.released_steps() > before) {
      state_.health.Progress();
      state_.changed = true;
    }
  }
  state_.Answer(std::move(call.reply), std::move(released));
}

void Driver::Serve(PrepareCall& call) {
  if (!state_.is_open) {
    return state_.Answer(std::move(call.reply), NotOpen(state_.state));
  }
  queue_.Interrupt();
  checkpointer_.Prepare(std::move(call));
}

void Driver::Serve(CommitCall& call) {
  absl::Status committed = state_.is_open
                               ? checkpointer_.Commit(call.request.steps)
                               : NotOpen(state_.state);
  state_.Answer(std::move(call.reply), std::move(committed));
}

void Driver::Serve(DisconnectCall& call) {
  if (opening_) {
    GiveUpOpen();
    if (disconnects_.size() >= Lanes::kCallsMax) {
      return state_.Answer(std::move(call.reply), TooManyCalls());
    }
    disconnects_.push_back(std::move(call));
    return;
  }
  if (state_.state != ConnectorState::kClosed) {
    queue_.Close();
    replay_.Close();
    checkpointer_.Close();
    if (state_.consumer != nullptr) state_.consumer->Abandon();
    state_.MoveTo(ConnectorState::kClosed);
  }
  closer_.Ask(std::move(call));
}

void Driver::Serve(SupersedeCall& call) {
  queue_.Supersede();
  // Who took over decides anew.
  if (state_.draining == DrainScope::kConnector) {
    state_.draining.reset();
    state_.drain_at = absl::InfinitePast();
  }
  // Those behind this Supersede are still in the lane: see Lanes::TakeAll.
  for (OrderedCall& old : std::exchange(ordered_, {})) {
    std::visit(
        [this](auto& one) {
          state_.Answer(std::move(one.reply), SupersededCall());
        },
        old);
  }
  state_.Answer(std::move(call.reply), absl::OkStatus());
}

void Driver::Serve(DrainCall& call) {
  if (state_.drain_at == absl::InfinitePast()) {
    state_.drain_at = state_.clock.SteadyNow();
  }
  if (state_.draining != DrainScope::kWorker) state_.draining = call.scope;
  if (state_.state == ConnectorState::kRunning) {
    StopReading();
    state_.MoveTo(ConnectorState::kPaused);
  }
  state_.Answer(std::move(call.reply), absl::OkStatus());
}

void Driver::Arrive(OrderedCall call) {
  if (!state_.is_open && state_.state != ConnectorState::kClosed) {
    std::visit(
        [this](auto& one) {
          state_.Answer(std::move(one.reply), NotOpen(state_.state));
        },
        call);
    return;
  }
  // The one that is outstanding is joined, another refused: neither waits.
  if (auto* queue = std::get_if<QueueCall>(&call);
      queue != nullptr && queue_.is_active()) {
    return Serve(*queue);
  }
  if (replay_.is_active()) return ArriveInReplay(std::move(call));
  WaitForTurn(std::move(call));
  ServeOrdered();
}

void Driver::WaitForTurn(OrderedCall call) {
  if (ordered_.size() < Lanes::kCallsMax) {
    ordered_.push_back(std::move(call));
    return;
  }
  std::visit(
      [this](auto& one) {
        state_.Answer(std::move(one.reply), TooManyCalls());
      },
      call);
}

void Driver::ArriveInReplay(OrderedCall call) {
  auto* const replay = std::get_if<ReplayCall>(&call);
  if (replay == nullptr) {
    // Legal in no state that a Replay runs in.
    std::visit([this](auto& one) { Serve(one); }, call);
    return;
  }
  const Step step = replay->request.result.step;
  if (step == replay_.running_step()) return Serve(*replay);
  for (const OrderedCall& waiting : ordered_) {
    const Step other = std::get<ReplayCall>(waiting).request.result.step;
    if (other == step) continue;
    return state_.Answer(
        std::move(replay->reply),
        MakeError(Reason::ILLEGAL_TRANSITION,
                  absl::StrCat("replaying step ", step, ": step ", other,
                               " waits already behind step ",
                               replay_.running_step(), "; one may wait"),
                  {{"state", std::string(StateName(state_.state))},
                   {"allowed", "Disconnect"}}));
  }
  WaitForTurn(std::move(call));
}

void Driver::ServeOrdered() {
  while (!ordered_.empty() && !LaneIsHeld()) {
    OrderedCall call = std::move(ordered_.front());
    ordered_.pop_front();
    std::visit([this](auto& one) { Serve(one); }, call);
  }
}

void Driver::Serve(ExtendCall& call) {
  // Its Release came before that began, if it had to wait for its turn.
  EndOrphanhood();
  if (std::exchange(state_.was_orphaned, false) &&
      state_.state == ConnectorState::kRunning) {
    return state_.Answer(std::move(call.reply), absl::OkStatus());
  }
  absl::Status legal = state_.CheckVerb(ReaderVerb::kExtend);
  if (legal.ok() && state_.draining.has_value()) {
    legal = DrainsAlready(*state_.draining, state_.state);
  }
  if (legal.ok()) {
    state_.reader->Request(ExtendCommand{});
    state_.MoveTo(ConnectorState::kRunning);
  }
  state_.Answer(std::move(call.reply), std::move(legal));
}

void Driver::Serve(PauseCall& call) {
  EndOrphanhood();
  state_.was_orphaned = false;
  absl::Status legal = state_.CheckVerb(ReaderVerb::kPause);
  if (legal.ok()) {
    StopReading();
    // Also one that waits for room. A later one may wait for it again.
    queue_.Interrupt();
    state_.MoveTo(ConnectorState::kPaused);
  }
  state_.Answer(std::move(call.reply), std::move(legal));
}

void Driver::StopReading() {
  if (!state_.is_reader_closed()) state_.reader->Request(PauseCommand{});
}

void Driver::Fail(const absl::Status& cause) {
  // A shard's own words are closer to the cause than what follows from them.
  HearSink();
  if (state_.state == ConnectorState::kFailed ||
      state_.state == ConnectorState::kClosed) {
    // What still went on may have come to its end, too.
    queue_.Fail(cause);
    replay_.Fail(cause);
    return;
  }
  const bool was_running = state_.state == ConnectorState::kRunning;
  state_.failure = cause;
  state_.MoveTo(ConnectorState::kFailed);
  state_.health.SetFatal(cause);
  queue_.Fail(cause);
  replay_.Fail(cause);
  if (state_.consumer != nullptr) state_.consumer->Abandon();
  if (was_running) StopReading();
}

}  // namespace penstock::core
