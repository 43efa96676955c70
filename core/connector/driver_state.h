// What the parts of one driver share.
// See core/connector/README.md.
#pragma once

#include "core/base/clock.h"
#include "core/base/executor.h"
#include "core/connector/blocked_counts.h"
#include "core/connector/connector.h"
#include "core/connector/consumer.h"
#include "core/connector/drain_scope.h"
#include "core/connector/health.h"
#include "core/connector/lanes.h"
#include "core/connector/outlet.h"
#include "core/connector/requests.h"
#include "core/connector/state_machine.h"
#include "core/connector/step_ledger.h"
#include "core/connector/waker.h"
#include "core/contract/count_watch.h"
#include "core/contract/endpoint.h"
#include "core/contract/ft_model.h"
#include "core/contract/reader.h"
#include "core/contract/resume.h"
#include "core/record/step.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace penstock::core {

// How often a reader that owes an answer is looked at, whether it has died.
inline constexpr absl::Duration kReaderCheck = absl::Seconds(1);
// What a caller is told to wait before it asks for room again.
inline constexpr absl::Duration kRoomRetryDelay = absl::Milliseconds(100);

// A step with more payload staged than this is not made on the thread of the
// command that asked for it, which may be one that must not be kept.
inline constexpr uint64_t kCallersThreadBytes = uint64_t{64} << 10;

// Owner:   the driver; outlives its parts.
// Threads: confined to the driver's strand, except for what says that it is
//          thread-safe: `lanes`, `ledger`, `health`, the watches.
struct DriverState {
  DriverState(ConnectorRuntime the_runtime, OpenRequest the_request,
              std::shared_ptr<Waker> the_waker)
      : runtime(the_runtime),
        request(std::move(the_request)),
        clock(runtime.executor.clock()),
        waker(std::move(the_waker)),
        ledger({.base_steps = request.base_steps,
                .retained_bytes_max = request.spec.limits.retained_bytes_max}),
        health(clock),
        completed(std::make_shared<CountWatch>(request.base_steps)),
        checkpointed(std::make_shared<CountWatch>(request.base_steps)) {}

  // Gives an answer once this look at everything is over and published, so
  // that whoever is answered sees a state that has it.
  template <typename Reply, typename Value>
  void Answer(Reply reply, Value value) {
    outbox.push_back(
        [reply = std::move(reply), value = std::move(value)]() mutable {
          reply(std::move(value));
        });
  }
  // One more who waits for the answer that `waiting` will get; beyond
  // Lanes::kCallsMax it is refused.
  template <typename Reply>
  void Join(std::vector<Reply>& waiting, Reply reply) {
    if (waiting.size() >= Lanes::kCallsMax) {
      return Answer(std::move(reply), TooManyCalls());
    }
    waiting.push_back(std::move(reply));
  }
  // Tells whoever watches.
  void MoveTo(ConnectorState next);
  // A step was made: its position, and what it means for checkpoints.
  void NoteStep(const StepResult& result);
  // Queue made one, whose records were asked for at that steady time.
  void NoteQueued(absl::Time asked_at);
  // From that steady time until now.
  void Measure(Timing what, absl::Time since) const;

  // As CheckTransition; of a FAILED connector it also says why (CauseOf).
  absl::Status CheckVerb(ReaderVerb verb) const;

  bool is_exactly_once() const { return level == FtModel::kExactlyOnce; }
  // Whether the reader is gone, or never was.
  bool is_reader_closed() const {
    return reader == nullptr || reader->IsClosed();
  }

  const ConnectorRuntime runtime;
  const OpenRequest request;
  const Clock& clock;
  // Shared by: the driver and all that wake it.
  const std::shared_ptr<Waker> waker;

  Lanes lanes;
  StepLedger ledger;
  HealthLog health;
  // Shared by: the connector, its source and watchers.
  const std::shared_ptr<CountWatch> completed;
  const std::shared_ptr<CountWatch> checkpointed;

  // This run of the driver may be inside the call that gave a command.
  bool on_callers_thread = false;
  // Changed by MoveTo.
  ConnectorState state = ConnectorState::kOpened;
  // May be null.
  std::function<void(ConnectorState previous, ConnectorState next)> on_state;
  // Steady times: of the Open, until the first new step is made; of the first
  // Drain.
  absl::Time opened_at = absl::InfinitePast();
  absl::Time drain_at = absl::InfinitePast();
  // Not OK once FAILED, for good.
  absl::Status failure;
  // Readers stopped for good, or until a takeover: Extend is refused.
  std::optional<DrainScope> draining;
  // It paused by itself, and since when nothing is heard of a controller.
  std::optional<absl::Time> orphaned_since;
  // It runs again since a command ended that: whoever saw it paused may extend.
  bool was_orphaned = false;

  // Set by Open.
  bool is_open = false;
  // False: an output-only connector.
  bool has_reader = false;
  ConnectorLimits limits;
  std::optional<FtModel> level;
  // The consumer outlives the reader. Shared by: the task that destroys it.
  std::shared_ptr<Consumer> consumer;
  std::unique_ptr<InputEndpoint> source;
  std::unique_ptr<InputReader> reader;
  std::unique_ptr<Outlet> outlet;

  // The position behind the last step; or, where that is too large for each
  // step, what the last step changed of it.
  Resume position;
  // That is whole, or there is none.
  bool has_whole_position = true;
  bool final_step_made = false;
  uint64_t already_held_steps = 0;
  // Counts at which no checkpoint can be taken.
  BlockedCounts barriers;
  BlockedCounts transactions;
  std::vector<absl::AnyInvocable<void()>> outbox;
  // Something that observers see changed since they were told.
  bool changed = false;
};

// What commands under way are told when the connector fails: `cause` if
// programs can tell its reason, otherwise CONNECTOR_FAILED around it.
absl::Status FailedBecause(const absl::Status& cause);

}  // namespace penstock::core
