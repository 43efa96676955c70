// A Session as a test types it: one message at a time.
#pragma once

#include "proto/penstock/v1/control.grpc.pb.h"

#include <absl/status/status.h>
#include <grpcpp/client_context.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

// Owner:   a test. Threads: confined to the test's. Blocks: Next and End, until
//          the worker says something, a minute at most.
class SessionWire {
 public:
  explicit SessionWire(const std::string& target);
  ~SessionWire();

  static v1::ControllerMessage Hello(uint64_t epoch,
                                     const std::string& pipeline = "p");
  static v1::ControllerMessage Desired();

  // False: the stream is over.
  bool Send(const v1::ControllerMessage& message);
  bool Send(const v1::SessionCommand& command);
  // The next thing that is no heartbeat; nullopt: the stream is over.
  std::optional<v1::WorkerMessage> Next();
  // The reply to that command, whatever comes before. Aborts without one.
  v1::SessionReply ReplyTo(uint64_t id);
  // Hello, inventory, desired, complete. Returns: the inventory.
  std::vector<v1::InventoryEntry> Initialize(uint64_t epoch);
  // Nothing more will be sent.
  void CloseMySide();
  // Reads to the end. Returns: how it ended.
  absl::Status End();

  int heartbeats() const { return heartbeats_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::ControlService::Stub> stub_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>>
      stream_;
  std::deque<v1::WorkerMessage> read_;
  int heartbeats_ = 0;
};

}  // namespace penstock
