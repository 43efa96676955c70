#include "client/controller/controller.h"

#include "client/controller/backoff.h"
#include "client/controller/checkpointer.h"
#include "client/controller/connector_session.h"
#include "client/controller/controller_context.h"
#include "client/controller/journal_writer.h"
#include "client/controller/reconcile.h"
#include "client/controller/session_start.h"
#include "client/controller/store_committer.h"
#include "client/controller/verdict.h"
#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mutex.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace penstock::client {
namespace {

using core::MakeError;
using core::Reason;

// How long Delete's answers are waited for beyond the deadline given with it.
// One second of it is for a last look at the connector.
constexpr absl::Duration kCloseSlack = absl::Seconds(3);
// Connectors that an error names.
constexpr size_t kNamedMax = 10;

// Everything behind the handle that the user holds.
//
//   STARTING ─epoch, missing connectors stored─▶ RUNNING ─Stop, error, end─▶
//   FINISHING ─settled, or late─▶ (deleting) ─▶ ENDED
//
// Owner:   the handle, and for its duration each task. Threads: the public
//          functions are thread-safe, all else is confined to the strand.
class ControllerCore final
    : public std::enable_shared_from_this<ControllerCore>,
      public SessionHost {
 public:
  ControllerCore(ControllerOptions options, core::Executor& executor,
                 StateStore& store, std::vector<core::Control*> workers,
                 absl::AnyInvocable<void(absl::Status)> on_end)
      : context_(std::move(options), executor),
        store_(store),
        workers_(std::move(workers)),
        on_end_(std::move(on_end)),
        committer_(context_, store,
                   [this](absl::Status status) { End(std::move(status)); }),
        journal_(context_, committer_),
        checkpointer_(context_, committer_, [this] { AdvanceSoon(); }),
        store_backoff_(context_.random),
        lead_timer_(context_.tasks),
        stop_timer_(context_.tasks),
        start_(context_, workers_,
               [this] { return phase_ == ControllerPhase::kRunning; }) {}

  void Start() {
    context_.tasks.SetOwner(weak_from_this());
    context_.tasks.Post([this] {
      started_ = context_.tasks.clock().SteadyNow();
      Lead();
    });
  }
  void Stop() {
    context_.tasks.Post([this] { Finish(absl::OkStatus()); });
  }
  void SetUserPaused(std::string connector, bool paused,
                     absl::AnyInvocable<void(absl::Status)> done) {
    context_.tasks.Post([this, connector = std::move(connector), paused,
                         done = std::move(done)]() mutable {
      StoreUserPaused(std::move(connector), paused, std::move(done));
    });
  }
  ControllerSnapshot Snapshot() const {
    core::MutexLock lock(snapshot_mu_);
    return snapshot_;
  }
  void SetFaultHook(
      absl::AnyInvocable<void(FaultPoint, const std::string&)> hook) {
    context_.fault_hook = std::move(hook);
  }
  // The handle is gone: as a crash.
  void Drop() { context_.tasks.Close(); }

 private:
  // Starting.
  void Lead();
  void OnLeading(absl::StatusOr<StoredPipeline> pipeline);
  absl::Status CheckOptions() const;
  absl::Status CheckIncarnation() const;
  void OnReconciled(StoredPipeline pipeline);

  // SessionHost.
  void Journal(ConnectorSession& session,
               std::shared_ptr<const core::StepResult> result) override {
    journal_.Add(session, std::move(result));
  }
  void WantCheckpoint() override { checkpointer_.Want(); }
  void OnProgress(ConnectorSession& session) override;
  void OnFenced(absl::Status status) override;

  struct PauseWish {
    ConnectorSession* session;
    bool paused;
    absl::AnyInvocable<void(absl::Status)> done;
  };
  void StoreUserPaused(std::string connector, bool paused,
                       absl::AnyInvocable<void(absl::Status)> done);
  void StoreNextPause();
  void ReadWhoLeads(absl::Status fenced);

  // Ending.
  void AdvanceSoon();
  void Advance();
  bool AllOf(bool (ConnectorSession::*is)() const) const;
  void Finish(absl::Status status);
  void CloseAll();
  void OnClosed(const absl::Status& status);
  absl::Status CheckNoneFailed();
  absl::Status CheckNothingIsLeft() const;
  void End(absl::Status status);
  void SetPhase(ControllerPhase phase);

  ControllerContext context_;
  StateStore& store_;
  const std::vector<core::Control*> workers_;
  absl::AnyInvocable<void(absl::Status)> on_end_;
  StoreCommitter committer_;
  JournalWriter journal_;
  Checkpointer checkpointer_;
  Backoff store_backoff_;
  ScopedTimer lead_timer_;
  ScopedTimer stop_timer_;

  ControllerPhase phase_ = ControllerPhase::kStarting;
  absl::Time started_;
  // In the order of the options; fixed once made.
  std::vector<std::unique_ptr<ConnectorSession>> sessions_;
  std::map<const ConnectorSession*, size_t> index_of_;
  SessionStart start_;
  bool advance_posted_ = false;
  bool asking_who_leads_ = false;
  // The first is being stored. Bound: what callers have outstanding.
  std::deque<PauseWish> pauses_;
  bool storing_pause_ = false;
  bool closing_ = false;
  size_t to_close_ = 0;
  // What on_end will be told.
  absl::Status final_status_;

  mutable core::Mutex snapshot_mu_;
  ControllerSnapshot snapshot_ ABSL_GUARDED_BY(snapshot_mu_);
};

void ControllerCore::SetPhase(ControllerPhase phase) {
  phase_ = phase;
  core::MutexLock lock(snapshot_mu_);
  snapshot_.phase = phase;
}

// ---------------------------------------------------------------- starting

absl::Status ControllerCore::CheckOptions() const {
  std::set<std::string> names;
  for (const PipelineConnector& connector : context_.options.connectors) {
    if (connector.name.empty() || !names.insert(connector.name).second) {
      return MakeError(
          Reason::INVALID_CONFIG,
          absl::StrCat("starting a controller: connector name '",
                       connector.name, "' is empty or there twice"));
    }
    if (connector.worker >= workers_.size() ||
        workers_[connector.worker] == nullptr) {
      return MakeError(Reason::INVALID_CONFIG,
                       absl::StrCat("starting a controller: connector '",
                                    connector.name, "' is placed on worker ",
                                    connector.worker, " of ", workers_.size()));
    }
  }
  return absl::OkStatus();
}

void ControllerCore::Lead() {
  if (phase_ == ControllerPhase::kEnded) return;
  if (absl::Status status = CheckOptions(); !status.ok()) {
    return End(std::move(status));
  }
  store_.TakeLeadership(
      context_.tasks.Wrap([this](absl::StatusOr<StoredPipeline> pipeline) {
        OnLeading(std::move(pipeline));
      }));
}

void ControllerCore::OnLeading(absl::StatusOr<StoredPipeline> pipeline) {
  if (phase_ == ControllerPhase::kEnded) return;
  if (!pipeline.ok()) {
    if (!core::HasReason(pipeline.status(), Reason::UNAVAILABLE) &&
        !core::HasReason(pipeline.status(), Reason::STORAGE_FULL)) {
      return End(pipeline.status());
    }
    const core::Clock& clock = context_.tasks.clock();
    if (clock.SteadyNow() - started_ >= context_.options.lead_deadline) {
      return End(core::WithContext(
          pipeline.status(),
          absl::StrCat("while taking the next epoch of pipeline '",
                       context_.options.pipeline, "' for ",
                       absl::FormatDuration(context_.options.lead_deadline))));
    }
    LOG(WARNING) << "taking the next epoch again: "
                 << core::ErrorText(pipeline.status());
    return lead_timer_.Set(store_backoff_.Next(), [this] { Lead(); });
  }
  context_.fence = {.pipeline = context_.options.pipeline,
                    .controller_id = context_.options.controller_id,
                    .epoch = pipeline->epoch,
                    .nonce = context_.options.nonce};
  context_.incarnation = pipeline->incarnation;
  {
    core::MutexLock lock(snapshot_mu_);
    snapshot_.incarnation = pipeline->incarnation;
    snapshot_.epoch = pipeline->epoch;
  }
  if (absl::Status status = CheckIncarnation(); !status.ok()) {
    return End(std::move(status));
  }
  absl::StatusOr<StoreTransaction> transaction =
      Reconcile(context_.options, *pipeline);
  if (!transaction.ok()) return End(transaction.status());
  if (transaction->IsEmpty()) return OnReconciled(*std::move(pipeline));
  committer_.Commit(*std::move(transaction),
                    [this, pipeline = *std::move(pipeline)]() mutable {
                      OnReconciled(std::move(pipeline));
                    });
}

absl::Status ControllerCore::CheckIncarnation() const {
  const auto& expected = context_.options.incarnation;
  if (!expected.has_value() || *expected == context_.incarnation) {
    return absl::OkStatus();
  }
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("starting pipeline '", context_.options.pipeline,
                   "': its file names incarnation '", *expected,
                   "', but the store is '", context_.incarnation,
                   "'; name the right store, or remove the incarnation"));
}

