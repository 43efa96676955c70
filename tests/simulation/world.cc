#include "tests/simulation/world.h"

#include "client/controller/roaming_control.h"
#include "core/base/error.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/sinks/dead_letter_file/dead_letter_file.h"
#include "core/sinks/file/file_sink.h"
#include "core/sources/file/file_source.h"
#include "server/dispatch/fence_store.h"
#include "tests/support/fake_target.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::simulation {
namespace {

using core::Reason;

// More events than any healthy run has.
constexpr uint64_t kEventsMax = 5'000'000;

}  // namespace

World::World(Plan plan)
    : plan_(std::move(plan)),
      scheduler_(plan_.seed),
      network_(scheduler_),
      commit_delay_max_(plan_.commit_delay_max),
      paths_({}),
      workers_(plan_.workers) {
  for (size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].host = std::make_shared<Host>();
    for (uint32_t j = 0; j < plan_.addresses; ++j) {
      workers_[i].addresses.push_back(absl::StrCat("worker ", i, ", ", j));
    }
  }
  for (uint32_t i = 0; i < plan_.connectors; ++i) {
    lanes_.push_back(std::make_unique<Lane>(plan_, i, data_disk_, database_,
                                            store_disk_, violation_));
  }
  network_.SetFaults({.delay_max = plan_.delay_max});
  database_.SetOnCommit([this](const std::string& table, core::ShardIndex shard,
                               const core::FakeDatabase::Transaction& commit) {
    for (const auto& lane : lanes_) {
      if (lane->table() == table) OnDatabaseCommit(*lane, shard, commit);
    }
  });
  if (plan_.refused_share > 0) database_.SetJudge(MakeJudge(plan_));
}

World::~World() {
  while (!frozen_controllers_.empty()) {
    End(frozen_controllers_.back());
    frozen_controllers_.pop_back();
  }
  End(controller_);
  while (!frozen_workers_.empty()) {
    End(frozen_workers_.back());
    frozen_workers_.pop_back();
  }
  for (WorkerSlot& slot : workers_) End(slot.life);
}

// --------------------------------------------------------------- processes

void World::Start() {
  for (WorkerSlot& slot : workers_) StartWorker(slot);
  StartController();
}

std::string World::AddressFor(const WorkerSlot& slot) {
  if (slot.addresses.size() == 1) return slot.addresses.front();
  // Never where a stopped one listens.
  while (true) {
    const std::string& address =
        slot.addresses[scheduler_.random().Uniform(slot.addresses.size())];
    if (network_.At(address).control == nullptr) return address;
  }
}

void World::StartWorker(WorkerSlot& slot) {
  auto life = std::make_unique<WorkerLife>();
  life->process = &scheduler_.NewProcess("worker");
  life->address = AddressFor(slot);
  if (life->address != slot.addresses.front()) ++outcome_.moves;
  life->host = slot.host;
  life->commit_executor = std::make_unique<SlowExecutor>(
      *life->process->executor, commit_delay_max_, scheduler_.random());
  life->registry = std::make_unique<core::Registry>();
  life->registry->RegisterSource("file", core::MakeFileSource);
  life->registry->RegisterParser("ndjson", core::MakeNdjsonParser);
  life->registry->RegisterEncoder("ndjson", core::MakeNdjsonEncoder);
  life->registry->RegisterSink("file", core::MakeFileSink);
  life->registry->RegisterDeadLetter("file", core::MakeDeadLetterFile);
  life->registry->RegisterSink(
      "fake",
      [this, executor = life->commit_executor.get()](
          const core::ComponentConfig&, const core::Environment&)
          -> absl::StatusOr<std::unique_ptr<core::OutputTarget>> {
        core::FakeTarget::Options options;
        options.separate_committer = plan_.separate_committer;
        options.commit_executor = executor;
        options.writers_max = plan_.writers_max;
        options.tells_rows_apart = plan_.refused_share > 0;
        return std::make_unique<core::FakeTarget>(database_, options);
      });
  core::ManualExecutor& executor = *life->process->executor;
  core::ConnectorRuntime runtime{.executor = executor,
                                 .io = executor,
                                 .environment = {.files = data_disk_,
                                                 .io = executor,
                                                 .clock = executor.clock(),
                                                 .paths = paths_},
                                 .registry = *life->registry,
                                 .random_seed = 0};
  server::DispatcherOptions options;
  options.random_seed = scheduler_.random().Next64();
  auto dispatcher = server::Dispatcher::Create(
      options, runtime,
      server::MakeFileFenceStore(life->host->state_disk, "/state"), nullptr);
  slot.starts = absl::InfiniteFuture();
  if (!dispatcher.ok()) {
    Violate(absl::StrCat("a worker does not start: ",
                         dispatcher.status().message()));
    return;
  }
  life->dispatcher = *std::move(dispatcher);
  network_.SetEndpoint(life->address,
                       {life->dispatcher.get(), life->process, life->host});
  slot.life = std::move(life);
}

