#include "client/internal/calls.h"

#include "proto/wire/status.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace penstock::client::internal {

absl::Status StatusOfCall(const grpc::Status& status, bool cancelled) {
  if (status.ok() || !status.error_details().empty()) {
    return wire::StatusFromGrpc(status);
  }
  switch (status.error_code()) {
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::INTERNAL:
      break;
    case grpc::StatusCode::CANCELLED:
      if (!cancelled) break;
      [[fallthrough]];
    default:
      return wire::StatusFromGrpc(status);
  }
  return wire::StatusFromGrpc(
      grpc::Status(grpc::StatusCode::UNAVAILABLE, status.error_message()));
}

void SetDeadline(absl::Duration duration, grpc::ClientContext& context) {
  const int64_t ms = absl::ToInt64Milliseconds(
      std::clamp(duration, absl::ZeroDuration(), absl::Hours(24)));
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                    gpr_time_from_millis(ms, GPR_TIMESPAN)));
}

std::shared_ptr<grpc::ClientContext> CallGroup::Enter(absl::Duration deadline) {
  auto context = std::make_shared<grpc::ClientContext>();
  SetDeadline(deadline, *context);
  bool closed = false;
  {
    core::MutexLock lock(mu_);
    contexts_.emplace(context.get(), context);
    closed = closed_;
  }
  if (closed) context->TryCancel();
  return context;
}

void CallGroup::Leave(const std::shared_ptr<grpc::ClientContext>& context) {
  core::MutexLock lock(mu_);
  contexts_.erase(context.get());
  if (contexts_.empty()) left_.NotifyAll();
}

void CallGroup::Deliver(core::Executor::Task callback) {
  if (executor_ == nullptr) {
    callback();
  } else {
    executor_->Schedule(std::move(callback));
  }
}

void CallGroup::Close() {
  std::vector<std::shared_ptr<grpc::ClientContext>> contexts;
  {
    core::MutexLock lock(mu_);
    closed_ = true;
    contexts.reserve(contexts_.size());
    for (const auto& [unused, context] : contexts_) {
      contexts.push_back(context);
    }
  }
  for (const auto& context : contexts) context->TryCancel();
  core::MutexLock lock(mu_);
  left_.Wait(mu_, [this] {
    mu_.AssertHeld();
    return contexts_.empty();
  });
}

bool CallGroup::closed() const {
  core::MutexLock lock(mu_);
  return closed_;
}

}  // namespace penstock::client::internal
