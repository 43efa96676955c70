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
  ++looks_;
  place_.list(context_.tasks.Wrap(
      [this](absl::StatusOr<std::vector<core::ConnectorStatus>> statuses) {
        OnListed(std::move(statuses));
      }));
}

void WorkerSweep::OnListed(
    absl::StatusOr<std::vector<core::ConnectorStatus>> statuses) {
  if (!statuses.ok()) {
    // Whatever else is wrong there, the sessions find out.
    if (MayPass(statuses.status())) {
      LookLater(core::ErrorText(statuses.status()));
    }
    return;
  }
  strangers_.clear();
  some_belong_ = false;
  for (const core::ConnectorStatus& status : *statuses) {
    if (status.pipeline != context_.fence.pipeline) continue;
    if (belongs_(status)) {
      some_belong_ = true;
    } else {
      strangers_.push_back({status.name, status.instance});
    }
  }
  DeleteNext();
}

void WorkerSweep::DeleteNext() {
  if (strangers_.empty()) return OnSwept();
  LOG(INFO)
          .With("connector", strangers_.back().connector)
          .With("worker", place_.name)
      << "deleting it from a worker that it does not belong to any more";
  core::CommandHeader header;
  header.fence = context_.fence;
  // That life: it may be opened there again, and belong there.
  header.ref = strangers_.back();
  header.request_id = context_.NewRequestId();
  place_.remove(
      std::move(header), {.deadline = context_.options.disconnect_deadline},
      context_.tasks.Wrap([this](absl::StatusOr<core::DisconnectReply> reply) {
        OnDeleted(reply.status());
      }));
}

void WorkerSweep::OnDeleted(const absl::Status& status) {
  if (!status.ok()) {
    if (MayPass(status)) return LookLater(core::ErrorText(status));
    // Who leads now sweeps.
    if (Judge(status) == Verdict::kAskStore) return;
    LOG(WARNING)
            .With("connector", strangers_.back().connector)
            .With("worker", place_.name)
        << "it stays open at a worker that it does not belong to: "
        << core::ErrorText(status);
  }
  strangers_.pop_back();
  DeleteNext();
}

void WorkerSweep::OnSwept() {
  if (asks_ == Asks::kBounded && some_belong_) {
    LookLater("what stands there is the last that was opened, as yet");
  }
}

void WorkerSweep::LookLater(absl::string_view why) {
  if (asks_ == Asks::kBounded && looks_ >= kLooksMax) {
    LOG(INFO).With("worker", place_.name)
        << "what the pipeline may have left there is looked for no more: "
        << why;
    return;
  }
  timer_.Set(backoff_.Next(), [this] { Look(); });
}

}  // namespace penstock::client