void World::End(std::unique_ptr<WorkerLife>& life) {
  if (life == nullptr) return;
  if (network_.At(life->address).process == life->process) {
    network_.SetEndpoint(life->address, {});
  }
  life->process->frozen = true;
  // Tasks first: they hold what the dispatcher owns.
  Scheduler::Kill(*life->process);
  life->dispatcher.reset();
  Scheduler::Kill(*life->process);
  life.reset();
}

std::unique_ptr<core::Control> World::Dial(const WorkerSlot& slot,
                                           Process& client) {
  const auto dial = [this, &client](const std::string& address) {
    return std::make_shared<SimulatedControl>(network_, client, address, plan_,
                                              *this);
  };
  auto control = client::RoamingControl::Create(slot.addresses, dial);
  CHECK(control.ok()) << control.status();
  return *std::move(control);
}

void World::StartController() {
  auto life = std::make_unique<ControllerLife>();
  life->process = &scheduler_.NewProcess("controller");
  core::ManualExecutor& executor = *life->process->executor;
  life->store = std::make_unique<client::FakeStateStore>(executor, store_disk_);
  life->store->SetDelay(absl::Milliseconds(
      static_cast<int64_t>(scheduler_.random().Uniform(10))));
  std::vector<core::Control*> controls;
  for (const WorkerSlot& slot : workers_) {
    life->controls.push_back(Dial(slot, *life->process));
    controls.push_back(life->controls.back().get());
  }
  life->spec = spec_;
  ControllerLife* raw = life.get();
  life->controller = client::Controller::Create(
      OptionsOfController(), executor, *life->store, std::move(controls),
      [raw](absl::Status status) { raw->ended = std::move(status); });
  if (fault_hook_) {
    life->controller->SetFaultHook(
        [this](client::FaultPoint point, const std::string& /*connector*/) {
          fault_hook_(point);
        });
  }
  life->controller->Start();
  controller_ = std::move(life);
  controller_starts_ = absl::InfiniteFuture();
}

client::ControllerOptions World::OptionsOfController() {
  client::ControllerOptions options;
  options.pipeline = kPipeline;
  options.controller_id =
      absl::StrCat("controller-", scheduler_.random().Next64());
  options.nonce = absl::StrCat(scheduler_.random().Next64());
  for (const auto& lane : lanes_) {
    options.connectors.push_back(
        {.name = lane->name(),
         .spec_bytes = SpecBytes(spec_),
         .level = plan_.specs[spec_].level,
         .worker = options.connectors.size() % workers_.size()});
  }
  options.check_spec_change = [this](const std::string& from,
                                     const std::string& to) {
    return MakesSameSteps(plan_.specs[SpecIndex(from)],
                          plan_.specs[SpecIndex(to)])
               ? client::TakesEffect::kAtOnce
               : client::TakesEffect::kAtCleanCheckpoint;
  };
  options.checkpoint_interval = plan_.checkpoint_interval;
  options.prepare_deadline = absl::Seconds(5);
  options.queue_wait = absl::Seconds(2);
  options.disconnect_deadline = absl::Seconds(1);
  options.step_block = 1 + scheduler_.random().Uniform(64);
  // Only persistent failures count, and faults here may last for a while.
  options.recoveries_max = 1'000'000;
  options.stop_at_end_of_input = true;
  options.adopt_living = plan_.adopts();
  options.random_seed = scheduler_.random().Next64();
  return options;
}

