#include "core/sources/kafka/rdkafka_consumer.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/kafka/kafka_error.h"
#include "core/record/record.h"
#include "core/sources/kafka/kafka_position.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace penstock::core {
namespace {

constexpr std::array<absl::string_view, 8> kReserved = {
    "auto.offset.reset", "enable.auto.commit", "enable.auto.offset.store",
    "enable.partition.eof",
    // Another level would read other messages in a replay.
    "isolation.level", "statistics.interval.ms", "group.instance.id",
    "partition.assignment.strategy"};

// Milliseconds of one call: then what the brokers said meanwhile is looked at.
constexpr int64_t kCallMax = 5'000;

const KafkaOptions& Defaults() {
  // librdkafka's own limits are made for one consumer in a process.
  static const auto& options = *new KafkaOptions{
      {"auto.offset.reset", "error"},
      {"enable.auto.commit", "false"},
      {"enable.auto.offset.store", "false"},
      {"enable.partition.eof", "true"},
      {"statistics.interval.ms", "1000"},
      {"client.id", "penstock"},
      {"group.id", "penstock"},
      {"isolation.level", "read_committed"},
      {"queued.max.messages.kbytes", "16384"},
      {"fetch.max.bytes", "8388608"},
      {"fetch.error.backoff.ms", "100"},
      // A fetch under way holds up the next one, as after a replay.
      {"fetch.wait.max.ms", "100"},
  };
  return options;
}

KafkaPartitionsHandle ListOf(
    std::span<const TopicConsumer::Assignment> partitions) {
  KafkaPartitionsHandle list(
      rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const TopicConsumer::Assignment& one : partitions) {
    rd_kafka_topic_partition_list_add(list.get(), one.place.topic.c_str(),
                                      one.place.partition)
        ->offset = one.offset;
  }
  return list;
}

std::optional<absl::string_view> ViewOf(const void* data, size_t size) {
  if (data == nullptr) return std::nullopt;
  return absl::string_view(static_cast<const char*>(data), size);
}

}  // namespace

std::span<const absl::string_view> KafkaSourceReserved() { return kReserved; }

absl::StatusOr<std::unique_ptr<TopicConsumer>> RdKafkaConsumer::Create(
    const KafkaSourceConfig& config, const Environment& environment) {
  std::unique_ptr<RdKafkaConsumer> consumer(
      new RdKafkaConsumer(environment.clock));
  RETURN_IF_ERROR(consumer->Start(config, environment));
  return consumer;
}

absl::Status RdKafkaConsumer::Start(const KafkaSourceConfig& config,
                                    const Environment& environment) {
  RETURN_IF_ERROR(CheckKafkaOptions(config.options, kReserved));
  ASSIGN_OR_RETURN(KafkaConf conf,
                   ResolveKafkaOptions(config.options, Defaults(),
                                       environment.files, environment.paths));
  ASSIGN_OR_RETURN(
      client_, KafkaClient::Create(RD_KAFKA_CONSUMER, std::move(conf), *this));
  messages_.reset(rd_kafka_queue_get_consumer(client_->handle()));
  callbacks_.reset(rd_kafka_queue_get_main(client_->handle()));
  CHECK(messages_ != nullptr) << "a consumer without a group";
  return absl::OkStatus();
}

RdKafkaConsumer::~RdKafkaConsumer() {
  if (client_ == nullptr) return;
  // From here on nothing wakes anybody.
  rd_kafka_queue_cb_event_enable(callbacks_.get(), nullptr, nullptr);
  rd_kafka_queue_cb_event_enable(messages_.get(), nullptr, nullptr);
  messages_.reset();
  callbacks_.reset();
  LeaveAll();
  // librdkafka's main thread is asked: whoever waits for this consumer's end
  // does not wait for that.
  client_->BeginEnd(
      [client = client_->handle(), left = std::exchange(left_, {})]() mutable {
        rd_kafka_assign(client, nullptr);
        Empty(client, std::move(left));
      });
}

void RdKafkaConsumer::SetWake(absl::AnyInvocable<void()> wake) {
  wake_ = std::move(wake);
  const auto call = [](rd_kafka_t* /*handle*/, void* self) {
    static_cast<RdKafkaConsumer*>(self)->wake_();
  };
  rd_kafka_queue_cb_event_enable(callbacks_.get(), call, this);
  rd_kafka_queue_cb_event_enable(messages_.get(), call, this);
}

