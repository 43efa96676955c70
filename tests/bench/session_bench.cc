// 1,000 connectors, each with one command outstanding over one Session, beside
// a bare echo over a bidirectional stream: the same build, process, number
// outstanding and size of message, each over a Unix socket of its own, in turn.
// What the Session adds: a connector's answer to a Queue that finds nothing,
// and a controller's client at the other end.
#include "client/channel.h"
#include "client/client.h"
#include "core/base/check.h"
#include "core/base/environment.h"
#include "core/base/mutex.h"
#include "core/base/notification.h"
#include "core/connector/requests.h"
#include "tests/bench/echo.grpc.pb.h"
#include "tests/integration/caller.h"
#include "tests/integration/hanging_disk.h"
#include "tests/integration/real_worker.h"
#include "tests/integration/stalled_watch.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/time/clock.h>
#include <absl/time/time.h>
#include <benchmark/benchmark.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock {
namespace {

constexpr int kConnectors = 1000;
constexpr int kCommands = 20'000;
constexpr int kRounds = 5;
// About what a Queue and its answer take.
constexpr size_t kRequestBytes = 90;
constexpr size_t kResponseBytes = 12;

// Echoes in order; one read and one write in flight.
class EchoReactor final
    : public grpc::ServerBidiReactor<bench::EchoRequest, bench::EchoResponse> {
 public:
  EchoReactor() { StartRead(&request_); }
  void OnReadDone(bool ok) override {
    if (!ok) {
      core::MutexLock lock(mu_);
      over_ = true;
      if (!writing_) Finish(grpc::Status::OK);
      return;
    }
    bench::EchoResponse response;
    response.set_payload(
        request_.payload().substr(0, request_.response_bytes()));
    {
      core::MutexLock lock(mu_);
      waiting_.push_back(std::move(response));
      WriteNext();
    }
    StartRead(&request_);
  }
  void OnWriteDone(bool /*ok*/) override {
    core::MutexLock lock(mu_);
    writing_ = false;
    WriteNext();
    if (over_ && !writing_) Finish(grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (writing_ || waiting_.empty()) return;
    response_ = std::move(waiting_.front());
    waiting_.pop_front();
    writing_ = true;
    StartWrite(&response_);
  }
  core::Mutex mu_;
  std::deque<bench::EchoResponse> waiting_ ABSL_GUARDED_BY(mu_);
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  bench::EchoRequest request_;
  bench::EchoResponse response_;
};

class EchoService final : public bench::EchoService::CallbackService {
 public:
  grpc::ServerBidiReactor<bench::EchoRequest, bench::EchoResponse>* EchoStream(
      grpc::CallbackServerContext* /*context*/) override {
    return new EchoReactor;
  }
};

// Keeps kConnectors requests outstanding until kCommands are answered.
class EchoCaller final
    : public grpc::ClientBidiReactor<bench::EchoRequest, bench::EchoResponse> {
 public:
  explicit EchoCaller(bench::EchoService::Stub& stub) {
    request_.set_payload(std::string(kRequestBytes, 'q'));
    request_.set_response_bytes(kResponseBytes);
    stub.async()->EchoStream(&context_, this);
    AddHold();
    StartCall();
    StartRead(&response_);
    core::MutexLock lock(mu_);
    to_write_ = kConnectors;
    WriteNext();
  }
  void Wait() {
    all_.WaitForNotification();
    StartWritesDone();
    RemoveHold();
    over_.WaitForNotification();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (++answered_ == kCommands) return all_.Notify();
    if (sent_ < kCommands) {
      core::MutexLock lock(mu_);
      ++to_write_;
      WriteNext();
    }
    StartRead(&response_);
  }
  void OnWriteDone(bool /*ok*/) override {
    core::MutexLock lock(mu_);
    writing_ = false;
    WriteNext();
  }
  void OnDone(const grpc::Status& /*status*/) override { over_.Notify(); }

 private:
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (writing_ || to_write_ == 0 || sent_ == kCommands) return;
    --to_write_;
    ++sent_;
    writing_ = true;
    StartWrite(&request_);
  }
  grpc::ClientContext context_;
  core::Mutex mu_;
  int to_write_ ABSL_GUARDED_BY(mu_) = 0;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  std::atomic<int> sent_{0};
  int answered_ = 0;
  bench::EchoRequest request_;
  bench::EchoResponse response_;
  core::Notification all_;
  core::Notification over_;
};

// A worker whose connectors are all at the end of their input.
class Connectors {
 public:
  Connectors() : worker_({.memory_max = uint64_t{1} << 50}) {
    auto client =
        client::Client::Connect(worker_.target(), {.use_session = true});
    CHECK_OK(client.status());
    client_ = *std::move(client);
    const std::string source = worker_.Write("in", "one line\n");
    for (int i = 0; i < kConnectors; ++i) {
      Caller caller(client_->control(), "idle", 1);
      CHECK_OK(
          caller.Open(LinesSpec(absl::StrCat("c", i), source, "", 1)).status());
      CHECK_OK(caller.Extend());
      const auto last = caller.Queue(0, 0);
      CHECK(last.ok() && last->result != nullptr);
      CHECK_OK(caller.Release(1));
      headers_.push_back(caller.Header());
    }
  }

