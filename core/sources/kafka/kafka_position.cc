#include "core/sources/kafka/kafka_position.h"

#include "core/base/check.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"
#include "core/contract/parse_resume_info.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

constexpr uint64_t kVersion = 2;

template <typename Ranges>
auto Place(Ranges& ranges, int32_t partition) {
  return std::lower_bound(ranges.begin(), ranges.end(), partition,
                          [](const KafkaRange& range, int32_t number) {
                            return range.partition < number;
                          });
}

absl::StatusOr<KafkaRange> ParseRange(const ResumeValue& value) {
  ASSIGN_OR_RETURN(const auto numbers, value.Elements());
  if (numbers.size() != 3 && numbers.size() != 5) {
    return value.Invalid("is no partition with start and end");
  }
  ASSIGN_OR_RETURN(const int64_t partition, numbers[0].Int64());
  if (partition < 0 || partition > KafkaPosition::kPartitionNumberMax) {
    return numbers[0].Invalid("is no number of a partition");
  }
  KafkaRange range{.partition = static_cast<int32_t>(partition)};
  ASSIGN_OR_RETURN(range.start, numbers[1].Int64());
  ASSIGN_OR_RETURN(range.end, numbers[2].Int64());
  if (range.start < 0) return numbers[1].Invalid("is below 0");
  if (range.end < range.start) return numbers[2].Invalid("is below the start");
  if (numbers.size() == 3) return range;
  ASSIGN_OR_RETURN(const int64_t before_end, numbers[3].Int64());
  if (before_end < 1 || before_end > range.end) {
    return numbers[3].Invalid("is no distance of a message before the end");
  }
  ASSIGN_OR_RETURN(const int64_t time, numbers[4].Int64());
  range.last = {.offset = range.end - before_end, .timestamp_ms = time};
  return range;
}

absl::StatusOr<KafkaTopicRanges> ParseTopic(const ResumeValue& value) {
  KafkaTopicRanges topic;
  ASSIGN_OR_RETURN(const auto members, value.Members());
  for (const auto& [name, member] : members) {
    if (name != "topic" && name != "ranges") {
      return member.Invalid("is not known to this version");
    }
  }
  ASSIGN_OR_RETURN(topic.topic, value["topic"].String());
  ASSIGN_OR_RETURN(const auto ranges, value["ranges"].Elements());
  for (const ResumeValue& from : ranges) {
    ASSIGN_OR_RETURN(const KafkaRange range, ParseRange(from));
    if (!topic.ranges.empty() &&
        range.partition <= topic.ranges.back().partition) {
      return from.Invalid("is not above the partition before");
    }
    topic.ranges.push_back(range);
  }
  return topic;
}

}  // namespace

size_t KafkaPosition::partition_count() const {
  size_t count = 0;
  for (const KafkaTopicRanges& topic : topics) count += topic.ranges.size();
  return count;
}

std::optional<size_t> KafkaPosition::FindTopic(absl::string_view topic) const {
  for (size_t i = 0; i < topics.size(); ++i) {
    if (topics[i].topic == topic) return i;
  }
  return std::nullopt;
}

const KafkaRange* KafkaPosition::Find(absl::string_view topic,
                                      int32_t partition) const {
  const std::optional<size_t> index = FindTopic(topic);
  if (!index.has_value()) return nullptr;
  const std::vector<KafkaRange>& ranges = topics[*index].ranges;
  const auto place = Place(ranges, partition);
  if (place == ranges.end() || place->partition != partition) return nullptr;
  return &*place;
}

KafkaRange* KafkaPosition::Find(absl::string_view topic, int32_t partition) {
  return const_cast<KafkaRange*>(std::as_const(*this).Find(topic, partition));
}

KafkaRange& KafkaPosition::At(uint32_t id) {
  CHECK_LT(id >> 20, topics.size());
  std::vector<KafkaRange>& ranges = topics[id >> 20].ranges;
  const auto place = Place(ranges, PartitionOf(id));
  CHECK(place != ranges.end() && place->partition == PartitionOf(id)) << id;
  return *place;
}

void KafkaPosition::Add(absl::string_view topic, int32_t partition,
                        int64_t offset) {
  std::optional<size_t> index = FindTopic(topic);
  if (!index.has_value()) {
    index = topics.size();
    topics.push_back({.topic = std::string(topic), .ranges = {}});
  }
  std::vector<KafkaRange>& ranges = topics[*index].ranges;
  const auto place = Place(ranges, partition);
  CHECK(place == ranges.end() || place->partition != partition) << topic;
  ranges.insert(place,
                {.partition = partition, .start = offset, .end = offset});
}

std::string KafkaPosition::ToJson() const {
  std::string json = absl::StrCat("{\"version\":", kVersion, ",\"topics\":[");
  for (const KafkaTopicRanges& topic : topics) {
    if (&topic != &topics.front()) json += ',';
    json += "{\"topic\":";
    AppendJsonString(topic.topic, json);
    json += ",\"ranges\":[";
    for (const KafkaRange& range : topic.ranges) {
      absl::StrAppend(&json, &range == &topic.ranges.front() ? "[" : ",[",
                      range.partition, ",", range.start, ",", range.end);
      if (range.last.has_value()) {
        absl::StrAppend(&json, ",", range.end - range.last->offset, ",",
                        range.last->timestamp_ms);
      }
      json += ']';
    }
    json += "]}";
  }
  json += "]}";
  return json;
}

absl::StatusOr<KafkaPosition> KafkaPosition::Parse(absl::string_view json) {
  ASSIGN_OR_RETURN(const ResumeInfo info, ParseResumeInfo(json));
  const ResumeValue root = info.root();
  ASSIGN_OR_RETURN(const auto members, root.Members());
  for (const auto& [name, member] : members) {
    if (name != "version" && name != "topics") {
      return member.Invalid("is not known to this version");
    }
  }
  ASSIGN_OR_RETURN(const uint64_t version, root["version"].Uint64());
  if (version < 1 || version > kVersion) {
    return root["version"].Invalid("is of another version of Penstock");
  }
  ASSIGN_OR_RETURN(const auto topics, root["topics"].Elements());
  KafkaPosition position;
  for (const ResumeValue& from : topics) {
    ASSIGN_OR_RETURN(KafkaTopicRanges topic, ParseTopic(from));
    if (position.FindTopic(topic.topic).has_value()) {
      return from.Invalid("names its topic twice");
    }
    position.topics.push_back(std::move(topic));
  }
  if (position.topics.size() > kTopicsMax ||
      position.partition_count() > kPartitionsMax) {
    return root["topics"].Invalid("holds too many partitions");
  }
  return position;
}

std::string KafkaPartitionName(absl::string_view topic, int32_t partition) {
  return absl::StrCat(topic, "/", partition);
}

}  // namespace penstock::core