int RdKafkaConsumer::MillisecondsLeft(absl::Time deadline) const {
  const absl::Duration left = deadline - clock_.SteadyNow();
  return static_cast<int>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(left), 1, kCallMax));
}

absl::StatusOr<KafkaMetadataHandle> RdKafkaConsumer::Metadata(
    const std::string* topic, absl::Time deadline) {
  KafkaTopicHandle handle;
  if (topic != nullptr) {
    handle.reset(
        rd_kafka_topic_new(client_->handle(), topic->c_str(), nullptr));
    if (handle == nullptr) {
      return MakeKafkaError(rd_kafka_last_error(),
                            absl::StrCat("look up topic ", *topic));
    }
  }
  while (true) {
    const rd_kafka_metadata_t* metadata = nullptr;
    const rd_kafka_resp_err_t code =
        rd_kafka_metadata(client_->handle(), topic == nullptr ? 1 : 0,
                          handle.get(), &metadata, MillisecondsLeft(deadline));
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
      login_.Up();
      return KafkaMetadataHandle(metadata);
    }
    // What the brokers said before, if anything, says more.
    RETURN_IF_ERROR(Serve());
    if (IsKafkaRetryable(code) && clock_.SteadyNow() < deadline) continue;
    return MakeKafkaError(code,
                          topic == nullptr
                              ? "list topics"
                              : absl::StrCat("look up topic ", *topic),
                          problem_);
  }
}

absl::StatusOr<std::vector<TopicConsumer::Topic>> RdKafkaConsumer::ListTopics(
    std::optional<std::span<const std::string>> names, absl::Time deadline) {
  std::vector<Topic> topics;
  const auto take = [&](const rd_kafka_metadata_t& metadata) -> absl::Status {
    for (int i = 0; i < metadata.topic_cnt; ++i) {
      const rd_kafka_metadata_topic_t& topic = metadata.topics[i];
      if (topic.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) continue;
      if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR &&
          (names.has_value() || !IsKafkaRetryable(topic.err))) {
        return MakeKafkaError(topic.err,
                              absl::StrCat("look up topic ", topic.topic));
      }
      if (topic.partition_cnt == 0 && names.has_value()) {
        // Nobody said that it is not there.
        return MakeKafkaError(RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
                              absl::StrCat("look up topic ", topic.topic));
      }
      if (topic.partition_cnt == 0) continue;
      topics.push_back(
          {.name = topic.topic, .partitions = topic.partition_cnt});
    }
    return absl::OkStatus();
  };
  if (!names.has_value()) {
    ASSIGN_OR_RETURN(const KafkaMetadataHandle all,
                     Metadata(nullptr, deadline));
    RETURN_IF_ERROR(take(*all));
    return topics;
  }
  for (const std::string& name : *names) {
    ASSIGN_OR_RETURN(const KafkaMetadataHandle one, Metadata(&name, deadline));
    RETURN_IF_ERROR(take(*one));
  }
  return topics;
}

absl::StatusOr<std::vector<int64_t>> RdKafkaConsumer::FindOffsets(
    std::span<const TopicPartition> places, int64_t time_ms,
    absl::Time deadline) {
  std::vector<int64_t> offsets;
  if (places.empty()) return offsets;
  std::vector<Assignment> asked;
  for (const TopicPartition& place : places) {
    asked.push_back({.place = place, .id = 0, .offset = time_ms});
  }
  while (true) {
    const KafkaPartitionsHandle list = ListOf(asked);
    rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(
        client_->handle(), list.get(), MillisecondsLeft(deadline));
    offsets.clear();
    for (int i = 0; i < list->cnt && code == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
      code = list->elems[i].err;
      offsets.push_back(list->elems[i].offset);
    }
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) break;
    if (IsKafkaRetryable(code) && clock_.SteadyNow() < deadline) continue;
    RETURN_IF_ERROR(Serve());
    return MakeKafkaError(code, "look up offsets", problem_);
  }
  // Below 0: no message is that late.
  std::vector<TopicPartition> at_end;
  for (size_t i = 0; i < places.size(); ++i) {
    if (offsets[i] < 0) at_end.push_back(places[i]);
  }
  if (at_end.empty() || time_ms < 0) return offsets;
  ASSIGN_OR_RETURN(const std::vector<int64_t> ends,
                   FindOffsets(at_end, kLatest, deadline));
  size_t next = 0;
  for (int64_t& offset : offsets) {
    if (offset < 0) offset = ends[next++];
  }
  return offsets;
}

