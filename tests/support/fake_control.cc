#include "tests/support/fake_control.h"

#include "core/base/error.h"
#include "tests/support/fake_control_life.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace fake_control {

std::string PositionAt(size_t record) {
  return absl::StrCat("{\"at\":", record, "}");
}

std::optional<size_t> ParsePosition(absl::string_view json) {
  size_t at = 0;
  if (!absl::ConsumePrefix(&json, "{\"at\":") ||
      !absl::ConsumeSuffix(&json, "}") || !absl::SimpleAtoi(json, &at)) {
    return std::nullopt;
  }
  return at;
}

absl::Status Lost() {
  return MakeError(Reason::UNAVAILABLE, "the network lost it");
}

FakeControl::Call CallOf(ControlVerb verb, const CommandHeader& header,
                         Step step) {
  FakeControl::Call call;
  call.verb = verb;
  call.connector = header.ref.connector;
  call.request_id = header.request_id;
  call.step = step;
  call.released_steps = header.released_steps;
  return call;
}

}  // namespace fake_control

using fake_control::CallOf;
using fake_control::Lost;
using fake_control::ParsePosition;
using fake_control::PositionAt;

FakeControl::FakeControl(Executor& executor, FakeOutside& outside)
    : executor_(executor), outside_(outside) {}
FakeControl::~FakeControl() = default;

// ------------------------------------------------------------- faults, wire

void FakeControl::LoseRequests(ControlVerb verb, int count) {
  faults_[verb].push_back({aim_, count, false, Lost()});
}
void FakeControl::LoseReplies(ControlVerb verb, int count) {
  faults_[verb].push_back({aim_, count, true, Lost()});
}
void FakeControl::FailNext(ControlVerb verb, int count, absl::Status status) {
  faults_[verb].push_back({aim_, count, false, std::move(status)});
}
void FakeControl::MakeNoStep(NoStepReason reason, int count) {
  no_step_ = reason;
  no_steps_ = count;
}
void FakeControl::AimAt(std::string connector) { aim_ = std::move(connector); }
void FakeControl::HealAll() {
  faults_.clear();
  no_steps_ = 0;
  away_ = false;
}
void FakeControl::SetAway(bool away) { away_ = away; }

FakeControl::Fault FakeControl::TakeFault(const Call& call) {
  if (away_) return {"", 1, false, Lost()};
  for (Fault& fault : faults_[call.verb]) {
    if (fault.count == 0) continue;
    if (!fault.connector.empty() && fault.connector != call.connector) continue;
    --fault.count;
    return fault;
  }
  return {"", 0, true, absl::OkStatus()};
}

void FakeControl::CarryDone(Call call, Done done,
                            absl::AnyInvocable<absl::Status()> act) {
  Carry<bool>(
      std::move(call),
      [done = std::move(done)](absl::StatusOr<bool> result) mutable {
        done(result.status());
      },
      [act = std::move(act)](Reply<bool> answer) mutable {
        absl::Status status = act();
        if (!status.ok()) return answer(std::move(status));
        answer(true);
      });
}

void FakeControl::Restart() {
  ++generation_;
  auto lives = std::exchange(lives_, {});
  for (auto& [name, life] : lives) {
    if (life->running.has_value()) life->queue_reply(Lost());
    for (const auto& prepare : life->prepares) prepare->reply(Lost());
  }
}

void FakeControl::Fail(const std::string& connector) {
  Life& life = *lives_.at(connector);
  life.state = ConnectorState::kFailed;
  if (!life.running.has_value()) return;
  life.running.reset();
  life.queue_reply(MakeError(Reason::CONNECTOR_FAILED, "its sink gave up"));
}

size_t FakeControl::CountOf(ControlVerb verb) const {
  return static_cast<size_t>(
      std::count_if(calls_.begin(), calls_.end(),
                    [verb](const Call& call) { return call.verb == verb; }));
}

const std::string* FakeControl::InstanceOf(const std::string& name) const {
  const auto found = lives_.find(name);
  return found == lives_.end() ? nullptr : &found->second->instance;
}

