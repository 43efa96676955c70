// What is wrong with a connector, and what went wrong lately.
// See core/connector/README.md; `protocol.md` rule 14.
#pragma once

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/connector/requests.h"
#include "core/contract/health.h"
#include "core/record/step.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// `text`, or its beginning and end with a note of what was cut out between, of
// at most `bytes_max` bytes; cuts are at UTF-8 boundaries.
// Requires: bytes_max >= 64.
std::string CutMiddle(absl::string_view text, size_t bytes_max);

// The second axis of health beside the lifecycle state:
//
//   FATAL         the connector is FAILED, for good
//   NEEDS_CONFIG  the source says so
//   DEGRADED      the source or a shard tries again at `next_attempt`
//   STALLED       it is orphaned, or work is pending and nothing moved for
//                 kStallAfter
//   OK            otherwise, also when idle
//
// The first that holds is shown. Errors are kept per tag.
//
// Owner:     the connector.
// Threads:   thread-safe; the driver writes, anyone reads.
// Bound:     kTagsMax tags (the rest share "other") of kErrorsPerTag errors of
//            kErrorBytes each.
class HealthLog {
 public:
  static constexpr size_t kErrorsPerTag = 100;
  static constexpr size_t kErrorBytes = 8192;
  static constexpr size_t kTagsMax = 32;
  static constexpr absl::Duration kStallAfter = absl::Minutes(1);

  struct Snapshot {
    ConnectorHealth health;
    // Wall-clock time.
    absl::Time since;
    // The first error since the connector opened or was last OK again.
    std::optional<std::string> first_error;
    uint64_t error_count = 0;
  };

  // `clock` outlives this.
  explicit HealthLog(const Clock& clock);

  // Returns the entry as it is kept.
  ErrorEntry AddError(absl::string_view tag, bool fatal, absl::string_view text)
      ABSL_LOCKS_EXCLUDED(mu_);
  // For good: later ones change nothing.
  void SetFatal(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mu_);
  // What the source says of itself; kFatal and kStalled count as DEGRADED, for
  // these are the connector's to say.
  void SetSource(const ConnectorHealth& health) ABSL_LOCKS_EXCLUDED(mu_);
  void SetRetry(ShardIndex shard, const absl::Status& error,
                absl::Time next_attempt) ABSL_LOCKS_EXCLUDED(mu_);
  void ClearRetry(ShardIndex shard) ABSL_LOCKS_EXCLUDED(mu_);
  // It paused because it has no controller, and why; nullopt: it has one.
  void SetOrphaned(std::optional<std::string> why) ABSL_LOCKS_EXCLUDED(mu_);
  // Something moved.
  void Progress() ABSL_LOCKS_EXCLUDED(mu_);
  // What is waited for; nullopt: nothing.
  void SetPending(std::optional<std::string> what) ABSL_LOCKS_EXCLUDED(mu_);
  // Steady time at which pending work becomes a stall; InfiniteFuture(): never,
  // or it is one already.
  absl::Time StallsAt() const ABSL_LOCKS_EXCLUDED(mu_);

  Snapshot snapshot() const ABSL_LOCKS_EXCLUDED(mu_);
  // The newest `count` of all tags, oldest first. Together they may be many
  // megabytes, so that no snapshot has them.
  std::vector<ErrorEntry> Errors(size_t count) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Trouble {
    ConnectorHealth health;
    absl::Time since;
  };

  // nullopt: OK, since `ok_since_`.
  std::optional<Trouble> Worst() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<Trouble> WorstRetry() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<Trouble> Stall() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NoteIfOk() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock& clock_;

  mutable Mutex mu_;
  std::optional<Trouble> fatal_ ABSL_GUARDED_BY(mu_);
  std::optional<Trouble> source_ ABSL_GUARDED_BY(mu_);
  std::map<ShardIndex, Trouble> retries_ ABSL_GUARDED_BY(mu_);
  std::optional<Trouble> orphaned_ ABSL_GUARDED_BY(mu_);
  std::optional<std::string> pending_ ABSL_GUARDED_BY(mu_);
  // Of the last progress, or the begin of what is pending.
  absl::Time progress_steady_ ABSL_GUARDED_BY(mu_);
  absl::Time progress_wall_ ABSL_GUARDED_BY(mu_);
  absl::Time ok_since_ ABSL_GUARDED_BY(mu_);

  struct Tag {
    uint64_t count = 0;
    std::deque<ErrorEntry> entries;
  };
  std::map<std::string, Tag> tags_ ABSL_GUARDED_BY(mu_);
  std::optional<std::string> first_error_ ABSL_GUARDED_BY(mu_);
  uint64_t error_count_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace penstock::core
