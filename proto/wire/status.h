// absl::Status <-> google.rpc.Status <-> grpc::Status, with everything that an
// error of ours carries. See proto/wire/README.md.
#pragma once

#include <absl/status/status.h>

namespace grpc {
class Status;
}  // namespace grpc

namespace penstock::v1 {
class Status;
}  // namespace penstock::v1

namespace penstock::wire {

// Shape:   `details` has one ErrorInfo always (an error without a reason gets
//          the general one of its code), a BadRequest if there are violations,
//          a RetryInfo if there is a retry delay.
// Ensures: the whole fits into trailing metadata of 8 KiB, the least that
//          peers accept: message and metadata are cut at UTF-8 boundaries,
//          violations that do not fit are left out.
v1::Status StatusToProto(const absl::Status& status);

// Inverse. A reason that this program does not know (a newer peer's) leaves
// code and message; HasReason is then false for every reason, and the ErrorInfo
// is kept for StatusToProto. A status without a readable ErrorInfo gets the
// general reason of its code.
absl::Status StatusFromProto(const v1::Status& status);

// The same, as gRPC carries it: the details travel serialised in
// `grpc-status-details-bin`. What gRPC itself reports has none: then the
// general reason of the code holds (UNAVAILABLE, DEADLINE, CANCELLED …).
grpc::Status StatusToGrpc(const absl::Status& status);
absl::Status StatusFromGrpc(const grpc::Status& status);

}  // namespace penstock::wire