// ------------------------------------------------------------ fence, release

absl::Status FakeControl::CheckFence(const Fence& fence) {
  FakeOutside::Fenced& fenced = outside_.fences[fence.pipeline];
  if (fence.epoch < fenced.epoch) {
    return MakeError(Reason::STALE_EPOCH, "a higher epoch commands");
  }
  if (fence.epoch == fenced.epoch && fence.nonce != fenced.nonce) {
    return MakeError(Reason::EPOCH_TAKEN, "another has this epoch");
  }
  fenced = {fence.epoch, fence.nonce};
  return absl::OkStatus();
}

absl::StatusOr<FakeControl::Life*> FakeControl::Enter(
    const CommandHeader& header) {
  if (absl::Status s = CheckFence(header.fence); !s.ok()) return s;
  const auto found = lives_.find(header.ref.connector);
  if (found == lives_.end()) {
    return MakeError(Reason::NO_SUCH_CONNECTOR, "no such connector");
  }
  Life& life = *found->second;
  if (life.instance != header.ref.instance) {
    return MakeError(Reason::INSTANCE_MISMATCH, "another life of it");
  }
  if (header.released_steps.has_value()) {
    absl::Status s = ReleaseSteps(life, *header.released_steps);
    if (!s.ok()) return s;
  }
  return &life;
}

absl::Status FakeControl::ReleaseSteps(Life& life, Step released_steps) {
  if (released_steps > life.made_steps) {
    return MakeError(Reason::RELEASE_AHEAD, "released above what was made");
  }
  life.released_steps = std::max(life.released_steps, released_steps);
  life.retained.erase(life.retained.begin(),
                      life.retained.lower_bound(life.released_steps));
  Commit(life);
  return absl::OkStatus();
}

void FakeControl::LookAgain() {
  for (auto& [name, life] : lives_) {
    Commit(*life);
    AnswerQueue(*life);
  }
}

// Commits to the target what may be, in order; completed follows.
void FakeControl::Commit(Life& life) {
  FakeOutside::Connector& outside = *life.outside;
  const bool exactly_once = life.open_reply.level == FtModel::kExactlyOnce;
  while (!life.staged.empty() && !outside.held) {
    const auto first = life.staged.begin();
    if (exactly_once) {
      if (first->first >= life.released_steps) break;
      if (outside.writer != life.writer) {
        life.state = ConnectorState::kFailed;
        return;
      }
      outside.progress = first->first + 1;
    }
    outside.rows.insert(outside.rows.end(), first->second.begin(),
                        first->second.end());
    life.staged.erase(first);
  }
  life.completed_steps =
      life.staged.empty() ? life.made_steps : life.staged.begin()->first;
  AnswerPrepares(life);
}

void FakeControl::AnswerPrepares(Life& life) {
  std::erase_if(life.prepares, [&](const auto& prepare) {
    if (!prepare->reply || life.completed_steps < prepare->steps) return false;
    if (life.outside->progress.has_value()) {
      life.outside->progress =
          std::max(*life.outside->progress, prepare->steps);
    }
    prepare->reply(PrepareCheckpointReply{.ready = true, .blockers = {}});
    return true;
  });
}

// ------------------------------------------------------------------ lifecycle

namespace {

// Whether the target lets that open in.
absl::Status CheckTarget(const OpenRequest& request,
                         const FakeOutside::Connector& outside,
                         const std::string& spec) {
  if (outside.progress.has_value() &&
      outside.incarnation != request.incarnation) {
    return MakeError(Reason::FOREIGN_PROGRESS, "another store's progress");
  }
  if (request.writer <= outside.writer) {
    return MakeError(Reason::WRITER_FENCED, "a higher writer was here");
  }
  if (!outside.progress.has_value()) {
    if (request.first_open) return absl::OkStatus();
    return MakeError(Reason::PROGRESS_LOST, "progress is gone");
  }
  const Step progress = *outside.progress;
  if (progress < request.base_steps) {
    return MakeError(Reason::PROGRESS_BEHIND, "behind the checkpoint");
  }
  if (progress > std::max(request.base_steps, request.journaled_steps)) {
    return MakeError(Reason::PROGRESS_AHEAD, "ahead of the journal");
  }
  const bool is_clean = progress == request.base_steps &&
                        request.journaled_steps <= request.base_steps;
  if (outside.spec == spec || is_clean) return absl::OkStatus();
  return MakeError(Reason::INVALID_CONFIG, "another spec needs a clean cut");
}

}  // namespace

