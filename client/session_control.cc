#include "client/session_control.h"

#include "client/internal/calls.h"
#include "client/internal/reply_parts.h"
#include "client/internal/session_stream.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/thread_pool_executor.h"
#include "proto/penstock/v1/control.grpc.pb.h"
#include "proto/penstock/v1/status.pb.h"
#include "proto/wire/connector_status.h"
#include "proto/wire/reconcile.h"
#include "proto/wire/requests.h"
#include "proto/wire/status.h"

#include <grpcpp/channel.h>

#include <optional>
#include <utility>

namespace penstock::client {
namespace {

using internal::CallGroup;
using internal::SessionStream;
using SessionReply = v1::SessionReply;

// The arm of a reply that its command calls for.
template <typename Response>
absl::StatusOr<Response> ArmOf(absl::StatusOr<SessionReply> reply,
                               bool (SessionReply::*has)() const,
                               Response* (SessionReply::*arm)()) {
  if (!reply.ok()) return reply.status();
  if (reply->has_error()) return wire::StatusFromProto(reply->error());
  if (!((*reply).*has)()) {
    return core::MakeError(core::Reason::INTERNAL,
                           "reading a Session: the answer to a command is of "
                           "another kind");
  }
  return std::move(*((*reply).*arm)());
}

}  // namespace

// Lifetime: the control's, which waits for the group's calls and the stream.
class SessionControl::Impl {
 public:
  Impl(std::shared_ptr<grpc::Channel> channel,
       const SessionControlOptions& options)
      : options_(options),
        channel_(std::move(channel)),
        group_(std::make_shared<CallGroup>(options.calls.executor)),
        stub_(v1::ControlService::NewStub(channel_)),
        parts_(group_, *stub_,
               {.prompt = options.calls.deadlines.prompt,
                .open = options.calls.deadlines.open,
                .slowest_bytes_per_second =
                    options.calls.deadlines.slowest_bytes_per_second}),
        calls_(channel_, options.calls) {}
  ~Impl() {
    group_->Close();
    std::shared_ptr<SessionStream> stream;
    {
      core::MutexLock lock(mu_);
      stream = std::move(stream_);
    }
    // One that came when the stream was over is answered, too.
    if (stream != nullptr) stream->Flush();
  }

  // The control to use instead; null: the stream.
  core::Control* Calls() {
    core::MutexLock lock(mu_);
    return use_calls_ ? &calls_ : nullptr;
  }
  GrpcControl& calls() { return calls_; }
  bool HasReadyStream() {
    core::MutexLock lock(mu_);
    return stream_ != nullptr && !stream_->is_over() && stream_->is_ready();
  }
  uint64_t streams_begun() const {
    core::MutexLock lock(mu_);
    return streams_begun_;
  }
  bool uses_calls() const {
    core::MutexLock lock(mu_);
    return use_calls_;
  }
  const CallDeadlines& deadlines() const { return options_.calls.deadlines; }
  internal::ReplyParts& parts() { return parts_; }

  // `fence`: nullopt takes the stream there is.
  void Send(const std::optional<core::Fence>& fence,
            SessionStream::Command command) {
    std::shared_ptr<SessionStream> stream;
    std::shared_ptr<SessionStream> replaced;
    {
      core::MutexLock lock(mu_);
      const bool is_other = fence.has_value() && *fence != fence_;
      if (stream_ == nullptr || stream_->is_over() || is_other) {
        replaced = std::move(stream_);
        if (fence.has_value()) fence_ = *fence;
        stream_ = Begin({});
      }
      stream = stream_;
    }
    if (replaced != nullptr) replaced->Cancel();
    stream->Send(std::move(command));
  }

  // Another stream, whatever there was.
  void BeginWith(const core::Fence& fence, SessionStream::Desired desired) {
    std::shared_ptr<SessionStream> replaced;
    {
      core::MutexLock lock(mu_);
      replaced = std::move(stream_);
      fence_ = fence;
      stream_ = Begin(std::move(desired));
    }
    if (replaced != nullptr) replaced->Cancel();
  }

