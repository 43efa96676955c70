#include "core/kafka/kafka_group_offset.h"

#include "core/base/status_macros.h"
#include "core/kafka/kafka_client.h"
#include "core/kafka/kafka_error.h"
#include "core/kafka/kafka_handles.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace penstock::core {
namespace {

constexpr int kAgainMs = 20;
constexpr absl::Duration kRequestTime = absl::Seconds(5);

std::optional<KafkaGroupOffset> Found(
    const rd_kafka_topic_partition_t& partition) {
  if (partition.offset < 0) return std::nullopt;
  const auto* metadata = static_cast<const char*>(partition.metadata);
  return KafkaGroupOffset{
      .offset = partition.offset,
      .metadata = metadata == nullptr
                      ? std::string()
                      : std::string(metadata, partition.metadata_size)};
}

}  // namespace

absl::StatusOr<std::optional<KafkaGroupOffset>> ReadKafkaGroupOffset(
    KafkaConf conf, const std::string& group, const std::string& topic,
    KafkaOffsetRead read, const Clock& clock, absl::Time deadline) {
  const std::string doing = absl::StrCat("reading the offset of group ", group);
  RETURN_IF_ERROR(conf.Set("group.id", group));
  RETURN_IF_ERROR(conf.Set("enable.auto.commit", "false"));
  // It is what librdkafka asks for stable offsets by.
  RETURN_IF_ERROR(conf.Set("isolation.level", read == KafkaOffsetRead::kStable
                                                  ? "read_committed"
                                                  : "read_uncommitted"));
  // It would tell at length which options are not a consumer's.
  RETURN_IF_ERROR(conf.Set("log_level", "3"));
  KafkaObserver nobody;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<KafkaClient> consumer,
      KafkaClient::Create(RD_KAFKA_CONSUMER, std::move(conf), nobody));
  const KafkaPartitionsHandle list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), 0);
  const rd_kafka_topic_partition_t& partition = list->elems[0];
  while (true) {
    const absl::Duration left = std::clamp(
        deadline - clock.SteadyNow(), absl::Milliseconds(10), kRequestTime);
    rd_kafka_resp_err_t code =
        rd_kafka_committed(consumer->handle(), list.get(),
                           static_cast<int>(absl::ToInt64Milliseconds(left)));
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) code = partition.err;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return Found(partition);
    if (!IsKafkaRetryable(code) || clock.SteadyNow() >= deadline) {
      return MakeKafkaError(code, doing);
    }
    rd_kafka_poll(consumer->handle(), kAgainMs);
  }
}

}  // namespace penstock::core