absl::StatusOr<OpenReply> FakeControl::DoOpen(const OpenRequest& request) {
  if (absl::Status s = CheckFence(request.fence); !s.ok()) return s;
  const std::string& name = request.spec.name;
  if (const auto found = lives_.find(name); found != lives_.end()) {
    if (found->second->open_request_id == request.request_id) {
      return found->second->open_reply;
    }
    return MakeError(Reason::ALREADY_EXISTS, "delete it first");
  }
  const auto entry = outside_.connectors.find(name);
  if (entry == outside_.connectors.end()) {
    return MakeError(Reason::INVALID_CONFIG, "unknown connector");
  }
  FakeOutside::Connector& outside = entry->second;
  const auto at =
      request.position.has_value() ? ParsePosition(*request.position) : 0;
  if (!at.has_value() || *at > outside.records.size()) {
    return MakeError(Reason::POSITION_EXPIRED, "no such position");
  }
  const std::string spec =
      request.spec_bytes.substr(0, request.spec_bytes.find('#'));
  auto life = std::make_unique<Life>();
  if (outside.level == FtModel::kExactlyOnce) {
    absl::Status taken = CheckTarget(request, outside, spec);
    if (!taken.ok()) return taken;
    const Step progress = outside.progress.value_or(request.base_steps);
    outside.progress = progress;
    outside.spec = spec;
    outside.writer = request.writer;
    outside.incarnation = request.incarnation;
    life->open_reply.shard_progress = {progress};
  }
  life->name = name;
  life->pipeline = request.fence.pipeline;
  life->instance = absl::StrCat("instance-", ++instances_);
  life->open_request_id = request.request_id;
  life->writer = request.writer;
  life->spec = spec;
  life->at = *at;
  life->base_steps = life->made_steps = life->released_steps =
      life->completed_steps = life->checkpointed_steps = request.base_steps;
  life->outside = &outside;
  life->open_reply.instance = life->instance;
  life->open_reply.position = PositionAt(*at);
  life->open_reply.base_steps = request.base_steps;
  life->open_reply.level = outside.level;
  return (lives_[name] = std::move(life))->open_reply;
}

void FakeControl::Open(OpenRequest request, Reply<OpenReply> reply) {
  Call call;
  call.verb = ControlVerb::kOpen;
  call.connector = request.spec.name;
  call.request_id = request.request_id;
  call.step = request.base_steps;
  call.open = request;
  Carry<OpenReply>(std::move(call), std::move(reply),
                   [this, request = std::move(request)](
                       Reply<OpenReply> answer) { answer(DoOpen(request)); });
}

absl::StatusOr<std::vector<ReconciledConnector>> FakeControl::DoReconcile(
    const ReconcileRequest& request) {
  if (absl::Status s = CheckFence(request.fence); !s.ok()) return s;
  std::vector<ReconciledConnector> outcomes;
  std::map<std::string, bool> desired;
  for (const DesiredConnector& one : request.connectors) {
    desired[one.connector] = true;
    const auto found = lives_.find(one.connector);
    if (found == lives_.end()) {
      outcomes.push_back({one.connector, Reconciliation::kMissing, "not open"});
      continue;
    }
    const Life& life = *found->second;
    const bool agrees = life.state != ConnectorState::kFailed &&
                        life.made_steps >= one.journaled_steps;
    outcomes.push_back(
        {one.connector,
         agrees ? Reconciliation::kReused : Reconciliation::kChanged, ""});
  }
  std::erase_if(lives_, [&](const auto& item) {
    if (item.second->pipeline != request.fence.pipeline ||
        desired.contains(item.first)) {
      return false;
    }
    outcomes.push_back({item.first, Reconciliation::kDropped, "not desired"});
    return true;
  });
  return outcomes;
}

