// Messages between controllers and workers, as bad as networks are.
#pragma once

#include "core/connector/control.h"
#include "core/connector/requests.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/scheduler.h"
#include "tests/support/fake_filesystem.h"

#include <absl/time/time.h>

#include <cstdint>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::simulation {

// What a network does to messages.
struct NetworkFaults {
  double lose = 0;
  double repeat = 0;
  // Messages take up to this long, now and then up to `late_max`.
  absl::Duration delay_max = absl::Milliseconds(2);
  double late = 0;
  absl::Duration late_max = absl::Seconds(20);
};

// A machine on which workers live, one after the other.
struct Host {
  // Where they keep their fence.
  core::FakeFileSystem state_disk;
  // The highest epoch of which a command passed the fence here.
  uint64_t epoch = 0;
};

// Who answers at an address now. Null: nobody listens.
struct Endpoint {
  core::Control* control = nullptr;
  Process* process = nullptr;
  // Shared by: the lives of workers on it and the messages to them.
  std::shared_ptr<Host> host;
};

// Owner: the world. Threads: confined to the test's thread.
class Network {
 public:
  explicit Network(Scheduler& scheduler)
      : scheduler_(scheduler), wires_(scheduler.NewProcess("network")) {}

  void SetFaults(NetworkFaults faults) { faults_ = faults; }
  void SetEndpoint(const std::string& address, Endpoint endpoint) {
    endpoints_[address] = endpoint;
  }
  Endpoint At(const std::string& address) const;

  // Delivers a copy of `message` after a while: never, once or twice.
  void Send(std::function<void()> message);

 private:
  absl::Duration Delay();

  Scheduler& scheduler_;
  Process& wires_;
  NetworkFaults faults_;
  std::map<std::string, Endpoint> endpoints_;
};

// Sees what a worker answers, before a message may be lost.
class Witness {
 public:
  virtual ~Witness() = default;
  virtual void OnResult(const core::ConnectorRef& ref,
                        const core::StepResult& result) = 0;
  virtual void OnReplayed(const Process& worker, const core::ConnectorRef& ref,
                          core::Step step, const core::ReplayReply& reply) = 0;
  // A command of `epoch` passed the fence of a host that one of the higher
  // `epoch_before` had passed.
  virtual void OnStaleEpoch(uint64_t epoch, uint64_t epoch_before) = 0;
};

// A controller's connection to one worker. Each call is answered once: by the
// worker, by UNAVAILABLE if nobody listens, or by DEADLINE.
//
// Owner:     a controller's life. Lifecycle: destruction drops every callback.
class SimulatedControl final : public core::Control {
 public:
  // `plan` has what `spec_bytes` stand for; it and `witness` outlive the
  // network.
  SimulatedControl(Network& network, Process& client, std::string address,
                   const Plan& plan, Witness& witness);
  ~SimulatedControl() override;

  void Open(core::OpenRequest request, Reply<core::OpenReply> reply) override;
  void Delete(core::CommandHeader header, core::DisconnectRequest request,
              Reply<core::DisconnectReply> reply) override;
  void Replay(core::CommandHeader header, core::ReplayRequest request,
              Reply<core::ReplayReply> reply) override;
  void Extend(core::CommandHeader header, Done done) override;
  void Pause(core::CommandHeader header, Done done) override;
  void Queue(core::CommandHeader header, core::QueueRequest request,
             Reply<core::QueueReply> reply) override;
  void Release(core::CommandHeader header, Done done) override;
  void PrepareCheckpoint(core::CommandHeader header,
                         core::PrepareCheckpointRequest request,
                         Reply<core::PrepareCheckpointReply> reply) override;
  void CommitCheckpoint(core::CommandHeader header,
                        core::CommitCheckpointRequest request,
                        Done done) override;
  void Disconnect(core::CommandHeader header, core::DisconnectRequest request,
                  Reply<core::DisconnectReply> reply) override;
  void Get(std::string connector, Reply<core::ConnectorStatus> reply) override;
  void List(Reply<std::vector<core::ConnectorStatus>> reply) override;

 private:
  // Not empty, or g++ calls it uninitialized.
  struct Empty {
    bool done = true;
  };
  // What one call is, beside its contents.
  template <typename T>
  struct Terms {
    // Of a mutating command.
    std::optional<uint64_t> epoch;
    absl::Duration timeout;
    // What an epoch has begun goes on under a higher one: the fence is looked
    // at when the command comes and not when it is answered.
    bool lasts = false;
    // Sees the worker's answer at the worker.
    std::function<void(const Process&, const T&)> on_answer = nullptr;
  };
  // `send` is copied: a repeated message is the same request again.
  template <typename T, typename SendFn>
  void Call(Terms<T> terms, Reply<T> reply, SendFn send);
  template <typename SendFn>
  void CallDone(const core::CommandHeader& header, Done done, SendFn send);

  Network& network_;
  Process& client_;
  const std::string address_;
  const Plan& plan_;
  Witness& witness_;
  // Shared by: this and the messages under way; false once it is gone.
  const std::shared_ptr<bool> alive_;
};

}  // namespace penstock::simulation
