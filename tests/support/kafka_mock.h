// A cluster of librdkafka's mock brokers in the test's own process.
#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace penstock::core {

// The requests of Kafka's protocol that tests make fail.
// Source: Apache Kafka, protocol guide, API keys.
enum class KafkaRequest : int16_t {
  kProduce = 0,
  kFetch = 1,
  kListOffsets = 2,
  kMetadata = 3,
  kOffsetFetch = 9,
  kFindCoordinator = 10,
  kInitProducerId = 22,
  kAddPartitionsToTxn = 24,
  kAddOffsetsToTxn = 25,
  kEndTxn = 26,
  kTxnOffsetCommit = 28,
};

// It answers as brokers do, on ports of loopback, with what it is told to
// answer. It keeps records and the offsets of consumers, in memory. What it
// does NOT do: transactions are taken and answered, but what they write is
// visible at once, an abort takes nothing back, offsets sent to a transaction
// are dropped, and nobody is fenced. What depends on that needs a KafkaBroker.
//
// Threads:   thread-safe.
// Lifecycle: running from construction to destruction.
class KafkaMock {
 public:
  explicit KafkaMock(int brokers = 1);
  KafkaMock(const KafkaMock&) = delete;
  KafkaMock& operator=(const KafkaMock&) = delete;
  ~KafkaMock();

  const std::string& bootstrap() const { return bootstrap_; }
  // Topics are also made when first written to, with 4 partitions.
  void CreateTopic(const std::string& topic, int partitions);
  // As if it had been deleted: clients are told that it is not there.
  void Forget(const std::string& topic);
  // The next requests of that kind get these errors, one each;
  // RD_KAFKA_RESP_ERR__TRANSPORT cuts the connection instead.
  void FailNext(KafkaRequest request,
                std::span<const rd_kafka_resp_err_t> errors);
  void FailNext(KafkaRequest request, rd_kafka_resp_err_t error) {
    FailNext(request, std::span(&error, 1));
  }
  // The next request of that kind at `broker`, from 1, is answered after
  // `delay`.
  void DelayNext(int broker, KafkaRequest request, absl::Duration delay);
  // Of every answer.
  void SetRoundTrip(absl::Duration time);
  // All brokers refuse connections, or take them again.
  void SetDown();
  void SetUp();

  rd_kafka_mock_cluster_t* get() { return cluster_; }

 private:
  struct Destroy {
    void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  };
  // Only keeps the cluster's books.
  std::unique_ptr<rd_kafka_t, Destroy> client_;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
  std::string bootstrap_;
};

}  // namespace penstock::core
