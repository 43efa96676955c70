#include "client/session_control.h"

#include "core/base/error.h"
#include "core/base/notification.h"
#include "core/contract/resume.h"
#include "core/record/step_hash.h"
#include "proto/penstock/v1/control.grpc.pb.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/status.h"
#include "tests/client/await.h"
#include "tests/client/fake_worker.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using core::HasReason;
using core::Reason;

// The worker's end of a Session, typed message by message.
class WorkerEnd {
 public:
  using Stream =
      grpc::ServerReaderWriter<v1::SessionResponse, v1::SessionRequest>;

  explicit WorkerEnd(Stream& stream) : stream_(stream) {}

  // Nothing: the stream is over.
  std::optional<v1::ControllerMessage> Next() {
    while (read_.empty()) {
      v1::SessionRequest request;
      is_over_ = is_over_ || !stream_.Read(&request);
      if (is_over_) return std::nullopt;
      read_.assign(request.messages().begin(), request.messages().end());
    }
    v1::ControllerMessage message = std::move(read_.front());
    read_.pop_front();
    return message;
  }
  bool is_over() const { return is_over_; }
  // All until the controller has nothing to say but that it is there.
  std::vector<v1::ControllerMessage> UntilIdle() {
    std::vector<v1::ControllerMessage> all;
    while (auto message = Next()) {
      if (message->has_heartbeat()) break;
      all.push_back(*std::move(message));
    }
    return all;
  }
  v1::ControllerMessage NextOf(v1::ControllerMessage::KindCase kind) {
    while (auto message = Next()) {
      if (message->kind_case() == kind) return *std::move(message);
    }
    ADD_FAILURE() << "the stream ended before " << kind;
    return {};
  }
  void Send(const v1::WorkerMessage& message) {
    v1::SessionResponse response;
    *response.add_messages() = message;
    stream_.Write(response);
  }
  // Up to InitializationComplete.
  void Begin(uint64_t fragment_bytes_max) {
    (void)NextOf(v1::ControllerMessage::kHello);
    v1::WorkerMessage hello;
    *hello.mutable_hello()->mutable_heartbeat_interval() =
        wire::DurationToProto(absl::Milliseconds(100));
    *hello.mutable_hello()->mutable_silence_max() =
        wire::DurationToProto(absl::Minutes(1));
    hello.mutable_hello()->set_fragment_bytes_max(fragment_bytes_max);
    Send(hello);
    v1::WorkerMessage inventory;
    inventory.mutable_inventory()->set_is_last(true);
    Send(inventory);
    (void)NextOf(v1::ControllerMessage::kDesired);
    v1::WorkerMessage complete;
    complete.mutable_initialization_complete();
    Send(complete);
  }
  void Fail(uint64_t id) {
    v1::WorkerMessage message;
    message.mutable_reply()->set_id(id);
    *message.mutable_reply()->mutable_error() = wire::StatusToProto(
        core::MakeError(Reason::REPLAY_MISMATCH, "replaying: not that"));
    Send(message);
  }

 private:
  Stream& stream_;
  bool is_over_ = false;
  std::deque<v1::ControllerMessage> read_;
};

