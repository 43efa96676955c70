#include "core/kafka/kafka_producer.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/kafka/kafka_error.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace penstock::core {
namespace {

// One wait within librdkafka: another follows until the deadline.
constexpr absl::Duration kWaitMax = absl::Seconds(1);
// Between two questions of the same kind.
constexpr int kAgainMs = 50;
constexpr absl::Duration kTopicTime = absl::Seconds(5);
// Delivery reports are taken at least once for so many messages.
constexpr uint64_t kReportsEvery = 128;
// What librdkafka keeps beside the bytes of a message.
constexpr uint64_t kMessageBytes = 256;

// librdkafka reads key and value only, and says so nowhere.
void* Pointer(std::optional<absl::string_view> bytes) {
  // Null is no value; empty is one, and may have no address of its own.
  static constexpr char kEmpty = 0;
  if (!bytes.has_value()) return nullptr;
  const char* const data = bytes->data() == nullptr ? &kEmpty : bytes->data();
  return const_cast<char*>(data);
}

decltype(rd_kafka_vu_t::u.mem) Memory(std::optional<absl::string_view> bytes) {
  return {.ptr = Pointer(bytes), .size = bytes.value_or("").size()};
}

absl::StatusOr<KafkaHeadersHandle> MakeHeaders(const KafkaMessage& message) {
  KafkaHeadersHandle headers(rd_kafka_headers_new(message.headers.size()));
  for (const auto& [name, value] : message.headers) {
    const rd_kafka_resp_err_t code = rd_kafka_header_add(
        headers.get(), name.data(), static_cast<ssize_t>(name.size()),
        Pointer(value), static_cast<ssize_t>(value.value_or("").size()));
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return MakeKafkaError(code, "adding a header");
    }
  }
  return headers;
}

// Errors after which only another producer helps, which then asks what became
// of the transaction. Source: librdkafka's INTRODUCTION.md, "Fatal producer
// errors"; KIP-360.
bool IsMendedByAnother(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__STATE:
    case RD_KAFKA_RESP_ERR__INCONSISTENT:
    case RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE:
    case RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER:
    case RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER:
    case RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING:
    case RD_KAFKA_RESP_ERR_INVALID_TXN_STATE:
      return true;
    default:
      return false;
  }
}

absl::Status MakeProducerError(rd_kafka_resp_err_t code,
                               absl::string_view doing,
                               absl::string_view text) {
  absl::Status error = MakeKafkaError(code, doing, text);
  if (!IsMendedByAnother(code)) return error;
  ErrorInfo info = *GetErrorInfo(error);
  return MakeError(Reason::UNAVAILABLE, error.message(),
                   std::move(info.metadata));
}

bool IsPurge(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
         code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
}

}  // namespace

bool IsKafkaAbortable(const absl::Status& error) {
  const std::optional<ErrorInfo> info = GetErrorInfo(error);
  if (!info.has_value()) return false;
  const auto found = info->metadata.find("abortable");
  return found != info->metadata.end() && found->second == "true";
}

absl::StatusOr<std::unique_ptr<KafkaProducer>> KafkaProducer::Create(
    KafkaConf conf, const std::string& topic, const Clock& clock) {
  std::unique_ptr<KafkaProducer> producer(new KafkaProducer(clock));
  absl::StatusOr<std::unique_ptr<KafkaClient>> client =
      KafkaClient::Create(RD_KAFKA_PRODUCER, std::move(conf), *producer);
  if (!client.ok()) return client.status();
  producer->client_ = *std::move(client);
  producer->topic_.reset(
      rd_kafka_topic_new(producer->handle(), topic.c_str(), nullptr));
  if (producer->topic_ == nullptr) {
    return MakeKafkaError(rd_kafka_last_error(),
                          absl::StrCat("naming topic ", topic));
  }
  return producer;
}

void KafkaProducer::BeginEnd() {
  topic_.reset();
  client_->BeginEnd();
}

int KafkaProducer::TimeoutMs(absl::Time deadline) const {
  const absl::Duration left = std::clamp(deadline - clock_.SteadyNow(),
                                         absl::Milliseconds(1), kWaitMax);
  return static_cast<int>(absl::ToInt64Milliseconds(left));
}

absl::Status KafkaProducer::Late(absl::string_view doing) const {
  return MakeError(Reason::DEADLINE,
                   absl::StrCat("kafka: ", doing, ": no answer in time"));
}

absl::Status KafkaProducer::Explain(rd_kafka_error_t* error,
                                    absl::string_view doing) const {
  const KafkaErrorHandle owned(error);
  if (owned == nullptr) return absl::OkStatus();
  rd_kafka_resp_err_t code = rd_kafka_error_code(owned.get());
  if (rd_kafka_error_is_fatal(owned.get()) != 0) {
    // The object may say no more than that it is.
    std::array<char, 512> text = {};
    const rd_kafka_resp_err_t fatal =
        rd_kafka_fatal_error(handle(), text.data(), text.size());
    if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR) code = fatal;
  }
  if (IsMendedByAnother(code)) {
    return MakeProducerError(
        code, doing, client_->Redact(rd_kafka_error_string(owned.get())));
  }
  return MakeKafkaError(owned.get(), doing);
}

