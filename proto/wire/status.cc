#include "proto/wire/status.h"

#include "core/base/error.h"
#include "proto/penstock/v1/status.pb.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/text.h"
#include "proto/wire/violations.h"

#include <absl/strings/cord.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>
#include <google/protobuf/any.pb.h>
#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::wire {
namespace {

// The originals' names, so that any client decodes them.
constexpr absl::string_view kErrorInfoUrl =
    "type.googleapis.com/google.rpc.ErrorInfo";
constexpr absl::string_view kBadRequestUrl =
    "type.googleapis.com/google.rpc.BadRequest";
constexpr absl::string_view kRetryInfoUrl =
    "type.googleapis.com/google.rpc.RetryInfo";

// Payload that keeps an ErrorInfo whose reason we do not know.
constexpr absl::string_view kForeignInfoUrl = "penstock/foreign_error_info";

// gRPC takes 8 KiB of metadata and ends the call with another error above it.
// The message is in there twice, once percent-encoded (three bytes for one at
// worst); the details are in base64 (four bytes for three).
constexpr size_t kMessageBytesMax = 1000;
constexpr size_t kMetadataValueBytesMax = 512;
constexpr size_t kMetadataBytesMax = 1500;
constexpr size_t kDetailsBytesMax = 3500;

core::Reason GeneralReason(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kCancelled:
      return core::Reason::CANCELLED;
    case absl::StatusCode::kInvalidArgument:
      return core::Reason::INVALID_REQUEST;
    case absl::StatusCode::kDeadlineExceeded:
      return core::Reason::DEADLINE;
    case absl::StatusCode::kNotFound:
      return core::Reason::NOT_FOUND;
    case absl::StatusCode::kAlreadyExists:
      return core::Reason::ALREADY_EXISTS;
    case absl::StatusCode::kPermissionDenied:
      return core::Reason::PERMISSION_DENIED;
    case absl::StatusCode::kUnauthenticated:
      return core::Reason::UNAUTHENTICATED;
    case absl::StatusCode::kUnimplemented:
      return core::Reason::UNSUPPORTED;
    case absl::StatusCode::kUnavailable:
      return core::Reason::UNAVAILABLE;
    default:
      return core::Reason::INTERNAL;
  }
}

absl::Status WithGeneralReason(absl::Status status) {
  core::ErrorInfo info;
  info.reason = GeneralReason(status.code());
  return core::WithErrorInfo(std::move(status), info);
}

absl::StatusCode CodeFromNumber(int number) {
  const bool known = number >= 0 && number <= 16;
  return known ? static_cast<absl::StatusCode>(number)
               : absl::StatusCode::kUnknown;
}

v1::ErrorInfo InfoToProto(const absl::Status& status) {
  v1::ErrorInfo result;
  const auto foreign = status.GetPayload(kForeignInfoUrl);
  if (foreign.has_value() && result.ParseFromString(std::string(*foreign))) {
    return result;
  }
  core::ErrorInfo info;
  info.reason = GeneralReason(status.code());
  if (std::optional<core::ErrorInfo> own = core::GetErrorInfo(status)) {
    info = *std::move(own);
  }
  const absl::string_view name = core::ReasonName(info.reason);
  result.set_reason(name.data(), name.size());
  result.set_domain(ToUtf8(info.domain));
  size_t bytes = 0;
  for (const auto& [key, value] : info.metadata) {
    std::string text = ToUtf8(value, kMetadataValueBytesMax);
    bytes += key.size() + text.size();
    if (bytes > kMetadataBytesMax) break;
    (*result.mutable_metadata())[ToUtf8(key)] = std::move(text);
  }
  return result;
}

void AddDetail(absl::string_view url, const google::protobuf::Message& detail,
               v1::Status& to) {
  google::protobuf::Any& any = *to.add_details();
  any.set_type_url(std::string(url));
  any.set_value(detail.SerializeAsString());
}

