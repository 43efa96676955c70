// `penstock infer`: the format and schema of an input, guessed from a sample.
#pragma once

#include "client/cli/exit_code.h"
#include "core/format/infer/infer.h"

#include <cstdint>
#include <string>

namespace penstock::client {

struct InferCommandOptions {
  // "-": standard input.
  std::string file;
  // Empty: to be guessed.
  std::string format;
  std::string delimiter;
  // yes, no or auto.
  std::string header = "auto";
  // What is looked at, of the input's content, in bytes and records.
  uint64_t sample_bytes = uint64_t{16} << 20;
  uint64_t records_max = 100'000;
  // Print a whole pipeline file.
  bool pipeline = false;
};

// What `penstock run` takes: `format` and `schema` of a connector. `indent`: of
// each line.
std::string InferredYaml(const core::InferredInput& input,
                         const std::string& indent);

// Prints YAML to standard output, and to standard error what it rests on.
// Blocks: for the input.
CliExit RunInfer(const InferCommandOptions& options);

}  // namespace penstock::client
