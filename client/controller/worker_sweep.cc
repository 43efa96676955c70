#include "client/controller/worker_sweep.h"

#include "client/controller/verdict.h"
#include "core/base/error.h"
#include "core/base/log.h"

#include <utility>

namespace penstock::client {

void WorkerSweep::Look() {
  worker_.List(context_.tasks.Wrap(
      [this](absl::StatusOr<std::vector<core::ConnectorStatus>> statuses) {
        OnListed(std::move(statuses));
      }));
}

void WorkerSweep::OnListed(
    absl::StatusOr<std::vector<core::ConnectorStatus>> statuses) {
  if (!statuses.ok()) return Again(statuses.status());
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
        if (!reply.ok()) return Again(reply.status());
        strangers_.pop_back();
        DeleteNext();
      }));
}

// Whoever leads now, or whatever is wrong there, the sessions find out.
void WorkerSweep::Again(const absl::Status& status) {
  const Verdict verdict = Judge(status);
  if (verdict != Verdict::kAskAgain && verdict != Verdict::kAskLater) return;
  timer_.Set(backoff_.Next(), [this] { Look(); });
}

}  // namespace penstock::client
