#include "tests/integration/session_wire.h"

#include "core/base/check.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/status.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <utility>

namespace penstock {
namespace {

// What a test does not read stays at the worker, but for 64 KiB.
grpc::ChannelArguments SmallWindow() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return arguments;
}

}  // namespace

SessionWire::SessionWire(const std::string& target)
    : stub_(v1::ControlService::NewStub(grpc::CreateCustomChannel(
          target, grpc::InsecureChannelCredentials(), SmallWindow()))) {
  context_.set_deadline(std::chrono::system_clock::now() +
                        std::chrono::minutes(1));
  stream_ = stub_->Session(&context_);
}

SessionWire::~SessionWire() {
  context_.TryCancel();
  (void)End();
}

void SessionWire::CloseMySide() { stream_->WritesDone(); }

v1::ControllerMessage SessionWire::Hello(uint64_t epoch,
                                         const std::string& pipeline) {
  v1::ControllerMessage message;
  v1::ControllerHello& hello = *message.mutable_hello();
  hello.mutable_fence()->set_pipeline(pipeline);
  hello.mutable_fence()->set_controller_id("a test");
  hello.mutable_fence()->set_epoch(epoch);
  hello.mutable_fence()->set_nonce("nonce-of-a-test");
  hello.set_protocol_version(1);
  return message;
}

v1::ControllerMessage SessionWire::Desired() {
  v1::ControllerMessage message;
  message.mutable_desired()->set_is_last(true);
  return message;
}

bool SessionWire::Send(const v1::ControllerMessage& message) {
  v1::SessionRequest request;
  *request.add_messages() = message;
  return stream_->Write(request);
}

bool SessionWire::Send(const v1::SessionCommand& command) {
  v1::ControllerMessage message;
  *message.mutable_command() = command;
  return Send(message);
}

std::optional<v1::WorkerMessage> SessionWire::Next() {
  while (true) {
    while (read_.empty()) {
      v1::SessionResponse response;
      if (!stream_->Read(&response)) return std::nullopt;
      read_.assign(response.messages().begin(), response.messages().end());
    }
    v1::WorkerMessage message = std::move(read_.front());
    read_.pop_front();
    if (!message.has_heartbeat()) return message;
    ++heartbeats_;
  }
}

v1::SessionReply SessionWire::ReplyTo(uint64_t id) {
  while (true) {
    const auto message = Next();
    CHECK(message.has_value()) << "the Session ended before reply " << id;
    if (message->has_reply() && message->reply().id() == id) {
      return message->reply();
    }
  }
}

std::vector<v1::InventoryEntry> SessionWire::Initialize(uint64_t epoch) {
  CHECK(Send(Hello(epoch)));
  std::vector<v1::InventoryEntry> entries;
  while (true) {
    const auto message = Next();
    CHECK(message.has_value()) << std::string(End().message());
    if (message->has_inventory()) {
      entries.insert(entries.end(), message->inventory().connectors().begin(),
                     message->inventory().connectors().end());
      if (message->inventory().is_last()) CHECK(Send(Desired()));
    }
    if (message->has_initialization_complete()) return entries;
  }
}

absl::Status SessionWire::End() {
  if (stream_ == nullptr) return absl::OkStatus();
  while (Next().has_value()) {
  }
  const grpc::Status status = std::exchange(stream_, nullptr)->Finish();
  return wire::StatusFromGrpc(status);
}

}  // namespace penstock