void ControllerCore::OnReconciled(StoredPipeline pipeline) {
  if (phase_ == ControllerPhase::kEnded) return;
  // Stopped before anything was opened.
  if (phase_ == ControllerPhase::kFinishing) return End(final_status_);
  SetPhase(ControllerPhase::kRunning);
  std::vector<ConnectorSession*> sessions;
  for (const PipelineConnector& configured : context_.options.connectors) {
    sessions_.push_back(std::make_unique<ConnectorSession>(
        configured, std::move(pipeline.connectors[configured.name]),
        *workers_[configured.worker], context_, committer_, *this));
    sessions.push_back(sessions_.back().get());
    index_of_[sessions.back()] = sessions.size() - 1;
  }
  {
    core::MutexLock lock(snapshot_mu_);
    snapshot_.connectors.resize(sessions.size());
  }
  for (ConnectorSession* session : sessions) OnProgress(*session);
  checkpointer_.Start(sessions);
  start_.Begin(std::move(sessions));
  AdvanceSoon();
}

// ----------------------------------------------------------------- running

void ControllerCore::OnProgress(ConnectorSession& session) {
  ConnectorProgress progress = session.Progress();
  {
    core::MutexLock lock(snapshot_mu_);
    snapshot_.connectors[index_of_.at(&session)] = std::move(progress);
  }
  AdvanceSoon();
}

