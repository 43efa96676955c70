// A configured source, before and at its opening.
#pragma once

#include "core/contract/consumer.h"
#include "core/contract/ft_model.h"
#include "core/contract/parser.h"
#include "core/contract/reader.h"
#include "core/record/schema.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::core {

// What Open of an endpoint yields.
struct OpenedInput {
  std::unique_ptr<InputReader> reader;
  // Ours: the start as resolved at open ("latest" becomes an offset): seek
  // JSON from which a later open starts at the same place.
  std::string position;
};

// Seed type: `InputEndpoint`.
class InputEndpoint {
 public:
  virtual ~InputEndpoint() = default;
  // Seed: `fault_tolerance`.
  virtual std::optional<FtModel> FaultTolerance() const = 0;
};

// Seed type: `TransportInputEndpoint`: bytes that a parser turns to records.
class TransportInputEndpoint : public InputEndpoint {
 public:
  // Seed: `open`. `resume_info` is a position this source reported earlier
  // (its `Extended` seek, or `OpenedInput::position`), nullopt = the configured
  // start. The reader is paused.
  // Blocks: for I/O, within the connector's open deadline: runs on an I/O
  // executor. Lifetime: `consumer` outlives the reader.
  // Errors: INVALID_CONFIG, POSITION_EXPIRED (the source no longer has it),
  // PATH_NOT_ALLOWED, UNAVAILABLE.
  virtual absl::StatusOr<OpenedInput> Open(
      InputConsumer& consumer, std::unique_ptr<Parser> parser,
      const Schema& schema, std::optional<std::string> resume_info) = 0;
};

// Seed type: `IntegratedInputEndpoint`: makes records without a parser.
class IntegratedInputEndpoint : public InputEndpoint {
 public:
  // As above.
  virtual absl::StatusOr<OpenedInput> Open(
      InputConsumer& consumer, const Schema& schema,
      std::optional<std::string> resume_info) = 0;
};

}  // namespace penstock::core
