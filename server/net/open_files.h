// How many descriptors the process may have.
// See server/README.md.
#pragma once

#include <cstddef>

namespace penstock::server {

// A shell, or a unit, allows 1024 and lets the process take more: it takes all
// that it may. Warns where that is less than `connections`, and what files and
// partitions take beside them. Blocks: never.
// Returns the limit that holds now; 0: it cannot be told.
size_t RaiseOpenFiles(size_t connections);

}  // namespace penstock::server
