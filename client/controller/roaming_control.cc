#include "client/controller/roaming_control.h"

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/base/status_macros.h"
#include "proto/wire/connection_error.h"

#include <absl/base/thread_annotations.h>
#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::client {
namespace {

using core::Reason;

// Whether nobody is there, or not for long. What the worker itself cannot reach
// would be away from elsewhere, too.
bool IsAway(const absl::Status& status) {
  return wire::IsConnectionError(status) ||
         core::HasReason(status, Reason::SHUTTING_DOWN);
}

}  // namespace

// Whose turn it is.
// Threads: thread-safe.
class RoamingControl::Turn {
 public:
  Use Current() const {
    core::MutexLock lock(mu_);
    return {places_[at_].control, round_, heard_};
  }
  // What a call came to. The next one is in use if this one is away, unless
  // somebody else has found that already.
  void Note(const Use& use, const absl::Status& status) {
    core::MutexLock lock(mu_);
    if (use.round != round_) return;
    if (!IsAway(status)) {
      if (!core::HasReason(status, Reason::DEADLINE)) ++heard_;
      // One call that takes too long says nothing where others are answered.
      if (!core::HasReason(status, Reason::DEADLINE) || heard_ != use.heard) {
        return;
      }
    }
    if (places_.size() < 2) return;
    ++round_;
    ++moves_;
    at_ = (at_ + 1) % places_.size();
  }
  // Returns what was there, to be destroyed without the lock.
  std::vector<Place> Set(std::vector<Place> places) {
    core::MutexLock lock(mu_);
    const std::string used = places_.empty() ? "" : places_[at_].address;
    std::swap(places_, places);
    at_ = 0;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].address == used) at_ = i;
    }
    ++round_;
    return places;
  }
  std::shared_ptr<core::Control> Find(const std::string& address) const {
    core::MutexLock lock(mu_);
    for (const Place& place : places_) {
      if (place.address == address) return place.control;
    }
    return nullptr;
  }
  // Null: it is in use, or is none any more.
  std::shared_ptr<core::Control> FindUnused(const std::string& address) const {
    core::MutexLock lock(mu_);
    for (size_t i = 0; i < places_.size(); ++i) {
      if (i != at_ && places_[i].address == address) return places_[i].control;
    }
    return nullptr;
  }
  std::vector<std::string> addresses() const {
    core::MutexLock lock(mu_);
    std::vector<std::string> addresses;
    for (const Place& place : places_) addresses.push_back(place.address);
    return addresses;
  }
  std::string address() const {
    core::MutexLock lock(mu_);
    return places_[at_].address;
  }
  uint64_t moves() const {
    core::MutexLock lock(mu_);
    return moves_;
  }

 private:
  mutable core::Mutex mu_;
  // Never empty once it is used.
  std::vector<Place> places_ ABSL_GUARDED_BY(mu_);
  size_t at_ ABSL_GUARDED_BY(mu_) = 0;
  // Counts changes of `at_`: a late failure of an address that is not in use
  // any more says nothing about the one that is.
  uint64_t round_ ABSL_GUARDED_BY(mu_) = 0;
  // Calls that a worker answered.
  uint64_t heard_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t moves_ ABSL_GUARDED_BY(mu_) = 0;
};

RoamingControl::RoamingControl(Dial dial)
    : dial_(std::move(dial)), turn_(std::make_shared<Turn>()) {}

RoamingControl::~RoamingControl() { turn_->Set({}); }

absl::StatusOr<std::unique_ptr<RoamingControl>> RoamingControl::Create(
    const std::vector<std::string>& addresses, Dial dial) {
  std::unique_ptr<RoamingControl> control(new RoamingControl(std::move(dial)));
  RETURN_IF_ERROR(control->SetAddresses(addresses));
  return control;
}

absl::StatusOr<std::vector<RoamingControl::Place>> RoamingControl::PlacesOf(
    const std::vector<std::string>& addresses) {
  if (addresses.empty()) {
    return core::MakeError(Reason::INVALID_CONFIG,
                           "dialling a worker: it has no address");
  }
  std::vector<Place> places;
  for (const std::string& address : addresses) {
    std::shared_ptr<core::Control> control = turn_->Find(address);
    if (control == nullptr) {
      ASSIGN_OR_RETURN(control, dial_(address));
    }
    places.push_back({address, std::move(control)});
  }
  return places;
}

absl::Status RoamingControl::SetAddresses(
    const std::vector<std::string>& addresses) {
  ASSIGN_OR_RETURN(std::vector<Place> places, PlacesOf(addresses));
  turn_->Set(std::move(places));
  return absl::OkStatus();
}

