// The end of a connector: Disconnect.
// See core/connector/README.md; upholds INV-1, INV-5, INV-9.
#pragma once

#include "core/connector/driver_state.h"
#include "core/connector/lanes.h"
#include "core/connector/mailbox.h"
#include "core/connector/outlet.h"
#include "core/connector/queueing.h"
#include "core/connector/requests.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace penstock::core {

//   NONE ─Ask─▶ SENDING ─nothing parked, or deadline─▶ STOPPING ─all shards─▶
//        CLOSING (target and reader, on an I/O thread) ──▶ DONE
//
// Whatever is released may still be committed until the deadline; what is not
// is dropped when the shards stop. The lists of what was not confirmed are
// made at the end.
//
// Owner:   the driver. Threads: confined to its strand.
// Bound:   the deadline, plus the bounds of the reader and of closing the
//          target. A write that does not return is not waited for: the target
//          is then closed when it does.
class Closer {
 public:
  // `state` outlives this.
  explicit Closer(DriverState& state);

  // Begins, joins or repeats the answer. Requires: the connector is CLOSED and
  // nobody opens it any more.
  void Ask(DisconnectCall call);
  Work Advance();
  // The driver is gone: whoever waits is answered with `error`.
  void Drop(const absl::Status& error);
  // Steady time at which to Advance without being woken.
  absl::Time WakeAt() const { return wake_at_; }

 private:
  enum class Stage { kNone, kSending, kStopping, kClosing, kDone };
  // A shard's report, the target's status, or neither: the reader is gone.
  struct Answer {
    std::optional<ShardStopReport> stopped;
    std::optional<absl::Status> closed;
  };

  void Begin(absl::Duration deadline);
  void DestroyReader();
  void StopShards();
  void CloseTarget();
  void Finish();

  DriverState& state_;
  Stage stage_ = Stage::kNone;
  absl::Time deadline_ = absl::InfiniteFuture();
  absl::Time wake_at_ = absl::InfiniteFuture();
  std::vector<ReplyTo<DisconnectReply>> replies_;
  uint32_t shards_left_ = 0;
  // Calls of endpoints that did not return.
  uint32_t calls_running_ = 0;
  bool reader_is_gone_ = false;
  bool target_is_closed_ = false;
  std::set<Step> unconfirmed_;
  DisconnectReply reply_;
  // Shared by: this and whoever stops and closes.
  const std::shared_ptr<Mailbox<Answer>> answers_;
};

}  // namespace penstock::core
