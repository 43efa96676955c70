// A source in memory that does what the test says, when it says so.
#pragma once

#include "core/base/mutex.h"
#include "core/contract/consumer.h"
#include "core/contract/endpoint.h"
#include "core/contract/ft_model.h"
#include "core/contract/health.h"
#include "core/contract/parse_error.h"
#include "core/record/buffer_size.h"
#include "core/record/schema.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Partitions of records that outlive the connectors which read them, and the
// strings by which a test pulls the reader of the moment. A record is text;
// what stands before its first ':' is its key; one that begins with "!" cannot
// be parsed. Steps are ranges of each partition and are read again in Replay,
// chunked differently.
//
// The reader stages buffers of `records_per_buffer` records in an InputQueue,
// partition by partition in turn: by itself (`reads_itself`: at Extend, when
// something is appended, when a flush makes room), or when Read is called.
//
// Owner:   the test; outlives every connector.
// Threads: thread-safe: Read may stand for the reader's thread.
class FakeSource {
 public:
  struct Options {
    std::optional<FtModel> level = FtModel::kExactlyOnce;
    size_t partitions = 1;
    size_t records_per_buffer = 10;
    // Of the block behind a buffer, at least, however little is in it.
    size_t block_bytes_min = 1;
    bool reads_itself = true;
  };

  explicit FakeSource(Options options);
  FakeSource() : FakeSource(Options()) {}
  FakeSource(const FakeSource&) = delete;
  FakeSource& operator=(const FakeSource&) = delete;
  ~FakeSource();

  // For a registry's factory.
  std::unique_ptr<InputEndpoint> MakeEndpoint();

  // --- The outside system.
  void Append(uint32_t partition, const std::vector<std::string>& records);
  // Appends `count` records "<prefix><number>:<number>", numbered from
  // `first`, to the partitions in turn.
  void AppendNumbered(absl::string_view prefix, size_t count, size_t first = 0);
  // Somebody tampers with what was read before.
  void Overwrite(uint32_t partition, size_t offset, std::string record);
  void Truncate(uint32_t partition, size_t records);
  // Nothing more will be appended; the reader says so once it has read all.
  void End();

  // From now on Queue, Replay and Skip are answered by AnswerHeld instead of at
  // once.
  void HoldAnswers(bool hold) { holds_answers_.store(hold); }

  // --- The reader of the moment. Each but Read Requires that there is one.
  // Stages at most `buffers` buffers, as far as the reader is extended and its
  // queue has room. Returns how many records; 0 without a reader.
  size_t Read(size_t buffers = SIZE_MAX);
  // Stages an entry without records, which asks for a step.
  void StageNothing();
  void AnswerHeld();
  // The next buffer that is staged starts or commits a transaction.
  void StartTransaction(std::string label);
  void CommitTransaction();
  void RequestStep();
  void ReportParseErrors(std::vector<ParseError> errors);
  void ReportError(bool fatal, absl::Status error, absl::string_view tag);
  void UpdateHealth(ConnectorHealth health);
  // It says nothing more and is closed.
  void Die();
  // From now on steps end at a position that cannot be restarted from.
  void SetBarrier(bool barrier);
  // From now on a step's seek is given out for a change, with the whole where
  // it is asked for.
  void GiveChanges();
  // Answers a Queue with one record more than it flushed.
  void LieAboutAmount();

  // --- What happened.
  bool has_reader() const;
  // Names of the commands that readers got, oldest first.
  std::vector<std::string> commands() const;
  // Values of the checkpoint count, or without one of the completed count,
  // that readers were told.
  std::vector<uint64_t> acknowledged() const;
  // Of the reader's InputQueue.
  BufferSize staged() const;
  // Records that readers took out of the partitions, replays included.
  size_t records_read() const;
  size_t readers_made() const;
  // The columns that it was last opened for.
  Schema schema() const;

 private:
  class Endpoint;
  class Reader;
  friend class Reader;

  // nullopt: there is no such record.
  std::optional<std::string> RecordAt(uint32_t partition, size_t offset) const
      ABSL_LOCKS_EXCLUDED(mu_);
  size_t PartitionSize(uint32_t partition) const ABSL_LOCKS_EXCLUDED(mu_);
  bool has_ended() const ABSL_LOCKS_EXCLUDED(mu_);
  void NoteCommand(std::string name) ABSL_LOCKS_EXCLUDED(mu_);
  void NoteAcknowledged(uint64_t count) ABSL_LOCKS_EXCLUDED(mu_);
  void NoteRead(size_t records) ABSL_LOCKS_EXCLUDED(mu_);
  // The reader lives at least as long as the pointer.
  std::shared_ptr<Reader> reader() const ABSL_LOCKS_EXCLUDED(mu_);

  const Options options_;
  std::atomic<bool> holds_answers_{false};

  mutable Mutex mu_;
  std::vector<std::vector<std::string>> partitions_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  std::weak_ptr<Reader> reader_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> commands_ ABSL_GUARDED_BY(mu_);
  std::vector<uint64_t> acknowledged_ ABSL_GUARDED_BY(mu_);
  size_t records_read_ ABSL_GUARDED_BY(mu_) = 0;
  size_t readers_made_ ABSL_GUARDED_BY(mu_) = 0;
  Schema schema_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
