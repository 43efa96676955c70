// A worker's services on a Unix socket of the test's own: each method answers
// what the test says, and remembers what it was asked.
#pragma once

#include "core/base/mutex.h"
#include "core/base/notification.h"
#include "proto/penstock/v1/connector.grpc.pb.h"
#include "proto/penstock/v1/control.grpc.pb.h"
#include "proto/penstock/v1/watch.grpc.pb.h"
#include "tests/support/temp_dir.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/time/time.h>
#include <grpcpp/server.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace penstock::client {

// One method: what it was asked, what it answers.
// Threads: thread-safe.
template <typename Request, typename Response>
class Method {
 public:
  using Answer =
      std::function<grpc::Status(const Request& request, Response& response)>;

  // From now on it answers so. Until then: an empty response.
  void AnswerWith(Answer answer) {
    core::MutexLock lock(mu_);
    answer_ = std::move(answer);
  }
  void AnswerWith(Response response) {
    AnswerWith([response](const Request&, Response& to) {
      to = response;
      return grpc::Status::OK;
    });
  }
  void FailWith(grpc::Status status) {
    AnswerWith([status](const Request&, Response&) { return status; });
  }
  // It takes calls and never answers; cancelling ends them.
  void Hang() {
    core::MutexLock lock(mu_);
    hang_ = true;
  }

  std::vector<Request> requests() const {
    core::MutexLock lock(mu_);
    return requests_;
  }
  // Time that the last caller left it, as the server sees it.
  absl::Duration last_deadline() const {
    core::MutexLock lock(mu_);
    return last_deadline_;
  }
  // Blocks: until the first call is there.
  void WaitForCall() const { called_.WaitForNotification(); }

  grpc::ServerUnaryReactor* Handle(grpc::CallbackServerContext* context,
                                   const Request* request, Response* response) {
    Answer answer;
    if (!Record(*context, *request, answer)) return Hanging();
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(answer ? answer(*request, *response) : grpc::Status::OK);
    return reactor;
  }

  // False: hang.
  bool Record(const grpc::ServerContextBase& context, const Request& request,
              Answer& answer) {
    core::MutexLock lock(mu_);
    requests_.push_back(request);
    last_deadline_ = absl::FromChrono(context.deadline()) -
                     absl::FromChrono(std::chrono::system_clock::now());
    if (requests_.size() == 1) called_.Notify();
    answer = answer_;
    return !hang_;
  }

 private:
  // Ends when the call is cancelled.
  static grpc::ServerUnaryReactor* Hanging() {
    class Reactor final : public grpc::ServerUnaryReactor {
      void OnCancel() override { Finish(grpc::Status::CANCELLED); }
      void OnDone() override { delete this; }
    };
    return new Reactor;
  }

  mutable core::Mutex mu_;
  core::Notification called_;
  Answer answer_ ABSL_GUARDED_BY(mu_);
  bool hang_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Request> requests_ ABSL_GUARDED_BY(mu_);
  absl::Duration last_deadline_ ABSL_GUARDED_BY(mu_);
};

#define PENSTOCK_FAKE_METHOD(name, member)                                \
  Method<v1::name##Request, v1::name##Response> member;                   \
  grpc::ServerUnaryReactor* name(grpc::CallbackServerContext* context,    \
                                 const v1::name##Request* request,        \
                                 v1::name##Response* response) override { \
    return member.Handle(context, request, response);                     \
  }

// The method of a client stream; its answer sees the first message. What came
// in fragments is in `received`.
template <typename Request, typename Response>
struct UploadMethod {
  Method<Request, Response> start;
  // Answer after the first message, whatever else comes.
  std::atomic<bool> answer_early = false;
  // Pieces after the first message. Confined to the stream until it is done.
  std::vector<std::string> received;
};

class FakeControlService final : public v1::ControlService::CallbackService {
 public:
  PENSTOCK_FAKE_METHOD(Extend, extend)
  PENSTOCK_FAKE_METHOD(Pause, pause)
  PENSTOCK_FAKE_METHOD(Queue, queue)
  PENSTOCK_FAKE_METHOD(Release, release)
  PENSTOCK_FAKE_METHOD(PrepareCheckpoint, prepare_checkpoint)
  PENSTOCK_FAKE_METHOD(CommitCheckpoint, commit_checkpoint)
  PENSTOCK_FAKE_METHOD(Disconnect, disconnect)

  UploadMethod<v1::ReplayRequest, v1::ReplayResponse> replay;
  grpc::ServerReadReactor<v1::ReplayRequest>* Replay(
      grpc::CallbackServerContext* context,
      v1::ReplayResponse* response) override;

  // What ReadStepPart streams, in fragments of `part_fragment_bytes`; then it
  // ends with `part_status`. Set before it is called.
  std::string part;
  size_t part_fragment_bytes = 1000;
  grpc::Status part_status;
  Method<v1::ReadStepPartRequest, v1::ReadStepPartResponse> read_step_part;
  grpc::ServerWriteReactor<v1::ReadStepPartResponse>* ReadStepPart(
      grpc::CallbackServerContext* context,
      const v1::ReadStepPartRequest* request) override;
};

class FakeConnectorService final
    : public v1::ConnectorService::CallbackService {
 public:
  PENSTOCK_FAKE_METHOD(ListConnectorTypes, list_connector_types)
  PENSTOCK_FAKE_METHOD(DescribeConnectorType, describe_connector_type)
  PENSTOCK_FAKE_METHOD(ValidateConnector, validate_connector)
  PENSTOCK_FAKE_METHOD(GetConnector, get_connector)
  PENSTOCK_FAKE_METHOD(ListConnectors, list_connectors)
  PENSTOCK_FAKE_METHOD(DeleteConnector, delete_connector)

  UploadMethod<v1::OpenConnectorRequest, v1::OpenConnectorResponse> open;
  grpc::ServerReadReactor<v1::OpenConnectorRequest>* OpenConnector(
      grpc::CallbackServerContext* context,
      v1::OpenConnectorResponse* response) override;
};

class FakeWatchService final : public v1::WatchService::CallbackService {
 public:
  // What Watch streams; then it ends with `end`, or goes on for ever. Set
  // before it is called.
  std::vector<v1::WatchResponse> responses;
  grpc::Status end;
  bool endless = false;
  Method<v1::WatchRequest, v1::WatchResponse> watch;
  grpc::ServerWriteReactor<v1::WatchResponse>* Watch(
      grpc::CallbackServerContext* context,
      const v1::WatchRequest* request) override;
};

#undef PENSTOCK_FAKE_METHOD

// Owner:     a test.
// Lifecycle: Start, Stop, Start again … on the same address.
class FakeWorker {
 public:
  FakeWorker() { Start(); }
  explicit FakeWorker(bool start) {
    if (start) Start();
  }
  ~FakeWorker() { Stop(); }

  void Start();
  // Cancels what is under way.
  void Stop();
  void SetServing(bool serving);
  // Serves whoever is at the other end of `socket`, which it then owns.
  void Serve(int socket);
  std::string target() const;

  FakeControlService control;
  FakeConnectorService connector;
  FakeWatchService watch;

 private:
  core::TempDir dir_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace penstock::client