  // One whose answer `convert` turns into a StatusOr<T>.
  template <typename T, typename Response, typename Convert>
  void Call(const std::optional<core::Fence>& fence, v1::SessionCommand message,
            absl::Duration deadline, bool (SessionReply::*has)() const,
            Response* (SessionReply::*arm)(), Convert convert, Reply<T> reply) {
    Send(fence, {.message = std::move(message),
                 .data = std::nullopt,
                 .deadline = deadline,
                 .done = [this, has, arm, convert = std::move(convert),
                          reply = std::move(reply)](
                             absl::StatusOr<SessionReply> got) mutable {
                   absl::StatusOr<Response> response =
                       ArmOf(std::move(got), has, arm);
                   parts_.Deliver<T>(
                       std::move(reply),
                       response.ok() ? absl::StatusOr<T>(convert(*response))
                                     : absl::StatusOr<T>(response.status()));
                 }});
  }

  // One whose answer says nothing that the core asks for.
  template <typename Response>
  void CallForStatus(const core::Fence& fence, v1::SessionCommand message,
                     bool (SessionReply::*has)() const,
                     Response* (SessionReply::*arm)(), Done done) {
    Send(fence,
         {.message = std::move(message),
          .data = std::nullopt,
          .deadline = deadlines().prompt,
          .done = [this, has, arm, done = std::move(done)](
                      absl::StatusOr<SessionReply> got) mutable {
            group_->Deliver(
                [done = std::move(done),
                 status = ArmOf(std::move(got), has, arm).status()]() mutable {
                  done(std::move(status));
                });
          }});
  }

 private:
  std::shared_ptr<SessionStream> Begin(SessionStream::Desired desired)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ++streams_begun_;
    return SessionStream::Start(
        group_, *stub_, executor_, fence_,
        {.heartbeat = options_.heartbeat,
         .bytes_max = options_.outbound_bytes_max},
        std::move(desired), [this](const absl::Status& why, bool is_unknown) {
          if (group_->cancelled()) return;
          if (!is_unknown) {
            LOG(WARNING) << "a Session ended: " << core::ErrorText(why);
            return;
          }
          LOG(WARNING) << "the worker does not know Sessions; it is commanded "
                          "by single calls";
          core::MutexLock lock(mu_);
          use_calls_ = true;
        });
  }

  const SessionControlOptions options_;
  const std::shared_ptr<grpc::Channel> channel_;
  // Behind what runs on it, and before what it uses: ended first.
  // Shared with the stream and the calls under way.
  const std::shared_ptr<CallGroup> group_;
  const std::unique_ptr<v1::ControlService::Stub> stub_;
  internal::ReplyParts parts_;
  GrpcControl calls_;

  mutable core::Mutex mu_;
  bool use_calls_ ABSL_GUARDED_BY(mu_) = false;
  core::Fence fence_ ABSL_GUARDED_BY(mu_);
  // Shared with itself, as long as it lives.
  std::shared_ptr<SessionStream> stream_ ABSL_GUARDED_BY(mu_);
  uint64_t streams_begun_ ABSL_GUARDED_BY(mu_) = 0;

  // The streams'. Last: it ends before what they use.
  core::ThreadPoolExecutor executor_{"session", 1};
};

SessionControl::SessionControl(std::shared_ptr<grpc::Channel> channel,
                               SessionControlOptions options)
    : impl_(std::make_unique<Impl>(std::move(channel), options)) {}

SessionControl::~SessionControl() = default;

uint64_t SessionControl::streams_begun() const {
  return impl_->streams_begun();
}

bool SessionControl::uses_calls() const { return impl_->uses_calls(); }

// --- what may be long ------------------------------------------------------

void SessionControl::Open(core::OpenRequest request,
                          Reply<core::OpenReply> reply) {
  if (auto* calls = impl_->Calls()) {
    return calls->Open(std::move(request), std::move(reply));
  }
  absl::StatusOr<v1::OpenConnectorStart> start = wire::ToProto(request);
  if (!start.ok()) {
    return impl_->parts().Deliver<core::OpenReply>(std::move(reply),
                                                   start.status());
  }
  SessionStream::Command command;
  const std::string connector = start->spec().name();
  start->clear_fence();
  *command.message.mutable_open_connector() = *std::move(start);
  command.deadline = impl_->deadlines().open +
                     impl_->parts().TransferTime(request.position.has_value()
                                                     ? request.position->size()
                                                     : 0);
  command.data = std::move(request.position);
  command.done = [impl = impl_.get(), connector, reply = std::move(reply)](
                     absl::StatusOr<SessionReply> got) mutable {
    impl->parts().FinishOpen(
        connector,
        ArmOf(std::move(got), &SessionReply::has_open_connector,
              &SessionReply::mutable_open_connector),
        std::move(reply));
  };
  impl_->Send(request.fence, std::move(command));
}

