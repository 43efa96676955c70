#include "client/controller/worker_sweep.h"

#include "client/controller/verdict.h"
#include "core/base/error.h"
#include "core/base/log.h"

#include <utility>

namespace penstock::client {

namespace {

bool MayPass(const absl::Status& status) {
  const Verdict verdict = Judge(status);
  return verdict == Verdict::kAskAgain || verdict == Verdict::kAskLater;
}

}  // namespace

void WorkerSweep::Look() {
  worker_.List(context_.tasks.Wrap(
      [this](absl::StatusOr<std::vector<core::ConnectorStatus>> statuses) {
        OnListed(std::move(statuses));
      }));
}

void WorkerSweep::OnListed(
    absl::StatusOr<std::vector<core::ConnectorStatus>> statuses) {
  if (!statuses.ok()) {
    // Whatever else is wrong there, the sessions find out.
    if (MayPass(statuses.status())) LookLater();
    return;
  }
  strangers_.clear();
  for (const core::ConnectorStatus& status : *statuses) {
    if (status.pipeline == context_.fence.pipeline &&
        !keeps_.contains(status.name)) {
      strangers_.push_back(status.name);
    }
  }
  DeleteNext();
}

void WorkerSweep::DeleteNext() {
  if (strangers_.empty()) return;
  LOG(INFO).With("connector", strangers_.back())
      << "deleting it from a worker that it does not belong to any more";
  core::CommandHeader header;
  header.fence = context_.fence;
  header.ref.connector = strangers_.back();
  header.request_id = context_.NewRequestId();
  worker_.Delete(
      std::move(header), {.deadline = context_.options.disconnect_deadline},
      context_.tasks.Wrap([this](absl::StatusOr<core::DisconnectReply> reply) {
        OnDeleted(reply.status());
      }));
}

void WorkerSweep::OnDeleted(const absl::Status& status) {
  if (!status.ok()) {
    if (MayPass(status)) return LookLater();
    // Who leads now sweeps.
    if (Judge(status) == Verdict::kAskStore) return;
    LOG(WARNING).With("connector", strangers_.back())
        << "it stays open at a worker that it does not belong to: "
        << core::ErrorText(status);
  }
  strangers_.pop_back();
  DeleteNext();
}

void WorkerSweep::LookLater() {
  timer_.Set(backoff_.Next(), [this] { Look(); });
}

}  // namespace penstock::client
