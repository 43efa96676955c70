#include "tests/support/kafka_client.h"

#include "core/base/check.h"
#include "core/base/clock.h"

#include <librdkafka/rdkafka.h>

#include <array>
#include <memory>

namespace penstock::core {
namespace {

constexpr int kTimeMs = 60000;

template <auto destroy>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    destroy(object);
  }
};
using Client = std::unique_ptr<rd_kafka_t, Deleter<rd_kafka_destroy>>;
using Queue =
    std::unique_ptr<rd_kafka_queue_t, Deleter<rd_kafka_queue_destroy>>;
using Event =
    std::unique_ptr<rd_kafka_event_t, Deleter<rd_kafka_event_destroy>>;
using Message =
    std::unique_ptr<rd_kafka_message_t, Deleter<rd_kafka_message_destroy>>;
using NewTopic =
    std::unique_ptr<rd_kafka_NewTopic_t, Deleter<rd_kafka_NewTopic_destroy>>;
using DeleteTopic = std::unique_ptr<rd_kafka_DeleteTopic_t,
                                    Deleter<rd_kafka_DeleteTopic_destroy>>;
using Partitions =
    std::unique_ptr<rd_kafka_topic_partition_list_t,
                    Deleter<rd_kafka_topic_partition_list_destroy>>;

Client MakeClient(
    rd_kafka_type_t type, const std::string& bootstrap,
    const std::vector<std::pair<std::string, std::string>>& settings = {}) {
  std::array<char, 512> error = {};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  const auto set = [&](const std::string& name, const std::string& value) {
    CHECK_EQ(rd_kafka_conf_set(conf, name.c_str(), value.c_str(), error.data(),
                               error.size()),
             RD_KAFKA_CONF_OK)
        << error.data();
  };
  set("bootstrap.servers", bootstrap);
  set("log_level", "2");
  for (const auto& [name, value] : settings) set(name, value);
  Client client(rd_kafka_new(type, conf, error.data(), error.size()));
  CHECK(client != nullptr) << error.data();
  return client;
}

void CheckTopics(const Queue& queue, bool created) {
  const Event event(rd_kafka_queue_poll(queue.get(), kTimeMs));
  CHECK(event != nullptr) << "no answer about a topic";
  CHECK_EQ(rd_kafka_event_error(event.get()), RD_KAFKA_RESP_ERR_NO_ERROR)
      << rd_kafka_event_error_string(event.get());
  size_t count = 0;
  const rd_kafka_topic_result_t** results =
      created ? rd_kafka_CreateTopics_result_topics(
                    rd_kafka_event_CreateTopics_result(event.get()), &count)
              : rd_kafka_DeleteTopics_result_topics(
                    rd_kafka_event_DeleteTopics_result(event.get()), &count);
  CHECK_EQ(count, 1u);
  CHECK_EQ(rd_kafka_topic_result_error(results[0]), RD_KAFKA_RESP_ERR_NO_ERROR)
      << rd_kafka_topic_result_error_string(results[0]);
}

std::optional<std::string> Bytes(const void* data, size_t size) {
  if (data == nullptr) return std::nullopt;
  return std::string(static_cast<const char*>(data), size);
}

KafkaRecord ToRecord(const rd_kafka_message_t& message) {
  KafkaRecord record = {.partition = message.partition,
                        .offset = message.offset,
                        .key = Bytes(message.key, message.key_len),
                        .value = Bytes(message.payload, message.len)};
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != 0) return record;
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  for (size_t i = 0;
       rd_kafka_header_get_all(headers, i, &name, &value, &size) == 0; ++i) {
    record.headers.emplace_back(name, Bytes(value, size));
  }
  return record;
}

int PartitionCount(rd_kafka_t* client, const std::string& topic) {
  const rd_kafka_metadata_t* metadata = nullptr;
  rd_kafka_topic_t* handle = rd_kafka_topic_new(client, topic.c_str(), nullptr);
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(client, 0, handle, &metadata, kTimeMs);
  rd_kafka_topic_destroy(handle);
  CHECK_EQ(error, RD_KAFKA_RESP_ERR_NO_ERROR) << rd_kafka_err2str(error);
  CHECK_EQ(metadata->topic_cnt, 1);
  const int count = metadata->topics[0].partition_cnt;
  rd_kafka_metadata_destroy(metadata);
  return count;
}

void ReadPartition(rd_kafka_t* client, const std::string& topic,
                   int32_t partition, std::vector<KafkaRecord>& records) {
  const Partitions list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)
      ->offset = RD_KAFKA_OFFSET_BEGINNING;
  CHECK_EQ(rd_kafka_assign(client, list.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
  const absl::Time deadline =
      RealClock().SteadyNow() + absl::Milliseconds(kTimeMs);
  while (true) {
    const Message message(rd_kafka_consumer_poll(client, 1000));
    CHECK(RealClock().SteadyNow() < deadline) << "no end of " << topic;
    if (message == nullptr) continue;
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) break;
    // What a client mends by itself.
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    records.push_back(ToRecord(*message));
  }
}

