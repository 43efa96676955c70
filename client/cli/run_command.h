// `penstock run`: a pipeline file, driven to its end.
#pragma once

#include "client/cli/exit_code.h"
#include "client/tls_files.h"

#include <cstdint>
#include <string>

namespace penstock::client {

struct RunOptions {
  std::string pipeline_file;
  // text (a live line on a terminal) or json (a line each second).
  std::string format = "text";
  // The worker's program, where the file names no workers.
  std::string worker_program;
  // Where the local worker keeps its fence; empty: beside the store.
  std::string worker_state_dir;
  // Plaintext to workers on other hosts.
  bool insecure = false;
  TlsFiles tls;
  // How often either end of a Session says that it is there, in seconds; after
  // three of these without a word it is given up.
  double heartbeat_seconds = 5;
  // Workers are commanded by a call for each command, not over a Session.
  bool single_calls = false;
  // For fault tests: `after_journal:3` kills this process with SIGKILL when
  // that point is reached for the third time. Empty: never.
  std::string crash_at;
  // What a crash does: `kill`, or `stop` (SIGSTOP: it can be woken).
  std::string crash_how = "kill";
};

// Blocks: until every connector has reached its end of input and is
// checkpointed, a signal came (orderly end), or a person must decide. Where
// several share the state, also until it is this one's turn to lead.
CliExit RunPipeline(const RunOptions& options);

}  // namespace penstock::client
