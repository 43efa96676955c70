#include "client/conformance/subject.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/status.h"

#include <absl/strings/str_cat.h>
#include <xxhash.h>

#include <chrono>
#include <string>
#include <utility>

namespace penstock::conformance {
namespace {

// A server that was killed is back by then.
constexpr absl::Duration kRestartMax = absl::Minutes(1);

// One unary call: `method` is the stub's.
template <typename Response, typename Stub, typename Request>
absl::StatusOr<Response> Call(Line& line, const Line::Terms<Response>& terms,
                              Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                           const Request&,
                                                           Response*),
                              const Request& request) {
  return line.Call<Response>(
      terms, [&stub, method, request](grpc::ClientContext& context,
                                      Response& response) {
        return (stub.*method)(&context, request, &response);
      });
}

template <typename Request>
Request For(const Hand& hand) {
  Request request;
  *request.mutable_fence() = hand.fence;
  *request.mutable_connector() = hand.ref;
  return request;
}

}  // namespace

std::string InputText() {
  std::string text;
  for (uint64_t number = 0; number < kInputRecords; ++number) {
    absl::StrAppend(&text, "{\"id\":", number, ",\"key\":\"k", number % 17,
                    "\",\"pad\":\"................................\"}\n");
  }
  return text;
}

Subject::Subject(std::shared_ptr<grpc::Channel> channel, Place place)
    : connectors_(v1::ConnectorService::NewStub(channel)),
      control_(v1::ControlService::NewStub(channel)),
      watch_(v1::WatchService::NewStub(channel)),
      place_(std::move(place)),
      line_(std::make_unique<Line>(LineFault::kNone, 0)) {}

void Subject::SetLine(LineFault fault, uint64_t seed) {
  line_ = std::make_unique<Line>(fault, seed);
}

absl::Status Subject::Kill() {
  RETURN_IF_ERROR(place_.kill());
  const core::Clock& clock = core::RealClock();
  const absl::Time give_up = clock.SteadyNow() + kRestartMax;
  absl::Status status;
  do {
    grpc::ClientContext context;
    SetDeadline(context);
    // It is not there at once.
    context.set_wait_for_ready(true);
    v1::GetConnectorRequest request;
    request.set_connector("nobody");
    v1::GetConnectorResponse response;
    status = wire::StatusFromGrpc(
        connectors_->GetConnector(&context, request, &response));
    if (core::HasReason(status, core::Reason::NO_SUCH_CONNECTOR)) {
      return absl::OkStatus();
    }
  } while (clock.SteadyNow() < give_up);
  return core::WithContext(status,
                           "while waiting for the server that was "
                           "killed to be there again");
}

std::string Subject::NewName(const std::string& what) {
  return absl::StrCat(what, "-", place_.run, "-", ++names_);
}

v1::ConnectorSpec Subject::Spec(const std::string& name) const {
  v1::ConnectorSpec spec;
  spec.set_name(name);
  spec.mutable_source()->mutable_file()->set_path(
      absl::StrCat(place_.directory, "/input.ndjson"));
  spec.mutable_format()->mutable_ndjson()->set_key("key");
  spec.mutable_sink()->mutable_file()->set_path(
      absl::StrCat(place_.directory, "/out/", name));
  spec.set_shards(2);
  spec.set_level(v1::DELIVERY_LEVEL_EXACTLY_ONCE);
  spec.mutable_limits()->set_block_bytes(4096);
  return spec;
}

Hand::Hand(Subject& subject) : subject_(subject) {
  fence.set_pipeline(subject.NewName("conformance"));
  fence.set_controller_id("penstock conformance");
  fence.set_epoch(1);
  fence.set_nonce(absl::StrCat("nonce-of-", fence.pipeline()).substr(0, 64));
  ref.set_connector(subject.NewName("c"));
  spec = subject.Spec(ref.connector());
}

Hand::~Hand() {
  // A check may have changed it, and another may have taken over.
  fence.set_epoch(fence.epoch() + 1'000'000);
  Delete().IgnoreError();
}

std::string Hand::NewRequestId() {
  return absl::StrCat(fence.pipeline(), "-r", ++requests_);
}

void Hand::TakeNextEpoch() {
  fence.set_epoch(fence.epoch() + 1);
  fence.set_nonce(absl::StrCat(fence.epoch(), "-nonce-of-", fence.pipeline())
                      .substr(0, 64));
}

