#include "client/internal/calls.h"

#include "proto/wire/connection_error.h"
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
    case grpc::StatusCode::UNAVAILABLE:
      break;
    case grpc::StatusCode::CANCELLED:
      if (!cancelled) break;
      [[fallthrough]];
    default:
      return wire::StatusFromGrpc(status);
  }
  return wire::MarkConnectionError(wire::StatusFromGrpc(
      grpc::Status(grpc::StatusCode::UNAVAILABLE, status.error_message())));
}

std::shared_ptr<grpc::ClientContext> CallGroup::Enter(absl::Duration deadline) {
  auto context = std::make_shared<grpc::ClientContext>();
  if (deadline != absl::InfiniteDuration()) {
    const int64_t ms = absl::ToInt64Milliseconds(
        std::clamp(deadline, absl::ZeroDuration(), absl::Hours(24)));
    context->set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                       gpr_time_from_millis(ms, GPR_TIMESPAN)));
  }
  bool cancelled = false;
  {
    core::MutexLock lock(mu_);
    contexts_.emplace(context.get(), context);
    ++under_way_;
    cancelled = cancelled_;
  }
  if (cancelled) context->TryCancel();
  return context;
}

void CallGroup::Leave(std::shared_ptr<grpc::ClientContext> context) {
  {
    core::MutexLock lock(mu_);
    contexts_.erase(context.get());
  }
  context = nullptr;
  core::MutexLock lock(mu_);
  --under_way_;
  if (under_way_ == 0) left_.NotifyAll();
}

void CallGroup::Deliver(core::Executor::Task callback) {
  if (executor_ == nullptr) {
    callback();
  } else {
    executor_->Schedule(std::move(callback));
  }
}

void CallGroup::Cancel() {
  std::vector<std::shared_ptr<grpc::ClientContext>> contexts;
  {
    core::MutexLock lock(mu_);
    cancelled_ = true;
    contexts.reserve(contexts_.size());
    for (const auto& [unused, context] : contexts_) {
      contexts.push_back(context);
    }
  }
  for (const auto& context : contexts) context->TryCancel();
}

void CallGroup::Close() {
  Cancel();
  core::MutexLock lock(mu_);
  left_.Wait(mu_, [this] {
    mu_.AssertHeld();
    return under_way_ == 0;
  });
}

bool CallGroup::cancelled() const {
  core::MutexLock lock(mu_);
  return cancelled_;
}

}  // namespace penstock::client::internal