void World::End(std::unique_ptr<ControllerLife>& life) {
  if (life == nullptr) return;
  // It destroyed itself where it crashed.
  if (life->controller != nullptr) {
    for (const auto& connector : life->controller->Snapshot().connectors) {
      if (connector.adopted) ++outcome_.adopted;
    }
  }
  life->process->frozen = true;
  Scheduler::Kill(*life->process);
  life->controller.reset();
  life->controls.clear();
  life->store.reset();
  Scheduler::Kill(*life->process);
  life.reset();
}

// -------------------------------------------------------------- what hurts

void World::KillWorker(absl::Duration restart_after, size_t worker) {
  ++outcome_.kills;
  End(workers_[worker].life);
  workers_[worker].starts = scheduler_.now() + restart_after;
}

void World::KillController(absl::Duration restart_after) {
  ++outcome_.kills;
  End(controller_);
  controller_starts_ = scheduler_.now() + restart_after;
}

void World::CrashWorkerHere(core::Random* power) {
  if (worker() == nullptr) return;
  worker()->process->frozen = true;
  worker_hit_ = true;
  power_hit_ = power;
}

void World::CrashControllerHere() {
  if (controller_ == nullptr) return;
  controller_->process->frozen = true;
  // It does nothing after its hook.
  controller_->controller.reset();
  controller_hit_ = true;
}

void World::CrashWhatWasHit() {
  if (std::exchange(worker_hit_, false)) {
    if (power_hit_ != nullptr) {
      LosePower(core::FakeFileSystem::Unsynced::kRandomPrefix, *power_hit_,
                absl::ZeroDuration());
    } else {
      KillWorker(absl::ZeroDuration());
    }
  }
  if (std::exchange(controller_hit_, false)) {
    KillController(absl::ZeroDuration());
  }
}

void World::FreezeWorker(size_t worker) {
  WorkerSlot& slot = workers_[worker];
  if (slot.life == nullptr) return;
  ++outcome_.freezes;
  slot.life->process->frozen = true;
  // Where there is another address it goes on to listen, and may answer later.
  const auto listening =
      std::count_if(slot.addresses.begin(), slot.addresses.end(),
                    [this](const std::string& address) {
                      return network_.At(address).control != nullptr;
                    });
  if (static_cast<size_t>(listening) == slot.addresses.size()) {
    network_.SetEndpoint(slot.life->address, {});
  }
  frozen_workers_.push_back(std::move(slot.life));
  slot.host = std::make_shared<Host>();
  slot.starts = scheduler_.now();
}

void World::FreezeController() {
  if (controller_ == nullptr) return;
  ++outcome_.freezes;
  controller_->process->frozen = true;
  frozen_controllers_.push_back(std::move(controller_));
  controller_starts_ = scheduler_.now();
}

void World::Wake(core::Random& random, double p) {
  for (auto& life : frozen_workers_) {
    if (random.Bernoulli(p)) life->process->frozen = false;
  }
  for (auto& life : frozen_controllers_) {
    if (random.Bernoulli(p)) life->process->frozen = false;
  }
}

void World::WakeAll() {
  for (auto& life : frozen_workers_) life->process->frozen = false;
  for (auto& life : frozen_controllers_) life->process->frozen = false;
}

void World::WakeController(size_t index) {
  frozen_controllers_[index]->process->frozen = false;
}

void World::LosePower(core::FakeFileSystem::Unsynced unsynced,
                      core::Random& random, absl::Duration restart_after) {
  ++outcome_.power_losses;
  while (!frozen_workers_.empty()) {
    End(frozen_workers_.back());
    frozen_workers_.pop_back();
  }
  for (WorkerSlot& slot : workers_) End(slot.life);
  data_disk_.Crash(unsynced, &random);
  for (WorkerSlot& slot : workers_) {
    slot.host->state_disk.Crash(unsynced, &random);
    slot.starts = scheduler_.now() + restart_after;
  }
}

bool World::TamperWithInput(core::Random& random) {
  Lane& lane = *lanes_.front();
  const std::vector<const core::StepResult*> rows = lane.StepsToReplay();
  if (tamper_.has_value() || rows.empty()) return false;
  Tamper tamper;
  tamper.writer = database_.writer(lane.table());
  tamper.input = *data_disk_.Contents(lane.input());
  const core::StepResult& row = *rows[random.Uniform(rows.size())];
  tamper.step = row.step;
  data_disk_.Put(lane.input(), Tampered(tamper.input, row, random));
  tamper_ = std::move(tamper);
  ++outcome_.tampers;
  return true;
}

