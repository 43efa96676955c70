// Commands that show how connectors stand: `top`, `errors`, `checkpoints`.
#pragma once

#include "client/cli/exit_code.h"
#include "client/cli/worker_query.h"

#include <absl/time/time.h>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::client {

struct ReportOptions {
  WorkerTarget worker;
  // Empty: all.
  std::string connector;
  // Of `errors`: only those with this tag.
  std::string tag;
  std::string format = "table";
  // Of `top`: one snapshot, without a screen; how often it looks.
  bool once = false;
  double interval_seconds = 1;
};

// What flows now, refreshed until a signal comes.
CliExit RunTop(const ReportOptions& options);
// The last errors of connectors, newest first.
CliExit RunErrors(const ReportOptions& options);
// How far steps are made, released, completed, checkpointed, and what blocks.
CliExit RunCheckpoints(const ReportOptions& options);

// "unflushed_shard of shard 1 at step 3 for 2s; ...", or "".
std::string BlockersOf(const core::ConnectorStatus& status, absl::Time now);

// The table of `top`. `before` is the look before `now`, `between` earlier;
// connectors that it does not have, or that were opened again, have no rate.
std::string TopTable(const std::vector<core::ConnectorStatus>& before,
                     const std::vector<core::ConnectorStatus>& now,
                     absl::Duration between);

}  // namespace penstock::client
