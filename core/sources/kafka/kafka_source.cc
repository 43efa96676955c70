#include "core/sources/kafka/kafka_source.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/contract/message_gate.h"
#include "core/sources/kafka/message_columns.h"
#include "core/sources/kafka/message_packer.h"
#include "core/sources/kafka/rdkafka_consumer.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

bool Matches(const std::string& pattern, const std::string& name) {
  // Kafka's own topics must be meant.
  if (absl::StartsWith(name, "__") && !absl::StartsWith(pattern, "__")) {
    return false;
  }
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

absl::StatusOr<std::unique_ptr<MessagePacker>> MakePacker(
    const KafkaSourceConfig& config, const Environment& environment,
    const Schema& schema, bool keeps_bad_records,
    std::unique_ptr<Parser> parser) {
  if (parser->PrologueBytesMax() > 0) {
    return MakeError(Reason::INVALID_CONFIG,
                     "source kafka: the format expects a header at the "
                     "beginning of its input, but messages have none; switch "
                     "it off",
                     {{"field", "format"}});
  }
  if (MessageGate* const gate = GateOf(*parser); gate != nullptr) {
    RETURN_IF_ERROR(gate->Start(environment));
  }
  ASSIGN_OR_RETURN(MessageColumns columns,
                   MessageColumns::Make(config.columns, schema));
  return std::make_unique<MessagePacker>(
      std::move(parser),
      MessagePacker::Options{
          .block_bytes = config.block_bytes,
          .keeps_bad_records = keeps_bad_records,
          .tombstones = config.tombstones,
          .header_filter = config.header_filter,
          .columns = std::move(columns),
          .column_count = static_cast<uint32_t>(schema.columns.size())});
}

absl::Status Gone(absl::string_view name, absl::string_view problem,
                  int64_t offset) {
  return MakeError(
      Reason::POSITION_EXPIRED,
      absl::StrCat("go on in ", name, " at offset ", offset, ": ", problem,
                   "; start anew: another connector name"),
      {{"partition", std::string(name)}, {"wanted", absl::StrCat(offset)}});
}

}  // namespace

std::vector<TopicConsumer::TopicPartition> WantedPartitions(
    const KafkaSourceConfig& config, std::vector<TopicConsumer::Topic> topics) {
  std::sort(topics.begin(), topics.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  std::vector<TopicConsumer::TopicPartition> wanted;
  for (const TopicConsumer::Topic& topic : topics) {
    if (!config.topic_pattern.empty() &&
        !Matches(config.topic_pattern, topic.name)) {
      continue;
    }
    for (int32_t i = 0; i < topic.partitions; ++i) {
      if (static_cast<uint32_t>(i) % config.share_count != config.share_index) {
        continue;
      }
      wanted.push_back({.topic = topic.name, .partition = i});
    }
  }
  return wanted;
}

absl::StatusOr<OpenedInput> KafkaSource::Open(
    InputConsumer& consumer, std::unique_ptr<Parser> parser,
    const Schema& schema, std::optional<std::string> resume_info) {
  std::optional<KafkaPosition> resume;
  if (resume_info.has_value()) {
    ASSIGN_OR_RETURN(resume, KafkaPosition::Parse(*resume_info));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<MessagePacker> packer,
                   MakePacker(config_, environment_, schema,
                              consumer.KeepsBadRecords(), std::move(parser)));
  ASSIGN_OR_RETURN(std::unique_ptr<TopicConsumer> client,
                   make_client_(config_, environment_));
  const absl::Time deadline =
      environment_.clock.SteadyNow() + config_.open_timeout;
  ASSIGN_OR_RETURN(const Places places, FindPartitions(*client, deadline));
  KafkaReader::Options options{.config = config_,
                               .was_away = resume.has_value()};
  if (resume.has_value()) {
    RETURN_IF_ERROR(CheckResume(*resume, places, *client, deadline));
    options.position = *std::move(resume);
    for (KafkaTopicRanges& topic : options.position.topics) {
      for (KafkaRange& range : topic.ranges) range.start = range.end;
    }
  } else {
    ASSIGN_OR_RETURN(options.position, FindStart(*client, places, deadline));
  }
  if (config_.stop_at_end) {
    RETURN_IF_ERROR(FindEnds(*client, places, deadline, options));
  }
  OpenedInput opened;
  opened.position = options.position.ToJson();
  opened.reader =
      std::make_unique<KafkaReader>(environment_, consumer, std::move(client),
                                    std::move(packer), std::move(options));
  return opened;
}

absl::Status KafkaSource::FindEnds(TopicConsumer& client, const Places& places,
                                   absl::Time deadline,
                                   KafkaReader::Options& options) {
  ASSIGN_OR_RETURN(
      const std::vector<int64_t> begins,
      client.FindOffsets(places, TopicConsumer::kEarliest, deadline));
  ASSIGN_OR_RETURN(
      const std::vector<int64_t> ends,
      client.FindOffsets(places, TopicConsumer::kLatest, deadline));
  // One that appeared while nobody read belongs to the input.
  for (size_t i = 0; i < places.size(); ++i) {
    options.ends[{places[i].topic, places[i].partition}] = {.begin = begins[i],
                                                            .end = ends[i]};
  }
  return absl::OkStatus();
}

absl::StatusOr<KafkaSource::Places> KafkaSource::FindPartitions(
    TopicConsumer& client, absl::Time deadline) {
  std::optional<std::span<const std::string>> names;
  if (config_.topic_pattern.empty()) names = config_.topics;
  ASSIGN_OR_RETURN(std::vector<TopicConsumer::Topic> topics,
                   client.ListTopics(names, deadline));
  for (const std::string& name : config_.topics) {
    const bool is_there =
        std::any_of(topics.begin(), topics.end(),
                    [&](const auto& topic) { return topic.name == name; });
    if (!is_there) {
      return MakeError(Reason::NOT_FOUND,
                       absl::StrCat("source kafka: there is no topic ", name),
                       {{"topic", name}});
    }
  }
  Places places = WantedPartitions(config_, std::move(topics));
  if (places.size() > KafkaPosition::kPartitionsMax) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("source kafka: there are ", places.size(), " partitions, ",
                     KafkaPosition::kPartitionsMax,
                     " are the most; give this connector a share "
                     "of them"),
        {{"field", "source.kafka.share"}});
  }
  return places;
}

