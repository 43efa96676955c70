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
  // The level at which `inputs` were delivered, by core::LevelName; a pipeline
  // file says its own.
  std::string level = "exactly_once";
  // text or json.
  std::string format = "text";
  // How many findings are shown.
  size_t findings_max = 20;
};

// Whether the outputs have what the level promises: exactly once, every record
// once and in order within its shard; at least once, every record, and how many
// are doubled is said; none, nothing that was not in the input. Records that
// the source skips as bad, or as longer than the file's limits allow, are
// counted and not expected.
//
// Blocks: for the files. Prints to standard output.
CliExit RunVerify(const VerifyOptions& options);

}  // namespace penstock::client