class FakeSessions final : public v1::ControlService::Service {
 public:
  using Play = std::function<grpc::Status(WorkerEnd&)>;
  explicit FakeSessions(Play play) : play_(std::move(play)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(target(), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeSessions() override {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  std::string target() const {
    return absl::StrCat("unix:", directory_.Path("w.sock"));
  }
  grpc::Status Session(grpc::ServerContext* /*context*/,
                       WorkerEnd::Stream* stream) override {
    WorkerEnd end(*stream);
    return play_(end);
  }

 private:
  const core::TempDir directory_;
  const Play play_;
  std::unique_ptr<grpc::Server> server_;
};

std::unique_ptr<SessionControl> Connect(
    const FakeSessions& worker, absl::Duration replay = absl::Minutes(1)) {
  SessionControlOptions options;
  options.calls.deadlines.replay = replay;
  options.calls.deadlines.slowest_bytes_per_second = uint64_t{1} << 40;
  return std::make_unique<SessionControl>(
      grpc::CreateChannel(worker.target(), grpc::InsecureChannelCredentials()),
      options);
}

core::CommandHeader Header(const std::string& connector) {
  core::CommandHeader header;
  header.fence = {.pipeline = "p",
                  .controller_id = "a test",
                  .epoch = 1,
                  .nonce = "nonce-of-a-test"};
  header.ref = {.connector = connector, .instance = "i"};
  header.request_id = "r";
  return header;
}

core::ReplayRequest LongReplay(size_t bytes) {
  core::ReplayRequest request;
  request.result.resume = core::Resume(
      core::Resume::Replay{.seek = "null",
                           .replay = std::string(bytes, 'z'),
                           .hash = core::StepHasher().Finish().value});
  request.result.hash = core::StepHasher().Finish();
  return request;
}

size_t FragmentBytes(const std::vector<v1::ControllerMessage>& messages) {
  size_t bytes = 0;
  for (const v1::ControllerMessage& message : messages) {
    bytes += message.fragment().fragment().data().size();
  }
  return bytes;
}

constexpr size_t kLong = size_t{32} << 20;

// As the controller does: whatever is UNAVAILABLE it asks for again, which is
// once, unless the connection breaks.
TEST(SessionControlTest, AWorkerWithoutSessionsIsCommandedByCalls) {
  FakeWorker worker;
  v1::ExtendResponse extended;
  extended.set_state(v1::CONNECTOR_STATE_RUNNING);
  worker.control.extend.AnswerWith(extended);
  SessionControl control(
      grpc::CreateChannel(worker.target(), grpc::InsecureChannelCredentials()));
  for (int i = 0; i < 10 && !control.uses_calls(); ++i) {
    AwaitedStatus early;
    control.Extend(Header("orders"), early.callback());
    EXPECT_THAT(early.Get(), HasReason(Reason::UNAVAILABLE));
    EXPECT_THAT(worker.control.extend.requests(), testing::IsEmpty());
  }
  ASSERT_TRUE(control.uses_calls());
  const uint64_t streams = control.streams_begun();
  AwaitedStatus again;
  control.Extend(Header("orders"), again.callback());
  EXPECT_OK(again.Get());
  AwaitedStatus paused;
  control.Pause(Header("orders"), paused.callback());
  EXPECT_OK(paused.Get());
  ASSERT_THAT(worker.control.extend.requests(), testing::SizeIs(1));
  EXPECT_EQ(worker.control.extend.requests()[0].fence().epoch(), 1u)
      << "a call carries the fence, which a Session's command leaves out";
  EXPECT_THAT(worker.control.pause.requests(), testing::SizeIs(1));
  EXPECT_EQ(control.streams_begun(), streams);
}

TEST(SessionControlTest, DataOfAnAnsweredCommandIsNotSent) {
  core::Notification answered;
  core::Notification read;
  std::vector<v1::ControllerMessage> after;
  FakeSessions worker([&](WorkerEnd& end) {
    end.Begin(0);
    const auto command = end.NextOf(v1::ControllerMessage::kCommand);
    (void)end.NextOf(v1::ControllerMessage::kFragment);
    end.Fail(command.command().id());
    answered.WaitForNotification();
    after = end.UntilIdle();
    read.Notify();
    return grpc::Status::OK;
  });
  const auto control = Connect(worker);
  Awaited<core::ReplayReply> answer;
  control->Replay(Header("orders"), LongReplay(kLong), answer.callback());
  EXPECT_THAT(answer.Get().status(), HasReason(Reason::REPLAY_MISMATCH));
  answered.Notify();
  read.WaitForNotification();
  // What was under way meanwhile.
  EXPECT_LT(FragmentBytes(after), kLong / 2);
}

TEST(SessionControlTest, AnExpiredCommandIsForgottenAtBothEnds) {
  core::Notification expired;
  core::Notification read;
  std::vector<v1::ControllerMessage> after;
  FakeSessions worker([&](WorkerEnd& end) {
    end.Begin(0);
    (void)end.NextOf(v1::ControllerMessage::kFragment);
    expired.WaitForNotification();
    after = end.UntilIdle();
    read.Notify();
    return grpc::Status::OK;
  });
  const auto control = Connect(worker, absl::Milliseconds(300));
  Awaited<core::ReplayReply> answer;
  control->Replay(Header("orders"), LongReplay(kLong), answer.callback());
  EXPECT_THAT(answer.Get().status(), HasReason(Reason::DEADLINE));
  expired.Notify();
  read.WaitForNotification();
  EXPECT_LT(FragmentBytes(after), kLong / 2);
  // One that does not fit, so that the worker lets go of the others.
  ASSERT_FALSE(after.empty());
  const v1::Fragment& last = after.back().fragment().fragment();
  EXPECT_EQ(last.data(), "");
  EXPECT_GT(last.offset(), kLong);
}

// "orders" fits, "carts" does not beside it, and what is said to "carts" keeps
// its order; "users" has no part in that.
TEST(SessionControlTest, WhatTheWorkerHasNoRoomForWaitsHere) {
  constexpr size_t kData = size_t{3} << 20;
  core::Notification read;
  std::vector<v1::ControllerMessage> before;
  std::vector<v1::ControllerMessage> after;
  core::Notification sent;
  FakeSessions worker([&](WorkerEnd& end) {
    end.Begin(kData + 1);
    sent.WaitForNotification();
    before = end.UntilIdle();
    end.Fail(1);
    // It may have said that it is there before it heard of that.
    while (FragmentBytes(after) < kData && !end.is_over()) {
      for (auto& message : end.UntilIdle()) after.push_back(std::move(message));
    }
    read.Notify();
    return grpc::Status::OK;
  });
  auto control = Connect(worker);
  Awaited<core::ReplayReply> orders;
  Awaited<core::ReplayReply> carts;
  control->Replay(Header("orders"), LongReplay(kData), orders.callback());
  control->Replay(Header("carts"), LongReplay(kData), carts.callback());
  control->Extend(Header("carts"), [](const absl::Status&) {});
  control->Pause(Header("users"), [](const absl::Status&) {});
  sent.Notify();
  EXPECT_THAT(orders.Get().status(), HasReason(Reason::REPLAY_MISMATCH));
  read.WaitForNotification();
  std::vector<std::string> commands;
  for (const auto* part : {&before, &after}) {
    for (const v1::ControllerMessage& message : *part) {
      if (!message.has_command()) continue;
      const v1::SessionCommand& one = message.command();
      commands.push_back(absl::StrCat(
          one.id(), one.replay().connector().connector(),
          one.extend().connector().connector(), one.has_pause() ? "P" : ""));
    }
    commands.emplace_back("-");
  }
  EXPECT_THAT(commands, ::testing::ElementsAre("1orders", "2P", "-", "3carts",
                                               "4carts", "-"));
  EXPECT_EQ(FragmentBytes(before), kData);
  EXPECT_EQ(FragmentBytes(after), kData);
}

// The stream's end says nothing of a command, unless the next stream's would be
// the same.
TEST(SessionControlTest, TheEndOfAStreamIsNoVerdictOnACommand) {
  for (const auto& [end_of_stream, seen] :
       std::vector<std::pair<Reason, Reason>>{
           {Reason::INVALID_REQUEST, Reason::UNAVAILABLE},
           {Reason::BUDGET_EXCEEDED, Reason::UNAVAILABLE},
           {Reason::STALE_EPOCH, Reason::STALE_EPOCH},
           {Reason::PERMISSION_DENIED, Reason::PERMISSION_DENIED}}) {
    FakeSessions worker([reason = end_of_stream](WorkerEnd& end) {
      (void)end.Next();
      return wire::StatusToGrpc(core::MakeError(reason, "ending it"));
    });
    const auto control = Connect(worker);
    Awaited<core::ReplayReply> answer;
    control->Replay(Header("orders"), LongReplay(1), answer.callback());
    EXPECT_THAT(answer.Get().status(), HasReason(seen));
  }
}

}  // namespace
}  // namespace penstock::client
