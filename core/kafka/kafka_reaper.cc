#include "core/kafka/kafka_reaper.h"

#include "core/base/log.h"
#include "core/base/notification.h"
#include "core/base/thread.h"

#include <stop_token>
#include <utility>

namespace penstock::core {
namespace {

// An ordinary end takes milliseconds, one behind a broker's thread that sleeps
// a second.
constexpr absl::Duration kWaitMax = absl::Seconds(5);

}  // namespace

struct KafkaReaper::Ending {
  Ending(rd_kafka_t* client, std::shared_ptr<const void> kept)
      : thread("kafka-end", [this, client,
                             kept = std::move(kept)](std::stop_token) mutable {
          rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
          kept.reset();
          ended.Notify();
        }) {}

  Notification ended;
  // Joined before what it uses goes.
  Thread thread;
};

KafkaReaper& KafkaReaper::Shared() {
  static auto& reaper = *new KafkaReaper(kWaitMax);
  return reaper;
}

KafkaReaper::KafkaReaper(absl::Duration wait_max) : wait_max_(wait_max) {}

KafkaReaper::~KafkaReaper() = default;

bool KafkaReaper::End(rd_kafka_t* client, std::shared_ptr<const void> kept) {
  auto ending = std::make_unique<Ending>(client, std::move(kept));
  if (ending->ended.WaitForNotificationWithTimeout(wait_max_)) return true;
  size_t stuck = 0;
  {
    MutexLock lock(mu_);
    stuck_.push_back(std::move(ending));
    stuck = stuck_.size();
  }
  LOG(ERROR).With("stuck", stuck)
      << "kafka: a client of librdkafka does not end; it is left to itself";
  return false;
}

size_t KafkaReaper::Stuck() {
  MutexLock lock(mu_);
  std::erase_if(stuck_, [](const std::unique_ptr<Ending>& one) {
    return one->ended.HasBeenNotified();
  });
  return stuck_.size();
}

}  // namespace penstock::core
