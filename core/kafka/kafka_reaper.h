// Ends clients of librdkafka so that nobody waits for one that does not end.
#pragma once

#include "core/base/mutex.h"

#include <absl/time/time.h>
#include <librdkafka/rdkafka.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace penstock::core {

// librdkafka joins its threads when a client ends, and a thread that holds a
// reference too many never does: known faults of 2.0.2 are mended around in
// RdKafkaConsumer, those that are not known must hold up nobody.
//
// Owner:     the process, or a test.
// Threads:   thread-safe.
// Lifecycle: the destructor waits for all clients, however long that takes.
// Bound:     one thread for each client that has not ended; KafkaClient makes
//            no new one beyond kStuckMax.
class KafkaReaper {
 public:
  static constexpr size_t kStuckMax = 16;

  // The process's. It is never destroyed: what is stuck ends with the process.
  static KafkaReaper& Shared();
  // `wait_max`: of an End.
  explicit KafkaReaper(absl::Duration wait_max);
  KafkaReaper(const KafkaReaper&) = delete;
  KafkaReaper& operator=(const KafkaReaper&) = delete;
  ~KafkaReaper();

  // Ends `client`, which nobody may use any more; all that came of it must be
  // gone. `kept` lives until it has ended. Blocks: at most for `wait_max`.
  // Returns: whether it has ended; if not, it is let go when it has.
  bool End(rd_kafka_t* client, std::shared_ptr<const void> kept)
      ABSL_LOCKS_EXCLUDED(mu_);
  // How many clients have not ended that somebody waited for.
  size_t Stuck() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // A client that is being ended.
  struct Ending;

  const absl::Duration wait_max_;
  Mutex mu_;
  std::vector<std::unique_ptr<Ending>> stuck_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
