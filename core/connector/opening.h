// Opens a connector's two ends and decides at which level it runs.
// See core/connector/README.md; upholds INV-7.
#pragma once

#include "core/base/executor.h"
#include "core/connector/connector.h"
#include "core/connector/consumer.h"
#include "core/connector/outlet.h"
#include "core/connector/registry.h"
#include "core/connector/requests.h"
#include "core/connector/waker.h"
#include "core/contract/count_watch.h"
#include "core/contract/endpoint.h"
#include "core/contract/ft_model.h"
#include "core/contract/output_target.h"
#include "core/contract/parser.h"
#include "core/contract/reader.h"
#include "core/contract/row_encoder.h"
#include "core/handoff/budget.h"
#include "core/handoff/router.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// What opening needs of the process and of the connector that is made. Values
// and references to what outlives every connector: it runs on an I/O thread
// while its connector may die.
struct OpeningContext {
  ConnectorRuntime runtime;
  OpenRequest request;
  // Shared by: the driver and all that wake it.
  std::shared_ptr<Waker> waker;
  // Shared by: the connector, its source and watchers.
  std::shared_ptr<CountWatch> completed;
  std::shared_ptr<CountWatch> checkpointed;
  std::function<void()> on_changed;
  // Set by whoever is first: the task that opens once it has an answer, or who
  // gives the open up. Then an open ends at its next step, with CANCELLED.
  // Shared by: the driver and that task.
  std::shared_ptr<std::atomic<bool>> is_decided =
      std::make_shared<std::atomic<bool>>(false);
};

// An open connector without its driver. Members die in reverse: the reader
// before its consumer.
struct OpenedConnector {
  ConnectorLimits limits;
  std::optional<FtModel> level;
  RouteKind route = RouteKind::kKeyHash;
  std::shared_ptr<InflightBudget> budget;
  std::unique_ptr<RowEncoder> encoder;
  // Shared by: see SinkParts.
  std::shared_ptr<SinkParts> sink;
  // The target's Open succeeded, so that Close is owed to it.
  bool sink_is_open = false;
  // Of each shard; empty below exactly-once.
  std::vector<Step> progress;
  // Shared by: the driver and the task that destroys the reader. Null, as the
  // reader, without a source.
  std::shared_ptr<Consumer> consumer;
  std::unique_ptr<InputEndpoint> source;
  std::unique_ptr<InputReader> reader;
  // Where the source starts: seek JSON.
  std::string position;
};

// The level of a connector between a source and a sink of these levels (a
// missing source has none to give and asks nothing). `asked` beyond what both
// can give: LEVEL_REFUSED naming who cannot, or, if `allow_lower`, the lower.
absl::StatusOr<std::optional<FtModel>> DecideLevel(
    std::optional<FtModel> asked, bool allow_lower, bool has_source,
    std::optional<FtModel> source, std::optional<FtModel> sink);

// A connector's parts, made of its specification; nothing outside was touched.
struct ConnectorParts {
  ConnectorLimits limits;
  RouteKind route = RouteKind::kKeyHash;
  // The level it runs at.
  std::optional<FtModel> level;
  // Null, as the parser, without a source; one that makes records itself has no
  // parser, either.
  std::unique_ptr<InputEndpoint> source;
  std::unique_ptr<Parser> parser;
  std::unique_ptr<OutputTarget> target;
  std::unique_ptr<RowEncoder> encoder;
};

// What Open does first, and a dry run as well.
// Errors: INVALID_CONFIG, LEVEL_REFUSED, what the factories find wrong.
absl::StatusOr<ConnectorParts> MakeParts(const ConnectorSpec& spec,
                                         const Registry& registry,
                                         const Environment& environment);

// Rule 7's look at each shard's progress when it is opened: PROGRESS_BEHIND
// below the checkpoint, PROGRESS_AHEAD above the journal, PROGRESS_LOST where
// a shard has none.
absl::Status CheckProgress(const std::vector<Step>& progress, uint32_t shards,
                           Step base_steps, Step journaled_steps);

// What an open that was given up is answered with.
absl::Status GivenUp();

// Checks the specification, makes the components, opens the target, then the
// source. On an error everything that was opened is closed again.
// Blocks: for I/O. Errors: as Connector::Open.
absl::StatusOr<std::unique_ptr<OpenedConnector>> OpenConnector(
    const OpeningContext& context);

// Closes what was opened and will not be used after all. Blocks: for I/O.
void CloseUnused(std::unique_ptr<OpenedConnector> opened);

}  // namespace penstock::core
