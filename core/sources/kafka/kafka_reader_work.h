// What the tasks of a KafkaReader work on. Internal to core/sources/kafka.
#pragma once

#include "core/base/mutex.h"
#include "core/base/strand_work.h"
#include "core/queue/input_queue.h"
#include "core/sources/kafka/kafka_metrics.h"
#include "core/sources/kafka/kafka_reader.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// Threads: StartReading, Post, Flush and Stop are thread-safe (Flush: one at a
//          time); all else is confined to the strand.
class KafkaReader::Work : public StrandWork<KafkaReader::Work> {
 public:
  Work(const Environment& environment, InputConsumer& consumer,
       std::unique_ptr<TopicConsumer> client,
       std::unique_ptr<MessagePacker> packer, Options options);

  // Once, before any command.
  void Start();
  void Extend();
  void Pause() { is_extended_.store(false); }
  // Posts a reading task if there is none.
  void StartReading() {
    if (!is_read_posted_.exchange(true)) Post(&Work::ReadSome);
  }
  void Flush(const QueueCommand& command) ABSL_LOCKS_EXCLUDED(mu_);
  void Replay(const ReplayCommand& command);
  void Skip(const SkipCommand& command);
  void Disconnect() { is_closed_.store(true); }
  // Blocks: until the running task, if any, is over; then ends the client, and
  // the parser with what its gate runs.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

  bool is_closed() const { return is_closed_.load(); }
  uint64_t client_bytes() const { return metrics_->client_bytes.load(); }

 private:
  // Where a partition was read to by an entry of the queue.
  struct Moved {
    uint32_t id = 0;
    int64_t end = 0;
    // Nullopt: no message was read.
    std::optional<KafkaMessageId> last = std::nullopt;
  };
  // What a step ended at, until it is acknowledged upstream.
  struct Unacknowledged {
    Step step = 0;
    std::vector<Moved> moved;
  };
  // A partition while it is read.
  struct Reading {
    std::string topic;
    // Of the next message that is wanted.
    int64_t next = 0;
    // Reading ends here; nullopt: never.
    std::optional<int64_t> end = std::nullopt;
    // The last that was read.
    std::optional<KafkaMessageId> last = std::nullopt;
    // `last` was asked for again, and has not come yet.
    bool checks_last = false;
    bool is_done() const { return end.has_value() && next >= *end; }
  };
  // A Replay that runs.
  struct Replaying {
    KafkaPosition step;
    std::optional<StepHasher> hasher;
    BufferSize total;
  };

  // --- Reading.
  void ReadSome();
  absl::Status TryReadSome();
  // Assigns every partition that is not done, from where it is: from the last
  // message on, to see whether that is still the same.
  absl::Status Assign();
  // What comes first from where a partition is assigned.
  // Errors: POSITION_EXPIRED: it is another message.
  absl::Status CheckLast(const KafkaEvent& event, Reading& reading);
  // The first of what is pending.
  absl::Status TakeEvent();
  absl::Status TakeError(const KafkaEvent& event);
  // The run of one partition's messages that is pending, or as much of it as a
  // buffer holds.
  void TakeMessages();
  // What was made of messages, up to `moved`.
  void Stage(MessagePacker::Packed packed, const Moved& moved);
  // The partition was read to `end`, where no message is.
  void Move(uint32_t id, int64_t end);
  // Its next message is gone.
  absl::Status Expired(uint32_t id, const absl::Status& error);
  // Its next offset is `next` now.
  void Advance(uint32_t id, Reading& reading, int64_t next);
  bool IsAllDone() const;
  // Adds what belongs to a bounded input and is not known yet, when no replay
  // can come any more.
  void AddRest() ABSL_LOCKS_EXCLUDED(mu_);
  // Sets what is read, from behind the last step on.
  void ResetReadings() ABSL_LOCKS_EXCLUDED(mu_);

  // --- Beside it.
  void KeepHouse();
  void ShowHealth();
  void ShowNumbers() ABSL_LOCKS_EXCLUDED(mu_);
  // Errors: POSITION_EXPIRED: what is read was deleted.
  absl::Status Discover(bool adds);
  // That all that is read is among `topics`.
  absl::Status CheckMissing(const std::vector<TopicConsumer::Topic>& topics,
                            absl::Time deadline) ABSL_LOCKS_EXCLUDED(mu_);
  // The first of what is read that `topics` lack; nullopt: none.
  std::optional<std::string> MissingTopic(
      const std::vector<TopicConsumer::Topic>& topics) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status AddNew(const std::vector<TopicConsumer::TopicPartition>& wanted,
                      absl::Time deadline) ABSL_LOCKS_EXCLUDED(mu_);
  void Acknowledge() ABSL_LOCKS_EXCLUDED(mu_);

  // --- Replaying. Errors: POSITION_MISMATCH unless the step begins here.
  absl::StatusOr<KafkaPosition> CheckStep(absl::string_view metadata)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status EndReplay() ABSL_LOCKS_EXCLUDED(mu_);
  void FinishStep(const KafkaPosition& step) ABSL_LOCKS_EXCLUDED(mu_);

  void Fail(const absl::Status& status, absl::string_view tag);

  const Environment environment_;
  InputConsumer& consumer_;
  const KafkaSourceConfig config_;
  std::unique_ptr<MessagePacker> packer_;
  InputQueue<Moved> queue_;
  // Shared by: this and the connector, which shows it.
  const std::shared_ptr<KafkaMetrics> metrics_;
  // Where the input ends.
  const std::map<std::pair<std::string, int32_t>, Bounds> ends_;

  std::atomic<bool> is_extended_{false};
  std::atomic<bool> is_closed_{false};
  std::atomic<bool> is_read_posted_{false};

  Mutex mu_;
  // Behind the last step; its partitions are all that are known.
  KafkaPosition flushed_ ABSL_GUARDED_BY(mu_);
  // By step, the oldest first.
  std::deque<Unacknowledged> unacknowledged_ ABSL_GUARDED_BY(mu_);

  // Confined to the strand.
  std::unique_ptr<TopicConsumer> client_;
  std::map<uint32_t, Reading> readings_;
  // Received and not taken yet.
  std::span<const KafkaEvent> pending_;
  // Of pending_: a run.
  std::vector<const KafkaEvent*> run_;
  bool is_assigned_ = false;
  // AddRest was called.
  bool has_rest_ = false;
  bool is_ended_ = false;
  // The first of what is pending waits for the parser's gate.
  bool is_waiting_ = false;
  std::optional<Replaying> replaying_;
  absl::Time discovered_;
  // When a discovery that adds nothing was done.
  absl::Time looked_;
  // Since when the cluster says that a topic is not there.
  std::optional<absl::Time> missing_since_;
  std::string shown_reason_;
  // Counts from which what is checkpointed, or else completed, is known.
  std::shared_ptr<CountWatch> acknowledged_;
};

}  // namespace penstock::core
