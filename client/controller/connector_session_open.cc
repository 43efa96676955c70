// The one path to a living connector, at the start and after every trouble:
// reserve the writer, delete, open, replay, commit the checkpoint, extend.
#include "client/controller/connector_session.h"
#include "client/controller/verdict.h"
#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/log.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::client {
namespace {

// How often one Open is asked again, because its answer was lost, before the
// next writer is reserved. A slow open is joined that way, not interrupted.
constexpr uint32_t kOpenAttemptsMax = 4;

}  // namespace

void ConnectorSession::Start(std::optional<core::Reconciliation> found) {
  CHECK(state_ == State::kIdle);
  if (!MayLive()) return WaitToReopen(absl::ZeroDuration());
  if (found != core::Reconciliation::kMissing) return LookForLiving();
  DoNotAdopt(core::MakeError(core::Reason::NO_SUCH_CONNECTOR,
                             "its worker says that it is not open there"));
}

void ConnectorSession::EndLife() {
  ++life_;
  // Nobody will ever know what became of it.
  if (now_.asked_step.has_value()) numbers_.Leave();
  now_ = {};
  if (journal_.rows() == 0) {
    journal_.ForgetNotes();
    // Nor does what it made, released and completed above the checkpoint count
    // any more: it is read again, under other numbers.
    progress_.released_steps = journal_.base_steps();
    progress_.completed_steps = journal_.base_steps();
  }
  for (ScopedTimer* timer : {&reopen_timer_, &queue_timer_, &release_timer_,
                             &commit_timer_, &gate_timer_, &status_timer_}) {
    timer->Cancel();
  }
  if (prepare_done_) std::exchange(prepare_done_, nullptr)(false);
}

void ConnectorSession::Recover(const absl::Status& why) {
  LOG(WARNING).With("connector", name()).With("state", StateName(state_))
      << "reopening: " << core::ErrorText(why);
  progress_.last_error = core::ErrorText(why);
  ++progress_.recoveries;
  ShowTrouble(why);
  if (IsConnectorsFault(why) &&
      ++fruitless_recoveries_ > context_.options.recoveries_max) {
    return Fail(why);
  }
  EndLife();
  WaitToReopen(reopen_backoff_.Next());
}

void ConnectorSession::WaitToReopen(absl::Duration delay) {
  state_ = State::kWaiting;
  backed_off_ = false;
  if (!stopping_) {
    reopen_timer_.Set(delay, [this] {
      backed_off_ = true;
      ReopenIfReady();
    });
  }
  host_.OnProgress(*this);
}

void ConnectorSession::ReopenIfReady() {
  // What is under way at the store decides what is to be replayed.
  if (state_ != State::kWaiting || !backed_off_ || store_writes_ > 0) return;
  Reserve();
}

void ConnectorSession::Reserve() {
  state_ = State::kReserving;
  now_.delete_request_id = context_.NewRequestId();
  StoreTransaction transaction;
  const uint64_t open_number = open_number_ + 1;
  transaction.reserve_writers.push_back({name(), open_number});
  // This transaction also asserts that the epoch is still ours.
  store_.Commit(std::move(transaction), [this, life = life_, open_number] {
    open_number_ = std::max(open_number_, open_number);
    if (life == life_) Delete();
  });
  host_.OnProgress(*this);
}

void ConnectorSession::Delete() {
  state_ = State::kDeleting;
  // Without an instance: whatever there is.
  core::CommandHeader header = Header();
  header.request_id = now_.delete_request_id;
  worker_.Delete(std::move(header),
                 {.deadline = context_.options.disconnect_deadline},
                 InThisLife(&ConnectorSession::OnDeleted));
}

void ConnectorSession::OnDeleted(absl::StatusOr<core::DisconnectReply> reply) {
  if (reply.ok() ||
      core::HasReason(reply.status(), core::Reason::NO_SUCH_CONNECTOR)) {
    return BeginOpen();
  }
  OnError(reply.status(), reopen_timer_, [this] { Delete(); });
}

void ConnectorSession::BeginOpen() {
  state_ = State::kOpening;
  now_.open_request_id = context_.NewRequestId();
  SendOpen();
}

void ConnectorSession::SendOpen() {
  ++now_.open_attempts;
  core::OpenRequest request;
  request.fence = context_.fence;
  request.request_id = now_.open_request_id;
  request.spec.name = name();
  request.spec.level = configured_.level;
  request.spec_bytes = spec_bytes_;
  request.incarnation = context_.incarnation;
  request.writer = {context_.fence.epoch, open_number_};
  request.base_steps = journal_.base_steps();
  request.first_open = !opened_;
  request.position = journal_.position();
  request.journaled_steps = journal_.journaled_steps();
  worker_.Open(std::move(request), InThisLife(&ConnectorSession::OnOpened));
  host_.OnProgress(*this);
}

