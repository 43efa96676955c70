#include "tests/simulation/network.h"

#include "core/base/error.h"
#include "proto/wire/connection_error.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace penstock::simulation {
namespace {

using core::MakeError;
using core::Reason;

// How long a client waits for what is done at once, and for what takes a while.
constexpr absl::Duration kPrompt = absl::Seconds(5);
constexpr absl::Duration kThorough = absl::Seconds(30);

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

// The first check after the fence is whether there is such a connector. Other
// errors may come from the fence, or from what is before it.
bool PassedTheFence(const absl::Status& answer) {
  return answer.ok() || core::HasReason(answer, Reason::NO_SUCH_CONNECTOR) ||
         core::HasReason(answer, Reason::INSTANCE_MISMATCH);
}

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
                                   std::string address, const Plan& plan,
                                   Witness& witness)
    : network_(network),
      client_(client),
      address_(std::move(address)),
      plan_(plan),
      witness_(witness),
      alive_(std::make_shared<bool>(true)) {}

SimulatedControl::~SimulatedControl() { *alive_ = false; }

template <typename T, typename SendFn>
void SimulatedControl::Call(Terms<T> terms, Reply<T> reply, SendFn send) {
  auto pending = std::make_shared<Pending<T>>();
  pending->reply = std::move(reply);
  client_.executor->ScheduleAfter(terms.timeout, [pending] {
    pending->Answer(MakeError(Reason::DEADLINE, "no answer in time"));
  });
  // Runs where the client lives, if it still does.
  const auto answer = [pending, alive = alive_,
                       &client = client_](absl::StatusOr<T> result) {
    if (!*alive) return;
    client.executor->Schedule([pending, result] { pending->Answer(result); });
  };
  // Runs where the worker lives, as it answers. `arrived_at`: the highest epoch
  // that had passed when the command came.
  const auto witness = [&seen_by = witness_, epoch = terms.epoch,
                        lasts = terms.lasts, on_answer = terms.on_answer](
                           const Endpoint& worker, uint64_t arrived_at,
                           const absl::StatusOr<T>& result) {
    if (result.ok() && on_answer) on_answer(*worker.process, *result);
    if (!epoch.has_value() || !PassedTheFence(result.status())) return;
    const uint64_t before = lasts ? arrived_at : worker.host->epoch;
    if (*epoch < before) seen_by.OnStaleEpoch(*epoch, before);
    worker.host->epoch = std::max(worker.host->epoch, *epoch);
  };
  network_.Send(
      [&network = network_, address = address_, send, answer, witness] {
        const Endpoint worker = network.At(address);
        if (worker.control == nullptr) {
          answer(wire::MarkConnectionError(
              MakeError(Reason::UNAVAILABLE, "nobody listens")));
          return;
        }
        worker.process->executor->Schedule(
            [&network, worker, send, answer, witness] {
              const uint64_t arrived_at = worker.host->epoch;
              send(*worker.control, [&network, worker, answer, witness,
                                     arrived_at](absl::StatusOr<T> result) {
                // It was killed: nobody hears what its remains say.
                if (worker.process->frozen) return;
                witness(worker, arrived_at, result);
                network.Send([answer, result] { answer(result); });
              });
            });
      });
}

