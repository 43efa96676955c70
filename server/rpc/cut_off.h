// The end of a call whose write is stuck.
#pragma once

#include <absl/status/status.h>
#include <grpcpp/server_context.h>

namespace penstock::server {

// Finish would wait behind the write for ever. The client is told `why`: its
// code, and its reason and message as text, but no details. Blocks: never.
// Requires: the call was not finished.
// Errors: none; a transport that cannot tell a reason tells CANCELLED.
void CutOff(grpc::CallbackServerContext& context, const absl::Status& why);

}  // namespace penstock::server