template <typename Call>
absl::Status KafkaProducer::Retry(Call call, absl::string_view doing,
                                  absl::Time deadline) {
  while (true) {
    rd_kafka_error_t* const error = call(TimeoutMs(deadline));
    if (error == nullptr) return absl::OkStatus();
    const bool again = rd_kafka_error_is_retriable(error) != 0;
    const bool waited =
        rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__TIMED_OUT;
    absl::Status status = Explain(error, doing);
    if (!again || clock_.SteadyNow() >= deadline) return status;
    if (!waited) rd_kafka_poll(handle(), kAgainMs);
  }
}

absl::StatusOr<int32_t> KafkaProducer::PartitionCount(absl::Time deadline) {
  const absl::Time gives_up =
      std::min(deadline, clock_.SteadyNow() + kTopicTime);
  const std::string doing =
      absl::StrCat("looking for topic ", rd_kafka_topic_name(topic_.get()));
  while (true) {
    const rd_kafka_metadata_t* raw = nullptr;
    rd_kafka_resp_err_t code =
        rd_kafka_metadata(handle(), 0, topic_.get(), &raw, TimeoutMs(deadline));
    const KafkaMetadataHandle metadata(raw);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && metadata->topic_cnt == 1) {
      code = metadata->topics[0].err;
      // A topic without a partition is one in the making.
      if (code == RD_KAFKA_RESP_ERR_NO_ERROR &&
          metadata->topics[0].partition_cnt > 0) {
        return metadata->topics[0].partition_cnt;
      }
    }
    const absl::Status error = MakeKafkaError(
        code == RD_KAFKA_RESP_ERR_NO_ERROR ? RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC
                                           : code,
        doing);
    const absl::Time now = clock_.SteadyNow();
    const bool again =
        IsKafkaRetryable(code)
            ? now < deadline
            : HasReason(error, Reason::NOT_FOUND) && now < gives_up;
    if (!again) return refusal_.ok() ? error : refusal_;
    rd_kafka_poll(handle(), kAgainMs);
  }
}

void KafkaProducer::OnError(rd_kafka_resp_err_t code, absl::string_view text) {
  const Reason reason = ReasonOfKafkaError(code);
  if (reason == Reason::UNAUTHENTICATED) {
    refusal_ = MakeKafkaError(code, "connecting", text);
  } else if (code == RD_KAFKA_RESP_ERR__TRANSPORT ||
             code == RD_KAFKA_RESP_ERR__RESOLVE) {
    refusal_ = absl::OkStatus();
  }
}

absl::Status KafkaProducer::Init(absl::Time deadline) {
  return Retry(
      [this](int wait_ms) {
        return rd_kafka_init_transactions(handle(), wait_ms);
      },
      "taking over a transactional id", deadline);
}

absl::Status KafkaProducer::Begin() {
  return Explain(rd_kafka_begin_transaction(handle()),
                 "beginning a transaction");
}

absl::Status KafkaProducer::SendOffset(const std::string& group, int64_t offset,
                                       const std::string& metadata,
                                       absl::Time deadline) {
  const KafkaPartitionsHandle list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_t* const element = rd_kafka_topic_partition_list_add(
      list.get(), rd_kafka_topic_name(topic_.get()), 0);
  element->offset = offset;
  // The list frees it.
  element->metadata = ::strndup(metadata.data(), metadata.size());
  element->metadata_size = metadata.size();
  const KafkaGroupMetadataHandle member(
      rd_kafka_consumer_group_metadata_new(group.c_str()));
  return Retry(
      [&](int wait_ms) {
        return rd_kafka_send_offsets_to_transaction(handle(), list.get(),
                                                    member.get(), wait_ms);
      },
      absl::StrCat("storing progress in group ", group), deadline);
}

absl::Status KafkaProducer::Commit(absl::Time deadline) {
  return Retry(
      [this](int wait_ms) {
        return rd_kafka_commit_transaction(handle(), wait_ms);
      },
      "committing a transaction", deadline);
}

absl::Status KafkaProducer::Abort(absl::Time deadline) {
  return Retry(
      [this](int wait_ms) {
        return rd_kafka_abort_transaction(handle(), wait_ms);
      },
      "aborting a transaction", deadline);
}

absl::Status KafkaProducer::Produce(const KafkaMessage& message,
                                    Deadline deadline) {
  if (produced_ % kReportsEvery == kReportsEvery - 1) {
    rd_kafka_poll(handle(), 0);
  }
  if (!failure_.ok()) return failure_;
  KafkaHeadersHandle headers;
  if (!message.headers.empty()) {
    absl::StatusOr<KafkaHeadersHandle> made = MakeHeaders(message);
    if (!made.ok()) return made.status();
    headers = *std::move(made);
  }
  while (true) {
    const rd_kafka_resp_err_t code = Send(message, headers.get());
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) break;
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) return Refuse(code);
    const absl::Status waited = OnFull(deadline());
    if (!waited.ok()) return waited;
  }
  static_cast<void>(headers.release());
  AddQueued(message.key.value_or("").size() +
            message.value.value_or("").size() + kMessageBytes);
  ++produced_;
  return absl::OkStatus();
}