// ------------------------------------------------------------------ running

void World::Tend() {
  for (WorkerSlot& slot : workers_) {
    if (slot.life == nullptr && scheduler_.now() >= slot.starts) {
      StartWorker(slot);
    }
  }
  // A controller that was superseded ends.
  std::erase_if(frozen_controllers_, [this](auto& life) {
    if (!life->ended.has_value()) return false;
    superseded_.push_back(*life->ended);
    End(life);
    return true;
  });
  TendController();
}

void World::TendController() {
  if (controller_ == nullptr) {
    if (!controllers_held_ && scheduler_.now() >= controller_starts_) {
      StartController();
    }
    return;
  }
  if (!controller_->ended.has_value() || Finished()) return;
  const absl::Status ended = *controller_->ended;
  if (ended.ok() || core::HasReason(ended, Reason::STALE_EPOCH) ||
      core::HasReason(ended, Reason::UNAVAILABLE)) {
    // If nobody leads, one is started.
  } else if (tamper_.has_value() &&
             (core::HasReason(ended, Reason::REPLAY_MISMATCH) ||
              core::HasReason(ended, Reason::POSITION_EXPIRED))) {
    OnMismatch(ended);
  } else {
    Violate(absl::StrCat("the controller gave up: ", ended.ToString()));
  }
  End(controller_);
  controller_starts_ = scheduler_.now() + absl::Milliseconds(100);
}

void World::OnMismatch(const absl::Status& ended) {
  ++outcome_.mismatches;
  mismatch_ = ended;
  if (const auto status = Status();
      status.has_value() && core::HasReason(ended, Reason::REPLAY_MISMATCH) &&
      status->state != core::ConnectorState::kFailed) {
    Violate(absl::StrCat("INV-3: a mismatch leaves the connector in state ",
                         core::StateName(status->state)));
  }
  // A person puts the input back.
  data_disk_.Put(lanes_.front()->input(), tamper_->input);
  tamper_.reset();
}

bool World::Step(absl::Time until) {
  if (!scheduler_.Step(until)) return false;
  ++outcome_.events;
  CrashWhatWasHit();
  Check();
  if (outcome_.events > kEventsMax) {
    Violate(absl::StrCat("too many events: something spins; ",
                         scheduler_.Describe()));
  }
  return violation_.empty();
}

bool World::RunFor(absl::Duration duration) {
  return !RunUntil([] { return false; }, duration) && violation_.empty();
}

bool World::RunUntil(const std::function<bool()>& condition,
                     absl::Duration duration) {
  const absl::Time start = scheduler_.now();
  const absl::Time end = start + duration;
  bool holds = condition();
  while (!holds && scheduler_.now() < end) {
    const absl::Time moment = std::min(end, scheduler_.now() + kMoment);
    while (!holds && Step(moment)) holds = condition();
    CheckSlowly();
    if (!violation_.empty()) return false;
    if (holds) break;
    Tend();
    holds = condition();
  }
  outcome_.virtual_time += scheduler_.now() - start;
  return holds;
}

bool World::Finished() const {
  return controller_ != nullptr && controller_->ended.has_value() &&
         controller_->ended->ok() &&
         controller_->controller->Snapshot().epoch == store_disk_.state.epoch;
}

void World::RunControllerAgain() {
  End(controller_);
  controller_starts_ = scheduler_.now() + absl::Seconds(1);
}

// ------------------------------------------------------------ what is there

std::optional<core::ConnectorStatus> World::Status() const {
  const WorkerLife* const life = workers_.front().life.get();
  if (life == nullptr) return std::nullopt;
  return life->dispatcher->StatusOf(kConnector);
}

std::string World::Describe() {
  std::string text = scheduler_.Describe();
  if (controller_ == nullptr || controller_->controller == nullptr) {
    absl::StrAppend(&text, "; no controller");
  } else {
    for (const auto& connector :
         controller_->controller->Snapshot().connectors) {
      absl::StrAppend(
          &text, "; controller: ", connector.state, ", made ",
          connector.made_steps, ", journaled ", connector.journaled_steps,
          ", released ", connector.released_steps, ", checkpointed ",
          connector.checkpointed_steps, ", last error ", connector.last_error);
    }
  }
  if (controller_ != nullptr) {
    absl::StrAppend(&text, "; calls at the store ",
                    controller_->store->pending());
  }
  if (const auto status = Status()) {
    absl::StrAppend(&text, "; worker: ", core::StateName(status->state),
                    ", made ", status->made_steps, ", released ",
                    status->released_steps, ", completed ",
                    status->completed_steps, ", in flight ",
                    status->inflight_bytes, ", health ", status->health.reason);
  } else {
    absl::StrAppend(&text, worker() == nullptr ? "; no worker" : "; not open");
  }
  return text;
}

