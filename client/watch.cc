#include "client/watch.h"

#include "client/internal/calls.h"
#include "core/base/notification.h"
#include "proto/penstock/v1/watch.grpc.pb.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <utility>

namespace penstock::client {

// Kept alive by itself until OnDone, and by the Watch.
class Watch::Stream final : public grpc::ClientReadReactor<v1::WatchResponse> {
 public:
  Stream(const std::shared_ptr<grpc::Channel>& channel,
         const v1::WatchRequest& request, OnEvent on_event, OnEnd on_end)
      : stub_(v1::WatchService::NewStub(channel)),
        request_(request),
        on_event_(std::move(on_event)),
        on_end_(std::move(on_end)) {}

  void Start(std::shared_ptr<Stream> self) {
    self_ = std::move(self);
    stub_->async()->Watch(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }

  void Cancel() {
    cancelled_.store(true, std::memory_order_relaxed);
    context_.TryCancel();
  }
  void WaitForEnd() { ended_.WaitForNotification(); }

  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone says why.
    for (const v1::WatchEvent& event : response_.events()) on_event_(event);
    StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    on_end_(internal::StatusOfCall(status,
                                   cancelled_.load(std::memory_order_relaxed)));
    // What the callbacks hold is gone when ~Watch returns.
    on_event_ = nullptr;
    on_end_ = nullptr;
    // `this` dies with `self`, unless the Watch still holds it.
    const std::shared_ptr<Stream> self = std::move(self_);
    ended_.Notify();
  }

 private:
  const std::unique_ptr<v1::WatchService::Stub> stub_;
  const v1::WatchRequest request_;
  grpc::ClientContext context_;
  std::atomic<bool> cancelled_ = false;
  core::Notification ended_;

  // Confined to gRPC's callbacks, which come one at a time.
  v1::WatchResponse response_;
  OnEvent on_event_;
  OnEnd on_end_;
  std::shared_ptr<Stream> self_;
};

std::unique_ptr<Watch> Watch::Start(
    const std::shared_ptr<grpc::Channel>& channel,
    const v1::WatchRequest& request, OnEvent on_event, OnEnd on_end) {
  auto stream = std::make_shared<Stream>(channel, request, std::move(on_event),
                                         std::move(on_end));
  stream->Start(stream);
  return std::unique_ptr<Watch>(new Watch(std::move(stream)));
}

Watch::Watch(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}

Watch::~Watch() {
  stream_->Cancel();
  stream_->WaitForEnd();
}

void Watch::Cancel() { stream_->Cancel(); }

}  // namespace penstock::client
