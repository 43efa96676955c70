#include "core/contract/output_endpoint.h"

#include "core/base/error.h"

namespace penstock::core {

absl::Status OutputEndpoint::BatchProbe() {
  return MakeError(Reason::UNSUPPORTED,
                   "probing a batch: this sink does not tell rows apart");
}

}  // namespace penstock::core