void ControllerCore::OnFenced(absl::Status status) {
  if (asking_who_leads_) return;
  asking_who_leads_ = true;
  ReadWhoLeads(std::move(status));
}

void ControllerCore::ReadWhoLeads(absl::Status fenced) {
  store_.ReadEpoch(context_.tasks.Wrap([this, fenced = std::move(fenced)](
                                           absl::StatusOr<uint64_t> epoch) {
    if (phase_ == ControllerPhase::kEnded) return;
    if (!epoch.ok()) {
      if (!core::HasReason(epoch.status(), Reason::UNAVAILABLE)) {
        return End(epoch.status());
      }
      return lead_timer_.Set(store_backoff_.Next(),
                             [this, fenced] { ReadWhoLeads(fenced); });
    }
    if (*epoch != context_.fence.epoch) {
      return End(MakeError(
          Reason::STALE_EPOCH,
          absl::StrCat("driving pipeline '", context_.fence.pipeline,
                       "': epoch ", *epoch, " leads now, this controller has ",
                       context_.fence.epoch)));
    }
    End(core::WithContext(
        fenced, absl::StrCat("but the store's epoch is still ours (", *epoch,
                             "): a controller with another store commands "
                             "pipeline '",
                             context_.fence.pipeline,
                             "' on that worker; give one of them another "
                             "name, or, if this store is new because the "
                             "old one was lost, restore that")));
  }));
}

