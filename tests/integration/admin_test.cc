// What a worker shows to probes, scrapers and people: health service,
// reflection, metrics, liveness, readiness.
#include "client/channel.h"
#include "proto/penstock/v1/connector.pb.h"
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Sends one message of a stream and returns the first that comes back.
std::string CallOnce(const std::string& target, const std::string& method,
                     const std::string& message) {
  auto channel = client::MakeChannel(target);
  if (!channel.ok()) return "";
  grpc::GenericStub stub(*channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(20));
  grpc::CompletionQueue queue;
  auto call = stub.PrepareCall(&context, method, &queue);
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  call->StartCall(nullptr);
  if (!wait()) return "";
  const grpc::Slice slice(message);
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  if (!wait()) return "";
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  std::string text;
  if (wait()) {
    std::vector<grpc::Slice> slices;
    if (answer.Dump(&slices).ok()) {
      for (const grpc::Slice& part : slices) {
        text.append(reinterpret_cast<const char*>(part.begin()), part.size());
      }
    }
  }
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  return text;
}

class AdminTest : public ::testing::Test {
 protected:
  AdminTest()
      : worker_({.admin = true}), caller_(worker_.control(), "shop", 1) {}

  RealWorker worker_;
  Caller caller_;
};

TEST_F(AdminTest, ServesOnALoopbackPortToo) {
  worker_.RestartOnLoopback();
  EXPECT_GT(worker_.app().port(), 0);
  EXPECT_OK(worker_.client().WaitReady(absl::Seconds(20)));
}

TEST_F(AdminTest, HealthServiceSaysServing) {
  EXPECT_OK(worker_.client().WaitReady(absl::Seconds(20)));
  // HealthCheckRequest{service: "penstock.v1.ControlService"}.
  const std::string service = "penstock.v1.ControlService";
  const std::string answer = CallOnce(
      worker_.target(), "/grpc.health.v1.Health/Watch",
      std::string("\x0a") + static_cast<char>(service.size()) + service);
  EXPECT_EQ(answer, "\x08\x01");  // status: SERVING
}

TEST_F(AdminTest, ReflectionListsEveryService) {
  // ServerReflectionRequest{list_services: ""}.
  const std::string answer =
      CallOnce(worker_.target(),
               "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
               std::string("\x3a\x00", 2));
  for (const char* service :
       {"penstock.v1.ConnectorService", "penstock.v1.ControlService",
        "penstock.v1.WatchService", "grpc.health.v1.Health"}) {
    EXPECT_THAT(answer, HasSubstr(service));
  }
}

TEST_F(AdminTest, ProbesAnswer) {
  EXPECT_THAT(worker_.Scrape("/livez"), HasSubstr("200 OK"));
  EXPECT_THAT(worker_.Scrape("/readyz"), HasSubstr("200 OK"));
  EXPECT_THAT(worker_.Scrape("/nothing"), HasSubstr("404"));
}

TEST_F(AdminTest, DrainedWorkerIsAliveAndNotReady) {
  EXPECT_TRUE(worker_.app().Drain());
  EXPECT_THAT(worker_.Scrape("/livez"), HasSubstr("200 OK"));
  EXPECT_THAT(worker_.Scrape("/readyz"), HasSubstr("503"));
}

TEST_F(AdminTest, MetricsShowAConnectorAsLongAsItIsThere) {
  EXPECT_THAT(worker_.Scrape("/metrics"), HasSubstr("\npenstock_connectors 0"));
  const std::string source = worker_.Write("in", Lines("line ", 100));
  ASSERT_OK(caller_.Open(
      LinesSpec("orders", source, worker_.directory().Path("out"))));
  ASSERT_OK(caller_.Extend());
  ASSERT_OK_AND_ASSIGN(const core::QueueReply reply, caller_.Queue(0, 0));
  ASSERT_NE(reply.result, nullptr);
  ASSERT_OK(caller_.Release(1));
  ASSERT_OK(caller_.Prepare(1));
  ASSERT_OK(caller_.Commit(1));

  const std::string metrics = worker_.Scrape("/metrics");
  EXPECT_THAT(metrics, HasSubstr("200 OK"));
  EXPECT_THAT(metrics, HasSubstr("text/plain; version=0.0.4"));
  for (const char* series :
       {"penstock_connectors 1",
        "penstock_source_records_total{connector=\"orders\"} 100",
        "penstock_extended_records_total{connector=\"orders\"} 100",
        "penstock_replayed_records_total{connector=\"orders\"} 0",
        "penstock_sink_records_total{connector=\"orders\"} 100",
        "penstock_source_parse_errors_total{connector=\"orders\"} 0",
        "penstock_made_steps{connector=\"orders\"} 1",
        "penstock_released_steps{connector=\"orders\"} 1",
        "penstock_completed_steps{connector=\"orders\"} 1",
        "penstock_checkpointed_steps{connector=\"orders\"} 1",
        "penstock_inflight_bytes{connector=\"orders\"} 0",
        "penstock_end_of_input{connector=\"orders\"} 1",
        "penstock_shard_progress_steps{connector=\"orders\",shard=\"1\"} 1",
        "penstock_draining 0", "penstock_build_info{version="}) {
    EXPECT_THAT(metrics, HasSubstr(series));
  }

  ASSERT_OK(caller_.Delete());
  EXPECT_THAT(worker_.Scrape("/metrics"), Not(HasSubstr("orders")));
}

TEST_F(AdminTest, TypesAreListed) {
  const auto types = worker_.client().ListConnectorTypes();
  ASSERT_OK(types);
}

}  // namespace
}  // namespace penstock
