// How the sessions of a controller begin: what each worker has is compared with
// what it should have. See client/controller/README.md.
#pragma once

#include "client/controller/connector_session.h"
#include "client/controller/controller_context.h"
#include "client/controller/worker_sweep.h"
#include "core/connector/control.h"

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace penstock::client {

// Asks each worker once what it has of the pipeline, starts its sessions with
// that, and sweeps what belongs nowhere. Each worker by itself: one that is
// away holds up no other (INV-13).
//
// Owner:     the controller. Threads: confined to its strand.
// Lifecycle: Begin, once.
// Bound:     one call and one sweep for each worker, one sweep for each place
//            elsewhere.
class SessionStart {
 public:
  // `context` and what is in `workers` outlive it. `goes_on`: whether sessions
  // may still begin.
  SessionStart(ControllerContext& context, std::vector<core::Control*> workers,
               std::function<bool()> goes_on)
      : context_(context),
        workers_(std::move(workers)),
        goes_on_(std::move(goes_on)) {}

  // In the order of the options' connectors; they outlive it.
  void Begin(std::vector<ConnectorSession*> sessions);

 private:
  using Found = absl::StatusOr<std::vector<core::ReconciledConnector>>;

  void Compare(size_t worker);
  void OnCompared(size_t worker, const Found& found);
  void StartAt(size_t worker, const Found& found);
  void SweepWorker(size_t worker);
  void SweepElsewhere(const SweepPlace& place);
  void Sweep(SweepPlace place, WorkerSweep::Belongs belongs,
             WorkerSweep::Asks asks);
  bool IsAt(size_t session, size_t worker) const;

  ControllerContext& context_;
  const std::vector<core::Control*> workers_;
  const std::function<bool()> goes_on_;
  std::vector<ConnectorSession*> sessions_;
  std::vector<std::unique_ptr<WorkerSweep>> sweeps_;
};

}  // namespace penstock::client