void ControllerCore::StoreUserPaused(
    std::string connector, bool paused,
    absl::AnyInvocable<void(absl::Status)> done) {
  if (phase_ != ControllerPhase::kRunning) {
    return done(MakeError(Reason::CANCELLED,
                          absl::StrCat("pausing connector '", connector,
                                       "': the controller is not running")));
  }
  for (const auto& session : sessions_) {
    if (session->name() != connector) continue;
    pauses_.push_back({session.get(), paused, std::move(done)});
    return StoreNextPause();
  }
  done(MakeError(Reason::NO_SUCH_CONNECTOR,
                 absl::StrCat("pausing: the pipeline has no connector '",
                              connector, "'")));
}

// One after the other: one that is committed again would come behind a later
// one, and be the last word.
void ControllerCore::StoreNextPause() {
  if (storing_pause_ || pauses_.empty()) return;
  storing_pause_ = true;
  StoreTransaction transaction;
  transaction.user_paused.push_back(
      {pauses_.front().session->name(), pauses_.front().paused});
  committer_.Commit(std::move(transaction), [this] {
    storing_pause_ = false;
    PauseWish wish = std::move(pauses_.front());
    pauses_.pop_front();
    wish.session->SetUserPaused(wish.paused);
    wish.done(absl::OkStatus());
    if (!context_.tasks.closed()) StoreNextPause();
  });
}

// ------------------------------------------------------------------ ending

void ControllerCore::AdvanceSoon() {
  if (advance_posted_) return;
  advance_posted_ = true;
  context_.tasks.Post([this] {
    advance_posted_ = false;
    Advance();
  });
}

bool ControllerCore::AllOf(bool (ConnectorSession::*is)() const) const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [is](const auto& session) { return (*session.*is)(); });
}

void ControllerCore::Advance() {
  if (closing_) return;
  switch (phase_) {
    case ControllerPhase::kStarting:
    case ControllerPhase::kEnded:
      return;
    case ControllerPhase::kRunning:
      // With none that goes on there is nothing to be done.
      if (!sessions_.empty() && AllOf(&ConnectorSession::HasFailure)) {
        return Finish(absl::OkStatus());
      }
      if (!context_.options.stop_at_end_of_input ||
          !AllOf(&ConnectorSession::IsDone)) {
        return;
      }
      break;
    case ControllerPhase::kFinishing:
      break;
  }
  if (!AllOf(&ConnectorSession::IsSettled)) return checkpointer_.Want();
  SetPhase(ControllerPhase::kFinishing);
  CloseAll();
}

void ControllerCore::Finish(absl::Status status) {
  if (phase_ == ControllerPhase::kEnded || closing_) return;
  // The first word counts, unless it was only a wish.
  if (final_status_.ok()) final_status_ = std::move(status);
  if (phase_ == ControllerPhase::kFinishing) return AdvanceSoon();
  SetPhase(ControllerPhase::kFinishing);
  checkpointer_.SetAtEnd();
  for (const auto& session : sessions_) session->StopQueueing();
  stop_timer_.Set(context_.options.stop_deadline, [this] {
    LOG(WARNING).With("pipeline", context_.fence.pipeline)
        << "ending without the last checkpoints; the next run replays what is "
           "journaled";
    CloseAll();
  });
  AdvanceSoon();
}

void ControllerCore::CloseAll() {
  if (closing_) return;
  closing_ = true;
  checkpointer_.Stop();
  // One that failed is left for a person to look at.
  for (const auto& session : sessions_) {
    if (!session->IsFailed()) ++to_close_;
  }
  if (to_close_ == 0) return End(final_status_);
  stop_timer_.Set(context_.options.disconnect_deadline + kCloseSlack,
                  [this] { End(final_status_); });
  for (const auto& session : sessions_) {
    if (session->IsFailed()) continue;
    session->Close([this](absl::Status status) { OnClosed(status); });
  }
}

