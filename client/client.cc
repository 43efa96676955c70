#include "client/client.h"

#include "client/internal/calls.h"
#include "client/internal/health_check.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/notification.h"
#include "proto/penstock/v1/connector.grpc.pb.h"
#include "proto/penstock/v1/control.grpc.pb.h"
#include "proto/penstock/v1/operations.grpc.pb.h"
#include "proto/wire/proto_time.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <utility>

namespace penstock::client {
namespace {

constexpr absl::Duration kDiscoveryDeadline = absl::Seconds(10);
constexpr absl::Duration kProbeDeadline = absl::Seconds(60);
// Between two health checks of a worker that answers but does not serve yet.
constexpr absl::Duration kHealthInterval = absl::Milliseconds(50);

// Makes one unary call and waits for it.
template <typename Response, typename Request, typename Start>
absl::StatusOr<Response> CallAndWait(absl::Duration deadline,
                                     const Request& request, Start start) {
  auto group = std::make_shared<internal::CallGroup>(nullptr);
  core::Notification done;
  absl::StatusOr<Response> result =
      core::MakeError(core::Reason::INTERNAL, "no answer");
  internal::StartUnary<Response>(
      group, deadline, request, std::move(start),
      [&result, &done](absl::StatusOr<Response> response) {
        result = std::move(response);
        done.Notify();
      });
  done.WaitForNotification();
  group->Close();
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(
    std::string target, const ClientOptions& options) {
  auto channel = MakeChannel(target, options.channel);
  if (!channel.ok()) return channel.status();
  return std::unique_ptr<Client>(
      new Client(std::move(target), *std::move(channel), options));
}

Client::Client(std::string target, std::shared_ptr<grpc::Channel> channel,
               const ClientOptions& options)
    : target_(std::move(target)),
      channel_(std::move(channel)),
      calls_(std::make_shared<internal::CallGroup>(options.control.executor)),
      control_(channel_, options.control),
      session_(options.use_session
                   ? std::make_unique<SessionControl>(
                         channel_,
                         SessionControlOptions{.calls = options.control,
                                               .heartbeat = options.heartbeat})
                   : nullptr) {}

Client::~Client() { calls_->Close(); }

core::Control& Client::control() {
  if (session_ != nullptr) return *session_;
  return control_;
}

std::unique_ptr<Watch> Client::StartWatch(const v1::WatchRequest& request,
                                          Watch::OnEvent on_event,
                                          Watch::OnEnd on_end) {
  return Watch::Start(channel_, request, std::move(on_event),
                      std::move(on_end));
}

void Client::CheckHealth(absl::Duration deadline,
                         absl::AnyInvocable<void(absl::Status)> done) {
  internal::CheckHealth(
      channel_, calls_, deadline,
      // The group outlives the call, which has not left it yet.
      [calls = calls_.get(),
       done = std::move(done)](absl::Status status) mutable {
        calls->Deliver(
            [done = std::move(done), status = std::move(status)]() mutable {
              done(std::move(status));
            });
      });
}

absl::Status Client::WaitReady(absl::Duration deadline) {
  const core::Clock& clock = core::RealClock();
  const absl::Time end = clock.SteadyNow() + deadline;
  // Its callback must run although the executor's threads are busy waiting.
  auto group = std::make_shared<internal::CallGroup>(nullptr);
  while (true) {
    core::Notification done;
    absl::Status status;
    internal::CheckHealth(channel_, group, end - clock.SteadyNow(),
                          [&status, &done](absl::Status answer) {
                            status = std::move(answer);
                            done.Notify();
                          });
    done.WaitForNotification();
    const absl::Duration left = end - clock.SteadyNow();
    if (status.ok() || left <= absl::ZeroDuration()) {
      group->Close();
      return status;
    }
    core::Notification never;
    never.WaitForNotificationWithTimeout(std::min(kHealthInterval, left));
  }
}

absl::StatusOr<v1::ListConnectorTypesResponse> Client::ListConnectorTypes() {
  const auto stub = v1::ConnectorService::NewStub(channel_);
  return CallAndWait<v1::ListConnectorTypesResponse>(
      kDiscoveryDeadline, v1::ListConnectorTypesRequest(),
      [&stub](auto... call) { stub->async()->ListConnectorTypes(call...); });
}

absl::StatusOr<v1::DescribeConnectorTypeResponse> Client::DescribeConnectorType(
    const v1::DescribeConnectorTypeRequest& request) {
  const auto stub = v1::ConnectorService::NewStub(channel_);
  return CallAndWait<v1::DescribeConnectorTypeResponse>(
      kDiscoveryDeadline, request,
      [&stub](auto... call) { stub->async()->DescribeConnectorType(call...); });
}

absl::StatusOr<v1::ValidateConnectorResponse> Client::ValidateConnector(
    const v1::ValidateConnectorRequest& request) {
  const auto stub = v1::ConnectorService::NewStub(channel_);
  return CallAndWait<v1::ValidateConnectorResponse>(
      request.probe() ? kProbeDeadline : kDiscoveryDeadline, request,
      [&stub](auto... call) { stub->async()->ValidateConnector(call...); });
}

absl::StatusOr<std::string> Client::GetLogLevel() {
  const auto stub = v1::OperationsService::NewStub(channel_);
  const auto response = CallAndWait<v1::GetLogLevelResponse>(
      kDiscoveryDeadline, v1::GetLogLevelRequest(),
      [&stub](auto... call) { stub->async()->GetLogLevel(call...); });
  if (!response.ok()) return response.status();
  return response->level();
}

absl::StatusOr<std::string> Client::SetLogLevel(const std::string& level) {
  v1::SetLogLevelRequest request;
  request.set_level(level);
  const auto stub = v1::OperationsService::NewStub(channel_);
  const auto response = CallAndWait<v1::SetLogLevelResponse>(
      kDiscoveryDeadline, request,
      [&stub](auto... call) { stub->async()->SetLogLevel(call...); });
  if (!response.ok()) return response.status();
  return response->previous_level();
}

absl::StatusOr<v1::DrainResponse> Client::Drain(absl::Duration deadline,
                                                std::string request_id) {
  v1::DrainRequest request;
  request.set_request_id(std::move(request_id));
  *request.mutable_deadline() = wire::DurationToProto(deadline);
  const auto stub = v1::ControlService::NewStub(channel_);
  return CallAndWait<v1::DrainResponse>(
      deadline + kDiscoveryDeadline, request,
      [&stub](auto... call) { stub->async()->Drain(call...); });
}

}  // namespace penstock::client
