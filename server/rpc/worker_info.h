// What a worker says of itself: in ListConnectorTypes and in a Session's hello.
#pragma once

#include "proto/penstock/v1/common.pb.h"
#include "server/dispatch/dispatcher.h"

#include <cstdint>
#include <string>

namespace penstock::server {

// What tells this process from others.
struct WorkerIdentity {
  std::string version;
  // Drawn at start; another one means that the process was restarted.
  std::string run_id;
};

inline v1::WorkerInfo WorkerInfoOf(const WorkerIdentity& identity,
                                   const Dispatcher& dispatcher) {
  v1::WorkerInfo worker;
  worker.set_protocol_version(1);
  worker.set_software_version(identity.version);
  worker.set_run_id(identity.run_id);
  worker.add_capabilities("session");
  worker.set_message_bytes_max(uint64_t{1} << 20);
  worker.set_memory_max(dispatcher.memory_max());
  worker.set_memory_committed(dispatcher.memory_committed());
  worker.set_draining(dispatcher.draining());
  return worker;
}

}  // namespace penstock::server