// ----------------------------------------------------------------- checking

Lane* World::Find(const std::string& connector) const {
  for (const auto& lane : lanes_) {
    if (lane->name() == connector) return lane.get();
  }
  return nullptr;
}

void World::OnResult(const core::ConnectorRef& ref,
                     const core::StepResult& result) {
  Find(ref.connector)->checkers().OnResult(ref, result);
}

void World::OnReplayed(const Process& worker, const core::ConnectorRef& ref,
                       core::Step step, const core::ReplayReply& reply) {
  ++(reply.already_held ? outcome_.already_held : outcome_.replayed);
  // One that was stopped may have read it before.
  const WorkerLife* const life = workers_.front().life.get();
  if (life == nullptr || life->process != &worker) return;
  if (tamper_.has_value() && ref.connector == kConnector &&
      step == tamper_->step && !reply.already_held) {
    Violate(
        absl::StrCat("INV-3: step ", step, " was replayed from other input"));
  }
}

void World::OnStaleEpoch(uint64_t epoch, uint64_t epoch_before) {
  Violate(absl::StrCat("INV-7: a command of epoch ", epoch,
                       " passed the fence after one of ", epoch_before));
}

void World::OnDatabaseCommit(Lane& lane, core::ShardIndex shard,
                             const core::FakeDatabase::Transaction& commit) {
  lane.OnCommit(shard, commit);
  if (plan_.at_least_once() || &lane != lanes_.front().get()) return;
  // A writer that had read the step before may still bring it in.
  if (tamper_.has_value() && commit.steps.begin <= tamper_->step &&
      commit.steps.end > tamper_->step && commit.writer > tamper_->writer) {
    Violate(absl::StrCat("INV-3: shard ", shard, " shows step ", tamper_->step,
                         " although its input has changed"));
  }
}

void World::Check() {
  for (const auto& lane : lanes_) lane->CheckStore();
  ForEachAwake([this](Lane& lane, const core::ConnectorStatus& status) {
    lane.CheckStatus(status);
    for (const core::ShardStatus& shard : status.shards) {
      outcome_.overdue += shard.worker.writes_overdue;
    }
  });
  for (const auto& lane : lanes_) lane->CheckAfterEvent();
}

void World::ForEachAwake(
    const std::function<void(Lane&, const core::ConnectorStatus&)>& look)
    const {
  const auto look_at = [this, &look](const WorkerLife& life) {
    for (const core::ConnectorStatus& status : life.dispatcher->Statuses()) {
      look(*Find(status.name), status);
    }
  };
  for (const WorkerSlot& slot : workers_) {
    if (slot.life != nullptr) look_at(*slot.life);
  }
  for (const auto& life : frozen_workers_) {
    if (!life->process->frozen) look_at(*life);
  }
}

void World::CheckSlowly() {
  if (!plan_.file_sink || data_disk_.halted()) return;
  if (data_disk_.mutating_operations() == operations_seen_) return;
  operations_seen_ = data_disk_.mutating_operations();
  for (const auto& lane : lanes_) lane->CheckVisible();
  ForEachAwake([](Lane& lane, const core::ConnectorStatus& status) {
    lane.CheckVisible(status);
  });
}

void World::CheckComplete() {
  for (const auto& lane : lanes_) {
    outcome_.letters += lane->CheckComplete();
    outcome_.doubled += lane->checkers().doubled();
    if (controller_ != nullptr) {
      lane->checkers().CheckSpec(SpecBytes(controller_->spec));
    }
  }
}

void World::SumUp() {
  outcome_.violation = violation_;
  outcome_.connectors = lanes_.size();
  outcome_.workers = workers_.size();
  for (const auto& lane : lanes_) {
    outcome_.specs_at_once += lane->checkers().specs_at_once();
    outcome_.specs_clean += lane->checkers().specs_clean();
  }
}

}  // namespace penstock::simulation
