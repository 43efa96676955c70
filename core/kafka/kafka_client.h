// One client of a Kafka cluster: librdkafka's handle, its callbacks and logs.
#pragma once

#include "core/kafka/kafka_handles.h"
#include "core/kafka/kafka_options.h"
#include "core/kafka/kafka_reaper.h"
#include "core/kafka/kafka_statistics.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::core {

// What a client tells of. Called by whoever polls the client (its queues), on
// that thread.
class KafkaObserver {
 public:
  virtual ~KafkaObserver() = default;
  // librdkafka goes on by itself, unless `code` is RD_KAFKA_RESP_ERR__FATAL:
  // then nothing works any more. `text` holds no secret.
  virtual void OnError(rd_kafka_resp_err_t /*code*/,
                       absl::string_view /*text*/) {}
  // Every `statistics.interval.ms`, if that is set.
  virtual void OnStatistics(const KafkaStatistics& /*statistics*/) {}
  // What became of a message that was produced. Lifetime: the call.
  virtual void OnDelivery(const rd_kafka_message_t& /*message*/) {}
};

// Owner:     a source or a sink.
// Threads:   thread-safe, as librdkafka's handle is.
// Lifecycle: connects by itself, for as long as it lives. Destruction sends
//            nothing, and blocks for what librdkafka needs to end its threads,
//            but no longer than KafkaReaper waits. All handles from it must be
//            gone.
// Bound:     as its options say (queued.max.messages.kbytes,
//            queue.buffering.max.kbytes).
class KafkaClient {
 public:
  // `observer` and `reaper` outlive the client. Logs of librdkafka go to ours,
  // secrets blotted out, at most 20 a minute.
  // Errors: INVALID_CONFIG: options that contradict one another; UNAVAILABLE:
  // too many clients of this process do not end, or no thread can be made.
  static absl::StatusOr<std::unique_ptr<KafkaClient>> Create(
      rd_kafka_type_t type, KafkaConf conf, KafkaObserver& observer,
      KafkaReaper& reaper = KafkaReaper::Shared());
  KafkaClient(const KafkaClient&) = delete;
  KafkaClient& operator=(const KafkaClient&) = delete;
  ~KafkaClient();

  // Begins what the destructor waits for, so that several clients end at the
  // same time; from here on nothing but destruction. `first` is run before
  // librdkafka's own end, on another thread, and owns what it uses.
  void BeginEnd(absl::AnyInvocable<void()> first = nullptr);

  // Not null.
  rd_kafka_t* handle() const { return handle_; }
  // `text` with every secret of the options blotted out (INV-10).
  std::string Redact(absl::string_view text) const;

 private:
  // What librdkafka's threads know of a client.
  struct Link;

  KafkaClient(std::vector<std::string> secrets, KafkaObserver& observer,
              KafkaReaper& reaper);

  static void Log(const rd_kafka_t* handle, int level, const char* facility,
                  const char* text);
  static void Error(rd_kafka_t* handle, int code, const char* text, void* self);
  static int Statistics(rd_kafka_t* handle, char* json, size_t bytes,
                        void* self);
  static void Delivery(rd_kafka_t* handle, const rd_kafka_message_t* message,
                       void* self);

  KafkaReaper& reaper_;
  // Shared by: this and, while the client ends, the reaper.
  const std::shared_ptr<Link> link_;
  rd_kafka_t* handle_ = nullptr;
  // Not null: it is being ended. Shared by: this, its thread, the reaper.
  std::shared_ptr<KafkaReaper::Ending> ending_;
};

}  // namespace penstock::core
