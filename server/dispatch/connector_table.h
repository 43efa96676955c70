// The connectors of a worker, by name, from the first word of an open to the
// last of a delete. See server/dispatch/README.md.
#pragma once

#include "core/base/mutex.h"
#include "core/connector/connector.h"
#include "core/connector/control.h"
#include "core/connector/lanes.h"
#include "server/dispatch/reply_cache.h"

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace penstock::server {

//   (none) ─BeginOpen─▶ OPENING ─FinishOpen ok─▶ OPEN ─BeginDelete─▶ DELETING
//                          └─ failed ─▶ (none) ◀─────FinishDelete────────┘
//
// Owner:   shared by the dispatcher and its commands in flight.
// Threads: thread-safe; calls nothing back under its lock.
// Bound:   `connectors_max` entries, Σ memory_max; for each, `kWaitingMax` who
//          wait for its open, and as many for its delete.
class ConnectorTable {
 public:
  template <typename T>
  using Reply = core::Control::Reply<T>;
  using Done = core::Control::Done;
  // One more is refused: BUDGET_EXCEEDED, with a retry delay.
  static constexpr size_t kWaitingMax = core::Lanes::kCallsMax;

  ConnectorTable(uint32_t connectors_max, uint64_t memory_max,
                 uint32_t replies_max)
      : connectors_max_(connectors_max),
        memory_max_(memory_max),
        replies_max_(replies_max) {}

  static absl::Status NoSuch(const std::string& name);

  std::shared_ptr<core::Connector> Find(const std::string& name) const;
  std::vector<std::shared_ptr<core::Connector>> All() const;
  std::vector<std::shared_ptr<core::Connector>> OfPipeline(
      const std::string& pipeline) const;
  // Errors: NO_SUCH_CONNECTOR, NOT_OWNER, INSTANCE_MISMATCH.
  absl::StatusOr<std::shared_ptr<core::Connector>> Resolve(
      const std::string& pipeline, const core::ConnectorRef& ref) const;

  // kRun: the caller opens. kWaits: `reply` was taken and runs with the open
  // under way. kAnswered: `reply` was given the first call's answer.
  enum class OpenOutcome { kRun, kWaits, kAnswered };
  // Errors: ALREADY_EXISTS, NOT_OWNER, REQUEST_ID_REUSED, MEMORY_REFUSED,
  // INVALID_CONFIG (no name), SHUTTING_DOWN, BUDGET_EXCEEDED.
  absl::StatusOr<OpenOutcome> BeginOpen(const core::OpenRequest& request,
                                        Reply<core::OpenReply>& reply);
  // From here on a drain finds it. Errors: SHUTTING_DOWN after BeginDrain or
  // Clear: then it is not to be opened, and FinishOpen told so.
  absl::Status SetConnector(const std::string& name,
                            std::shared_ptr<core::Connector> connector);
  struct Opened {
    std::vector<Reply<core::OpenReply>> waiting;
    // The open failed: these deletes have nothing left to do.
    std::vector<Reply<core::DisconnectReply>> deletes;
    // Not null: it succeeded, and a delete waits: the caller runs it.
    std::shared_ptr<core::Connector> delete_now;
  };
  // A failed open is forgotten.
  Opened FinishOpen(const std::string& name,
                    const absl::StatusOr<core::OpenReply>& result);

  enum class DeleteOutcome { kRun, kWaits, kGone };
  struct Removal {
    DeleteOutcome outcome = DeleteOutcome::kGone;
    std::shared_ptr<core::Connector> connector;
  };
  // kRun: the caller registers its reply by WaitForDelete and disconnects;
  // kWaits: `reply` was taken; a connector that comes with it is being opened:
  // the caller gives that up. `ref.instance` empty: whatever there is.
  // Errors: as Resolve, but gone is no error; BUDGET_EXCEEDED.
  absl::StatusOr<Removal> BeginDelete(const std::string& pipeline,
                                      const core::ConnectorRef& ref,
                                      Reply<core::DisconnectReply>& reply);
  void WaitForDelete(const std::string& name,
                     Reply<core::DisconnectReply> reply);
  // Returns who waited.
  std::vector<Reply<core::DisconnectReply>> FinishDelete(
      const std::string& name);
  // Whether a pipeline has a connector, from the first word of its open on.
  // As cheap with a thousand as with one.
  bool IsUsed(const std::string& pipeline) const;

  // From now on nothing new is opened. Returns every connector there is; one
  // that is being made is refused by SetConnector. So each open is in the
  // answer, or refused.
  std::vector<std::shared_ptr<core::Connector>> BeginDrain();
  bool is_draining() const {
    core::MutexLock lock(mu_);
    return is_draining_;
  }

  // The end: drops every connector and answers all who wait here with `status`.
  // Nothing is opened any more.
  void Clear(const absl::Status& status);

  uint64_t memory_committed() const {
    core::MutexLock lock(mu_);
    return memory_;
  }

  ReplyCache::Outcome BeginOnce(const std::string& name,
                                const std::string& request_id, uint64_t body,
                                Done& done);
  std::vector<Done> FinishOnce(const std::string& name,
                               const std::string& request_id, bool succeeded,
                               std::string reply);
  // Of a success that is remembered.
  std::string ReplyOf(const std::string& name,
                      const std::string& request_id) const;

 private:
  enum class Stage { kOpening, kOpen, kDeleting };
  struct Entry {
    Stage stage = Stage::kOpening;
    std::string pipeline;
    std::string open_id;
    uint64_t open_body = 0;
    uint64_t memory = 0;
    std::shared_ptr<core::Connector> connector;
    core::OpenReply open_reply;
    std::vector<Reply<core::OpenReply>> waiting_open;
    std::vector<Reply<core::DisconnectReply>> waiting_delete;
    ReplyCache replies;
  };

  absl::StatusOr<OpenOutcome> OpenAgain(Entry& entry,
                                        const core::OpenRequest& request,
                                        uint64_t body,
                                        Reply<core::OpenReply>& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // A connector and its pipeline's count, out of the table.
  using Entries = std::map<std::string, Entry>;
  Entries::node_type Extract(Entries::iterator at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<std::shared_ptr<core::Connector>> Connectors() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const uint32_t connectors_max_;
  const uint64_t memory_max_;
  const uint32_t replies_max_;
  mutable core::Mutex mu_;
  Entries entries_ ABSL_GUARDED_BY(mu_);
  // By pipeline: how many of `entries_` it has, never 0.
  std::map<std::string, uint32_t> uses_ ABSL_GUARDED_BY(mu_);
  // At most memory_max_.
  uint64_t memory_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_draining_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace penstock::server
