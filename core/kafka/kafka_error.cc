#include "core/kafka/kafka_error.h"

#include "core/base/check.h"

#include <absl/strings/str_cat.h>

#include <string>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kKafkaError = "kafka_error";
constexpr size_t kTextBytesMax = 500;

absl::Status Make(Reason reason, rd_kafka_resp_err_t code,
                  absl::string_view doing, absl::string_view text,
                  ErrorMetadata metadata) {
  const char* const name = rd_kafka_err2name(code);
  metadata[std::string(kKafkaError)] = name;
  return MakeError(reason,
                   absl::StrCat("kafka: ", doing, ": ",
                                text.substr(0, kTextBytesMax), " (", name, ")"),
                   std::move(metadata));
}

}  // namespace

Reason ReasonOfKafkaError(rd_kafka_resp_err_t code) {
  switch (code) {
    // Of a connection, a leader or a coordinator; it may pass.
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__WAIT_CACHE:
    case RD_KAFKA_RESP_ERR__IN_PROGRESS:
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
    case RD_KAFKA_RESP_ERR__RETRY:
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case RD_KAFKA_RESP_ERR_NOT_CONTROLLER:
    case RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_PREFERRED_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED:
    case RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT:
    case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
      return Reason::UNAVAILABLE;
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
      return Reason::DEADLINE;
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
      return Reason::NOT_FOUND;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
      return Reason::POSITION_EXPIRED;
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
      return Reason::WRITER_FENCED;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
      return Reason::ROW_REFUSED;
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
      return Reason::UNAUTHENTICATED;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return Reason::PERMISSION_DENIED;
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
    case RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS:
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
      return Reason::INVALID_CONFIG;
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
    case RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
      return Reason::UNSUPPORTED;
    default:
      return Reason::INTERNAL;
  }
}

bool IsKafkaRetryable(rd_kafka_resp_err_t code) {
  const Reason reason = ReasonOfKafkaError(code);
  return reason == Reason::UNAVAILABLE || reason == Reason::DEADLINE;
}

absl::Status MakeKafkaError(rd_kafka_resp_err_t code, absl::string_view doing,
                            absl::string_view text) {
  CHECK(code != RD_KAFKA_RESP_ERR_NO_ERROR) << doing;
  return Make(ReasonOfKafkaError(code), code, doing,
              text.empty() ? rd_kafka_err2str(code) : text, {});
}

absl::Status MakeKafkaError(const rd_kafka_error_t* error,
                            absl::string_view doing) {
  if (error == nullptr) return absl::OkStatus();
  const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
  Reason reason = ReasonOfKafkaError(code);
  if (rd_kafka_error_is_retriable(error) != 0 && reason != Reason::DEADLINE) {
    reason = Reason::UNAVAILABLE;
  }
  ErrorMetadata metadata;
  if (rd_kafka_error_txn_requires_abort(error) != 0) {
    metadata["abortable"] = "true";
  }
  return Make(reason, code, doing, rd_kafka_error_string(error),
              std::move(metadata));
}

std::optional<std::string> KafkaErrorOf(const absl::Status& error) {
  const std::optional<ErrorInfo> info = GetErrorInfo(error);
  if (!info.has_value()) return std::nullopt;
  const auto found = info->metadata.find(std::string(kKafkaError));
  if (found == info->metadata.end()) return std::nullopt;
  return found->second;
}

}  // namespace penstock::core
