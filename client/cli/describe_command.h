// The command `penstock describe`.
#pragma once

#include "client/cli/exit_code.h"
#include "client/cli/worker_query.h"

#include <string>

namespace penstock::client {

struct DescribeOptions {
  // `sink.file`, or `file` if only one kind has it. Empty: all are listed.
  std::string type;
  // Empty: a worker of the command's own.
  WorkerTarget worker = {.target = ""};
  // table, json, or schema: the JSON Schema alone.
  std::string format = "table";
};

// What types of source, format, route and sink there are, or what one of them
// is configured with.
CliExit RunDescribe(const DescribeOptions& options);

}  // namespace penstock::client
