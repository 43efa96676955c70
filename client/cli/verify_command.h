// `penstock verify`: inputs against outputs.
#pragma once

#include "client/cli/exit_code.h"

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::client {

struct VerifyOptions {
  // A pipeline file: each of its connectors from files to files is verified.
  std::string pipeline_file;
  // Or: these inputs against the directory of one file sink.
  std::vector<std::string> inputs;
  std::string output;
  // text or json.
  std::string format = "text";
  // How many findings are shown.
  size_t findings_max = 20;
};

// Blocks: for the files. Prints to standard output.
CliExit RunVerify(const VerifyOptions& options);

}  // namespace penstock::client
