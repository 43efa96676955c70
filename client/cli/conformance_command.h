// `penstock conformance`: a server against the protocol.
#pragma once

#include "client/cli/exit_code.h"
#include "client/tls_files.h"

#include <string>

namespace penstock::client {

struct ConformanceOptions {
  std::string target = "127.0.0.1:7070";
  bool insecure = false;
  TlsFiles tls;
  // Where the server reads input and writes output. Empty: a temporary one.
  std::string directory;
  // Only checks whose name contains this.
  std::string only;
  // What the line to the server does meanwhile: none, lose, cut, repeat, late;
  // empty: each in turn.
  std::string faults;
  // Kills the server, which somebody starts again. Empty: it is not killed.
  std::string kill_command;
  // Lists names and promises instead.
  bool list = false;
  // text or json (one object a check, then one for all).
  std::string format = "text";
};

// Exit codes: kVerifyFailed if a promise is not kept.
CliExit RunConformanceSuite(const ConformanceOptions& options);

}  // namespace penstock::client
