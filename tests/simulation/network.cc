#include "tests/simulation/network.h"

#include "core/base/error.h"

#include <optional>
#include <vector>

namespace penstock::simulation {
namespace {

using core::MakeError;
using core::Reason;

constexpr absl::Duration kPrompt = absl::Seconds(5);

// One call of a client: answered once, whatever comes twice.
template <typename T>
struct Pending {
  core::Control::Reply<T> reply;
  bool answered = false;

  void Answer(absl::StatusOr<T> result) {
    if (answered) return;
    answered = true;
    auto callback = std::move(reply);
    callback(std::move(result));
  }
};

}  // namespace

Endpoint Network::At(const std::string& address) const {
  const auto found = endpoints_.find(address);
  return found == endpoints_.end() ? Endpoint{} : found->second;
}

absl::Duration Network::Delay() {
  core::Random& random = scheduler_.random();
  const absl::Duration most =
      random.Bernoulli(faults_.late) ? faults_.late_max : faults_.delay_max;
  return most * random.Double();
}

void Network::Send(std::function<void()> message) {
  core::Random& random = scheduler_.random();
  if (random.Bernoulli(faults_.lose)) return;
  if (random.Bernoulli(faults_.repeat)) {
    wires_.executor->ScheduleAfter(Delay(), message);
  }
  wires_.executor->ScheduleAfter(Delay(), std::move(message));
}

SimulatedControl::SimulatedControl(Network& network, Process& client,
                                   std::string address,
                                   core::ConnectorSpec spec, OnResult on_result)
    : network_(network),
      client_(client),
      address_(std::move(address)),
      spec_(std::move(spec)),
      on_result_(std::move(on_result)),
      alive_(std::make_shared<bool>(true)) {}

SimulatedControl::~SimulatedControl() { *alive_ = false; }

template <typename T, typename SendFn>
void SimulatedControl::Call(absl::Duration timeout, Reply<T> reply,
                            SendFn send) {
  auto pending = std::make_shared<Pending<T>>();
  pending->reply = std::move(reply);
  client_.executor->ScheduleAfter(timeout, [pending] {
    pending->Answer(MakeError(Reason::DEADLINE, "no answer in time"));
  });
  // Runs where the client lives, if it still does.
  const auto answer = [pending, alive = alive_,
                       &client = client_](absl::StatusOr<T> result) {
    if (!*alive) return;
    client.executor->Schedule([pending, result] { pending->Answer(result); });
  };
  network_.Send([&network = network_, address = address_, send, answer] {
    const Endpoint worker = network.At(address);
    if (worker.control == nullptr) {
      answer(MakeError(Reason::UNAVAILABLE, "nobody listens"));
      return;
    }
    worker.process->executor->Schedule([&network, worker, send, answer] {
      send(*worker.control, [&network, answer](absl::StatusOr<T> result) {
        network.Send([answer, result] { answer(result); });
      });
    });
  });
}

template <typename SendFn>
void SimulatedControl::CallDone(absl::Duration timeout, Done done,
                                SendFn send) {
  Call<Empty>(
      timeout,
      [done = std::move(done)](absl::StatusOr<Empty> result) mutable {
        done(result.status());
      },
      [send](core::Control& worker, Reply<Empty> reply) {
        send(worker, [reply = std::move(reply)](absl::Status status) mutable {
          if (status.ok()) {
            reply(Empty{});
          } else {
            reply(std::move(status));
          }
        });
      });
}

void SimulatedControl::Open(core::OpenRequest request,
                            Reply<core::OpenReply> reply) {
  const std::string name = request.spec.name;
  request.spec = spec_;
  request.spec.name = name;
  Call<core::OpenReply>(absl::Seconds(30), std::move(reply),
                        [request](core::Control& worker, auto answer) {
                          worker.Open(request, std::move(answer));
                        });
}

void SimulatedControl::Delete(core::CommandHeader header,
                              core::DisconnectRequest request,
                              Reply<core::DisconnectReply> reply) {
  Call<core::DisconnectReply>(
      request.deadline + kPrompt, std::move(reply),
      [header, request](core::Control& worker, auto answer) {
        worker.Delete(header, request, std::move(answer));
      });
}

void SimulatedControl::Replay(core::CommandHeader header,
                              core::ReplayRequest request,
                              Reply<core::ReplayReply> reply) {
  Call<core::ReplayReply>(
      absl::Seconds(30), std::move(reply),
      [header, request](core::Control& worker, auto answer) {
        worker.Replay(header, request, std::move(answer));
      });
}

void SimulatedControl::Extend(core::CommandHeader header, Done done) {
  CallDone(kPrompt, std::move(done),
           [header](core::Control& worker, Done answer) {
             worker.Extend(header, std::move(answer));
           });
}

void SimulatedControl::Pause(core::CommandHeader header, Done done) {
  CallDone(kPrompt, std::move(done),
           [header](core::Control& worker, Done answer) {
             worker.Pause(header, std::move(answer));
           });
}

void SimulatedControl::Queue(core::CommandHeader header,
                             core::QueueRequest request,
                             Reply<core::QueueReply> reply) {
  Call<core::QueueReply>(
      request.wait + kPrompt,
      [on_result = on_result_, name = header.ref.connector,
       reply =
           std::move(reply)](absl::StatusOr<core::QueueReply> result) mutable {
        if (result.ok() && result->result != nullptr) {
          on_result(name, *result->result);
        }
        reply(std::move(result));
      },
      [header, request](core::Control& worker, auto answer) {
        worker.Queue(header, request, std::move(answer));
      });
}

void SimulatedControl::Release(core::CommandHeader header, Done done) {
  CallDone(kPrompt, std::move(done),
           [header](core::Control& worker, Done answer) {
             worker.Release(header, std::move(answer));
           });
}

void SimulatedControl::PrepareCheckpoint(
    core::CommandHeader header, core::PrepareCheckpointRequest request,
    Reply<core::PrepareCheckpointReply> reply) {
  Call<core::PrepareCheckpointReply>(
      request.deadline + kPrompt, std::move(reply),
      [header, request](core::Control& worker, auto answer) {
        worker.PrepareCheckpoint(header, request, std::move(answer));
      });
}

void SimulatedControl::CommitCheckpoint(core::CommandHeader header,
                                        core::CommitCheckpointRequest request,
                                        Done done) {
  CallDone(kPrompt, std::move(done),
           [header, request](core::Control& worker, Done answer) {
             worker.CommitCheckpoint(header, request, std::move(answer));
           });
}

void SimulatedControl::Disconnect(core::CommandHeader header,
                                  core::DisconnectRequest request,
                                  Reply<core::DisconnectReply> reply) {
  Call<core::DisconnectReply>(
      request.deadline + kPrompt, std::move(reply),
      [header, request](core::Control& worker, auto answer) {
        worker.Disconnect(header, request, std::move(answer));
      });
}

void SimulatedControl::Get(std::string connector,
                           Reply<core::ConnectorStatus> reply) {
  Call<core::ConnectorStatus>(kPrompt, std::move(reply),
                              [connector](core::Control& worker, auto answer) {
                                worker.Get(connector, std::move(answer));
                              });
}

void SimulatedControl::List(Reply<std::vector<core::ConnectorStatus>> reply) {
  Call<std::vector<core::ConnectorStatus>>(
      kPrompt, std::move(reply), [](core::Control& worker, auto answer) {
        worker.List(std::move(answer));
      });
}

}  // namespace penstock::simulation
