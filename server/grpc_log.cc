#include "server/grpc_log.h"

#include "core/base/log.h"
#include "core/base/rate_limit.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <grpc/support/log.h>

#include <string>

namespace penstock::server {
namespace {

void Route(gpr_log_func_args* event) {
  // Lives for ever: gRPC's threads may outlive static objects.
  static auto& limit = *new core::RateLimit(20, absl::Minutes(1));
  absl::string_view file = event->file;
  if (const size_t slash = file.rfind('/'); slash != file.npos) {
    file.remove_prefix(slash + 1);
  }
  LOG_EVERY(WARNING, limit)
          .With("grpc_source", absl::StrCat(file, ":", event->line))
      << event->message;
}

}  // namespace

void RouteGrpcLog() {
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function(Route);
}

}  // namespace penstock::server
