// Commands for a person at the gates: one connector, one step at a time.
#pragma once

#include "client/cli/exit_code.h"
#include "client/tls_files.h"

#include <cstdint>
#include <string>

namespace penstock::client {

enum class HandVerb {
  kOpen,
  kReplay,
  kExtend,
  kPause,
  kQueue,
  kRelease,
  kCheckpoint,
  kDisconnect,
};

struct HandOptions {
  std::string pipeline_file;
  // Empty: the pipeline has one.
  std::string connector;
  // text or json.
  std::string format = "text";
  // Plaintext to workers on other hosts.
  bool insecure = false;
  TlsFiles tls;
  // Open: delete whatever life of it there is.
  bool reopen = false;
  // Queue: how long to wait for data. Checkpoint, disconnect: how long to wait
  // for released steps.
  std::string wait = "10s";
  // Queue; 0: the connector's own limits.
  uint64_t min_records = 0;
  uint64_t max_records = 0;
};

// Does one thing to one connector of a pipeline whose file names its workers
// and keeps its state in SQLite. Prints what came of it.
// Exit codes: as exit_code.h; a checkpoint that is not ready is
// kNotCheckpointed.
CliExit RunHand(HandVerb verb, const HandOptions& options);

// `penstock drain`: the whole worker, as SIGTERM does, but it goes on to serve.
// Exit codes: kNotCheckpointed if something was left.
struct DrainOptions {
  std::string target = "127.0.0.1:7070";
  bool insecure = false;
  TlsFiles tls;
  std::string deadline = "25s";
  std::string format = "text";
};
CliExit RunDrain(const DrainOptions& options);

}  // namespace penstock::client
