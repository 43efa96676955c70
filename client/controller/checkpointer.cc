#include "client/controller/checkpointer.h"

#include <absl/time/time.h>

#include <algorithm>
#include <utility>

namespace penstock::client {
namespace {

// What an answer may take on its way beyond the deadline given to the worker.
constexpr absl::Duration kAnswerSlack = absl::Seconds(1);

}  // namespace

void Checkpointer::Start(std::vector<ConnectorSession*> sessions) {
  sessions_ = std::move(sessions);
  SetInterval();
}

void Checkpointer::Stop() {
  ++round_;
  interval_timer_.Cancel();
  deadline_timer_.Cancel();
  again_timer_.Cancel();
}

void Checkpointer::SetInterval() {
  const absl::Duration interval = context_.options.checkpoint_interval;
  if (interval <= absl::ZeroDuration()) return;
  interval_timer_.Set(interval, [this] {
    SetInterval();
    if (!in_round_) BeginRound();
  });
}

void Checkpointer::Want() {
  wanted_ = true;
  if (in_round_ || again_timer_.is_set()) return;
  BeginRoundAfter(absl::ZeroDuration());
}

void Checkpointer::BeginRound() {
  in_round_ = true;
  serving_ = std::exchange(wanted_, false);
  again_timer_.Cancel();
  ++round_;
  entries_.clear();
  for (ConnectorSession* session : sessions_) {
    auto plan = session->PlanCheckpoint(at_end_);
    if (plan.has_value()) entries_.push_back({session, *std::move(plan)});
  }
  if (entries_.empty()) return EndRound(false, false);
  const absl::Duration deadline = context_.options.prepare_deadline;
  deadline_timer_.Set(deadline + kAnswerSlack, [this] { StoreReady(); });
  for (size_t i = 0; i < entries_.size(); ++i) {
    ConnectorSession& session = *entries_[i].session;
    if (!context_.Pass(FaultPoint::kBeforePrepare, session.name())) return;
    session.PrepareCheckpoint(
        entries_[i].plan.steps, deadline,
        [this, round = round_, i](bool ready) { OnPrepared(round, i, ready); });
  }
}

void Checkpointer::OnPrepared(uint64_t round, size_t index, bool ready) {
  if (round != round_ || !deadline_timer_.is_set()) return;
  Entry& entry = entries_[index];
  if (ready &&
      !context_.Pass(FaultPoint::kAfterPrepare, entry.session->name())) {
    return;
  }
  entry.answered = true;
  entry.ready = ready;
  entry.life = entry.session->life();
  if (std::all_of(entries_.begin(), entries_.end(),
                  [](const Entry& e) { return e.answered; })) {
    StoreReady();
  }
}

void Checkpointer::StoreReady() {
  deadline_timer_.Cancel();
  std::vector<Entry> taken;
  StoreTransaction transaction;
  bool flushed = false;
  for (Entry& entry : entries_) {
    // A life that ended since then takes its answer with it.
    if (!entry.ready || entry.life != entry.session->life()) continue;
    if (!entry.plan.stored) {
      if (entry.session->OnFlushed(entry.plan)) flushed = true;
      continue;
    }
    transaction.checkpoints.push_back({entry.session->name(), entry.plan.steps,
                                       entry.plan.position,
                                       entry.plan.spec_bytes});
    entry.session->OnCheckpointStoring();
    taken.push_back(entry);
  }
  if (taken.empty()) return EndRound(true, flushed);
  store_.Commit(std::move(transaction),
                [this, taken = std::move(taken)] { OnStored(taken); });
}

void Checkpointer::OnStored(const std::vector<Entry>& taken) {
  for (const Entry& entry : taken) {
    if (!context_.Pass(FaultPoint::kAfterCheckpointStored,
                       entry.session->name())) {
      return;
    }
    entry.session->OnCheckpointStored(entry.plan);
    if (context_.tasks.closed()) return;
  }
  EndRound(true, true);
}

void Checkpointer::EndRound(bool found_work, bool moved) {
  in_round_ = false;
  if (serving_ && found_work && !moved) wanted_ = true;
  serving_ = false;
  if (moved) backoff_.Reset();
  // Nothing came of it: not at once again.
  if (wanted_) BeginRoundAfter(moved ? absl::ZeroDuration() : backoff_.Next());
  // One that found nothing to do changed nothing: whoever still waits, waits
  // for something else, as for the journal, and would only ask again.
  if (found_work) on_round_();
}

void Checkpointer::BeginRoundAfter(absl::Duration delay) {
  again_timer_.Set(delay, [this] {
    if (!in_round_) BeginRound();
  });
}

}  // namespace penstock::client