void ConnectorSession::OnOpened(absl::StatusOr<core::OpenReply> reply) {
  if (!reply.ok()) {
    if (Judge(reply.status()) != Verdict::kAskAgain) {
      return OnError(reply.status(), reopen_timer_, [this] { SendOpen(); });
    }
    if (now_.open_attempts >= kOpenAttemptsMax) return Recover(reply.status());
    return OnError(reply.status(), reopen_timer_, [this] { SendOpen(); });
  }
  away_backoff_.Reset();
  now_.instance = std::move(reply->instance);
  counted_instance_ = now_.instance;
  bad_records_before_ += std::exchange(bad_records_, {});
  now_.level = reply->level;
  now_.replayed_steps = journal_.base_steps();
  if (journal_.rows() > 0 && !IsExactlyOnce()) {
    return Fail(core::MakeError(
        core::Reason::LEVEL_REFUSED,
        absl::StrCat("opening connector '", name(), "': ", journal_.rows(),
                     " journaled steps wait to be replayed, but it runs at "
                     "level ",
                     core::LevelName(now_.level))));
  }
  if (opened_) return ReplayNext();
  StoreOpened(std::move(reply->position));
}

void ConnectorSession::StoreOpened(std::string position) {
  state_ = State::kStoring;
  StoreTransaction transaction;
  transaction.opened.push_back({name(), position});
  store_.Commit(std::move(transaction),
                [this, life = life_, position = std::move(position)]() mutable {
                  opened_ = true;
                  journal_.SetPosition(std::move(position));
                  if (life == life_) ReplayNext();
                });
}

void ConnectorSession::ReplayNext() {
  state_ = State::kReplaying;
  const auto row = journal_.At(now_.replayed_steps);
  host_.OnProgress(*this);
  if (row == nullptr) {
    now_.made_steps = now_.replayed_steps;
    // The worker itself released what it replayed.
    now_.released_steps = now_.made_steps;
    progress_.released_steps = now_.released_steps;
    state_ = State::kConfirming;
    return SendCommitCheckpoint();
  }
  worker_.Replay(Header(),
                 {.result = *row, .previous_steps = now_.replayed_steps},
                 InThisLife(&ConnectorSession::OnReplayed));
}

void ConnectorSession::OnReplayed(absl::StatusOr<core::ReplayReply> reply) {
  if (!reply.ok()) {
    return OnError(reply.status(), reopen_timer_, [this] { ReplayNext(); });
  }
  ++progress_.replayed_steps;
  backoff_.Reset();
  now_.replayed_steps = journal_.At(now_.replayed_steps)->step + 1;
  ReplayNext();
}

void ConnectorSession::OnConfirmed() {
  // An adopted one may be running.
  state_ = now_.gate_open ? State::kRunning : State::kHeld;
  progress_.health.clear();
  failure_.reset();
  mend_backoff_.Reset();
  LookUpStatus();
  // Of what was adopted some may not be journaled or released yet.
  SendRelease();
  if (context_.tasks.closed()) return;
  AdjustGate();
  QueueNext();
  if (IsChangingSpec() && IsCleanCut()) host_.WantCheckpoint();
}

void ConnectorSession::LookUpStatus() {
  if (context_.options.status_interval <= absl::ZeroDuration()) return;
  worker_.Get(name(), InThisLife(&ConnectorSession::OnStatus));
}

bool ConnectorSession::WantsOpenGate() const {
  // With a new specification at hand the old one reads no further than needed.
  if (IsChangingSpec() && IsCleanCut()) return now_.gate_open;
  return !user_paused_;
}

void ConnectorSession::AdjustGate() {
  if (!IsOpen() || now_.gate_outstanding) return;
  if (WantsOpenGate() == now_.gate_open) return;
  now_.gate_outstanding = true;
  now_.gate_request_id = context_.NewRequestId();
  SendGate();
}

void ConnectorSession::SendGate() {
  core::CommandHeader header = Header();
  header.request_id = now_.gate_request_id;
  auto done = InThisLife(&ConnectorSession::OnGate);
  if (now_.gate_open) {
    worker_.Pause(std::move(header), std::move(done));
  } else {
    worker_.Extend(std::move(header), std::move(done));
  }
}

void ConnectorSession::OnGate(absl::Status status) {
  if (!status.ok()) {
    return OnError(status, gate_timer_, [this] { SendGate(); });
  }
  now_.gate_outstanding = false;
  now_.gate_open = !now_.gate_open;
  state_ = State::kRunning;
  host_.OnProgress(*this);
  AdjustGate();
  // A pause between two Queues ends here; one that was asked and is to be asked
  // again is not over.
  if (!now_.queue_outstanding) queue_timer_.Cancel();
  QueueNext();
}

}  // namespace penstock::client
