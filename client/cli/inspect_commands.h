// Commands that only look: `connectors`, `watch`.
#pragma once

#include "client/cli/exit_code.h"
#include "client/cli/worker_query.h"

#include <string>
#include <vector>

namespace penstock::client {

// Lists a worker's connectors, or shows one in full.
CliExit RunConnectors(const WorkerTarget& worker, const std::string& name,
                      const std::string& format);

// Prints a worker's events until interrupted or `events_max` came (0: no
// limit). `kinds`: names as in the proto, short (`health`).
CliExit RunWatch(const WorkerTarget& worker,
                 const std::vector<std::string>& connectors,
                 const std::vector<std::string>& kinds, uint64_t events_max);

}  // namespace penstock::client
