#include "server/rpc/operations_service.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "proto/wire/status.h"

#include <absl/strings/str_cat.h>

#include <optional>
#include <string>

namespace penstock::server {
namespace {

std::string LevelText() {
  return std::string(core::LogSeverityName(core::GetLogLevel()));
}

}  // namespace

grpc::ServerUnaryReactor* OperationsService::GetLogLevel(
    grpc::CallbackServerContext* context,
    const v1::GetLogLevelRequest* /*request*/,
    v1::GetLogLevelResponse* response) {
  response->set_level(LevelText());
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* OperationsService::SetLogLevel(
    grpc::CallbackServerContext* context, const v1::SetLogLevelRequest* request,
    v1::SetLogLevelResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const auto level = core::ParseLogSeverity(request->level());
  if (!level.has_value() || *level == core::LogSeverity::kFatal) {
    reactor->Finish(wire::StatusToGrpc(core::MakeError(
        core::Reason::INVALID_REQUEST,
        absl::StrCat("setting the level of the log to '", request->level(),
                     "': it is info, warning or error"),
        {{"field", "level"}})));
    return reactor;
  }
  response->set_previous_level(LevelText());
  // Said whatever the levels are.
  core::SetLogLevel(core::LogSeverity::kInfo);
  LOG(INFO)
          .With("level", request->level())
          .With("previous_level", response->previous_level())
      << "the level of the log is changed";
  core::SetLogLevel(*level);
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace penstock::server