// Waits where the client's own queue is full.
void Produce(rd_kafka_t& client, const std::string& topic,
             const KafkaRecord& record) {
  std::array<rd_kafka_vu_t, 6> parts = {};
  parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
  parts[0].u.cstr = topic.c_str();
  parts[1].vtype = RD_KAFKA_VTYPE_PARTITION;
  parts[1].u.i32 = record.partition;
  parts[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[2].u.i = RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_BLOCK;
  const auto bytes = [](const std::optional<std::string>& from) {
    // The library copies them, and reads what it takes as not const.
    return from.has_value() ? const_cast<char*>(from->data()) : nullptr;
  };
  parts[3].vtype = RD_KAFKA_VTYPE_KEY;
  parts[3].u.mem = {.ptr = bytes(record.key),
                    .size = record.key.value_or("").size()};
  parts[4].vtype = RD_KAFKA_VTYPE_VALUE;
  parts[4].u.mem = {.ptr = bytes(record.value),
                    .size = record.value.value_or("").size()};
  rd_kafka_headers_t* headers = rd_kafka_headers_new(record.headers.size());
  for (const auto& [name, value] : record.headers) {
    CHECK_EQ(
        rd_kafka_header_add(headers, name.c_str(), -1, bytes(value),
                            static_cast<ssize_t>(value.value_or("").size())),
        RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  // Taken over by a call that succeeds.
  parts[5].vtype = RD_KAFKA_VTYPE_HEADERS;
  parts[5].u.headers = headers;
  rd_kafka_error_t* error =
      rd_kafka_produceva(&client, parts.data(), parts.size());
  CHECK(error == nullptr) << rd_kafka_error_string(error);
}

}  // namespace

void CreateKafkaTopic(
    const std::string& bootstrap, const std::string& topic, int partitions,
    const std::vector<std::pair<std::string, std::string>>& settings) {
  const Client client = MakeClient(RD_KAFKA_PRODUCER, bootstrap);
  const Queue queue(rd_kafka_queue_new(client.get()));
  std::array<char, 512> error = {};
  const NewTopic made(rd_kafka_NewTopic_new(topic.c_str(), partitions, 1,
                                            error.data(), error.size()));
  CHECK(made != nullptr) << error.data();
  for (const auto& [name, value] : settings) {
    CHECK_EQ(
        rd_kafka_NewTopic_set_config(made.get(), name.c_str(), value.c_str()),
        RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  rd_kafka_NewTopic_t* topics = made.get();
  rd_kafka_CreateTopics(client.get(), &topics, 1, nullptr, queue.get());
  CheckTopics(queue, /*created=*/true);
}

void DeleteKafkaTopic(const std::string& bootstrap, const std::string& topic) {
  const Client client = MakeClient(RD_KAFKA_PRODUCER, bootstrap);
  const Queue queue(rd_kafka_queue_new(client.get()));
  const DeleteTopic gone(rd_kafka_DeleteTopic_new(topic.c_str()));
  rd_kafka_DeleteTopic_t* topics = gone.get();
  rd_kafka_DeleteTopics(client.get(), &topics, 1, nullptr, queue.get());
  CheckTopics(queue, /*created=*/false);
}

void WriteKafka(const std::string& bootstrap, const std::string& topic,
                const std::vector<KafkaRecord>& records) {
  const Client client = MakeClient(
      RD_KAFKA_PRODUCER, bootstrap,
      {{"enable.idempotence", "true"}, {"message.max.bytes", "16777216"}});
  for (const KafkaRecord& record : records) Produce(*client, topic, record);
  CHECK_EQ(rd_kafka_flush(client.get(), kTimeMs), RD_KAFKA_RESP_ERR_NO_ERROR);
}

std::vector<KafkaRecord> ReadKafka(const std::string& bootstrap,
                                   const std::string& topic,
                                   const KafkaReadOptions& options) {
  const Client client =
      MakeClient(RD_KAFKA_CONSUMER, bootstrap,
                 {{"group.id", "reader-of-a-test"},
                  {"enable.auto.commit", "false"},
                  {"enable.partition.eof", "true"},
                  {"fetch.wait.max.ms", "50"},
                  {"isolation.level",
                   options.committed ? "read_committed" : "read_uncommitted"}});
  std::vector<KafkaRecord> records;
  if (options.partition.has_value()) {
    ReadPartition(client.get(), topic, *options.partition, records);
  } else {
    const int count = PartitionCount(client.get(), topic);
    for (int32_t i = 0; i < count; ++i) {
      ReadPartition(client.get(), topic, i, records);
    }
  }
  rd_kafka_consumer_close(client.get());
  return records;
}

}  // namespace penstock::core