std::vector<SweepPlace> RoamingControl::Elsewhere() const {
  const auto in_use = [](const std::string& address) {
    return core::MakeError(
        Reason::UNAVAILABLE,
        absl::StrCat("looking for what was left at ", address,
                     ": the worker is in use there"));
  };
  std::vector<SweepPlace> places;
  const std::vector<std::string> addresses = turn_->addresses();
  if (addresses.size() < 2) return places;
  for (const std::string& address : addresses) {
    SweepPlace& place = places.emplace_back();
    place.name = address;
    place.list = [turn = turn_, address, in_use](auto reply) {
      const auto control = turn->FindUnused(address);
      if (control == nullptr) return reply(in_use(address));
      control->List(std::move(reply));
    };
    place.remove = [turn = turn_, address, in_use](
                       core::CommandHeader header,
                       core::DisconnectRequest request, auto reply) {
      const auto control = turn->FindUnused(address);
      if (control == nullptr) return reply(in_use(address));
      control->Delete(std::move(header), request, std::move(reply));
    };
  }
  return places;
}

std::string RoamingControl::address() const { return turn_->address(); }
uint64_t RoamingControl::moves() const { return turn_->moves(); }
RoamingControl::Use RoamingControl::Current() const { return turn_->Current(); }

template <typename T>
core::Control::Reply<T> RoamingControl::Watching(const Use& use,
                                                 Reply<T> reply) const {
  return [turn = turn_, use = use.WithoutControl(),
          reply = std::move(reply)](absl::StatusOr<T> result) mutable {
    turn->Note(use, result.status());
    reply(std::move(result));
  };
}

core::Control::Done RoamingControl::WatchingDone(const Use& use,
                                                 Done done) const {
  return [turn = turn_, use = use.WithoutControl(),
          done = std::move(done)](absl::Status status) mutable {
    turn->Note(use, status);
    done(std::move(status));
  };
}

void RoamingControl::Open(core::OpenRequest request,
                          Reply<core::OpenReply> reply) {
  const Use use = Current();
  use.control->Open(std::move(request), Watching(use, std::move(reply)));
}

void RoamingControl::Delete(core::CommandHeader header,
                            core::DisconnectRequest request,
                            Reply<core::DisconnectReply> reply) {
  const Use use = Current();
  use.control->Delete(std::move(header), request,
                      Watching(use, std::move(reply)));
}

void RoamingControl::Replay(core::CommandHeader header,
                            core::ReplayRequest request,
                            Reply<core::ReplayReply> reply) {
  const Use use = Current();
  use.control->Replay(std::move(header), std::move(request),
                      Watching(use, std::move(reply)));
}

void RoamingControl::Extend(core::CommandHeader header, Done done) {
  const Use use = Current();
  use.control->Extend(std::move(header), WatchingDone(use, std::move(done)));
}

void RoamingControl::Pause(core::CommandHeader header, Done done) {
  const Use use = Current();
  use.control->Pause(std::move(header), WatchingDone(use, std::move(done)));
}

void RoamingControl::Queue(core::CommandHeader header,
                           core::QueueRequest request,
                           Reply<core::QueueReply> reply) {
  const Use use = Current();
  use.control->Queue(std::move(header), request,
                     Watching(use, std::move(reply)));
}

void RoamingControl::Release(core::CommandHeader header, Done done) {
  const Use use = Current();
  use.control->Release(std::move(header), WatchingDone(use, std::move(done)));
}

void RoamingControl::PrepareCheckpoint(
    core::CommandHeader header, core::PrepareCheckpointRequest request,
    Reply<core::PrepareCheckpointReply> reply) {
  const Use use = Current();
  use.control->PrepareCheckpoint(std::move(header), request,
                                 Watching(use, std::move(reply)));
}

void RoamingControl::CommitCheckpoint(core::CommandHeader header,
                                      core::CommitCheckpointRequest request,
                                      Done done) {
  const Use use = Current();
  use.control->CommitCheckpoint(std::move(header), request,
                                WatchingDone(use, std::move(done)));
}

void RoamingControl::Disconnect(core::CommandHeader header,
                                core::DisconnectRequest request,
                                Reply<core::DisconnectReply> reply) {
  const Use use = Current();
  use.control->Disconnect(std::move(header), request,
                          Watching(use, std::move(reply)));
}

void RoamingControl::Reconcile(
    core::ReconcileRequest request,
    Reply<std::vector<core::ReconciledConnector>> reply) {
  const Use use = Current();
  use.control->Reconcile(std::move(request), Watching(use, std::move(reply)));
}

void RoamingControl::Get(std::string connector,
                         Reply<core::ConnectorStatus> reply) {
  const Use use = Current();
  use.control->Get(std::move(connector), Watching(use, std::move(reply)));
}

void RoamingControl::List(Reply<std::vector<core::ConnectorStatus>> reply) {
  const Use use = Current();
  use.control->List(Watching(use, std::move(reply)));
}

}  // namespace penstock::client
