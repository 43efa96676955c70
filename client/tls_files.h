// The files with which a client proves who it is, and knows a worker.
// See `protocol.md` rule 16.
#pragma once

#include <string>

namespace penstock::client {

// Paths of PEM files, read again every second. A plain value.
struct TlsFiles {
  // Authorities of workers' certificates. Empty: no TLS.
  std::string ca;
  // Our own chain and key, for workers that ask. Both or neither.
  std::string certificate;
  std::string private_key;
  // The name that a worker's certificate must have. Empty: the target's host.
  std::string server_name;

  bool enabled() const { return !ca.empty(); }
};

}  // namespace penstock::client