absl::StatusOr<KafkaPosition> KafkaSource::FindStart(TopicConsumer& client,
                                                     const Places& places,
                                                     absl::Time deadline) {
  int64_t time = TopicConsumer::kEarliest;
  if (config_.start == KafkaStart::kLatest) time = TopicConsumer::kLatest;
  if (config_.start == KafkaStart::kTimestamp) {
    time = std::max<int64_t>(absl::ToUnixMillis(config_.start_time), 0);
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> offsets,
                   client.FindOffsets(places, time, deadline));
  KafkaPosition position;
  for (size_t i = 0; i < places.size(); ++i) {
    position.Add(places[i].topic, places[i].partition, offsets[i]);
  }
  if (config_.start != KafkaStart::kOffsets) return position;
  ASSIGN_OR_RETURN(
      const std::vector<int64_t> ends,
      client.FindOffsets(places, TopicConsumer::kLatest, deadline));
  for (const KafkaStartOffset& one : config_.start_offsets) {
    const std::string name = KafkaPartitionName(one.topic, one.partition);
    const auto place =
        std::find_if(places.begin(), places.end(), [&](const auto& candidate) {
          return candidate.topic == one.topic &&
                 candidate.partition == one.partition;
        });
    if (place == places.end()) {
      return MakeError(Reason::INVALID_CONFIG,
                       absl::StrCat("source kafka: start.offsets: there is no ",
                                    "partition ", name, " to read"),
                       {{"field", "source.kafka.start.offsets"}});
    }
    const auto index = static_cast<size_t>(place - places.begin());
    if (one.offset < offsets[index] || one.offset > ends[index]) {
      return MakeError(
          Reason::POSITION_EXPIRED,
          absl::StrCat("source kafka: start.offsets: ", name, " has offsets ",
                       offsets[index], " to ", ends[index], ", not ",
                       one.offset),
          {{"partition", name}, {"wanted", absl::StrCat(one.offset)}});
    }
    KafkaRange& range = *position.Find(one.topic, one.partition);
    range.start = range.end = one.offset;
  }
  return position;
}

absl::Status KafkaSource::CheckResume(const KafkaPosition& position,
                                      const Places& places,
                                      TopicConsumer& client,
                                      absl::Time deadline) {
  ASSIGN_OR_RETURN(
      const std::vector<int64_t> ends,
      client.FindOffsets(places, TopicConsumer::kLatest, deadline));
  for (const KafkaTopicRanges& topic : position.topics) {
    for (const KafkaRange& range : topic.ranges) {
      const std::string name = KafkaPartitionName(topic.topic, range.partition);
      const auto place = std::find_if(
          places.begin(), places.end(), [&](const auto& candidate) {
            return candidate.topic == topic.topic &&
                   candidate.partition == range.partition;
          });
      if (place == places.end()) {
        return Gone(name,
                    "the partition is not there, or not this connector's, any "
                    "more",
                    range.end);
      }
      const int64_t end = ends[static_cast<size_t>(place - places.begin())];
      if (range.end > end) {
        return Gone(name,
                    absl::StrCat("the partition ends at ", end,
                                 "; the topic was deleted and made anew, or "
                                 "lost messages"),
                    range.end);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<InputEndpoint>> MakeKafkaSource(
    const ComponentConfig& config, const Environment& environment) {
  if (config.type() != "kafka") {
    return MakeError(Reason::INVALID_CONFIG,
                     absl::StrCat("source kafka: the configuration is of type ",
                                  config.type()));
  }
  const auto& kafka = static_cast<const KafkaSourceConfig&>(config);
  RETURN_IF_ERROR(CheckKafkaSourceConfig(kafka));
  return std::make_unique<KafkaSource>(kafka, environment,
                                       &RdKafkaConsumer::Create);
}

}  // namespace penstock::core
