#include "tests/support/postgres_server.h"

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/environment.h"
#include "core/base/filesystem.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

constexpr absl::string_view kUser = "postgres";
constexpr size_t kLogBytesMax = size_t{64} << 10;

// Debian keeps each version's programs apart; the newest counts. Empty: none.
std::string BinDirectory() {
  if (auto given = GetEnv("PENSTOCK_POSTGRES_BIN")) return *given;
  std::string best;
  int best_version = 0;
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
    const int version = std::atoi(entry.path().filename().c_str());
    const std::string bin = (entry.path() / "bin").string();
    if (version > best_version &&
        ::access((bin + "/postgres").c_str(), X_OK) == 0) {
      best_version = version;
      best = bin;
    }
  }
  return best;
}

// The server refuses to run as root: then it runs as the user that Debian's
// package made. Null: as ourselves.
const passwd* ServerUser() {
  return ::geteuid() == 0 ? ::getpwnam(std::string(kUser).c_str()) : nullptr;
}

// In the child: becomes the server's user and dies with its parent.
void BecomeServer(pid_t parent) {
  if (const passwd* user = ServerUser()) {
    if (::initgroups(user->pw_name, user->pw_gid) != 0 ||
        ::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0) {
      ::_exit(126);
    }
  }
  // After the change of user, which clears it.
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (::getppid() != parent) ::_exit(126);
}

[[noreturn]] void Execute(const std::string& program,
                          std::vector<std::string> args) {
  args.insert(args.begin(), program);
  std::vector<char*> raw;
  raw.reserve(args.size() + 1);
  for (std::string& arg : args) raw.push_back(arg.data());
  raw.push_back(nullptr);
  ::execv(program.c_str(), raw.data());
  ::_exit(127);
}

}  // namespace

std::optional<std::string> PostgresServer::Missing() {
  if (BinDirectory().empty()) {
    return "no PostgreSQL server is installed: "
           "deploy/setup/install-deps.sh test, or set PENSTOCK_POSTGRES_BIN";
  }
  if (::geteuid() == 0 && ServerUser() == nullptr) {
    return "this is root, and there is no user \"postgres\" for the server";
  }
  return std::nullopt;
}

bool PostgresServer::IsRequired() {
  return GetEnv("PENSTOCK_REQUIRE_POSTGRES") == "1";
}

PostgresServer& PostgresServer::Shared() {
  static PostgresServer server;
  return server;
}

PostgresServer::PostgresServer(const PostgresServer* primary) {
  MakeCluster(primary);
  Start();
}

PostgresServer::~PostgresServer() { StopAtOnce(); }

void PostgresServer::MakeCluster(const PostgresServer* primary) {
  const std::string data = directory_.Path("data");
  CHECK_EQ(::mkdir(data.c_str(), 0700), 0);
  if (const passwd* user = ServerUser()) {
    CHECK_EQ(::chown(directory_.path().c_str(), user->pw_uid, user->pw_gid), 0);
    CHECK_EQ(::chown(data.c_str(), user->pw_uid, user->pw_gid), 0);
  }
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  CHECK_GE(child, 0);
  if (child == 0) {
    BecomeServer(parent);
    if (::chdir(directory_.path().c_str()) != 0) ::_exit(126);
    if (::freopen("make.log", "w", stdout) == nullptr) ::_exit(126);
    ::dup2(1, 2);
    if (primary != nullptr) {
      Execute(BinDirectory() + "/pg_basebackup",
              {"-D", data, "-h", primary->directory(), "-U", std::string(kUser),
               "-R", "-X", "stream", "-c", "fast", "--no-sync"});
    }
    Execute(BinDirectory() + "/initdb",
            {"-D", data, "-U", std::string(kUser), "-A", "trust", "-E", "UTF8",
             "--locale=C.UTF-8", "--no-sync", "--no-instructions"});
  }
  int status = 0;
  CHECK_EQ(::waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0) << "making a cluster: "
                      << PosixFileSystem()
                             .ReadFile(directory_.Path("make.log"))
                             .value_or("no log");
}

