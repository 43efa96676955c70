#include "core/sources/kafka/message_packer.h"

#include "core/base/check.h"
#include "core/format/bad_record.h"
#include "core/record/key_hash.h"
#include "core/record/record_batch_builder.h"
#include "core/sources/kafka/kafka_position.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace penstock::core {
namespace {

size_t BytesOf(const KafkaEvent& event) {
  return (event.key.has_value() ? event.key->size() : 0) +
         (event.value.has_value() ? event.value->size() : 0);
}

}  // namespace

struct MessagePacker::Task {
  uint32_t id;
  absl::string_view topic;
  BlockRef block;
  RecordBatchBuilder batch;
  Packed packed;
  uint32_t used = 0;

  // Copies `bytes` into the block; returns where they are.
  uint32_t Copy(absl::string_view bytes) {
    const uint32_t begin = used;
    if (!bytes.empty()) {
      std::memcpy(block->data() + begin, bytes.data(), bytes.size());
    }
    used += static_cast<uint32_t>(bytes.size());
    return begin;
  }
};

MessagePacker::MessagePacker(std::unique_ptr<Parser> parser, Options options)
    : parser_(std::move(parser)),
      gate_(GateOf(*parser_)),
      options_(std::move(options)),
      takes_whole_(parser_->TakesMessagesWhole()),
      columns_(options_.columns),
      nulls_(options_.column_count),
      pool_({.block_bytes = options_.block_bytes}) {}

BlockRef MessagePacker::BlockOf(size_t bytes) {
  // A partition that gives little must not hold much.
  if (bytes < options_.block_bytes / 2) {
    return std::make_shared<Block>(std::max<size_t>(bytes, 1));
  }
  return pool_.Get(bytes);
}

MessagePacker::Packed MessagePacker::Pack(
    uint32_t id, absl::string_view topic,
    std::span<const KafkaEvent* const> messages,
    const TopicConsumer& consumer) {
  if (!IsReady(*messages.front(), consumer)) return {.waits = true};
  size_t count = 0;
  size_t bytes = 0;
  for (const KafkaEvent* const event : messages) {
    const size_t more = BytesOf(*event);
    if (count > 0 && bytes + more > options_.block_bytes) break;
    bytes += more;
    ++count;
  }
  BlockRef block = BlockOf(bytes);
  Task task{.id = id,
            .topic = topic,
            .block = block,
            .batch = RecordBatchBuilder(block, id, options_.column_count),
            .packed = {}};
  task.batch.Reserve(count);
  columns_.SetPartition(topic, KafkaPosition::PartitionOf(id),
                        task.batch.value_arena());
  size_t taken = 0;
  while (taken < count) {
    if (!IsReady(*messages[taken], consumer)) {
      task.packed.waits = true;
      break;
    }
    Add(task, *messages[taken++], consumer);
    // Typed rows may take far more than the messages.
    if (task.batch.value_arena().MemoryBytes() > Parser::kResultBytesMax) break;
  }
  task.packed.taken = taken;
  if (task.batch.record_count() > 0) {
    task.packed.batch = std::move(task.batch).Build();
  }
  if (options_.keeps_bad_records && !task.packed.errors.empty()) {
    task.packed.batch.AddBadRecords(ToBadRecords(id, task.packed.errors));
  }
  return std::move(task.packed);
}

bool MessagePacker::IsReady(const KafkaEvent& event,
                            const TopicConsumer& consumer) const {
  if (gate_ == nullptr || !event.value.has_value() || event.value->empty() ||
      event.value->size() > parser_->RecordBytesMax()) {
    return true;
  }
  if (!options_.header_filter.empty() &&
      !PassesFilter(consumer.HeadersOf(event))) {
    return true;
  }
  return gate_->IsReady(*event.value);
}

bool MessagePacker::PassesFilter(std::span<const KafkaHeader> headers) const {
  const auto holds = [&](const KafkaHeaderCondition& condition) {
    const bool found = std::any_of(headers.begin(), headers.end(),
                                   [&](const KafkaHeader& header) {
                                     if (header.name != condition.name)
                                       return false;
                                     return !condition.value.has_value() ||
                                            (header.value.has_value() &&
                                             *header.value == *condition.value);
                                   });
    return found != condition.is_negated;
  };
  return std::all_of(options_.header_filter.begin(),
                     options_.header_filter.end(), holds);
}

