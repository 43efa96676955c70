#include "server/rpc/watch_hub.h"

#include "core/base/error.h"
#include "proto/wire/connector_status.h"
#include "proto/wire/enums.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/step.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::server {

// What was last said of a connector.
struct WatchHub::Known {
  std::string instance;
  std::string pipeline;
  v1::ConnectorState state = v1::CONNECTOR_STATE_UNSPECIFIED;
  std::string health;
  bool end_of_input = false;
};

struct WatchHub::State : std::enable_shared_from_this<WatchHub::State> {
  State(std::string run, core::Executor& on)
      : run_id(std::move(run)), executor(on) {}

  v1::WatchEvent EventOf(const std::string& connector)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Publish(v1::WatchEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Coalesce(const v1::WatchEvent& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Deliver() ABSL_LOCKS_EXCLUDED(mu);
  void ScheduleRefresh(const std::string& connector)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Refresh() ABSL_LOCKS_EXCLUDED(mu);
  void Apply(const core::ConnectorStatus& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void PublishState(const std::string& connector, Known& was,
                    v1::ConnectorState state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  const std::string run_id;
  core::Executor& executor;
  mutable core::Mutex mu;
  const ConnectorStatuses* connectors ABSL_GUARDED_BY(mu) = nullptr;
  std::vector<std::shared_ptr<Watcher>> watchers ABSL_GUARDED_BY(mu);
  std::deque<v1::WatchEvent> kept ABSL_GUARDED_BY(mu);
  size_t kept_bytes ABSL_GUARDED_BY(mu) = 0;
  // Offered to the watchers outside the lock, in order, by one thread.
  std::deque<v1::WatchEvent> outgoing ABSL_GUARDED_BY(mu);
  bool delivering ABSL_GUARDED_BY(mu) = false;
  std::map<std::string, Known> known ABSL_GUARDED_BY(mu);
  // Counts up: what was looked up before may be of one that is gone.
  uint64_t removals ABSL_GUARDED_BY(mu) = 0;
  std::set<std::string> changed ABSL_GUARDED_BY(mu);
  bool refreshing ABSL_GUARDED_BY(mu) = false;
  // Refreshes that use `connectors` just now; none begins once `shut`.
  int looking ABSL_GUARDED_BY(mu) = 0;
  core::CondVar looked;
  uint64_t next ABSL_GUARDED_BY(mu) = 1;
  uint64_t watches ABSL_GUARDED_BY(mu) = 0;
  bool shut ABSL_GUARDED_BY(mu) = false;
};

namespace {

// The events that describe what is the case, without sequence numbers.
std::vector<v1::WatchEvent> SnapshotOf(const core::ConnectorStatus& status,
                                       absl::Time now, bool counters_only) {
  std::vector<v1::WatchEvent> events;
  const auto add = [&]() -> v1::WatchEvent& {
    v1::WatchEvent& event = events.emplace_back();
    event.set_connector(status.name);
    event.set_instance(status.instance);
    event.set_pipeline(status.pipeline);
    *event.mutable_time() = wire::TimeToProto(now);
    return event;
  };
  v1::WatchEvent::Buffered& buffered = *add().mutable_buffered();
  *buffered.mutable_queued() = wire::ToProto(status.queued);
  *buffered.mutable_total() = wire::ToProto(status.buffered_total);
  v1::WatchEvent::Blocked& blocked = *add().mutable_blocked();
  blocked.set_in_flight_bytes(status.inflight_bytes);
  uint64_t parked = 0;
  for (size_t i = 0; i < status.shards.size(); ++i) {
    if (status.shards[i].parked_chunks == 0) continue;
    parked += status.shards[i].parked_chunks;
    if (!blocked.has_shard()) blocked.set_shard(static_cast<uint32_t>(i));
  }
  blocked.set_parked_chunks(static_cast<uint32_t>(parked));
  blocked.set_blocked(parked > 0);
  add().mutable_completion()->set_completed_steps(status.completed_steps);
  add().mutable_checkpoint()->set_checkpointed_steps(status.checkpointed_steps);
  if (counters_only) return events;
  add().mutable_state_changed()->set_state(wire::ToProto(status.state));
  *add().mutable_health() = wire::HealthToProto(status);
  if (status.end_of_input) add().mutable_end_of_input();
  return events;
}

}  // namespace

v1::WatchEvent WatchHub::State::EventOf(const std::string& connector) {
  v1::WatchEvent event;
  event.set_connector(connector);
  if (const auto found = known.find(connector); found != known.end()) {
    event.set_instance(found->second.instance);
    event.set_pipeline(found->second.pipeline);
  }
  *event.mutable_time() = wire::TimeToProto(executor.clock().Now());
  return event;
}

void WatchHub::State::Publish(v1::WatchEvent event) {
  event.set_sequence(next++);
  kept_bytes += event.ByteSizeLong();
  kept.push_back(event);
  while (kept.size() > Watcher::kEventsMax || kept_bytes > Watcher::kBytesMax) {
    kept_bytes -= kept.front().ByteSizeLong();
    kept.pop_front();
  }
  if (!watchers.empty()) outgoing.push_back(std::move(event));
}

void WatchHub::State::Coalesce(const v1::WatchEvent& event) {
  if (!watchers.empty()) outgoing.push_back(event);
}

void WatchHub::State::Deliver() {
  while (true) {
    std::deque<v1::WatchEvent> events;
    std::vector<std::shared_ptr<Watcher>> receivers;
    {
      core::MutexLock lock(mu);
      if (delivering || outgoing.empty()) return;
      delivering = true;
      std::swap(events, outgoing);
      receivers = watchers;
    }
    for (const v1::WatchEvent& event : events) {
      for (const auto& watcher : receivers) watcher->Offer(event);
    }
    core::MutexLock lock(mu);
    delivering = false;
  }
}

void WatchHub::State::Apply(const core::ConnectorStatus& status) {
  Known& was = known[status.name];
  const bool fresh = was.instance != status.instance;
  if (fresh) was = Known{};
  was.instance = status.instance;
  was.pipeline = status.pipeline;
  if (fresh) PublishState(status.name, was, wire::ToProto(status.state));
  const std::string health = absl::StrCat(
      static_cast<int>(status.health.condition), "\n", status.health.reason);
  if (health != was.health) {
    v1::WatchEvent event = EventOf(status.name);
    *event.mutable_health() = wire::HealthToProto(status);
    was.health = health;
    Publish(std::move(event));
  }
  if (status.end_of_input && !was.end_of_input) {
    v1::WatchEvent event = EventOf(status.name);
    event.mutable_end_of_input();
    was.end_of_input = true;
    Publish(std::move(event));
  }
  if (watchers.empty()) return;
  for (const v1::WatchEvent& event :
       SnapshotOf(status, executor.clock().Now(), /*counters_only=*/true)) {
    Coalesce(event);
  }
}

void WatchHub::State::PublishState(const std::string& connector, Known& was,
                                   v1::ConnectorState state) {
  v1::WatchEvent event = EventOf(connector);
  event.mutable_state_changed()->set_previous(was.state);
  event.mutable_state_changed()->set_state(state);
  was.state = state;
  Publish(std::move(event));
}

void WatchHub::State::ScheduleRefresh(const std::string& connector) {
  changed.insert(connector);
  if (refreshing) return;
  refreshing = true;
  executor.ScheduleAfter(kRefresh,
                         [self = shared_from_this()] { self->Refresh(); });
}

void WatchHub::State::Refresh() {
  std::set<std::string> names;
  const ConnectorStatuses* from = nullptr;
  {
    core::MutexLock lock(mu);
    std::swap(names, changed);
    from = shut ? nullptr : connectors;
    refreshing = false;
    if (from == nullptr) return;
    ++looking;
  }
  for (const std::string& name : names) {
    uint64_t before = 0;
    {
      core::MutexLock lock(mu);
      before = removals;
    }
    const auto status = from->StatusOf(name);
    if (!status.has_value()) continue;
    core::MutexLock lock(mu);
    if (removals == before) {
      Apply(*status);
    } else if (!shut) {
      // Of one that is gone, perhaps: that is for the next look to say.
      ScheduleRefresh(name);
    }
  }
  {
    core::MutexLock lock(mu);
    if (--looking == 0) looked.NotifyAll();
  }
  Deliver();
}

WatchHub::WatchHub(std::string run_id, core::Executor& executor)
    : state_(std::make_shared<State>(std::move(run_id), executor)) {}

WatchHub::~WatchHub() { Shutdown(); }

void WatchHub::SetConnectors(const ConnectorStatuses* connectors) {
  core::MutexLock lock(state_->mu);
  state_->connectors = connectors;
}

absl::StatusOr<std::shared_ptr<Watcher>> WatchHub::Watch(
    WatchFilter filter, std::optional<uint64_t> from_sequence,
    const std::string& run_id, absl::AnyInvocable<void()> wake) {
  auto watcher = std::make_shared<Watcher>(std::move(filter), std::move(wake));
  const ConnectorStatuses* connectors = nullptr;
  uint64_t before = 0;
  {
    core::MutexLock lock(state_->mu);
    connectors = state_->shut ? nullptr : state_->connectors;
    before = state_->next;
  }
  if (connectors == nullptr) {
    return core::MakeError(core::Reason::SHUTTING_DOWN,
                           "watching: this worker is going away");
  }
  // Read before the watch is registered: events that come meanwhile follow the
  // snapshot, and counters are refreshed once more.
  const std::vector<core::ConnectorStatus> statuses = connectors->Statuses();
  State& state = *state_;
  core::MutexLock lock(state.mu);
  if (state.watchers.size() >= kWatchersMax) {
    return core::MakeError(
        core::Reason::MEMORY_REFUSED,
        absl::StrCat("watching: ", kWatchersMax, " watches are open already"));
  }
  const uint64_t oldest =
      state.kept.empty() ? state.next : state.kept.front().sequence();
  if (from_sequence.has_value() &&
      (run_id != state.run_id || *from_sequence < oldest ||
       *from_sequence > state.next)) {
    return core::MakeError(
        core::Reason::SEQUENCE_EXPIRED,
        absl::StrCat("watching from event ", *from_sequence, " of run '",
                     run_id, "': run '", state.run_id, "' has events ", oldest,
                     " to ", state.next,
                     "; watch without from_sequence for a new snapshot"),
        {{"oldest", absl::StrCat(oldest)}, {"run_id", state.run_id}});
  }
  v1::WatchEvent created;
  created.mutable_created()->set_run_id(state.run_id);
  created.mutable_created()->set_watch_id(++state.watches);
  created.mutable_created()->set_next_sequence(state.next);
  watcher->AddSnapshot(std::move(created));
  const absl::Time now = state.executor.clock().Now();
  for (const core::ConnectorStatus& status : statuses) {
    if (!watcher->filter().WantsConnector(status.name, status.pipeline)) {
      continue;
    }
    for (v1::WatchEvent& event :
         SnapshotOf(status, now, from_sequence.has_value())) {
      if (watcher->filter().WantsKind(KindOf(event))) {
        watcher->AddSnapshot(std::move(event));
      }
    }
  }
  v1::WatchEvent end;
  const uint64_t first = from_sequence.value_or(before);
  end.mutable_snapshot_end()->set_next_sequence(first);
  watcher->AddSnapshot(std::move(end));
  // What is outgoing just now comes once more: the watcher knows it then.
  watcher->StartAt(first);
  for (const v1::WatchEvent& event : state.kept) watcher->Offer(event);
  state.watchers.push_back(watcher);
  for (const core::ConnectorStatus& status : statuses) {
    state.ScheduleRefresh(status.name);
  }
  return watcher;
}

void WatchHub::Forget(const std::shared_ptr<Watcher>& watcher) {
  core::MutexLock lock(state_->mu);
  std::erase(state_->watchers, watcher);
}

uint64_t WatchHub::removals() const {
  core::MutexLock lock(state_->mu);
  return state_->removals;
}

uint64_t WatchHub::next_sequence() const {
  core::MutexLock lock(state_->mu);
  return state_->next;
}

void WatchHub::Shutdown() {
  std::vector<std::shared_ptr<Watcher>> watchers;
  {
    core::MutexLock lock(state_->mu);
    state_->shut = true;
    state_->connectors = nullptr;
    // Behind this the connectors may go.
    state_->looked.Wait(state_->mu, [this] {
      state_->mu.AssertHeld();
      return state_->looking == 0;
    });
    std::swap(watchers, state_->watchers);
  }
  for (const auto& watcher : watchers) {
    watcher->Close(core::MakeError(core::Reason::SHUTTING_DOWN,
                                   "watching: this worker is going away"));
  }
}

void WatchHub::OnOpened(const std::string& connector) { OnChanged(connector); }

void WatchHub::OnChanged(const std::string& connector) {
  core::MutexLock lock(state_->mu);
  if (!state_->shut) state_->ScheduleRefresh(connector);
}

void WatchHub::OnRemoved(const std::string& connector,
                         const std::string& instance) {
  {
    core::MutexLock lock(state_->mu);
    ++state_->removals;
    v1::WatchEvent event = state_->EventOf(connector);
    event.set_instance(instance);
    v1::WatchEvent::StateChanged& change = *event.mutable_state_changed();
    change.set_state(v1::CONNECTOR_STATE_CLOSED);
    change.set_deleted(true);
    // Its successor may be known already, and stays so.
    const auto found = state_->known.find(connector);
    if (found != state_->known.end() && found->second.instance == instance) {
      change.set_previous(found->second.state);
      state_->known.erase(found);
    }
    state_->Publish(std::move(event));
  }
  state_->Deliver();
}

void WatchHub::OnState(const std::string& connector,
                       const std::string& instance, const std::string& pipeline,
                       core::ConnectorState previous,
                       core::ConnectorState state) {
  {
    core::MutexLock lock(state_->mu);
    if (state_->shut) return;
    Known& was = state_->known[connector];
    if (was.instance != instance) {
      // Nobody has looked at this life yet.
      was = Known{};
      was.instance = instance;
      was.pipeline = pipeline;
      was.state = wire::ToProto(previous);
    }
    state_->PublishState(connector, was, wire::ToProto(state));
  }
  state_->Deliver();
}

void WatchHub::OnError(const std::string& connector,
                       const core::ErrorEntry& error) {
  {
    core::MutexLock lock(state_->mu);
    v1::WatchEvent event = state_->EventOf(connector);
    *event.mutable_error() = wire::ToProto(error);
    state_->Publish(std::move(event));
  }
  state_->Deliver();
}

void WatchHub::OnParseErrors(const std::string& connector,
                             const std::vector<core::ParseError>& errors) {
  constexpr size_t kSamples = 10;
  {
    core::MutexLock lock(state_->mu);
    v1::WatchEvent event = state_->EventOf(connector);
    event.mutable_parse_errors()->set_count(errors.size());
    for (size_t i = 0; i < std::min(errors.size(), kSamples); ++i) {
      *event.mutable_parse_errors()->add_samples() = wire::ToProto(errors[i]);
    }
    state_->Publish(std::move(event));
  }
  state_->Deliver();
}

void WatchHub::OnTransaction(const std::string& connector, bool started,
                             std::optional<std::string> label) {
  {
    core::MutexLock lock(state_->mu);
    v1::WatchEvent event = state_->EventOf(connector);
    event.mutable_transaction()->set_started(started);
    if (label.has_value()) event.mutable_transaction()->set_label(*label);
    state_->Publish(std::move(event));
  }
  state_->Deliver();
}

void WatchHub::OnDraining(absl::Time deadline) {
  {
    core::MutexLock lock(state_->mu);
    v1::WatchEvent event;
    *event.mutable_time() = wire::TimeToProto(state_->executor.clock().Now());
    *event.mutable_draining()->mutable_deadline() = wire::TimeToProto(deadline);
    event.mutable_draining()->set_worker(true);
    state_->Publish(std::move(event));
  }
  state_->Deliver();
}

}  // namespace penstock::server
