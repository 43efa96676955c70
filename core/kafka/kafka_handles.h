// Owners of what librdkafka gives out.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

namespace penstock::core {

// Destroys by `Destroy`, which librdkafka has for each of its types.
template <auto Destroy>
struct KafkaDestroy {
  template <typename T>
  void operator()(T* handle) const {
    Destroy(handle);
  }
};

template <typename T, auto Destroy>
using KafkaOwner = std::unique_ptr<T, KafkaDestroy<Destroy>>;

using KafkaConfHandle = KafkaOwner<rd_kafka_conf_t, rd_kafka_conf_destroy>;
using KafkaErrorHandle = KafkaOwner<rd_kafka_error_t, rd_kafka_error_destroy>;
using KafkaHeadersHandle =
    KafkaOwner<rd_kafka_headers_t, rd_kafka_headers_destroy>;
using KafkaQueueHandle = KafkaOwner<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using KafkaTopicHandle = KafkaOwner<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using KafkaPartitionsHandle = KafkaOwner<rd_kafka_topic_partition_list_t,
                                         rd_kafka_topic_partition_list_destroy>;
using KafkaGroupMetadataHandle =
    KafkaOwner<rd_kafka_consumer_group_metadata_t,
               rd_kafka_consumer_group_metadata_destroy>;

struct KafkaMetadataDestroy {
  void operator()(const rd_kafka_metadata_t* metadata) const {
    rd_kafka_metadata_destroy(metadata);
  }
};
using KafkaMetadataHandle =
    std::unique_ptr<const rd_kafka_metadata_t, KafkaMetadataDestroy>;

}  // namespace penstock::core
