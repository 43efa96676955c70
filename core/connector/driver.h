// The driver of one connector: everything that decides runs here.
// See core/connector/README.md; upholds INV-1..INV-9, INV-11..INV-13.
#pragma once

#include "core/base/mutex.h"
#include "core/base/rate_limit.h"
#include "core/base/strand.h"
#include "core/connector/announcer.h"
#include "core/connector/checkpointing.h"
#include "core/connector/closing.h"
#include "core/connector/connector.h"
#include "core/connector/driver_state.h"
#include "core/connector/lanes.h"
#include "core/connector/mailbox.h"
#include "core/connector/opening.h"
#include "core/connector/queueing.h"
#include "core/connector/replaying.h"
#include "core/connector/requests.h"
#include "core/handoff/sink_handoff.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// A resumable state machine on a strand of the executor it was given. It never
// blocks: where it must wait it returns, and is called again by what it waits
// for (a command, the reader, room, an ack, an answer, its alarm).
//
//   Drive: serve immediate commands ─▶ hear reader, sink, answers ─▶
//          serve the ordered lane, unless a step holds it ─▶ go on with the
//          running Queue or Replay, checkpoints, closing ─▶ again, until
//          nothing moves
//
// Owner:     the Connector handle; tasks hold it weakly.
// Threads:   Submit, the snapshots and Shut are thread-safe; all else is
//            confined to the strand.
// Lifecycle: Create, commands, Shut. Whoever waits for an answer at its
//            destruction gets one: as at a Disconnect, or CANCELLED.
// Bound:     the lanes, as many calls again that wait for their turn, one step,
//            and what its parts say.
class Driver : public std::enable_shared_from_this<Driver> {
 public:
  static std::shared_ptr<Driver> Create(
      ConnectorRuntime runtime, OpenRequest request,
      std::unique_ptr<ConnectorObserver> observer);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver();

  // Hands over a command; runs the driver inside this call if it is idle.
  template <typename Call>
  void Submit(Call call) {
    state_.lanes.Push(std::move(call));
    Dispatch();
  }
  // Threads: thread-safe. Blocks: never. See Connector::GiveUpOpen.
  void GiveUpOpen();
  // Nothing is served any more; a task that is running ends by itself.
  void Shut() { strand_->Close(); }

  ConnectorStatus Status() const ABSL_LOCKS_EXCLUDED(published_mu_);
  std::shared_ptr<const StepResult> Retained(Step step) const {
    return state_.ledger.Retained(step);
  }
  ParseErrorCounts ParseErrors() const ABSL_LOCKS_EXCLUDED(published_mu_);
  std::shared_ptr<const ConnectorMetrics> CustomMetrics() const
      ABSL_LOCKS_EXCLUDED(published_mu_);
  std::optional<absl::Duration> orphan_timeout() const
      ABSL_LOCKS_EXCLUDED(published_mu_);
  const std::string& instance() const { return instance_; }
  const DriverState& state() const { return state_; }

 private:
  // What snapshots show of the confined state.
  struct Published {
    ConnectorState state = ConnectorState::kOpened;
    // As it runs now, which is as it was opened but for updates.
    std::string spec_bytes;
    std::optional<absl::Duration> orphan_timeout;
    std::optional<SpecAttempt> attempt;
    std::optional<absl::Time> orphaned_since;
    std::optional<FtModel> level;
    std::optional<Step> running_step;
    HandoffCounters handoff;
    uint64_t already_held_steps = 0;
    std::vector<uint64_t> parked_chunks;
    std::vector<Blocker> blockers;
    // Shared by: the driver and snapshots.
    std::shared_ptr<Consumer> consumer;
    std::shared_ptr<InflightBudget> budget;
    std::shared_ptr<AckTracker> tracker;
    std::shared_ptr<SinkParts> sink;
    std::shared_ptr<const ShardWorkers> workers;
  };
  using OpenAnswer = absl::StatusOr<std::unique_ptr<OpenedConnector>>;

  Driver(ConnectorRuntime runtime, OpenRequest request,
         std::unique_ptr<ConnectorObserver> observer,
         std::shared_ptr<Strand> strand, std::shared_ptr<Waker> waker);

