#include "server/rpc/cut_off.h"

#include "core/base/error.h"

#include <grpc/grpc.h>

#include <algorithm>
#include <string>

namespace penstock::server {
namespace {

// It goes out beside gRPC's own encoding of headers.
constexpr size_t kTextBytesMax = 512;

}  // namespace

void CutOff(grpc::CallbackServerContext& context, const absl::Status& why) {
  std::string text = core::ErrorText(why).substr(0, kTextBytesMax);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  const auto code = why.ok() ? GRPC_STATUS_CANCELLED
                             : static_cast<grpc_status_code>(why.code());
  // Over HTTP/2 it goes out with the reset, past what flow control holds up,
  // which grpc.h does not promise; TryCancel does the same with a text of its
  // own.
  (void)grpc_call_cancel_with_status(context.c_call(), code, text.c_str(),
                                     nullptr);
}

}  // namespace penstock::server
