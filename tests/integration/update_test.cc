// UpdateConnector and ExecuteCommand, as a client of another language says
// them.
#include "client/cli/inspect_commands.h"
#include "core/base/error.h"
#include "proto/penstock/v1/connector.grpc.pb.h"
#include "proto/wire/header.h"
#include "proto/wire/status.h"
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock {
namespace {

using core::HasReason;
using core::Reason;

class UpdateConnectorTest : public ::testing::Test {
 protected:
  UpdateConnectorTest()
      : caller_(worker_.control(), "shop", 2),
        stub_(v1::ConnectorService::NewStub(grpc::CreateChannel(
            worker_.target(), grpc::InsecureChannelCredentials()))) {}

  void Open() {
    ASSERT_OK(caller_.Open(
        LinesSpec("orders", worker_.Write("in", Lines("line ", 5000)), "")));
    ASSERT_OK(caller_.Extend());
  }
  v1::Connector Get() {
    grpc::ClientContext context;
    v1::GetConnectorRequest request;
    request.set_connector("orders");
    v1::GetConnectorResponse response;
    EXPECT_OK(wire::StatusFromGrpc(
        stub_->GetConnector(&context, request, &response)));
    return response.connector();
  }
  template <typename Request>
  Request RequestOf(const std::string& id) {
    Request request;
    *request.mutable_fence() = wire::ToProto(caller_.fence);
    request.mutable_connector()->set_connector("orders");
    request.mutable_connector()->set_instance(caller_.ref.instance);
    request.set_request_id(id);
    return request;
  }
  absl::StatusOr<v1::UpdateConnectorResponse> Update(
      const v1::UpdateConnectorRequest& request) {
    grpc::ClientContext context;
    v1::UpdateConnectorResponse response;
    const absl::Status status = wire::StatusFromGrpc(
        stub_->UpdateConnector(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }

  RealWorker worker_;
  Caller caller_;
  const std::unique_ptr<v1::ConnectorService::Stub> stub_;
};

TEST_F(UpdateConnectorTest, ALivingConnectorTakesItOver) {
  Open();
  const v1::Connector before = Get();
  auto request = RequestOf<v1::UpdateConnectorRequest>("r");
  *request.mutable_spec() = before.spec();
  request.mutable_spec()->mutable_limits()->set_step_records_max(7);
  ASSERT_OK_AND_ASSIGN(const auto first, Update(request));
  ASSERT_EQ(first.changes_size(), 1);
  EXPECT_EQ(first.changes(0).field(), "limits.step_records_max");
  ASSERT_OK_AND_ASSIGN(const core::QueueReply queue, caller_.Queue(0, 0));
  ASSERT_NE(queue.result, nullptr);
  // The first buffer, of 4 KiB, and no other.
  EXPECT_LT(queue.result->amount.records, 1000u);
  const v1::Connector after = Get();
  EXPECT_EQ(after.instance(), before.instance());
  EXPECT_EQ(after.spec().limits().step_records_max(), 7u);
  EXPECT_EQ(after.spec_hash(), first.spec_hash());
  EXPECT_EQ(after.last_update().spec_hash(), after.spec_hash());
  EXPECT_FALSE(after.last_update().has_error());
  ASSERT_OK_AND_ASSIGN(const auto again, Update(request));
  EXPECT_EQ(again.SerializeAsString(), first.SerializeAsString());
}

TEST_F(UpdateConnectorTest, WhatIsRefusedIsShownBesideWhatRuns) {
  Open();
  const v1::Connector before = Get();
  EXPECT_FALSE(before.has_last_update());
  auto request = RequestOf<v1::UpdateConnectorRequest>("r");
  *request.mutable_spec() = before.spec();
  request.mutable_spec()->mutable_limits()->set_step_records_max(7);
  request.mutable_spec()->set_shards(5);
  EXPECT_THAT(Update(request), HasReason(Reason::INVALID_CONFIG));
  const v1::Connector after = Get();
  EXPECT_EQ(after.spec_hash(), before.spec_hash());
  EXPECT_EQ(after.health().state(), v1::CONNECTOR_STATE_RUNNING);
  EXPECT_EQ(after.last_update().spec().shards(), 5u);
  EXPECT_THAT(wire::StatusFromProto(after.last_update().error()),
              HasReason(Reason::INVALID_CONFIG));
  EXPECT_TRUE(after.last_update().has_time());
}

// `penstock connectors orders`, as a person types it.
TEST_F(UpdateConnectorTest, APersonSeesWhatWasRefusedBesideWhatRuns) {
  Open();
  const auto shown_by = [&](const std::string& format) {
    testing::internal::CaptureStdout();
    const client::CliExit exit =
        client::RunConnectors({.target = worker_.target()}, "orders", format);
    const std::string text = testing::internal::GetCapturedStdout();
    EXPECT_EQ(exit, client::CliExit::kOk);
    google::protobuf::Struct shown;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text, &shown).ok())
        << text;
    return shown;
  };
  EXPECT_FALSE(shown_by("json").fields().contains("last_update"));
  auto request = RequestOf<v1::UpdateConnectorRequest>("r");
  *request.mutable_spec() = Get().spec();
  request.mutable_spec()->set_shards(5);
  EXPECT_THAT(Update(request), HasReason(Reason::INVALID_CONFIG));
  const auto member = [](const google::protobuf::Struct& of, const char* name) {
    const auto found = of.fields().find(name);
    return found == of.fields().end() ? google::protobuf::Value()
                                      : found->second;
  };
  for (const char* const format : {"json", "table"}) {
    const google::protobuf::Struct shown = shown_by(format);
    const google::protobuf::Struct attempt =
        member(shown, "last_update").struct_value();
    EXPECT_EQ(
        member(member(shown, "spec").struct_value(), "shards").number_value(),
        2);
    EXPECT_EQ(
        member(member(attempt, "spec").struct_value(), "shards").number_value(),
        5);
    EXPECT_NE(member(attempt, "spec_hash").string_value(),
              member(shown, "spec_hash").string_value());
    EXPECT_THAT(member(member(attempt, "error").struct_value(), "message")
                    .string_value(),
                testing::HasSubstr("shards"));
    EXPECT_NE(member(attempt, "time").string_value(), "");
  }
}

TEST_F(UpdateConnectorTest, AnOldEpochUpdatesNothing) {
  Open();
  auto request = RequestOf<v1::UpdateConnectorRequest>("r");
  *request.mutable_spec() = Get().spec();
  request.mutable_fence()->set_epoch(1);
  EXPECT_THAT(Update(request), HasReason(Reason::STALE_EPOCH));
  EXPECT_FALSE(Get().has_last_update());
}

// deploy/adr/2026-11-30-no-custom-commands-yet.md
TEST_F(UpdateConnectorTest, NoConnectorHasCommandsOfItsOwn) {
  Open();
  const auto execute = [&](const v1::ExecuteCommandRequest& request) {
    grpc::ClientContext context;
    v1::ExecuteCommandResponse response;
    return wire::StatusFromGrpc(
        stub_->ExecuteCommand(&context, request, &response));
  };
  auto request = RequestOf<v1::ExecuteCommandRequest>("r");
  request.set_command("{\"roll\": true}");
  const absl::Status answer = execute(request);
  EXPECT_THAT(answer, HasReason(Reason::UNSUPPORTED));
  EXPECT_EQ(answer.code(), absl::StatusCode::kUnimplemented);
  request.mutable_fence()->set_epoch(1);
  EXPECT_THAT(execute(request), HasReason(Reason::STALE_EPOCH))
      << "it is checked as a command is";
}

}  // namespace
}  // namespace penstock