void FakeControl::Reconcile(ReconcileRequest request,
                            Reply<std::vector<ReconciledConnector>> reply) {
  if (!reconciles_) {
    return Control::Reconcile(std::move(request), std::move(reply));
  }
  Call call;
  call.verb = ControlVerb::kReconcile;
  Carry<std::vector<ReconciledConnector>>(
      std::move(call), std::move(reply),
      [this, request = std::move(request)](auto answer) {
        answer(DoReconcile(request));
      });
}

void FakeControl::Delete(CommandHeader header, DisconnectRequest /*request*/,
                         Reply<DisconnectReply> reply) {
  Call call = CallOf(ControlVerb::kDelete, header);
  Carry<DisconnectReply>(
      std::move(call), std::move(reply),
      [this, header = std::move(header)](Reply<DisconnectReply> answer) {
        if (absl::Status s = CheckFence(header.fence); !s.ok()) {
          return answer(std::move(s));
        }
        const auto found = lives_.find(header.ref.connector);
        if (found == lives_.end()) return answer(DisconnectReply{});
        if (!header.ref.instance.empty() &&
            header.ref.instance != found->second->instance) {
          return answer(MakeError(Reason::INSTANCE_MISMATCH, "another life"));
        }
        const std::unique_ptr<Life> life = std::move(found->second);
        lives_.erase(found);
        if (life->running.has_value()) {
          life->queue_reply(MakeError(Reason::CANCELLED, "disconnected"));
        }
        for (const auto& prepare : life->prepares) {
          prepare->reply(MakeError(Reason::CANCELLED, "disconnected"));
        }
        answer(DisconnectReply{});
      });
}

void FakeControl::Disconnect(CommandHeader header, DisconnectRequest request,
                             Reply<DisconnectReply> reply) {
  Delete(std::move(header), request, std::move(reply));
}

void FakeControl::Get(std::string connector, Reply<ConnectorStatus> reply) {
  Call call;
  call.verb = ControlVerb::kGet;
  call.connector = connector;
  Carry<ConnectorStatus>(
      std::move(call), std::move(reply),
      [this, connector](Reply<ConnectorStatus> answer) {
        const auto found = lives_.find(connector);
        if (found == lives_.end()) {
          return answer(MakeError(Reason::NO_SUCH_CONNECTOR, "none"));
        }
        answer(StatusOf(*found->second));
      });
}

ConnectorStatus FakeControl::StatusOf(const Life& life) const {
  ConnectorStatus status;
  status.name = life.name;
  status.pipeline = life.pipeline;
  status.instance = life.instance;
  status.spec_bytes = life.spec;
  status.incarnation = life.outside->incarnation;
  status.writer = life.writer;
  status.level = life.outside->level;
  status.state = life.state;
  if (life.running.has_value()) status.running_step = life.running->step;
  status.base_steps = life.base_steps;
  status.made_steps = life.made_steps;
  status.released_steps = life.released_steps;
  for (const auto& [step, result] : life.retained) {
    status.retained_steps.push_back(step);
  }
  status.completed_steps = life.completed_steps;
  status.checkpointed_steps = life.checkpointed_steps;
  status.parse_errors = outside_.connectors.at(life.name).bad_records;
  if (edit_status_) edit_status_(status);
  return status;
}

void FakeControl::List(Reply<std::vector<ConnectorStatus>> reply) {
  Call call;
  call.verb = ControlVerb::kList;
  Carry<std::vector<ConnectorStatus>>(
      std::move(call), std::move(reply),
      [this](Reply<std::vector<ConnectorStatus>> answer) {
        std::vector<ConnectorStatus> statuses;
        for (const auto& [name, life] : lives_) {
          statuses.push_back(StatusOf(*life));
        }
        answer(std::move(statuses));
      });
}

// ---------------------------------------------------------- the other commands

