#include "client/cli/run_command.h"

#include "client/cli/controller_options.h"
#include "client/cli/crash_point.h"
#include "client/cli/election.h"
#include "client/cli/input_size.h"
#include "client/cli/local_worker.h"
#include "client/cli/progress_printer.h"
#include "client/cli/worker_links.h"
#include "client/client.h"
#include "client/controller/controller.h"
#include "client/controller/postgres_lease.h"
#include "client/controller/postgres_store.h"
#include "client/controller/sqlite_store.h"
#include "client/pipeline_file.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/mutex.h"
#include "core/base/notification.h"
#include "core/base/path_policy.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool_executor.h"
#include "core/pg/pg_url.h"

#include <absl/strings/str_cat.h>

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

// How often the command looks at signals, its worker and its progress.
constexpr absl::Duration kTick = absl::Milliseconds(100);

sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// By the signal, which nobody takes a second time. The first process of a
// container is ended by none: then by the code that a shell would give it.
extern "C" void EndAtOnce(int signal_number) {
  raise(signal_number);
  _exit(128 + signal_number);
}

// As long as it lives, these signals end the process at once, as they do where
// nobody takes them. No thread may be made meanwhile: it would take them later.
class SignalsEndAtOnce {
 public:
  SignalsEndAtOnce() {
    struct sigaction action {};
    action.sa_handler = EndAtOnce;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (const int signal_number : {SIGTERM, SIGINT}) {
      sigaction(signal_number, &action, nullptr);
    }
    Set(SIG_UNBLOCK);
  }
  ~SignalsEndAtOnce() { Set(SIG_BLOCK); }
  SignalsEndAtOnce(const SignalsEndAtOnce&) = delete;
  SignalsEndAtOnce& operator=(const SignalsEndAtOnce&) = delete;

 private:
  static void Set(int how) {
    const sigset_t signals = EndingSignals();
    pthread_sigmask(how, &signals, nullptr);
  }
};

// One controller's life: with a SQLite store the only one of a run.
struct Reign {
  core::Notification ended;
  absl::Status outcome;  // Set before `ended`.
  std::shared_ptr<Controller> controller;
};

// Everything a run owns, in the order in which it is built.
//
//   StandBy ──the lease is ours──▶ Lead ──it is lost──▶ StandBy
//      └── (no lease: SQLite) ─────▶  └──ended, a signal──▶ exit
class Run {
 public:
  explicit Run(RunOptions options)
      : options_(std::move(options)),
        random_(core::SeededFromEntropy()),
        controller_id_(MakeControllerId()),
        printer_(ProgressPrinter::StyleOf(options_.format),
                 core::RealClock().SteadyNow()),
        executor_("controller", 1),
        store_executor_("store", 1) {}