void ControllerCore::OnClosed(const absl::Status& status) {
  // Everything was done, but no longer by the one who leads.
  if (!status.ok() && Judge(status) == Verdict::kAskStore) OnFenced(status);
  if (--to_close_ == 0 && !asking_who_leads_) End(final_status_);
}

absl::Status ControllerCore::CheckNoneFailed() {
  std::vector<std::string> failed;
  absl::Status first;
  for (const auto& session : sessions_) {
    if (!session->HasFailure()) continue;
    if (failed.empty()) first = *session->failure();
    failed.push_back(absl::StrCat("'", session->name(), "'"));
  }
  if (failed.empty() || sessions_.size() == 1) return first;
  const size_t count = failed.size();
  {
    core::MutexLock lock(snapshot_mu_);
    snapshot_.some_failed = count < sessions_.size();
  }
  failed.resize(std::min(count, kNamedMax));
  first = core::WithContext(
      first, absl::StrCat(count, " of ", sessions_.size(),
                          " connectors failed: ", absl::StrJoin(failed, ", "),
                          count > failed.size() ? " and others" : ""));
  const absl::Status left = CheckNothingIsLeft();
  if (!left.ok()) return core::WithContext(first, left.message());
  if (count == sessions_.size()) return first;
  return core::WithContext(first, "what the others did is checkpointed");
}

absl::Status ControllerCore::CheckNothingIsLeft() const {
  std::vector<std::string> left;
  for (const auto& session : sessions_) {
    std::optional<std::string> steps = session->LeftSteps();
    if (steps.has_value()) left.push_back(*std::move(steps));
  }
  if (left.empty()) return absl::OkStatus();
  const size_t count = left.size();
  left.resize(std::min(count, kNamedMax));
  return MakeError(
      Reason::NOT_COMPLETED,
      absl::StrCat("stopping pipeline '", context_.options.pipeline,
                   "': ", absl::StrJoin(left, "; "),
                   count > left.size()
                       ? absl::StrCat("; and ", count - left.size(), " more")
                       : "",
                   "; nothing is lost: run it again, and it goes on from the "
                   "last checkpoint"));
}

void ControllerCore::End(absl::Status status) {
  if (phase_ == ControllerPhase::kEnded) return;
  if (status.ok()) status = CheckNoneFailed();
  if (status.ok()) status = CheckNothingIsLeft();
  for (const auto& session : sessions_) {
    session->Abandon();
    OnProgress(*session);
  }
  checkpointer_.Stop();
  stop_timer_.Cancel();
  lead_timer_.Cancel();
  SetPhase(ControllerPhase::kEnded);
  auto on_end = std::move(on_end_);
  context_.tasks.Close();
  on_end(std::move(status));
}

// What the user holds; its end is the controller's end.
class ControllerHandle final : public Controller {
 public:
  explicit ControllerHandle(std::shared_ptr<ControllerCore> core)
      : core_(std::move(core)) {}
  ~ControllerHandle() override { core_->Drop(); }

  void Start() override { core_->Start(); }
  void Stop() override { core_->Stop(); }
  void Drop() override { core_->Drop(); }
  void SetUserPaused(std::string connector, bool paused,
                     absl::AnyInvocable<void(absl::Status)> done) override {
    core_->SetUserPaused(std::move(connector), paused, std::move(done));
  }
  ControllerSnapshot Snapshot() const override { return core_->Snapshot(); }
  void SetFaultHook(
      absl::AnyInvocable<void(FaultPoint, const std::string&)> hook) override {
    core_->SetFaultHook(std::move(hook));
  }

 private:
  const std::shared_ptr<ControllerCore> core_;
};

}  // namespace

std::shared_ptr<Controller> Controller::Create(
    ControllerOptions options, core::Executor& executor, StateStore& store,
    std::vector<core::Control*> workers,
    absl::AnyInvocable<void(absl::Status)> on_end) {
  return std::make_shared<ControllerHandle>(
      std::make_shared<ControllerCore>(std::move(options), executor, store,
                                       std::move(workers), std::move(on_end)));
}

}  // namespace penstock::client
