// Reads one record of a source, for a dry run.
#pragma once

#include "core/base/executor.h"
#include "core/contract/endpoint.h"
#include "core/contract/ft_model.h"
#include "core/contract/parser.h"
#include "core/record/schema.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace penstock::core {

// What a look at a source saw.
struct SourceSight {
  // Of the first buffer; 0: there was none.
  uint64_t records = 0;
  uint64_t bytes = 0;
  // Whether nothing will come because the input is over.
  bool end_of_input = false;
};

struct SourceProbeOptions {
  std::unique_ptr<InputEndpoint> source;
  // Null if the source makes records itself.
  std::unique_ptr<Parser> parser;
  Schema schema;
  std::optional<FtModel> level;
  // How long it waits for a record.
  absl::Duration patience = absl::Seconds(5);
};

// Opens the source where its configuration says, lets it stage one buffer, and
// closes it. Nothing is flushed, so that nothing is acknowledged upstream.
//
// Owner:     whoever made it shares it with its tasks.
// Threads:   thread-safe; opens, closes and calls `done` on `io`, which it
// never
//            keeps while it waits.
// Lifecycle: Start once; then `done` is called once: after the first buffer, an
//            error that nothing good preceded, the end of input, `patience`, or
//            Cancel.
// Bound:     what a source stages while it may stage one byte.
// Errors:    the source's own, the last one it met where time ran out; its
//            first bad record as MALFORMED_FRAME; CANCELLED.
class SourceProbe {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<SourceSight>)>;
  static std::shared_ptr<SourceProbe> Make(SourceProbeOptions options,
                                           Executor& io, Done done);
  virtual ~SourceProbe() = default;
  virtual void Start() = 0;
  // Also before Start.
  virtual void Cancel() = 0;
};

}  // namespace penstock::core