  void Run() {
    sent_ = 0;
    answered_ = 0;
    all_ = std::make_unique<core::Notification>();
    for (const core::CommandHeader& header : headers_) Send(header);
    all_->WaitForNotification();
  }

 private:
  void Send(const core::CommandHeader& header) {
    if (sent_.fetch_add(1) >= kCommands) return;
    core::QueueRequest request;
    request.step = 1;
    request.previous_steps = 1;
    client_->control().Queue(
        header, request,
        [this, &header](absl::StatusOr<core::QueueReply> reply) {
          CHECK(reply.ok() && reply->no_step.has_value());
          if (answered_.fetch_add(1) + 1 == kCommands) return all_->Notify();
          Send(header);
        });
  }

  RealWorker worker_;
  std::unique_ptr<client::Client> client_;
  std::vector<core::CommandHeader> headers_;
  std::atomic<int> sent_{0};
  std::atomic<int> answered_{0};
  std::unique_ptr<core::Notification> all_;
};

double RateOf(absl::Duration took) {
  return kCommands / absl::ToDoubleSeconds(took);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void BM_Session_BesideEchoStream(benchmark::State& state) {
  const core::TempDir directory;
  const std::string target = absl::StrCat("unix:", directory.Path("echo.sock"));
  EchoService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(target, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  CHECK(server != nullptr);
  auto channel = client::MakeChannel(target);
  CHECK_OK(channel.status());
  const auto stub = bench::EchoService::NewStub(*channel);
  Connectors connectors;

  std::vector<double> session;
  std::vector<double> echo;
  for (auto _ : state) {
    absl::Time begin = absl::Now();
    EchoCaller(*stub).Wait();
    echo.push_back(RateOf(absl::Now() - begin));
    begin = absl::Now();
    connectors.Run();
    const absl::Duration took = absl::Now() - begin;
    session.push_back(RateOf(took));
    state.SetIterationTime(absl::ToDoubleSeconds(took));
  }
  state.SetItemsProcessed(state.iterations() * kCommands);
  state.counters["session_per_s"] = Median(session);
  state.counters["echo_per_s"] = Median(echo);
  state.counters["ratio"] = Median(session) / Median(echo);
  server->Shutdown();
}
BENCHMARK(BM_Session_BesideEchoStream)
    ->Iterations(kRounds)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Until the windows of a watch are full of counters; 3 s are enough.
absl::Duration StallTime() {
  double seconds = 0;
  const auto given = core::GetEnv("PENSTOCK_BENCH_STALL_SECONDS");
  if (given.has_value()) CHECK(absl::SimpleAtod(*given, &seconds));
  return absl::Seconds(seconds);
}

// Steps of one block, one after the other, from Queue to its release.
class Stepper {
 public:
  static constexpr int kSteps = 500;

  Stepper() : caller_(worker_.control(), "p", 1) {
    CHECK_OK(caller_
                 .Open(LinesSpec(
                     "orders",
                     worker_.Write("in", Lines("line ", LinesOfAll())), "", 1))
                 .status());
    CHECK_OK(caller_.Extend());
  }
  // What each took.
  std::vector<double> Run(int steps) {
    std::vector<double> seconds;
    for (int i = 0; i < steps; ++i, ++step_) {
      const absl::Time begin = absl::Now();
      core::QueueRequest request;
      request.step = request.previous_steps = step_;
      request.min_records = request.max_records = 1;
      request.wait = absl::Seconds(60);
      const auto made = caller_.StartQueue(request).Get();
      CHECK(made.ok() && made->result != nullptr);
      CHECK_OK(caller_.Release(step_ + 1));
      seconds.push_back(absl::ToDoubleSeconds(absl::Now() - begin));
    }
    return seconds;
  }
  RealWorker& worker() { return worker_; }

 private:
  // A block has some 300; what a stall takes is more than a second makes.
  static int LinesOfAll() {
    constexpr int kLines = 2 << 20;
    return kLines * static_cast<int>(1 + absl::ToInt64Seconds(StallTime()) * 3);
  }

  RealWorker worker_;
  Caller caller_;
  core::Step step_ = 0;
};

// Steps by themselves, and beside what `make_trouble` makes, in turns.
template <typename MakeTrouble>
void CompareSteps(benchmark::State& state, Stepper& stepper,
                  MakeTrouble make_trouble) {
  (void)stepper.Run(Stepper::kSteps);
  std::vector<double> free;
  std::vector<double> beside;
  for (auto _ : state) {
    free.push_back(Median(stepper.Run(Stepper::kSteps)));
    const auto trouble = make_trouble();
    beside.push_back(Median(stepper.Run(Stepper::kSteps)));
  }
  state.counters["free_us"] = Median(free) * 1e6;
  state.counters["beside_us"] = Median(beside) * 1e6;
  state.counters["ratio"] = Median(beside) / Median(free);
}

// A watch whose client has stopped to read.
void BM_Step_BesideAStalledWatch(benchmark::State& state) {
  Stepper stepper;
  // What coalesces never overflows: it stays stalled.
  v1::WatchRequest request;
  request.add_kinds(v1::WATCH_KIND_BUFFERED);
  request.add_kinds(v1::WATCH_KIND_COMPLETION);
  request.add_kinds(v1::WATCH_KIND_BLOCKED);
  request.add_kinds(v1::WATCH_KIND_CHECKPOINT);
  CompareSteps(state, stepper, [&] {
    auto stalled =
        std::make_unique<StalledWatch>(stepper.worker().target(), request);
    const absl::Time full = absl::Now() + StallTime();
    while (absl::Now() < full) (void)stepper.Run(10);
    return stalled;
  });
}
BENCHMARK(BM_Step_BesideAStalledWatch)
    ->Iterations(kRounds)
    ->Unit(benchmark::kMillisecond);

// A connector of the same worker whose first write hangs.
class StuckConnector {
 public:
  StuckConnector(RealWorker& worker, const std::string& name)
      : caller_(worker.control(), "p", 1) {
    CHECK_OK(caller_
                 .Open(LinesSpec(name, worker.Write("few", Lines("line ", 10)),
                                 worker.directory().Path(name), 1))
                 .status());
    CHECK_OK(caller_.Extend());
    const auto made = caller_.Queue(0, 0);
    CHECK(made.ok() && made->result != nullptr);
    disk_.emplace("/stuck");
    CHECK_OK(caller_.Release(1));
    disk_->AwaitOne();
  }

 private:
  Caller caller_;
  std::optional<HangingDisk> disk_;
};

void BM_Step_BesideAStuckSink(benchmark::State& state) {
  Stepper stepper;
  int stuck = 0;
  CompareSteps(state, stepper, [&] {
    return std::make_unique<StuckConnector>(stepper.worker(),
                                            absl::StrCat("stuck", stuck++));
  });
}
BENCHMARK(BM_Step_BesideAStuckSink)
    ->Iterations(kRounds)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
