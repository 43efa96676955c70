// A wire between Kafka's clients and one broker that a test can cut.
#pragma once

#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "tests/support/kafka_mock.h"

#include <absl/base/thread_annotations.h>

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace penstock::core {

// Forwards connections to a broker on loopback that advertises the proxy's
// address. It knows where requests and answers begin, and no more of the
// protocol: no TLS.
//
// Threads:   thread-safe, but for ForwardTo, which comes before any connection.
// Lifecycle: open from construction to destruction; ForwardTo once.
// Bound:     what the requests of its connections hold.
class KafkaProxy {
 public:
  KafkaProxy();
  KafkaProxy(const KafkaProxy&) = delete;
  KafkaProxy& operator=(const KafkaProxy&) = delete;
  ~KafkaProxy();

  // host:port, for the broker's advertised.listeners.
  const std::string& address() const { return address_; }
  void ForwardTo(const std::string& bootstrap);

  // The next such request reaches the broker, its answer nobody: when that
  // comes all connections are cut, and new ones are until Mend.
  void CutAtAnswer(KafkaRequest request) ABSL_LOCKS_EXCLUDED(mu_);
  // Whether that has happened.
  bool is_cut() const ABSL_LOCKS_EXCLUDED(mu_);
  void Mend() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // One connection.
  struct Wire;

  void Loop(const std::stop_token& stop);
  void Accept();
  void ReadClient(Wire& wire) ABSL_LOCKS_EXCLUDED(mu_);
  // False: it was the answer that nobody may see.
  bool ReadBroker(Wire& wire);

  std::string address_;
  uint16_t broker_port_ = 0;
  int listener_ = -1;
  std::array<int, 2> wake_ = {-1, -1};

  mutable Mutex mu_;
  std::optional<KafkaRequest> awaited_ ABSL_GUARDED_BY(mu_);
  bool is_cut_ ABSL_GUARDED_BY(mu_) = false;

  // Confined to the thread.
  std::list<Wire> wires_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace penstock::core
