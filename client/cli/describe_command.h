// The command `penstock describe`.
#pragma once

#include "client/cli/exit_code.h"
#include "client/cli/worker_query.h"
#include "proto/penstock/v1/options.pb.h"

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

// The words of deploy/docs/configuration.md: what may be written for a field of
// a protobuf type, and when it may change. What is unknown here, of a newer
// worker, stays as it is.
std::string TypeText(const std::string& type);
std::string ChangeText(v1::ChangeClass change);

// What types of source, format, route and sink there are, or what one of them
// is configured with.
CliExit RunDescribe(const DescribeOptions& options);

}  // namespace penstock::client
