// A worker in miniature behind core::Control: real fence, instances, steps,
// release, replay and target; records are strings. For tests of controllers.
#pragma once

#include "core/base/executor.h"
#include "core/connector/control.h"
#include "core/connector/requests.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// What survives a worker: sources, targets, its own fence file.
// Threads: thread-compatible.
struct FakeOutside {
  struct Connector {
    // The source. More may be added at its end at any time.
    std::vector<std::string> records;
    // Whether the source ends behind the last record.
    bool ends = true;
    size_t records_per_step = 10;
    // What each step's replay is; empty: as of a source that needs none.
    std::string replay;
    // False: a position is complete only if `checkpoint_requested` was set.
    bool positions_complete = true;
    std::optional<FtModel> level = FtModel::kExactlyOnce;
    // What the source was told: acknowledge below this count.
    Step acknowledged_steps = 0;
    // The target.
    std::vector<std::string> rows;
    std::optional<Step> progress;
    std::string incarnation;
    Writer writer;
    // What the progress was kept with: see FakeControl.
    std::string spec;
    // Released steps wait while it is held.
    bool held = false;
    // What a status counts as not parsed.
    uint64_t bad_records = 0;
  };
  struct Fenced {
    uint64_t epoch = 0;
    std::string nonce;
  };
  std::map<std::string, Connector> connectors;
  std::map<std::string, Fenced> fences;
};

enum class ControlVerb {
  kOpen,
  kDelete,
  kReplay,
  kExtend,
  kPause,
  kQueue,
  kRelease,
  kPrepareCheckpoint,
  kCommitCheckpoint,
  kDisconnect,
  kGet,
  kList,
  kReconcile,
};

// What stands before a '#' in `spec_bytes` goes into the hash of every step,
// and the target takes another only where its progress is at the base and
// nothing is journaled above; what stands behind changes nothing.
//
// Owner:     the test. Threads: confined to the executor's thread.
// Lifecycle: destruction is the worker's death; what it had not answered is
//            never answered.
class FakeControl final : public Control {
 public:
  // One call as it came in, whatever became of it.
  struct Call {
    ControlVerb verb = ControlVerb::kGet;
    std::string connector;
    std::string request_id;
    // Of Queue, Replay; the count of Prepare- and CommitCheckpoint.
    Step step = 0;
    std::optional<Step> released_steps;
    bool checkpoint_requested = false;
    std::optional<OpenRequest> open;
  };

  FakeControl(Executor& executor, FakeOutside& outside);
  ~FakeControl() override;

  void Open(OpenRequest request, Reply<OpenReply> reply) override;
  void Delete(CommandHeader header, DisconnectRequest request,
              Reply<DisconnectReply> reply) override;
  void Replay(CommandHeader header, ReplayRequest request,
              Reply<ReplayReply> reply) override;
  void Extend(CommandHeader header, Done done) override;
  void Pause(CommandHeader header, Done done) override;
  void Queue(CommandHeader header, QueueRequest request,
             Reply<QueueReply> reply) override;
  void Release(CommandHeader header, Done done) override;
  void PrepareCheckpoint(CommandHeader header, PrepareCheckpointRequest request,
                         Reply<PrepareCheckpointReply> reply) override;
  void CommitCheckpoint(CommandHeader header, CommitCheckpointRequest request,
                        Done done) override;
  void Disconnect(CommandHeader header, DisconnectRequest request,
                  Reply<DisconnectReply> reply) override;
  // UNSUPPORTED until SetReconciles.
  void Reconcile(ReconcileRequest request,
                 Reply<std::vector<ReconciledConnector>> reply) override;
  void Get(std::string connector, Reply<ConnectorStatus> reply) override;
  void List(Reply<std::vector<ConnectorStatus>> reply) override;

  // The next `count` calls of `verb` are not carried out and answer UNAVAILABLE
  // (request lost) or are, and answer UNAVAILABLE (reply lost).
  void LoseRequests(ControlVerb verb, int count);
  void LoseReplies(ControlVerb verb, int count);
  // They are not carried out and answer `status`.
  void FailNext(ControlVerb verb, int count, absl::Status status);
  // How long it takes until a loss is noticed; 20 ms at first.
  void SetLostAnswerDelay(absl::Duration delay) { lost_answer_delay_ = delay; }
  // The next `count` Queues that would begin a step answer that none was made.
  void MakeNoStep(NoStepReason reason, int count);
  // Only calls that name this connector are touched by the first three; empty:
  // all. Set before them.
  void AimAt(std::string connector);
  // From now on it compares, as over a Session.
  void SetReconciles() { reconciles_ = true; }
  // Takes back what is left of all faults.
  void HealAll();
  // Every call answers UNAVAILABLE until it is back.
  void SetAway(bool away);
  // The process is killed and started again: no connector is left, and what
  // was under way answers UNAVAILABLE.
  void Restart();
  // The connector becomes FAILED.
  void Fail(const std::string& connector);
  // Every status is shown as `edit` leaves it.
  void EditStatuses(std::function<void(ConnectorStatus&)> edit) {
    edit_status_ = std::move(edit);
  }
  // After a change outside: records were added, `held` was taken back.
  void LookAgain();

  const std::vector<Call>& calls() const { return calls_; }
  size_t CountOf(ControlVerb verb) const;
  // Null: there is none.
  const std::string* InstanceOf(const std::string& connector) const;

 private:
  struct Life;
  struct Fault;

  // Carries a call out at a later moment, and its answer at one later still.
  template <typename T>
  void Carry(Call call, Reply<T> reply, absl::AnyInvocable<void(Reply<T>)> act);
  void CarryDone(Call call, Done done, absl::AnyInvocable<absl::Status()> act);
  Fault TakeFault(const Call& call);

  ConnectorStatus StatusOf(const Life& life) const;
  absl::Status CheckFence(const Fence& fence);
  // Fence, connector, instance, then the release that came along.
  absl::StatusOr<Life*> Enter(const CommandHeader& header);
  absl::Status ReleaseSteps(Life& life, Step released_steps);
  void Commit(Life& life);
  void AnswerPrepares(Life& life);
  void AnswerQueue(Life& life);
  void EndQueue(Life& life, NoStepReason reason);
  void MakeStep(Life& life);
  std::shared_ptr<StepResult> Describe(Life& life, Step step, size_t from,
                                       size_t count);
  absl::StatusOr<std::vector<ReconciledConnector>> DoReconcile(
      const ReconcileRequest& request);
  absl::StatusOr<OpenReply> DoOpen(const OpenRequest& request);
  absl::StatusOr<ReplayReply> DoReplay(const CommandHeader& header,
                                       const ReplayRequest& request);
  void DoQueue(const CommandHeader& header, const QueueRequest& request,
               Reply<QueueReply> reply);

  Executor& executor_;
  FakeOutside& outside_;
  std::map<std::string, std::unique_ptr<Life>> lives_;
  std::vector<Call> calls_;
  std::map<ControlVerb, std::vector<Fault>> faults_;
  std::string aim_;
  absl::Duration lost_answer_delay_ = absl::Milliseconds(20);
  NoStepReason no_step_ = NoStepReason::kWaitOver;
  int no_steps_ = 0;
  bool away_ = false;
  bool reconciles_ = false;
  // May be null.
  std::function<void(ConnectorStatus&)> edit_status_;
  // Counts restarts; calls under way know theirs.
  uint64_t generation_ = 0;
  uint64_t instances_ = 0;
  // Expires with the worker.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace penstock::core
