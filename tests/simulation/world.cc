#include "tests/simulation/world.h"

#include "core/base/error.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/sinks/file/config.h"
#include "core/sinks/file/file_sink.h"
#include "core/sinks/file/file_sink_reader.h"
#include "core/sources/file/config.h"
#include "core/sources/file/file_source.h"
#include "server/dispatch/fence_store.h"
#include "tests/support/fake_target.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <utility>

namespace penstock::simulation {
namespace {

constexpr char kAddress[] = "worker";
// How often faults are drawn and slow checks run.
constexpr absl::Duration kMoment = absl::Milliseconds(5);
// Without faults everything ends within this virtual time.
constexpr absl::Duration kPeaceMax = absl::Minutes(30);
// More events than any healthy run has.
constexpr uint64_t kEventsMax = 5'000'000;

std::string TableOf() {
  return core::FakeDatabase::TableName(kPipeline, kConnector);
}

}  // namespace

World::World(Plan plan)
    : plan_(std::move(plan)),
      scheduler_(plan_.seed),
      faults_(plan_.seed ^ 0x9e3779b97f4a7c15u),
      network_(scheduler_),
      paths_({}),
      checkers_(plan_, store_disk_),
      state_disk_(std::make_shared<core::FakeFileSystem>()) {
  const std::string input =
      plan_.records.empty() ? "" : absl::StrJoin(plan_.records, "\n") + "\n";
  data_disk_.Put("/data/in.ndjson", input);
  database_.SetOnCommit([this](const std::string&, core::ShardIndex shard,
                               const core::FakeDatabase::Transaction& commit) {
    checkers_.OnCommit(shard, commit);
  });
}

World::~World() {
  while (!frozen_controllers_.empty()) {
    KillController(frozen_controllers_.back());
    frozen_controllers_.pop_back();
  }
  KillController(controller_);
  while (!frozen_workers_.empty()) {
    KillWorker(frozen_workers_.back());
    frozen_workers_.pop_back();
  }
  KillWorker(worker_);
}

void World::StartWorker(std::shared_ptr<core::FakeFileSystem> state_disk) {
  auto life = std::make_unique<WorkerLife>();
  life->process = &scheduler_.NewProcess("worker");
  life->state_disk = std::move(state_disk);
  life->registry = std::make_unique<core::Registry>();
  life->registry->RegisterSource("file", core::MakeFileSource);
  life->registry->RegisterParser("ndjson", core::MakeNdjsonParser);
  life->registry->RegisterEncoder("ndjson", core::MakeNdjsonEncoder);
  life->registry->RegisterSink("file", core::MakeFileSink);
  life->registry->RegisterSink(
      "fake",
      [this, executor = life->process->executor.get()](
          const core::ComponentConfig&, const core::Environment&)
          -> absl::StatusOr<std::unique_ptr<core::OutputTarget>> {
        core::FakeTarget::Options options;
        options.separate_committer = plan_.separate_committer;
        options.commit_executor = executor;
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
      options, runtime, server::MakeFileFenceStore(*life->state_disk, "/state"),
      nullptr);
  if (!dispatcher.ok()) {
    checkers_.Violate(absl::StrCat("a worker does not start: ",
                                   dispatcher.status().message()));
    return;
  }
  life->dispatcher = *std::move(dispatcher);
  network_.SetEndpoint(kAddress, {life->dispatcher.get(), life->process});
  worker_ = std::move(life);
  worker_starts_ = absl::InfiniteFuture();
}

void World::KillWorker(std::unique_ptr<WorkerLife>& life) {
  if (life == nullptr) return;
  if (network_.At(kAddress).process == life->process) {
    network_.SetEndpoint(kAddress, {});
  }
  life->process->frozen = true;
  // Tasks first: they hold what the dispatcher owns.
  Scheduler::Kill(*life->process);
  life->dispatcher.reset();
  Scheduler::Kill(*life->process);
  life.reset();
}

void World::StartController() {
  auto life = std::make_unique<ControllerLife>();
  life->process = &scheduler_.NewProcess("controller");
  core::ManualExecutor& executor = *life->process->executor;
  life->store = std::make_unique<client::FakeStateStore>(executor, store_disk_);
  life->store->SetDelay(absl::Milliseconds(
      static_cast<int64_t>(scheduler_.random().Uniform(10))));
  life->control = std::make_unique<SimulatedControl>(
      network_, *life->process, kAddress, plan_.spec,
      [this](const std::string& connector, const core::StepResult& result) {
        checkers_.OnResult(connector, result);
      });
  client::ControllerOptions options;
  options.pipeline = kPipeline;
  options.controller_id =
      absl::StrCat("controller-", scheduler_.random().Next64());
  options.nonce = absl::StrCat(scheduler_.random().Next64());
  options.connectors = {{.name = kConnector,
                         .spec_bytes = "spec",
                         .level = plan_.spec.level,
                         .worker = 0}};
  options.checkpoint_interval = plan_.checkpoint_interval;
  options.prepare_deadline = absl::Seconds(5);
  options.queue_wait = absl::Seconds(2);
  options.disconnect_deadline = absl::Seconds(1);
  options.step_block = 1 + scheduler_.random().Uniform(64);
  // Only persistent failures count, and faults here may last for a while.
  options.recoveries_max = 1'000'000;
  options.stop_at_end_of_input = true;
  options.random_seed = scheduler_.random().Next64();
  ControllerLife* raw = life.get();
  life->controller = client::Controller::Create(
      std::move(options), executor, *life->store, {life->control.get()},
      [raw](absl::Status status) { raw->ended = std::move(status); });
  life->controller->Start();
  controller_ = std::move(life);
  controller_starts_ = absl::InfiniteFuture();
}

void World::KillController(std::unique_ptr<ControllerLife>& life) {
  if (life == nullptr) return;
  life->process->frozen = true;
  Scheduler::Kill(*life->process);
  life->controller.reset();
  life->control.reset();
  life->store.reset();
  Scheduler::Kill(*life->process);
  life.reset();
}

void World::FreezeWorker() {
  if (worker_ == nullptr) return;
  ++outcome_.freezes;
  worker_->process->frozen = true;
  frozen_workers_.push_back(std::move(worker_));
  // Another takes its address, on another host: it knows no fence.
  network_.SetEndpoint(kAddress, {});
  state_disk_ = std::make_shared<core::FakeFileSystem>();
  worker_starts_ = scheduler_.now();
}

void World::FreezeController() {
  if (controller_ == nullptr) return;
  ++outcome_.freezes;
  controller_->process->frozen = true;
  frozen_controllers_.push_back(std::move(controller_));
  controller_starts_ = scheduler_.now();
}

void World::WakeSomebody() {
  for (auto& life : frozen_workers_) {
    if (faults_.Bernoulli(0.5)) life->process->frozen = false;
  }
  for (auto& life : frozen_controllers_) {
    if (faults_.Bernoulli(0.5)) life->process->frozen = false;
  }
}

void World::LosePower() {
  ++outcome_.power_losses;
  while (!frozen_workers_.empty()) {
    KillWorker(frozen_workers_.back());
    frozen_workers_.pop_back();
  }
  KillWorker(worker_);
  core::Random random = faults_.Fork();
  const auto unsynced = faults_.Bernoulli(0.5)
                            ? core::FakeFileSystem::Unsynced::kLost
                            : core::FakeFileSystem::Unsynced::kRandomPrefix;
  data_disk_.Crash(unsynced, &random);
  state_disk_->Crash(unsynced, &random);
  worker_starts_ = scheduler_.now() + absl::Seconds(1) * faults_.Double();
}

void World::Trouble() {
  const FaultRates& rates = plan_.faults;
  if (faults_.Bernoulli(rates.kill_worker) ||
      faults_.Bernoulli(rates.kill_both)) {
    ++outcome_.kills;
    KillWorker(worker_);
    worker_starts_ = scheduler_.now() + absl::Seconds(1) * faults_.Double();
    if (faults_.Bernoulli(rates.kill_both * 20)) {
      KillController(controller_);
      controller_starts_ =
          scheduler_.now() + absl::Seconds(1) * faults_.Double();
    }
  }
  if (faults_.Bernoulli(rates.kill_controller)) {
    ++outcome_.kills;
    KillController(controller_);
    controller_starts_ = scheduler_.now() + absl::Seconds(1) * faults_.Double();
  }
  if (faults_.Bernoulli(rates.power_loss)) LosePower();
  if (faults_.Bernoulli(rates.freeze_worker)) FreezeWorker();
  if (faults_.Bernoulli(rates.freeze_controller)) FreezeController();
  if (faults_.Bernoulli(0.02)) WakeSomebody();
  if (faults_.Bernoulli(rates.bad_network)) {
    network_.SetFaults({.lose = 0.3 * faults_.Double(),
                        .repeat = 0.3 * faults_.Double(),
                        .delay_max = absl::Milliseconds(200) * faults_.Double(),
                        .late = 0.1 * faults_.Double()});
    network_heals_ = scheduler_.now() + absl::Seconds(5) * faults_.Double();
  }
  if (controller_ != nullptr && faults_.Bernoulli(rates.store_trouble)) {
    if (faults_.Bernoulli(0.5)) {
      controller_->store->LoseAnswers(1);
    } else {
      controller_->store->FailNext(
          1, core::MakeError(core::Reason::UNAVAILABLE, "store is away"));
    }
  }
  if (faults_.Bernoulli(rates.target_trouble)) {
    using Operation = core::FakeDatabase::Operation;
    const Operation operations[] = {Operation::kOpen, Operation::kBatchStart,
                                    Operation::kPush, Operation::kBatchEnd,
                                    Operation::kCommit};
    const Operation operation = operations[faults_.Uniform(5)];
    if (faults_.Bernoulli(0.5)) {
      database_.LoseNextAnswer(operation);
    } else {
      database_.FailNext(operation, core::MakeError(core::Reason::UNAVAILABLE,
                                                    "target is away"));
    }
  }
}

void World::MakePeace() {
  peace_ = true;
  network_.SetFaults({});
  network_heals_ = absl::InfiniteFuture();
  for (auto& life : frozen_workers_) life->process->frozen = false;
  for (auto& life : frozen_controllers_) life->process->frozen = false;
}

void World::Tend() {
  if (worker_ == nullptr && scheduler_.now() >= worker_starts_) {
    StartWorker(state_disk_);
  }
  if (scheduler_.now() >= network_heals_) {
    network_.SetFaults({});
    network_heals_ = absl::InfiniteFuture();
  }
  // A controller that was superseded ends; if nobody leads, one is started.
  std::erase_if(frozen_controllers_, [](auto& life) {
    if (!life->ended.has_value()) return false;
    KillController(life);
    return true;
  });
  if (controller_ != nullptr && controller_->ended.has_value() &&
      !controller_->ended->ok()) {
    const absl::Status ended = *controller_->ended;
    if (core::HasReason(ended, core::Reason::STALE_EPOCH) ||
        core::HasReason(ended, core::Reason::UNAVAILABLE)) {
      KillController(controller_);
      controller_starts_ = scheduler_.now() + absl::Milliseconds(100);
    } else {
      checkers_.Violate(
          absl::StrCat("the controller gave up: ", ended.ToString()));
    }
  }
  if (controller_ == nullptr && scheduler_.now() >= controller_starts_) {
    StartController();
  }
}

void World::Check() {
  std::vector<core::Step> progress;
  if (!plan_.file_sink) {
    for (uint32_t shard = 0; shard < plan_.spec.shards; ++shard) {
      if (const auto steps = database_.Progress(TableOf(), shard)) {
        progress.push_back(*steps);
      }
    }
  }
  checkers_.CheckStore(progress);
  if (worker_ != nullptr) {
    for (const auto& status : worker_->dispatcher->Statuses()) {
      checkers_.CheckStatus(status);
    }
  }
}

bool World::RunFor(absl::Duration duration) {
  const absl::Time until = scheduler_.now() + duration;
  while (scheduler_.Step(until)) {
    ++outcome_.events;
    Check();
    if (!checkers_.violation().empty()) return false;
    if (outcome_.events > kEventsMax) {
      checkers_.Violate(absl::StrCat("too many events: something spins; ",
                                     scheduler_.Describe()));
      return false;
    }
  }
  return checkers_.violation().empty();
}

bool World::Finished() const {
  return controller_ != nullptr && controller_->ended.has_value() &&
         controller_->ended->ok();
}

Outcome World::Run() {
  StartWorker(state_disk_);
  StartController();
  const auto check_files = [this](bool at_the_end) {
    if (!plan_.file_sink) return;
    const auto& config =
        static_cast<const core::FileSinkConfig&>(*plan_.spec.sink);
    const auto reader = core::FileSinkReader::Open(data_disk_, config.path);
    if (!reader.ok()) return;  // Nothing was opened there yet.
    for (uint32_t shard = 0; shard < plan_.spec.shards; ++shard) {
      std::vector<std::string> lines;
      core::FileSinkLines file_lines = reader->Lines(shard);
      absl::string_view line;
      while (true) {
        const auto more = file_lines.Next(line);
        if (!more.ok()) {
          checkers_.Violate(absl::StrCat("the file sink is damaged: ",
                                         more.status().message()));
          return;
        }
        if (!*more) break;
        lines.push_back(absl::StrCat(line, "\n"));
      }
      if (at_the_end) {
        checkers_.CheckComplete(shard, lines);
      } else {
        checkers_.CheckVisible(shard, lines);
      }
    }
  };
  const absl::Time start = scheduler_.now();
  const absl::Time trouble_ends = start + plan_.trouble;
  const absl::Time peace_ends = trouble_ends + kPeaceMax;
  while (RunFor(kMoment)) {
    Tend();
    check_files(/*at_the_end=*/false);
    if (Finished() && (peace_ || scheduler_.now() >= trouble_ends)) break;
    if (Finished()) {
      // Run again, as a person would, until the trouble is over: nothing new
      // may come of it.
      KillController(controller_);
      controller_starts_ = scheduler_.now() + absl::Seconds(1);
    }
    if (!peace_ && scheduler_.now() >= trouble_ends) MakePeace();
    if (!peace_) Trouble();
    if (scheduler_.now() > peace_ends) {
      checkers_.Violate("no end within the time that peace gives");
    }
  }
  if (checkers_.violation().empty()) {
    for (uint32_t shard = 0; shard < plan_.spec.shards; ++shard) {
      if (plan_.file_sink) break;
      std::vector<std::string> lines;
      for (const std::string& line : database_.Lines(TableOf(), shard)) {
        lines.push_back(line + "\n");
      }
      checkers_.CheckComplete(shard, lines);
    }
    check_files(/*at_the_end=*/true);
  }
  outcome_.violation = checkers_.violation();
  outcome_.virtual_time = scheduler_.now() - start;
  return outcome_;
}

}  // namespace penstock::simulation
