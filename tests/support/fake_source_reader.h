// The reader behind FakeSource; included by its sources only.
#pragma once

#include "core/base/mutex.h"
#include "core/contract/command.h"
#include "core/contract/consumer.h"
#include "core/queue/input_queue.h"
#include "core/record/record_batch.h"
#include "tests/support/fake_source.h"

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

// Owner:     shared by the connector's InputReader and by the test while it
//            acts for the reader's thread.
// Threads:   Request is the driver's; the rest stands for the reader's thread.
//            `mu_` orders reading; it is not held while the consumer is told
//            anything but by pushes, which only record.
class FakeSource::Reader {
 public:
  Reader(FakeSource& source, InputConsumer& consumer);

  // Start behind the step that `seek` describes.
  absl::Status Seek(const std::string& seek);
  // An empty step at the start.
  std::string Position();
  void Request(InputReaderCommand command);
  bool IsClosed() const { return closed_.load(); }
  // The consumer is not called any more once this returned.
  void Close();

  size_t Read(size_t buffers);
  void StageNothing();
  void AnswerHeld();
  void StartTransaction(std::string label);
  void CommitTransaction();
  void Die() { closed_.store(true); }
  void SetBarrier(bool barrier) { barrier_.store(barrier); }
  void GiveChanges() { gives_changes_.store(true); }
  void LieAboutAmount() { lies_.store(true); }
  InputConsumer& consumer() { return consumer_; }
  BufferSize staged() const { return queue_.QueuedSize(); }

 private:
  // Records [begin, end) of a partition.
  struct Range {
    size_t begin = 0;
    size_t end = 0;
  };
  struct Aux {
    uint32_t partition = 0;
    Range range;
  };
  using Queue = InputQueue<Aux>;

  static std::string SeekOf(const std::vector<Range>& ranges);
  static absl::StatusOr<std::vector<Range>> ParseSeek(const std::string& seek);

  void Answer(const InputReaderCommand& command);
  void Flush(bool whole_is_asked);
  void Replay(const ReplayCommand& command);
  void Skip(const SkipCommand& command);
  // Hands the range to the consumer in buffers of `records`; false: some of it
  // is gone.
  bool ReplayRange(uint32_t partition, Range range, size_t records,
                   StepHasher& hasher, BufferSize& total);
  absl::StatusOr<std::vector<Range>> RangesFrom(const std::string& seek);
  void MoveTo(const std::vector<Range>& ranges);
  // The batch carries those in `errors`, if bad records are kept.
  RecordBatch MakeRecords(uint32_t partition, Range range,
                          std::vector<ParseError>& errors);
  size_t ReadLocked(size_t buffers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t StageOne(uint32_t partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  FakeSource& source_;
  InputConsumer& consumer_;
  Queue queue_;
  std::atomic<bool> closed_{false};
  std::atomic<bool> extended_{false};
  std::atomic<bool> barrier_{false};
  std::atomic<bool> gives_changes_{false};
  std::atomic<bool> lies_{false};

  Mutex mu_;
  bool gone_ ABSL_GUARDED_BY(mu_) = false;
  // Read up to here, per partition.
  std::vector<size_t> read_ ABSL_GUARDED_BY(mu_);
  size_t next_partition_ ABSL_GUARDED_BY(mu_) = 0;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<std::string> start_label_ ABSL_GUARDED_BY(mu_);
  bool commit_ ABSL_GUARDED_BY(mu_) = false;

  // Confined to whoever answers.
  std::vector<size_t> position_;
  std::optional<InputReaderCommand> held_;
  std::shared_ptr<void> subscription_;
};

}  // namespace penstock::core
