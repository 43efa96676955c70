// What reads data from an open input endpoint.
#pragma once

#include "core/contract/command.h"

#include <cstdint>

namespace penstock::core {

// Seed type: `InputReader`. Paused at birth.
//
// Owner:     the connector's driver.
// Threads:   Request is called by the driver only, one at a time; answers may
//            come from any thread through the InputConsumer, also before
//            Request returns.
// Lifecycle: until Disconnect or a fatal error; the destructor joins all
//            threads within a bound.
class InputReader {
 public:
  virtual ~InputReader() = default;

  // Seed: `request` (`replay`, `extend`, `pause`, `queue`, `disconnect` are
  // this with the matching command). Blocks: never.
  virtual void Request(InputReaderCommand command) = 0;
  // Seed: `is_closed`: it has acted on every command that it ever will.
  virtual bool IsClosed() const = 0;
  // Seed: `memory`: bytes used by the library underneath.
  virtual uint64_t MemoryBytes() const { return 0; }
};

}  // namespace penstock::core
