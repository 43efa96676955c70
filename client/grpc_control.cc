#include "client/grpc_control.h"

#include "client/internal/calls.h"
#include "client/internal/reply_parts.h"
#include "proto/penstock/v1/connector.grpc.pb.h"
#include "proto/penstock/v1/control.grpc.pb.h"
#include "proto/wire/connector_status.h"
#include "proto/wire/fragments.h"
#include "proto/wire/requests.h"
#include "proto/wire/step.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

namespace penstock::client {
namespace {

using internal::CallGroup;

// Pages of ListConnectors that are followed: a worker has 1,024 connectors.
constexpr int kPagesMax = 1000;

// Messages of an upload: `start`, then `whole` in fragments if it is announced.
// `Set(message, fragment)` puts a fragment into its arm.
template <typename Message, typename Set>
auto StartThenFragments(Message start, std::optional<std::string> whole,
                        Set set) {
  return [start = std::optional<Message>(std::move(start)),
          whole = std::move(whole), set,
          offset = size_t{0}](Message& message) mutable {
    if (start.has_value()) {
      message = *std::move(start);
      start.reset();
      return true;
    }
    if (!whole.has_value() || offset >= whole->size()) return false;
    v1::Fragment fragment = wire::FragmentAt(*whole, offset);
    offset += fragment.data().size();
    set(message, std::move(fragment));
    return true;
  };
}

}  // namespace

// Lifetime: the control's. What is still to come of its calls refers to it, for
// the control waits for them; it must not hold it (see CallGroup).
class GrpcControl::Impl {
 public:
  Impl(const std::shared_ptr<grpc::Channel>& channel,
       const GrpcControlOptions& options)
      : deadlines_(options.deadlines),
        group_(std::make_shared<CallGroup>(options.executor)),
        control_(v1::ControlService::NewStub(channel)),
        connectors_(v1::ConnectorService::NewStub(channel)),
        parts_(
            group_, *control_,
            {.prompt = deadlines_.prompt,
             .open = deadlines_.open,
             .slowest_bytes_per_second = deadlines_.slowest_bytes_per_second}) {
  }

  template <typename T>
  void Deliver(Reply<T> reply, absl::StatusOr<T> value) {
    parts_.Deliver<T>(std::move(reply), std::move(value));
  }

  // A unary call whose response `convert` turns into a StatusOr<T>.
  template <typename T, typename Response, typename Request, typename Start,
            typename Convert>
  void Call(absl::Duration deadline, Request request, Start start,
            Convert convert, Reply<T> reply) {
    internal::StartUnary<Response>(
        group_, deadline, std::move(request), std::move(start),
        [this, convert = std::move(convert),
         reply = std::move(reply)](absl::StatusOr<Response> response) mutable {
          absl::StatusOr<T> value = response.ok()
                                        ? absl::StatusOr<T>(convert(*response))
                                        : absl::StatusOr<T>(response.status());
          Deliver<T>(std::move(reply), std::move(value));
        });
  }

  // One whose response says nothing that the core asks for.
  template <typename Response, typename Request, typename Start>
  void CallForStatus(absl::Duration deadline, Request request, Start start,
                     Done done) {
    internal::StartUnary<Response>(
        group_, deadline, std::move(request), std::move(start),
        [this,
         done = std::move(done)](absl::StatusOr<Response> response) mutable {
          group_->Deliver(
              [done = std::move(done), status = response.status()]() mutable {
                done(std::move(status));
              });
        });
  }

  void ListPage(std::string token, int pages,
                std::vector<core::ConnectorStatus> found,
                Reply<std::vector<core::ConnectorStatus>> reply);

  const CallDeadlines& deadlines() const { return deadlines_; }
  absl::Duration TransferTime(uint64_t bytes) const {
    return parts_.TransferTime(bytes);
  }
  internal::ReplyParts& parts() { return parts_; }
  const std::shared_ptr<CallGroup>& group() const { return group_; }
  v1::ControlService::Stub& control() { return *control_; }
  v1::ConnectorService::Stub& connectors() { return *connectors_; }