void PostgresServer::Start() {
  CHECK_EQ(pid_, 0);
  std::array<int, 2> log = {};
  CHECK_EQ(::pipe2(log.data(), O_CLOEXEC), 0);
  {
    MutexLock lock(mu_);
    ready_ = false;
    ended_ = false;
  }
  Launch(log[1]);
  ::close(log[1]);
  reader_ = std::make_unique<Thread>(
      "postgres-log",
      [this, fd = log[0]](const std::stop_token& /*stop*/) { ReadLog(fd); });
  MutexLock lock(mu_);
  changed_.WaitUntil(mu_, RealClock().SteadyNow() + absl::Minutes(1), [this] {
    mu_.AssertHeld();
    return ready_ || ended_;
  });
  CHECK(ready_ && !ended_) << "the server did not start: " << log_;
}

void PostgresServer::Launch(int log_fd) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  CHECK_GE(child, 0);
  if (child == 0) {
    BecomeServer(parent);
    ::dup2(log_fd, 1);
    ::dup2(log_fd, 2);
    // A group of its own: ^C is for the test, which then ends the server.
    ::setpgid(0, 0);
    Execute(BinDirectory() + "/postgres",
            {"-D", directory_.Path("data"),  "-k", directory_.path(),
             "-c", "listen_addresses=",      "-c", "fsync=off",
             "-c", "synchronous_commit=on",  "-c", "full_page_writes=off",
             "-c", "shared_buffers=16MB",    "-c", "max_connections=60",
             "-c", "autovacuum=off",         "-c", "logging_collector=off",
             "-c", "log_destination=stderr", "-c", "lc_messages=C"});
  }
  pid_ = child;
}

void PostgresServer::ReadLog(int fd) {
  std::array<char, 4096> block = {};
  while (true) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    MutexLock lock(mu_);
    if (got <= 0) break;
    log_.append(block.data(), static_cast<size_t>(got));
    if (!ready_) {
      // "connections", of a standby "read-only connections".
      ready_ = absl::StrContains(log_, "database system is ready to accept ");
    }
    if (log_.size() > kLogBytesMax) log_.erase(0, log_.size() - kLogBytesMax);
    changed_.NotifyAll();
  }
  ::close(fd);
  MutexLock lock(mu_);
  ended_ = true;
  changed_.NotifyAll();
}

void PostgresServer::StopAtOnce() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGQUIT);
  Reap();
}

void PostgresServer::Promote() {
  StopAtOnce();
  CHECK_EQ(::unlink(directory_.Path("data/standby.signal").c_str()), 0);
  Start();
}

void PostgresServer::Reap() {
  int status = 0;
  CHECK_EQ(::waitpid(pid_, &status, 0), pid_);
  pid_ = 0;
  reader_.reset();
  // What the last run said of being ready says nothing of the next.
  MutexLock lock(mu_);
  log_.clear();
}

std::string PostgresServer::log() const {
  MutexLock lock(mu_);
  return log_;
}

std::string PostgresServer::ConninfoOf(absl::string_view database) const {
  return absl::StrCat("host=", directory_.path(), " user=", kUser,
                      " dbname=", database);
}

std::unique_ptr<PgConnection> PostgresServer::Connect(
    absl::string_view conninfo) {
  const auto parsed = Conninfo::Parse(conninfo);
  CHECK_OK(parsed);
  auto connection =
      PgConnection::Connect(*parsed, {.application_name = "test"}, RealClock(),
                            RealClock().SteadyNow() + absl::Seconds(30));
  CHECK_OK(connection);
  return *std::move(connection);
}

std::string PostgresServer::MakeDatabase() {
  const std::string name = absl::StrCat("test_", ++databases_);
  const auto made = Connect(ConninfoOf("postgres"))
                        ->Exec(absl::StrCat("CREATE DATABASE ", name),
                               RealClock().SteadyNow() + absl::Seconds(60));
  CHECK_OK(made);
  return ConninfoOf(name);
}

}  // namespace penstock::core