  void Dispatch();
  void Drive();
  // One look at everything. kAgain: something moved.
  Work Turn();
  Work GoOn();

  // Commands.
  void ServeImmediate(std::vector<ImmediateCall> calls);
  void Serve(OpenCall& call);
  void Serve(ReleaseCall& call);
  void Serve(PrepareCall& call);
  void Serve(CommitCall& call);
  void Serve(DisconnectCall& call);
  void Serve(SupersedeCall& call);
  void Serve(DrainCall& call);
  void Serve(OrphanCall& call);
  void Serve(UpdateCall& call);
  // A controller is heard: what Serve(OrphanCall) did is undone.
  void EndOrphanhood();
  // Errors: why it is not taken over.
  absl::Status TakeSpec(const UpdateRequest& request,
                        absl::string_view running);
  // A command that came for the ordered lane: joins what runs, is refused, or
  // waits for its turn.
  void Arrive(OrderedCall call);
  void ArriveInReplay(OrderedCall call);
  // Beyond Lanes::kCallsMax the call is refused.
  void WaitForTurn(OrderedCall call);
  void ServeOrdered();
  void Serve(ReplayCall& call) { replay_.Ask(std::move(call)); }
  void Serve(ExtendCall& call);
  void Serve(PauseCall& call);
  void Serve(QueueCall& call) { queue_.Ask(std::move(call)); }
  bool LaneIsHeld() const { return queue_.has_begun() || replay_.is_active(); }

  // News.
  void Hear();
  void HearOpened();
  void FinishOpen(OpenAnswer answer);
  void TakeOver(OpenedConnector opened);
  void HearReader();
  void HearParseErrors(ReaderNews& news);
  void HearSink();
  void HearAcks();
  void AddError(absl::string_view tag, bool fatal, const absl::Status& error);

  // The connector is FAILED from now on.
  void Fail(const absl::Status& cause);
  void StopReading();
  void ReplyOpen(const absl::StatusOr<OpenReply>& reply);

  // Null before it is open.
  std::shared_ptr<Consumer> PublishedConsumer() const
      ABSL_LOCKS_EXCLUDED(published_mu_);
  void NoteHealth();
  void SetAlarm();
  void Publish() ABSL_LOCKS_EXCLUDED(published_mu_);

  const std::string instance_;
  // Shared by: this and its waker.
  const std::shared_ptr<Strand> strand_;
  // Shared by: this and the consumer's callback.
  const std::shared_ptr<Announcer> announcer_;

  // Confined to the strand, but for the parts of `state_` that are not.
  DriverState state_;
  QueueRunner queue_;
  ReplayRunner replay_;
  Checkpointer checkpointer_;
  Closer closer_;
  std::deque<OrderedCall> ordered_;

  bool opening_ = false;
  std::string opening_position_;
  std::vector<Step> opening_progress_;
  std::vector<ReplyTo<OpenReply>> open_replies_;
  // Disconnects that came while it opened.
  std::vector<DisconnectCall> disconnects_;
  // Shared by: this and the task that opens.
  const std::shared_ptr<Mailbox<OpenAnswer>> opened_;
  // Shared by: the same; see OpeningContext.
  const std::shared_ptr<std::atomic<bool>> is_open_decided_ =
      std::make_shared<std::atomic<bool>>(false);

  absl::Time flush_at_ = absl::InfiniteFuture();
  // What SetPending was told, so that it is told only news.
  enum class Waits { kNothing, kRoom, kSteps, kQueue };
  Waits waits_ = Waits::kNothing;
  absl::Time stall_at_ = absl::InfiniteFuture();
  bool stalled_ = false;
  absl::Time alarm_at_ = absl::InfiniteFuture();
  Strand::TimerId alarm_ = Strand::TimerId::kNone;
  uint64_t alarm_number_ = 0;
  RateLimit skip_log_;

  mutable Mutex published_mu_;
  Published published_ ABSL_GUARDED_BY(published_mu_);
};

}  // namespace penstock::core
