// `penstock log-level`: which events a worker logs.
#pragma once

#include "client/cli/exit_code.h"
#include "client/cli/worker_query.h"

#include <string>

namespace penstock::client {

// Prints the level in force, or with `level` changes it and prints both.
CliExit RunLogLevel(const WorkerTarget& worker, const std::string& level);

}  // namespace penstock::client
