// A connector on one thread in virtual time, over fakes, for tests.
#pragma once

#include "core/base/error.h"
#include "core/base/executor.h"
#include "core/base/path_policy.h"
#include "core/connector/connector.h"
#include "core/connector/registry.h"
#include "core/connector/requests.h"
#include "core/contract/component.h"
#include "core/contract/row_encoder.h"
#include "tests/support/fake_database.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/fake_source.h"
#include "tests/support/fake_target.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// A configuration that is nothing but its type.
struct NamedConfig final : ComponentConfig {
  explicit NamedConfig(std::string the_name) : name(std::move(the_name)) {}
  absl::string_view type() const override { return name; }
  std::string name;
};

// A record and a newline. Refuses records that contain "unencodable".
class LineEncoder final : public RowEncoder {
 public:
  absl::Status Encode(const Record& record, FrameBuffer& out) override;
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    return records + payload_bytes;
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<LineEncoder>();
  }
};

// Remembers what a connector told it.
struct ObservedEvents {
  int changes = 0;
  // Called inside the driver's run, once it has looked at everything.
  std::function<void()> on_changed;
  // "<instance> <previous> <state>".
  std::vector<std::string> states;
  std::vector<ErrorEntry> errors;
  std::vector<ParseError> parse_errors;
  // "start <label>" or "commit".
  std::vector<std::string> transactions;
};

// The answer to one command, once it came.
template <typename T>
class Answer {
 public:
  // The callback to give. Lifetime: any.
  auto Callback() {
    return [slot = slot_](absl::StatusOr<T> reply) {
      slot->count += 1;
      slot->reply = std::move(reply);
    };
  }
  bool came() const { return slot_->count > 0; }
  int count() const { return slot_->count; }
  // Requires: it came.
  const absl::StatusOr<T>& get() const { return *slot_->reply; }
  absl::Status status() const {
    return came() ? get().status()
                  : absl::UnknownError("no answer to the command yet");
  }
  const T& operator*() const { return **slot_->reply; }
  const T* operator->() const { return &**slot_->reply; }

 private:
  struct Slot {
    int count = 0;
    std::optional<absl::StatusOr<T>> reply;
  };
  std::shared_ptr<Slot> slot_ = std::make_shared<Slot>();
};

// For commands that yield nothing but a status.
struct Nothing {};
template <>
inline auto Answer<Nothing>::Callback() {
  return [slot = slot_](absl::Status status) {
    slot->count += 1;
    if (status.ok()) {
      slot->reply = Nothing();
    } else {
      slot->reply = std::move(status);
    }
  };
}

// Owner:   a test. Everything outlives the connectors it makes.
// Threads: confined to the test's thread.
class Harness {
  // First, for what is below may hold its files until it dies.
  FakeFileSystem files_;

 public:
  explicit Harness(FakeSource::Options source = FakeSource::Options(),
                   FakeTarget::Options target = FakeTarget::Options());

  // The request that Open sends: exactly-once, 2 shards, "source" to "sink".
  OpenRequest request;
  // What a reopen keeps: `position` and the steps of `request`.

  ManualExecutor executor;
  const std::shared_ptr<Timings> timings = std::make_shared<Timings>();
  FakeDatabase database;
  FakeSource source;
  Registry registry;
  // What the encoder was last made for.
  std::optional<FrameKind> frames_asked;
  // What the encoder was made for.
  Schema schema_asked;
  std::shared_ptr<ObservedEvents> events = std::make_shared<ObservedEvents>();
  std::shared_ptr<Connector> connector;

  // Makes a connector and opens it. The target's writer is one higher than
  // that of the Open before.
  Answer<OpenReply> Open();
  // Open, but nothing runs yet.
  Answer<OpenReply> StartOpen();
  // The connector alone, before its Open.
  void Make();
  // Open, which must succeed.
  OpenReply MustOpen();
  void MustExtend();
  void MustPause();
  // Disconnects, drops the connector.
  DisconnectReply MustClose();

  // Each gives the command and runs until idle.
  Answer<Nothing> Extend();
  Answer<Nothing> Pause();
  // For the number `step`, behind the steps that were made so far.
  QueueRequest RequestOf(Step step, absl::Duration wait) const;
  Answer<QueueReply> Queue(QueueRequest request);
  // `previous_steps` is made_steps(), `wait` is 0.
  Answer<QueueReply> QueueStep(Step step);
  Answer<QueueReply> QueueStep(Step step, absl::Duration wait);
  Answer<ReplayReply> Replay(const StepResult& result, Step previous_steps);
  Answer<Nothing> Release(Step released_steps);
  Answer<PrepareCheckpointReply> Prepare(
      Step steps, absl::Duration deadline = absl::Seconds(10));
  Answer<Nothing> Commit(Step steps);
  Answer<DisconnectReply> Disconnect(
      absl::Duration deadline = absl::Seconds(5));
  Answer<Nothing> Drain(DrainScope scope = DrainScope::kWorker);

  // A Queue that must make a step; its result.
  std::shared_ptr<const StepResult> MustQueue(Step step);
  std::shared_ptr<const StepResult> MustQueue(QueueRequest request);

  // From now on the sink of `shard` (of every shard) is unavailable when it is
  // to make something durable; until Reachable.
  void Unreachable(std::optional<ShardIndex> shard = std::nullopt);
  void Reachable() { database.SetHook(nullptr); }

  // With its errors.
  ConnectorStatus Status() const {
    ConnectorStatus status = connector->Status();
    status.errors = connector->Errors(SIZE_MAX);
    return status;
  }
  ConnectorState state() const { return Status().state; }
  Step made_steps() const { return Status().made_steps; }
  // The lines of all shards, sorted.
  std::vector<std::string> Lines() const;
  std::string table() const;
  FakeFileSystem& files() { return files_; }
  void RunUntilIdle() { executor.RunUntilIdle(); }
  void Advance(absl::Duration duration) { executor.Advance(duration); }

 private:
  class Observer;

  const PathPolicy paths_;
  const FakeTarget::Options target_options_;
};

}  // namespace penstock::core
