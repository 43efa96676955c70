#include "client/cli/run_command.h"

#include "client/cli/crash_point.h"
#include "client/cli/local_worker.h"
#include "client/cli/progress_printer.h"
#include "client/cli/spec_change_check.h"
#include "client/client.h"
#include "client/controller/controller.h"
#include "client/controller/sqlite_store.h"
#include "client/pipeline_file.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/mutex.h"
#include "core/base/notification.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool_executor.h"
#include "proto/wire/spec.h"

#include <absl/strings/str_cat.h>

#include <unistd.h>
#include <atomic>
#include <csignal>
#include <iostream>
#include <memory>
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

// As long as it lives, these signals end the process at once, as they do where
// nobody takes them. No thread may be made meanwhile: it would take them later.
class SignalsEndAtOnce {
 public:
  SignalsEndAtOnce() { Set(SIG_UNBLOCK); }
  ~SignalsEndAtOnce() { Set(SIG_BLOCK); }
  SignalsEndAtOnce(const SignalsEndAtOnce&) = delete;
  SignalsEndAtOnce& operator=(const SignalsEndAtOnce&) = delete;

 private:
  static void Set(int how) {
    const sigset_t signals = EndingSignals();
    pthread_sigmask(how, &signals, nullptr);
  }
};

absl::StatusOr<std::unique_ptr<StateStore>> OpenStore(
    const std::string& path, core::Executor& executor) {
  // A large store takes long to check, and nothing has been begun yet.
  const SignalsEndAtOnce while_checking;
  return MakeSqliteStore(path, {.create_if_missing = true}, executor);
}

// Everything a run owns, in the order in which it is built.
class Run {
 public:
  explicit Run(RunOptions options)
      : options_(std::move(options)),
        random_(core::SeededFromEntropy()),
        executor_("controller", 1),
        store_executor_("store", 1) {}

  // Blocks: until no task of the controller runs that may use what it was
  // given; until the local worker has ended.
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  absl::Status Build();
  CliExit Drive();

 private:
  absl::Status ConnectWorkers();
  ControllerOptions MakeOptions();
  absl::Status SetCrashPoint();
  // True when a signal came since the last call.
  static bool TakeSignal();

  const RunOptions options_;
  core::Random random_;
  core::ThreadPoolExecutor executor_;
  core::ThreadPoolExecutor store_executor_;
  PipelineFile pipeline_;
  std::unique_ptr<LocalWorker> local_worker_;
  std::unique_ptr<StateStore> store_;
  std::vector<std::unique_ptr<Client>> clients_;
  core::Notification ended_;
  absl::Status outcome_;  // Set before ended_.
  std::shared_ptr<Controller> controller_;
};

Run::~Run() {
  controller_ = nullptr;
  // No task of it begins any more, and the executor has one thread: behind this
  // one none runs.
  core::Notification over;
  executor_.Schedule([&over] { over.Notify(); });
  over.WaitForNotification();
}

absl::Status Run::ConnectWorkers() {
  std::vector<std::string> targets;
  for (const PipelineWorker& worker : pipeline_.workers) {
    targets.push_back(worker.address);
  }
  if (targets.empty()) {
    const std::string state_dir =
        options_.worker_state_dir.empty()
            ? absl::StrCat(pipeline_.store_path, ".worker")
            : options_.worker_state_dir;
    RETURN_IF_ERROR(core::PosixFileSystem().CreateDirectories(state_dir));
    ASSIGN_OR_RETURN(local_worker_,
                     LocalWorker::Start(options_.worker_program, state_dir));
    targets.push_back(local_worker_->target());
  }
  ClientOptions client_options;
  client_options.channel.insecure = options_.insecure;
  for (const std::string& target : targets) {
    ASSIGN_OR_RETURN(auto client, Client::Connect(target, client_options));
    clients_.push_back(std::move(client));
  }
  return absl::OkStatus();
}