void SessionControl::Replay(core::CommandHeader header,
                            core::ReplayRequest request,
                            Reply<core::ReplayReply> reply) {
  if (auto* calls = impl_->Calls()) {
    return calls->Replay(std::move(header), std::move(request),
                         std::move(reply));
  }
  SessionStream::Command command;
  v1::ReplayStart& start = *command.message.mutable_replay();
  start = wire::ToProto(header, request);
  start.clear_fence();
  if (start.journaled().resume().replay().data().has_part()) {
    command.data = internal::ReplayDataOf(request.result);
  }
  command.deadline = impl_->deadlines().replay +
                     impl_->parts().TransferTime(
                         command.data.has_value() ? command.data->size() : 0);
  command.done = [impl = impl_.get(), reply = std::move(reply)](
                     absl::StatusOr<SessionReply> got) mutable {
    absl::StatusOr<v1::ReplayResponse> response =
        ArmOf(std::move(got), &SessionReply::has_replay,
              &SessionReply::mutable_replay);
    impl->parts().Deliver<core::ReplayReply>(
        std::move(reply),
        response.ok() ? wire::FromProto(*response)
                      : absl::StatusOr<core::ReplayReply>(response.status()));
  };
  impl_->Send(header.fence, std::move(command));
}

void SessionControl::Queue(core::CommandHeader header,
                           core::QueueRequest request,
                           Reply<core::QueueReply> reply) {
  if (auto* calls = impl_->Calls()) {
    return calls->Queue(std::move(header), request, std::move(reply));
  }
  SessionStream::Command command;
  *command.message.mutable_queue() = wire::ToProto(header, request);
  command.message.mutable_queue()->clear_fence();
  command.deadline = request.wait +
                     request.linger.value_or(absl::ZeroDuration()) +
                     impl_->deadlines().margin;
  command.done = [impl = impl_.get(), ref = header.ref,
                  reply = std::move(reply)](
                     absl::StatusOr<SessionReply> got) mutable {
    impl->parts().FinishQueue(ref,
                              ArmOf(std::move(got), &SessionReply::has_queue,
                                    &SessionReply::mutable_queue),
                              std::move(reply));
  };
  impl_->Send(header.fence, std::move(command));
}

// --- what never is ---------------------------------------------------------

void SessionControl::Delete(core::CommandHeader header,
                            core::DisconnectRequest request,
                            Reply<core::DisconnectReply> reply) {
  if (auto* calls = impl_->Calls()) {
    return calls->Delete(std::move(header), request, std::move(reply));
  }
  v1::SessionCommand message;
  *message.mutable_delete_connector() = wire::DeleteToProto(header, request);
  message.mutable_delete_connector()->clear_fence();
  impl_->Call<core::DisconnectReply>(
      header.fence, std::move(message),
      request.deadline + impl_->deadlines().margin,
      &SessionReply::has_delete_connector,
      &SessionReply::mutable_delete_connector,
      [connector = header.ref.connector](const auto& response) {
        return wire::FromProto(response, connector);
      },
      std::move(reply));
}

void SessionControl::Extend(core::CommandHeader header, Done done) {
  if (auto* calls = impl_->Calls()) {
    return calls->Extend(std::move(header), std::move(done));
  }
  v1::SessionCommand message;
  *message.mutable_extend() = wire::ExtendToProto(header);
  message.mutable_extend()->clear_fence();
  impl_->CallForStatus(header.fence, std::move(message),
                       &SessionReply::has_extend, &SessionReply::mutable_extend,
                       std::move(done));
}

void SessionControl::Pause(core::CommandHeader header, Done done) {
  if (auto* calls = impl_->Calls()) {
    return calls->Pause(std::move(header), std::move(done));
  }
  v1::SessionCommand message;
  *message.mutable_pause() = wire::PauseToProto(header);
  message.mutable_pause()->clear_fence();
  impl_->CallForStatus(header.fence, std::move(message),
                       &SessionReply::has_pause, &SessionReply::mutable_pause,
                       std::move(done));
}

void SessionControl::Release(core::CommandHeader header, Done done) {
  if (auto* calls = impl_->Calls()) {
    return calls->Release(std::move(header), std::move(done));
  }
  v1::SessionCommand message;
  *message.mutable_release() = wire::ReleaseToProto(header);
  message.mutable_release()->clear_fence();
  impl_->CallForStatus(header.fence, std::move(message),
                       &SessionReply::has_release,
                       &SessionReply::mutable_release, std::move(done));
}

