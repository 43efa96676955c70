#include "tests/integration/stalled_watch.h"

#include "proto/wire/status.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <utility>

namespace penstock {
namespace {

// Little, and it stays so: gRPC would let a stream have 4 MiB.
grpc::ChannelArguments SmallWindows() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 65535);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return arguments;
}

}  // namespace

StalledWatch::StalledWatch(const std::string& target, v1::WatchRequest request)
    : request_(std::move(request)),
      stub_(v1::WatchService::NewStub(grpc::CreateCustomChannel(
          target, grpc::InsecureChannelCredentials(), SmallWindows()))) {
  stub_->async()->Watch(&context_, &request_, this);
  // Until it is resumed nothing of it is under way.
  AddHold();
  StartRead(&response_);
  StartCall();
  stalled_.WaitForNotification();
}

StalledWatch::~StalledWatch() {
  context_.TryCancel();
  Resume();
  over_.WaitForNotification();
}

absl::Status StalledWatch::ReadOn(absl::Duration patience) {
  Resume();
  if (!over_.WaitForNotificationWithTimeout(patience)) {
    return absl::DeadlineExceededError("the watch goes on");
  }
  return wire::StatusFromGrpc(status_);
}

void StalledWatch::Resume() {
  if (resumed_.exchange(true)) return;
  StartRead(&response_);
  RemoveHold();
}

void StalledWatch::OnReadDone(bool ok) {
  if (!ok) {
    if (!stalled_.HasBeenNotified()) stalled_.Notify();
    return;
  }
  if (!stalled_.HasBeenNotified()) {
    for (const v1::WatchEvent& event : response_.events()) {
      if (event.has_snapshot_end()) return stalled_.Notify();
    }
  }
  StartRead(&response_);
}

void StalledWatch::OnDone(const grpc::Status& status) {
  status_ = status;
  over_.Notify();
}

}  // namespace penstock