rd_kafka_resp_err_t KafkaProducer::Send(const KafkaMessage& message,
                                        rd_kafka_headers_t* headers) {
  const auto key = Memory(message.key);
  const auto value = Memory(message.value);
  // A number that travels as a pointer, which nobody follows.
  auto* const number = reinterpret_cast<void*>(produced_);
  if (headers == nullptr) {
    // It makes neither a list of what is given nor an object of an error.
    const int failed =
        rd_kafka_produce(topic_.get(), message.partition, RD_KAFKA_MSG_F_COPY,
                         value.ptr, value.size, key.ptr, key.size, number);
    return failed == 0 ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_last_error();
  }
  std::array<rd_kafka_vu_t, 7> parts = {};
  parts[0].vtype = RD_KAFKA_VTYPE_RKT;
  parts[0].u.rkt = topic_.get();
  parts[1].vtype = RD_KAFKA_VTYPE_PARTITION;
  parts[1].u.i32 = message.partition;
  parts[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[2].u.i = RD_KAFKA_MSG_F_COPY;
  parts[3].vtype = RD_KAFKA_VTYPE_KEY;
  parts[3].u.mem = key;
  parts[4].vtype = RD_KAFKA_VTYPE_VALUE;
  parts[4].u.mem = value;
  parts[5].vtype = RD_KAFKA_VTYPE_OPAQUE;
  parts[5].u.ptr = number;
  parts[6].vtype = RD_KAFKA_VTYPE_HEADERS;
  parts[6].u.headers = headers;
  const KafkaErrorHandle error(
      rd_kafka_produceva(handle(), parts.data(), parts.size()));
  return error == nullptr ? RD_KAFKA_RESP_ERR_NO_ERROR
                          : rd_kafka_error_code(error.get());
}

absl::Status KafkaProducer::Refuse(rd_kafka_resp_err_t code) {
  // If it is of the transaction's state, its cause is in a report.
  rd_kafka_poll(handle(), 0);
  if (!failure_.ok()) return failure_;
  failures_ = 1;
  failed_message_ = produced_;
  failed_at_once_ = true;
  return MakeProducerError(code, "writing a message", {});
}

void KafkaProducer::AddQueued(uint64_t bytes) {
  // Only its caller's thread changes it: no other one's change can be lost.
  queued_bytes_.store(queued_bytes() + bytes, std::memory_order_relaxed);
}

// Delivery reports, which make room, wake the poll.
absl::Status KafkaProducer::OnFull(absl::Time deadline) {
  if (clock_.SteadyNow() >= deadline) return Late("waiting for room to write");
  rd_kafka_poll(handle(), TimeoutMs(deadline));
  return failure_;
}

absl::Status KafkaProducer::Flush(absl::Time deadline) {
  while (rd_kafka_flush(handle(), TimeoutMs(deadline)) !=
         RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (!failure_.ok()) return failure_;
    if (clock_.SteadyNow() >= deadline) return Late("writing messages");
  }
  return failure_;
}

void KafkaProducer::Settle(absl::Time deadline) {
  rd_kafka_purge(handle(), RD_KAFKA_PURGE_F_QUEUE);
  while (rd_kafka_flush(handle(), TimeoutMs(deadline)) !=
             RD_KAFKA_RESP_ERR_NO_ERROR &&
         clock_.SteadyNow() < deadline) {
  }
}

void KafkaProducer::ForgetFailures() {
  produced_ = failures_ = failed_message_ = 0;
  failed_at_once_ = false;
  failure_ = absl::OkStatus();
}

std::optional<uint64_t> KafkaProducer::failed_message() const {
  // Of several that were sent together the cluster does not say which it was.
  if (failed_at_once_) return failed_message_;
  if (failures_ != 1 || rd_kafka_outq_len(handle()) > 0) return std::nullopt;
  return failed_message_;
}

bool KafkaProducer::IsBroken() const {
  return rd_kafka_fatal_error(handle(), nullptr, 0) !=
         RD_KAFKA_RESP_ERR_NO_ERROR;
}

void KafkaProducer::OnDelivery(const rd_kafka_message_t& message) {
  // Modulo 2^64 that is to take away.
  AddQueued(-(message.len + message.key_len + kMessageBytes));
  // What is purged follows from another error, or from an abort.
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR || IsPurge(message.err)) return;
  ++failures_;
  if (!failure_.ok()) return;
  failed_message_ = reinterpret_cast<uint64_t>(message._private);
  // Not librdkafka's text of a message's error: of one that was produced that
  // is the message's value.
  failure_ = MakeProducerError(message.err, "writing a message", {});
}

}  // namespace penstock::core
