#include "tests/support/kafka_broker.h"

#include "core/base/check.h"
#include "core/base/environment.h"

#include <absl/strings/str_cat.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::Duration kStartTime = absl::Minutes(2);
constexpr int kStartsMax = 3;

// The directory that fetch.sh has filled.
std::filesystem::path Home() {
  if (auto given = GetEnv("PENSTOCK_KAFKA")) return *given;
  return std::filesystem::path(PENSTOCK_SOURCE_DIRECTORY) / "build/kafka";
}

// Two ports that nobody listens on at this moment.
std::array<int, 2> FreePorts() {
  std::array<int, 2> sockets = {};
  std::array<int, 2> ports = {};
  for (size_t i = 0; i < ports.size(); ++i) {
    sockets[i] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_GE(sockets[i], 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): BSD sockets.
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
    CHECK_EQ(::bind(sockets[i], generic, size), 0);
    CHECK_EQ(::getsockname(sockets[i], generic, &size), 0);
    ports[i] = ntohs(address.sin_port);
  }
  for (const int socket : sockets) ::close(socket);
  return ports;
}

}  // namespace

std::optional<std::string> KafkaBroker::Missing() {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(Home(), none)) {
    if (entry.path().filename().string().starts_with("complete-")) {
      return std::nullopt;
    }
  }
  return absl::StrCat("there is none in ", Home().string(),
                      ": run tests/kafka/fetch.sh, or set PENSTOCK_KAFKA");
}

bool KafkaBroker::IsRequired() {
  return GetEnv("PENSTOCK_REQUIRE_KAFKA") == "1";
}

KafkaBroker& KafkaBroker::Shared() {
  static KafkaBroker broker;
  return broker;
}

KafkaBroker::KafkaBroker(std::vector<std::string> settings)
    : settings_(std::move(settings)) {
  // Another process may take a port before the broker does.
  for (int attempt = 1;; ++attempt) {
    const std::array<int, 2> ports = FreePorts();
    port_ = ports[0];
    controller_port_ = ports[1];
    bootstrap_ = absl::StrCat("127.0.0.1:", port_);
    if (TryStart()) return;
    CHECK_LT(attempt, kStartsMax) << "no broker: " << process_.log();
    std::filesystem::remove_all(directory_.Path("broker"));
  }
}

void KafkaBroker::Start() {
  CHECK(TryStart()) << "the broker did not come back: " << process_.log();
}

bool KafkaBroker::TryStart() {
  std::vector<std::string> args = {
      "python3",
      absl::StrCat(PENSTOCK_SOURCE_DIRECTORY, "/tests/kafka/broker.py"),
      "run",
      directory_.Path("broker"),
      absl::StrCat(port_),
      absl::StrCat(controller_port_)};
  args.insert(args.end(), settings_.begin(), settings_.end());
  return process_.Launch(args, "Kafka Server started", kStartTime);
}

}  // namespace penstock::core
