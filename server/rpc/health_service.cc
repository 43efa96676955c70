#include "server/rpc/health_service.h"

#include "core/contract/health.h"

#include <absl/strings/match.h>
#include <absl/strings/strip.h>
#include <grpcpp/alarm.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace penstock::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr absl::string_view kConnectorPrefix = "connector/";
constexpr absl::string_view kOwnPrefix = "penstock.v1.";
constexpr std::chrono::milliseconds kLookInterval{250};

}  // namespace

// One watch. Everything runs in a chain, one after the other: look, write if it
// differs, wait, look. OnCancel only leaves a note for the next look.
// Owner: itself, until OnDone. Threads: gRPC's, one at a time.
class HealthService::Watcher final
    : public grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  Watcher(HealthService& health, std::string service)
      : health_(health), service_(std::move(service)) {
    Look();
  }

  void OnCancel() override { is_cancelled_ = true; }
  void OnWriteDone(bool ok) override {
    if (!ok) is_cancelled_ = true;
    Wait();
  }
  void OnDone() override {
    --health_.watches_;
    delete this;
  }

 private:
  // What changed is told before an end: that the worker drains is the last
  // word.
  void Look() {
    const Status status = health_.StatusOf(service_);
    if (!is_cancelled_ && status != told_) {
      told_ = status;
      response_.set_status(status);
      StartWrite(&response_);
    } else if (is_cancelled_ || health_.is_closed_) {
      Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE,
                          "the watch of health ends: the worker does"));
    } else {
      Wait();
    }
  }
  // By a new alarm, as the callback of the last one may still be returning.
  void Wait() {
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(std::chrono::system_clock::now() + kLookInterval,
                [this](bool /*expired*/) { Look(); });
  }

  HealthService& health_;
  const std::string service_;
  std::unique_ptr<grpc::Alarm> alarm_;
  HealthCheckResponse response_;
  // UNKNOWN: nothing yet.
  Status told_ = HealthCheckResponse::UNKNOWN;
  std::atomic<bool> is_cancelled_{false};
};

HealthService::Status HealthService::StatusOf(
    const std::string& service) const {
  absl::string_view name = service;
  if (absl::ConsumePrefix(&name, kConnectorPrefix)) {
    const auto status = connectors_.StatusOf(std::string(name));
    if (!status.has_value()) return HealthCheckResponse::SERVICE_UNKNOWN;
    return status->health.condition == core::Condition::kOk
               ? HealthCheckResponse::SERVING
               : HealthCheckResponse::NOT_SERVING;
  }
  if (!name.empty() && !absl::StartsWith(name, kOwnPrefix)) {
    return HealthCheckResponse::SERVICE_UNKNOWN;
  }
  return is_draining_ ? HealthCheckResponse::NOT_SERVING
                      : HealthCheckResponse::SERVING;
}

grpc::ServerUnaryReactor* HealthService::Check(
    grpc::CallbackServerContext* context, const HealthCheckRequest* request,
    HealthCheckResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const Status status = StatusOf(request->service());
  if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
    reactor->Finish(grpc::Status(
        grpc::StatusCode::NOT_FOUND,
        "there is nothing of that name; ask for '', for a service of "
        "penstock.v1, or for connector/NAME"));
    return reactor;
  }
  response->set_status(status);
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(
    grpc::CallbackServerContext* /*context*/,
    const HealthCheckRequest* request) {
  if (watches_.fetch_add(1) >= kWatchesMax) {
    // Counts until its OnDone, as any watch.
    class Refusal final : public grpc::ServerWriteReactor<HealthCheckResponse> {
     public:
      explicit Refusal(std::atomic<int>& watches) : watches_(watches) {
        Finish(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                            "too many watches of health; use Check"));
      }
      void OnDone() override {
        --watches_;
        delete this;
      }

     private:
      std::atomic<int>& watches_;
    };
    return new Refusal(watches_);
  }
  return new Watcher(*this, request->service());
}

}  // namespace penstock::server
