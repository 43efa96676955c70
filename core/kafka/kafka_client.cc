#include "core/kafka/kafka_client.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/kafka/kafka_reaper.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/time/time.h>

#include <array>
#include <utility>

namespace penstock::core {
namespace {

constexpr uint32_t kLogsMax = 20;
constexpr absl::Duration kLogWindow = absl::Minutes(1);
// Source: syslog(3), whose levels librdkafka uses.
constexpr int kLogError = 3;
constexpr int kLogWarning = 4;

}  // namespace

// Logs come on any thread, also of a client that is stuck at its end, when the
// KafkaClient is gone. All other callbacks come from who polls the client.
struct KafkaClient::Link {
  explicit Link(KafkaClient& its) : client(its) {}

  KafkaClient& client;
  Mutex mu;
  // `client` is gone.
  bool is_left ABSL_GUARDED_BY(mu) = false;
};

KafkaClient::KafkaClient(std::vector<std::string> secrets,
                         KafkaObserver& observer, const Clock& clock)
    : secrets_(std::move(secrets)),
      observer_(observer),
      log_limit_(kLogsMax, kLogWindow, clock),
      link_(std::make_shared<Link>(*this)) {}

absl::StatusOr<std::unique_ptr<KafkaClient>> KafkaClient::Create(
    rd_kafka_type_t type, KafkaConf conf, KafkaObserver& observer,
    const Clock& clock) {
  if (KafkaReaper::Shared().Stuck() >= KafkaReaper::kStuckMax) {
    return MakeError(
        Reason::UNAVAILABLE,
        absl::StrCat("kafka: ", KafkaReaper::kStuckMax,
                     " clients of librdkafka in this process do not end; "
                     "restart the worker"));
  }
  std::unique_ptr<KafkaClient> client(
      new KafkaClient(std::move(conf.secrets), observer, clock));
  rd_kafka_conf_set_opaque(conf.conf.get(), client->link_.get());
  rd_kafka_conf_set_log_cb(conf.conf.get(), &KafkaClient::Log);
  rd_kafka_conf_set_error_cb(conf.conf.get(), &KafkaClient::Error);
  rd_kafka_conf_set_stats_cb(conf.conf.get(), &KafkaClient::Statistics);
  if (type == RD_KAFKA_PRODUCER) {
    rd_kafka_conf_set_dr_msg_cb(conf.conf.get(), &KafkaClient::Delivery);
  }
  std::array<char, 512> problem{};
  client->handle_ =
      rd_kafka_new(type, conf.conf.get(), problem.data(), problem.size());
  if (client->handle_ == nullptr) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("kafka: options: ", client->Redact(problem.data())),
        {{"field", "options"}});
  }
  // It is the client's now.
  static_cast<void>(conf.conf.release());
  return client;
}

KafkaClient::~KafkaClient() {
  if (handle_ == nullptr) return;
  if (KafkaReaper::Shared().End(handle_, link_)) return;
  MutexLock lock(link_->mu);
  link_->is_left = true;
}

std::string KafkaClient::Redact(absl::string_view text) const {
  std::vector<std::pair<absl::string_view, absl::string_view>> blots;
  for (const std::string& secret : secrets_) blots.push_back({secret, "***"});
  return absl::StrReplaceAll(text, blots);
}

void KafkaClient::Log(const rd_kafka_t* handle, int level, const char* facility,
                      const char* text) {
  auto& link = *static_cast<Link*>(rd_kafka_opaque(handle));
  MutexLock lock(link.mu);
  if (!link.is_left) link.client.WriteLog(level, facility, text);
}

void KafkaClient::WriteLog(int level, const char* facility, const char* text) {
  const std::string shown = Redact(text);
  if (level <= kLogError) {
    LOG_EVERY(ERROR, log_limit_) << "kafka: " << facility << ": " << shown;
  } else if (level <= kLogWarning) {
    LOG_EVERY(WARNING, log_limit_) << "kafka: " << facility << ": " << shown;
  } else {
    LOG_EVERY(INFO, log_limit_) << "kafka: " << facility << ": " << shown;
  }
}

void KafkaClient::Error(rd_kafka_t* handle, int code, const char* text,
                        void* self) {
  auto& client = static_cast<Link*>(self)->client;
  auto error = static_cast<rd_kafka_resp_err_t>(code);
  if (error != RD_KAFKA_RESP_ERR__FATAL) {
    client.observer_.OnError(error, client.Redact(text));
    return;
  }
  // What it was that is fatal stands elsewhere.
  std::array<char, 512> reason{};
  error = rd_kafka_fatal_error(handle, reason.data(), reason.size());
  client.observer_.OnError(RD_KAFKA_RESP_ERR__FATAL,
                           absl::StrCat(rd_kafka_err2name(error), ": ",
                                        client.Redact(reason.data())));
}

int KafkaClient::Statistics(rd_kafka_t* /*handle*/, char* json, size_t bytes,
                            void* self) {
  auto& client = static_cast<Link*>(self)->client;
  const absl::StatusOr<KafkaStatistics> statistics =
      ParseKafkaStatistics({json, bytes});
  if (statistics.ok()) {
    client.observer_.OnStatistics(*statistics);
  } else {
    LOG_EVERY(WARNING, client.log_limit_) << ErrorText(statistics.status());
  }
  // The text stays librdkafka's.
  return 0;
}

void KafkaClient::Delivery(rd_kafka_t* /*handle*/,
                           const rd_kafka_message_t* message, void* self) {
  static_cast<Link*>(self)->client.observer_.OnDelivery(*message);
}

}  // namespace penstock::core
