// Which worker hosts a connector that no worker names.
// See client/README.md.
#pragma once

#include "core/base/checksum.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::client {

// The index of the worker that ranks highest for `connector`: rendezvous
// hashing, so that a worker more or less moves nothing between the others, and
// the order of neither matters. Requires: at least one worker; names differ.
inline size_t PlaceOf(absl::string_view connector,
                      const std::vector<std::string>& workers) {
  size_t best = 0;
  uint64_t best_rank = 0;
  for (size_t i = 0; i < workers.size(); ++i) {
    const uint64_t rank =
        core::Checksum64(absl::StrCat(workers[i], "\n", connector));
    if (i > 0 && rank <= best_rank) continue;
    best = i;
    best_rank = rank;
  }
  return best;
}

}  // namespace penstock::client
