// core::Control of a worker that may be found at several addresses, one after
// the other. See client/controller/README.md; upholds INV-13.
#pragma once

#include "client/controller/sweep_place.h"
#include "core/connector/control.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock::client {

// Forwards each call to the address in use. When a call ends because the
// connection broke or could not be made, when it is answered SHUTTING_DOWN, or
// when its deadline passes and no other was answered meanwhile, the next
// address is in use from then on, and after the last one the first: whoever
// asks again (as the controller does, with back-off) goes round until one
// answers. It repeats nothing by itself. Which worker answers decides nothing:
// a controller meets a new one by NO_SUCH_CONNECTOR and reopens, and an old one
// that still runs at another address is fenced by epoch and writer (INV-7).
//
// Owner:     the `penstock run` command, a test, the simulation.
// Threads:   thread-safe.
// Lifecycle: a control that SetAddresses drops is destroyed there, or in a call
//            that just begins there; its destructor cancels and may block.
// Bound:     one control for each address.
class RoamingControl final : public core::Control {
 public:
  // Makes the control of one address; it connects when it is first used.
  using Dial =
      absl::AnyInvocable<absl::StatusOr<std::shared_ptr<core::Control>>(
          const std::string&)>;

  // Errors: those of `dial`; INVALID_CONFIG: no address.
  static absl::StatusOr<std::unique_ptr<RoamingControl>> Create(
      const std::vector<std::string>& addresses, Dial dial);
  RoamingControl(const RoamingControl&) = delete;
  RoamingControl& operator=(const RoamingControl&) = delete;
  ~RoamingControl() override;

  // From now on these. Connections to addresses that stay are kept, and the one
  // in use stays in use if it is among them. Not to be called from a callback.
  // Errors: as Create; then nothing has changed.
  absl::Status SetAddresses(const std::vector<std::string>& addresses);
  // Each of its addresses as it is while another one is in use: while it is,
  // it answers UNAVAILABLE there, for what stands there belongs there.
  std::vector<SweepPlace> Elsewhere() const;
  // The one in use.
  std::string address() const;
  // How often the next one was taken.
  uint64_t moves() const;

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
  void Reconcile(core::ReconcileRequest request,
                 Reply<std::vector<core::ReconciledConnector>> reply) override;
  void Get(std::string connector, Reply<core::ConnectorStatus> reply) override;
  void List(Reply<std::vector<core::ConnectorStatus>> reply) override;

 private:
  class Turn;
  struct Place {
    std::string address;
    std::shared_ptr<core::Control> control;
  };
  // What one call uses.
  struct Use {
    std::shared_ptr<core::Control> control;
    uint64_t round = 0;
    uint64_t heard = 0;

    // For callbacks.
    Use WithoutControl() const { return {nullptr, round, heard}; }
  };

  explicit RoamingControl(Dial dial);
  absl::StatusOr<std::vector<Place>> PlacesOf(
      const std::vector<std::string>& addresses);
  Use Current() const;
  template <typename T>
  Reply<T> Watching(const Use& use, Reply<T> reply) const;
  Done WatchingDone(const Use& use, Done done) const;

  Dial dial_;
  // Shared by: this and the callbacks under way, which must not own a control.
  const std::shared_ptr<Turn> turn_;
};

}  // namespace penstock::client
