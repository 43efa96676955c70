// The contract suite for sources: what any InputEndpoint must show.
//
// A source joins by a driver and one line in a file of its own:
//
//   INSTANTIATE_TEST_SUITE_P(File, SourceContractTest,
//       testing::Values(SourceDriverFactory{"plain", MakeFileDriver}),
//       SourceDriverName);
//
// and by listing that file beside source_suite.cc in an executable of
// tests/contract. A test is skipped only by a declared capability.
#pragma once

#include "core/contract/command.h"
#include "core/contract/endpoint.h"
#include "core/contract/ft_model.h"
#include "core/contract/reader.h"
#include "tests/support/recording_consumer.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace penstock::core {

// What a source claims. The suite holds it to every claim.
struct SourceCapabilities {
  // What its endpoint's FaultTolerance() says. Seek (resume) is tested from
  // at-least-once on, Replay and Skip at exactly-once.
  std::optional<FtModel> level = std::nullopt;
  // Reports end of input when it has read what was written.
  bool ends = true;
  // Bad records can be written.
  bool has_bad_records = true;
  // What it reads can be taken away for good (SourceDriver::Break).
  bool can_break = true;
  // Replay reads again, so that tampering with the input can be noticed.
  bool can_tamper = true;
};

// One outside system of a source, fresh for each test, and how to read it.
//
// Threads: confined to the test's thread.
class SourceDriver {
 public:
  struct MakeOptions {
    // Bytes that the source takes at a time, so that the same input can be cut
    // in different ways. At least 64; sources that cannot choose ignore it.
    size_t read_bytes = 4096;
  };
  // An endpoint and what Open wants besides.
  struct Made {
    std::unique_ptr<TransportInputEndpoint> endpoint;
    std::unique_ptr<Parser> parser;
  };

  virtual ~SourceDriver() = default;

  virtual SourceCapabilities capabilities() const = 0;
  // Appends `count` good records of about 20 to 60 bytes, all different.
  // Returns: what a reader must make of them, in order, keys and offsets too.
  // Called before anything is opened, perhaps several times.
  virtual std::vector<OwnedRecord> Write(size_t count) = 0;
  // Appends one bad record. Only with `has_bad_records`.
  virtual void WriteBad() {}
  // Makes everything unreadable, for good, so that a reader that is open and
  // has not been extended yet meets a fatal error. Only with `can_break`.
  virtual void Break() {}
  // Changes bytes of the first record in place; the record stays good and as
  // long as it was. Only with `can_tamper`.
  virtual void Tamper() {}
  // A new endpoint over what was written. Called many times.
  virtual Made Make(const MakeOptions& options) = 0;
  // Runs what can run, for sources whose work runs on an executor of the
  // driver; null for sources with threads, which the suite waits for.
  virtual absl::AnyInvocable<void()> MakePump() { return nullptr; }
};

struct SourceDriverFactory {
  // Letters and digits.
  std::string name;
  std::function<std::unique_ptr<SourceDriver>()> make;
};
std::string SourceDriverName(
    const testing::TestParamInfo<SourceDriverFactory>& info);
std::ostream& operator<<(std::ostream& out, const SourceDriverFactory& factory);

// One opened reader with its consumer. Its waits end after 20 s.
//
// Threads:   confined to the test's thread.
// Lifecycle: opened at construction; the destructor closes.
class SourceRun {
 public:
  using RecordedStep = RecordingConsumer::RecordedStep;
  using Transcript = RecordingConsumer::Transcript;

  struct Options {
    // The pipeline's level; nullopt is none.
    std::optional<FtModel> level = FtModel::kExactlyOnce;
    RecordingConsumer::Limits limits = {};
    std::optional<std::string> resume = std::nullopt;
    SourceDriver::MakeOptions make = {};
  };

  SourceRun(SourceDriver& driver, Options options);
  SourceRun(const SourceRun&) = delete;
  SourceRun& operator=(const SourceRun&) = delete;
  ~SourceRun();