template <typename SendFn>
void SimulatedControl::CallDone(const core::CommandHeader& header, Done done,
                                SendFn send) {
  Call<Empty>(
      {.epoch = header.fence.epoch, .timeout = kPrompt},
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
  request.spec =
      SpecOf(plan_, SpecIndex(request.spec_bytes), request.spec.name);
  Call<core::OpenReply>({.epoch = request.fence.epoch, .timeout = kThorough},
                        std::move(reply),
                        [request](core::Control& worker, auto answer) {
                          worker.Open(request, std::move(answer));
                        });
}

void SimulatedControl::Delete(core::CommandHeader header,
                              core::DisconnectRequest request,
                              Reply<core::DisconnectReply> reply) {
  Call<core::DisconnectReply>(
      {.epoch = header.fence.epoch,
       .timeout = request.deadline + kPrompt,
       .lasts = true},
      std::move(reply), [header, request](core::Control& worker, auto answer) {
        worker.Delete(header, request, std::move(answer));
      });
}

void SimulatedControl::Replay(core::CommandHeader header,
                              core::ReplayRequest request,
                              Reply<core::ReplayReply> reply) {
  Call<core::ReplayReply>(
      {.epoch = header.fence.epoch,
       .timeout = kThorough,
       .on_answer =
           [&seen_by = witness_, ref = header.ref, step = request.result.step](
               const Process& worker, const core::ReplayReply& answer) {
             seen_by.OnReplayed(worker, ref, step, answer);
           }},
      std::move(reply), [header, request](core::Control& worker, auto answer) {
        worker.Replay(header, request, std::move(answer));
      });
}

void SimulatedControl::Extend(core::CommandHeader header, Done done) {
  CallDone(header, std::move(done),
           [header](core::Control& worker, Done answer) {
             worker.Extend(header, std::move(answer));
           });
}

void SimulatedControl::Pause(core::CommandHeader header, Done done) {
  CallDone(header, std::move(done),
           [header](core::Control& worker, Done answer) {
             worker.Pause(header, std::move(answer));
           });
}

void SimulatedControl::Queue(core::CommandHeader header,
                             core::QueueRequest request,
                             Reply<core::QueueReply> reply) {
  Call<core::QueueReply>(
      {.epoch = header.fence.epoch,
       .timeout = request.wait + kPrompt,
       .on_answer =
           [&seen_by = witness_, ref = header.ref](
               const Process& /*worker*/, const core::QueueReply& answer) {
             if (answer.result == nullptr) return;
             seen_by.OnResult(ref, *answer.result);
           }},
      std::move(reply), [header, request](core::Control& worker, auto answer) {
        worker.Queue(header, request, std::move(answer));
      });
}

void SimulatedControl::Release(core::CommandHeader header, Done done) {
  CallDone(header, std::move(done),
           [header](core::Control& worker, Done answer) {
             worker.Release(header, std::move(answer));
           });
}

void SimulatedControl::PrepareCheckpoint(
    core::CommandHeader header, core::PrepareCheckpointRequest request,
    Reply<core::PrepareCheckpointReply> reply) {
  Call<core::PrepareCheckpointReply>(
      {.epoch = header.fence.epoch, .timeout = request.deadline + kPrompt},
      std::move(reply), [header, request](core::Control& worker, auto answer) {
        worker.PrepareCheckpoint(header, request, std::move(answer));
      });
}

void SimulatedControl::CommitCheckpoint(core::CommandHeader header,
                                        core::CommitCheckpointRequest request,
                                        Done done) {
  CallDone(header, std::move(done),
           [header, request](core::Control& worker, Done answer) {
             worker.CommitCheckpoint(header, request, std::move(answer));
           });
}

void SimulatedControl::Disconnect(core::CommandHeader header,
                                  core::DisconnectRequest request,
                                  Reply<core::DisconnectReply> reply) {
  Call<core::DisconnectReply>(
      {.epoch = header.fence.epoch,
       .timeout = request.deadline + kPrompt,
       .lasts = true},
      std::move(reply), [header, request](core::Control& worker, auto answer) {
        worker.Disconnect(header, request, std::move(answer));
      });
}

void SimulatedControl::Get(std::string connector,
                           Reply<core::ConnectorStatus> reply) {
  Call<core::ConnectorStatus>({.epoch = std::nullopt, .timeout = kPrompt},
                              std::move(reply),
                              [connector](core::Control& worker, auto answer) {
                                worker.Get(connector, std::move(answer));
                              });
}

void SimulatedControl::List(Reply<std::vector<core::ConnectorStatus>> reply) {
  Call<std::vector<core::ConnectorStatus>>(
      {.epoch = std::nullopt, .timeout = kPrompt}, std::move(reply),
      [](core::Control& worker, auto answer) {
        worker.List(std::move(answer));
      });
}

}  // namespace penstock::simulation
