#include "client/controller/session_start.h"

#include "core/base/log.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace penstock::client {

void SessionStart::Begin(std::vector<ConnectorSession*> sessions) {
  sessions_ = std::move(sessions);
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    if (workers_[worker] != nullptr) Compare(worker);
  }
  for (const SweepPlace& place : context_.options.elsewhere) {
    SweepElsewhere(place);
  }
}

bool SessionStart::IsAt(size_t session, size_t worker) const {
  return context_.options.connectors[session].worker == worker;
}

void SessionStart::Compare(size_t worker) {
  core::ReconcileRequest request;
  request.fence = context_.fence;
  for (size_t i = 0; i < sessions_.size(); ++i) {
    if (!IsAt(i, worker)) continue;
    request.connectors.push_back(sessions_[i]->Desired());
  }
  workers_[worker]->Reconcile(std::move(request),
                              context_.tasks.Wrap([this, worker](Found found) {
                                OnCompared(worker, found);
                              }));
}

void SessionStart::OnCompared(size_t worker, const Found& found) {
  if (!goes_on_()) return;
  StartAt(worker, found);
  // What is compared there is dropped there, too; which may fail there.
  bool sweeps = !found.ok();
  if (found.ok()) {
    for (const core::ReconciledConnector& one : *found) {
      if (one.outcome != core::Reconciliation::kDropped) continue;
      sweeps = true;
      LOG(INFO).With("connector", one.connector)
          << "dropped by a worker that it does not belong to any more";
    }
  }
  if (sweeps) SweepWorker(worker);
}

void SessionStart::StartAt(size_t worker, const Found& found) {
  std::map<std::string, core::Reconciliation> outcomes;
  if (found.ok()) {
    for (const core::ReconciledConnector& one : *found) {
      outcomes[one.connector] = one.outcome;
    }
  }
  for (size_t i = 0; i < sessions_.size(); ++i) {
    if (!IsAt(i, worker)) continue;
    const auto outcome = outcomes.find(sessions_[i]->name());
    sessions_[i]->Start(outcome == outcomes.end()
                            ? std::nullopt
                            : std::optional(outcome->second));
  }
}

void SessionStart::SweepWorker(size_t worker) {
  std::set<std::string> keeps;
  for (size_t i = 0; i < sessions_.size(); ++i) {
    if (IsAt(i, worker)) keeps.insert(sessions_[i]->name());
  }
  Sweep(
      PlaceOf(absl::StrCat("worker ", worker), *workers_[worker]),
      [keeps = std::move(keeps)](const core::ConnectorStatus& status) {
        return keeps.contains(status.name);
      },
      WorkerSweep::Asks::kUntilItAnswers);
}

void SessionStart::SweepElsewhere(const SweepPlace& place) {
  Sweep(
      place,
      [this](const core::ConnectorStatus& status) {
        return std::any_of(sessions_.begin(), sessions_.end(),
                           [&](const ConnectorSession* session) {
                             return session->name() == status.name &&
                                    status.writer.open_number >=
                                        session->open_number();
                           });
      },
      WorkerSweep::Asks::kBounded);
}

void SessionStart::Sweep(SweepPlace place, WorkerSweep::Belongs belongs,
                         WorkerSweep::Asks asks) {
  sweeps_.push_back(std::make_unique<WorkerSweep>(
      std::move(place), std::move(belongs), asks, context_));
  sweeps_.back()->Look();
}

}  // namespace penstock::client
