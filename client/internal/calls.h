// Calls under way, and the two shapes of them that commands have.
// Internal to client/.
#pragma once

#include "core/base/executor.h"
#include "core/base/mutex.h"

#include <absl/base/thread_annotations.h>
#include <absl/container/flat_hash_map.h>
#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace penstock::client::internal {

// The error of a call, as the caller sees it. An error without our details was
// made by gRPC: UNKNOWN, INTERNAL and CANCELLED then mean that the connection
// broke in the middle, so they become UNAVAILABLE, which is then marked as the
// connection's (IsConnectionError); CANCELLED stays where it is the caller's
// own doing (`cancelled`).
absl::Status StatusOfCall(const grpc::Status& status, bool cancelled);

// The calls under way of one owner.
//
// A context holds its channel, and the last one to let go of a channel joins
// gRPC's callback threads; one of those threads must not do that. So a call
// lets go of its context, and of everything else that may hold the channel,
// before it has left; and its owner keeps the channel until Close has returned.
//
// Owner:   shared by the owner and its calls.
// Threads: thread-safe.
// Bound:   one entry for each call under way.
class CallGroup {
 public:
  // `executor` runs callbacks; null: the thread that delivers.
  explicit CallGroup(core::Executor* executor) : executor_(executor) {}

  // A call begins, to end within `deadline` (at most a day; infinite: never by
  // itself). Once the group is cancelled, the call is cancelled at once.
  std::shared_ptr<grpc::ClientContext> Enter(absl::Duration deadline);
  // It has ended and its callback was delivered; the last thing it does.
  void Leave(std::shared_ptr<grpc::ClientContext> context);
  void Deliver(core::Executor::Task callback);
  // Cancels all calls, also those to come. Blocks: never.
  void Cancel();
  // Cancels, too. Blocks: until all calls have left.
  void Close();
  bool cancelled() const;

 private:
  core::Executor* const executor_;

  mutable core::Mutex mu_;
  core::CondVar left_;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  // Calls that have entered and not left.
  size_t under_way_ ABSL_GUARDED_BY(mu_) = 0;
  // For cancelling; shared with the calls.
  absl::flat_hash_map<const grpc::ClientContext*,
                      std::shared_ptr<grpc::ClientContext>>
      contexts_ ABSL_GUARDED_BY(mu_);
};

// Starts a unary call: `start(context, &request, &response, callback)`.
// `done` runs on gRPC's thread, exactly once; it is to Deliver what it has.
template <typename Response, typename Request, typename Start>
void StartUnary(const std::shared_ptr<CallGroup>& group,
                absl::Duration deadline, Request request, Start start,
                absl::AnyInvocable<void(absl::StatusOr<Response>)> done) {
  struct Call {
    std::shared_ptr<CallGroup> group;
    std::shared_ptr<grpc::ClientContext> context;
    Request request;
    Response response;
    absl::AnyInvocable<void(absl::StatusOr<Response>)> done;
  };
  // Shared by the callback and its copies: gRPC takes a std::function.
  auto call = std::make_shared<Call>();
  call->group = group;
  call->context = group->Enter(deadline);
  call->request = std::move(request);
  call->done = std::move(done);
  Call* const raw = call.get();
  start(raw->context.get(), &raw->request, &raw->response,
        [call = std::move(call)](grpc::Status status) {
          if (status.ok()) {
            call->done(std::move(call->response));
          } else {
            call->done(StatusOfCall(status, call->group->cancelled()));
          }
          call->done = nullptr;
          call->group->Leave(std::move(call->context));
        });
}

// A client stream: messages up, one response down.
//
// Owner: itself, from Start to OnDone.
// Bound: one message at a time.
template <typename Request, typename Response>
class Upload final : public grpc::ClientWriteReactor<Request> {
 public:
  // Fills in the next message; false: there is none.
  using Next = absl::AnyInvocable<bool(Request&)>;
  using Done = absl::AnyInvocable<void(absl::StatusOr<Response>)>;

  // `bind(context, &response, reactor)` names the method.
  template <typename Bind>
  static void Start(const std::shared_ptr<CallGroup>& group,
                    absl::Duration deadline, Bind bind, Next next, Done done) {
    auto* upload =
        new Upload(group, deadline, std::move(next), std::move(done));
    bind(upload->context_.get(), &upload->response_, upload);
    upload->WriteNext();
    upload->StartCall();
  }

  void OnWriteDone(bool ok) override {
    // Not ok: the call is over, OnDone says why.
    if (ok) WriteNext();
  }

  void OnDone(const grpc::Status& status) override {
    if (status.ok()) {
      done_(std::move(response_));
    } else {
      done_(StatusOfCall(status, group_->cancelled()));
    }
    next_ = nullptr;
    done_ = nullptr;
    group_->Leave(std::move(context_));
    delete this;
  }

 private:
  Upload(std::shared_ptr<CallGroup> group, absl::Duration deadline, Next next,
         Done done)
      : group_(std::move(group)),
        context_(group_->Enter(deadline)),
        next_(std::move(next)),
        done_(std::move(done)) {}

  void WriteNext() {
    message_.Clear();
    if (next_(message_)) {
      this->StartWrite(&message_);
    } else {
      this->StartWritesDone();
    }
  }

  const std::shared_ptr<CallGroup> group_;
  std::shared_ptr<grpc::ClientContext> context_;
  Next next_;
  Done done_;
  Request message_;
  Response response_;
};

}  // namespace penstock::client::internal
