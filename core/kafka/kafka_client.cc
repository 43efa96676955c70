#include "core/kafka/kafka_client.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/rate_limit.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/time/time.h>

#include <array>
#include <atomic>
#include <utility>

namespace penstock::core {
namespace {

constexpr uint32_t kLogsMax = 20;
constexpr absl::Duration kLogWindow = absl::Minutes(1);
// Source: syslog(3), whose levels librdkafka uses.
constexpr int kLogError = 3;
constexpr int kLogWarning = 4;

}  // namespace

// Logs come on any thread, also of a client that does not end, when the
// KafkaClient is gone: they need nothing else than this. All other callbacks
// come from who polls the client.
struct KafkaClient::Link {
  Link(std::vector<std::string> its, KafkaObserver& told)
      : secrets(std::move(its)), observer(told) {}

  std::string Redact(absl::string_view text) const {
    std::vector<std::pair<absl::string_view, absl::string_view>> blots;
    for (const std::string& secret : secrets) blots.push_back({secret, "***"});
    return absl::StrReplaceAll(text, blots);
  }

  const std::vector<std::string> secrets;
  KafkaObserver& observer;
  RateLimit log_limit{kLogsMax, kLogWindow};
  // Client and observer are gone, and the logs are nobody's.
  std::atomic<bool> is_left = false;
};

KafkaClient::KafkaClient(std::vector<std::string> secrets,
                         KafkaObserver& observer, KafkaReaper& reaper)
    : reaper_(reaper),
      link_(std::make_shared<Link>(std::move(secrets), observer)) {}

absl::StatusOr<std::unique_ptr<KafkaClient>> KafkaClient::Create(
    rd_kafka_type_t type, KafkaConf conf, KafkaObserver& observer,
    KafkaReaper& reaper) {
  RETURN_IF_ERROR(reaper.CheckRoom());
  std::unique_ptr<KafkaClient> client(
      new KafkaClient(std::move(conf.secrets), observer, reaper));
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
    const std::string text = client->Redact(problem.data());
    if (rd_kafka_last_error() == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE) {
      return MakeError(Reason::UNAVAILABLE,
                       absl::StrCat("kafka: making a client: ", text));
    }
    return MakeError(Reason::INVALID_CONFIG,
                     absl::StrCat("kafka: options: ", text),
                     {{"field", "options"}});
  }
  // It is the client's now.
  static_cast<void>(conf.conf.release());
  return client;
}

KafkaClient::~KafkaClient() {
  if (handle_ == nullptr) return;
  BeginEnd();
  if (!reaper_.Wait(std::move(ending_))) link_->is_left = true;
}

void KafkaClient::BeginEnd(absl::AnyInvocable<void()> first) {
  if (ending_ != nullptr) return;
  ending_ = reaper_.Begin(
      {.handle = handle_, .kept = link_, .first = std::move(first)});
}

std::string KafkaClient::Redact(absl::string_view text) const {
  return link_->Redact(text);
}

void KafkaClient::Log(const rd_kafka_t* handle, int level, const char* facility,
                      const char* text) {
  auto& link = *static_cast<Link*>(rd_kafka_opaque(handle));
  if (link.is_left) return;
  const std::string shown = link.Redact(text);
  if (level <= kLogError) {
    LOG_EVERY(ERROR, link.log_limit) << "kafka: " << facility << ": " << shown;
  } else if (level <= kLogWarning) {
    LOG_EVERY(WARNING, link.log_limit)
        << "kafka: " << facility << ": " << shown;
  } else {
    LOG_EVERY(INFO, link.log_limit) << "kafka: " << facility << ": " << shown;
  }
}

void KafkaClient::Error(rd_kafka_t* handle, int code, const char* text,
                        void* self) {
  const auto& link = *static_cast<const Link*>(self);
  auto error = static_cast<rd_kafka_resp_err_t>(code);
  if (error != RD_KAFKA_RESP_ERR__FATAL) {
    link.observer.OnError(error, link.Redact(text));
    return;
  }
  // What it was that is fatal stands elsewhere.
  std::array<char, 512> reason{};
  error = rd_kafka_fatal_error(handle, reason.data(), reason.size());
  link.observer.OnError(
      RD_KAFKA_RESP_ERR__FATAL,
      absl::StrCat(rd_kafka_err2name(error), ": ", link.Redact(reason.data())));
}

int KafkaClient::Statistics(rd_kafka_t* /*handle*/, char* json, size_t bytes,
                            void* self) {
  auto& link = *static_cast<Link*>(self);
  const absl::StatusOr<KafkaStatistics> statistics =
      ParseKafkaStatistics({json, bytes});
  if (statistics.ok()) {
    link.observer.OnStatistics(*statistics);
  } else {
    LOG_EVERY(WARNING, link.log_limit) << ErrorText(statistics.status());
  }
  // The text stays librdkafka's.
  return 0;
}

void KafkaClient::Delivery(rd_kafka_t* /*handle*/,
                           const rd_kafka_message_t* message, void* self) {
  static_cast<Link*>(self)->observer.OnDelivery(*message);
}

}  // namespace penstock::core
