// Connectors whose controller is gone (rule 13).
// See server/dispatch/README.md.
#pragma once

#include "core/base/executor.h"
#include "core/base/mutex.h"
#include "core/connector/connector.h"
#include "server/dispatch/connector_table.h"
#include "server/dispatch/pipeline_fences.h"

#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace penstock::server {

// Looks now and then, as long as there is a connector with a timeout, whether
// its pipeline has been without command and session for so long; then tells
// it. A command ends it, which is the connector's to see.
//
// Owner:     the dispatcher; shared with its task, which holds it weakly.
// Threads:   thread-safe; looks on `executor`. Blocks: never.
// Bound:     one task.
class Orphans : public std::enable_shared_from_this<Orphans> {
 public:
  // `by_default`: of connectors whose specification says nothing.
  Orphans(std::shared_ptr<ConnectorTable> table,
          std::shared_ptr<PipelineFences> fences, core::Executor& executor,
          absl::Duration by_default)
      : table_(std::move(table)),
        fences_(std::move(fences)),
        executor_(executor),
        by_default_(by_default) {}

  // A connector was opened or updated.
  void Watch(const core::Connector& connector);

 private:
  absl::Duration TimeoutOf(const core::Connector& connector) const {
    return connector.orphan_timeout().value_or(by_default_);
  }
  void Look(uint64_t chain);
  // A task that looks often enough for that.
  void Schedule(absl::Duration shortest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Shared by: the dispatcher and this.
  const std::shared_ptr<ConnectorTable> table_;
  const std::shared_ptr<PipelineFences> fences_;
  core::Executor& executor_;
  const absl::Duration by_default_;
  core::Mutex mu_;
  // The task that goes on; one of before ends.
  uint64_t chain_ ABSL_GUARDED_BY(mu_) = 0;
  // The shortest of those that were watched since the task's last look began.
  absl::Duration noted_ ABSL_GUARDED_BY(mu_) = absl::InfiniteDuration();
  // Its shortest timeout; infinite: there is no task.
  absl::Duration shortest_ ABSL_GUARDED_BY(mu_) = absl::InfiniteDuration();
};

}  // namespace penstock::server
