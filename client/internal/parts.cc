#include "client/internal/parts.h"

#include "proto/wire/header.h"

#include <grpcpp/support/client_callback.h>

#include <utility>

namespace penstock::client::internal {
namespace {

using Done = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;

// Owner: itself, from Start to OnDone. Bound: the assembler's.
class PartReader final
    : public grpc::ClientReadReactor<v1::ReadStepPartResponse> {
 public:
  static void Start(const std::shared_ptr<CallGroup>& group,
                    v1::ControlService::Stub& stub, absl::Duration deadline,
                    const PartRequest& request, Done done) {
    auto* reader = new PartReader(group, deadline, request, std::move(done));
    stub.async()->ReadStepPart(reader->context_.get(), &reader->request_,
                               reader);
    reader->StartRead(&reader->response_);
    reader->StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone says why.
    failed_ = assembler_.Add(response_.fragment());
    if (failed_.ok()) {
      StartRead(&response_);
    } else {
      context_->TryCancel();
    }
  }

  void OnDone(const grpc::Status& status) override {
    if (!failed_.ok()) {
      done_(failed_);
    } else if (!status.ok()) {
      done_(StatusOfCall(status, group_->cancelled()));
    } else {
      done_(std::move(assembler_).Finish());
    }
    done_ = nullptr;
    group_->Leave(std::move(context_));
    delete this;
  }

 private:
  PartReader(std::shared_ptr<CallGroup> group, absl::Duration deadline,
             const PartRequest& request, Done done)
      : group_(std::move(group)),
        context_(group_->Enter(deadline)),
        done_(std::move(done)),
        assembler_(request.announced) {
    *request_.mutable_connector() = wire::ToProto(request.ref);
    request_.set_step(request.step);
    request_.set_part(request.part);
  }

  const std::shared_ptr<CallGroup> group_;
  std::shared_ptr<grpc::ClientContext> context_;
  Done done_;
  wire::FragmentAssembler assembler_;
  v1::ReadStepPartRequest request_;
  v1::ReadStepPartResponse response_;
  absl::Status failed_;
};

}  // namespace

void ReadPart(const std::shared_ptr<CallGroup>& group,
              v1::ControlService::Stub& stub, absl::Duration deadline,
              const PartRequest& request, Done done) {
  PartReader::Start(group, stub, deadline, request, std::move(done));
}

}  // namespace penstock::client::internal
