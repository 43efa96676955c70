// What a worker shows to probes, scrapers and people: health service,
// reflection, metrics, liveness, readiness.
#include "client/channel.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "proto/penstock/v1/connector.pb.h"
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace penstock {
namespace {

using ::testing::AllOf;
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

// HealthCheckRequest{service: `service`}.
std::string HealthRequest(const std::string& service) {
  return std::string("\x0a") + static_cast<char>(service.size()) + service;
}

TEST_F(AdminTest, HealthServiceKnowsEachConnector) {
  const auto check = [&](const std::string& method) {
    return CallOnce(worker_.target(), "/grpc.health.v1.Health/" + method,
                    HealthRequest("connector/orders"));
  };
  EXPECT_EQ(check("Check"), "");          // NOT_FOUND
  EXPECT_EQ(check("Watch"), "\x08\x03");  // SERVICE_UNKNOWN
  const std::string source = worker_.Write("in", Lines("line ", 100));
  ASSERT_OK(caller_.Open(
      LinesSpec("orders", source, worker_.directory().Path("out"))));
  EXPECT_EQ(check("Check"), "\x08\x01");  // SERVING
  EXPECT_EQ(check("Watch"), "\x08\x01");
  ASSERT_OK(caller_.Delete());
  EXPECT_EQ(check("Check"), "");
}

TEST_F(AdminTest, LevelOfTheLogIsChangedWhileItRuns) {
  ASSERT_OK_AND_ASSIGN(const std::string before,
                       worker_.client().GetLogLevel());
  EXPECT_EQ(before, "info");
  ASSERT_OK_AND_ASSIGN(const std::string previous,
                       worker_.client().SetLogLevel("error"));
  EXPECT_EQ(previous, "info");
  EXPECT_EQ(core::GetLogLevel(), core::LogSeverity::kError);
  for (const char* wrong : {"", "fatal", "ERROR", "debug"}) {
    EXPECT_THAT(worker_.client().SetLogLevel(wrong),
                core::HasReason(core::Reason::INVALID_REQUEST));
  }
  ASSERT_OK(worker_.client().SetLogLevel("info"));
  EXPECT_EQ(core::GetLogLevel(), core::LogSeverity::kInfo);
}

TEST_F(AdminTest, ReflectionListsEveryService) {
  // ServerReflectionRequest{list_services: ""}.
  const std::string answer =
      CallOnce(worker_.target(),
               "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
               std::string("\x3a\x00", 2));
  for (const char* service :
       {"penstock.v1.ConnectorService", "penstock.v1.ControlService",
        "penstock.v1.WatchService", "penstock.v1.OperationsService",
        "grpc.health.v1.Health"}) {
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
  EXPECT_THAT(worker_.Scrape("/metrics"), HasSubstr("\npenstock_draining 1\n"));
}

// To its end, whatever of the worker is no longer there.
TEST_F(AdminTest, ScrapesGoOnWhileTheWorkerEnds) {
  const int port = worker_.app().admin_port();
  std::atomic<int> scrapes = 0;
  core::Thread scrapes_on("scrapes", [&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (absl::StrContains(ScrapeAt(port, "/metrics"), "200 OK")) ++scrapes;
    }
  });
  while (scrapes == 0) std::this_thread::yield();
  EXPECT_TRUE(worker_.app().Drain());
  const int drained = scrapes;
  while (scrapes == drained) std::this_thread::yield();
  worker_.Stop();
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
        "penstock_sink_records_total{connector=\"orders\"} 100",
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

// The value of `series`; -1: it is not there.
double ValueOf(const std::string& metrics, const std::string& series) {
  const size_t at = metrics.find("\n" + series + " ");
  if (at == std::string::npos) return -1;
  return std::stod(metrics.substr(at + series.size() + 2));
}

// The sum over the shards of LinesSpec.
double SumOf(const std::string& metrics, const std::string& name,
             const std::string& more_labels = "") {
  double sum = 0;
  for (const char* shard : {"0", "1"}) {
    const double value =
        ValueOf(metrics, name + "{connector=\"orders\",shard=\"" + shard +
                             "\"" + more_labels + "}");
    EXPECT_GE(value, 0) << name << " of shard " << shard << " is missing";
    sum += value;
  }
  return sum;
}

// Batches of both shards that were written because of `reason`.
double Flushes(const std::string& metrics, const std::string& reason) {
  double sum = 0;
  for (const char* shard : {"0", "1"}) {
    const double value =
        ValueOf(metrics, absl::StrCat("penstock_shard_flushes_total{connector="
                                      "\"orders\",shard=\"",
                                      shard, "\",reason=\"", reason, "\"}"));
    sum += std::max(0.0, value);
  }
  return sum;
}

TEST_F(AdminTest, MetricsShowWhatTheShardsWrote) {
  const std::string source = worker_.Write("in", Lines("line ", 100));
  ASSERT_OK(caller_.Open(
      LinesSpec("orders", source, worker_.directory().Path("out"))));
  ASSERT_OK(caller_.Extend());
  ASSERT_OK_AND_ASSIGN(const core::QueueReply reply, caller_.Queue(0, 0));
  ASSERT_OK(caller_.Release(1));
  ASSERT_OK(caller_.Prepare(1));
  const std::string metrics = worker_.Scrape("/metrics");

  EXPECT_EQ(SumOf(metrics, "penstock_shard_rows_written_total"), 100);
  EXPECT_GT(SumOf(metrics, "penstock_shard_bytes_written_total"), 500);
  // A batch with rows, and what lifted a shard without any: reasons that never
  // occurred have no series.
  const double batches =
      Flushes(metrics, "release") + Flushes(metrics, "checkpoint");
  EXPECT_GE(batches, 1);
  EXPECT_THAT(metrics, Not(HasSubstr("reason=\"linger\"")));
  const auto of_connector = [&](absl::string_view name) {
    return ValueOf(metrics, absl::StrCat(name, "{connector=\"orders\"}"));
  };
  EXPECT_EQ(of_connector("penstock_sink_write_duration_seconds_count"),
            batches);
  EXPECT_EQ(ValueOf(metrics,
                    "penstock_sink_write_duration_seconds_bucket{connector="
                    "\"orders\",le=\"+Inf\"}"),
            batches);
  EXPECT_EQ(of_connector("penstock_step_ack_duration_seconds_count"), 1);
  EXPECT_GT(of_connector("penstock_step_ack_duration_seconds_sum"), 0);
  EXPECT_EQ(of_connector("penstock_end_to_end_duration_seconds_count"), 1);
  EXPECT_GT(of_connector("penstock_end_to_end_duration_seconds_sum"),
            of_connector("penstock_step_ack_duration_seconds_sum"));
  EXPECT_EQ(
      ValueOf(metrics, "penstock_step_duration_seconds_count{kind=\"queue\"}"),
      1);
  EXPECT_EQ(ValueOf(metrics,
                    "penstock_open_to_step_duration_seconds_count{kind="
                    "\"first\"}"),
            1);
  EXPECT_EQ(ValueOf(metrics,
                    "penstock_connector_info{connector=\"orders\",pipeline="
                    "\"shop\",direction=\"in\",kind=\"file\"}"),
            1);
}

TEST_F(AdminTest, MetricsShowThatNothingIsWrongWithTheShards) {
  const std::string source = worker_.Write("in", Lines("line ", 100));
  ASSERT_OK(caller_.Open(
      LinesSpec("orders", source, worker_.directory().Path("out"))));
  const std::string metrics = worker_.Scrape("/metrics");
  EXPECT_EQ(SumOf(metrics, "penstock_shard_writes_in_flight"), 0);
  EXPECT_GE(SumOf(metrics, "penstock_shard_queue_chunks_max"), 2);
  EXPECT_EQ(SumOf(metrics, "penstock_shard_writes_in_flight_max"), 2);
  EXPECT_EQ(ValueOf(metrics,
                    "penstock_oldest_step_age_seconds{connector=\"orders\"}"),
            0);
  // What is rare is not there as long as it is 0.
  for (const char* name :
       {"penstock_shard_queue_full_events_total",
        "penstock_shard_parked_chunks", "penstock_shard_writes_overdue",
        "penstock_shard_write_deadlines_total", "penstock_shard_retries_total",
        "penstock_shard_abandoned_batches_total", "penstock_sink_breaker_state",
        "penstock_sink_breaker_opens_total",
        "penstock_inflight_pauses_total"}) {
    EXPECT_THAT(metrics, Not(HasSubstr(name)));
  }
}

TEST_F(AdminTest, BatchesHaveTheRowsThatTheSpecificationSays) {
  const std::string source = worker_.Write("in", Lines("line ", 100));
  core::ConnectorSpec spec = LinesSpec("orders", source, "");
  spec.level = core::FtModel::kAtLeastOnce;
  spec.delivery.batch_rows_max = 10;
  ASSERT_OK(caller_.Open(std::move(spec)));
  ASSERT_OK(caller_.Extend());
  ASSERT_OK(caller_.Queue(0, 0));
  ASSERT_OK(caller_.Prepare(1));
  const std::string metrics = worker_.Scrape("/metrics");
  EXPECT_EQ(SumOf(metrics, "penstock_shard_rows_written_total"), 100);
  EXPECT_EQ(Flushes(metrics, "rows"), 10);
}

// A connector that has failed for good: its file is another one.
void FailForGood(RealWorker& worker, Caller& caller) {
  const std::string source = worker.Write("in", Lines("secret-line ", 100));
  ASSERT_OK(
      caller.Open(LinesSpec("orders", source, worker.directory().Path("out"))));
  std::filesystem::rename(source, source + ".gone");
  worker.Write("in", Lines("other ", 100));
  ASSERT_OK(caller.Extend());
  core::Step step = 0;
  while (caller.Queue(step, step).ok()) ++step;
}

// Where others than this machine's users reach the port, nothing that may quote
// a record is shown.
TEST(AdminTextsTest, ErrorsAreShownOnLoopbackOrWhereSomebodySaidSo) {
  for (const auto& [host, is_asked, is_shown] :
       {std::tuple("127.0.0.1", false, true),
        std::tuple("0.0.0.0", false, false),
        std::tuple("0.0.0.0", true, true)}) {
    RealWorker worker(
        {.admin = true, .admin_host = host, .admin_show_errors = is_asked});
    Caller caller(worker.control(), "shop", 1);
    FailForGood(worker, caller);
    const std::string status = worker.Scrape("/status.json");
    const std::string health = worker.Scrape("/healthz?verbose");
    EXPECT_THAT(status, HasSubstr("\"condition\":\"fatal\""));
    EXPECT_THAT(health, HasSubstr("[-] orders FAILED fatal for "));
    const std::string path = worker.directory().path();
    EXPECT_THAT(worker.Scrape("/metrics"), Not(HasSubstr(path)));
    EXPECT_EQ(absl::StrContains(status, path), is_shown) << status;
    EXPECT_EQ(absl::StrContains(health, path), is_shown) << health;
    EXPECT_EQ(absl::StrContains(status, "--admin-show-errors"), !is_shown);
  }
}

TEST(ConnectionsTest, OneTooManyIsToldWhichOptionToRaise) {
  RealWorker worker({.admin = true, .connections_max = 1});
  ASSERT_OK(worker.client().WaitReady(absl::Seconds(20)));
  grpc::ChannelArguments apart;
  apart.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto second = grpc::CreateCustomChannel(
      worker.target(), grpc::InsecureChannelCredentials(), apart);
  grpc::GenericStub stub(second);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  grpc::ByteBuffer request;
  grpc::ByteBuffer answer;
  grpc::Status status;
  auto call = stub.PrepareUnaryCall(
      &context, "/penstock.v1.OperationsService/GetLogLevel", request, &queue);
  call->StartCall();
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("--connections-max"));
  // The one that is there goes on.
  ASSERT_OK(worker.client().GetLogLevel().status());
  const std::string metrics = worker.Scrape("/metrics");
  EXPECT_EQ(ValueOf(metrics, "penstock_grpc_connections"), 1);
  EXPECT_EQ(ValueOf(metrics, "penstock_grpc_connections_max"), 1);
  EXPECT_GE(ValueOf(metrics, "penstock_grpc_connections_refused_total"), 1);
}

TEST_F(AdminTest, TypesAreListed) {
  const auto types = worker_.client().ListConnectorTypes();
  ASSERT_OK(types);
}

}  // namespace
}  // namespace penstock
