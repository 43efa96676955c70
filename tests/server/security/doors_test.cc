// Each method, tried with each role.
#include "client/channel.h"
#include "tests/server/security/tls_worker.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace penstock::server {
namespace {

constexpr char kDrain[] = "/penstock.v1.ControlService/Drain";

// What the documents promise, by hand: who may call a method that is not named
// here is nobody's guess.
// o: observer, p: operator, c: controller.
const std::map<std::string, std::string>& Promised() {
  static const auto& promised = *new std::map<std::string, std::string>{
      {"/grpc.health.v1.Health/Check", "opc"},
      {"/grpc.health.v1.Health/Watch", "opc"},
      {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "opc"},
      {"/penstock.v1.ConnectorService/ListConnectorTypes", "opc"},
      {"/penstock.v1.ConnectorService/DescribeConnectorType", "opc"},
      {"/penstock.v1.ConnectorService/ListConnectors", "opc"},
      {"/penstock.v1.ConnectorService/GetConnector", "opc"},
      {"/penstock.v1.ConnectorService/ValidateConnector", "c"},
      {"/penstock.v1.ConnectorService/OpenConnector", "c"},
      {"/penstock.v1.ConnectorService/UpdateConnector", "c"},
      {"/penstock.v1.ConnectorService/DeleteConnector", "c"},
      {"/penstock.v1.ConnectorService/ExecuteCommand", "c"},
      {"/penstock.v1.ControlService/Replay", "c"},
      {"/penstock.v1.ControlService/Extend", "c"},
      {"/penstock.v1.ControlService/Pause", "c"},
      {"/penstock.v1.ControlService/Queue", "c"},
      {"/penstock.v1.ControlService/ReadStepPart", "c"},
      {"/penstock.v1.ControlService/Release", "c"},
      {"/penstock.v1.ControlService/PrepareCheckpoint", "c"},
      {"/penstock.v1.ControlService/CommitCheckpoint", "c"},
      {"/penstock.v1.ControlService/Disconnect", "c"},
      {"/penstock.v1.ControlService/Session", "c"},
      {kDrain, "p"},
      {"/penstock.v1.OperationsService/GetLogLevel", "opc"},
      {"/penstock.v1.OperationsService/SetLogLevel", "p"},
      {"/penstock.v1.WatchService/Watch", "opc"},
      {"/penstock.v1.WatchService/WatchCompletion", "opc"},
      {"/penstock.v1.WatchService/WatchCheckpoint", "opc"},
      {"/penstock.v1.WatchService/WatchHealth", "opc"},
  };
  return promised;
}

// Every method that a worker serves.
std::vector<std::string> Methods() {
  std::vector<std::string> methods = {
      "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
  // By name: a message may move to another file than its service.
  for (const char* name : {"ConnectorService", "ControlService",
                           "OperationsService", "WatchService"}) {
    const google::protobuf::ServiceDescriptor* const service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            absl::StrCat("penstock.v1.", name));
    EXPECT_NE(service, nullptr) << name;
    if (service == nullptr) continue;
    for (int i = 0; i < service->method_count(); ++i) {
      methods.push_back(absl::StrCat("/", service->full_name(), "/",
                                     service->method(i)->name()));
    }
  }
  return methods;
}

// A refusal comes at once, but a machine may be busy. Some methods have nothing
// to say to an empty message, so those that should be open get little time.
constexpr std::chrono::milliseconds kForARefusal{30'000};
constexpr std::chrono::milliseconds kForAnAnswer{300};

// Calls `method` with an empty message. Whether it was not refused.
bool IsLetThrough(const std::shared_ptr<grpc::Channel>& channel,
                  const std::string& method,
                  std::chrono::milliseconds patience = kForARefusal) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  grpc::CompletionQueue queue;
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  wait();
  const grpc::Slice empty;
  call->WriteLast(grpc::ByteBuffer(&empty, 1), grpc::WriteOptions(), nullptr);
  wait();
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  const bool answered = wait();
  if (answered) context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  return answered || status.error_code() != grpc::StatusCode::PERMISSION_DENIED;
}

struct Caller {
  const char* name;
  // Its letter in Promised().
  const char* letter;
};

class DoorsTest : public testing::TestWithParam<Caller> {};
TEST_P(DoorsTest, OpenForThoseWhoMay) {
  TlsWorker worker;
  worker.Start({"observer=observer.example", "operator=operator.example",
                "controller=controller.example"});
  client::ChannelOptions options;
  options.tls = worker.CallerFiles(worker.authority().Issue(
      {absl::StrCat("DNS:", GetParam().name, ".example")}));
  const auto channel = client::MakeChannel(worker.target(), options);
  ASSERT_TRUE(channel.ok());
  EXPECT_THAT(Methods(), testing::SizeIs(Promised().size()));
  for (const std::string& method : Methods()) {
    const auto promised = Promised().find(method);
    ASSERT_NE(promised, Promised().end())
        << method << ": say here and in server/security/role.cc who may";
    if (method == kDrain) continue;
    const bool may = absl::StrContains(promised->second, GetParam().letter);
    EXPECT_EQ(IsLetThrough(*channel, method, may ? kForAnAnswer : kForARefusal),
              may)
        << method;
  }
  // Last, as it drains.
  EXPECT_EQ(IsLetThrough(*channel, kDrain),
            absl::StrContains(Promised().at(kDrain), GetParam().letter));
  EXPECT_FALSE(IsLetThrough(*channel, "/penstock.v1.ControlService/None"));
}
INSTANTIATE_TEST_SUITE_P(All, DoorsTest,
                         testing::Values(Caller{"observer", "o"},
                                         Caller{"operator", "p"},
                                         Caller{"controller", "c"},
                                         Caller{"nobody", "-"}),
                         [](const auto& param) { return param.param.name; });

// A URI names a workload, an IP address a host; a common name is no name.
TEST(DoorTest, OnlySubjectAlternativeNamesCount) {
  TlsWorker worker;
  worker.Start({"controller=spiffe://penstock/controller", "operator=10.1.2.3",
                "observer=issued"});
  const auto may = [&](const std::vector<std::string>& names,
                       const std::string& method) {
    client::ChannelOptions options;
    options.tls = worker.CallerFiles(worker.authority().Issue(names));
    const auto channel = client::MakeChannel(worker.target(), options);
    return channel.ok() && IsLetThrough(*channel, method);
  };
  const std::string queue = "/penstock.v1.ControlService/Queue";
  const std::string list = "/penstock.v1.ConnectorService/ListConnectors";
  EXPECT_TRUE(may({"URI:spiffe://penstock/controller"}, queue));
  EXPECT_FALSE(may({"URI:spiffe://penstock/other"}, queue));
  EXPECT_TRUE(may({"IP:10.1.2.3"}, list));
  // "issued" is the common name of every certificate here.
  EXPECT_FALSE(may({}, list));
  EXPECT_FALSE(may({"DNS:other.example"}, list));
}

}  // namespace
}  // namespace penstock::server