void MessagePacker::Add(Task& task, const KafkaEvent& event,
                        const TopicConsumer& consumer) {
  std::vector<KafkaHeader> headers;
  if (NeedsHeaders()) headers = consumer.HeadersOf(event);
  const bool is_tombstone = !event.value.has_value();
  const bool is_ignored =
      !PassesFilter(headers) ||
      (is_tombstone && options_.tombstones == KafkaTombstones::kIgnore) ||
      (!is_tombstone && !takes_whole_ && event.value->empty());
  if (is_ignored) {
    ++task.packed.ignored;
    return;
  }
  MessageRecords message{.batch = &task.batch,
                         .offset = event.offset,
                         .event_time_ms = event.timestamp_ms};
  std::optional<absl::string_view> key;
  if (event.key.has_value()) {
    message.key_begin = task.Copy(*event.key);
    message.key_size = static_cast<uint32_t>(event.key->size());
    message.key_hash = KeyHash(*event.key);
    key = absl::string_view(task.block->data() + message.key_begin,
                            message.key_size);
  }
  if (!columns_.SetMessage(event, key, headers, task.batch.value_arena())) {
    ParseError error;
    error.tag = "invalid_utf8";
    error.description = "the message's key is no UTF-8, but its column is text";
    error.invalid_text = CutInvalidText(*key);
    error.suggestion = "declare the column as varbinary";
    AddError(task, event, std::move(error));
    return;
  }
  message.cells = columns_.cells();
  if (is_tombstone) return AddTombstone(task, message);
  const size_t bytes_max = parser_->RecordBytesMax();
  if (takes_whole_ && event.value->size() > bytes_max) {
    AddError(task, event, RecordTooLarge(*event.value, bytes_max));
    return;
  }
  AddValue(task, message, task.Copy(*event.value), *event.value);
}

void MessagePacker::AddTombstone(Task& task, const MessageRecords& message) {
  if (!nulls_.empty()) {
    task.batch.AddRow(nulls_);
    task.batch.SetCells(message.cells);
  }
  task.batch.Add({.value_size = RecordEntry::kNull,
                  .key_begin = message.key_begin,
                  .key_size = message.key_size,
                  .offset = message.offset,
                  .event_time_ms = message.event_time_ms,
                  .key_hash = message.key_hash,
                  .op = Op::kDelete,
                  .has_key_hash = message.key_size != RecordEntry::kNull});
}

void MessagePacker::AddValue(Task& task, const MessageRecords& message,
                             uint32_t begin, absl::string_view value) {
  const auto size = static_cast<uint32_t>(value.size());
  if (takes_whole_) {
    task.batch.Add({.value_begin = begin,
                    .value_size = size,
                    .key_begin = message.key_begin,
                    .key_size = message.key_size,
                    .offset = message.offset,
                    .event_time_ms = message.event_time_ms,
                    .key_hash = message.key_hash,
                    .has_key_hash = message.key_size != RecordEntry::kNull});
    return;
  }
  Fragment fragment{.block = task.block,
                    .begin = begin,
                    .size = size,
                    .partition = task.id,
                    .is_last = true,
                    .message = &message};
  parser_->SetPosition(1, 1);
  uint64_t records = 0;
  while (fragment.size > 0) {
    ParseResult result = parser_->Parse(fragment);
    CHECK_GT(result.bytes, 0u);
    records += result.records;
    for (ParseError& error : result.errors) {
      error.input =
          KafkaPartitionName(task.topic, KafkaPosition::PartitionOf(task.id));
      task.packed.errors.push_back(std::move(error));
    }
    fragment.RemovePrefix(result.bytes);
  }
  if (records == 0) ++task.packed.ignored;
}

void MessagePacker::AddError(Task& task, const KafkaEvent& event,
                             ParseError error) {
  error.record_number = 1;
  error.line = 1;
  error.byte_offset = static_cast<uint64_t>(event.offset);
  error.input =
      KafkaPartitionName(task.topic, KafkaPosition::PartitionOf(task.id));
  task.packed.errors.push_back(std::move(error));
}

}  // namespace penstock::core