// Adds as many violations as fit below `kDetailsBytesMax`.
void AddViolations(const std::vector<FieldViolation>& violations,
                   v1::Status& to) {
  // Any's own type URL, tags and lengths.
  constexpr size_t kAnyBytes = 64;
  size_t bytes = to.ByteSizeLong() + kAnyBytes;
  v1::BadRequest request;
  for (const FieldViolation& violation : violations) {
    v1::BadRequest::FieldViolation one;
    one.set_field(ToUtf8(violation.field, kMetadataValueBytesMax));
    one.set_description(ToUtf8(violation.description, kMetadataValueBytesMax));
    one.set_reason(ToUtf8(violation.reason));
    // Tag and length of the repeated field: at most 4 bytes.
    bytes += one.ByteSizeLong() + 4;
    if (bytes > kDetailsBytesMax) break;
    *request.add_field_violations() = std::move(one);
  }
  if (request.field_violations_size() > 0) {
    AddDetail(kBadRequestUrl, request, to);
  }
}

absl::Status ApplyInfo(const v1::ErrorInfo& info, absl::Status status) {
  const std::optional<core::Reason> reason = core::ParseReason(info.reason());
  if (!reason.has_value() || info.domain() != core::kErrorDomain) {
    status.SetPayload(kForeignInfoUrl, absl::Cord(info.SerializeAsString()));
    return status;
  }
  core::ErrorInfo known;
  known.reason = *reason;
  known.domain = info.domain();
  known.metadata.insert(info.metadata().begin(), info.metadata().end());
  return core::WithErrorInfo(std::move(status), known);
}

absl::Status ApplyRetry(const v1::RetryInfo& retry, absl::Status status) {
  const std::optional<absl::Duration> delay =
      DurationFromProto(retry.retry_delay());
  if (!delay.has_value()) return status;
  return core::WithRetryDelay(std::move(status), *delay);
}

absl::Status ApplyBadRequest(const v1::BadRequest& request,
                             absl::Status status) {
  std::vector<FieldViolation> violations;
  for (const auto& violation : request.field_violations()) {
    violations.push_back(
        {violation.field(), violation.description(), violation.reason()});
  }
  return WithViolations(std::move(status), violations);
}

}  // namespace

v1::Status StatusToProto(const absl::Status& status) {
  v1::Status result;
  result.set_code(static_cast<int32_t>(status.code()));
  if (status.ok()) return result;
  result.set_message(ToUtf8(status.message(), kMessageBytesMax));
  AddDetail(kErrorInfoUrl, InfoToProto(status), result);
  if (const auto delay = core::GetRetryDelay(status)) {
    v1::RetryInfo retry;
    *retry.mutable_retry_delay() =
        DurationToProto(std::max(*delay, absl::Milliseconds(1)));
    AddDetail(kRetryInfoUrl, retry, result);
  }
  AddViolations(GetViolations(status), result);
  return result;
}

absl::Status StatusFromProto(const v1::Status& status) {
  absl::Status result(CodeFromNumber(status.code()), status.message());
  if (result.ok()) return result;
  bool has_info = false;
  for (const google::protobuf::Any& detail : status.details()) {
    v1::ErrorInfo info;
    v1::RetryInfo retry;
    v1::BadRequest request;
    if (detail.type_url() == kErrorInfoUrl &&
        info.ParseFromString(detail.value())) {
      has_info = true;
      result = ApplyInfo(info, std::move(result));
    } else if (detail.type_url() == kRetryInfoUrl &&
               retry.ParseFromString(detail.value())) {
      result = ApplyRetry(retry, std::move(result));
    } else if (detail.type_url() == kBadRequestUrl &&
               request.ParseFromString(detail.value())) {
      result = ApplyBadRequest(request, std::move(result));
    }
  }
  return has_info ? result : WithGeneralReason(std::move(result));
}

grpc::Status StatusToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const v1::Status proto = StatusToProto(status);
  return grpc::Status(static_cast<grpc::StatusCode>(proto.code()),
                      proto.message(), proto.SerializeAsString());
}

absl::Status StatusFromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  v1::Status proto;
  if (!status.error_details().empty() &&
      proto.ParseFromString(status.error_details())) {
    // The call's own code holds, whatever the details say.
    proto.set_code(static_cast<int32_t>(status.error_code()));
    return StatusFromProto(proto);
  }
  proto.Clear();
  proto.set_code(static_cast<int32_t>(status.error_code()));
  proto.set_message(ToUtf8(status.error_message()));
  return StatusFromProto(proto);
}

}  // namespace penstock::wire
