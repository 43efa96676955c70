#include "tests/client/fake_worker.h"

#include "proto/wire/fragments.h"
#include "proto/wire/transport.h"

#include <absl/strings/str_cat.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <utility>

namespace penstock::client {
namespace {

// Reads a client stream to its end, then answers.
// Owner: itself, until OnDone.
template <typename Request, typename Response>
class UploadReactor final : public grpc::ServerReadReactor<Request> {
 public:
  UploadReactor(grpc::CallbackServerContext& context,
                UploadMethod<Request, Response>& method,
                std::string (*piece)(const Request&), Response& response)
      : context_(context), method_(method), piece_(piece), response_(response) {
    this->StartRead(&message_);
  }

  void OnReadDone(bool ok) override {
    if (finished_) return;
    if (!ok) return Answer();
    if (!started_) {
      started_ = true;
      first_ = message_;
      if (method_.answer_early) return Answer();
    } else {
      method_.received.push_back(piece_(message_));
    }
    this->StartRead(&message_);
  }
  void OnCancel() override {
    if (fate_.exchange(kCancelled) == kHanging) {
      this->Finish(grpc::Status::CANCELLED);
    }
  }
  void OnDone() override { delete this; }

 private:
  // Hanging and cancelled may come in either order; the later one finishes.
  enum Fate { kGoing, kHanging, kCancelled };

  void Answer() {
    finished_ = true;
    typename Method<Request, Response>::Answer answer;
    if (!method_.start.Record(context_, first_, answer)) {
      if (fate_.exchange(kHanging) == kCancelled) {
        this->Finish(grpc::Status::CANCELLED);
      }
      return;
    }
    this->Finish(answer ? answer(first_, response_) : grpc::Status::OK);
  }

  grpc::CallbackServerContext& context_;
  UploadMethod<Request, Response>& method_;
  std::string (*const piece_)(const Request&);
  Response& response_;
  Request message_;
  Request first_;
  bool started_ = false;
  bool finished_ = false;
  std::atomic<Fate> fate_ = kGoing;
};

// Writes what it is given, then ends, or waits to be cancelled.
// Owner: itself, until OnDone.
template <typename Response>
class StreamReactor final : public grpc::ServerWriteReactor<Response> {
 public:
  StreamReactor(std::vector<Response> responses, grpc::Status end, bool endless)
      : responses_(std::move(responses)),
        end_(std::move(end)),
        endless_(endless) {
    Next();
  }

  void OnWriteDone(bool ok) override {
    if (ok) {
      Next();
    } else {
      End(grpc::Status::CANCELLED);
    }
  }
  void OnCancel() override {
    if (endless_) End(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    if (next_ < responses_.size()) {
      this->StartWrite(&responses_[next_++]);
    } else if (!endless_) {
      End(end_);
    }
  }
  void End(const grpc::Status& status) {
    if (!ended_.exchange(true)) this->Finish(status);
  }

  const std::vector<Response> responses_;
  const grpc::Status end_;
  const bool endless_;
  size_t next_ = 0;
  std::atomic<bool> ended_ = false;
};

}  // namespace

grpc::ServerReadReactor<v1::ReplayRequest>* FakeControlService::Replay(
    grpc::CallbackServerContext* context, v1::ReplayResponse* response) {
  return new UploadReactor<v1::ReplayRequest, v1::ReplayResponse>(
      *context, replay,
      [](const v1::ReplayRequest& message) { return message.data().data(); },
      *response);
}

grpc::ServerReadReactor<v1::OpenConnectorRequest>*
FakeConnectorService::OpenConnector(grpc::CallbackServerContext* context,
                                    v1::OpenConnectorResponse* response) {
  return new UploadReactor<v1::OpenConnectorRequest, v1::OpenConnectorResponse>(
      *context, open,
      [](const v1::OpenConnectorRequest& message) {
        return message.position().data();
      },
      *response);
}

grpc::ServerWriteReactor<v1::ReadStepPartResponse>*
FakeControlService::ReadStepPart(grpc::CallbackServerContext* context,
                                 const v1::ReadStepPartRequest* request) {
  Method<v1::ReadStepPartRequest, v1::ReadStepPartResponse>::Answer unused;
  read_step_part.Record(*context, *request, unused);
  std::vector<v1::ReadStepPartResponse> responses;
  for (size_t offset = 0; offset < part.size();) {
    v1::ReadStepPartResponse& response = responses.emplace_back();
    *response.mutable_fragment() =
        wire::FragmentAt(part, offset, part_fragment_bytes);
    if (offset == 0) {
      *response.mutable_part() = wire::ToProto(wire::PartOf(part));
    }
    offset += part_fragment_bytes;
  }
  return new StreamReactor<v1::ReadStepPartResponse>(std::move(responses),
                                                     part_status, false);
}

grpc::ServerWriteReactor<v1::WatchResponse>* FakeWatchService::Watch(
    grpc::CallbackServerContext* context, const v1::WatchRequest* request) {
  Method<v1::WatchRequest, v1::WatchResponse>::Answer unused;
  watch.Record(*context, *request, unused);
  return new StreamReactor<v1::WatchResponse>(responses, end, endless);
}

void FakeWorker::Start() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(target(), grpc::InsecureServerCredentials());
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      wire::kPingIntervalMinMs);
  builder.RegisterService(&control);
  builder.RegisterService(&connector);
  builder.RegisterService(&watch);
  server_ = builder.BuildAndStart();
}

void FakeWorker::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_ = nullptr;
}

void FakeWorker::SetServing(bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(serving);
}

void FakeWorker::Serve(int socket) {
  grpc::AddInsecureChannelFromFd(server_.get(), socket);
}

std::string FakeWorker::target() const {
  return absl::StrCat("unix:", dir_.Path("worker.sock"));
}

}  // namespace penstock::client
