#include "tests/support/kafka_proxy.h"

#include "core/base/check.h"
#include "tests/support/socket_bytes.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stop_token>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// Source: Apache Kafka, protocol guide: a length of four bytes, then of a
// request its key, its version and a correlation id, of an answer that id.
constexpr size_t kRequestHeaderBytes = 12;
constexpr size_t kAnswerHeaderBytes = 8;

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// BSD sockets.
sockaddr* Generic(sockaddr_in& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

// The first whole frame of `bytes`; empty: it is not whole.
absl::string_view FirstFrame(const std::string& bytes) {
  if (bytes.size() < 4) return {};
  const size_t size = 4 + size_t{BigEndian(bytes, 4)};
  if (bytes.size() < size) return {};
  return absl::string_view(bytes).substr(0, size);
}

}  // namespace

struct KafkaProxy::Wire {
  int client = -1;
  int broker = -1;
  // Not yet whole.
  std::string from_client;
  std::string from_broker;
  // Of the request whose answer is awaited.
  std::optional<uint32_t> correlation;

  void Cut() {
    if (client >= 0) ::close(std::exchange(client, -1));
    if (broker >= 0) ::close(std::exchange(broker, -1));
  }
};

KafkaProxy::KafkaProxy() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK_GE(listener_, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  CHECK_EQ(::bind(listener_, Generic(address), size), 0);
  CHECK_EQ(::getsockname(listener_, Generic(address), &size), 0);
  address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  CHECK_EQ(::listen(listener_, 64), 0);
  CHECK_EQ(::pipe(wake_.data()), 0);
}

void KafkaProxy::ForwardTo(const std::string& bootstrap) {
  int port = 0;
  CHECK(absl::SimpleAtoi(bootstrap.substr(bootstrap.rfind(':') + 1), &port));
  broker_port_ = static_cast<uint16_t>(port);
  thread_ = std::make_unique<Thread>(
      "kafka-proxy", [this](const std::stop_token& stop) { Loop(stop); });
}

KafkaProxy::~KafkaProxy() {
  if (thread_ != nullptr) thread_->RequestStop();
  CHECK_EQ(::write(wake_[1], "w", 1), 1);
  thread_ = nullptr;
  for (Wire& wire : wires_) wire.Cut();
  for (const int fd : {listener_, wake_[0], wake_[1]}) ::close(fd);
}

void KafkaProxy::CutAtAnswer(KafkaRequest request) {
  MutexLock lock(mu_);
  awaited_ = request;
}

bool KafkaProxy::is_cut() const {
  MutexLock lock(mu_);
  return is_cut_;
}

void KafkaProxy::Mend() {
  MutexLock lock(mu_);
  is_cut_ = false;
}

void KafkaProxy::Loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> polled = {{listener_, POLLIN, 0},
                                  {wake_[0], POLLIN, 0}};
    for (const Wire& wire : wires_) {
      polled.push_back({wire.client, POLLIN, 0});
      polled.push_back({wire.broker, POLLIN, 0});
    }
    if (::poll(polled.data(), polled.size(), /*timeout=*/-1) < 0) continue;
    size_t at = 2;
    bool cuts_all = false;
    for (Wire& wire : wires_) {
      if (polled[at++].revents != 0) ReadClient(wire);
      if (polled[at++].revents != 0 && !ReadBroker(wire)) cuts_all = true;
    }
    if (cuts_all) {
      for (Wire& wire : wires_) wire.Cut();
      MutexLock lock(mu_);
      is_cut_ = true;
    }
    wires_.remove_if([](const Wire& wire) { return wire.client < 0; });
    if (polled[0].revents != 0) Accept();
  }
}

void KafkaProxy::Accept() {
  Wire wire;
  wire.client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (wire.client < 0) return;
  wire.broker = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(broker_port_);
  if (is_cut() ||
      ::connect(wire.broker, Generic(address), sizeof(address)) != 0) {
    return wire.Cut();
  }
  wires_.push_back(std::move(wire));
}

void KafkaProxy::ReadClient(Wire& wire) {
  if (wire.client < 0) return;
  if (!Receive(wire.client, wire.from_client)) return wire.Cut();
  while (true) {
    const absl::string_view frame = FirstFrame(wire.from_client);
    if (frame.size() < kRequestHeaderBytes) return;
    {
      MutexLock lock(mu_);
      if (awaited_.has_value() &&
          BigEndian(frame.substr(4), 2) == static_cast<uint32_t>(*awaited_)) {
        wire.correlation = BigEndian(frame.substr(8), 4);
        awaited_.reset();
      }
    }
    if (!SendAll(wire.broker, frame)) return wire.Cut();
    wire.from_client.erase(0, frame.size());
  }
}

bool KafkaProxy::ReadBroker(Wire& wire) {
  if (wire.broker < 0) return true;
  if (!Receive(wire.broker, wire.from_broker)) {
    wire.Cut();
    return true;
  }
  while (true) {
    const absl::string_view frame = FirstFrame(wire.from_broker);
    if (frame.size() < kAnswerHeaderBytes) return true;
    if (wire.correlation == BigEndian(frame.substr(4), 4)) return false;
    if (!SendAll(wire.client, frame)) {
      wire.Cut();
      return true;
    }
    wire.from_broker.erase(0, frame.size());
  }
}

}  // namespace penstock::core