v1::OpenConnectorStart Hand::OpenStart() {
  v1::OpenConnectorStart start;
  *start.mutable_fence() = fence;
  start.set_request_id(NewRequestId());
  *start.mutable_spec() = spec;
  start.mutable_writer()->set_epoch(fence.epoch());
  start.mutable_writer()->set_open_number(++open_number);
  start.set_base_steps(base_steps);
  start.set_journaled_steps(journal.empty() ? base_steps
                                            : journal.back().step() + 1);
  start.set_incarnation(subject_.run() + "-incarnation");
  start.set_first_open(first_open);
  start.set_checkpointing(true);
  if (position.has_value()) {
    v1::PositionHeader& header = *start.mutable_position();
    header.set_format(position->format());
    header.set_version(position->version());
    header.mutable_part()->set_length(position->json().size());
    header.mutable_part()->set_hash(
        XXH3_64bits(position->json().data(), position->json().size()));
  }
  return start;
}

absl::StatusOr<v1::OpenConnectorResponse> Hand::SendOpen(
    v1::OpenConnectorStart start) {
  const std::string json = start.has_position() ? position->json() : "";
  // A refused Open uses its writer up: one that was cut off, or came twice, may
  // be refused for that. It is cut and doubled for nobody.
  const LineFault fault = subject_.line().fault();
  const bool may_double =
      fault != LineFault::kCut && fault != LineFault::kRepeat;
  Line sound(LineFault::kNone, 0);
  Line& line = may_double ? subject_.line() : sound;
  return line.Call<v1::OpenConnectorResponse>(
      {.name = "OpenConnector",
       .same =
           [](const v1::OpenConnectorResponse& answer) {
             return answer.instance();
           }},
      [&stub = subject_.connectors(), start, json](
          grpc::ClientContext& context, v1::OpenConnectorResponse& response) {
        const auto stream = stub.OpenConnector(&context, &response);
        v1::OpenConnectorRequest message;
        *message.mutable_start() = start;
        // A failed write shows in Finish.
        bool open = stream->Write(message);
        if (open && !json.empty()) {
          message.mutable_position()->set_data(json);
          open = stream->Write(message);
        }
        stream->WritesDone();
        return stream->Finish();
      });
}

absl::Status Hand::Open() {
  ASSIGN_OR_RETURN(const v1::OpenConnectorResponse response,
                   SendOpen(OpenStart()));
  ref.set_instance(response.instance());
  first_open = false;
  position = response.base_position();
  steps = base_steps;
  return absl::OkStatus();
}

absl::Status Hand::Reopen() {
  TakeNextEpoch();
  RETURN_IF_ERROR(Delete());
  return Open();
}

absl::StatusOr<v1::ExtendResponse> Hand::Extend(std::string request_id) {
  auto request = For<v1::ExtendRequest>(*this);
  request.set_request_id(request_id.empty() ? NewRequestId()
                                            : std::move(request_id));
  return Call<v1::ExtendResponse>(subject_.line(), {.name = "Extend"},
                                  subject_.control(),
                                  &v1::ControlService::Stub::Extend, request);
}

absl::StatusOr<v1::PauseResponse> Hand::Pause(std::string request_id) {
  auto request = For<v1::PauseRequest>(*this);
  request.set_request_id(request_id.empty() ? NewRequestId()
                                            : std::move(request_id));
  return Call<v1::PauseResponse>(subject_.line(), {.name = "Pause"},
                                 subject_.control(),
                                 &v1::ControlService::Stub::Pause, request);
}

v1::QueueRequest Hand::QueueRequest(uint64_t step) const {
  auto request = For<v1::QueueRequest>(*this);
  request.set_step(step);
  request.set_previous_steps(steps);
  request.set_min_records(1);
  request.set_max_records(1);
  *request.mutable_wait() = wire::DurationToProto(absl::Seconds(10));
  return request;
}

absl::StatusOr<v1::QueueResponse> Hand::Send(
    const v1::QueueRequest& request) const {
  return Call<v1::QueueResponse>(
      subject_.line(),
      {.name = "Queue",
       // One that made no step may make it when it is asked again.
       .is_done =
           [](const v1::QueueResponse& answer) { return answer.has_result(); },
       .same =
           [](const v1::QueueResponse& answer) {
             return answer.result().SerializeAsString();
           }},
      subject_.control(), &v1::ControlService::Stub::Queue, request);
}

absl::StatusOr<v1::StepResult> Hand::Queue() {
  ASSIGN_OR_RETURN(const v1::QueueResponse response, Send(QueueRequest(steps)));
  if (!response.has_result()) {
    return absl::InternalError(
        absl::StrCat("Queue made no step: ", response.ShortDebugString()));
  }
  steps = response.result().step() + 1;
  journal.push_back(response.result());
  return response.result();
}

absl::StatusOr<v1::ReplayResponse> Hand::Replay(const v1::StepResult& result) {
  v1::ReplayRequest message;
  v1::ReplayStart& start = *message.mutable_start();
  start = For<v1::ReplayStart>(*this);
  start.set_step(result.step());
  start.set_previous_steps(steps);
  *start.mutable_journaled() = result;
  return subject_.line().Call<v1::ReplayResponse>(
      {.name = "Replay"},
      [&stub = subject_.control(), message](grpc::ClientContext& context,
                                            v1::ReplayResponse& response) {
        const auto stream = stub.Replay(&context, &response);
        stream->Write(message);
        stream->WritesDone();
        return stream->Finish();
      });
}

