// An empty Queue beside a bare unary echo: the same build, process, client and
// size of message, each over a Unix socket of its own, in turn. What Queue adds
// is decoding, the fence, the connector's strand, its decision and the answer.
#include "client/channel.h"
#include "core/base/check.h"
#include "core/connector/requests.h"
#include "proto/penstock/v1/control.grpc.pb.h"
#include "proto/wire/requests.h"
#include "tests/bench/echo.grpc.pb.h"
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <absl/time/clock.h>
#include <absl/time/time.h>
#include <benchmark/benchmark.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock {
namespace {

constexpr int kCalls = 4000;
// Before the clock counts: connections, threads, caches.
constexpr int kWarmUpCalls = 200;

class EchoService final : public bench::EchoService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context,
                                 const bench::EchoRequest* request,
                                 bench::EchoResponse* response) override {
    response->set_payload(
        request->payload().substr(0, request->response_bytes()));
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& target) {
  auto channel = client::MakeChannel(target);
  CHECK(channel.ok()) << channel.status();
  return *std::move(channel);
}

// A server with nothing but the echo.
class EchoServer {
 public:
  EchoServer() : target_(absl::StrCat("unix:", directory_.Path("echo.sock"))) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(target_, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    CHECK(server_ != nullptr);
  }
  ~EchoServer() { server_->Shutdown(); }
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  const std::string& target() const { return target_; }

 private:
  const core::TempDir directory_;
  const std::string target_;
  EchoService service_;
  std::unique_ptr<grpc::Server> server_;
};

// A connector at the end of its input: a Queue finds nothing, at once.
class IdleConnector {
 public:
  IdleConnector() : caller_(worker_.control(), "idle", 1) {
    const std::string source = worker_.Write("in", "one line\n");
    CHECK_OK(caller_.Open(LinesSpec("idle", source, "")).status());
    CHECK_OK(caller_.Extend());
    const auto last = caller_.Queue(0, 0);
    CHECK(last.ok() && last->result != nullptr && last->result->end_of_input);
    CHECK_OK(caller_.Release(1));
  }

  const std::string& target() const { return worker_.target(); }
  v1::QueueRequest Request() {
    core::QueueRequest request;
    request.step = 1;
    request.previous_steps = 1;
    request.wait = absl::ZeroDuration();
    return wire::ToProto(caller_.Header(), request);
  }

 private:
  RealWorker worker_;
  Caller caller_;
};

template <typename Call>
absl::Duration TimeOf(Call call) {
  const absl::Time begin = absl::Now();
  const grpc::Status status = call();
  const absl::Duration took = absl::Now() - begin;
  CHECK(status.ok()) << status.error_message();
  return took;
}

// Requires: not empty, 0 <= share < 1. Sorts.
double MicrosecondsAt(std::vector<absl::Duration>& times, double share) {
  std::sort(times.begin(), times.end());
  return absl::ToDoubleMicroseconds(
      times[static_cast<size_t>(share * static_cast<double>(times.size()))]);
}

void BM_EmptyQueue_BesideEcho(benchmark::State& state) {
  EchoServer echo_server;
  IdleConnector connector;
  const auto echo =
      bench::EchoService::NewStub(ChannelTo(echo_server.target()));
  const auto control =
      v1::ControlService::NewStub(ChannelTo(connector.target()));

  const v1::QueueRequest queue_request = connector.Request();
  v1::QueueResponse queue_response;
  const auto call_queue = [&] {
    grpc::ClientContext context;
    const grpc::Status status =
        control->Queue(&context, queue_request, &queue_response);
    CHECK(queue_response.has_no_step());
    return status;
  };
  bench::EchoRequest echo_request;
  bench::EchoResponse echo_response;
  const auto call_echo = [&] {
    grpc::ClientContext context;
    return echo->Echo(&context, echo_request, &echo_response);
  };
  CHECK(call_queue().ok());
  echo_request.set_payload(queue_request.SerializeAsString());
  echo_request.set_response_bytes(
      static_cast<uint32_t>(queue_response.ByteSizeLong()));
  for (int i = 0; i < kWarmUpCalls; ++i) {
    CHECK(call_queue().ok());
    CHECK(call_echo().ok());
  }

  std::vector<absl::Duration> queue_times;
  std::vector<absl::Duration> echo_times;
  for (auto _ : state) {
    // Who comes first changes, for the first finds a processor that slept.
    const bool queue_first = queue_times.size() % 2 == 1;
    if (queue_first) queue_times.push_back(TimeOf(call_queue));
    echo_times.push_back(TimeOf(call_echo));
    if (!queue_first) queue_times.push_back(TimeOf(call_queue));
    state.SetIterationTime(absl::ToDoubleSeconds(queue_times.back()));
  }
  state.SetItemsProcessed(static_cast<int64_t>(queue_times.size()));
  state.counters["echo_p50_us"] = MicrosecondsAt(echo_times, 0.5);
  state.counters["echo_p99_us"] = MicrosecondsAt(echo_times, 0.99);
  state.counters["queue_p50_us"] = MicrosecondsAt(queue_times, 0.5);
  state.counters["queue_p99_us"] = MicrosecondsAt(queue_times, 0.99);
  state.counters["p50_ratio"] =
      MicrosecondsAt(queue_times, 0.5) / MicrosecondsAt(echo_times, 0.5);
}
BENCHMARK(BM_EmptyQueue_BesideEcho)
    ->Iterations(kCalls)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace penstock
