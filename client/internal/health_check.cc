#include "client/internal/health_check.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>
#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <string>
#include <utility>

namespace penstock::client::internal {
namespace {

constexpr char kMethod[] = "/grpc.health.v1.Health/Check";
// Source: grpc/health/v1/health.proto. HealthCheckRequest{} is no bytes at all;
// HealthCheckResponse{status: SERVING} is field 1, varint, 1.
constexpr absl::string_view kServing("\x08\x01", 2);

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (!buffer.DumpToSingleSlice(&slice).ok()) return {};
  return std::string(reinterpret_cast<const char*>(slice.begin()),
                     slice.size());
}

absl::Status Judge(const grpc::ByteBuffer& response) {
  if (BytesOf(response) == kServing) return absl::OkStatus();
  return core::MakeError(core::Reason::SHUTTING_DOWN,
                         "the worker answers that it does not serve");
}

struct Check {
  std::shared_ptr<CallGroup> group;
  std::shared_ptr<grpc::ClientContext> context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
  absl::AnyInvocable<void(absl::Status)> done;
};

}  // namespace

void CheckHealth(const std::shared_ptr<grpc::Channel>& channel,
                 const std::shared_ptr<CallGroup>& group,
                 absl::Duration deadline,
                 absl::AnyInvocable<void(absl::Status)> done) {
  // Shared by the callback and its copies: gRPC takes a std::function.
  auto check = std::make_shared<Check>();
  check->group = group;
  check->context = group->Enter(deadline);
  check->context->set_wait_for_ready(true);
  const grpc::Slice nothing(std::string{});
  check->request = grpc::ByteBuffer(&nothing, 1);
  check->done = std::move(done);
  Check* const raw = check.get();
  grpc::GenericStub(channel).UnaryCall(
      raw->context.get(), kMethod, grpc::StubOptions(), &raw->request,
      &raw->response, [check = std::move(check)](grpc::Status status) {
        check->done(status.ok()
                        ? Judge(check->response)
                        : StatusOfCall(status, check->group->cancelled()));
        check->done = nullptr;
        check->group->Leave(std::move(check->context));
      });
}

}  // namespace penstock::client::internal
