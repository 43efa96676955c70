// Ends clients of librdkafka so that nobody waits for one that does not end.
#pragma once

#include "core/base/mutex.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/time/time.h>
#include <librdkafka/rdkafka.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace penstock::core {

// librdkafka joins its threads when a client ends, and one of them may sleep in
// the resolution of a name for a minute; a thread that holds a reference too
// many never ends: known faults of 2.0.2 are mended around in RdKafkaConsumer,
// those that are not known must hold up nobody.
//
// Owner:     the process, or a test.
// Threads:   thread-safe.
// Lifecycle: the destructor waits for all clients, however long that takes.
// Bound:     one thread for each client that has not ended; KafkaClient makes
//            no new one while CheckRoom says so.
class KafkaReaper {
 public:
  // Clients that nobody waits for any more: of those that will hardly end, and
  // of all.
  static constexpr size_t kStuckMax = 16;
  static constexpr size_t kLeftMax = 256;

  struct Client {
    // Nobody may use it any more; all that came of it must be gone.
    rd_kafka_t* handle = nullptr;
    // Lives until it has ended.
    std::shared_ptr<const void> kept;
    // Run before it is destroyed, if there is one. It owns what it uses.
    absl::AnyInvocable<void()> first;
  };
  // A client that is being ended.
  struct Ending;

  // The process's. It is never destroyed: what is stuck ends with the process.
  static KafkaReaper& Shared();
  // `wait_max`: of a Wait, counted from its Begin. `stuck_after`: from when on
  // a client counts as one that does not end.
  KafkaReaper(absl::Duration wait_max, absl::Duration stuck_after);
  KafkaReaper(const KafkaReaper&) = delete;
  KafkaReaper& operator=(const KafkaReaper&) = delete;
  ~KafkaReaper();

  // Begins to end it. Blocks: only if no thread can be made; then until it has
  // ended.
  std::shared_ptr<Ending> Begin(Client client) noexcept;
  // Returns: whether it has ended; if not, it is let go when it has.
  bool Wait(std::shared_ptr<Ending> ending) ABSL_LOCKS_EXCLUDED(mu_);

  // How many clients have not ended that somebody waited for.
  size_t Left() ABSL_LOCKS_EXCLUDED(mu_);
  // Those of them that have had minutes to do so.
  size_t Stuck() ABSL_LOCKS_EXCLUDED(mu_);
  // Errors: UNAVAILABLE: there are so many that none may be added.
  absl::Status CheckRoom() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const absl::Duration wait_max_;
  const absl::Duration stuck_after_;
  Mutex mu_;
  std::vector<std::shared_ptr<Ending>> left_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