absl::StatusOr<v1::ReleaseResponse> Hand::Release(uint64_t released_steps) {
  auto request = For<v1::ReleaseRequest>(*this);
  request.set_released_steps(released_steps);
  return Call<v1::ReleaseResponse>(subject_.line(), {.name = "Release"},
                                   subject_.control(),
                                   &v1::ControlService::Stub::Release, request);
}

absl::StatusOr<v1::PrepareCheckpointResponse> Hand::Prepare(uint64_t at) {
  auto request = For<v1::PrepareCheckpointRequest>(*this);
  request.set_steps(at);
  *request.mutable_deadline() = wire::DurationToProto(absl::Seconds(10));
  return Call<v1::PrepareCheckpointResponse>(
      subject_.line(),
      {.name = "PrepareCheckpoint",
       .is_done =
           [](const v1::PrepareCheckpointResponse& answer) {
             return answer.ready();
           }},
      subject_.control(), &v1::ControlService::Stub::PrepareCheckpoint,
      request);
}

absl::StatusOr<v1::CommitCheckpointResponse> Hand::Commit(uint64_t at) {
  auto request = For<v1::CommitCheckpointRequest>(*this);
  request.set_steps(at);
  return Call<v1::CommitCheckpointResponse>(
      subject_.line(), {.name = "CommitCheckpoint"}, subject_.control(),
      &v1::ControlService::Stub::CommitCheckpoint, request);
}

absl::Status Hand::Checkpoint() {
  RETURN_IF_ERROR(Release(steps).status());
  ASSIGN_OR_RETURN(const v1::PrepareCheckpointResponse ready, Prepare(steps));
  if (!ready.ready()) {
    return absl::InternalError(absl::StrCat(
        "a released step is not completed: ", ready.ShortDebugString()));
  }
  if (!journal.empty()) position = journal.back().resume().replay().seek();
  journal.clear();
  base_steps = steps;
  return Commit(steps).status();
}

absl::StatusOr<v1::DisconnectResponse> Hand::Disconnect(
    std::string request_id) {
  auto request = For<v1::DisconnectRequest>(*this);
  request.set_request_id(request_id.empty() ? NewRequestId()
                                            : std::move(request_id));
  return Call<v1::DisconnectResponse>(
      subject_.line(),
      {.name = "Disconnect",
       .same =
           [](const v1::DisconnectResponse& answer) {
             return answer.SerializeAsString();
           }},
      subject_.control(), &v1::ControlService::Stub::Disconnect, request);
}

absl::Status Hand::Delete() {
  auto request = For<v1::DeleteConnectorRequest>(*this);
  request.mutable_connector()->clear_instance();
  request.set_request_id(NewRequestId());
  *request.mutable_deadline() = wire::DurationToProto(absl::Seconds(2));
  return Call<v1::DeleteConnectorResponse>(
             subject_.line(),
             {.name = "DeleteConnector", .may_come_late = false},
             subject_.connectors(),
             &v1::ConnectorService::Stub::DeleteConnector, request)
      .status();
}

absl::StatusOr<v1::Connector> Hand::Get() const {
  v1::GetConnectorRequest request;
  request.set_connector(ref.connector());
  ASSIGN_OR_RETURN(
      v1::GetConnectorResponse response,
      Call<v1::GetConnectorResponse>(
          subject_.line(), {.name = "GetConnector"}, subject_.connectors(),
          &v1::ConnectorService::Stub::GetConnector, request));
  return std::move(*response.mutable_connector());
}

absl::Status Hand::AwaitRunning(uint64_t step) const {
  const auto give_up = std::chrono::steady_clock::now() +
                       absl::ToChronoMilliseconds(kCheckCallMax);
  while (std::chrono::steady_clock::now() < give_up) {
    ASSIGN_OR_RETURN(const v1::Connector now, Get());
    if (now.has_running_step() && now.running_step() == step) {
      return absl::OkStatus();
    }
  }
  return absl::InternalError(
      absl::StrCat("a Queue of step ", step, " is not shown as running"));
}

absl::Status Hand::RunUntilQueueWaits() {
  spec.mutable_limits()->set_steps_outstanding_max(1);
  return Run(1);
}

absl::Status Hand::Run(int count) {
  RETURN_IF_ERROR(Open());
  RETURN_IF_ERROR(Extend().status());
  for (int i = 0; i < count; ++i) RETURN_IF_ERROR(Queue().status());
  return absl::OkStatus();
}

}  // namespace penstock::conformance
