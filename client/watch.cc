#include "client/watch.h"

#include "client/internal/calls.h"
#include "proto/penstock/v1/watch.grpc.pb.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <utility>

namespace penstock::client {

// Owner: itself, from Start to OnDone.
class Watch::Stream final : public grpc::ClientReadReactor<v1::WatchResponse> {
 public:
  Stream(std::shared_ptr<internal::CallGroup> group,
         const v1::WatchRequest& request, OnEvent on_event, OnEnd on_end)
      : group_(std::move(group)),
        request_(request),
        context_(group_->Enter(absl::InfiniteDuration())),
        on_event_(std::move(on_event)),
        on_end_(std::move(on_end)) {}

  void Start(const std::shared_ptr<grpc::Channel>& channel) {
    v1::WatchService::NewStub(channel)->async()->Watch(context_.get(),
                                                       &request_, this);
    StartRead(&response_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone says why.
    for (const v1::WatchEvent& event : response_.events()) on_event_(event);
    StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    on_end_(internal::StatusOfCall(status, group_->cancelled()));
    on_event_ = nullptr;
    on_end_ = nullptr;
    group_->Leave(std::move(context_));
    delete this;
  }

 private:
  const std::shared_ptr<internal::CallGroup> group_;
  const v1::WatchRequest request_;

  // Confined to gRPC's callbacks, which come one at a time.
  std::shared_ptr<grpc::ClientContext> context_;
  v1::WatchResponse response_;
  OnEvent on_event_;
  OnEnd on_end_;
};

std::unique_ptr<Watch> Watch::Start(
    const std::shared_ptr<grpc::Channel>& channel,
    const v1::WatchRequest& request, OnEvent on_event, OnEnd on_end) {
  auto group = std::make_shared<internal::CallGroup>(nullptr);
  auto* stream =
      new Stream(group, request, std::move(on_event), std::move(on_end));
  stream->Start(channel);
  return std::unique_ptr<Watch>(new Watch(channel, std::move(group)));
}

Watch::Watch(std::shared_ptr<grpc::Channel> channel,
             std::shared_ptr<internal::CallGroup> group)
    : channel_(std::move(channel)), group_(std::move(group)) {}

Watch::~Watch() { group_->Close(); }

void Watch::Cancel() { group_->Cancel(); }

}  // namespace penstock::client
