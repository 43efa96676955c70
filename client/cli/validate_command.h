// The command `penstock validate`.
#pragma once

#include "client/cli/exit_code.h"
#include "client/cli/worker_query.h"

#include <string>

namespace penstock::client {

struct ValidateOptions {
  std::string pipeline_file;
  // Look outside, by way of a worker.
  bool probe = false;
  // Whom to ask. Empty: the workers that the file names, or one of the
  // command's own.
  WorkerTarget worker = {.target = ""};
  std::string format = "table";
};

// Checks a pipeline file. With `probe`, or a worker, each connector goes
// through the phases of ValidateConnector; without, nothing that the file names
// is touched.
CliExit RunValidate(const ValidateOptions& options);

}  // namespace penstock::client