void SessionControl::PrepareCheckpoint(
    core::CommandHeader header, core::PrepareCheckpointRequest request,
    Reply<core::PrepareCheckpointReply> reply) {
  if (auto* calls = impl_->Calls()) {
    return calls->PrepareCheckpoint(std::move(header), request,
                                    std::move(reply));
  }
  v1::SessionCommand message;
  *message.mutable_prepare_checkpoint() = wire::ToProto(header, request);
  message.mutable_prepare_checkpoint()->clear_fence();
  impl_->Call<core::PrepareCheckpointReply>(
      header.fence, std::move(message),
      request.deadline + impl_->deadlines().margin,
      &SessionReply::has_prepare_checkpoint,
      &SessionReply::mutable_prepare_checkpoint,
      [](const auto& response) { return wire::FromProto(response); },
      std::move(reply));
}

void SessionControl::CommitCheckpoint(core::CommandHeader header,
                                      core::CommitCheckpointRequest request,
                                      Done done) {
  if (auto* calls = impl_->Calls()) {
    return calls->CommitCheckpoint(std::move(header), request, std::move(done));
  }
  v1::SessionCommand message;
  *message.mutable_commit_checkpoint() = wire::ToProto(header, request);
  message.mutable_commit_checkpoint()->clear_fence();
  impl_->CallForStatus(
      header.fence, std::move(message), &SessionReply::has_commit_checkpoint,
      &SessionReply::mutable_commit_checkpoint, std::move(done));
}

void SessionControl::Disconnect(core::CommandHeader header,
                                core::DisconnectRequest request,
                                Reply<core::DisconnectReply> reply) {
  if (auto* calls = impl_->Calls()) {
    return calls->Disconnect(std::move(header), request, std::move(reply));
  }
  v1::SessionCommand message;
  *message.mutable_disconnect() = wire::ToProto(header, request);
  message.mutable_disconnect()->clear_fence();
  impl_->Call<core::DisconnectReply>(
      header.fence, std::move(message),
      request.deadline + impl_->deadlines().margin,
      &SessionReply::has_disconnect, &SessionReply::mutable_disconnect,
      [connector = header.ref.connector](const auto& response) {
        return wire::FromProto(response, connector);
      },
      std::move(reply));
}

void SessionControl::Reconcile(
    core::ReconcileRequest request,
    Reply<std::vector<core::ReconciledConnector>> reply) {
  if (auto* calls = impl_->Calls()) {
    return calls->Reconcile(std::move(request), std::move(reply));
  }
  SessionStream::Desired desired;
  desired.drop_others = true;
  for (const core::DesiredConnector& one : request.connectors) {
    desired.connectors.push_back(wire::ToProto(one));
  }
  desired.done = [impl = impl_.get(), reply = std::move(reply)](
                     absl::StatusOr<std::vector<v1::ReconciledConnector>>
                         reconciled) mutable {
    using Result = absl::StatusOr<std::vector<core::ReconciledConnector>>;
    if (!reconciled.ok()) {
      return impl->parts().Deliver(std::move(reply),
                                   Result(reconciled.status()));
    }
    std::vector<core::ReconciledConnector> found;
    for (const v1::ReconciledConnector& one : *reconciled) {
      found.push_back(wire::FromProto(one));
    }
    impl->parts().Deliver(std::move(reply), Result(std::move(found)));
  };
  impl_->BeginWith(request.fence, std::move(desired));
}

void SessionControl::Get(std::string connector,
                         Reply<core::ConnectorStatus> reply) {
  if (!impl_->HasReadyStream()) {
    return impl_->calls().Get(std::move(connector), std::move(reply));
  }
  v1::SessionCommand message;
  message.mutable_get_connector()->set_connector(std::move(connector));
  impl_->Call<core::ConnectorStatus>(
      std::nullopt, std::move(message), impl_->deadlines().prompt,
      &SessionReply::has_get_connector, &SessionReply::mutable_get_connector,
      [](const auto& response) { return wire::FromProto(response); },
      std::move(reply));
}

void SessionControl::List(Reply<std::vector<core::ConnectorStatus>> reply) {
  impl_->calls().List(std::move(reply));
}

}  // namespace penstock::client