void FakeControl::Extend(CommandHeader header, Done done) {
  CarryDone(CallOf(ControlVerb::kExtend, header), std::move(done),
            [this, header]() -> absl::Status {
              absl::StatusOr<Life*> life = Enter(header);
              if (!life.ok()) return life.status();
              if (!(*life)->request_ids.insert(header.request_id).second) {
                return absl::OkStatus();
              }
              if ((*life)->state == ConnectorState::kRunning) {
                return MakeError(Reason::ILLEGAL_TRANSITION, "extended");
              }
              if ((*life)->state == ConnectorState::kFailed) {
                return MakeError(Reason::CONNECTOR_FAILED, "it failed");
              }
              (*life)->state = ConnectorState::kRunning;
              return absl::OkStatus();
            });
}

void FakeControl::Pause(CommandHeader header, Done done) {
  CarryDone(CallOf(ControlVerb::kPause, header), std::move(done),
            [this, header]() -> absl::Status {
              absl::StatusOr<Life*> life = Enter(header);
              if (!life.ok()) return life.status();
              if (!(*life)->request_ids.insert(header.request_id).second) {
                return absl::OkStatus();
              }
              if ((*life)->state != ConnectorState::kRunning) {
                return MakeError(Reason::ILLEGAL_TRANSITION, "not running");
              }
              (*life)->state = ConnectorState::kPaused;
              EndQueue(**life, NoStepReason::kPaused);
              return absl::OkStatus();
            });
}

void FakeControl::Release(CommandHeader header, Done done) {
  CarryDone(CallOf(ControlVerb::kRelease, header), std::move(done),
            [this, header] { return Enter(header).status(); });
}

void FakeControl::PrepareCheckpoint(CommandHeader header,
                                    PrepareCheckpointRequest request,
                                    Reply<PrepareCheckpointReply> reply) {
  Call call = CallOf(ControlVerb::kPrepareCheckpoint, header, request.steps);
  Carry<PrepareCheckpointReply>(
      std::move(call), std::move(reply),
      [this, header = std::move(header),
       request](Reply<PrepareCheckpointReply> answer) {
        absl::StatusOr<Life*> entered = Enter(header);
        if (!entered.ok()) return answer(entered.status());
        Life& life = **entered;
        if (life.state == ConnectorState::kFailed) {
          return answer(MakeError(Reason::CONNECTOR_FAILED, "it failed"));
        }
        EndQueue(life, NoStepReason::kInterrupted);
        auto prepare = std::make_shared<Life::Prepare>();
        prepare->steps = request.steps;
        prepare->reply = std::move(answer);
        life.prepares.push_back(prepare);
        AnswerPrepares(life);
        executor_.ScheduleAfter(
            request.deadline,
            [this, alive = std::weak_ptr<bool>(alive_), name = life.name,
             weak = std::weak_ptr<Life::Prepare>(prepare)] {
              const auto late = weak.lock();
              if (alive.expired() || late == nullptr) return;
              std::erase(lives_.at(name)->prepares, late);
              late->reply(PrepareCheckpointReply{
                  .ready = false,
                  .blockers = {{.kind = Blocker::Kind::kUnflushedShard,
                                .step = late->steps,
                                .shard = 0,
                                .since = absl::InfinitePast(),
                                .text = "the target does not take it"}}});
            });
      });
}

void FakeControl::CommitCheckpoint(CommandHeader header,
                                   CommitCheckpointRequest request, Done done) {
  CarryDone(CallOf(ControlVerb::kCommitCheckpoint, header, request.steps),
            std::move(done), [this, header, request]() -> absl::Status {
              absl::StatusOr<Life*> life = Enter(header);
              if (!life.ok()) return life.status();
              if (request.steps > (*life)->completed_steps) {
                return MakeError(Reason::NOT_COMPLETED, "not completed");
              }
              (*life)->checkpointed_steps =
                  std::max((*life)->checkpointed_steps, request.steps);
              (*life)->outside->acknowledged_steps =
                  std::max((*life)->outside->acknowledged_steps,
                           (*life)->checkpointed_steps);
              return absl::OkStatus();
            });
}

}  // namespace penstock::core
