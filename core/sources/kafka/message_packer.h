// Messages of a partition to buffers: copied once, each parsed by itself.
#pragma once

#include "core/contract/message_gate.h"
#include "core/contract/parse_error.h"
#include "core/contract/parser.h"
#include "core/record/block.h"
#include "core/record/record_batch.h"
#include "core/sources/kafka/config.h"
#include "core/sources/kafka/message_columns.h"
#include "core/sources/kafka/topic_consumer.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace penstock::core {

// A bad message costs only itself. No allocation per message: all of a buffer
// lie in one block, keys and values one behind the other.
//
// Owner:   a reader. Threads: thread-compatible.
// Bound:   one buffer: a block of `block_bytes`, or one longer message, and
// what
//          the parser makes of it.
class MessagePacker {
 public:
  struct Options {
    size_t block_bytes = size_t{1} << 20;
    bool keeps_bad_records = false;
    KafkaTombstones tombstones = KafkaTombstones::kIgnore;
    std::vector<KafkaHeaderCondition> header_filter = {};
    MessageColumns columns = {};
    // Of the schema.
    uint32_t column_count = 0;
  };
  struct Packed {
    RecordBatch batch;
    std::vector<ParseError> errors;
    // How many messages were taken, from 1 unless the first waits.
    size_t taken = 0;
    // The next one has to wait for the parser's gate.
    bool waits = false;
    // Those of them that were passed over: tombstones, those in which the
    // format found no record, those whose headers say so.
    uint64_t ignored = 0;
  };

  MessagePacker(std::unique_ptr<Parser> parser, Options options);

  // What the parser needs from elsewhere; null: nothing.
  MessageGate* gate() const { return gate_; }

  // Takes from the beginning of `messages`, of partition `id`, as many as one
  // buffer holds. Requires: `messages` is not empty.
  Packed Pack(uint32_t id, absl::string_view topic,
              std::span<const KafkaEvent* const> messages,
              const TopicConsumer& consumer);

 private:
  // A buffer in the making.
  struct Task;

  bool NeedsHeaders() const {
    return !options_.header_filter.empty() || options_.columns.has_headers();
  }
  // Whether the parser can take it now, or is not asked to.
  bool IsReady(const KafkaEvent& event, const TopicConsumer& consumer) const;
  bool PassesFilter(std::span<const KafkaHeader> headers) const;
  void Add(Task& task, const KafkaEvent& event, const TopicConsumer& consumer);
  void AddTombstone(Task& task, const MessageRecords& message);
  // The value lies in the block at `begin`.
  void AddValue(Task& task, const MessageRecords& message, uint32_t begin,
                absl::string_view value);
  static void AddError(Task& task, const KafkaEvent& event, ParseError error);
  BlockRef BlockOf(size_t bytes);

  const std::unique_ptr<Parser> parser_;
  MessageGate* const gate_;
  const Options options_;
  const bool takes_whole_;
  MessageColumns columns_;
  const std::vector<Value> nulls_;
  BlockPool pool_;
};

}  // namespace penstock::core