 private:
  const CallDeadlines deadlines_;
  // Shared with the calls under way.
  const std::shared_ptr<CallGroup> group_;
  const std::unique_ptr<v1::ControlService::Stub> control_;
  const std::unique_ptr<v1::ConnectorService::Stub> connectors_;
  internal::ReplyParts parts_;
};

GrpcControl::GrpcControl(std::shared_ptr<grpc::Channel> channel,
                         GrpcControlOptions options)
    : impl_(std::make_unique<Impl>(channel, options)) {}

GrpcControl::~GrpcControl() { impl_->group()->Close(); }

// --- Open, Replay: client streams ------------------------------------------

void GrpcControl::Open(core::OpenRequest request,
                       Reply<core::OpenReply> reply) {
  absl::StatusOr<v1::OpenConnectorStart> start = wire::ToProto(request);
  if (!start.ok()) {
    return impl_->Deliver(std::move(reply), {start.status()});
  }
  const std::string connector = start->spec().name();
  v1::OpenConnectorRequest first;
  *first.mutable_start() = *std::move(start);
  const absl::Duration deadline =
      impl_->deadlines().open +
      impl_->TransferTime(
          request.position.has_value() ? request.position->size() : 0);
  using Call =
      internal::Upload<v1::OpenConnectorRequest, v1::OpenConnectorResponse>;
  Call::Start(
      impl_->group(), deadline,
      [this](auto* context, auto* response, auto* reactor) {
        impl_->connectors().async()->OpenConnector(context, response, reactor);
      },
      StartThenFragments(
          std::move(first), std::move(request.position),
          [](v1::OpenConnectorRequest& message, v1::Fragment fragment) {
            *message.mutable_position() = std::move(fragment);
          }),
      [impl = impl_.get(), connector, reply = std::move(reply)](
          absl::StatusOr<v1::OpenConnectorResponse> response) mutable {
        impl->parts().FinishOpen(connector, std::move(response),
                                 std::move(reply));
      });
}

void GrpcControl::Replay(core::CommandHeader header,
                         core::ReplayRequest request,
                         Reply<core::ReplayReply> reply) {
  v1::ReplayRequest first;
  *first.mutable_start() = wire::ToProto(header, request);
  std::optional<std::string> data;
  if (first.start().journaled().resume().replay().data().has_part()) {
    data = internal::ReplayDataOf(request.result);
  }
  const absl::Duration deadline =
      impl_->deadlines().replay +
      impl_->TransferTime(data.has_value() ? data->size() : 0);
  using Call = internal::Upload<v1::ReplayRequest, v1::ReplayResponse>;
  Call::Start(
      impl_->group(), deadline,
      [this](auto* context, auto* response, auto* reactor) {
        impl_->control().async()->Replay(context, response, reactor);
      },
      StartThenFragments(std::move(first), std::move(data),
                         [](v1::ReplayRequest& message, v1::Fragment fragment) {
                           *message.mutable_data() = std::move(fragment);
                         }),
      [impl = impl_.get(), reply = std::move(reply)](
          absl::StatusOr<v1::ReplayResponse> response) mutable {
        impl->Deliver<core::ReplayReply>(
            std::move(reply), response.ok() ? wire::FromProto(*response)
                                            : absl::StatusOr<core::ReplayReply>(
                                                  response.status()));
      });
}

// --- Queue -----------------------------------------------------------------

void GrpcControl::Queue(core::CommandHeader header, core::QueueRequest request,
                        Reply<core::QueueReply> reply) {
  const absl::Duration deadline =
      request.wait + request.linger.value_or(absl::ZeroDuration()) +
      impl_->deadlines().margin;
  internal::StartUnary<v1::QueueResponse>(
      impl_->group(), deadline, wire::ToProto(header, request),
      [this](auto... call) { impl_->control().async()->Queue(call...); },
      [impl = impl_.get(), ref = header.ref, reply = std::move(reply)](
          absl::StatusOr<v1::QueueResponse> response) mutable {
        impl->parts().FinishQueue(ref, std::move(response), std::move(reply));
      });
}

// --- Unary -----------------------------------------------------------------

void GrpcControl::Delete(core::CommandHeader header,
                         core::DisconnectRequest request,
                         Reply<core::DisconnectReply> reply) {
  impl_->Call<core::DisconnectReply, v1::DeleteConnectorResponse>(
      request.deadline + impl_->deadlines().margin,
      wire::DeleteToProto(header, request),
      [this](auto... call) {
        impl_->connectors().async()->DeleteConnector(call...);
      },
      [connector = header.ref.connector](const auto& response) {
        return wire::FromProto(response, connector);
      },
      std::move(reply));
}

void GrpcControl::Extend(core::CommandHeader header, Done done) {
  impl_->CallForStatus<v1::ExtendResponse>(
      impl_->deadlines().prompt, wire::ExtendToProto(header),
      [this](auto... call) { impl_->control().async()->Extend(call...); },
      std::move(done));
}

void GrpcControl::Pause(core::CommandHeader header, Done done) {
  impl_->CallForStatus<v1::PauseResponse>(
      impl_->deadlines().prompt, wire::PauseToProto(header),
      [this](auto... call) { impl_->control().async()->Pause(call...); },
      std::move(done));
}

void GrpcControl::Release(core::CommandHeader header, Done done) {
  impl_->CallForStatus<v1::ReleaseResponse>(
      impl_->deadlines().prompt, wire::ReleaseToProto(header),
      [this](auto... call) { impl_->control().async()->Release(call...); },
      std::move(done));
}

void GrpcControl::PrepareCheckpoint(core::CommandHeader header,
                                    core::PrepareCheckpointRequest request,
                                    Reply<core::PrepareCheckpointReply> reply) {
  impl_->Call<core::PrepareCheckpointReply, v1::PrepareCheckpointResponse>(
      request.deadline + impl_->deadlines().margin,
      wire::ToProto(header, request),
      [this](auto... call) {
        impl_->control().async()->PrepareCheckpoint(call...);
      },
      [](const auto& response) { return wire::FromProto(response); },
      std::move(reply));
}

void GrpcControl::CommitCheckpoint(core::CommandHeader header,
                                   core::CommitCheckpointRequest request,
                                   Done done) {
  impl_->CallForStatus<v1::CommitCheckpointResponse>(
      impl_->deadlines().prompt, wire::ToProto(header, request),
      [this](auto... call) {
        impl_->control().async()->CommitCheckpoint(call...);
      },
      std::move(done));
}

void GrpcControl::Disconnect(core::CommandHeader header,
                             core::DisconnectRequest request,
                             Reply<core::DisconnectReply> reply) {
  impl_->Call<core::DisconnectReply, v1::DisconnectResponse>(
      request.deadline + impl_->deadlines().margin,
      wire::ToProto(header, request),
      [this](auto... call) { impl_->control().async()->Disconnect(call...); },
      [connector = header.ref.connector](const auto& response) {
        return wire::FromProto(response, connector);
      },
      std::move(reply));
}

void GrpcControl::Get(std::string connector,
                      Reply<core::ConnectorStatus> reply) {
  v1::GetConnectorRequest request;
  request.set_connector(std::move(connector));
  impl_->Call<core::ConnectorStatus, v1::GetConnectorResponse>(
      impl_->deadlines().prompt, std::move(request),
      [this](auto... call) {
        impl_->connectors().async()->GetConnector(call...);
      },
      [](const auto& response) { return wire::FromProto(response); },
      std::move(reply));
}

void GrpcControl::Impl::ListPage(
    std::string token, int pages, std::vector<core::ConnectorStatus> found,
    Reply<std::vector<core::ConnectorStatus>> reply) {
  v1::ListConnectorsRequest request;
  request.set_page_token(std::move(token));
  internal::StartUnary<v1::ListConnectorsResponse>(
      group_, deadlines_.prompt, std::move(request),
      [this](auto... call) { connectors_->async()->ListConnectors(call...); },
      [this, pages, found = std::move(found), reply = std::move(reply)](
          absl::StatusOr<v1::ListConnectorsResponse> page) mutable {
        if (!page.ok()) {
          return Deliver(std::move(reply), {page.status()});
        }
        for (const v1::ConnectorSummary& summary : page->connectors()) {
          absl::StatusOr<core::ConnectorStatus> status =
              wire::FromProto(summary);
          if (!status.ok()) {
            return Deliver(std::move(reply), {status.status()});
          }
          found.push_back(*std::move(status));
        }
        if (page->next_page_token().empty() || pages == kPagesMax) {
          return Deliver<std::vector<core::ConnectorStatus>>(std::move(reply),
                                                             std::move(found));
        }
        ListPage(page->next_page_token(), pages + 1, std::move(found),
                 std::move(reply));
      });
}

void GrpcControl::List(Reply<std::vector<core::ConnectorStatus>> reply) {
  impl_->ListPage("", 1, {}, std::move(reply));
}

}  // namespace penstock::client
