// Ends what a worker still hosts of a pipeline and should not.
// See client/controller/README.md.
#pragma once

#include "client/controller/backoff.h"
#include "client/controller/controller_context.h"
#include "client/controller/sweep_place.h"
#include "client/controller/task_scope.h"
#include "core/connector/requests.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <functional>
#include <vector>

namespace penstock::client {

// A connector that the pipeline file moved to another worker, or has no longer,
// stays open where it was: fenced, so that it can do no harm, but holding its
// memory, its sessions and its name. So does what stands at an address of a
// worker that is not in use, as of a process that was cut off. This looks once
// at each start what there is, and deletes it; where nobody answers it asks
// again, and holds nobody up meanwhile (INV-13). Two addresses may lead to one
// process: elsewhere a connector of the file is a stranger only once a later
// life of it has begun.
//
// Owner:   the controller, one for each worker and each other address.
// Threads: confined to its strand.
// Bound:   one call outstanding; where it is bounded, `kLooksMax` looks within
//          about twenty minutes, and it is told when they are over.
class WorkerSweep {
 public:
  static constexpr int kLooksMax = 30;
  static constexpr absl::Duration kBoundedDelayMax = absl::Minutes(1);
  enum class Asks { kUntilItAnswers, kBounded };

  // Whether one of the pipeline belongs there. On the strand.
  using Belongs = std::function<bool(const core::ConnectorStatus&)>;

  // `context` outlives it.
  WorkerSweep(SweepPlace place, Belongs belongs, Asks asks,
              ControllerContext& context)
      : place_(std::move(place)),
        belongs_(std::move(belongs)),
        asks_(asks),
        context_(context),
        backoff_(context.random, asks == Asks::kBounded ? kBoundedDelayMax
                                                        : Backoff::kDelayMax),
        timer_(context.tasks) {}

  void Look();

 private:
  void OnListed(absl::StatusOr<std::vector<core::ConnectorStatus>> statuses);
  void DeleteNext();
  void OnDeleted(const absl::Status& status);
  // Bounded: it looks again if something there seemed to belong there.
  void OnSwept();
  void LookLater(absl::string_view why);

  const SweepPlace place_;
  const Belongs belongs_;
  const Asks asks_;
  ControllerContext& context_;
  Backoff backoff_;
  ScopedTimer timer_;
  int looks_ = 0;
  bool some_belong_ = false;
  std::vector<core::ConnectorRef> strangers_;
};

}  // namespace penstock::client
