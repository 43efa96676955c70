// The server under test, and a controller's hand on one of its connectors, in
// the messages of the protocol: what is sent and what came back, unchanged.
#pragma once

#include "client/conformance/line.h"
#include "proto/penstock/v1/connector.grpc.pb.h"
#include "proto/penstock/v1/control.grpc.pb.h"
#include "proto/penstock/v1/watch.grpc.pb.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::conformance {

// Owner:   the suite. Threads: thread-safe, but for NewName.
class Subject {
 public:
  struct Place {
    // The server reads its input there and writes below it.
    std::string directory;
    // In the names of pipelines, so that no two runs share one.
    std::string run;
    // Kills the server, which somebody starts again; null: it may not be.
    std::function<absl::Status()> kill;
  };
  Subject(std::shared_ptr<grpc::Channel> channel, Place place);

  v1::ConnectorService::Stub& connectors() { return *connectors_; }
  v1::ControlService::Stub& control() { return *control_; }
  v1::WatchService::Stub& watch() { return *watch_; }

  // A name that nobody had before.
  std::string NewName(const std::string& what);
  // Lines of JSON from a file to files, exactly once, two shards; a buffer of
  // the source is 4 KiB, so that the input makes many steps.
  v1::ConnectorSpec Spec(const std::string& name) const;
  const std::string& run() const { return place_.run; }

  // What the commands of a Hand go over; fresh for each check.
  Line& line() { return *line_; }
  void SetLine(LineFault fault, uint64_t seed);
  bool may_kill() const { return place_.kill != nullptr; }
  // Requires: may_kill. Blocks: until a server answers again, at most a minute.
  absl::Status Kill();

 private:
  const std::unique_ptr<v1::ConnectorService::Stub> connectors_;
  const std::unique_ptr<v1::ControlService::Stub> control_;
  const std::unique_ptr<v1::WatchService::Stub> watch_;
  const Place place_;
  std::unique_ptr<Line> line_;
  uint64_t names_ = 0;
};

// Records of the input that Spec reads.
inline constexpr uint64_t kInputRecords = 2000;
std::string InputText();

// A pipeline of one connector. Every request is filled in as its controller
// would; a check changes what it wants to see refused, and sends that.
//
// Owner:     a check, on its stack. Threads: confined to one, but for Queue.
// Lifecycle: deletes the connector in the end.
class Hand {
 public:
  explicit Hand(Subject& subject);
  Hand(const Hand&) = delete;
  Hand& operator=(const Hand&) = delete;
  ~Hand();

  v1::Fence fence;
  v1::ConnectorRef ref;
  v1::ConnectorSpec spec;
  uint64_t open_number = 0;
  uint64_t base_steps = 0;
  // Last step + 1.
  uint64_t steps = 0;
  bool first_open = true;
  // What is journaled above the base, and where the base lies.
  std::vector<v1::StepResult> journal;
  std::optional<v1::Position> position;

  v1::OpenConnectorStart OpenStart();
  absl::StatusOr<v1::OpenConnectorResponse> SendOpen(
      v1::OpenConnectorStart start);
  // Opens, and remembers instance and position.
  absl::Status Open();
  // As after a crash of the controller: the next epoch deletes and opens.
  absl::Status Reopen();
  // As by another process that took the next epoch.
  void TakeNextEpoch();

  absl::StatusOr<v1::ExtendResponse> Extend(std::string request_id = "");
  absl::StatusOr<v1::PauseResponse> Pause(std::string request_id = "");
  v1::QueueRequest QueueRequest(uint64_t step) const;
  absl::StatusOr<v1::QueueResponse> Send(const v1::QueueRequest& request) const;
  // A step of one buffer, journaled.
  absl::StatusOr<v1::StepResult> Queue();
  absl::StatusOr<v1::ReplayResponse> Replay(const v1::StepResult& result);
  absl::StatusOr<v1::ReleaseResponse> Release(uint64_t released_steps);
  absl::StatusOr<v1::PrepareCheckpointResponse> Prepare(uint64_t steps);
  absl::StatusOr<v1::CommitCheckpointResponse> Commit(uint64_t steps);
  // Prepare and Commit at the last step; the journal is trimmed.
  absl::Status Checkpoint();
  absl::StatusOr<v1::DisconnectResponse> Disconnect(
      std::string request_id = "");
  absl::Status Delete();
  absl::StatusOr<v1::Connector> Get() const;
  // Until the server says that it makes that step, or waits to.
  absl::Status AwaitRunning(uint64_t step) const;
  // Open, Extend, and `count` steps.
  absl::Status Run(int count);
  // One step, and as many are outstanding as may be: the next Queue waits until
  // it is released.
  absl::Status RunUntilQueueWaits();

  std::string NewRequestId();

 private:
  Subject& subject_;
  uint64_t requests_ = 0;
};

}  // namespace penstock::conformance