void RdKafkaConsumer::Leave(const std::string& topic, int32_t partition) {
  KafkaQueueHandle queue(rd_kafka_queue_get_partition(
      client_->handle(), topic.c_str(), partition));
  // Null: librdkafka does not know the partition, so that it holds nothing.
  if (queue != nullptr) left_.push_back(std::move(queue));
}

void RdKafkaConsumer::LeaveAll() {
  FreeReceived();
  last_topic_ = nullptr;
  for (const auto& [place, was] : assigned_) {
    if (!was.is_finished) Leave(place.first, place.second);
  }
  assigned_.clear();
}

void RdKafkaConsumer::Empty(rd_kafka_t* client,
                            std::vector<KafkaQueueHandle> left) {
  if (left.empty()) return;
  // librdkafka's main thread takes requests one by one: this one is answered
  // when it has stopped what was left. A broker's thread may be unpacking a
  // fetch meanwhile, which comes in behind this: KafkaReaper is for that.
  rd_kafka_topic_partition_list_t* assigned = nullptr;
  if (rd_kafka_assignment(client, &assigned) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    rd_kafka_topic_partition_list_destroy(assigned);
  }
  std::array<rd_kafka_message_t*, 64> messages{};
  for (const KafkaQueueHandle& queue : left) {
    ssize_t count = 0;
    do {
      count = rd_kafka_consume_batch_queue(queue.get(), 0, messages.data(),
                                           messages.size());
      for (ssize_t i = 0; i < count; ++i) {
        rd_kafka_message_destroy(messages[static_cast<size_t>(i)]);
      }
    } while (count > 0);
  }
}

absl::Status RdKafkaConsumer::Assign(std::span<const Assignment> partitions) {
  LeaveAll();
  // All of them are left, also what is assigned again: where the topic is gone
  // that is another object.
  rd_kafka_resp_err_t code = rd_kafka_assign(client_->handle(), nullptr);
  Empty(client_->handle(), std::exchange(left_, {}));
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR && !partitions.empty()) {
    for (const Assignment& one : partitions) {
      assigned_[{one.place.topic, one.place.partition}] = {.id = one.id};
    }
    code = rd_kafka_assign(client_->handle(), ListOf(partitions).get());
  }
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return absl::OkStatus();
  return MakeKafkaError(code, "assign partitions");
}

void RdKafkaConsumer::Finish(const TopicPartition& place) {
  const auto found = assigned_.find({place.topic, place.partition});
  if (found == assigned_.end() || found->second.is_finished) return;
  found->second.is_finished = true;
  Leave(place.topic, place.partition);
  const Assignment one{.place = place, .id = 0, .offset = 0};
  const KafkaPartitionsHandle list = ListOf({&one, 1});
  // Not paused: a partition that was takes a second to come back.
  const KafkaErrorHandle ignored(
      rd_kafka_incremental_unassign(client_->handle(), list.get()));
}

std::optional<uint32_t> RdKafkaConsumer::IdOf(
    const rd_kafka_message_t& message) {
  if (message.rkt == nullptr) return std::nullopt;
  if (message.rkt == last_topic_ && message.partition == last_partition_) {
    return last_id_;
  }
  const auto found =
      assigned_.find({rd_kafka_topic_name(message.rkt), message.partition});
  if (found == assigned_.end()) return std::nullopt;
  last_topic_ = message.rkt;
  last_partition_ = message.partition;
  last_id_ = found->second.id;
  return last_id_;
}

