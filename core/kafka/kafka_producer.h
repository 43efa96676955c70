// Producing messages, also in transactions, with a deadline on every wait.
#pragma once

#include "core/base/clock.h"
#include "core/kafka/kafka_client.h"
#include "core/kafka/kafka_handles.h"
#include "core/kafka/kafka_options.h"

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace penstock::core {

// What is written. Views live for the call that takes it.
struct KafkaMessage {
  std::optional<absl::string_view> key;
  std::optional<absl::string_view> value;
  std::span<
      const std::pair<absl::string_view, std::optional<absl::string_view>>>
      headers = {};
  // RD_KAFKA_PARTITION_UA: as the key says, by the option `partitioner`.
  int32_t partition = RD_KAFKA_PARTITION_UA;
};

// One topic's producer. Errors are those of MakeKafkaError, with what
// librdkafka means by them made plain: UNAVAILABLE and DEADLINE are worth
// another try, perhaps with another producer (IsBroken); WRITER_FENCED: a newer
// one has this transactional id; ROW_REFUSED: of a message, of which
// failed_message() may say which.
//
//   Init ─▶ [ Begin ─▶ Produce… ─▶ Flush ─▶ SendOffset… ─▶ Commit | Abort ]…
//
// Without a transactional id only Produce… and Flush.
//
// Owner:     a sink. Threads: confined to one caller at a time, but for
//            queued_bytes().
// Lifecycle: once IsBroken, nothing but destruction; what it held may have been
//            written or not.
// Bound:     queue.buffering.max.kbytes and .messages; it keeps copies.
class KafkaProducer final : private KafkaObserver {
 public:
  // `clock` outlives it. Errors: INVALID_CONFIG.
  static absl::StatusOr<std::unique_ptr<KafkaProducer>> Create(
      KafkaConf conf, const std::string& topic, const Clock& clock);

  // How many partitions the topic has, at least 1. Errors: NOT_FOUND, once the
  // cluster has said so for five seconds: a topic may be in the making;
  // UNAUTHENTICATED, at the deadline, if brokers do not let us in until then:
  // one that restarts looks like that, too.
  absl::StatusOr<int32_t> PartitionCount(absl::Time deadline);

  // Fences every older producer of the transactional id and ends what it left
  // open. Once.
  absl::Status Init(absl::Time deadline);
  absl::Status Begin();
  // That the offset of partition 0 of the topic in `group` be `offset` with
  // this transaction.
  absl::Status SendOffset(const std::string& group, int64_t offset,
                          const std::string& metadata, absl::Time deadline);
  // An error does not say that it has not been committed, unless it is
  // abortable (IsKafkaAbortable): then nothing of it ever will be.
  absl::Status Commit(absl::Time deadline);
  // Also drops what is not sent.
  absl::Status Abort(absl::Time deadline);

  // Copies `message`. Waits while the queue is full, and only then asks until
  // when. Fails also with what became of an earlier one.
  using Deadline = absl::FunctionRef<absl::Time()>;
  absl::Status Produce(const KafkaMessage& message, Deadline deadline);
  // Waits until the fate of every message is known: the first error since
  // ForgetFailures, if there was one.
  absl::Status Flush(absl::Time deadline);
  // Drops what is not sent, and waits for the fate of what is: behind an error,
  // so that failed_message() knows.
  void Settle(absl::Time deadline);
  // Messages are counted from 0 again.
  void ForgetFailures();
  // The message that the last error is about, by its number since
  // ForgetFailures, if there is but one.
  std::optional<uint64_t> failed_message() const;

  bool IsBroken() const;
  uint64_t queued_bytes() const {
    return queued_bytes_.load(std::memory_order_relaxed);
  }
  // Begins what the destructor waits for (KafkaClient::BeginEnd).
  void BeginEnd();
  // For other requests; lives as long as this.
  rd_kafka_t* handle() const { return client_->handle(); }

 private:
  explicit KafkaProducer(const Clock& clock) : clock_(clock) {}

  void OnDelivery(const rd_kafka_message_t& message) override;
  void OnError(rd_kafka_resp_err_t code, absl::string_view text) override;
  // To librdkafka, from now on.
  int TimeoutMs(absl::Time deadline) const;
  absl::Status Late(absl::string_view doing) const;
  // Of an error object, which is taken.
  absl::Status Explain(rd_kafka_error_t* error, absl::string_view doing) const;
  // Calls until it succeeds, fails for good, or the deadline has passed.
  template <typename Call>
  absl::Status Retry(Call call, absl::string_view doing, absl::Time deadline);
  // Takes `headers`, which may be null, if it succeeds.
  rd_kafka_resp_err_t Send(const KafkaMessage& message,
                           rd_kafka_headers_t* headers);
  // The message could not be queued.
  absl::Status Refuse(rd_kafka_resp_err_t code);
  void AddQueued(uint64_t bytes);
  absl::Status OnFull(absl::Time deadline);

  const Clock& clock_;
  std::unique_ptr<KafkaClient> client_;
  // Before `client_` is.
  KafkaTopicHandle topic_;

  std::atomic<uint64_t> queued_bytes_ = 0;
  uint64_t produced_ = 0;
  uint64_t failures_ = 0;
  uint64_t failed_message_ = 0;
  // It was not even queued.
  bool failed_at_once_ = false;
  absl::Status failure_;
  // A broker did not let us in, and none has gone since.
  absl::Status refusal_;
};

// Of an error: the transaction must be aborted. Its messages may be in the log
// by then, where readers of committed records pass them over.
bool IsKafkaAbortable(const absl::Status& error);

}  // namespace penstock::core
