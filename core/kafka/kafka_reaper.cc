#include "core/kafka/kafka_reaper.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/notification.h"
#include "core/base/thread.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <stop_token>
#include <system_error>
#include <utility>

namespace penstock::core {
namespace {

// An ordinary end takes milliseconds, one behind a broker's thread that sleeps
// a second.
constexpr absl::Duration kWaitMax = absl::Seconds(5);
// A resolver gives a name up within a minute, unless it is told otherwise.
constexpr absl::Duration kStuckAfter = absl::Minutes(5);

}  // namespace

struct KafkaReaper::Ending {
  explicit Ending(Client its) : client(std::move(its)) {}

  void Run() {
    if (client.first) std::exchange(client.first, nullptr)();
    rd_kafka_destroy_flags(client.handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    client.kept.reset();
    ended.Notify();
  }

  const absl::Time began = RealClock().SteadyNow();
  Client client;
  Notification ended;
  // Joined before what it uses goes.
  std::unique_ptr<Thread> thread;
};

KafkaReaper& KafkaReaper::Shared() {
  static auto& reaper = *new KafkaReaper(kWaitMax, kStuckAfter);
  return reaper;
}

KafkaReaper::KafkaReaper(absl::Duration wait_max, absl::Duration stuck_after)
    : wait_max_(wait_max), stuck_after_(stuck_after) {}

KafkaReaper::~KafkaReaper() = default;

std::shared_ptr<KafkaReaper::Ending> KafkaReaper::Begin(
    Client client) noexcept {
  auto ending = std::make_shared<Ending>(std::move(client));
  try {
    ending->thread = std::make_unique<Thread>(
        "kafka-end",
        [&its = *ending](std::stop_token /*stopped*/) { its.Run(); });
  } catch (const std::system_error& error) {
    LOG(ERROR) << "kafka: no thread to end a client on (" << error.what()
               << "); it is waited for";
    ending->Run();
  }
  return ending;
}

bool KafkaReaper::Wait(std::shared_ptr<Ending> ending) {
  const absl::Duration left =
      ending->began + wait_max_ - RealClock().SteadyNow();
  if (ending->ended.WaitForNotificationWithTimeout(
          std::max(left, absl::ZeroDuration()))) {
    return true;
  }
  size_t count = 0;
  {
    MutexLock lock(mu_);
    left_.push_back(std::move(ending));
    count = left_.size();
  }
  LOG(WARNING).With("left", count)
      << "kafka: a client of librdkafka does not end yet; it is left to itself";
  return false;
}

void KafkaReaper::Forget() {
  std::erase_if(left_, [](const std::shared_ptr<Ending>& one) {
    return one->ended.HasBeenNotified();
  });
}

size_t KafkaReaper::Left() {
  MutexLock lock(mu_);
  Forget();
  return left_.size();
}

size_t KafkaReaper::Stuck() {
  const absl::Time since = RealClock().SteadyNow() - stuck_after_;
  MutexLock lock(mu_);
  Forget();
  return static_cast<size_t>(
      std::count_if(left_.begin(), left_.end(),
                    [&](const auto& one) { return one->began <= since; }));
}

absl::Status KafkaReaper::CheckRoom() {
  if (Stuck() >= kStuckMax) {
    return MakeError(
        Reason::UNAVAILABLE,
        absl::StrCat("kafka: ", kStuckMax,
                     " clients of librdkafka in this process do not end; "
                     "restart the worker"));
  }
  if (Left() < kLeftMax) return absl::OkStatus();
  return MakeError(
      Reason::UNAVAILABLE,
      absl::StrCat("kafka: ", kLeftMax,
                   " clients of librdkafka in this process have not ended yet, "
                   "as those of a cluster whose names nobody resolves; another "
                   "is made when they have"));
}

}  // namespace penstock::core