  // Blocks: until no task of the controller runs that may use what it was
  // given; until the lease is free; until the local worker has ended.
  ~Run() { EndReign(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  absl::Status Build();
  CliExit Drive();

 private:
  absl::Status OpenSqlite();
  // With an election of who leads.
  absl::Status OpenPostgres();
  absl::Status ConnectWorkers();
  absl::Status SetCrashPoint();
  // True when a signal came since the last call.
  static bool TakeSignal();
  // Waits for the lease. Returns: how to end, if not by leading.
  std::optional<CliExit> StandBy();
  absl::Status BeginReign();
  // Drives a controller to its end. nullopt: the lease was lost before.
  std::optional<CliExit> Lead();
  bool LeaseIsLost() const;
  // After a loss: nullopt if nobody led since, and the lease is asked for
  // again.
  std::optional<CliExit> LookWhoLeads();
  CliExit Superseded(uint64_t epoch);
  // Signals and the local worker, while there is no controller.
  std::optional<CliExit> LookAround();
  void EndReign();
  // Keeps the local worker running, or finds those that moved. An error: it
  // cannot be kept running.
  absl::Status LookAfterWorkers();
  void PrintEnd(const std::string& outcome);
  static CliExit Fail(const absl::Status& status);

  const RunOptions options_;
  core::Random random_;
  const std::string controller_id_;
  ProgressPrinter printer_;
  core::ThreadPoolExecutor executor_;
  core::ThreadPoolExecutor store_executor_;
  PipelineFile pipeline_;
  std::unique_ptr<LocalWorker> local_worker_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<WorkerLinks> links_;
  // Null: the store has no lease.
  std::unique_ptr<Election> election_;
  // The lease's reign that this reign belongs to.
  uint64_t lease_reign_ = 0;
  // The last epoch in which this run led.
  uint64_t epoch_ = 0;
  bool stopping_ = false;
  std::unique_ptr<Reign> reign_;
};

void Run::EndReign() {
  if (reign_ == nullptr) return;
  const ControllerSnapshot last = reign_->controller->Snapshot();
  epoch_ = std::max(epoch_, last.epoch);
  printer_.EndReign(last);
  reign_->controller->Drop();
  // No task of it begins any more, and the executor has one thread: behind this
  // one none runs.
  core::Notification over;
  executor_.Schedule([&over] { over.Notify(); });
  over.WaitForNotification();
  reign_ = nullptr;
}

absl::Status Run::OpenSqlite() {
  // A large store takes long to check, and nothing has been begun yet.
  const SignalsEndAtOnce while_checking;
  ASSIGN_OR_RETURN(
      store_, MakeSqliteStore(pipeline_.store_path, {.create_if_missing = true},
                              store_executor_));
  return absl::OkStatus();
}

absl::Status Run::OpenPostgres() {
  ASSIGN_OR_RETURN(
      core::Conninfo conninfo,
      core::ResolvePgUrl(pipeline_.store_url, core::PosixFileSystem(),
                         core::PathPolicy({})));
  const PostgresPlace place = {.conninfo = std::move(conninfo),
                               .pipeline = pipeline_.name};
  const std::string holder = core::RandomId(random_);
  {
    const SignalsEndAtOnce while_checking;
    ASSIGN_OR_RETURN(store_, MakePostgresStore({.place = place,
                                                .create_if_missing = true,
                                                .lease_holder = holder},
                                               store_executor_));
  }
  election_ = std::make_unique<Election>(
      PostgresLeaseOptions{.place = place,
                           .holder = holder,
                           .controller = controller_id_,
                           .lasts = pipeline_.lease},
      executor_, random_.Next64());
  return absl::OkStatus();
}

absl::Status Run::ConnectWorkers() {
  // By an earlier reign.
  if (links_ != nullptr) return absl::OkStatus();
  std::vector<PipelineWorker> workers = pipeline_.workers;
  if (workers.empty()) {
    const std::string state_dir = options_.worker_state_dir.empty()
                                      ? pipeline_.worker_state_dir
                                      : options_.worker_state_dir;
    RETURN_IF_ERROR(core::PosixFileSystem().CreateDirectories(state_dir));
    ASSIGN_OR_RETURN(local_worker_,
                     LocalWorker::Start(options_.worker_program, state_dir,
                                        LocalWorker::StandardInput::kGiven));
    workers.push_back(
        {.name = "local", .addresses = {local_worker_->target()}});
  }
  ClientOptions client_options;
  client_options.channel.insecure = options_.insecure;
  client_options.channel.tls =
      options_.tls.enabled() ? options_.tls : pipeline_.tls;
  client_options.use_session = !options_.single_calls;
  client_options.heartbeat = absl::Seconds(options_.heartbeat_seconds);
  ASSIGN_OR_RETURN(links_, WorkerLinks::Connect(workers, client_options));
  return absl::OkStatus();
}

absl::Status Run::SetCrashPoint() {
  if (options_.crash_at.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const CrashPoint crash,
                   ParseCrashPoint(options_.crash_at, options_.crash_how));
  reign_->controller->SetFaultHook(
      [crash, reached = uint64_t{0}](FaultPoint point,
                                     const std::string&) mutable {
        if (point == crash.point && ++reached == crash.count) {
          kill(getpid(), crash.signal);
        }
      });
  return absl::OkStatus();
}

absl::Status Run::Build() {
  ASSIGN_OR_RETURN(pipeline_, LoadPipelineFile(core::PosixFileSystem(),
                                               options_.pipeline_file));
  core::FileSystem& files = core::PosixFileSystem();
  // What an earlier run has done nobody counts here.
  if (!pipeline_.store_path.empty() && !files.Stat(pipeline_.store_path).ok()) {
    // On a disk that hangs it takes for ever, and nothing has been begun yet.
    const SignalsEndAtOnce while_counting;
    printer_.SetInputBytes(InputBytesOf(files, core::RealClock(), pipeline_));
  }
  return pipeline_.store_url.empty() ? OpenSqlite() : OpenPostgres();
}

absl::Status Run::BeginReign() {
  RETURN_IF_ERROR(ConnectWorkers());
  reign_ = std::make_unique<Reign>();
  ControllerOptions options =
      ControllerOptionsOf(pipeline_, controller_id_, random_);
  options.stop_at_end_of_input = true;
  options.elsewhere = links_->Elsewhere();
  reign_->controller = Controller::Create(
      std::move(options), executor_, *store_, links_->controls(),
      [reign = reign_.get()](absl::Status status) {
        reign->outcome = std::move(status);
        reign->ended.Notify();
      });
  return SetCrashPoint();
}

bool Run::TakeSignal() {
  const sigset_t signals = EndingSignals();
  const timespec no_wait{};
  return sigtimedwait(&signals, nullptr, &no_wait) > 0;
}

absl::Status Run::LookAfterWorkers() {
  const absl::Time now = core::RealClock().SteadyNow();
  if (local_worker_ != nullptr) return local_worker_->Look(now);
  if (links_ == nullptr) return absl::OkStatus();
  const std::string news =
      links_->Follow(core::PosixFileSystem(), options_.pipeline_file, now);
  if (!news.empty()) std::cerr << news << "\n";
  return absl::OkStatus();
}

void Run::PrintEnd(const std::string& outcome) {
  printer_.Finish(
      reign_ == nullptr ? ControllerSnapshot() : reign_->controller->Snapshot(),
      local_worker_ == nullptr ? 0 : local_worker_->restarts(), outcome,
      core::RealClock().SteadyNow());
}

CliExit Run::Fail(const absl::Status& status) {
  std::cerr << status.message() << "\n";
  return CliExitOf(status);
}

CliExit Run::Drive() {
  while (true) {
    if (election_ != nullptr) {
      if (const auto exit = StandBy(); exit.has_value()) return *exit;
    }
    if (const auto begun = BeginReign(); !begun.ok()) return Fail(begun);
    if (const auto exit = Lead(); exit.has_value()) return *exit;
    EndReign();
    if (const auto exit = LookWhoLeads(); exit.has_value()) return *exit;
  }
}

std::optional<CliExit> Run::StandBy() {
  while (true) {
    const Election::View view = election_->view();
    if (epoch_ > 0 && view.lease.epoch > epoch_) {
      return Superseded(view.lease.epoch);
    }
    switch (view.standing) {
      case Election::Standing::kAsking:
      case Election::Standing::kLost:
        break;
      case Election::Standing::kStandby:
        printer_.ShowStandby(view.lease, core::RealClock().SteadyNow());
        break;
      case Election::Standing::kLeading:
        lease_reign_ = view.reign;
        return std::nullopt;
      case Election::Standing::kFailed:
        PrintEnd("failed");
        return Fail(view.trouble);
    }
    if (const auto exit = LookAround(); exit.has_value()) return *exit;
    election_->WaitForChange(kTick);
  }
}

std::optional<CliExit> Run::LookAround() {
  if (stopping_ || TakeSignal()) {
    PrintEnd("stopped");
    return CliExit::kOk;
  }
  const absl::Status worker = LookAfterWorkers();
  if (worker.ok()) return std::nullopt;
  return Fail(worker);
}

CliExit Run::Superseded(uint64_t epoch) {
  PrintEnd("failed");
  return Fail(core::MakeError(
      core::Reason::STALE_EPOCH,
      absl::StrCat("driving pipeline '", pipeline_.name, "': epoch ", epoch,
                   " leads now, this controller had ", epoch_, "; ",
                   election_->view().trouble.message())));
}

std::optional<CliExit> Run::LookWhoLeads() {
  // Shared with: the answer, which may come later than we wait.
  struct Answer {
    core::Notification came;
    absl::StatusOr<uint64_t> epoch;
  };
  while (true) {
    const auto answer = std::make_shared<Answer>();
    store_->ReadEpoch([answer](absl::StatusOr<uint64_t> epoch) {
      answer->epoch = std::move(epoch);
      answer->came.Notify();
    });
    do {
      if (const auto exit = LookAround(); exit.has_value()) return *exit;
    } while (!answer->came.WaitForNotificationWithTimeout(kTick));
    if (answer->epoch.ok()) {
      // Nobody took an epoch, so that nothing happened behind our back.
      if (epoch_ > 0 && *answer->epoch != epoch_) {
        return Superseded(*answer->epoch);
      }
      election_->AskAgain();
      return std::nullopt;
    }
    if (!core::HasReason(answer->epoch.status(), core::Reason::UNAVAILABLE)) {
      PrintEnd("failed");
      return Fail(answer->epoch.status());
    }
    election_->WaitForChange(kTick);
  }
}

bool Run::LeaseIsLost() const {
  if (election_ == nullptr) return false;
  const Election::View view = election_->view();
  return view.standing != Election::Standing::kLeading ||
         view.reign != lease_reign_;
}

std::optional<CliExit> Run::Lead() {
  Controller& controller = *reign_->controller;
  if (election_ != nullptr &&
      !election_->Lead(lease_reign_, reign_->controller)) {
    return std::nullopt;
  }
  controller.Start();
  // Ends at once when the controller does, not with the tick.
  while (!reign_->ended.WaitForNotificationWithTimeout(kTick)) {
    if (LeaseIsLost()) {
      if (!stopping_) return std::nullopt;
      PrintEnd("stopped");
      std::cerr
          << "the lease was lost meanwhile: the next run replays what was "
             "not checkpointed\n";
      return CliExit::kNotCheckpointed;
    }
    if (TakeSignal()) {
      if (stopping_) {
        // What it does in order takes time.
        if (local_worker_ != nullptr) local_worker_->Kill();
        return CliExit::kInterrupted;
      }
      stopping_ = true;
      std::cerr << "\nstopping: checkpointing what is done (once more to end "
                   "at once)\n";
      controller.Stop();
    }
    if (const auto worker = LookAfterWorkers(); !worker.ok()) {
      return Fail(worker);
    }
    printer_.Show(controller.Snapshot(), core::RealClock().SteadyNow());
  }
  const absl::Status& outcome = reign_->outcome;
  const CliExit exit = controller.Snapshot().some_failed ? CliExit::kSomeFailed
                                                         : CliExitOf(outcome);
  const bool failed = !outcome.ok() && exit != CliExit::kNotCheckpointed;
  PrintEnd(failed ? "failed" : stopping_ ? "stopped" : "done");
  if (!outcome.ok()) std::cerr << outcome.message() << "\n";
  return exit;
}

}  // namespace

CliExit RunPipeline(const RunOptions& options) {
  // Before any thread is made, so that only TakeSignal takes them.
  const sigset_t signals = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  Run run(options);
  const absl::Status built = run.Build();
  if (built.ok()) return run.Drive();
  std::cerr << built.message() << "\n";
  return CliExitOf(built);
}

}  // namespace penstock::client