KafkaEvent RdKafkaConsumer::EventOf(const rd_kafka_message_t& message) {
  KafkaEvent event{.offset = message.offset, .message = &message};
  const std::optional<uint32_t> id = IdOf(message);
  event.has_partition = id.has_value();
  event.id = id.value_or(0);
  switch (message.err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR: {
      rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
      const int64_t time = rd_kafka_message_timestamp(&message, &type);
      event.timestamp_ms = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
                               ? RecordMeta::kNoEventTime
                               : time;
      event.key = ViewOf(message.key, message.key_len);
      event.value = ViewOf(message.payload, message.len);
      break;
    }
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      event.kind = KafkaEvent::Kind::kEnd;
      break;
    default:
      event.kind = KafkaEvent::Kind::kError;
      event.error = MakeKafkaError(
          message.err,
          message.rkt == nullptr
              ? "read"
              : absl::StrCat("read ", KafkaPartitionName(
                                          rd_kafka_topic_name(message.rkt),
                                          message.partition)),
          client_->Redact(rd_kafka_message_errstr(&message)));
      break;
  }
  return event;
}

std::span<const KafkaEvent> RdKafkaConsumer::Receive(size_t events_max) {
  FreeReceived();
  received_.resize(events_max);
  const ssize_t count = rd_kafka_consume_batch_queue(
      messages_.get(), 0, received_.data(), events_max);
  received_.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  for (const rd_kafka_message_t* const message : received_) {
    events_.push_back(EventOf(*message));
  }
  return events_;
}

void RdKafkaConsumer::FreeReceived() {
  events_.clear();
  for (rd_kafka_message_t* const message : received_) {
    rd_kafka_message_destroy(message);
  }
  received_.clear();
}

std::vector<KafkaHeader> RdKafkaConsumer::HeadersOf(
    const KafkaEvent& event) const {
  std::vector<KafkaHeader> headers;
  rd_kafka_headers_t* list = nullptr;
  const auto* const message =
      static_cast<const rd_kafka_message_t*>(event.message);
  if (rd_kafka_message_headers(message, &list) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return headers;
  }
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  for (size_t i = 0; rd_kafka_header_get_all(list, i, &name, &value, &size) ==
                     RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    headers.push_back({.name = name, .value = ViewOf(value, size)});
  }
  return headers;
}

void RdKafkaConsumer::Commit(std::span<const Assignment> partitions) {
  const KafkaPartitionsHandle list = ListOf(partitions);
  (void)rd_kafka_commit(client_->handle(), list.get(), 1);
}

absl::Status RdKafkaConsumer::Serve() {
  // Each serves one callback or more; there are few.
  while (rd_kafka_poll(client_->handle(), 0) > 0) {
  }
  return fatal_;
}

void RdKafkaConsumer::OnError(rd_kafka_resp_err_t code,
                              absl::string_view text) {
  const bool is_refusal = code == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
                          code == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED;
  if (code == RD_KAFKA_RESP_ERR__FATAL ||
      (is_refusal && login_.Refused(clock_.SteadyNow()))) {
    fatal_ = MakeKafkaError(code, "connect", text);
    return;
  }
  // The group is for show only.
  if (code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED) return;
  problem_ = std::string(text);
  if (is_refusal) {
    health_ = {
        .condition = Condition::kDegraded,
        .reason = absl::StrCat("kafka: a broker does not let us in: ", text)};
    return;
  }
  if (code == RD_KAFKA_RESP_ERR__TRANSPORT ||
      code == RD_KAFKA_RESP_ERR__RESOLVE) {
    login_.Away();
  }
  if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;
  health_ = {.condition = Condition::kDegraded,
             .reason = absl::StrCat("kafka: no broker can be reached: ", text)};
}

void RdKafkaConsumer::OnStatistics(const KafkaStatistics& statistics) {
  // A connection that is made anew is no trouble: it must be down twice.
  const bool was_down = !statistics_.DownBrokers().empty();
  const std::string down = statistics.DownBrokers();
  const bool is_any_up = statistics.IsAnyUp();
  if (is_any_up) login_.Up();
  statistics_ = statistics;
  if (down.empty() || (is_any_up && !was_down)) {
    if (is_any_up) health_ = {};
    return;
  }
  if (!is_any_up && !was_down) return;
  health_ = {.condition = Condition::kDegraded,
             .reason = absl::StrCat("kafka: brokers that are down: ", down,
                                    problem_.empty() ? "" : ": ", problem_)};
}

}  // namespace penstock::core
