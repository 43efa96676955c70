// What a drain is of.
// See core/connector/README.md.
#pragma once

namespace penstock::core {

enum class DrainScope {
  // Of one connector, by its controller: over when a higher epoch takes over.
  kConnector,
  // Of the worker: for good, whoever commands.
  kWorker,
};

}  // namespace penstock::core
