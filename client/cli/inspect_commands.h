// Commands that only look: `validate`, `connectors`, `watch`.
#pragma once

#include "client/cli/exit_code.h"

#include <string>
#include <vector>

namespace penstock::client {

struct WorkerTarget {
  std::string target = "127.0.0.1:7070";
  bool insecure = false;
};

// Checks a pipeline file without touching anything it names.
CliExit RunValidate(const std::string& pipeline_file);

// Lists a worker's connectors, or shows one in full.
CliExit RunConnectors(const WorkerTarget& worker, const std::string& name,
                      const std::string& format);

// Prints a worker's events until interrupted or `events_max` came (0: no
// limit). `kinds`: names as in the proto, short (`health`).
CliExit RunWatch(const WorkerTarget& worker,
                 const std::vector<std::string>& connectors,
                 const std::vector<std::string>& kinds, uint64_t events_max);

}  // namespace penstock::client
