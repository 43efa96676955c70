// A unary call: decode, hand over, answer.
#pragma once

#include "proto/wire/requests.h"
#include "proto/wire/status.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <utility>

namespace penstock::server {

using UnaryDone = absl::AnyInvocable<void(absl::Status)>;

// Calls `run(decoded, done)`; `done` finishes the call. The response stays
// valid until then, also if the client has gone: what was begun goes on.
template <typename Decoded, typename Run>
grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context,
                                absl::StatusOr<Decoded> decoded, Run run) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (!decoded.ok()) {
    reactor->Finish(wire::StatusToGrpc(decoded.status()));
    return reactor;
  }
  run(*std::move(decoded), UnaryDone([reactor](absl::Status status) {
    reactor->Finish(wire::StatusToGrpc(status));
  }));
  return reactor;
}

// Calls `run(answer)`; the answer finishes the call, as above.
template <typename Response, typename Run>
grpc::ServerUnaryReactor* Forward(grpc::CallbackServerContext* context,
                                  Response* response, Run run) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  run([reactor, response](absl::StatusOr<Response> reply) {
    if (reply.ok()) *response = *std::move(reply);
    reactor->Finish(wire::StatusToGrpc(reply.status()));
  });
  return reactor;
}

// A callback that writes a reply into `response`, then finishes.
template <typename Reply, typename Response>
auto Answer(Response* response, UnaryDone done) {
  return
      [response, done = std::move(done)](absl::StatusOr<Reply> reply) mutable {
        if (reply.ok()) *response = wire::ToProto(*reply);
        done(reply.status());
      };
}

}  // namespace penstock::server