ControllerOptions Run::MakeOptions() {
  ControllerOptions options;
  options.pipeline = pipeline_.name;
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  options.controller_id = absl::StrCat(host, ":", getpid());
  options.nonce = core::RandomId(random_);
  options.incarnation = pipeline_.incarnation;
  options.checkpoint_interval = pipeline_.checkpoint_interval;
  options.stop_at_end_of_input = true;
  options.check_spec_change = CheckSpecChange;
  options.random_seed = random_.Next64();
  for (size_t i = 0; i < pipeline_.connectors.size(); ++i) {
    const core::ConnectorSpec& spec = pipeline_.connectors[i];
    options.connectors.push_back({.name = spec.name,
                                  .spec_bytes = wire::SpecToBytes(spec),
                                  .level = spec.level,
                                  .worker = pipeline_.placement[i]});
  }
  return options;
}

absl::Status Run::SetCrashPoint() {
  if (options_.crash_at.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const CrashPoint crash,
                   ParseCrashPoint(options_.crash_at, options_.crash_how));
  controller_->SetFaultHook([crash, reached = uint64_t{0}](
                                FaultPoint point, const std::string&) mutable {
    if (point == crash.point && ++reached == crash.count) {
      kill(getpid(), crash.signal);
    }
  });
  return absl::OkStatus();
}

absl::Status Run::Build() {
  ASSIGN_OR_RETURN(pipeline_, LoadPipelineFile(core::PosixFileSystem(),
                                               options_.pipeline_file));
  ASSIGN_OR_RETURN(store_, OpenStore(pipeline_.store_path, store_executor_));
  RETURN_IF_ERROR(ConnectWorkers());
  std::vector<core::Control*> workers;
  for (const auto& client : clients_) workers.push_back(&client->control());
  controller_ =
      Controller::Create(MakeOptions(), executor_, *store_, std::move(workers),
                         [this](absl::Status status) {
                           outcome_ = std::move(status);
                           ended_.Notify();
                         });
  return SetCrashPoint();
}

bool Run::TakeSignal() {
  const sigset_t signals = EndingSignals();
  const timespec no_wait{};
  return sigtimedwait(&signals, nullptr, &no_wait) > 0;
}

CliExit Run::Drive() {
  const core::Clock& clock = core::RealClock();
  ProgressPrinter printer(ProgressPrinter::StyleOf(options_.format),
                          clock.SteadyNow());
  controller_->Start();
  bool stopping = false;
  // Ends at once when the controller does, not with the tick.
  while (!ended_.WaitForNotificationWithTimeout(kTick)) {
    if (TakeSignal()) {
      if (stopping) {
        // What it does in order takes time.
        if (local_worker_ != nullptr) local_worker_->Kill();
        return CliExit::kInterrupted;
      }
      stopping = true;
      std::cerr << "\nstopping: checkpointing what is done (once more to end "
                   "at once)\n";
      controller_->Stop();
    }
    if (local_worker_ != nullptr) {
      const absl::Status worker = local_worker_->Look(clock.SteadyNow());
      if (!worker.ok()) {
        std::cerr << worker.message() << "\n";
        return CliExitOf(worker);
      }
    }
    printer.Show(controller_->Snapshot(), clock.SteadyNow());
  }
  const CliExit exit = CliExitOf(outcome_);
  const bool failed = !outcome_.ok() && exit != CliExit::kNotCheckpointed;
  printer.Finish(controller_->Snapshot(),
                 local_worker_ == nullptr ? 0 : local_worker_->restarts(),
                 failed     ? "failed"
                 : stopping ? "stopped"
                            : "done",
                 clock.SteadyNow());
  if (!outcome_.ok()) std::cerr << outcome_.message() << "\n";
  return exit;
}

}  // namespace

CliExit RunPipeline(const RunOptions& options) {
  // Before any thread is made, so that only TakeSignal takes them.
  const sigset_t signals = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  Run run(options);
  if (const absl::Status status = run.Build(); !status.ok()) {
    std::cerr << status.message() << "\n";
    return CliExitOf(status);
  }
  return run.Drive();
}

}  // namespace penstock::client
