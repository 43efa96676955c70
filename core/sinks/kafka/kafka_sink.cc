#include "core/sinks/kafka/kafka_sink.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/status_macros.h"
#include "core/kafka/kafka_options.h"
#include "core/kafka/kafka_topic_limit.h"
#include "core/sinks/kafka/kafka_endpoint.h"
#include "core/sinks/kafka/kafka_opening.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::core {
namespace {

constexpr absl::Duration kOpenTime = absl::Minutes(1);
// Well within offsets.retention.minutes, a week unless the cluster says other.
constexpr absl::Duration kRenewEvery = absl::Hours(12);

}  // namespace

// Renews the progress of all lanes again and again.
//
// Threads:   thread-safe. Lifecycle: Start, Stop; its timer holds it.
class KafkaSink::Renewal : public std::enable_shared_from_this<Renewal> {
 public:
  Renewal(Executor& io, std::shared_ptr<const KafkaWriting> writing,
          std::vector<std::shared_ptr<KafkaLane>> lanes)
      : io_(io), writing_(std::move(writing)), lanes_(std::move(lanes)) {}

  void Start() {
    MutexLock lock(mu_);
    if (stopped_) return;
    timer_ = io_.ScheduleAfter(kRenewEvery, [self = shared_from_this()] {
      const absl::Status renewed = self->Renew();
      if (!renewed.ok()) {
        LOG(WARNING) << "kafka sink: renewing progress: " << ErrorText(renewed);
      }
      self->Start();
    });
  }

  // A renewal that is running goes on to its end, and harms nobody.
  void Stop() {
    Executor::TimerId timer = Executor::TimerId::kNone;
    {
      MutexLock lock(mu_);
      stopped_ = true;
      timer = std::exchange(timer_, Executor::TimerId::kNone);
    }
    io_.Cancel(timer);
  }

  // The first error; the other lanes are renewed all the same.
  absl::Status Renew() {
    absl::Status first;
    for (const std::shared_ptr<KafkaLane>& lane : lanes_) {
      const absl::Time deadline = writing_->Deadline(absl::InfiniteFuture());
      absl::Status renewed = lane->Enter(deadline);
      if (renewed.ok()) {
        renewed = lane->Renew(deadline);
        lane->Leave();
      }
      first.Update(renewed);
    }
    return first;
  }

 private:
  Executor& io_;
  const std::shared_ptr<const KafkaWriting> writing_;
  const std::vector<std::shared_ptr<KafkaLane>> lanes_;
  Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  Executor::TimerId timer_ ABSL_GUARDED_BY(mu_) = Executor::TimerId::kNone;
};

absl::StatusOr<std::unique_ptr<OutputTarget>> MakeKafkaSink(
    const ComponentConfig& config, const Environment& environment) {
  CHECK(config.type() == "kafka");
  const auto& kafka = static_cast<const KafkaSinkConfig&>(config);
  RETURN_IF_ERROR(CheckKafkaSinkConfig(kafka));
  return std::make_unique<KafkaSink>(kafka, environment);
}

KafkaSink::KafkaSink(KafkaSinkConfig config, const Environment& environment)
    : config_(std::move(config)), environment_(environment) {}

KafkaSink::~KafkaSink() { Close().IgnoreError(); }

absl::StatusOr<std::vector<Step>> KafkaSink::Open(const OutputOpen& open) {
  if (open.base_steps > uint64_t{INT64_MAX} || open.shards == 0) {
    return MakeError(Reason::INVALID_REQUEST,
                     absl::StrCat("kafka sink: ", open.shards,
                                  " shards from step ", open.base_steps));
  }
  const absl::Time deadline = environment_.clock.SteadyNow() + kOpenTime;
  ASSIGN_OR_RETURN(KafkaConf conf,
                   ResolveKafkaOptions(config_.options, KafkaSinkDefaults(),
                                       environment_.files, environment_.paths));
  auto writing =
      std::make_shared<KafkaWriting>(KafkaWriting{.config = config_,
                                                  .open = open,
                                                  .conf = std::move(conf),
                                                  .clock = environment_.clock});
  ASSIGN_OR_RETURN(const std::unique_ptr<KafkaProducer> scout,
                   writing->MakeProducer(""));
  ASSIGN_OR_RETURN(writing->partitions, scout->PartitionCount(deadline));
  writing->batch_bytes = AskKafkaTopicLimit(scout->handle(), config_.topic,
                                            environment_.clock, deadline);
  writing_ = writing;
  EndTogether(std::exchange(lanes_, {}));
  if (!writing_->exactly_once()) {
    for (ShardIndex i = 0; i < open.shards; ++i) {
      lanes_.push_back(std::make_shared<KafkaLane>(writing_, i));
    }
    return std::vector<Step>();
  }
  ASSIGN_OR_RETURN(lanes_, KafkaOpening(writing_, deadline).Run());
  renewal_ = std::make_shared<Renewal>(environment_.io, writing_, lanes_);
  renewal_->Start();
  std::vector<Step> steps;
  for (const auto& lane : lanes_) steps.push_back(lane->progress());
  return steps;
}

absl::StatusOr<std::unique_ptr<OutputEndpoint>> KafkaSink::MakeEndpoint(
    ShardIndex shard) {
  CHECK(writing_ != nullptr) << "before Open";
  CHECK_LT(shard, lanes_.size());
  return std::make_unique<KafkaEndpoint>(writing_, lanes_[shard], shard);
}

absl::Status KafkaSink::Close() {
  if (renewal_ != nullptr) renewal_->Stop();
  renewal_.reset();
  EndTogether(std::exchange(lanes_, {}));
  return absl::OkStatus();
}

}  // namespace penstock::core