  // Whether Open succeeded. Otherwise nothing below may be called.
  const absl::Status& opened() const { return opened_; }
  // The position that Open resolved.
  const std::string& position() const { return position_; }
  RecordingConsumer& consumer() { return consumer_; }
  Transcript transcript() const { return consumer_.transcript(); }
  bool IsClosed() const { return reader_->IsClosed(); }

  void Extend() { reader_->Request(ExtendCommand{}); }
  void Pause() { reader_->Request(PauseCommand{}); }
  void Disconnect() {
    is_disconnected_ = true;
    reader_->Request(DisconnectCommand{});
  }
  // Asks, and returns the step reported; nullopt, and a test failure, if none
  // is in time.
  std::optional<RecordedStep> Queue(bool checkpoint_requested = false);
  std::optional<RecordedStep> Replay(const RecordedStep& step);
  std::optional<RecordedStep> Skip(const RecordedStep& step);
  // As Replay, but a fatal error is an answer, too: nullopt, and no failure.
  std::optional<RecordedStep> ReplayOrFatal(const RecordedStep& step);
  // Asks without waiting.
  void Send(InputReaderCommand command) {
    reader_->Request(std::move(command));
  }

  // Blocks: until something is staged that was not flushed yet, or the input
  // ended, or a fatal error came. False: none of it in time.
  bool WaitForData();
  bool WaitUntil(absl::FunctionRef<bool(const Transcript&)> predicate) {
    return consumer_.WaitUntil(predicate);
  }
  // True if `predicate` stays false for 50 ms (or while all is pumped).
  bool StaysFalse(absl::FunctionRef<bool(const Transcript&)> predicate) {
    return !consumer_.WaitUntil(predicate, absl::Milliseconds(50));
  }

  // Queues until `count` records more came; returns the steps, empty ones left
  // out. Stops early, with a test failure, when nothing comes.
  std::vector<RecordedStep> ReadSteps(size_t count);
  // The same, then sees that nothing more comes and, if the source ends, that
  // it says so, once. Returns the records.
  std::vector<OwnedRecord> ReadRest(size_t count);

  // Disconnects (unless done) and destroys the reader, which joins it.
  void Close();

 private:
  void SendReplay(const RecordedStep& step);
  std::optional<RecordedStep> NextStep(RecordingConsumer::StepKind kind);

  const bool ends_;
  RecordingConsumer consumer_;
  SourceDriver::Made made_;
  absl::Status opened_;
  std::string position_;
  std::unique_ptr<InputReader> reader_;
  // Steps of the transcript that were returned to the test.
  size_t steps_seen_ = 0;
  bool is_disconnected_ = false;
};

// The records of all steps, in order.
std::vector<OwnedRecord> RecordsOf(
    const std::vector<SourceRun::RecordedStep>& steps);
// By partition, in the order they have: partitions may interleave in any way.
std::vector<OwnedRecord> ByPartition(std::vector<OwnedRecord> records);
// `records` without those of `taken`, known by partition and offset.
std::vector<OwnedRecord> Without(const std::vector<OwnedRecord>& records,
                                 const std::vector<OwnedRecord>& taken);

class SourceContractTest : public testing::TestWithParam<SourceDriverFactory> {
 protected:
  // Small enough that every buffer of 256 bytes is a step of its own.
  static constexpr size_t kRecords = 60;

  SourceContractTest()
      : driver_(GetParam().make()), capabilities_(driver_->capabilities()) {}

  // Opens, reads `count` records in steps of one buffer each, closes.
  struct FirstRun {
    // The position before the first step.
    std::string base;
    // Steps with records.
    std::vector<SourceRun::RecordedStep> steps;
  };
  FirstRun ReadInSteps(size_t count);
  // How to open where `run` stood before its step `index`.
  static SourceRun::Options ResumeBefore(const FirstRun& run, size_t index);

  const std::unique_ptr<SourceDriver> driver_;
  const SourceCapabilities capabilities_;
};

}  // namespace penstock::core
